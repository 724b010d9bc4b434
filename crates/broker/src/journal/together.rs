//! The shared state of one broker's journals.

use crate::notify::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// One of a broker's journals: its number, and their shared state.
#[derive(Clone)]
pub(crate) struct Together {
    /// The journal's number in its storage, from 0.
    pub number: u32,
    /// The receiver of commits.
    pub subscriptions: Arc<Registry>,
    /// How many topics and partitions they have: their memory is limited.
    pub counts: Arc<Counts>,
    /// One journal merges at a time: each merge takes memory.
    pub turn: Arc<Semaphore>,
}

impl Default for Together {
    fn default() -> Self {
        let turn = Arc::new(Semaphore::new(1));
        Together { number: 0, subscriptions: Arc::default(), counts: Arc::default(), turn }
    }
}

impl Together {
    /// The same with another number.
    pub fn numbered(&self, number: u32) -> Together {
        Together { number, ..self.clone() }
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
