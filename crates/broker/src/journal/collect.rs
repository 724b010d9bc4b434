//! Deletes garbage from a journal's folder, and finds what a merge makes room of. It keeps no state, and is safe at any
//! time: an object to which an old snapshot doesn't refer isn't in any later one either.

use crate::journal::JournalConfig;
use crate::journal::merge::Dead;
use crate::metrics::METRICS;
use crate::store::{Dated, Store};
use crate::store_error::StoreError;
use rawline_journal::{Snapshot, SparseFile, has_dead};
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
    // Another broker may have deleted it, because a newer one is old enough by now.
    let Some(bytes) = store.snapshot(decisive).await? else { return Ok(()) };
    let damaged = |error| StoreError::human(format!("the snapshot before {decisive} is damaged: {error}; delete it"));
    let snapshot = Snapshot::parse(&bytes).map_err(damaged)?;
    if snapshot.state.chain().next() != decisive {
        return Err(StoreError::human(format!("the snapshot before {decisive} is another one; delete it")));
    }
    let garbage = listing.garbage(date, limits, &snapshot);
    let sparse = snapshot.sparse(store.shared_files(decisive));
    let (growing, sparse): (Vec<SparseFile>, Vec<SparseFile>) = sparse.into_iter().partition(|found| found.file.grows);
    // It can be deleted, or merged, from the next time on.
    for found in growing {
        let dead_bytes = found.dead_bytes();
        store.end_file(found.file.numbers, dead_bytes).await?;
    }
    if !garbage.is_empty() {
        METRICS.merges.deleted.add(store.delete(garbage).await?);
    }
    let has_objects = config.merge.as_ref().is_some_and(|merge| has_dead(&snapshot, &merge.limits));
    dead.send_if_modified(|dead| dead.note(&sparse, has_objects));
    Ok(())
}
