//! Who watches a topic's partitions.

use super::watch::Noted;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The watchers of a topic's partitions.
#[derive(Default)]
pub(super) struct Watchers {
    /// Number of them: without any, this is all that a commit looks at.
    count: AtomicUsize,
    partitions: Mutex<BTreeMap<u32, SmallVec<[Watcher; 1]>>>,
}

struct Watcher {
    noted: Arc<Noted>,
    /// What it calls the partition.
    key: u32,
}

impl Watchers {
    pub fn add(&self, partition: u32, noted: Arc<Noted>, key: u32) {
        let mut partitions = self.partitions();
        partitions.entry(partition).or_default().push(Watcher { noted, key });
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub fn remove(&self, partition: u32, noted: &Arc<Noted>, key: u32) {
        let mut partitions = self.partitions();
        let watchers = partitions.entry(partition).or_default();
        let found = watchers.iter().position(|other| other.key == key && Arc::ptr_eq(&other.noted, noted));
        let Some(place) = found else {
            unreachable!("watch {key} is none of the {} of partition {partition}", watchers.len())
        };
        watchers.swap_remove(place);
        if watchers.is_empty() {
            partitions.remove(&partition);
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// A partition's index has changed.
    pub fn changed(&self, partition: u32) {
        // No barrier is needed. A watcher reads the index after registering. If it held the index's lock
        // before the change did, the change sees the count; otherwise it has seen the change.
        if self.count.load(Ordering::Relaxed) > 0
            && let Some(watchers) = self.partitions().get(&partition)
        {
            watchers.iter().for_each(|watcher| watcher.noted.note(watcher.key));
        }
    }

    /// The topic has ended. With the lock: a watcher that is added later sees that.
    pub fn ended(&self) {
        self.partitions().values().flatten().for_each(|watcher| watcher.noted.note(watcher.key));
    }

    fn partitions(&self) -> MutexGuard<'_, BTreeMap<u32, SmallVec<[Watcher; 1]>>> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
