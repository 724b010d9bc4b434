//! Deletes files that no commit names or ever can name.

use crate::MeasureError;
use crate::layout::{Layout, Tier};
use crate::snapshot::Snapshot;
use crate::store::Storage;
use object_store::path::Path;
use std::collections::HashSet;

/// Deletes the files of processes that ended before their commit, merged files, and expired files. Returns their
/// number.
///
/// A file's name contains the offsets of its commit. A file is deleted only if that commit can't be created any more:
/// if its offset is committed, or, for a merged commit, if the commit exists. Otherwise another process may be about to
/// commit the file.
pub(crate) async fn clean(storage: &Storage, layout: &Layout) -> Result<u64, MeasureError> {
    // Listed before the snapshot is loaded, so the snapshot contains these files or their replacements.
    let merged: HashSet<String> =
        storage.list(&layout.merged_commits(), None).await?.iter().filter_map(|path| name(path, ".json")).collect();
    let snapshot = Snapshot::load(storage, layout).await?;
    let Some(end_offset) = snapshot.end_offset() else { return Ok(0) };
    let tiers = Tier::ALL.into_iter().flat_map(|tier| snapshot.kept(tier));
    let named: HashSet<Path> = snapshot.series().chain(tiers).map(|file| layout.file(file)).collect();
    let is_settled = |path: &Path| {
        let name = name(path, ".parquet").unwrap_or_default();
        match name.split_once("-merged-") {
            Some((run, _)) => merged.contains(run),
            None => first_offset(&name).is_some_and(|first_offset| first_offset < end_offset),
        }
    };
    let mut left = Vec::new();
    for folder in [layout.series_folder()].into_iter().chain(Tier::ALL.map(|tier| layout.tier_folder(tier))) {
        let listed = storage.list(&folder, None).await?;
        left.extend(listed.into_iter().filter(|path| !named.contains(path) && is_settled(path)));
    }
    let count = left.len() as u64;
    storage.delete(left).await?;
    Ok(count)
}

/// Deletes a topic's roll-ups. The start mark is deleted first, so that readers never see only part of the roll-ups.
pub(crate) async fn delete_all(storage: &Storage, layout: &Layout) -> Result<(), MeasureError> {
    storage.delete(vec![layout.start()]).await?;
    storage.delete(storage.list(layout.root(), None).await?).await
}

fn name(path: &Path, suffix: &str) -> Option<String> {
    path.filename()?.strip_suffix(suffix).map(str::to_owned)
}

/// The first offset in a file's name; `None` if the name has another form.
fn first_offset(name: &str) -> Option<u64> {
    let (begin, _) = name.split_once('-')?;
    if begin.len() == 20 { begin.parse().ok() } else { None }
}
