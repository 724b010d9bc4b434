//! Whether others have changed the directory of a running broker, and what they and a person do to its files.

use super::Inner;
use super::files::ACCEPT;
use crate::store::disk::io_error;
use crate::store::disk::layout::STORAGE;
use crate::store::disk::segment::segment_path;
use crate::store_error::StoreError;
use rawline_journal::Source;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The number by which the file system knows what has this name now.
pub(super) fn inode(path: &Path) -> io::Result<u64> {
    std::fs::metadata(path).map(|found| found.ino())
}

/// The file next to a journal's directory that says how the storage is laid out, if it is there.
pub(super) fn storage_of(dir: &Path) -> Option<PathBuf> {
    dir.parent().map(|parent| parent.join(STORAGE)).filter(|storage| storage.exists())
}

impl Inner {
    /// What others have changed: a missing, shorter or replaced file, if there is any.
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
        if snapshot > 0 && !self.snapshot_path(snapshot).exists() {
            return Some(format!("{} is gone", self.snapshot_path(snapshot).display()));
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

    /// What a person knows an object by: a merged one by its file, another by the segment that it would be in.
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

    /// What a person has given up.
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
