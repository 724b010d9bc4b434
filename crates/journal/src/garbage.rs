//! Garbage in a journal's folder: the objects that a snapshot older than the deletion delay doesn't need.

use crate::limits::Limits;
use crate::merges::Merges;
use crate::needed::Needed;
use crate::place::Source;
use crate::rules::Rules;
use crate::snapshot::SnapshotName;
use std::collections::BTreeSet;

/// A key of a journal's folder: an object, a merged object, or a snapshot of the objects before a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The object's number.
    pub number: u64,
    /// When the key was created: the store's time in seconds.
    pub created: u64,
}

/// Every key of a journal's folder, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The journal objects.
    pub objects: Vec<Key>,
    /// The merged objects.
    pub merged: Vec<Key>,
    /// The snapshots, by their roots, each with the number of the journal object after it.
    pub snapshots: Vec<Key>,
    /// The separate parts of snapshots.
    pub parts: Vec<SnapshotName>,
    /// A range that an operator has given up: the first of missing objects, by a key of its number with another ending.
    pub given_up: Vec<Source>,
}

/// Numbers of keys that can be deleted, by anyone and at any later time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Journal objects, in ascending order.
    pub objects: Vec<u64>,
    /// Merged objects, in ascending order.
    pub merged: Vec<u64>,
    /// Snapshots, in ascending order: the roots, and then their parts, so that no root is there without its parts.
    pub snapshots: Vec<SnapshotName>,
}

impl Garbage {
    /// Whether there is nothing to delete.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.merged.is_empty() && self.snapshots.is_empty()
    }
}

impl Listing {
    /// Adds the root of a snapshot, or a part of one.
    pub fn add_snapshot(&mut self, name: SnapshotName, created: u64) {
        if name.is_root() {
            self.snapshots.push(Key { number: name.next_number, created });
        } else {
            self.parts.push(name);
        }
    }

    /// The newest snapshot that is older than the deletion delay at the store's time `date`: it determines what can be
    /// deleted.
    pub fn decisive(&self, date: u64, limits: &Limits) -> Option<u64> {
        self.snapshots.iter().filter(|key| is_old(key, date, limits)).map(|key| key.number).max()
    }

    /// The garbage by the decisive snapshot, which may have been read before or after the listing.
    ///
    /// A journal object is deleted only if it is older than the deletion delay too. A writer that has slept for so long
    /// verifies its state before it acknowledges an append, so it notices that the object's number is free again.
    /// A merged object's number is never used again: its age doesn't matter.
    pub fn garbage(&self, date: u64, limits: &Limits, decisive: &Needed) -> Garbage {
        let Needed { next: covered, merges, sources, .. } = decisive;
        let covered = *covered;
        let is_needed = |number: u64| sources.contains(&Source::Journal(number));
        let objects = self.objects.iter().filter(|key| is_old(key, date, limits)).map(|key| key.number);
        let objects = objects.filter(|number| *number < covered && !is_needed(*number));
        let merged = self.merged.iter().map(|key| key.number);
        let merged = merged.filter(|number| !is_merge_needed(*number, merges, sources, Rules::default()));
        // Parts without a root are of a snapshot that is being stored, or never will be. No start reads an older one
        // than the decisive one, even if its root is stored later.
        let is_covered = |name: &SnapshotName| name.next_number < covered;
        let roots = sorted(self.snapshots.iter().map(|key| SnapshotName::root(key.number)).filter(is_covered));
        let parts = sorted(self.parts.iter().copied().filter(is_covered));
        let snapshots = roots.into_iter().chain(parts).collect();
        Garbage { objects: sorted(objects), merged: sorted(merged), snapshots }
    }
}

/// Whether anyone may refer to a merged object, now or later, by the merges of a state and the objects that hold its
/// records. Once a merge is closed, nothing begins to refer to its object. A merge that the state doesn't know may have
/// begun since.
pub(crate) fn is_merge_needed(number: u64, merges: &Merges, sources: &BTreeSet<Source>, rules: Rules) -> bool {
    let is_unknown = number > merges.begun() && rules.unknown_merges();
    let is_open = merges.open() == Some(number) && rules.open_merges();
    is_unknown || is_open || sources.contains(&Source::Merged(number))
}

fn is_old(key: &Key, date: u64, limits: &Limits) -> bool {
    key.created.saturating_add(limits.deletion_delay) < date
}

fn sorted<T: Ord>(found: impl Iterator<Item = T>) -> Vec<T> {
    let mut sorted: Vec<T> = found.collect();
    sorted.sort_unstable();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition_id::PartitionId;
    use crate::place::{Piece, Place};

    const LIMITS: Limits = Limits {
        batch_wait: std::time::Duration::ZERO,
        object_bytes: 1,
        in_flight_max: 1,
        concurrent_bytes: 0,
        retry_after: std::time::Duration::ZERO,
        first_retry_after: std::time::Duration::ZERO,
        give_up_after: std::time::Duration::ZERO,
        wait_max: std::time::Duration::ZERO,
        deletion_delay: 100,
    };

    fn keys(keys: &[(u64, u64)]) -> Vec<Key> {
        keys.iter().map(|&(number, created)| Key { number, created }).collect()
    }

    /// The snapshot of the objects before `next`, with records in these objects, after three merges.
    fn needed(next: u64, sources: &[Source], open: u32) -> Needed {
        let place = |source| Place {
            source,
            tag: 0,
            object_bytes: 216,
            entries_at: 104,
            batches: crate::place::BatchCount::from_bits(1),
            batches_at: 144,
            bytes: 72,
        };
        let piece = |(first_offset, source)| Piece { first_offset, appended_us: 0, newest_us: 0, place: place(source) };
        let mut needed = Needed::new(next, Merges::new(3, open).unwrap(), Vec::new(), None);
        let pieces = (0..).zip(sources.iter().copied()).map(piece);
        pieces.for_each(|piece| needed.add(PartitionId { topic: 1, number: 0 }, &piece));
        needed
    }

    fn objects(objects: &[(u64, u64)], next: u64, live: &[u64]) -> Vec<u64> {
        let listing = Listing { objects: keys(objects), ..Listing::default() };
        let live: Vec<_> = live.iter().map(|number| Source::Journal(*number)).collect();
        listing.garbage(1000, &LIMITS, &needed(next, &live, 0)).objects
    }

    #[test]
    fn the_newest_old_snapshot_decides() {
        let decisive = |snapshots: &[(u64, u64)]| {
            Listing { snapshots: keys(snapshots), ..Listing::default() }.decisive(1000, &LIMITS)
        };
        assert_eq!(decisive(&[]), None);
        assert_eq!(decisive(&[(4, 900), (5, 950)]), None, "exactly as old");
        assert_eq!(decisive(&[(3, 500), (4, 899), (5, 950)]), Some(4));
    }

    #[test]
    fn an_object_is_old_and_covered_and_not_needed() {
        assert_eq!(objects(&[(3, 500), (1, 500), (2, 950)], 4, &[]), [1, 3]);
        assert_eq!(objects(&[(1, 900), (2, 899)], 4, &[]), [2], "exactly as old");
        assert_eq!(objects(&[(1, 500), (2, 500), (3, 500), (4, 500)], 4, &[2]), [1, 3]);
        assert_eq!(objects(&[(1, 500), (2, 500)], 2, &[]), [1]);
    }

    #[test]
    fn a_merged_object_is_closed_and_not_needed_and_of_any_age() {
        let merged = |open, live: &[Source]| {
            let listing = Listing { merged: keys(&[(4, 1), (3, 999), (1, 1), (2, 999)]), ..Listing::default() };
            listing.garbage(1000, &LIMITS, &needed(9, live, open)).merged
        };
        assert_eq!(merged(0, &[]), [1, 2, 3], "merge 4 begins later");
        assert_eq!(merged(1, &[]), [1, 2], "merge 3 is open");
        assert_eq!(merged(0, &[Source::Merged(2), Source::Journal(1)]), [1, 3]);
    }

    #[test]
    fn snapshots_before_the_decisive_one_go() {
        let snapshots = keys(&[(10, 500), (20, 600), (30, 950), (40, 999)]);
        let listing = Listing { snapshots, ..Listing::default() };
        assert_eq!(listing.decisive(1000, &LIMITS), Some(20));
        assert_eq!(listing.garbage(1000, &LIMITS, &needed(20, &[], 0)).snapshots, [SnapshotName::root(10)]);
    }

    #[test]
    fn parts_go_after_their_roots_and_not_before_a_newer_snapshot_decides() {
        let part = SnapshotName::part;
        let parts =
            vec![part(40, 0, 7), part(20, 0, 7), part(15, 1, 7), part(10, 1, 7), part(10, 0, 8), part(30, 0, 7)];
        let listing = Listing { snapshots: keys(&[(20, 600), (10, 500)]), parts, ..Listing::default() };
        let garbage = listing.garbage(1000, &LIMITS, &needed(20, &[], 0));
        assert_eq!(garbage.snapshots, [SnapshotName::root(10), part(10, 0, 8), part(10, 1, 7), part(15, 1, 7)]);
    }
}
