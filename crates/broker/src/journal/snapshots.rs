//! Which snapshot of a journal is the newest stored one, and when it is time for another.

use crate::journal_config::JournalConfig;
use crate::limits::{
    GARBAGE_PARTS, SNAPSHOT_INLINE_PARTS_MAX, SNAPSHOT_PIECES_PER_INTERVAL, SNAPSHOT_PIECES_PER_OBJECT,
};
use crate::tasks;
use bytes::Bytes;
use rawline_journal::{PartitionId, Piece, Snapshot, build_snapshot};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A snapshot: everything before the object `next`.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// Number of the next object.
    pub next: u64,
    /// When it was built.
    pub at: Instant,
    /// Number of pieces in it.
    pub pieces: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// [`Snapshots::freed_bytes`] when it was built.
    pub freed_bytes: u64,
}

/// A snapshot that is not stored yet.
pub(super) struct Unstored {
    pub taken: Taken,
    pub snapshot: Snapshot,
}

impl Unstored {
    /// What counts once it is stored, and its bytes: on another thread if there is so much that appends would wait.
    pub async fn build(self: Box<Self>) -> (Taken, Bytes) {
        let partitions: u64 = self.snapshot.state.topics().map(|(_, topic)| u64::from(topic.partitions)).sum();
        let is_large = self.taken.pieces + partitions > SNAPSHOT_INLINE_PARTS_MAX;
        let build = move || {
            let Unstored { taken, snapshot } = *self;
            let bytes = build_snapshot(&snapshot.state, &snapshot.pieces);
            (Taken { bytes: bytes_of(&snapshot.pieces), ..taken }, Bytes::from(bytes))
        };
        if !is_large {
            return build();
        }
        tasks::spawn_blocking(build).await.unwrap_or_else(|error| unreachable!("building a snapshot: {error}"))
    }
}

/// The snapshots of a journal's task. One counts when it is stored, not when it is built: a start relies on it.
pub(super) struct Snapshots {
    /// The newest stored one.
    pub stored: Taken,
    /// Whether the newest stored one is gone from the storage: another is taken at once.
    pub is_lost: bool,
    /// Size of all pieces that are not needed any more since the start. A snapshot frees those before it.
    pub freed_bytes: u64,
    /// The one that is being stored. It ends with the one that was stored, or `None` if that failed.
    pub storing: Option<JoinHandle<Option<Taken>>>,
    /// Not before this time, because the last one failed.
    pub retry_at: Option<Instant>,
}

impl Snapshots {
    /// Before the first one is known.
    pub fn new() -> Snapshots {
        let stored = Taken { next: 1, at: Instant::now(), pieces: 0, bytes: 0, freed_bytes: 0 };
        Snapshots { stored, is_lost: false, freed_bytes: 0, storing: None, retry_at: None }
    }

    /// One that was loaded is the newest.
    pub fn restored(&mut self, next: u64, pieces: &BTreeMap<PartitionId, Vec<Piece>>) {
        self.loaded(Taken { bytes: bytes_of(pieces), ..self.taken(next, pieces) });
    }

    fn loaded(&mut self, stored: Taken) {
        (self.stored, self.is_lost, self.retry_at) = (stored, false, None);
    }

    /// Whether [`Snapshots::end`] waits.
    pub fn is_storing(&self) -> bool {
        self.storing.is_some()
    }

    /// One of these pieces before the object `next`, as of now, without their size: adding it up takes time.
    pub fn taken(&self, next: u64, pieces: &BTreeMap<PartitionId, Vec<Piece>>) -> Taken {
        let count = pieces.values().map(|pieces| pieces.len() as u64).sum();
        Taken { next, at: Instant::now(), pieces: count, bytes: 0, freed_bytes: self.freed_bytes }
    }

    /// Whether it is time for another, `new` objects after the newest stored one. A large one is worth its bytes less
    /// often.
    pub fn is_due(&self, new: u64, config: &JournalConfig) -> bool {
        let Taken { at, pieces, bytes, freed_bytes, .. } = self.stored;
        let objects = config.snapshot_objects.max(pieces / SNAPSHOT_PIECES_PER_OBJECT);
        let parts = 1 + pieces / SNAPSHOT_PIECES_PER_INTERVAL;
        let interval = config.snapshot_interval.saturating_mul(u32::try_from(parts).unwrap_or(u32::MAX));
        let frees = self.freed_bytes - freed_bytes >= config.garbage_bytes.max(bytes / GARBAGE_PARTS);
        self.is_lost || new >= objects || new > 0 && (frees || at.elapsed() >= interval)
    }

    /// Waits until the one that is being stored is stored, and counts it, or has failed. Returns whether it was stored.
    /// Cancel-safe.
    pub async fn end(&mut self, retry_after: Duration) -> bool {
        let Some(storing) = self.storing.as_mut() else { return false };
        let stored = storing.await.unwrap_or_else(|error| {
            assert!(error.is_cancelled(), "storing a snapshot panicked: {error}");
            None
        });
        self.storing = None;
        match stored {
            // One that was loaded meanwhile may be newer.
            Some(stored) if stored.next >= self.stored.next => self.loaded(stored),
            Some(_) => {}
            None => self.failed(retry_after),
        }
        stored.is_some()
    }

    /// The last one wasn't stored.
    pub fn failed(&mut self, retry_after: Duration) {
        self.retry_at = Some(Instant::now() + retry_after);
    }
}

fn bytes_of(pieces: &BTreeMap<PartitionId, Vec<Piece>>) -> u64 {
    pieces.values().flatten().map(|piece| u64::from(piece.place.bytes)).sum()
}
