//! The output of decompression, which grows up to a limit.

use crate::record_batch::{RecordCodec, RecordError};

/// Compressed records are unpacked this many bytes at first; then as many as there are already.
const STEP_BYTES: usize = 16 << 10;

/// The output of decompression.
pub(super) struct Output<'b> {
    /// The decompressed bytes.
    pub bytes: &'b mut Vec<u8>,
    pub codec: RecordCodec,
    /// Maximum length of `bytes`.
    pub limit: u32,
}

/// Why bytes weren't unpacked into the room that they were given.
pub(super) enum Misfit {
    /// They take more.
    TooSmall,
    /// They are invalid for the codec.
    Wrong(RecordError),
}

impl Output<'_> {
    /// How many bytes may still come.
    pub fn left(&self) -> usize {
        self.limit as usize - self.bytes.len()
    }

    pub fn too_large(&self) -> RecordError {
        RecordError::TooLarge { limit: self.limit }
    }

    pub fn wrong(&self, reason: impl ToString) -> RecordError {
        wrong(self.codec, reason)
    }

    /// Checks a length that the compressed bytes announce, before anything is allocated for it.
    pub fn claim(&self, announced: u64) -> Result<usize, RecordError> {
        let length = usize::try_from(announced).ok().filter(|length| *length <= self.left());
        length.ok_or(self.too_large())
    }

    /// Calls `fill` with the bytes so far and `room` bytes after them to write into, and keeps the bytes that it
    /// reports to have written.
    pub fn append<E>(
        &mut self,
        room: usize,
        fill: impl FnOnce(&[u8], &mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
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
    pub fn append_part(
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
    pub fn append_until_end(
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

pub(super) fn wrong(codec: RecordCodec, reason: impl ToString) -> RecordError {
    RecordError::Unpack { codec, reason: reason.to_string() }
}
