//! The lock on a directory: one process owns it at a time.

use crate::store_error::StoreError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Name of the locked file in the directory.
const LOCK_FILE: &str = "LOCK";

/// A locked directory. Dropping it releases the lock.
pub(super) struct DirLock(Option<File>);

impl DirLock {
    /// Locks `dir` until this is dropped or the process ends, in whatever way: the kernel holds the lock, the presence
    /// of the file means nothing. Fails at once if another process has the lock.
    pub(super) fn acquire(dir: &Path) -> Result<DirLock, StoreError> {
        let path = dir.join(LOCK_FILE);
        let failed = |error: std::io::Error| {
            StoreError::human(format!(
                "could not lock {}: {error}; check the disk and the directory's permissions",
                path.display()
            ))
        };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DirLock(Some(file))),
            Err(Errno::WOULDBLOCK) => Err(StoreError::human(format!(
                "{} is in use by another process; stop that process or choose another directory",
                dir.display()
            ))),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Of a directory that is only looked at: other processes may have it.
    pub(super) fn none() -> DirLock {
        DirLock(None)
    }

    /// Whether a process has the lock.
    pub(super) fn is_held(dir: &Path) -> bool {
        let Ok(file) = File::open(dir.join(LOCK_FILE)) else { return false };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                drop(DirLock(Some(file)));
                false
            }
            Err(error) => error == Errno::WOULDBLOCK,
        }
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // Closing the file is not enough: a child process that was just forked holds a copy of it for a moment.
            let _ = flock(file, FlockOperation::Unlock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_released_though_a_copy_of_its_file_is_still_open() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirLock::acquire(dir.path()).unwrap();
        // File descriptors of a child process between fork and exec.
        let copy = lock.0.as_ref().unwrap().try_clone().unwrap();
        assert!(DirLock::is_held(dir.path()));
        assert!(DirLock::acquire(dir.path()).is_err(), "the directory has two owners");
        drop(lock);
        assert!(!DirLock::is_held(dir.path()));
        DirLock::acquire(dir.path()).unwrap();
        drop(copy);
    }
}
