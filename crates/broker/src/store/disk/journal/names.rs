//! The names of the files of a journal.

use super::reserve::RESERVE;
use crate::store::disk::device::Device;
use crate::store::disk::errors::io_error;
use crate::store_error::StoreError;
use rawline_journal::SnapshotName;
use std::path::{Path, PathBuf};

/// Ending of an empty file by which a person gives up the damaged objects of the segment of the same name.
pub(super) const ACCEPT: &str = "accept";

/// How the names of files begin that are being written.
const DRAFT: &str = ".draft-";

/// The name of a file while it is being written.
pub(super) fn draft_path(path: &Path) -> PathBuf {
    path.with_file_name(format!("{DRAFT}{}", path.file_name().unwrap_or_default().display()))
}

/// Number of the newest snapshot.
pub(super) fn newest_snapshot(dir: &Path) -> Result<Option<u64>, StoreError> {
    let newest = snapshots_in(dir)?.into_iter().rfind(SnapshotName::is_root);
    Ok(newest.map(|root| root.next_number))
}

/// The roots and parts of snapshots that are there, in order.
pub(super) fn snapshots_in(dir: &Path) -> Result<Vec<SnapshotName>, StoreError> {
    named_in(dir, SnapshotName::parse)
}

/// The size of a snapshot with its parts.
pub(super) fn snapshot_bytes(dir: &Path, next_number: u64) -> Result<u64, StoreError> {
    let own = snapshots_in(dir)?.into_iter().filter(|name| name.next_number == next_number);
    // One that is deleted meanwhile needs no room.
    Ok(own.filter_map(|name| std::fs::metadata(dir.join(name.to_string())).ok()).map(|found| found.len()).sum())
}

/// The numbers in the names of the files with this ending, in order.
pub(super) fn numbers_in(dir: &Path, ending: &str) -> Result<Vec<u64>, StoreError> {
    named_in(dir, |name| numbered(name).filter(|(_, found)| *found == ending).map(|(number, _)| number))
}

/// The number with which a name begins, and the name's ending.
fn numbered(name: &str) -> Option<(u64, &str)> {
    let (stem, ending) = name.split_once('.')?;
    let is_number = stem.len() == 20 && stem.bytes().all(|byte| byte.is_ascii_digit());
    Some((stem.parse().ok().filter(|_| is_number)?, ending))
}

/// The names of files that `parse` knows, in order. Logs files of others.
fn named_in<T: Ord>(dir: &Path, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, StoreError> {
    let error = |error| io_error("list", dir, &error);
    let (mut known, mut foreign) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(dir).map_err(error)? {
        let name = entry.map_err(error)?.file_name();
        match name.to_str().and_then(&parse) {
            Some(found) => known.push(found),
            None if matches!(name.to_str().and_then(numbered), Some((_, "idx" | "torn" | ACCEPT))) => {}
            None if name.as_encoded_bytes().starts_with(DRAFT.as_bytes()) => {}
            None if name == RESERVE => {}
            // The folders in a journal's.
            None if dir.join(&name).is_dir() => {}
            None => foreign.push(name),
        }
    }
    if !foreign.is_empty() {
        tracing::warn!(
            dir = %dir.display(), files = ?foreign,
            "files that are not the broker's are ignored; move them elsewhere"
        );
    }
    known.sort_unstable();
    Ok(known)
}

/// Deletes files that an earlier run was writing when it ended.
pub(super) fn delete_drafts(device: &dyn Device, dir: &Path) -> Result<(), StoreError> {
    let error = |error| io_error("list", dir, &error);
    for entry in std::fs::read_dir(dir).map_err(error)? {
        let entry = entry.map_err(error)?;
        if entry.file_name().as_encoded_bytes().starts_with(DRAFT.as_bytes()) {
            // Files that can't be deleted only take up space.
            let _ = device.remove(&entry.path());
        }
    }
    Ok(())
}
