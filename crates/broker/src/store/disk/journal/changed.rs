//! Changes of a running broker's directory by other programs, and an operator's names for its files.

use super::inner::Inner;
use super::names::ACCEPT;
use crate::store::disk::errors::io_error;
use crate::store::disk::layout::STORAGE;
use crate::store::disk::segment::segment_path;
use crate::store_error::StoreError;
use rawline_journal::{SnapshotName, Source};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The inode number of the file that has this name now.
pub(super) fn inode(path: &Path) -> io::Result<u64> {
    std::fs::metadata(path).map(|found| found.ino())
}

/// The file `storage.json` next to a journal's directory, if it exists.
pub(super) fn storage_of(dir: &Path) -> Option<PathBuf> {
    dir.parent().map(|parent| parent.join(STORAGE)).filter(|storage| storage.exists())
}

impl Inner {
    /// Changes of other programs: a missing, truncated or replaced file, if there is any.
    pub(super) fn changed(&self) -> Option<StoreError> {
        let why = self.changed_file()?;
        Some(StoreError::human(format!(
            "the directory was changed while the broker was running: {why}. Nothing more is stored, because it might \
             be lost; put the file back, or restart the broker, which names the missing files and a way to continue"
        )))
    }

    fn changed_file(&self) -> Option<String> {
        if let Some(storage) = self.storage.as_ref().filter(|storage| !storage.exists()) {
            return Some(format!("{} is gone", storage.display()));
        }
        if inode(&self.dir).ok() != Some(self.inode) {
            return Some(format!("{} is gone or is another directory", self.dir.display()));
        }
        let snapshot = self.snapshot.load(Ordering::Relaxed);
        let path = self.snapshot_path(SnapshotName::root(snapshot));
        if snapshot > 0 && !path.exists() {
            return Some(format!("{} is gone", path.display()));
        }
        let segments: Vec<_> = self.segments().values().cloned().collect();
        let merged: Vec<_> = self.merged_mut().values().cloned().collect();
        segments.into_iter().chain(merged).find_map(|stored| {
            let segment = &stored.segment;
            // What is removed because no snapshot needs it isn't missed.
            let changed = segment.unless_removed(|| match std::fs::metadata(&segment.path) {
                Ok(found) if found.len() < segment.bytes() => {
                    Some(format!("{} has {} bytes instead of {}", segment.path.display(), found.len(), segment.bytes()))
                }
                Ok(found) if segment.open_inode().is_some_and(|open| open != found.ino()) => {
                    Some(format!("{} is another file than it was", segment.path.display()))
                }
                Ok(_) => None,
                Err(error) => Some(format!("{}: {error}", segment.path.display())),
            });
            changed.flatten()
        })
    }

    /// The file that had an object.
    pub(super) fn path_of(&self, source: Source) -> PathBuf {
        match source {
            Source::Journal(number) => segment_path(&self.dir, number),
            Source::Merged(number) => segment_path(&self.merged_dir, number),
        }
    }

    /// An operator's name for an object: a merged one's file, or the segment that would have it.
    pub(super) fn name_of(&self, source: Source) -> String {
        match source {
            Source::Journal(number) => {
                format!(
                    "object {number} of the journal, in the newest segment of {} up to that number",
                    self.dir.display()
                )
            }
            Source::Merged(_) => self.path_of(source).display().to_string(),
        }
    }

    /// Objects that an operator has given up.
    pub(super) fn given_up(&self) -> Result<Vec<Source>, StoreError> {
        let objects = given_up_in(&self.dir)?.into_iter().map(Source::Journal);
        Ok(objects.chain(given_up_in(&self.merged_dir)?.into_iter().map(Source::Merged)).collect())
    }
}

fn given_up_in(dir: &Path) -> Result<Vec<u64>, StoreError> {
    let error = |error| io_error("list", dir, &error);
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(error)? {
        let name = entry.map_err(error)?.file_name();
        let number: Option<u64> =
            name.to_str().and_then(|name| name.strip_suffix(ACCEPT)?.strip_suffix('.')?.parse().ok());
        numbers.extend(number);
    }
    Ok(numbers)
}
