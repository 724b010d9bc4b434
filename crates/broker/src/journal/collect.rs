//! Deletes garbage from a journal's folder, and finds what a merge makes room of. It keeps no state, and is safe at any
//! time: an object to which an old snapshot doesn't refer isn't in any later one either.

use crate::journal::JournalConfig;
use crate::journal::load;
use crate::journal::merge::Dead;
use crate::metrics::METRICS;
use crate::store::{Dated, Store};
use crate::store_error::StoreError;
use rawline_journal::{Garbage, Limits, Listing, Needed, SnapshotName, SparseFile};
use std::sync::Arc;
use tokio::sync::watch;

/// Deletes once, and reports further garbage to the merger. If that fails, the next listing shows the rest.
pub(super) async fn collect(store: Arc<dyn Store>, config: JournalConfig, dead: watch::Sender<Dead>) {
    if let Err(error) = try_collect(&*store, &config, &dead).await {
        tracing::warn!(%error, "old objects of the journal can't be deleted now; trying later");
    }
}

async fn try_collect(store: &dyn Store, config: &JournalConfig, dead: &watch::Sender<Dead>) -> Result<(), StoreError> {
    let limits = &config.limits;
    let Dated { found: listing, date } = store.list().await?;
    let Some(decisive) = listing.decisive(date, limits) else { return Ok(()) };
    // Another broker may have deleted it, or a part of it, because a newer one is old enough by now.
    let Some(bytes) = store.snapshot(SnapshotName::root(decisive)).await? else { return Ok(()) };
    let (files, merge) = (store.shared_files(decisive), config.merge.as_ref().map(|merge| merge.limits));
    let (size, limits) = (bytes.len() as u64, *limits);
    let Some(needed) = load::needed(store, bytes, files, merge).await? else { return Ok(()) };
    if needed.next() != decisive {
        return Err(StoreError::human(format!("the snapshot before {decisive} is another one; delete it")));
    }
    let found = load::work(size, move || find(&needed, (&listing, date), &limits)).await;
    let Found { garbage, sparse, has_dead } = found;
    let (growing, sparse): (Vec<SparseFile>, Vec<SparseFile>) = sparse.into_iter().partition(|found| found.file.grows);
    // It can be deleted, or merged, from the next time on.
    for found in growing {
        let dead_bytes = found.dead_bytes();
        store.end_file(found.file.numbers, dead_bytes).await?;
    }
    if !garbage.is_empty() {
        METRICS.merges.deleted.add(store.delete(garbage).await?);
    }
    dead.send_if_modified(|dead| dead.note(&sparse, has_dead));
    Ok(())
}

/// What a snapshot doesn't need.
struct Found {
    garbage: Garbage,
    /// Files of which less than half is needed.
    sparse: Vec<SparseFile>,
    /// Whether a merge frees objects in separate files.
    has_dead: bool,
}

/// Looks for garbage, by what the decisive snapshot needs and a listing at the store's time `date`.
fn find(needed: &Needed, (listing, date): (&Listing, u64), limits: &Limits) -> Found {
    let garbage = listing.garbage(date, limits, needed);
    Found { garbage, sparse: needed.sparse(), has_dead: needed.has_dead() }
}
