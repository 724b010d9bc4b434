//! What can be deleted from a journal's folder.

use crate::chain::Chain;
use crate::limits::Limits;

/// A key of a journal's folder: an object, or a snapshot of the objects before a number.
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
    /// The objects.
    pub objects: Vec<Key>,
    /// The snapshots, each with the number of the object after it.
    pub snapshots: Vec<Key>,
}

/// Numbers of keys that can be deleted, by anyone and at any later time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Objects, in ascending order.
    pub objects: Vec<u64>,
    /// Snapshots, in ascending order.
    pub snapshots: Vec<u64>,
}

impl Garbage {
    /// Whether there is nothing to delete.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.snapshots.is_empty()
    }
}

impl Listing {
    /// What can be deleted. `date` is the store's time of the listing. `known` is how far the caller has followed the
    /// chain, and `is_live` says whether an object up to there holds records that are stored nowhere else.
    ///
    /// An object is deleted only if it and a snapshot that covers it are older than the deletion delay. A writer that
    /// has slept for so long verifies what it knows before it acknowledges anything, so it notices that the object's
    /// number is free again.
    pub fn garbage(&self, date: u64, known: &Chain, limits: &Limits, is_live: impl Fn(u64) -> bool) -> Garbage {
        let is_old = |key: &&Key| key.created.saturating_add(limits.deletion_delay) < date;
        let covering = self.snapshots.iter().filter(is_old).map(|key| key.number).max();
        let Some(covered) = covering else { return Garbage::default() };
        let end = covered.min(known.next());
        let objects = self.objects.iter().filter(is_old).map(|key| key.number);
        let mut objects: Vec<u64> = objects.filter(|number| *number < end && !is_live(*number)).collect();
        let snapshots = self.snapshots.iter().map(|key| key.number);
        let mut snapshots: Vec<u64> = snapshots.filter(|number| *number < covered).collect();
        objects.sort_unstable();
        snapshots.sort_unstable();
        Garbage { objects, snapshots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Id;

    const LIMITS: Limits = Limits {
        batch_wait: std::time::Duration::ZERO,
        object_bytes: 1,
        in_flight_max: 1,
        retry_after: std::time::Duration::ZERO,
        give_up_after: std::time::Duration::ZERO,
        wait_max: std::time::Duration::ZERO,
        deletion_delay: 100,
    };

    fn keys(keys: &[(u64, u64)]) -> Vec<Key> {
        keys.iter().map(|&(number, created)| Key { number, created }).collect()
    }

    fn known(next: u64) -> Chain {
        Chain::after(next, Id { run: 1, commit: next }).unwrap()
    }

    fn garbage(objects: &[(u64, u64)], snapshots: &[(u64, u64)], next: u64, live: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let listing = Listing { objects: keys(objects), snapshots: keys(snapshots) };
        let Garbage { objects, snapshots } =
            listing.garbage(1000, &known(next), &LIMITS, |number| live.contains(&number));
        (objects, snapshots)
    }

    #[test]
    fn an_object_and_its_snapshot_are_both_old() {
        let objects = [(3, 500), (1, 500), (2, 950)];
        assert_eq!(garbage(&objects, &[], 9, &[]), (vec![], vec![]), "no snapshot");
        assert_eq!(garbage(&objects, &[(4, 950)], 9, &[]), (vec![], vec![]), "a new snapshot");
        assert_eq!(garbage(&objects, &[(4, 899)], 9, &[]), (vec![1, 3], vec![]));
        assert_eq!(garbage(&[(1, 900), (2, 899)], &[(4, 899)], 9, &[]), (vec![2], vec![]), "exactly as old");
    }

    #[test]
    fn what_is_live_or_unknown_or_not_covered_stays() {
        let objects = [(1, 500), (2, 500), (3, 500), (4, 500)];
        assert_eq!(garbage(&objects, &[(4, 500)], 9, &[2]), (vec![1, 3], vec![]));
        assert_eq!(garbage(&objects, &[(4, 500)], 3, &[]), (vec![1, 2], vec![]));
    }

    #[test]
    fn snapshots_before_the_newest_old_one_go() {
        let snapshots = [(10, 500), (20, 600), (30, 950), (40, 999)];
        assert_eq!(garbage(&[], &snapshots, 50, &[]), (vec![], vec![10]));
    }
}
