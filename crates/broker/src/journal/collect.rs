//! Deletes what nobody needs from a journal's folder. It keeps no state, and is safe at any time: what an old snapshot
//! doesn't need, nobody begins to need.

use crate::journal::{Dated, JournalStore};
use crate::metrics::METRICS;
use crate::store::StoreError;
use rawline_journal::{Limits, Snapshot};
use std::sync::Arc;

/// Deletes once. If that fails, the next listing shows what is left.
pub(super) async fn collect(store: Arc<dyn JournalStore>, limits: Limits) {
    if let Err(error) = try_collect(&*store, &limits).await {
        tracing::warn!(%error, "old objects of the journal can't be deleted now; trying later");
    }
}

async fn try_collect(store: &dyn JournalStore, limits: &Limits) -> Result<(), StoreError> {
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
    if garbage.is_empty() {
        return Ok(());
    }
    let deleted = garbage.objects.len() + garbage.merged.len();
    store.delete(garbage).await?;
    METRICS.merges.deleted.add(deleted as u64);
    Ok(())
}
