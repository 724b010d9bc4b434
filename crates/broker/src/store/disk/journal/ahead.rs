//! Zeros that are written to a segment ahead of its objects, so that a sync of small ones waits for nothing but them.
//!
//! Blocks that are allocated and not written are marked so. The first write to one changes the mark, and a sync then
//! waits for the file system's own journal too: on ext4 it takes 230 us instead of 130 with 20 KB. Whether a block
//! holds zeros or was never written, a read returns the same, so nothing depends on these writes.

use crate::limits::{AHEAD_OBJECT_BYTES_MAX, AHEAD_PIECE_BYTES_MAX, AHEAD_WINDOW_BYTES_MAX};
use crate::store::disk::device::Device;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A page of the cache, in bytes: zeros are never in one with objects.
const PAGE_BYTES: u64 = 4096;

static ZEROS: [u8; AHEAD_PIECE_BYTES_MAX as usize] = [0; AHEAD_PIECE_BYTES_MAX as usize];

#[cfg(test)]
thread_local! {
    /// A planted bug: zeros are written over the newest objects.
    pub(super) static OVERWRITES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The zeros that are written to one segment.
pub(super) struct Ahead {
    /// How far ahead of the objects.
    window: u64,
    /// Length of one write.
    piece: u64,
    state: Mutex<State>,
}

struct State {
    /// The end of the objects that are written or being written. The rest is unused.
    claimed: u64,
    /// Blocks are allocated up to here.
    allocated: u64,
    /// Zeros are written up to here.
    zeroed: u64,
    is_filling: bool,
    has_ended: bool,
}

impl Ahead {
    /// Of a new segment of this capacity. `is_useful`: whether the file system writes blocks in place.
    pub fn new(capacity: u64, is_useful: bool) -> Ahead {
        let window = AHEAD_WINDOW_BYTES_MAX.min(capacity / 2) / PAGE_BYTES * PAGE_BYTES;
        let state = State { claimed: 0, allocated: 0, zeroed: 0, is_filling: false, has_ended: !is_useful };
        Ahead { window, piece: window.min(AHEAD_PIECE_BYTES_MAX), state: Mutex::new(state) }
    }

    /// Before an object is written that ends at `end`: no zeros are written before that from now on.
    pub fn claim(&self, end: u64, allocated: u64) {
        let mut state = self.state();
        assert!(end >= state.claimed && end <= allocated, "{}..{end} of {allocated} bytes", state.claimed);
        (state.claimed, state.allocated) = (end, allocated);
    }

    /// Does `work`, which removes the remains of a failed write from `position` on.
    pub fn discard(&self, position: u64, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state();
        assert!(position <= state.claimed, "discarding from {position} after {}", state.claimed);
        (state.claimed, state.allocated) = (position, position);
        state.zeroed = state.zeroed.min(position);
        work()
    }

    /// Whether to call [`Ahead::fill`] now that an object of this size is written. Then it has to be called.
    pub fn begin(&self, object_bytes: u64) -> bool {
        let mut state = self.state();
        let left = state.zeroed.saturating_sub(state.claimed);
        let is_time = object_bytes <= AHEAD_OBJECT_BYTES_MAX && left < self.window / 2;
        let begins = is_time && !state.is_filling && self.next(&state).is_some();
        state.is_filling |= begins;
        begins
    }

    /// Writes zeros until enough are ahead. Blocks.
    pub fn fill(&self, device: &dyn Device, file: &File) {
        while let Some(range) = self.write_next(device, file) {
            // Not under the lock: an object may be written meanwhile. Whatever fails here fails the next sync.
            let _ = device.write_back(file, range);
        }
    }

    /// The lock is held during the write, a copy into the page cache, so that no object can claim its place before
    /// it has ended.
    fn write_next(&self, device: &dyn Device, file: &File) -> Option<Range<u64>> {
        let mut state = self.state();
        let Some(range) = self.next(&state) else {
            state.is_filling = false;
            return None;
        };
        let position = range.start;
        #[cfg(test)]
        let position = if OVERWRITES.get() { position.saturating_sub(PAGE_BYTES) } else { position };
        let (zeros, _) = ZEROS.split_at((range.end - range.start) as usize);
        if let Err(error) = device.write(file, &[Bytes::from_static(zeros)], position) {
            tracing::debug!(%error, ?range, "zeros were not written ahead; the segment's next syncs take longer");
            state.has_ended = true;
            return None;
        }
        state.zeroed = range.end;
        Some(range)
    }

    fn next(&self, state: &State) -> Option<Range<u64>> {
        let begin = state.zeroed.max(state.claimed).next_multiple_of(PAGE_BYTES);
        let end = begin + self.piece;
        let has_room = end <= state.allocated.min(state.claimed + self.window);
        (!state.has_ended && self.piece > 0 && has_room).then_some(begin..end)
    }

    /// From now on nothing is written.
    pub fn end(&self) {
        self.state().has_ended = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)] // A test.

    use super::*;
    use crate::store::disk::device::System;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    const CAPACITY: u64 = 64 << 20;

    #[test]
    fn zeros_keep_ahead_of_small_objects_and_never_touch_them() {
        let file = tempfile::tempfile().unwrap();
        let (ahead, is_done) = (Ahead::new(CAPACITY, true), AtomicBool::new(false));
        let object = [7; 10_000];
        std::thread::scope(|scope| {
            // Fills all the time, also where it isn't time for it.
            scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    ahead.fill(&System, &file);
                }
            });
            for number in 0..2000 {
                let begin = number * object.len() as u64;
                ahead.claim(begin + object.len() as u64, CAPACITY);
                file.write_all_at(&object, begin).unwrap();
            }
            is_done.store(true, Ordering::Release);
        });
        ahead.fill(&System, &file);
        let end = 2000 * object.len();
        let mut bytes = vec![1; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let (objects, zeros) = bytes.split_at(end);
        assert!(objects.iter().all(|&byte| byte == 7));
        assert!(zeros.iter().all(|&byte| byte == 0));
        let expected = AHEAD_WINDOW_BYTES_MAX - AHEAD_PIECE_BYTES_MAX..=AHEAD_WINDOW_BYTES_MAX;
        assert!(expected.contains(&(zeros.len() as u64)), "{} bytes of zeros", zeros.len());
    }

    #[test]
    fn zeros_are_for_small_objects_and_within_what_is_allocated() {
        let file = tempfile::tempfile().unwrap();
        let ahead = Ahead::new(CAPACITY, true);
        let length = || file.metadata().unwrap().len();
        ahead.claim(100, 1 << 20);
        assert!(!ahead.begin(AHEAD_OBJECT_BYTES_MAX + 1), "after a large object");
        assert!(ahead.begin(100));
        assert!(!ahead.begin(100), "it has begun");
        ahead.fill(&System, &file);
        assert_eq!(length(), (1 << 20) - AHEAD_PIECE_BYTES_MAX + PAGE_BYTES);
        assert!(!ahead.begin(100), "enough is ahead");
        ahead.discard(50, || file.set_len(50)).unwrap();
        assert!(!ahead.begin(100), "nothing is allocated");
        ahead.claim(100, 1 << 20);
        assert!(ahead.begin(100));
        ahead.end();
        ahead.fill(&System, &file);
        assert_eq!(length(), 50, "written after the end");
        assert!(!Ahead::new(CAPACITY, false).begin(100));
    }
}
