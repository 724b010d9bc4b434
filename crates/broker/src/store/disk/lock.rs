//! The lock on a directory: it has one owner at a time.

use crate::store::StoreError;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::Path;

/// Name of the locked file in the store's directory.
pub(super) const LOCK_FILE: &str = "LOCK";

/// A locked directory.
pub(super) struct Lock(File);

/// Locks `dir` until the answer is dropped or the process ends, however it ends: the kernel holds the lock, not the
/// file's presence.
pub(super) fn lock(dir: &Path) -> Result<Lock, StoreError> {
    let path = dir.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| super::io_error("open the lock file", &path, &error))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::human(format!(
            "{} is in use by another broker; stop that one, or give this one a directory of its own",
            dir.display()
        ))),
        Err(error) => Err(super::io_error("lock", &path, &error.into())),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that was just forked holds a copy of it for a moment.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}
