//! The bytes before each object of a journal's segment. They have the synced length when the object was written: so a
//! start can tell a write that was interrupted from acknowledged records that the disk has lost.
//!
//! ```text
//!  0        4        8                16         20       24             28      32
//! ┌────────┬────────┬────────────────┬──────────┬────────┬──────────────┬───────┐
//! │ "RAWF" │ crc32c │ run            │ position │ synced │ object_bytes │ zero  │
//! └────────┴────────┴────────────────┴──────────┴────────┴──────────────┴───────┘
//! ```
//!
//! All numbers are little-endian and unsigned. `position` is the frame's in the segment, `synced` the length of
//! the segment's synced objects, `run` the writer's random number, which the object's id has too. The checksum covers
//! all bytes after it. The object follows, then zeros up to a multiple of 8 bytes.

use bytes::Bytes;
use rawline_batch::Crc32c;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of a frame.
pub(super) const MAGIC: [u8; 4] = *b"RAWF";
/// Size of a frame in bytes.
pub(super) const FRAME_BYTES: u64 = 32;
/// Frames begin at multiples of this.
pub(super) const ALIGNMENT: u64 = 8;
const CHECKED_FROM: usize = 8;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct Raw {
    magic: [u8; 4],
    crc32c: U32,
    run: U64,
    position: U32,
    synced: U32,
    object_bytes: U32,
    zero: U32,
}

const _: () = assert!(size_of::<Raw>() == FRAME_BYTES as usize);
const _: () = assert!(std::mem::offset_of!(Raw, run) == CHECKED_FROM);

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// The writer's random number.
    pub run: u64,
    /// Where the frame begins in its segment.
    pub position: u32,
    /// Length of the segment's synced part before the frame was written.
    pub synced: u32,
    /// Size of the object that follows.
    pub object_bytes: u32,
}

impl Frame {
    /// Where the next frame begins.
    pub(super) fn end(&self) -> u64 {
        end_after(u64::from(self.position), u64::from(self.object_bytes))
    }

    /// Where the object begins.
    pub(super) fn object_at(&self) -> u64 {
        u64::from(self.position) + FRAME_BYTES
    }

    pub(super) fn encode(&self) -> Bytes {
        assert!(self.synced <= self.position && self.object_bytes > 0, "{self:?}");
        let mut raw = Raw {
            magic: MAGIC,
            crc32c: U32::new(0),
            run: U64::new(self.run),
            position: U32::new(self.position),
            synced: U32::new(self.synced),
            object_bytes: U32::new(self.object_bytes),
            zero: U32::new(0),
        };
        raw.crc32c = U32::new(checksum(&raw));
        Bytes::copy_from_slice(raw.as_bytes())
    }

    /// Reads the frame at `position` of a segment; `None` unless it was written there.
    pub(super) fn parse(bytes: &[u8], position: u64) -> Option<Frame> {
        let (raw, _) = Raw::ref_from_prefix(bytes).ok()?;
        let frame = Frame {
            run: raw.run.get(),
            position: raw.position.get(),
            synced: raw.synced.get(),
            object_bytes: raw.object_bytes.get(),
        };
        let is_sound = raw.magic == MAGIC
            && u64::from(frame.position) == position
            && raw.crc32c.get() == checksum(raw)
            && frame.synced <= frame.position;
        is_sound.then_some(frame)
    }
}

/// Where a frame at `position` ends with an object of this size.
pub(super) fn end_after(position: u64, object_bytes: u64) -> u64 {
    (position + FRAME_BYTES + object_bytes).next_multiple_of(ALIGNMENT)
}

fn checksum(raw: &Raw) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(raw.as_bytes().split_at(CHECKED_FROM).1);
    crc.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_where_it_was_written_and_only_if_it_is_intact() {
        let frame = Frame { run: 7, position: 64, synced: 40, object_bytes: 83 };
        let bytes = frame.encode();
        assert_eq!(Frame::parse(&bytes, 64), Some(frame));
        assert_eq!((frame.object_at(), frame.end()), (96, 184));
        assert_eq!(Frame::parse(&bytes, 72), None, "a copy of it is elsewhere");
        assert_eq!(Frame::parse(bytes.split_at(31).0, 64), None);
        for position in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[position] ^= 1;
            assert_eq!(Frame::parse(&damaged, 64), None, "byte {position}");
        }
    }

    /// The golden frames of `vectors/journal/`, which precede the golden objects.
    #[test]
    fn golden_frames_are_read_and_written() {
        let golden = include_str!("../../../../../../vectors/journal/frames.hex");
        let lines: Vec<&str> = golden.lines().filter(|line| !line.starts_with('#')).collect();
        let mut position = 0;
        for (line, object_bytes) in lines.iter().zip([560, 440, 336]) {
            let frame = Frame { run: 0x1122_3344_5566_7788, position, synced: position, object_bytes };
            let bytes = frame.encode();
            assert_eq!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), *line);
            assert_eq!(Frame::parse(&bytes, u64::from(position)), Some(frame));
            position = frame.end() as u32;
        }
        assert_eq!(lines.len(), 3);
    }
}
