//! The files of a journal that hold one thing each: merged objects and snapshots. They are written under another name,
//! synced, and renamed: a name guarantees a complete file.

use super::inner::Inner;
use super::names::{draft_path, newest_snapshot, snapshot_bytes};
use super::recover::whole_file;
use super::reserve::is_full;
use super::write::{DATE, stop};
use crate::limits::DISK_SYNC_BYTES;
use crate::metrics::{Housekeeping, METRICS};
use crate::store::disk::device::Device;
use crate::store::disk::dirs::sync_dir;
use crate::store::disk::errors::io_error;
use crate::store::disk::segment::{remove, segment_path};
use crate::store_error::StoreError;
use bytes::Bytes;
use rawline_journal::{PutResult, SnapshotName};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Inner {
    pub(super) fn snapshot_path(&self, name: SnapshotName) -> PathBuf {
        self.snapshots_dir.join(name.to_string())
    }

    /// Stores the root of a snapshot, or a part of one: its name is durable then, and a root is stored afterwards.
    pub(super) fn store_snapshot(&self, name: SnapshotName, bytes: &Bytes) -> Result<(), StoreError> {
        let _running = METRICS.stalls.begin(Housekeeping::Snapshot);
        if name.is_root() {
            self.sync_visible()?;
        }
        let path = self.snapshot_path(name);
        let create = || create(self.device(), &path, std::slice::from_ref(bytes));
        match self.reserve.lend(create, is_full) {
            // Whatever else has a name here was durable when it was created, or when the directory was opened.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(io_error("write", &path, &error)),
            Ok(()) => {
                self.sync_name(&self.snapshots_dir, &path)?;
                if name.is_root() {
                    self.snapshot.fetch_max(name.next_number, Ordering::Relaxed);
                    self.reserve.have_room_for(snapshot_bytes(&self.snapshots_dir, name.next_number)?);
                }
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

    /// The root of a snapshot, or a part; `None` if it doesn't exist.
    pub(super) fn read_snapshot(&self, name: SnapshotName) -> Result<Option<Bytes>, StoreError> {
        let path = self.snapshot_path(name);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path, &error)),
        }
    }

    /// The root of the newest snapshot.
    pub(super) fn read_newest_snapshot(&self) -> Result<Option<Bytes>, StoreError> {
        match newest_snapshot(&self.snapshots_dir)? {
            Some(newest) => self.read_snapshot(SnapshotName::root(newest)),
            None => Ok(None),
        }
    }

    /// Stores a merged object.
    pub(super) fn create_merged(&self, number: u64, parts: &[Bytes]) -> PutResult {
        let _running = METRICS.stalls.begin(Housekeeping::Merge);
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

/// Creates a file, unless it exists. It is synced whatever the durability of commits is: what it stands for is deleted
/// elsewhere.
fn create(device: &dyn Device, path: &Path, parts: &[Bytes]) -> io::Result<()> {
    let draft = draft_path(path);
    // One that an earlier attempt left.
    remove(device, &draft)?;
    let write = || {
        let file = device.create(&draft)?;
        let mut position = 0;
        for group in groups(parts) {
            device.write(&file, &group, position)?;
            device.sync(&file)?;
            position += group.iter().map(|part| part.len() as u64).sum::<u64>();
        }
        device.rename(&draft, path)
    };
    write().inspect_err(|_| drop(device.remove(&draft)))
}

/// Divides parts into groups of [`DISK_SYNC_BYTES`], at least one.
fn groups(parts: &[Bytes]) -> Vec<Vec<Bytes>> {
    let (mut groups, mut group, mut room) = (Vec::new(), Vec::new(), DISK_SYNC_BYTES);
    for part in parts {
        let mut rest = part.clone();
        while rest.len() > room {
            group.push(rest.split_to(room));
            groups.push(std::mem::take(&mut group));
            room = DISK_SYNC_BYTES;
        }
        room -= rest.len();
        group.push(rest);
    }
    groups.push(group);
    groups
}
