//! The points of a backup: its snapshots.

use crate::journal::JournalConfig;
use crate::journal::load;
use crate::journal::stored::StoredJournal;
use crate::store::{Storage, Store};
use crate::store_error::StoreError;
use rawline_journal::{Garbage, SnapshotName, SnapshotRoot, Source};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A snapshot of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    /// Time of the newest object that it covers, in microseconds since the Unix epoch.
    newest_us: u64,
    /// Number of the object after those.
    next: u64,
}

/// The times of the points of a backup, in microseconds since the Unix epoch: with several journals, those of each.
pub async fn points(backup: &Storage) -> Result<Vec<u64>, StoreError> {
    let mut times = BTreeSet::new();
    for store in &backup.journals {
        times.extend(of_journal(&**store).await?.iter().map(|point| point.newest_us));
    }
    Ok(times.into_iter().collect())
}

/// In order.
async fn of_journal(store: &dyn Store) -> Result<Vec<Point>, StoreError> {
    let mut points = Vec::new();
    for key in store.list().await?.found.snapshots {
        let name = SnapshotName::root(key.number);
        let Some(root) = store.snapshot(name).await? else { continue };
        let damaged = |error| StoreError::damaged(format!("{name} of the backup is damaged: {error}; delete it"));
        let root = SnapshotRoot::parse(&root).map_err(damaged)?;
        points.push(Point { newest_us: root.newest_us(), next: root.next_number() });
    }
    points.sort_unstable();
    Ok(points)
}

/// A journal of a backup at its newest point up to a time.
pub(super) async fn at(
    backup: &Storage,
    number: u32,
    at_us: Option<u64>,
) -> Result<(Arc<dyn Store>, StoredJournal), StoreError> {
    let Some(store) = backup.journals.get(number as usize) else { unreachable!("journal {number} of a storage") };
    let points = of_journal(&**store).await?;
    let point = points.iter().rev().find(|point| at_us.is_none_or(|at_us| point.newest_us <= at_us));
    let found = match point {
        Some(point) => StoredJournal::at(store, number, point.next).await?,
        None if points.is_empty() => Some(StoredJournal::load(store, number).await?),
        None => {
            return Err(StoreError::human(
                "the backup has no point as early as that; choose one from the list of its points",
            ));
        }
    };
    let gone = || StoreError::gone("a point of the backup was deleted meanwhile; try again");
    Ok((store.clone(), found.ok_or_else(gone)?))
}

/// Deletes points of a backup but the newest `keep` of each journal, and the objects that only these need. Returns the
/// number of points and of objects that were deleted.
pub async fn tidy(backup: &Storage, keep: usize) -> Result<(u64, u64), StoreError> {
    assert!(keep > 0, "a backup without a point");
    let (mut points, mut objects) = (0, 0);
    for store in &backup.journals {
        let listed = store.list().await?;
        let mut roots: Vec<u64> = listed.found.snapshots.iter().map(|key| key.number).collect();
        roots.sort_unstable();
        let kept = roots.split_off(roots.len().saturating_sub(keep));
        let mut needed = BTreeSet::new();
        for number in &kept {
            let Some(root) = store.snapshot(SnapshotName::root(*number)).await? else { continue };
            if let Some(found) = load::needed(&**store, root, Vec::new(), None).await? {
                needed.extend(found.sources().iter().copied());
            }
        }
        // What a copy has stored without its snapshot yet, on another machine.
        let delay = store.settings(JournalConfig::new(0)).limits.deletion_delay;
        let is_old = |created: u64| created.saturating_add(delay) < listed.date;
        let merged = listed.found.merged.iter().filter(|key| is_old(key.created)).map(|key| key.number);
        let mut merged: Vec<u64> = merged.filter(|number| !needed.contains(&Source::Merged(*number))).collect();
        merged.sort_unstable();
        let parts = listed.found.parts.iter().filter(|part| roots.binary_search(&part.next_number).is_ok());
        let snapshots = roots.iter().map(|number| SnapshotName::root(*number)).chain(parts.copied()).collect();
        points += roots.len() as u64;
        let garbage = Garbage { objects: Vec::new(), merged, snapshots };
        if !garbage.is_empty() {
            objects += store.delete(garbage).await?;
        }
    }
    Ok((points, objects))
}
