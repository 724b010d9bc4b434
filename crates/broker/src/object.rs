//! The bytes of an object: what one commit stores.
//!
//! All numbers are little-endian and unsigned. The index comes first, so that a segment can be walked from its
//! beginning and one small ranged GET returns an S3 object's index.
//!
//! ```text
//! header (64)  │ entry (24) × batches │ batches, verbatim, back to back
//!
//! header:
//!  0        4  5        8              16       20       24             32
//! ┌────────┬──┬────────┬──────────────┬────────┬────────┬──────────────┐
//! │ "RAWO" │v │ zero   │ first_offset │ records│ batches│ object_bytes │
//! ├────────┴──┴────────┼──────────────┼────────┴────────┼──────┬───────┤
//! │ appended_us        │ writer_id    │ commit          │ uncon│ crc32c│
//! └────────────────────┴──────────────┴─────────────────┴──────┴───────┘
//! 32                   40             48                56     60      64
//! uncon: 1 + number of records before this object that were not confirmed when it was built; 0 if not recorded
//! entry: record_first u32 │ records u32 │ position u32 │ bytes u32 │ crc32c u32 │ zero u32
//! ```
//!
//! The header's checksum covers header and entries; each entry repeats its batch's own checksum. So an object's header
//! vouches for every byte of it.

use crate::limits::{OBJECT_BATCHES_MAX, OBJECT_BYTES_MAX};
use bytes::Bytes;
use rawline_batch::{Batch, BatchError, BatchMeta, Crc32c, HEADER_BYTES as BATCH_HEADER_BYTES, Limits, Slice};
use std::ops::Range;
use thiserror::Error;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of an object's header in bytes.
pub const HEADER_BYTES: usize = 64;
/// Size of one entry of an object's index in bytes.
pub const ENTRY_BYTES: usize = 24;
/// The first bytes of every object.
pub const MAGIC: [u8; 4] = *b"RAWO";
const VERSION: u8 = 1;
const CRC_POSITION: usize = 60;

/// Every object's length is a multiple of this: its header, its entries and its batches are.
pub(crate) const OBJECT_ALIGNMENT: usize = 8;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 4],
    version: u8,
    zero: [u8; 3],
    first_offset: U64,
    records: U32,
    batches: U32,
    object_bytes: U64,
    appended_us: U64,
    writer_id: U64,
    commit: U64,
    unconfirmed: U32,
    crc32c: U32,
}

const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES);
const _: () = assert!(std::mem::offset_of!(RawHeader, crc32c) == CRC_POSITION);
const _: () = assert!(CRC_POSITION + 4 == HEADER_BYTES, "the checksum covers the header up to itself");
const _: () = assert!(HEADER_BYTES.is_multiple_of(OBJECT_ALIGNMENT) && ENTRY_BYTES.is_multiple_of(OBJECT_ALIGNMENT));

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

impl BatchEntry {
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
        let batch = Batch::parse(bytes, &Limits::FORMAT);
        self.describes(&batch.map_err(|error| ObjectError::Batch { number: number as u32, error })?)
    }

    /// Verifies that `batch` is the one that this entry describes, number `number` of its object, and cuts records out.
    pub fn slice(&self, number: usize, batch: &Batch<'_>, records: Range<u32>) -> Result<Slice, ObjectError> {
        let slice = batch.slice(records).map_err(|error| ObjectError::Batch { number: number as u32, error })?;
        self.describes(batch)?;
        Ok(slice)
    }

    fn describes(&self, batch: &Batch<'_>) -> Result<(), ObjectError> {
        let is_described = batch.header().crc32c == self.crc32c() && batch.header().records == self.records();
        if is_described { Ok(()) } else { Err(ObjectError::Header) }
    }
}

/// An object's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Offset of the object's first record.
    pub first_offset: u64,
    /// Number of records in all its batches.
    pub records: u32,
    /// Number of batches.
    pub batches: u32,
    /// Size of the whole object in bytes.
    pub object_bytes: u64,
    /// When the broker took the object's batches in: microseconds since the Unix epoch, never less than in the
    /// topic's object before.
    pub appended_us: u64,
    /// Random, one for each run of a broker: distinguishes its objects from others'. A producer can't forge it.
    pub writer_id: u64,
    /// Number of the commit in that run.
    pub commit: u64,
    /// Exclusive end of the records that the store had confirmed when this object was built; `None` if not recorded.
    pub confirmed_next_offset: Option<u64>,
    /// Checksum of header and entries.
    pub crc32c: u32,
}

impl Header {
    /// The offset after the object's last record.
    pub fn next_offset(&self) -> u64 {
        self.first_offset + u64::from(self.records)
    }

    /// Size of header and entries in bytes: the position of the first batch.
    pub fn index_bytes(&self) -> usize {
        index_bytes(self.batches as usize)
    }

    /// Reads a header. Its checksum needs the entries too and is checked by [`ObjectIndex::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Header, ObjectError> {
        let Ok((raw, _)) = RawHeader::read_from_prefix(bytes) else {
            return Err(ObjectError::Truncated { have: bytes.len() as u64, need: HEADER_BYTES as u64 });
        };
        if raw.magic != MAGIC {
            return Err(ObjectError::Magic { found: raw.magic });
        }
        if raw.version != VERSION {
            return Err(ObjectError::Version { found: raw.version });
        }
        let header = Header {
            first_offset: raw.first_offset.get(),
            records: raw.records.get(),
            batches: raw.batches.get(),
            object_bytes: raw.object_bytes.get(),
            appended_us: raw.appended_us.get(),
            writer_id: raw.writer_id.get(),
            commit: raw.commit.get(),
            confirmed_next_offset: raw.confirmed_next_offset(),
            crc32c: raw.crc32c.get(),
        };
        let sound = header.batches >= 1
            && header.batches as usize <= OBJECT_BATCHES_MAX
            && header.records >= header.batches
            && header.object_bytes > header.index_bytes() as u64
            && header.object_bytes <= OBJECT_BYTES_MAX
            && header.first_offset.checked_add(u64::from(header.records)).is_some();
        if !sound {
            return Err(ObjectError::Header);
        }
        Ok(header)
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let raw = RawHeader {
            magic: MAGIC,
            version: VERSION,
            zero: [0; 3],
            first_offset: U64::new(self.first_offset),
            records: U32::new(self.records),
            batches: U32::new(self.batches),
            object_bytes: U64::new(self.object_bytes),
            appended_us: U64::new(self.appended_us),
            writer_id: U64::new(self.writer_id),
            commit: U64::new(self.commit),
            unconfirmed: U32::new(self.unconfirmed()),
            crc32c: U32::new(self.crc32c),
        };
        zerocopy::transmute!(raw)
    }

    /// [`RawHeader::unconfirmed`] of this header.
    fn unconfirmed(&self) -> u32 {
        let Some(confirmed) = self.confirmed_next_offset else { return 0 };
        let records = self.first_offset.checked_sub(confirmed);
        assert!(records.is_some(), "an object at offset {} after records up to {confirmed}", self.first_offset);
        // More than the field holds counts as not recorded.
        records.and_then(|records| u32::try_from(records + 1).ok()).unwrap_or(0)
    }
}

impl RawHeader {
    fn confirmed_next_offset(&self) -> Option<u64> {
        let records = self.unconfirmed.get().checked_sub(1)?;
        self.first_offset.get().checked_sub(u64::from(records))
    }
}

/// Where an object belongs according to its header.
pub(crate) struct Place {
    pub first_offset: u64,
    pub writer_id: u64,
}

/// Reads an object's place. Checks the magic only: a cheap test before [`ObjectIndex::parse`] computes a checksum.
pub(crate) fn place(bytes: &[u8]) -> Option<Place> {
    if !bytes.starts_with(&MAGIC) {
        return None;
    }
    let (raw, _) = RawHeader::ref_from_prefix(bytes).ok()?;
    Some(Place { first_offset: raw.first_offset.get(), writer_id: raw.writer_id.get() })
}

/// What a damaged header still says.
#[derive(Debug)]
pub(crate) struct Remains {
    pub writer_id: u64,
    /// Length of the object in bytes, as the header and as the last entry has it. One of them may be wrong.
    pub object_bytes: [Option<u64>; 2],
}

/// Recognizes the damaged header of the object that should begin with `bytes`: of the bytes that are known in advance,
/// at most one differs.
pub(crate) fn remains(bytes: &[u8], first_offset: u64, writer_id: Option<u64>) -> Option<Remains> {
    let (raw, _) = RawHeader::ref_from_prefix(bytes).ok()?;
    let found = [&raw.magic[..], &[raw.version], raw.first_offset.as_bytes(), raw.writer_id.as_bytes()].concat();
    let writer_id = writer_id.unwrap_or(raw.writer_id.get());
    let known = [&MAGIC[..], &[VERSION], &first_offset.to_le_bytes(), &writer_id.to_le_bytes()].concat();
    let differing = found.iter().zip(&known).filter(|(found, known)| found != known).count();
    if differing > 1 {
        return None;
    }
    let last_entry = (raw.batches.get() as usize).checked_sub(1).filter(|&batch| batch < OBJECT_BATCHES_MAX);
    let last_entry = last_entry.and_then(|batch| BatchEntry::ref_from_prefix(bytes.get(index_bytes(batch)..)?).ok());
    let object_bytes = [Some(raw.object_bytes.get()), last_entry.map(|(entry, _)| entry.range().end)];
    let is_possible = |bytes: &u64| (HEADER_BYTES as u64..=OBJECT_BYTES_MAX).contains(bytes);
    Some(Remains { writer_id, object_bytes: object_bytes.map(|bytes| bytes.filter(is_possible)) })
}

/// Size of the index of an object with `batches` batches, header included, in bytes.
pub const fn index_bytes(batches: usize) -> usize {
    HEADER_BYTES + batches * ENTRY_BYTES
}

/// The fields of a header that the broker decides; the others follow from the batches.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// Offset of the first record.
    pub first_offset: u64,
    /// Time of the append, microseconds since the Unix epoch.
    pub appended_us: u64,
    /// The broker's run.
    pub writer_id: u64,
    /// Number of the commit in that run.
    pub commit: u64,
    /// Exclusive end of the topic's records that the store has confirmed; at most `first_offset`. A directory's
    /// recovery uses it to tell a write that a crash interrupted from an acknowledged object that the disk lost.
    pub confirmed_next_offset: Option<u64>,
}

/// An object ready to be stored: its header and its bytes in pieces, first the index, then the batches as received.
#[derive(Debug, Clone)]
pub struct Object {
    /// The header, which the first piece contains.
    pub header: Header,
    /// The object's bytes. Cheap to clone, for retries.
    pub parts: Vec<Bytes>,
}

impl Object {
    /// Puts an index before `batches`, whose bytes are `parts`, in order.
    ///
    /// The caller keeps an object within [`OBJECT_BATCHES_MAX`] and [`OBJECT_BYTES_MAX`]; `batches` is not empty.
    pub fn build(stamp: Stamp, batches: impl Iterator<Item = BatchMeta> + Clone, parts: &[Bytes]) -> Object {
        let count = batches.clone().count();
        assert!((1..=OBJECT_BATCHES_MAX).contains(&count), "{count} batches in one object");
        let mut index = Vec::with_capacity(index_bytes(count));
        index.resize(HEADER_BYTES, 0);
        let mut records = 0u32;
        let mut position = index_bytes(count) as u64;
        for batch in batches {
            let entry = BatchEntry {
                record_first: U32::new(records),
                records: U32::new(batch.records),
                position: U32::new(position as u32),
                bytes: U32::new(batch.bytes),
                crc32c: U32::new(batch.crc32c),
                zero: U32::new(0),
            };
            index.extend_from_slice(entry.as_bytes());
            assert!(batch.records > 0, "a batch without records at byte {position} of an object");
            records += batch.records;
            position += u64::from(batch.bytes);
        }
        assert_eq!(index.len(), index_bytes(count), "the index of {count} batches");
        assert!(position <= OBJECT_BYTES_MAX, "an object of {position} bytes");
        assert!(position.is_multiple_of(OBJECT_ALIGNMENT as u64), "an object of {position} bytes is not aligned");
        let next_offset = stamp.first_offset.checked_add(u64::from(records));
        assert!(next_offset.is_some(), "{records} records from offset {} on", stamp.first_offset);
        let mut header = Header {
            first_offset: stamp.first_offset,
            records,
            batches: count as u32,
            object_bytes: position,
            appended_us: stamp.appended_us,
            writer_id: stamp.writer_id,
            commit: stamp.commit,
            confirmed_next_offset: stamp.confirmed_next_offset,
            crc32c: 0,
        };
        let (front, entries) = index.split_at_mut(HEADER_BYTES);
        header.crc32c = checksum(&header.encode(), entries);
        front.copy_from_slice(&header.encode());
        let mut all = Vec::with_capacity(parts.len() + 1);
        all.push(Bytes::from(index));
        all.extend_from_slice(parts);
        let bytes: u64 = all.iter().map(|part| part.len() as u64).sum();
        assert_eq!(bytes, position, "the parts of an object at offset {} don't add up", stamp.first_offset);
        Object { header, parts: all }
    }
}

/// The checked index of an object: its header and its entries, in place.
#[derive(Debug, Clone, Copy)]
pub struct ObjectIndex<'a> {
    /// The object's header.
    pub header: Header,
    /// One entry per batch, in order.
    pub entries: &'a [BatchEntry],
}

impl<'a> ObjectIndex<'a> {
    /// Checks the index at the front of `bytes`: checksum, and that the entries tile the object without a gap.
    pub fn parse(bytes: &'a [u8]) -> Result<ObjectIndex<'a>, ObjectError> {
        let ObjectIndex { header, entries } = ObjectIndex::parse_verified(bytes)?;
        let mut record = 0u64;
        let mut position = header.index_bytes() as u64;
        for entry in entries {
            let tiles = u64::from(entry.record_first()) == record
                && entry.range().start == position
                && entry.range().end - position >= BATCH_HEADER_BYTES as u64 + 4 * u64::from(entry.records())
                && entry.records() > 0;
            if !tiles {
                return Err(ObjectError::Header);
            }
            record += u64::from(entry.records());
            position = entry.range().end;
        }
        if record != u64::from(header.records) || position != header.object_bytes {
            return Err(ObjectError::Header);
        }
        Ok(ObjectIndex { header, entries })
    }

    /// As [`ObjectIndex::parse`] without the walk over the entries: for an object that this process has verified
    /// before. The checksum is computed again, because a bit may have flipped since.
    pub fn parse_verified(bytes: &'a [u8]) -> Result<ObjectIndex<'a>, ObjectError> {
        let header = Header::parse(bytes)?;
        let truncated = ObjectError::Truncated { have: bytes.len() as u64, need: header.index_bytes() as u64 };
        let Some((front, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Err(truncated) };
        let Ok((entries, _)) = <[BatchEntry]>::ref_from_prefix_with_elems(rest, header.batches as usize) else {
            return Err(truncated);
        };
        if checksum(front, entries.as_bytes()) != header.crc32c {
            return Err(ObjectError::Crc);
        }
        Ok(ObjectIndex { header, entries })
    }

    /// The entry that holds the object's record number `record`.
    pub fn entry_of(&self, record: u32) -> usize {
        assert!(record < self.header.records, "record {record} of an object of {}", self.header.records);
        let after = self.entries.partition_point(|entry| entry.record_first() <= record);
        assert!(after > 0, "the first batch of an object begins after its record {record}");
        after - 1
    }
}

/// Checks a whole object: its index and every batch in it. Returns the header.
pub fn verify(bytes: &[u8]) -> Result<Header, ObjectError> {
    let index = ObjectIndex::parse(bytes)?;
    if (bytes.len() as u64) < index.header.object_bytes {
        return Err(ObjectError::Truncated { have: bytes.len() as u64, need: index.header.object_bytes });
    }
    for (number, entry) in index.entries.iter().enumerate() {
        let Some(batch) = bytes.get(entry.range().start as usize..entry.range().end as usize) else {
            unreachable!("batch {number} at {:?} of an object of {} bytes", entry.range(), bytes.len())
        };
        entry.verify(number, batch)?;
    }
    Ok(index.header)
}

fn checksum(header: &[u8; HEADER_BYTES], entries: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(header.split_at(CRC_POSITION).0);
    crc.update(entries);
    crc.value()
}

/// Why bytes are not an object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// Too few bytes.
    #[error("truncated: {have} of {need} bytes")]
    Truncated {
        /// Bytes found.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// Not the first four bytes of an object.
    #[error("begins with {found:02x?}, not with \"RAWO\"")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A version that this broker doesn't know.
    #[error("object version {found}; this broker knows version 1")]
    Version {
        /// The object's version.
        found: u8,
    },
    /// Header and entries contradict each other.
    #[error("the index contradicts itself")]
    Header,
    /// The checksum of header and entries is wrong.
    #[error("checksum mismatch in the index")]
    Crc,
    /// A batch in it is damaged.
    #[error("batch {number} of the object: {error}")]
    Batch {
        /// Its number in the object, from 0.
        number: u32,
        /// The damage.
        error: BatchError,
    },
}
