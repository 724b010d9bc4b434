//! Which snapshot of a journal is the newest stored one, and when it is time for another.

use crate::journal::walk::Walk;
use crate::journal_config::JournalConfig;
use crate::limits::{
    GARBAGE_PARTS, SNAPSHOT_INLINE_PARTS_MAX, SNAPSHOT_PIECES_PER_INTERVAL, SNAPSHOT_PIECES_PER_OBJECT,
};
use crate::tasks;
use bytes::Bytes;
use rawline_journal::{Certain, PartitionId, Piece, build_snapshot_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A snapshot: everything before the object `next`.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// Number of the next object.
    pub next: u64,
    /// When it was taken.
    pub at: Instant,
    /// Number of pieces in it.
    pub pieces: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// [`Snapshots::freed_bytes`] when it was taken.
    pub freed_bytes: u64,
    /// [`Snapshots::added_pieces`] when it was taken.
    pub added_pieces: u64,
}

/// A snapshot that is neither built nor stored yet. It shares the journal's state as it was, so that taking it costs
/// the same however large that is.
pub(super) struct Unstored {
    pub taken: Taken,
    /// Number of topics, partitions and pieces at most.
    pub parts: u64,
    pub certain: Certain,
    pub walk: Arc<Walk>,
}

impl Unstored {
    /// What counts once it is stored, and its bytes: on another thread if there is so much that appends would wait.
    /// `None` if a newer snapshot was loaded meanwhile.
    pub async fn build(self: Box<Self>) -> Option<(Taken, Bytes)> {
        if self.parts <= SNAPSHOT_INLINE_PARTS_MAX {
            return self.build_now();
        }
        let building = tasks::spawn_blocking(move || self.build_now());
        building.await.unwrap_or_else(|error| unreachable!("building a snapshot: {error}"))
    }

    fn build_now(self: Box<Self>) -> Option<(Taken, Bytes)> {
        let Unstored { mut taken, certain, walk, .. } = *self;
        let bytes = build_snapshot_of(&certain.into_state(), |id, end, pieces| {
            walk.visit(id, end, pieces);
            taken.pieces += pieces.len() as u64;
            taken.bytes += pieces.iter().map(|piece| u64::from(piece.place.bytes)).sum::<u64>();
        });
        (!walk.is_void()).then(|| (taken, bytes.into()))
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
    /// Number of all pieces that were added since the start.
    pub added_pieces: u64,
    /// One of the objects before this number frees a file.
    pub frees_at: u64,
    /// The one that is being stored. It ends with the one that was stored, or `None` if that failed.
    pub storing: Option<JoinHandle<Option<Taken>>>,
    /// Not before this time, because the last one failed.
    pub retry_at: Option<Instant>,
}

impl Snapshots {
    /// Before the first one is known.
    pub fn new() -> Snapshots {
        let stored = Taken { next: 1, at: Instant::now(), pieces: 0, bytes: 0, freed_bytes: 0, added_pieces: 0 };
        Snapshots {
            stored,
            is_lost: false,
            freed_bytes: 0,
            added_pieces: 0,
            frees_at: 0,
            storing: None,
            retry_at: None,
        }
    }

    /// One that was loaded is the newest.
    pub fn restored(&mut self, next: u64, pieces: &BTreeMap<PartitionId, Vec<Piece>>) {
        let all = || pieces.values().flatten();
        let bytes = all().map(|piece| u64::from(piece.place.bytes)).sum();
        self.loaded(Taken { pieces: all().count() as u64, bytes, ..self.taken(next) });
    }

    fn loaded(&mut self, stored: Taken) {
        (self.stored, self.is_lost, self.retry_at) = (stored, false, None);
    }

    /// Whether [`Snapshots::end`] waits.
    pub fn is_storing(&self) -> bool {
        self.storing.is_some()
    }

    /// One before the object `next`, as of now, of which the pieces aren't counted yet.
    pub fn taken(&self, next: u64) -> Taken {
        let (freed_bytes, added_pieces) = (self.freed_bytes, self.added_pieces);
        Taken { next, at: Instant::now(), pieces: 0, bytes: 0, freed_bytes, added_pieces }
    }

    /// How many pieces there are at most.
    pub fn pieces_max(&self) -> u64 {
        self.stored.pieces + (self.added_pieces - self.stored.added_pieces)
    }

    /// Whether it is time for another, `new` objects after the newest stored one. A large one is worth its bytes less
    /// often.
    pub fn is_due(&self, new: u64, config: &JournalConfig) -> bool {
        let Taken { next, at, pieces, bytes, freed_bytes, .. } = self.stored;
        let objects = config.snapshot_objects.max(pieces / SNAPSHOT_PIECES_PER_OBJECT);
        let parts = 1 + pieces / SNAPSHOT_PIECES_PER_INTERVAL;
        let interval = config.snapshot_interval.saturating_mul(u32::try_from(parts).unwrap_or(u32::MAX));
        let is_enough = self.freed_bytes - freed_bytes >= config.garbage_bytes.max(bytes / GARBAGE_PARTS);
        let frees = is_enough || self.frees_at > next;
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
