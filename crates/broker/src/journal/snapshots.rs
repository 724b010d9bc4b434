//! Which snapshot of a journal is the newest stored one, and when it is time for another.

use crate::journal::load::patiently;
use crate::journal::walk::Walk;
use crate::journal_config::JournalConfig;
use crate::limits::{
    GARBAGE_PARTS, SNAPSHOT_ENTRIES_PER_INTERVAL, SNAPSHOT_ENTRIES_PER_OBJECT, SNAPSHOT_INLINE_ENTRIES_MAX,
};
use crate::metrics::METRICS;
use crate::store::Store;
use crate::store_error::StoreError;
use crate::tasks;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use rawline_journal::{Certain, Piece, Snapshot, SnapshotName, build_snapshot_of};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A snapshot: everything before the object `next`.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// Number of the next object.
    pub next: u64,
    /// When it was taken.
    pub at: Instant,
    /// Number of topics, partitions and pieces in it.
    pub entries: u64,
    /// Number of its separate parts.
    pub parts: u64,
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
    /// Its topics, partitions and pieces are at most as many.
    pub taken: Taken,
    pub certain: Certain,
    pub walk: Arc<Walk>,
}

impl Unstored {
    /// Builds and stores it: the separate parts as they are built, and then the root. Returns what counts from then on;
    /// `None` if a newer snapshot was loaded meanwhile.
    pub async fn store(
        self: Box<Self>,
        store: &dyn Store,
        config: &JournalConfig,
    ) -> Result<Option<Taken>, StoreError> {
        let part_bytes = config.snapshot_part_bytes;
        let (parts, built): (BoxStream<'static, Part>, BoxFuture<'static, Option<(Taken, Bytes)>>) =
            if self.taken.entries <= SNAPSHOT_INLINE_ENTRIES_MAX {
                let mut parts = Vec::new();
                let built = self.build(part_bytes, |part| parts.push(part));
                (stream::iter(parts).boxed(), ready(built).boxed())
            } else {
                // Another thread builds what takes so long that appends would wait, and waits until a part is stored.
                let (sender, mut receiver) = mpsc::channel(1);
                let build = move || self.build(part_bytes, |part| drop(sender.blocking_send(part)));
                let building = tasks::spawn_blocking(build)
                    .map(|built| built.unwrap_or_else(|error| unreachable!("building a snapshot: {error}")));
                (stream::poll_fn(move |context| receiver.poll_recv(context)).boxed(), building.boxed())
            };
        let put = async |(name, bytes): Part| patiently(|| store.create_snapshot(name, bytes.clone())).await;
        parts.map(put).buffer_unordered(config.snapshot_puts_max).try_for_each(|()| ready(Ok(()))).await?;
        let Some((taken, root)) = built.await else { return Ok(None) };
        store.create_snapshot(SnapshotName::root(taken.next), root).await?;
        METRICS.snapshots.add(1);
        Ok(Some(taken))
    }

    fn build(self: Box<Self>, part_bytes: usize, mut put: impl FnMut(Part)) -> Option<(Taken, Bytes)> {
        let Unstored { mut taken, certain, walk } = *self;
        let (state, mut parts) = (certain.into_state(), 0);
        let visit = |id, end, pieces: &mut Vec<Piece>| {
            walk.visit(id, end, pieces);
            taken.pieces += pieces.len() as u64;
            taken.bytes += pieces.iter().map(|piece| u64::from(piece.place.bytes)).sum::<u64>();
        };
        let root = build_snapshot_of(&state, part_bytes, visit, |name, bytes| {
            parts += 1;
            put((name, bytes.into()));
        });
        (taken.entries, taken.parts) = (state.entries_count() as u64 + taken.pieces, parts);
        (!walk.is_void()).then(|| (taken, root.into()))
    }
}

/// A separate part.
type Part = (SnapshotName, Bytes);

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
        Snapshots {
            stored: Taken {
                next: 1,
                at: Instant::now(),
                entries: 0,
                parts: 0,
                pieces: 0,
                bytes: 0,
                freed_bytes: 0,
                added_pieces: 0,
            },
            is_lost: false,
            freed_bytes: 0,
            added_pieces: 0,
            frees_at: 0,
            storing: None,
            retry_at: None,
        }
    }

    /// One that was loaded, with this number of separate parts, is the newest.
    pub fn restored(&mut self, snapshot: &Snapshot, parts: u64) {
        let all = || snapshot.pieces.values().flatten();
        let bytes = all().map(|piece| u64::from(piece.place.bytes)).sum();
        let (pieces, state) = (all().count() as u64, &snapshot.state);
        let entries = state.entries_count() as u64 + pieces;
        self.loaded(Taken { entries, parts, pieces, bytes, ..self.taken(state.chain().next(), 0) });
    }

    fn loaded(&mut self, stored: Taken) {
        (self.stored, self.is_lost, self.retry_at) = (stored, false, None);
    }

    /// Whether [`Snapshots::end`] waits.
    pub fn is_storing(&self) -> bool {
        self.storing.is_some()
    }

    /// One before the object `next`, as of now, of a state with this number of topics and partitions. Its pieces aren't
    /// counted yet: there are at most those of the one before, and those that were added since.
    pub fn taken(&self, next: u64, entries: u64) -> Taken {
        let (freed_bytes, added_pieces) = (self.freed_bytes, self.added_pieces);
        let entries = entries + self.stored.pieces + (added_pieces - self.stored.added_pieces);
        Taken { next, at: Instant::now(), entries, parts: 0, pieces: 0, bytes: 0, freed_bytes, added_pieces }
    }

    /// Whether it is time for another, `new` objects after the newest stored one. A large one is worth its bytes less
    /// often.
    pub fn is_due(&self, new: u64, config: &JournalConfig) -> bool {
        let Taken { next, at, entries, bytes, freed_bytes, .. } = self.stored;
        let objects = config.snapshot_objects.max(entries / SNAPSHOT_ENTRIES_PER_OBJECT);
        let intervals = 1 + entries / SNAPSHOT_ENTRIES_PER_INTERVAL;
        let interval = config.snapshot_interval.saturating_mul(u32::try_from(intervals).unwrap_or(u32::MAX));
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
