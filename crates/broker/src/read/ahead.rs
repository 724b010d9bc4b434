//! How far ahead of readers a bucket's objects are fetched: of a reader that reads on where it has ended, more with
//! each read, until it finds everything at hand; of others, nothing that their read doesn't want.

use super::take::Reached;
use crate::index::Found;
use crate::limits::{
    CACHE_GAP_BYTES_MAX, CACHE_GET_BYTES_MAX, PREFETCH_OBJECTS_MAX, READ_AHEAD_BYTES_MIN, READERS_REMEMBERED_MAX,
};
use crate::partition::Partition;
use crate::store::Prefetched;
use rawline_journal::Place;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is fetched ahead of one reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ahead {
    /// How far ahead of its position in bytes it is fetched.
    window_bytes: u64,
    /// How much of that has begun.
    begun_bytes: u64,
    /// Whether something was not at hand since the window was last widened.
    is_cold: bool,
    /// How much was read since.
    read_bytes: u64,
}

impl Ahead {
    /// After a read that has ended with records: the next one may be further ahead.
    fn widened(self) -> Ahead {
        let window_bytes = match self.window_bytes {
            0 => READ_AHEAD_BYTES_MIN.max(self.read_bytes),
            bytes if self.is_cold => bytes * 2,
            bytes => bytes,
        };
        Ahead { window_bytes, is_cold: false, read_bytes: 0, ..self }
    }
}

/// Where the readers of a partition have ended, the one that read last at the end.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<Vec<(u64, Ahead)>>);

impl Readers {
    /// What is fetched ahead of the reader that ended at this offset; nothing if it is new.
    pub(super) fn take(&self, offset: u64) -> Ahead {
        let mut readers = self.lock();
        let found = readers.iter().position(|(end, _)| *end == offset);
        found.map_or_else(Ahead::default, |found| readers.remove(found).1)
    }

    /// Remembers a reader that has ended at an offset.
    pub(super) fn put(&self, end_offset: u64, ahead: Ahead) {
        let mut readers = self.lock();
        if readers.len() >= READERS_REMEMBERED_MAX {
            readers.remove(0);
        }
        readers.push((end_offset, ahead));
    }

    /// The same, after a read that has returned records.
    pub(super) fn put_after(&self, end_offset: u64, ahead: Ahead, ahead_bytes_max: u64) {
        let widened = ahead.widened();
        self.put(end_offset, Ahead { window_bytes: widened.window_bytes.min(ahead_bytes_max), ..widened });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Ahead)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    /// Begins to fetch what follows the part of a piece that a read gets now: as far as the reader's window goes, and
    /// as much as the read itself still wants.
    pub(super) fn fetch_ahead(&self, found: &Found, reached: &Reached, ahead: &mut Ahead) {
        let store = self.store();
        let target = ahead.window_bytes.max(reached.wanted_bytes).min(store.ahead_bytes_max());
        let reached_bytes = reached.range.len() as u64;
        ahead.begun_bytes = ahead.begun_bytes.saturating_sub(reached_bytes);
        ahead.read_bytes += reached_bytes;
        let mut left = target.saturating_sub(ahead.begun_bytes);
        if left > CACHE_GET_BYTES_MAX {
            // In whole GETs, as long as there are several.
            left -= left % CACHE_GET_BYTES_MAX;
        } else if left < target.min(2 * CACHE_GET_BYTES_MAX) / 2 {
            return;
        }
        let batches = found.place().batches();
        let rest = (*found.place(), batches.start + reached.range.end as u64..batches.end);
        let following = self.index().after(found.next_offset - 1, PREFETCH_OBJECTS_MAX, target);
        let parts = std::iter::once(rest).chain(following.into_iter().map(|place| (place, place.batches())));
        let mut skipped = ahead.begun_bytes;
        for (place, part) in parts {
            let length = part.end - part.start;
            if skipped >= length {
                skipped -= length;
                continue;
            }
            let start = part.start + std::mem::take(&mut skipped);
            let range = start..part.end.min(start + left);
            let is_all_begun = ranges_of(&place, &range).into_iter().all(|range| {
                let prefetched = store.prefetch(place, range);
                ahead.is_cold |= prefetched != Prefetched::Here;
                prefetched != Prefetched::Refused
            });
            if !is_all_begun {
                return;
            }
            ahead.begun_bytes += range.end - range.start;
            left -= range.end - range.start;
            if left == 0 {
                return;
            }
        }
    }
}

/// The ranges of its object that a read of these batches needs: from the piece's front on, its entries too.
fn ranges_of(place: &Place, batches: &Range<u64>) -> Vec<Range<u64>> {
    let (entries, both) = (place.entries(), place.entries().start..batches.end);
    if batches.start > place.batches().start {
        vec![batches.clone()]
    } else if batches.start - entries.end <= CACHE_GAP_BYTES_MAX {
        vec![both]
    } else {
        vec![entries, batches.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_reader_that_reads_on_widens_while_what_it_reads_is_cold() {
        let readers = Readers::default();
        let mut ahead = readers.take(0);
        assert_eq!(ahead, Ahead::default());
        let mut windows = Vec::new();
        for end in 1..6 {
            readers.put_after(end, Ahead { is_cold: end < 5, ..ahead }, 4 * READ_AHEAD_BYTES_MIN);
            assert_eq!(readers.take(end - 1), Ahead::default());
            ahead = readers.take(end);
            windows.push(ahead.window_bytes / READ_AHEAD_BYTES_MIN);
        }
        assert_eq!(windows, [1, 2, 4, 4, 4]);
        assert_eq!(readers.take(5), Ahead::default(), "it was taken");
        let read_bytes = 3 * READ_AHEAD_BYTES_MIN;
        readers.put_after(1, Ahead { read_bytes, ..Ahead::default() }, 4 * READ_AHEAD_BYTES_MIN);
        assert_eq!(readers.take(1), Ahead { window_bytes: read_bytes, ..Ahead::default() });
    }

    #[test]
    fn readers_are_bounded_and_the_one_that_read_last_stays() {
        let readers = Readers::default();
        let ahead = Ahead { window_bytes: 1, ..Ahead::default() };
        (0..100).for_each(|offset| readers.put(offset, ahead));
        assert_eq!(readers.lock().len(), READERS_REMEMBERED_MAX);
        assert_eq!((readers.take(0), readers.take(99)), (Ahead::default(), ahead));
    }
}
