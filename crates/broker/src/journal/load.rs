//! Reads snapshots: the root, and then the separate parts, of which several are read and parsed at the same time.

use crate::limits::{COLLECT_INLINE_BYTES_MAX, SNAPSHOT_READS_MAX, SNAPSHOT_RETRY_AFTER, SNAPSHOT_TRIES};
use crate::store::{Dated, Store};
use crate::store_error::StoreError;
use crate::tasks;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use rawline_batch::Kind;
use rawline_journal::{
    JoinedParts, MergeLimits, Needed, PartEntry, SharedFile, Snapshot, SnapshotError, SnapshotName, SnapshotRoot,
};
use std::pin::pin;
use std::sync::Arc;
use tokio::time::sleep;

/// A snapshot.
pub(super) struct Loaded {
    pub snapshot: Snapshot,
    /// Number of its separate parts.
    pub parts: u64,
}

/// The newest snapshot; `None` if no snapshot exists. The date is the listing's.
pub(super) async fn newest(store: Arc<dyn Store>) -> Result<Dated<Option<Loaded>>, StoreError> {
    let Dated { found, date } = store.newest_snapshot().await?;
    let found = match found {
        Some(root) => Some(whole(&*store, root).await?),
        None => None,
    };
    Ok(Dated { found, date })
}

/// The snapshot with this name; `None` if it doesn't exist.
pub(super) async fn named(store: &dyn Store, name: SnapshotName) -> Result<Option<Loaded>, StoreError> {
    match patiently(|| store.snapshot(name)).await? {
        Some(root) => Ok(Some(whole(store, root).await?)),
        None => Ok(None),
    }
}

async fn whole(store: &dyn Store, bytes: Bytes) -> Result<Loaded, StoreError> {
    let root = SnapshotRoot::parse(&bytes).map_err(|error| damaged("newest snapshot", error))?;
    let name = SnapshotName::root(root.next_number());
    let explain = move |error| damaged(&format!("snapshot {name}"), error);
    let separate_bytes = root.separate_bytes();
    let all_bytes = bytes.len() as u64 + separate_bytes;
    let entries = root.separate_parts().to_vec();
    let read = async |entry: PartEntry| {
        let missing = SnapshotError::Missing { part: entry.name };
        let bytes = part(store, &entry).await?.ok_or_else(|| explain(missing))?;
        work(bytes.len() as u64, move || entry.parse(&bytes)).await.map_err(explain)
    };
    let (count, mut parts) = (entries.len() as u64, JoinedParts::default());
    let mut read = pin!(stream::iter(entries).map(read).buffered(SNAPSHOT_READS_MAX));
    // They are joined as they arrive: all of them at once would take as much memory as the state.
    while let Some(part) = read.try_next().await? {
        let join = move || parts.add(part).map(|()| parts);
        parts = work(separate_bytes, join).await.map_err(explain)?;
    }
    let finish = move || SnapshotRoot::parse(&bytes)?.finish(parts);
    let snapshot = work(all_bytes, finish).await.map_err(explain)?;
    Ok(Loaded { snapshot, parts: count })
}

/// What the snapshot with this root needs, one part after the other: it takes the memory of one. `None` if a part is
/// gone.
pub(crate) async fn needed(
    store: &dyn Store,
    bytes: Bytes,
    files: Vec<SharedFile>,
    merge: Option<MergeLimits>,
) -> Result<Option<Needed>, StoreError> {
    let root_bytes = bytes.len() as u64;
    let begin = move || {
        let root = SnapshotRoot::parse(&bytes)?;
        Ok((Needed::begin(&root, files, merge)?, root.separate_parts().to_vec()))
    };
    let explain = |error| damaged("snapshot by which garbage is found", error);
    let (mut needed, entries) = work(root_bytes, begin).await.map_err(explain)?;
    for entry in entries {
        let Some(bytes) = part(store, &entry).await? else { return Ok(None) };
        let read = move || needed.read(&entry, &bytes).map(|()| needed);
        needed = work(entry.bytes, read).await.map_err(explain)?;
    }
    Ok(Some(needed))
}

/// Reads a separate part.
async fn part(store: &dyn Store, entry: &PartEntry) -> Result<Option<Bytes>, StoreError> {
    patiently(|| store.snapshot(entry.name)).await
}

fn damaged(what: &str, error: SnapshotError) -> StoreError {
    StoreError::human(format!("the {what} is damaged: {error}; delete it"))
}

/// Repeats a request that fails for a moment: a snapshot has many parts, and would begin from the first again.
pub(super) async fn patiently<T, F: Future<Output = Result<T, StoreError>>>(
    mut request: impl FnMut() -> F,
) -> Result<T, StoreError> {
    for _ in 1..SNAPSHOT_TRIES {
        match request().await {
            Err(error) if error.kind == Kind::Wait => sleep(SNAPSHOT_RETRY_AFTER).await,
            ended => return ended,
        }
    }
    request().await
}

/// Does what takes time by the size of what it reads: on another thread if there is so much that appends would wait.
pub(super) async fn work<T: Send + 'static>(bytes: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= COLLECT_INLINE_BYTES_MAX {
        return work();
    }
    let working = tasks::spawn_blocking(work);
    working.await.unwrap_or_else(|error| unreachable!("reading a snapshot: {error}"))
}
