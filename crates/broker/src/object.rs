//! The bytes of an object: what one commit stores.
//!
//! All numbers are little-endian and unsigned. The index stands in front, so that a segment can be walked from its
//! beginning and an S3 object's index can be had with one small ranged GET.
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
//! The header's checksum covers header and entries; each entry repeats its batch's own checksum. An object's header so
//! vouches for every byte of it.

use crate::limits::{OBJECT_BATCHES_MAX, OBJECT_BYTES_MAX};
use bytes::Bytes;
use rawline_batch::{BatchError, BatchMeta, Crc32c, HEADER_BYTES as BATCH_HEADER_BYTES, Limits};
use thiserror::Error;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Length of an object's header in bytes.
pub const HEADER_BYTES: usize = 64;
/// Length of one entry of an object's index in bytes.
pub const ENTRY_BYTES: usize = 24;
/// What an object begins with.
pub const MAGIC: [u8; 4] = *b"RAWO";
const VERSION: u8 = 1;
const CRC_POSITION: usize = 60;

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
const _: () = assert!(OBJECT_BYTES_MAX <= u32::MAX as u64, "positions in an object are u32");

/// One batch of an object.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct Entry {
    record_first: U32,
    records: U32,
    position: U32,
    bytes: U32,
    crc32c: U32,
    zero: U32,
}

const _: () = assert!(size_of::<Entry>() == ENTRY_BYTES);

impl Entry {
    /// The batch's first record, counted from the object's first.
    pub fn record_first(&self) -> u32 {
        self.record_first.get()
    }

    /// Number of records in the batch.
    pub fn records(&self) -> u32 {
        self.records.get()
    }

    /// Where the batch lies in the object, in bytes.
    pub fn range(&self) -> std::ops::Range<u64> {
        let position = u64::from(self.position.get());
        position..position + u64::from(self.bytes.get())
    }

    /// The batch's checksum.
    pub fn crc32c(&self) -> u32 {
        self.crc32c.get()
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
    /// Length of the whole object in bytes.
    pub object_bytes: u64,
    /// When the broker took the object's batches in: microseconds since the Unix epoch, never less than in the
    /// topic's object before.
    pub appended_us: u64,
    /// Random, one for each run of a broker: tells own objects from others', and what a producer sends cannot forge it.
    pub writer_id: u64,
    /// Which commit of that run this is.
    pub commit: u64,
    /// Exclusive end of the records that the store had confirmed when this object was built; `None` if not recorded.
    pub confirmed_next_offset: Option<u64>,
    /// Checksum of header and entries.
    pub crc32c: u32,
}

impl Header {
    /// The offset behind the object's last record.
    pub fn next_offset(&self) -> u64 {
        self.first_offset + u64::from(self.records)
    }

    /// Length of header and entries in bytes: where the first batch lies.
    pub fn index_bytes(&self) -> usize {
        index_bytes(self.batches as usize)
    }

    /// Reads a header. Its checksum needs the entries too and is checked by [`Index::parse`].
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

/// Length of the index of an object of so many batches, header included, in bytes.
pub const fn index_bytes(batches: usize) -> usize {
    HEADER_BYTES + batches * ENTRY_BYTES
}

/// What a broker decides about an object; the rest follows from the batches.
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
    /// Exclusive end of the topic's records that the store has confirmed; at most `first_offset`. A directory's recovery
    /// uses it to tell a write that a crash interrupted from an acknowledged object that the disk lost.
    pub confirmed_next_offset: Option<u64>,
}

/// An object ready to be stored: its header and its bytes in pieces, the index first, then the batches as received.
#[derive(Debug, Clone)]
pub struct Object {
    /// What the first piece says.
    pub header: Header,
    /// The object's bytes; cheap to clone, for tries again.
    pub parts: Vec<Bytes>,
}

impl Object {
    /// Puts the index of `batches`, whose bytes are `parts` in order, in front of them.
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
            let entry = Entry {
                record_first: U32::new(records),
                records: U32::new(batch.records),
                position: U32::new(position as u32),
                bytes: U32::new(batch.bytes),
                crc32c: U32::new(batch.crc32c),
                zero: U32::new(0),
            };
            index.extend_from_slice(entry.as_bytes());
            records += batch.records;
            position += u64::from(batch.bytes);
        }
        assert!(position <= OBJECT_BYTES_MAX, "an object of {position} bytes");
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
        debug_assert_eq!(all.iter().map(|part| part.len() as u64).sum::<u64>(), position);
        Object { header, parts: all }
    }
}

/// The checked index of an object: its header and its entries, in place.
#[derive(Debug, Clone, Copy)]
pub struct Index<'a> {
    /// The object's header.
    pub header: Header,
    /// One entry a batch, in order.
    pub entries: &'a [Entry],
}

impl<'a> Index<'a> {
    /// Checks the index at the front of `bytes`: checksum, and that the entries tile the object without a gap.
    pub fn parse(bytes: &'a [u8]) -> Result<Index<'a>, ObjectError> {
        let Index { header, entries } = Index::parse_trusted(bytes)?;
        if checksum(bytes.get(..HEADER_BYTES).unwrap_or_default(), entries.as_bytes()) != header.crc32c {
            return Err(ObjectError::Crc);
        }
        let mut record = 0u64;
        let mut position = header.index_bytes() as u64;
        for entry in entries {
            let tiles = u64::from(entry.record_first()) == record
                && entry.range().start == position
                && entry.range().end - position > BATCH_HEADER_BYTES as u64
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
        Ok(Index { header, entries })
    }

    /// As [`Index::parse`] without the checksum and the walk over the entries: for an object that this process has
    /// already verified.
    pub fn parse_trusted(bytes: &'a [u8]) -> Result<Index<'a>, ObjectError> {
        let header = Header::parse(bytes)?;
        let behind = bytes.get(HEADER_BYTES..).unwrap_or_default();
        match <[Entry]>::ref_from_prefix_with_elems(behind, header.batches as usize) {
            Ok((entries, _)) => Ok(Index { header, entries }),
            Err(_) => Err(ObjectError::Truncated { have: bytes.len() as u64, need: header.index_bytes() as u64 }),
        }
    }

    /// The entry that holds the object's record number `record`.
    pub fn entry_of(&self, record: u32) -> usize {
        self.entries.partition_point(|entry| entry.record_first() <= record).saturating_sub(1)
    }
}

/// Checks a whole object: its index and every batch in it. Returns the header.
pub fn verify(bytes: &[u8]) -> Result<Header, ObjectError> {
    let index = Index::parse(bytes)?;
    if (bytes.len() as u64) < index.header.object_bytes {
        return Err(ObjectError::Truncated { have: bytes.len() as u64, need: index.header.object_bytes });
    }
    for (number, entry) in index.entries.iter().enumerate() {
        let range = entry.range().start as usize..entry.range().end as usize;
        let error = |error| ObjectError::Batch { number: number as u32, error };
        let slice = bytes.get(range).unwrap_or_default();
        let batch = rawline_batch::Batch::parse(slice, &Limits::FORMAT).map_err(error)?;
        if batch.header().crc32c != entry.crc32c() || batch.header().records != entry.records() {
            return Err(ObjectError::Header);
        }
    }
    Ok(index.header)
}

fn checksum(header: &[u8], entries: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(header.get(..CRC_POSITION).unwrap_or_default());
    crc.update(entries);
    crc.value()
}

/// Why bytes are not an object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// Fewer bytes than there must be.
    #[error("cut off: {have} of {need} bytes")]
    Truncated {
        /// Bytes there are.
        have: u64,
        /// Bytes there must be.
        need: u64,
    },
    /// Not the first four bytes of an object.
    #[error("begins with {found:02x?}, not with \"RAWO\"")]
    Magic {
        /// The four bytes there are.
        found: [u8; 4],
    },
    /// A version that this broker does not know.
    #[error("object version {found}; this broker knows version 1")]
    Version {
        /// The version there is.
        found: u8,
    },
    /// Header and entries do not fit each other.
    #[error("the index contradicts itself")]
    Header,
    /// The checksum of header and entries is wrong.
    #[error("checksum mismatch in the index")]
    Crc,
    /// A batch in it is damaged.
    #[error("batch {number} of the object: {error}")]
    Batch {
        /// Which, from 0.
        number: u32,
        /// What is wrong with it.
        error: BatchError,
    },
}
