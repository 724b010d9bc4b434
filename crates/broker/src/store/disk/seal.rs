//! The bytes of a seal: the index of a segment that will never change again.
//!
//! It stands beside the segment, in a file of the same name with the ending `.idx`, and is written only when all of the
//! segment's bytes are known to be durable. Nothing is lost with it: without it, or if it is damaged, the segment's
//! objects are walked. All numbers are little-endian and unsigned.
//!
//! ```text
//! header (64)  │ entry (32) × objects
//!
//! header:
//!  0        4  5        8              16             24             32
//! ┌────────┬──┬────────┬──────────────┬──────────────┬──────────────┐
//! │ "RAWI" │v │ zero   │ first_offset │ next_offset  │ segment_bytes│
//! ├────────┴──┴────────┼───────┬──────┴──────────────┴──────┬───────┤
//! │ writer_id          │objects│ zero                       │ crc32c│
//! └────────────────────┴───────┴────────────────────────────┴───────┘
//! 32                   40      44                           60      64
//! entry: first_offset u64 │ appended_us u64 │ records u32 │ position u32 │ bytes u32 │ zero u32
//! ```
//!
//! The checksum covers the header in front of it and all entries.

use crate::object::Header as ObjectHeader;
use crate::store::{Known, Listed, Location};
use rawline_batch::Crc32c;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 4] = *b"RAWI";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 64;
const ENTRY_BYTES: usize = 32;
const CRC_POSITION: usize = 60;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 4],
    version: u8,
    zero: [u8; 3],
    first_offset: U64,
    next_offset: U64,
    segment_bytes: U64,
    writer_id: U64,
    objects: U32,
    zero_2: [u8; 16],
    crc32c: U32,
}

const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES);
const _: () = assert!(std::mem::offset_of!(RawHeader, crc32c) == CRC_POSITION);

/// One object of a segment.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Entry {
    first_offset: U64,
    appended_us: U64,
    records: U32,
    position: U32,
    bytes: U32,
    zero: U32,
}

const _: () = assert!(size_of::<Entry>() == ENTRY_BYTES);

impl Entry {
    /// The entry of the object that begins at `position` of its segment.
    pub(super) fn new(header: &ObjectHeader, position: u32) -> Entry {
        Entry {
            first_offset: U64::new(header.first_offset),
            appended_us: U64::new(header.appended_us),
            records: U32::new(header.records),
            position: U32::new(position),
            bytes: U32::new(header.object_bytes as u32),
            zero: U32::new(0),
        }
    }

    /// The entry of bytes that should hold objects and can't be read: the records up to `next_offset`, in `range` of
    /// the segment. `None` if that is too much for one entry.
    pub(super) fn damaged(
        first_offset: u64,
        next_offset: u64,
        appended_us: u64,
        range: std::ops::Range<usize>,
    ) -> Option<Entry> {
        let records = u32::try_from(next_offset.checked_sub(first_offset)?).ok()?;
        let bytes = u32::try_from(range.len()).ok()?;
        Some(Entry {
            first_offset: U64::new(first_offset),
            appended_us: U64::new(appended_us),
            records: U32::new(records),
            position: U32::new(u32::try_from(range.start).ok()?),
            bytes: U32::new(bytes),
            zero: U32::new(0),
        })
    }

    pub(super) fn first_offset(&self) -> u64 {
        self.first_offset.get()
    }

    pub(super) fn appended_us(&self) -> u64 {
        self.appended_us.get()
    }

    /// Length of the object in bytes.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.bytes.get())
    }

    /// Where the object lies in its segment, in bytes.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        let position = self.position.get() as usize;
        position..position + self.bytes.get() as usize
    }

    /// The offset behind the object's last record. An entry that was made or checked cannot overflow it.
    pub(super) fn next_offset(&self) -> u64 {
        self.first_offset.get().saturating_add(u64::from(self.records.get()))
    }

    /// What a store answers for the object; `segment` is the first offset of its segment.
    pub(super) fn listed(&self, segment: u64) -> Listed {
        Listed {
            first_offset: self.first_offset(),
            location: Location { segment, position: self.position.get() },
            bytes: u64::from(self.bytes.get()),
            known: Some(Known { next_offset: self.next_offset(), appended_us: self.appended_us.get() }),
        }
    }
}

/// What a seal says of its segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seal {
    /// Offset of the segment's first record, as in its name.
    pub(super) first_offset: u64,
    /// The offset behind its last record.
    pub(super) next_offset: u64,
    /// Length of its objects in bytes; what lies behind them in the file is no part of the segment.
    pub(super) segment_bytes: u64,
    /// The run of a broker that wrote it.
    pub(super) writer_id: u64,
    /// Its objects, in order.
    pub(super) entries: Vec<Entry>,
}

impl Seal {
    /// The bytes of the `.idx` file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut raw = RawHeader {
            magic: MAGIC,
            version: VERSION,
            zero: [0; 3],
            first_offset: U64::new(self.first_offset),
            next_offset: U64::new(self.next_offset),
            segment_bytes: U64::new(self.segment_bytes),
            writer_id: U64::new(self.writer_id),
            objects: U32::new(self.entries.len() as u32),
            zero_2: [0; 16],
            crc32c: U32::new(0),
        };
        raw.crc32c = U32::new(checksum(&raw, self.entries.as_bytes()));
        [raw.as_bytes(), self.entries.as_bytes()].concat()
    }

    /// Reads the bytes of an `.idx` file; `None` if they are not a whole seal of the segment that begins at
    /// `first_offset`, or one that contradicts itself.
    pub(super) fn parse(bytes: &[u8], first_offset: u64) -> Option<Seal> {
        let (raw, rest) = RawHeader::read_from_prefix(bytes).ok()?;
        let entries = <[Entry]>::ref_from_bytes(rest).ok()?;
        let sound = raw.magic == MAGIC
            && raw.version == VERSION
            && raw.first_offset.get() == first_offset
            && raw.objects.get() as usize == entries.len()
            && !entries.is_empty()
            && raw.crc32c.get() == checksum(&raw, rest);
        if !sound {
            return None;
        }
        let mut offset = first_offset;
        let mut position = 0u64;
        for entry in entries {
            if entry.first_offset() != offset || u64::from(entry.position.get()) != position {
                return None;
            }
            offset = entry.next_offset();
            position += u64::from(entry.bytes.get());
        }
        if offset != raw.next_offset.get() || position != raw.segment_bytes.get() {
            return None;
        }
        Some(Seal {
            first_offset,
            next_offset: offset,
            segment_bytes: position,
            writer_id: raw.writer_id.get(),
            entries: entries.to_vec(),
        })
    }
}

fn checksum(raw: &RawHeader, entries: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(raw.as_bytes().get(..CRC_POSITION).unwrap_or_default());
    crc.update(entries);
    crc.value()
}
