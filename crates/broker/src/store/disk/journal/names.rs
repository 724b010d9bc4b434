//! The names of the files of a journal.

use super::reserve::RESERVE;
use crate::store::disk::device::Device;
use crate::store::disk::errors::io_error;
use crate::store_error::StoreError;
use rawline_journal::SnapshotName;
use std::path::{Path, PathBuf};

/// Ending of an empty file by which a person gives up the damaged objects of the segment of the same name.
pub(super) const ACCEPT: &str = "accept";

/// Ending of snapshots' roots.
const SNAPSHOT: &str = "rws";

/// How the names of files begin that are being written.
const DRAFT: &str = ".draft-";

/// Ending of their separate parts.
const PART: &str = ".rwp";

/// The name of a file while it is being written.
pub(super) fn draft_path(path: &Path) -> PathBuf {
    path.with_file_name(format!("{DRAFT}{}", path.file_name().unwrap_or_default().display()))
}

/// Number of the newest snapshot.
pub(super) fn newest_snapshot(dir: &Path) -> Result<Option<u64>, StoreError> {
    Ok(numbers_in(dir, SNAPSHOT)?.last().copied())
}

/// The roots and parts of snapshots that are there, in order.
pub(super) fn snapshots_in(dir: &Path) -> Result<Vec<SnapshotName>, StoreError> {
    let error = |error| io_error("list", dir, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(error)? {
        names.extend(entry.map_err(error)?.file_name().to_str().and_then(SnapshotName::parse));
    }
    names.sort_unstable();
    Ok(names)
}

/// The size of a snapshot with its parts.
pub(super) fn snapshot_bytes(dir: &Path, next_number: u64) -> Result<u64, StoreError> {
    let own = snapshots_in(dir)?.into_iter().filter(|name| name.next_number == next_number);
    // One that is deleted meanwhile needs no room.
    Ok(own.filter_map(|name| std::fs::metadata(dir.join(name.to_string())).ok()).map(|found| found.len()).sum())
}

/// The numbers in the names of the files with this ending, in order. Logs
/// files of others.
pub(super) fn numbers_in(dir: &Path, ending: &str) -> Result<Vec<u64>, StoreError> {
    let error = |error| io_error("list", dir, &error);
    let (mut numbers, mut foreign) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(dir).map_err(error)? {
        let name = entry.map_err(error)?.file_name();
        let parts = name.to_str().and_then(|name| name.split_once('.'));
        let is_number = |stem: &str| stem.len() == 20 && stem.bytes().all(|byte| byte.is_ascii_digit());
        match parts.map(|(stem, found)| (stem.parse::<u64>().ok().filter(|_| is_number(stem)), found)) {
            Some((Some(number), found)) if found == ending => numbers.push(number),
            Some((Some(_), "idx" | "torn" | ACCEPT)) => {}
            Some((Some(_), found)) if found.ends_with(PART) => {}
            _ if name.as_encoded_bytes().starts_with(DRAFT.as_bytes()) => {}
            _ if name == RESERVE => {}
            // The folders in a journal's.
            _ if dir.join(&name).is_dir() => {}
            _ => foreign.push(name),
        }
    }
    if !foreign.is_empty() {
        tracing::warn!(dir = %dir.display(), files = ?foreign, "files that are not the broker's are ignored");
    }
    numbers.sort_unstable();
    Ok(numbers)
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
