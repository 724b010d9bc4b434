//! The watchers of a topic's partitions: a commit notes in each which partition has changed, and wakes it.

use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The watchers of a topic's partitions.
#[derive(Default)]
pub(crate) struct Watchers {
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

/// The keys of partitions that have changed.
#[derive(Default)]
pub(crate) struct Noted {
    keys: Mutex<BTreeSet<u32>>,
    arrived: Notify,
}

impl Noted {
    pub fn note(&self, key: u32) {
        let mut keys = self.keys();
        let was_empty = keys.is_empty();
        keys.insert(key);
        drop(keys);
        // Once, however much is noted until the watch looks.
        if was_empty {
            self.arrived.notify_one();
        }
    }

    /// Forgets a partition that is watched no longer.
    pub fn forget(&self, key: u32) {
        self.keys().remove(&key);
    }

    /// Returns the keys of the partitions that have changed, and forgets them.
    pub fn take(&self) -> BTreeSet<u32> {
        std::mem::take(&mut *self.keys())
    }

    /// Waits until a partition has changed. Cancel-safe.
    pub async fn changed(&self) {
        while self.keys().is_empty() {
            self.arrived.notified().await;
        }
    }

    fn keys(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
