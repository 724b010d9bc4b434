//! One entry of an object's index: where a batch is, and what it must be.

use super::{ENTRY_BYTES, ObjectError};
use rawline_batch::{Batch, BatchMeta, Header, Limits};
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
    zero: U32,
}

const _: () = assert!(size_of::<BatchEntry>() == ENTRY_BYTES);

/// What an entry says of a batch, besides where it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described {
    records: u32,
    bytes: u32,
    crc32c: u32,
}

impl From<BatchMeta> for Described {
    fn from(batch: BatchMeta) -> Self {
        Described { records: batch.records, bytes: batch.bytes, crc32c: batch.crc32c }
    }
}

impl From<&rawline_journal::Batch> for Described {
    fn from(batch: &rawline_journal::Batch) -> Self {
        Described { records: batch.records, bytes: batch.bytes, crc32c: batch.crc32c }
    }
}

impl Described {
    /// Checks that `bytes` are the batch that is described, number `number` of its object, and intact.
    pub(crate) fn verify(self, number: usize, bytes: &[u8]) -> Result<(), ObjectError> {
        let batch = Batch::parse(bytes, &Limits::FORMAT);
        let batch = batch.map_err(|error| ObjectError::Batch { number: number as u32, error })?;
        self.check(batch.header())
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
            zero: U32::new(0),
        }
    }

    /// The batch's first record, counted from the object's first.
    pub fn record_first(&self) -> u32 {
        self.record_first.get()
    }

    /// Number of records in the batch.
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

    /// Checks that `bytes` are the batch that this entry describes, number `number` of its object, and intact.
    pub fn verify(&self, number: usize, bytes: &[u8]) -> Result<(), ObjectError> {
        self.described().verify(number, bytes)
    }

    /// Checks that the batch with this header is the one that this entry describes.
    pub(crate) fn describes(&self, batch: &Header) -> Result<(), ObjectError> {
        self.described().check(batch)
    }

    fn described(&self) -> Described {
        Described { records: self.records(), bytes: self.bytes.get(), crc32c: self.crc32c() }
    }
}
