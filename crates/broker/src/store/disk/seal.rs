//! The bytes of a seal: the index of a segment that will never change again.
//!
//! It is stored next to the segment, in a file of the same name with the ending `.idx`, and is written only when all
//! of the segment's bytes are durable. It holds nothing that the segment doesn't: if it is missing or damaged, the
//! segment is walked. All numbers are little-endian and unsigned.
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
//! The checksum covers the header's bytes before it and all entries.

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
const _: () = assert!(CRC_POSITION + 4 == HEADER_BYTES, "the checksum covers the header up to itself");

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
        let end = u64::from(position) + header.object_bytes;
        assert!(end <= u64::from(u32::MAX), "an object that ends at byte {end} of a segment");
        Entry {
            first_offset: U64::new(header.first_offset),
            appended_us: U64::new(header.appended_us),
            records: U32::new(header.records),
            position: U32::new(position),
            bytes: U32::new(header.object_bytes as u32),
            zero: U32::new(0),
        }
    }

    /// The entry of damaged bytes: `range` of the segment should hold the records `first_offset..next_offset`. `None`
    /// if they are too many for one entry.
    pub(super) fn damaged(
        first_offset: u64,
        next_offset: u64,
        appended_us: u64,
        range: std::ops::Range<usize>,
    ) -> Option<Entry> {
        assert!(first_offset < next_offset && !range.is_empty(), "{first_offset}..{next_offset} in {range:?}");
        let records = u32::try_from(next_offset - first_offset).ok()?;
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

    /// The object's bytes in its segment.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        let position = self.position.get() as usize;
        position..position + self.bytes.get() as usize
    }

    /// The offset after the object's last record. Entries that were made or checked can't overflow it.
    pub(super) fn next_offset(&self) -> u64 {
        self.first_offset.get() + u64::from(self.records.get())
    }

    /// What a store lists for the object; `segment` is the first offset of its segment.
    pub(super) fn listed(&self, segment: u64) -> Listed {
        Listed {
            first_offset: self.first_offset(),
            location: Location::Segment { segment, position: self.position.get() },
            bytes: u64::from(self.bytes.get()),
            known: Some(Known { next_offset: self.next_offset(), appended_us: self.appended_us.get() }),
        }
    }
}

/// The content of a seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seal {
    /// Offset of the segment's first record, as in its name.
    pub(super) first_offset: u64,
    /// The offset after its last record.
    pub(super) next_offset: u64,
    /// Length of its objects in bytes. What follows them in the file is not a part of the segment.
    pub(super) segment_bytes: u64,
    /// ID of the broker's run that wrote it.
    pub(super) writer_id: u64,
    /// Its objects, in order.
    pub(super) entries: Vec<Entry>,
}

impl Seal {
    /// The bytes of the `.idx` file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let end = tiles(self.first_offset, &self.entries);
        assert_eq!(
            end,
            Some((self.next_offset, self.segment_bytes)),
            "the seal of {} doesn't add up",
            self.first_offset
        );
        assert!(!self.entries.is_empty(), "a seal of no object at offset {}", self.first_offset);
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

    /// Reads the bytes of an `.idx` file. `None` unless they are a whole and consistent seal of the segment that
    /// begins at `first_offset`.
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
        if tiles(first_offset, entries)? != (raw.next_offset.get(), raw.segment_bytes.get()) {
            return None;
        }
        Some(Seal {
            first_offset,
            next_offset: raw.next_offset.get(),
            segment_bytes: raw.segment_bytes.get(),
            writer_id: raw.writer_id.get(),
            entries: entries.to_vec(),
        })
    }
}

/// Where entries end that follow each other from `first_offset` and byte 0 on, as offset and position. `None` if
/// there is a gap or an overlap.
fn tiles(first_offset: u64, entries: &[Entry]) -> Option<(u64, u64)> {
    let (mut offset, mut position) = (first_offset, 0u64);
    for entry in entries {
        if entry.first_offset() != offset || u64::from(entry.position.get()) != position {
            return None;
        }
        offset = offset.checked_add(u64::from(entry.records.get()))?;
        position += u64::from(entry.bytes.get());
    }
    Some((offset, position))
}

fn checksum(raw: &RawHeader, entries: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    let (covered, _) = raw.as_bytes().split_at(CRC_POSITION);
    crc.update(covered);
    crc.update(entries);
    crc.value()
}
