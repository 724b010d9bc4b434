//! The shared state of one broker's journals.

use crate::notify::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore};

/// One of a broker's journals: its number, and their shared state.
#[derive(Clone)]
pub(crate) struct Together {
    /// The journal's number in its storage, from 0.
    pub number: u32,
    /// The receiver of commits.
    pub subscriptions: Arc<Registry>,
    /// How many topics and partitions they have: their memory is limited.
    pub counts: Arc<Counts>,
    /// How many bytes they have stored.
    pub written: Arc<Written>,
    /// One journal merges at a time: each merge takes memory.
    pub turn: Arc<Semaphore>,
}

impl Default for Together {
    fn default() -> Self {
        let turn = Arc::new(Semaphore::new(1));
        let (subscriptions, counts, written) = <(Arc<_>, Arc<_>, Arc<_>)>::default();
        Together { number: 0, subscriptions, counts, written, turn }
    }
}

impl Together {
    /// The same with another number.
    pub fn numbered(&self, number: u32) -> Together {
        Together { number, ..self.clone() }
    }
}

/// Bytes of the objects that were stored since the start, and a task that waits for more of them.
#[derive(Default)]
pub(crate) struct Written {
    bytes: AtomicU64,
    /// The waiting task is woken when there are so many; 0 if no task waits.
    wake_at: AtomicU64,
    woken: Notify,
}

impl Written {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    /// An object was stored.
    pub fn add(&self, bytes: u64) {
        let now = self.bytes.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let wake_at = self.wake_at.load(Ordering::SeqCst);
        if wake_at > 0 && now >= wake_at {
            self.wake_at.store(0, Ordering::SeqCst);
            self.woken.notify_one();
        }
    }

    /// Waits until there are so many. For one task; cancel-safe.
    pub async fn reach(&self, bytes: u64) {
        loop {
            self.wake_at.store(bytes, Ordering::SeqCst);
            // Also those that were added before the line above.
            if self.bytes() >= bytes {
                return;
            }
            self.woken.notified().await;
        }
    }
}

/// Numbers of topics and of all their partitions.
#[derive(Default)]
pub(crate) struct Counts {
    topics: AtomicUsize,
    partitions: AtomicUsize,
}

impl Counts {
    /// Number of topics.
    pub fn topics(&self) -> usize {
        self.topics.load(Ordering::Relaxed)
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.load(Ordering::Relaxed)
    }

    /// A topic with these partitions exists.
    pub fn add_topic(&self, partitions: usize) {
        self.topics.fetch_add(1, Ordering::Relaxed);
        self.add_partitions(partitions);
    }

    /// A topic has more partitions.
    pub fn add_partitions(&self, partitions: usize) {
        self.partitions.fetch_add(partitions, Ordering::Relaxed);
    }

    /// A topic with these partitions exists no more.
    pub fn remove_topic(&self, partitions: usize) {
        self.topics.fetch_sub(1, Ordering::Relaxed);
        let before = self.partitions.fetch_sub(partitions, Ordering::Relaxed);
        assert!(partitions <= before, "{partitions} partitions of {before} are deleted");
    }
}
