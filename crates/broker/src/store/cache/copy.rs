//! One copy: a file of its object's size with holes, which of its blocks are there, and what of them is verified.
//!
//! Blocks are fetched and written once, and handed out only afterwards: bytes that a reader holds never change. The
//! file system knows which blocks a file has, so that no other file has to agree with it.

use super::check::front_of;
use super::error::CacheError;
use super::flight::Flight;
use super::ranges::Ranges;
use crate::limits::{CACHE_BLOCK_BYTES, CACHE_GAP_BYTES_MAX, CACHE_GET_BYTES_MAX, CACHE_WHOLE_BYTES_MAX};
use crate::store::disk::holes::data_ranges;
use crate::store::disk::sys::write_at;
use crate::store::disk::warm::{Missed, Warm};
use bytes::Bytes;
use futures_util::FutureExt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A mapped copy.
pub(super) struct Copy {
    /// Distinguishes it from another copy of the object that takes its place.
    pub number: u64,
    /// All of its object's bytes, holes included.
    pub whole: Bytes,
    /// Open for writing. One thread writes at a time: the kernel lets the others wait in a loop, for an eighth of the
    /// broker's time where eight GETs of an object are in flight.
    file: Mutex<Arc<File>>,
    pub warm: Warm,
    state: Mutex<CopyState>,
}

#[derive(Default)]
struct CopyState {
    /// What is in the file: whole blocks.
    present: Ranges,
    /// What is being fetched: whole blocks.
    in_flight: Vec<(Range<u64>, Flight<Landed>)>,
    /// What a reader has verified.
    verified: Ranges,
    /// Whether its front is that of its object.
    is_checked: bool,
    /// Where the batches begin that were read last, and the offset from which on.
    read_at: (u64, u64),
    /// Whether something was read again.
    is_read_again: bool,
}

/// How the fetch of blocks ended.
pub(super) type Landed = Result<(), CacheError>;

/// Blocks that are to be fetched. They are in flight until this is dropped.
pub(super) struct Flying {
    pub copy: Arc<Copy>,
    pub range: Range<u64>,
    send: Option<oneshot::Sender<Landed>>,
    /// Its place among those that are fetched ahead.
    pub permit: Option<OwnedSemaphorePermit>,
}

impl Copy {
    /// `file` is mapped as `whole`, and has the blocks `present`.
    pub fn new(number: u64, whole: Bytes, file: Arc<File>, present: Ranges, missed: &Arc<Missed>) -> Arc<Copy> {
        let warm = Warm::new(whole.len() as u64, missed);
        let state = Mutex::new(CopyState { present, ..CopyState::default() });
        Arc::new(Copy { number, whole, file: Mutex::new(file), warm, state })
    }

    fn lock(&self) -> MutexGuard<'_, CopyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self) -> u64 {
        self.whole.len() as u64
    }

    /// Writes bytes at a position. Returns where they end. Blocks.
    pub fn write(&self, pieces: &[Bytes], position: u64) -> io::Result<u64> {
        write_at(&self.file.lock().unwrap_or_else(PoisonError::into_inner), pieces, position)?;
        Ok(position + pieces.iter().map(|piece| piece.len() as u64).sum::<u64>())
    }

    /// Whether these bytes are here, and are the object's as far as its front says.
    pub fn has(&self, range: &Range<u64>) -> bool {
        let state = self.lock();
        state.is_checked && state.present.contains(range)
    }

    /// The ranges that a read of these bytes needs: the front of the object too, until it was checked.
    pub fn needed(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let front = front_of(self.bytes());
        let from_front = 0..range.end.max(front.end);
        if self.lock().is_checked {
            vec![range.clone()]
        } else if range.start <= front.end + CACHE_GAP_BYTES_MAX {
            vec![from_front]
        } else {
            vec![front, range.clone()]
        }
    }

    /// Begins to fetch what of these bytes is neither here nor in flight, in parts that `admit` lets through. Returns
    /// what has to be waited for, and the new flights.
    pub fn want(
        self: &Arc<Self>,
        range: &Range<u64>,
        mut admit: impl FnMut() -> Option<Option<OwnedSemaphorePermit>>,
    ) -> (Vec<Flight<Landed>>, Vec<Flying>) {
        let mut state = self.lock();
        if state.present.contains(range) {
            return (Vec::new(), Vec::new());
        }
        let mut claimed = state.present.clone();
        state.in_flight.iter().for_each(|(range, _)| claimed.add(range));
        let missing = claimed.missing(&self.blocks(range));
        let mut flying = Vec::new();
        for part in missing.into_iter().flat_map(parts) {
            let Some(permit) = admit() else { break };
            let (send, landed) = oneshot::channel();
            state.in_flight.push((part.clone(), landed.map(Result::ok).boxed().shared()));
            flying.push(Flying { copy: self.clone(), range: part, send: Some(send), permit });
        }
        let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        let waits = state.in_flight.iter().filter(|(other, _)| overlaps(other));
        (waits.map(|(_, flight)| flight.clone()).collect(), flying)
    }

    /// The blocks that hold these bytes. A small object is one block.
    fn blocks(&self, range: &Range<u64>) -> Range<u64> {
        if self.bytes() <= CACHE_WHOLE_BYTES_MAX {
            return 0..self.bytes();
        }
        let start = range.start - range.start % CACHE_BLOCK_BYTES;
        start..range.end.next_multiple_of(CACHE_BLOCK_BYTES).min(self.bytes())
    }

    /// Whether its front is known to be that of the object.
    pub fn is_checked(&self) -> bool {
        self.lock().is_checked
    }

    /// Notes that the front is that of the object.
    pub fn set_checked(&self) {
        self.lock().is_checked = true;
    }

    /// Where these bytes are, if they are a part of it.
    fn position(&self, bytes: &[u8]) -> Option<Range<u64>> {
        let start = bytes.as_ptr().addr().checked_sub(self.whole.as_ptr().addr())?;
        let end = start + bytes.len();
        (end <= self.whole.len()).then_some(start as u64..end as u64)
    }

    /// Whether a reader has verified these bytes, which are read from an offset on; and whether they are read again,
    /// for the first time that this copy is. One reader gets each record once, in order: so they are if they don't come
    /// after those that were read last. A batch that is read in parts has the same bytes, and other offsets.
    pub fn is_verified(&self, bytes: &[u8], offset: u64) -> (bool, bool) {
        let Some(range) = self.position(bytes) else { return (false, false) };
        let mut state = self.lock();
        let is_again = (range.start, offset) <= state.read_at && !state.is_read_again;
        state.is_read_again |= is_again;
        state.read_at = (range.start, offset);
        (state.verified.contains(&range), is_again)
    }

    /// Notes that these bytes are intact, if they are a part of it.
    pub fn set_verified(&self, bytes: &[u8]) {
        if let Some(range) = self.position(bytes) {
            self.lock().verified.add(&range);
        }
    }
}

impl Flying {
    /// Ends the flight.
    pub fn land(mut self, landed: Landed) {
        if landed.is_ok() {
            self.copy.lock().present.add(&self.range);
        }
        self.leave();
        if let Some(send) = self.send.take() {
            // Every reader that waited may have gone away.
            let _ = send.send(landed);
        }
    }

    fn leave(&self) {
        self.copy.lock().in_flight.retain(|(range, _)| *range != self.range);
    }
}

impl Drop for Flying {
    fn drop(&mut self) {
        if self.send.is_some() {
            self.leave();
        }
    }
}

/// The GETs that fetch these bytes. A short rest isn't worth one.
fn parts(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let mut left = range;
    std::iter::from_fn(move || {
        let bytes = left.end - left.start;
        let is_last = bytes <= CACHE_GET_BYTES_MAX + CACHE_GET_BYTES_MAX / 8;
        let end = if is_last { left.end } else { left.start + CACHE_GET_BYTES_MAX };
        let part = left.start..end;
        left.start = end;
        (bytes > 0).then_some(part)
    })
}

/// The whole blocks that a file of `bytes` bytes has, by its file system.
pub(super) fn blocks_of(file: &File, bytes: u64) -> Ranges {
    let mut present = Ranges::default();
    for data in data_ranges(file, bytes as usize) {
        let (start, end) = ((data.start as u64).next_multiple_of(CACHE_BLOCK_BYTES), data.end as u64);
        let end = if end == bytes { end } else { end - end % CACHE_BLOCK_BYTES };
        if start < end {
            present.add(&(start..end));
        }
    }
    present
}
