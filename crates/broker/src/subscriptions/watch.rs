//! A watch: one waiter for many partitions. It is woken once, and knows which of them have changed.

use crate::notify::{Noted, Subject};
use crate::partition::Partition;
use slab::Slab;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The partitions that a reader waits for, until this is dropped.
///
/// A partition has changed when it has new records or markers of transactions, or when its topic is deleted. What was
/// noted has at most one entry for each partition, however much happens until the next look.
#[derive(Default)]
pub struct Watch {
    noted: Arc<Noted>,
    watched: Slab<(Arc<Subject>, u32)>,
}

impl Watch {
    /// Watches a partition from now on. Returns its key, a small number. A change that the watch doesn't
    /// note is seen by a look at the partition after this.
    pub fn add(&mut self, partition: &Partition) -> u32 {
        partition.note_reader();
        let subject = partition.topic.stored.subject().clone();
        let entry = self.watched.vacant_entry();
        let Ok(key) = u32::try_from(entry.key()) else { unreachable!("{} watched partitions", entry.key()) };
        subject.watchers.add(partition.number, self.noted.clone(), key);
        entry.insert((subject, partition.number));
        key
    }

    /// Watches a partition no longer.
    pub fn remove(&mut self, key: u32) {
        let (subject, partition) = self.watched.remove(key as usize);
        subject.watchers.remove(partition, &self.noted, key);
        self.noted.forget(key);
    }

    /// Number of partitions.
    pub fn len(&self) -> usize {
        self.watched.len()
    }

    /// Whether no partition is watched.
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// Returns the keys of the partitions that have changed, and forgets them.
    pub fn take(&self) -> BTreeSet<u32> {
        self.noted.take()
    }

    /// Waits until a partition has changed. Cancel-safe.
    pub async fn changed(&self) {
        self.noted.changed().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for (key, (subject, partition)) in &self.watched {
            subject.watchers.remove(*partition, &self.noted, key as u32);
        }
    }
}
