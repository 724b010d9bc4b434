//! What there is to delete, and its deletion: a segment is deleted when all of its objects are dead.

use super::inner::Inner;
use super::names::snapshots_in;
use super::segments::Stored;
use super::write::DATE;
use crate::metrics::{Housekeeping, METRICS};
use crate::store::disk::errors::io_error;
use crate::store::disk::segment::remove;
use crate::store_error::StoreError;
use rawline_journal::{Garbage, Key, Listing};

impl Inner {
    /// Lists the files that can be deleted if they are unreferenced.
    pub(super) fn list(&self) -> Result<Listing, StoreError> {
        let key = |number| Key { number, created: DATE };
        // Before the others: a listed object is in a snapshot or in none.
        let snapshots = snapshots_in(&self.snapshots_dir)?;
        let objects = self.segments().values().flat_map(|stored| stored.deletable()).map(key).collect();
        let merged = self.merged_mut().keys().copied().map(key).collect();
        let mut listing = Listing { objects, merged, given_up: self.given_up()?, ..Listing::default() };
        snapshots.into_iter().for_each(|name| listing.add_snapshot(name, DATE));
        Ok(listing)
    }

    /// Deletes dead objects. Bytes that readers hold stay readable. Returns the number of objects whose files are
    /// gone.
    pub(super) fn delete(&self, garbage: &Garbage) -> Result<u64, StoreError> {
        let _running = METRICS.stalls.begin(Housekeeping::Deletion);
        // The snapshot by which garbage was found may not be durable.
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone());
        }
        for name in &garbage.snapshots {
            let path = self.snapshot_path(*name);
            remove(self.device(), &path).map_err(|error| io_error("delete", &path, &error))?;
        }
        let mut deleted = 0;
        let mut remove = |stored: &Stored, objects| match stored.segment.remove() {
            Ok(()) => deleted += objects,
            Err(error) => tracing::warn!(%error, "an unreferenced file stays until the broker is restarted"),
        };
        for number in &garbage.merged {
            // Before its file: readers don't find it then.
            let stored = self.merged_mut().remove(number);
            stored.iter().for_each(|stored| remove(stored, 1));
        }
        let segments: Vec<_> = self.segments().values().cloned().collect();
        for stored in segments {
            let own = stored.numbers();
            let begin = garbage.objects.partition_point(|number| *number < own.start);
            let end = garbage.objects.partition_point(|number| *number < own.end);
            let numbers = garbage.objects.iter().copied().skip(begin).take(end - begin);
            if begin < end && stored.delete(numbers) {
                self.segments_mut().remove(&own.start);
                remove(&stored, own.end - own.start);
            }
        }
        self.reserve.fill();
        Ok(deleted)
    }
}
