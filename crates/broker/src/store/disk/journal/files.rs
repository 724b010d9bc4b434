//! The files of a journal that hold one thing each: merged objects and snapshots. They are written under another name,
//! synced, and renamed: a name guarantees a complete file.

use super::recover::whole_file;
use super::reserve::{RESERVE, is_full};
use super::write::{DATE, stop};
use super::{Inner, sync_dir};
use crate::store::disk::segment::{remove, segment_path};
use crate::store::disk::{Device, io_error};
use crate::store_error::StoreError;
use bytes::Bytes;
use rawline_journal::PutResult;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Ending of an empty file by which a person gives up the damaged objects of the segment of the same name.
pub(super) const ACCEPT: &str = "accept";

/// Ending of snapshots.
pub(super) const SNAPSHOT: &str = "rws";

impl Inner {
    pub(super) fn snapshot_path(&self, next_number: u64) -> PathBuf {
        snapshot_path(&self.snapshots_dir, next_number)
    }

    /// Stores the snapshot of everything before the object `next_number`.
    pub(super) fn store_snapshot(&self, next_number: u64, snapshot: &Bytes) -> Result<(), StoreError> {
        self.sync_visible()?;
        let path = self.snapshot_path(next_number);
        let create = || create(self.device(), &path, std::slice::from_ref(snapshot));
        match self.reserve.lend(create, is_full) {
            // Whatever else has a name here was durable when it was created, or when the directory was opened.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(io_error("write", &path, &error)),
            Ok(()) => {
                self.sync_name(&self.snapshots_dir, &path)?;
                self.snapshot.fetch_max(next_number, Ordering::Relaxed);
                self.reserve.have_room_for(snapshot.len() as u64);
                Ok(())
            }
        }
    }

    /// Makes the name of a new file durable. If that fails, the file must not be found by a caller that deletes what it
    /// makes superfluous, so it is removed.
    fn sync_name(&self, dir: &Path, path: &Path) -> Result<(), StoreError> {
        let Err(error) = sync_dir(self.device(), dir) else { return Ok(()) };
        match remove(self.device(), path) {
            Ok(()) => Err(error),
            Err(_) => Err(stop(&self.failed, &error)),
        }
    }

    /// The snapshot; `None` if it doesn't exist.
    pub(super) fn read_snapshot(&self, next_number: u64) -> Result<Option<Bytes>, StoreError> {
        let path = self.snapshot_path(next_number);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path, &error)),
        }
    }

    /// The newest snapshot.
    pub(super) fn read_newest_snapshot(&self) -> Result<Option<Bytes>, StoreError> {
        match newest_snapshot(&self.snapshots_dir)? {
            Some(newest) => self.read_snapshot(newest),
            None => Ok(None),
        }
    }

    /// Stores a merged object.
    pub(super) fn create_merged(&self, number: u64, parts: &[Bytes]) -> PutResult {
        let path = segment_path(&self.merged_dir, number);
        match self.reserve.lend(|| create(self.device(), &path, parts), is_full) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return PutResult::Exists,
            Err(error) => {
                let error = io_error("write", &path, &error);
                tracing::warn!(number, %error, "a merged object was not stored");
                return PutResult::Unknown;
            }
            Ok(()) => {}
        }
        if let Err(error) = self.sync_name(&self.merged_dir, &path) {
            tracing::warn!(number, %error, "a merged object may not be stored");
            return PutResult::Unknown;
        }
        let length = parts.iter().map(|part| part.len() as u64).sum();
        let stored = Arc::new(whole_file(&self.merged_dir, number, length, &self.files));
        self.merged_mut().insert(number, stored);
        PutResult::Created { date: DATE }
    }
}

pub(super) fn snapshot_path(dir: &Path, next_number: u64) -> PathBuf {
    dir.join(format!("{next_number:020}.{SNAPSHOT}"))
}

/// The name of a file while it is being written.
pub(super) fn draft_path(path: &Path) -> PathBuf {
    path.with_file_name(format!("{DRAFT}{}", path.file_name().unwrap_or_default().display()))
}

/// Number of the newest snapshot.
pub(super) fn newest_snapshot(dir: &Path) -> Result<Option<u64>, StoreError> {
    Ok(numbers_in(dir, SNAPSHOT)?.last().copied())
}

/// Creates a file, unless it exists. It is synced whatever the durability of commits is: what it stands for is deleted
/// elsewhere.
fn create(device: &dyn Device, path: &Path, parts: &[Bytes]) -> io::Result<()> {
    let draft = draft_path(path);
    // One that an earlier attempt left.
    remove(device, &draft)?;
    let write = || {
        let file = device.create(&draft)?;
        device.write(&file, parts, 0)?;
        device.sync(&file)?;
        device.rename(&draft, path)
    };
    write().inspect_err(|_| drop(device.remove(&draft)))
}

/// How the names of files begin that are being written.
const DRAFT: &str = ".draft-";

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
