//! LZ4's frames, without dictionaries, around blocks that a library unpacks.
//!
//! ```text
//! magic │ flags │ block size │ content size u64 if flagged │ checksum of the three, 1 byte
//! blocks: length u32, bit 31 set if it isn't compressed │ block │ checksum if flagged
//! 0 u32 │ checksum of the content if flagged
//! ```
//!
//! All numbers are little-endian, the checksums xxHash32. The format is
//! <https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>. The library's own reader of frames allocates up to
//! 12 MB for each frame of any length, and takes a frame without an end for a whole one.

use super::output::{Misfit, Output};
use crate::record_batch::RecordError;
use lz4_flex::block::{DecompressError, decompress_into, decompress_into_with_dict};
use twox_hash::XxHash32;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

const VERSION_MASK: u8 = 0b1100_0000;
const VERSION: u8 = 0b0100_0000;
const INDEPENDENT: u8 = 1 << 5;
const BLOCK_CHECKSUMS: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const CONTENT_CHECKSUM: u8 = 1 << 2;
const RESERVED: u8 = 1 << 1;
const DICTIONARY: u8 = 1;

const STORED: u32 = 1 << 31;

/// How far back a block can refer.
const WINDOW_BYTES: usize = 64 << 10;

/// The header of a frame.
struct Frame {
    flags: u8,
    block_bytes_max: usize,
    content_bytes: Option<u64>,
}

pub(super) fn unpack(section: &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
    let mut rest = section;
    while !rest.is_empty() {
        let frame = Frame::read(&mut rest, to)?;
        frame.unpack(&mut rest, to)?;
    }
    Ok(())
}

impl Frame {
    fn read(rest: &mut &[u8], to: &Output<'_>) -> Result<Frame, RecordError> {
        if take(rest, MAGIC.len(), to)? != MAGIC {
            return Err(to.wrong("a frame doesn't begin with its magic"));
        }
        let descriptor = *rest;
        let [flags] = array(rest, to)?;
        let [sizes] = array(rest, to)?;
        if flags & (VERSION_MASK | RESERVED) != VERSION || flags & DICTIONARY != 0 {
            return Err(to.wrong(format!("flags {flags:#010b}; only version 1 without a dictionary is read")));
        }
        let block_bytes_max = match sizes {
            0x40 => 64 << 10,
            0x50 => 256 << 10,
            0x60 => 1 << 20,
            0x70 => 4 << 20,
            _ => return Err(to.wrong(format!("block size {sizes:#04x}; there are 0x40, 0x50, 0x60 and 0x70"))),
        };
        let content_bytes = match flags & CONTENT_SIZE {
            0 => None,
            _ => Some(u64::from_le_bytes(array(rest, to)?)),
        };
        let (descriptor, _) = descriptor.split_at(descriptor.len() - rest.len());
        let [checksum] = array(rest, to)?;
        if checksum != (xxh32(descriptor) >> 8) as u8 {
            return Err(to.wrong("the checksum of a frame's header doesn't match it"));
        }
        to.claim(content_bytes.unwrap_or_default())?;
        Ok(Frame { flags, block_bytes_max, content_bytes })
    }

    fn unpack(&self, rest: &mut &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
        let start = to.bytes.len();
        loop {
            let word = u32::from_le_bytes(array(rest, to)?);
            if word == 0 {
                break;
            }
            let block = take(rest, (word & !STORED) as usize, to)?;
            if block.len() > self.block_bytes_max {
                return Err(to.wrong(format!("a block of {} bytes, more than its frame allows", block.len())));
            }
            self.verify(BLOCK_CHECKSUMS, block, rest, to)?;
            if word & STORED == 0 {
                self.unpack_block(block, start, to)?;
            } else {
                let room = to.claim(block.len() as u64)?;
                to.append(room, |_, free| {
                    free.copy_from_slice(block);
                    Ok::<_, RecordError>(room)
                })?;
            }
        }
        let content = to.bytes.split_at(start).1;
        self.verify(CONTENT_CHECKSUM, content, rest, to)?;
        match self.content_bytes {
            Some(expected) if expected != content.len() as u64 => {
                Err(to.wrong(format!("{} bytes were decompressed, a frame says {expected}", content.len())))
            }
            _ => Ok(()),
        }
    }

    /// Unpacks a block, which may refer to the frame's content before it, which begins at `start`, if the flags say so.
    fn unpack_block(&self, block: &[u8], start: usize, to: &mut Output<'_>) -> Result<(), RecordError> {
        let codec = to.codec;
        let fill = |done: &[u8], free: &mut [u8]| {
            let before = done.split_at(start.max(done.len().saturating_sub(WINDOW_BYTES))).1;
            let unpacked = if self.flags & INDEPENDENT == 0 && !before.is_empty() {
                decompress_into_with_dict(block, free, before)
            } else {
                decompress_into(block, free)
            };
            unpacked.map_err(|error| match error {
                DecompressError::OutputTooSmall { .. } => Misfit::TooSmall,
                error => Misfit::Wrong(super::wrong(codec, error)),
            })
        };
        to.append_part(block.len().saturating_mul(4), self.block_bytes_max, fill).map(|_| ())
    }

    /// Checks the checksum that comes next if `flag` is set.
    fn verify(&self, flag: u8, bytes: &[u8], rest: &mut &[u8], to: &Output<'_>) -> Result<(), RecordError> {
        if self.flags & flag != 0 && u32::from_le_bytes(array(rest, to)?) != xxh32(bytes) {
            return Err(to.wrong("a checksum doesn't match its bytes"));
        }
        Ok(())
    }
}

/// The next `count` bytes.
fn take<'a>(rest: &mut &'a [u8], count: usize, to: &Output<'_>) -> Result<&'a [u8], RecordError> {
    let Some((taken, after)) = rest.split_at_checked(count) else {
        return Err(to.wrong(format!("{count} bytes of a frame where {} follow", rest.len())));
    };
    *rest = after;
    Ok(taken)
}

fn array<const N: usize>(rest: &mut &[u8], to: &Output<'_>) -> Result<[u8; N], RecordError> {
    let taken = take(rest, N, to)?;
    let Some(array) = taken.first_chunk() else { unreachable!("{} bytes were taken for {N}", taken.len()) };
    Ok(*array)
}

fn xxh32(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}
