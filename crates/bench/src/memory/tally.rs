//! Counts of the benchmark's clients so far, shared by all of them.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// An append that the broker acknowledged to a slow sender.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    /// The sender.
    pub sender: u32,
    /// Offset of its record.
    pub offset: u64,
}

/// Counters of all clients.
#[derive(Debug, Default)]
pub struct Tally {
    /// Batches that healthy clients appended and read back.
    pub appended: AtomicU64,
    /// Requests of healthy clients that the broker refused for the moment.
    pub refused: AtomicU64,
    /// Connections of slow senders that have sent a part of a body.
    pub sending: AtomicU64,
    /// Bodies of slow senders by how they ended: 503, 408, without a response, and another status.
    pub slow_503: AtomicU64,
    pub slow_408: AtomicU64,
    pub slow_cut: AtomicU64,
    pub slow_other: AtomicU64,
    /// Responses to readers that never read, and 503 responses to them.
    pub stuck_200: AtomicU64,
    pub stuck_503: AtomicU64,
    pub stuck_other: AtomicU64,
    stored: Mutex<Vec<Stored>>,
}

/// The counters at one time.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Counts {
    pub appended: u64,
    pub refused: u64,
    pub slow_sending: u64,
    pub slow_stored: u64,
    pub slow_503: u64,
    pub slow_408: u64,
    pub slow_cut: u64,
    pub slow_other: u64,
    pub stuck_200: u64,
    pub stuck_503: u64,
    pub stuck_other: u64,
}

/// One more.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Tally {
    /// A slow sender's record was acknowledged.
    pub fn store(&self, stored: Stored) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).push(stored);
    }

    /// What slow senders had acknowledged.
    pub fn stored(&self) -> Vec<Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The counters now.
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            appended: of(&self.appended),
            refused: of(&self.refused),
            slow_sending: of(&self.sending),
            slow_stored: self.stored.lock().unwrap_or_else(PoisonError::into_inner).len() as u64,
            slow_503: of(&self.slow_503),
            slow_408: of(&self.slow_408),
            slow_cut: of(&self.slow_cut),
            slow_other: of(&self.slow_other),
            stuck_200: of(&self.stuck_200),
            stuck_503: of(&self.stuck_503),
            stuck_other: of(&self.stuck_other),
        }
    }
}
