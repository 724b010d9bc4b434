//! The bytes of a seal of a journal's segment: where its objects are, once it will never change again.
//!
//! It is stored next to the segment, in a file of the same name with the ending `.idx`, and is written only when all
//! of the segment's bytes are durable. It holds nothing that the segment doesn't: if it is missing or damaged, the
//! segment is walked. All numbers are little-endian and unsigned.
//!
//! ```text
//! header (40): "RAWK" │ version u8 │ zero (3) │ first_number u64 │ run u64 │ segment_bytes u64 │ objects u32 │
//!              crc32c u32
//! entry (8):   position u32 │ bytes u32
//! ```
//!
//! There is an entry for each object, in order of their numbers, which are consecutive. The checksum covers everything
//! but itself.

use super::frame::{FRAME_BYTES, end_after};
use rawline_batch::Crc32c;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 4] = *b"RAWK";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 40;
const CRC_POSITION: usize = 36;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 4],
    version: u8,
    zero: [u8; 3],
    first_number: U64,
    run: U64,
    segment_bytes: U64,
    objects: U32,
    crc32c: U32,
}

const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES);
const _: () = assert!(std::mem::offset_of!(RawHeader, crc32c) == CRC_POSITION);

/// Where an object is in its segment.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Entry {
    position: U32,
    bytes: U32,
}

impl Entry {
    /// Of an object in these bytes of a segment.
    pub(super) fn new(range: std::ops::Range<u64>) -> Entry {
        assert!(range.start < range.end && range.end <= u64::from(u32::MAX), "an object in the bytes {range:?}");
        Entry { position: U32::new(range.start as u32), bytes: U32::new((range.end - range.start) as u32) }
    }

    /// The object's bytes in its segment.
    pub(super) fn range(&self) -> std::ops::Range<u64> {
        let position = u64::from(self.position.get());
        position..position + u64::from(self.bytes.get())
    }
}

/// The content of a seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seal {
    /// Number of the segment's first object, as in its name.
    pub first_number: u64,
    /// The random number of the writer that wrote it.
    pub run: u64,
    /// Length of its objects in bytes. Bytes after them in the file are not a part of the segment.
    pub segment_bytes: u64,
    /// Its objects, in order.
    pub entries: Vec<Entry>,
}

impl Seal {
    /// The number after its last object's.
    pub(super) fn next_number(&self) -> u64 {
        self.first_number + self.entries.len() as u64
    }

    /// The bytes of the `.idx` file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let end = tiles(&self.entries);
        assert_eq!(end, Some(self.segment_bytes), "the seal of {} doesn't add up", self.first_number);
        let mut raw = RawHeader {
            magic: MAGIC,
            version: VERSION,
            zero: [0; 3],
            first_number: U64::new(self.first_number),
            run: U64::new(self.run),
            segment_bytes: U64::new(self.segment_bytes),
            objects: U32::new(self.entries.len() as u32),
            crc32c: U32::new(0),
        };
        raw.crc32c = U32::new(checksum(&raw, self.entries.as_bytes()));
        [raw.as_bytes(), self.entries.as_bytes()].concat()
    }

    /// Reads the bytes of an `.idx` file. `None` unless they are a whole and consistent seal of the segment whose first
    /// object has this number.
    pub(super) fn parse(bytes: &[u8], first_number: u64) -> Option<Seal> {
        let (raw, rest) = RawHeader::read_from_prefix(bytes).ok()?;
        let entries = <[Entry]>::ref_from_bytes(rest).ok()?;
        let is_sound = raw.magic == MAGIC
            && raw.version == VERSION
            && raw.first_number.get() == first_number
            && raw.objects.get() as usize == entries.len()
            && raw.crc32c.get() == checksum(&raw, rest)
            && tiles(entries) == Some(raw.segment_bytes.get());
        is_sound.then(|| Seal {
            first_number,
            run: raw.run.get(),
            segment_bytes: raw.segment_bytes.get(),
            entries: entries.to_vec(),
        })
    }
}

/// Where objects end that follow each other from byte 0 on. `None` if there is a gap or an overlap, or no object.
fn tiles(entries: &[Entry]) -> Option<u64> {
    let mut end = 0;
    for entry in entries {
        let Entry { position, bytes } = entry;
        if u64::from(position.get()) != end + FRAME_BYTES || bytes.get() == 0 {
            return None;
        }
        end = end_after(end, u64::from(bytes.get()));
    }
    (end > 0).then_some(end)
}

fn checksum(raw: &RawHeader, entries: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(raw.as_bytes().split_at(CRC_POSITION).0);
    crc.update(entries);
    crc.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_read_back_and_any_damage_is_noticed() {
        let entries = vec![Entry::new(32..112), Entry::new(144..227), Entry::new(264..1000)];
        let seal = Seal { first_number: 5, run: 9, segment_bytes: 1000, entries };
        let bytes = seal.encode();
        assert_eq!(Seal::parse(&bytes, 5), Some(seal));
        assert_eq!(Seal::parse(&bytes, 6), None, "another segment's");
        assert_eq!(Seal::parse(bytes.split_at(bytes.len() - 8).0, 5), None);
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert_eq!(Seal::parse(&damaged, 5), None, "byte {position}");
        }
    }
}
