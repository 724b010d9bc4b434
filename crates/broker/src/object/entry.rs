//! One entry of an object's index: where a batch is, and what it must be.

use super::{ENTRY_BYTES, ObjectError};
use rawline_batch::record_batch::{CheckedRecordBatch, RECORD_BATCH_HEADER_BYTES, check_stored};
use rawline_batch::{Batch, BatchMeta, HEADER_BYTES, Header, Limits};
use rawline_journal::BatchKind;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// One batch of an object.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct BatchEntry {
    record_first: U32,
    records: U32,
    position: U32,
    bytes: U32,
    crc32c: U32,
    kind: U32,
}

const _: () = assert!(size_of::<BatchEntry>() == ENTRY_BYTES);

/// The kind of a batch as `docs/format.md` specifies it: the only one in stored objects of this form.
const RAWLINE: u32 = 0;
/// The kind of Kafka's batches, in the index of a piece of a journal object.
const KAFKA: u32 = BatchKind::Kafka as u32;

/// Size of the records of `batches` batches of one kind in bytes, with their padding; `None` if the batches are too
/// small to be intact.
pub(crate) fn data_bytes(kind: BatchKind, batch_bytes: u64, batches: u64, records: u64) -> Option<u64> {
    let other_bytes = match kind {
        BatchKind::Rawline => batches * HEADER_BYTES as u64 + records * 4,
        BatchKind::Kafka => batches * RECORD_BATCH_HEADER_BYTES as u64,
    };
    batch_bytes.checked_sub(other_bytes)
}

/// What an entry says of a batch, besides where it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described {
    kind: BatchKind,
    records: u32,
    bytes: u32,
    crc32c: u32,
}

impl From<BatchMeta> for Described {
    fn from(batch: BatchMeta) -> Self {
        let BatchMeta { records, bytes, crc32c, .. } = batch;
        Described { kind: BatchKind::Rawline, records, bytes, crc32c }
    }
}

impl From<CheckedRecordBatch> for Described {
    fn from(batch: CheckedRecordBatch) -> Self {
        let header = batch.header;
        let (records, bytes, crc32c) = (header.offsets, header.batch_bytes, header.crc32c);
        Described { kind: BatchKind::Kafka, records, bytes, crc32c }
    }
}

impl From<&rawline_journal::Batch> for Described {
    fn from(batch: &rawline_journal::Batch) -> Self {
        let rawline_journal::Batch { kind, records, bytes, crc32c, .. } = *batch;
        Described { kind, records, bytes, crc32c }
    }
}

impl Described {
    /// Number of records.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Checks that `bytes` are the batch that is described, number `number` of its object, and intact. `offset` is that
    /// of its first record.
    pub(crate) fn verify(self, number: usize, offset: u64, bytes: &[u8]) -> Result<(), ObjectError> {
        let number = number as u32;
        match self.kind {
            BatchKind::Rawline => {
                let batch = Batch::parse(bytes, &Limits::FORMAT);
                self.check(batch.map_err(|error| ObjectError::Batch { number, error })?.header())
            }
            BatchKind::Kafka => {
                let header = check_stored(bytes, offset);
                let header = header.map_err(|error| ObjectError::RecordBatch { number, error })?;
                let found = (header.crc32c, header.offsets, header.batch_bytes);
                if found == (self.crc32c, self.records, self.bytes) { Ok(()) } else { Err(ObjectError::Header) }
            }
        }
    }

    /// Checks that the batch with this header is the one that is described.
    fn check(self, batch: &Header) -> Result<(), ObjectError> {
        let is_described = batch.crc32c == self.crc32c
            && batch.records == self.records
            && batch.batch_bytes() == u64::from(self.bytes);
        if is_described { Ok(()) } else { Err(ObjectError::Header) }
    }
}

impl BatchEntry {
    /// The entry of a batch that begins at `position` of its object, with the object's record number `record_first`.
    pub(super) fn new(batch: Described, record_first: u32, position: u64) -> BatchEntry {
        assert!(batch.records > 0, "a batch without records at byte {position} of an object");
        let end = position + u64::from(batch.bytes);
        assert!(end <= u64::from(u32::MAX), "a batch that ends at byte {end} of an object");
        BatchEntry {
            record_first: U32::new(record_first),
            records: U32::new(batch.records),
            position: U32::new(position as u32),
            bytes: U32::new(batch.bytes),
            crc32c: U32::new(batch.crc32c),
            kind: U32::new(if batch.kind == BatchKind::Kafka { KAFKA } else { RAWLINE }),
        }
    }

    /// The batch's first record, counted from the object's first.
    pub fn record_first(&self) -> u32 {
        self.record_first.get()
    }

    /// Number of records in the batch. Of a compacted one, the number of offsets that it takes.
    pub fn records(&self) -> u32 {
        self.records.get()
    }

    /// The batch's byte range in the object.
    pub fn range(&self) -> std::ops::Range<u64> {
        let position = u64::from(self.position.get());
        position..position + u64::from(self.bytes.get())
    }

    /// The batch's checksum.
    pub fn crc32c(&self) -> u32 {
        self.crc32c.get()
    }

    /// Who defines the batch's bytes.
    pub fn kind(&self) -> BatchKind {
        match self.kind.get() {
            RAWLINE => BatchKind::Rawline,
            KAFKA => BatchKind::Kafka,
            kind => unreachable!("kind {kind} in an index that was checked"),
        }
    }

    /// Whether the entry is one of a batch: its kind is known, and its size is enough for its records.
    pub(super) fn is_sound(&self) -> bool {
        let least = match self.kind.get() {
            RAWLINE => HEADER_BYTES as u64 + 4 * u64::from(self.records()),
            KAFKA => RECORD_BATCH_HEADER_BYTES as u64,
            _ => return false,
        };
        self.records() > 0 && u64::from(self.bytes.get()) >= least
    }

    /// Size of the batch's records in bytes, compressed if they are: of a batch as docs/format.md defines it, its
    /// data with the padding.
    pub(crate) fn data_bytes(&self) -> u64 {
        data_bytes(self.kind(), u64::from(self.bytes.get()), 1, u64::from(self.records()))
            .unwrap_or_else(|| unreachable!("{self:?} was not checked"))
    }

    /// Checks that `bytes` are the batch that this entry describes, number `number` of its object, and intact.
    /// `object_offset` is the object's first offset.
    pub fn verify(&self, number: usize, object_offset: u64, bytes: &[u8]) -> Result<(), ObjectError> {
        self.described().verify(number, object_offset + u64::from(self.record_first()), bytes)
    }

    /// Checks that the batch with this header is the one that this entry describes.
    pub(crate) fn describes(&self, batch: &Header) -> Result<(), ObjectError> {
        self.described().check(batch)
    }

    fn described(&self) -> Described {
        let (records, bytes, crc32c) = (self.records(), self.bytes.get(), self.crc32c());
        Described { kind: self.kind(), records, bytes, crc32c }
    }
}
