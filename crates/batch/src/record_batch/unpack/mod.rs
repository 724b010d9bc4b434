//! Decompresses the records of a RecordBatch, up to a limit, since a batch doesn't have their decompressed size.

mod lz4;
mod snappy;
mod zstd;

use super::{RecordCodec, RecordError};
use std::io::Read;

/// Compressed records are unpacked this many bytes at first; then as many as there are already.
const STEP_BYTES: usize = 16 << 10;

/// The records of a batch, from the bytes after its header. Uncompressed ones are `section` itself; others are unpacked
/// into `out`, which can be used again for the next batch.
///
/// `out` gets no longer than `raw_bytes_max` and one byte, whatever the bytes claim. Meanwhile zstd takes up to 9 MB
/// for its window, the others 100 kB. After an error the contents of `out` are unspecified.
pub fn unpack<'b>(
    codec: RecordCodec,
    section: &'b [u8],
    raw_bytes_max: u32,
    out: &'b mut Vec<u8>,
) -> Result<&'b [u8], RecordError> {
    out.clear();
    let mut to = Output { bytes: &mut *out, codec, limit: raw_bytes_max };
    match codec {
        RecordCodec::None => return Ok(section),
        RecordCodec::Gzip => gzip(section, &mut to)?,
        RecordCodec::Snappy => snappy::unpack(section, &mut to)?,
        RecordCodec::Lz4 => lz4::unpack(section, &mut to)?,
        RecordCodec::Zstd => zstd::unpack(section, &mut to)?,
    }
    Ok(out)
}

/// Members that follow each other (RFC 1952). The library checks their checksums, and that nothing else follows.
fn gzip(section: &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
    let mut members = flate2::bufread::MultiGzDecoder::new(section);
    let codec = to.codec;
    to.append_until_end(|free| {
        let written = members.read(free).map_err(|error| wrong(codec, error))?;
        Ok((written, written == 0))
    })
}

/// The output of decompression.
struct Output<'b> {
    /// The decompressed bytes.
    bytes: &'b mut Vec<u8>,
    codec: RecordCodec,
    /// Maximum length of `bytes`.
    limit: u32,
}

/// Why bytes weren't unpacked into the room that they were given.
enum Misfit {
    /// They take more.
    TooSmall,
    /// They are invalid for the codec.
    Wrong(RecordError),
}

impl Output<'_> {
    /// How many bytes may still come.
    fn left(&self) -> usize {
        self.limit as usize - self.bytes.len()
    }

    fn too_large(&self) -> RecordError {
        RecordError::TooLarge { limit: self.limit }
    }

    fn wrong(&self, reason: impl ToString) -> RecordError {
        wrong(self.codec, reason)
    }

    /// Checks a length that the compressed bytes announce, before anything is allocated for it.
    fn claim(&self, announced: u64) -> Result<usize, RecordError> {
        let length = usize::try_from(announced).ok().filter(|length| *length <= self.left());
        length.ok_or(self.too_large())
    }

    /// Calls `fill` with the bytes so far and `room` bytes after them to write into, and keeps the bytes that it
    /// reports to have written.
    fn append<E>(&mut self, room: usize, fill: impl FnOnce(&[u8], &mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        let end = self.bytes.len();
        if self.bytes.capacity() - end < room {
            // Twice the length, but never more than can be needed.
            self.bytes.reserve_exact(room.max(end).min(self.left() + 1));
        }
        self.bytes.resize(end + room, 0);
        let (done, free) = self.bytes.split_at_mut(end);
        let filled = fill(done, free);
        let written = filled.as_ref().map_or(0, |written| *written);
        assert!(written <= room, "{written} bytes written into {room}");
        self.bytes.truncate(end + written);
        filled
    }

    /// Appends a part that is at most `part_bytes_max` bytes long. `fill` gets more room until it suffices.
    fn append_part(
        &mut self,
        guess: usize,
        part_bytes_max: usize,
        mut fill: impl FnMut(&[u8], &mut [u8]) -> Result<usize, Misfit>,
    ) -> Result<usize, RecordError> {
        let room_max = self.left().min(part_bytes_max);
        let mut room = guess.max(STEP_BYTES).min(room_max);
        loop {
            match self.append(room, &mut fill) {
                Ok(written) => return Ok(written),
                Err(Misfit::Wrong(error)) => return Err(error),
                Err(Misfit::TooSmall) if room < room_max => room = room.saturating_mul(4).min(room_max),
                Err(Misfit::TooSmall) if room_max < part_bytes_max => return Err(self.too_large()),
                Err(Misfit::TooSmall) => return Err(self.wrong("a block is longer than its frame allows")),
            }
        }
    }

    /// Appends the bytes that `read` writes, call by call, until it reports the end.
    fn append_until_end(
        &mut self,
        mut read: impl FnMut(&mut [u8]) -> Result<(usize, bool), RecordError>,
    ) -> Result<(), RecordError> {
        let mut is_end = false;
        while !is_end {
            // One byte more than allowed, to notice it.
            let room = self.bytes.len().max(STEP_BYTES).min(self.left() + 1);
            self.append(room, |_, free| {
                let mut filled = 0;
                while filled < free.len() && !is_end {
                    let (written, ends) = read(free.split_at_mut(filled).1)?;
                    (filled, is_end) = (filled + written, ends);
                }
                Ok::<_, RecordError>(filled)
            })?;
            if self.bytes.len() > self.limit as usize {
                return Err(self.too_large());
            }
        }
        Ok(())
    }
}

fn wrong(codec: RecordCodec, reason: impl ToString) -> RecordError {
    RecordError::Unpack { codec, reason: reason.to_string() }
}
