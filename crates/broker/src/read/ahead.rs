//! Fetches a bucket's objects ahead of a reader that reads on where it has ended; of others, nothing that their read
//! doesn't want.

use super::take::Reached;
use crate::index::Found;
use crate::limits::{CACHE_GET_BYTES_MAX, PREFETCH_OBJECTS_MAX};
use crate::partition::Partition;
use crate::readers::Ahead;
use crate::store::{Prefetched, Store};
use rawline_journal::Place;
use std::ops::Range;

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
        let mut run: Option<Run> = None;
        for (place, part) in parts {
            let length = part.end - part.start;
            if skipped >= length {
                skipped -= length;
                continue;
            }
            let start = part.start + std::mem::take(&mut skipped);
            let range = start..part.end.min(start + left);
            left -= range.end - range.start;
            match &mut run {
                Some(run) if run.is_before(&place, &range) => run.range.end = range.end,
                _ => {
                    if run.replace(Run { place, range: range.clone() }).is_some_and(|run| !run.begin(&**store, ahead)) {
                        return;
                    }
                }
            }
            if range.start == place.batches().start {
                ahead.is_cold |= store.prefetch(place, place.entries()) != Prefetched::Here;
            }
            if left == 0 {
                break;
            }
        }
        if let Some(run) = run {
            run.begin(&**store, ahead);
        }
    }
}

/// Batches of an object, of one piece or of several that lie back to back.
struct Run {
    place: Place,
    range: Range<u64>,
}

impl Run {
    fn is_before(&self, place: &Place, range: &Range<u64>) -> bool {
        (self.place.source, self.range.end) == (place.source, range.start)
    }

    /// Begins to fetch it. False if too much is in flight.
    fn begin(&self, store: &dyn Store, ahead: &mut Ahead) -> bool {
        let prefetched = store.prefetch(self.place, self.range.clone());
        ahead.is_cold |= prefetched != Prefetched::Here;
        let is_begun = prefetched != Prefetched::Refused;
        if is_begun {
            ahead.begun_bytes += self.range.end - self.range.start;
        }
        is_begun
    }
}
