//! When a due merge is delayed: while many appends arrive, which need the same processors and the same disk. What is
//! not merged takes memory in the index, so it waits for a limited number of pieces only.

use super::{Failed, Merger, Published};
use crate::journal_config::MergeWait;
use crate::limits::{MERGE_BUSY_BYTES, MERGE_BUSY_OBJECTS, MERGE_PAUSE};
use tokio::time::sleep;

impl Published {
    /// Whether enough was published since `before` that no merge is delayed.
    fn ends_wait(self, before: Published, wait: MergeWait) -> bool {
        self.pieces - before.pieces >= wait.pieces_max || self.bytes - before.bytes >= wait.bytes_max
    }

    /// Whether appends kept this broker busy since `before`, a moment ago.
    fn is_busy(self, before: Published) -> bool {
        self.objects - before.objects >= MERGE_BUSY_OBJECTS || self.bytes - before.bytes >= MERGE_BUSY_BYTES
    }

    /// With so much more.
    pub(super) fn and(self, more: Published) -> Published {
        Published {
            objects: self.objects + more.objects,
            pieces: self.pieces + more.pieces,
            bytes: self.bytes + more.bytes,
        }
    }

    /// At most `other`.
    pub(super) fn min(self, other: Published) -> Published {
        Published {
            objects: self.objects.min(other.objects),
            pieces: self.pieces.min(other.pieces),
            bytes: self.bytes.min(other.bytes),
        }
    }
}

impl Merger {
    /// Waits for a pause in the appends. `merged` is up to where objects are merged, or need not be.
    pub(super) async fn pause(&self, merged: Published) -> Result<(), Failed> {
        let Some(wait) = self.config.wait else { return Ok(()) };
        loop {
            let before = *self.published.borrow();
            if before.ends_wait(merged, wait) {
                return Ok(());
            }
            sleep(MERGE_PAUSE).await;
            // The error means that the journal's task has ended.
            self.published.has_changed().map_err(|_| Failed::Closed)?;
            if !self.published.borrow().is_busy(before) {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_waits_for_neither_more_pieces_nor_more_bytes_than_its_limits() {
        let wait = MergeWait { pieces_max: 100, bytes_max: 1_000 };
        let merged = Published { objects: 3, pieces: 7, bytes: 70 };
        let after = |pieces, bytes| merged.and(Published { objects: 500, pieces, bytes }).ends_wait(merged, wait);
        assert_eq!([after(99, 999), after(100, 0), after(1, 1_000)], [false, true, true]);
    }

    #[test]
    fn many_objects_or_many_bytes_are_many_appends() {
        let before = Published { objects: 7, pieces: 9, bytes: 70 };
        let after = |objects, bytes| before.and(Published { objects, pieces: 1, bytes }).is_busy(before);
        let (objects, bytes) = (MERGE_BUSY_OBJECTS, MERGE_BUSY_BYTES);
        assert_eq!([after(objects - 1, bytes - 1), after(objects, 0), after(0, bytes)], [false, true, true]);
    }
}
