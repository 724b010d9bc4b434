//! Fetches a bucket's objects ahead of a reader that reads on where it has ended; of others, nothing that their read
//! doesn't want.

use super::take::Reached;
use crate::index::Found;
use crate::limits::{CACHE_GAP_BYTES_MAX, CACHE_GET_BYTES_MAX, PREFETCH_OBJECTS_MAX};
use crate::partition::Partition;
use crate::readers::Ahead;
use crate::store::Prefetched;
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
