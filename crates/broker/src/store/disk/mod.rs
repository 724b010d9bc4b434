//! Objects on a local directory, appended to preallocated segments: those of a journal (`journal`).
//!
//! ```text
//! DIR/LOCK            locked by the one owner
//! DIR/storage.json    says what the directory is
//! DIR/journal/        the journal
//! ```
//!
//! `docs/format.md` has the rules. What blocks runs on one of tokio's blocking threads.

mod device;
mod durability;
mod holes;
mod journal;
mod layout;
mod open_files;
mod room;
mod segment;
mod sys;
mod warm;

use super::lock::DirLock;
use super::{Storage, StoreError};
use crate::limits::SEGMENT_BYTES;
use journal::DiskStore;
use open_files::{OpenFiles, is_out_of_files};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use device::{Device, System, Work};
pub use durability::Durability;

/// Settings of a directory.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// When a commit is confirmed.
    pub durability: Durability,
    /// Length of a segment in bytes, at most `u32::MAX`. A longer object gets its own segment.
    pub segment_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::default(), segment_bytes: SEGMENT_BYTES }
    }
}

const _: () = assert!(SEGMENT_BYTES <= u32::MAX as u64, "positions in a segment are u32");
const _: () = assert!(crate::limits::OBJECT_BYTES_MAX <= u32::MAX as u64, "positions in a segment are u32");

/// Opens `dir` with segments of the default length. See [`open_with`].
pub fn open(dir: &Path, durability: Durability) -> Result<Storage, StoreError> {
    open_with(dir, Options { durability, ..Options::default() })
}

/// Locks `dir`, which is created if it doesn't exist, and recovers its journal. Blocks. Raises the number of files
/// that this process may open as far as the system allows.
///
/// Fails if another process has the directory, or if it can't be written.
pub fn open_with(dir: &Path, options: Options) -> Result<Storage, StoreError> {
    open_on(dir, options, Arc::new(System))
}

/// As [`open_with`], where segments and a journal's other files are changed by way of `device`.
pub fn open_on(dir: &Path, options: Options, device: Arc<dyn Device>) -> Result<Storage, StoreError> {
    let segment_bytes = options.segment_bytes.min(u64::from(u32::MAX));
    let options = Options { segment_bytes, ..options };
    let dir = std::path::absolute(dir).map_err(|error| io_error("find", dir, &error))?;
    create_dir(&dir, options.durability)?;
    let lock = Arc::new(DirLock::acquire(&dir)?);
    let id = layout::find_or_decide(&dir, options.durability)?;
    let journal = DiskStore::open(&dir, options, &Arc::new(OpenFiles::on(device)), &lock)?;
    Ok(Storage { id, journals: vec![Arc::new(journal)], members: None, _lock: Some(lock) })
}

/// Creates a directory if it doesn't exist, and makes its name durable: an earlier run may have failed to.
fn create_dir(dir: &Path, durability: Durability) -> Result<(), StoreError> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    std::fs::create_dir_all(dir).map_err(|error| io_error("create", dir, &error))?;
    if durability == Durability::PageCache {
        return Ok(());
    }
    let Some(parent) = dir.parent() else { return Ok(()) };
    if missing.is_empty() {
        // A parent that belongs to others may not be readable.
        return match File::open(parent) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            _ => sys::sync_dir(parent),
        };
    }
    missing.iter().filter_map(|dir| dir.parent()).try_for_each(sys::sync_dir)
}

/// The error of a failed system call: what failed and what to do about it.
fn io_error(action: &str, path: &Path, error: &io::Error) -> StoreError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let path = path.display();
    match error.kind() {
        _ if is_out_of_files(error) => StoreError::wait(format!(
            "could not {action} {path}: {error}; wait until other connections are closed and send the request again \
             (nothing of it was stored), or raise the number of files that the process may open"
        )),
        StorageFull | QuotaExceeded | FileTooLarge => StoreError::wait(format!(
            "could not {action} {path}: {error}; free disk space or delete old records, then send the request again \
             (nothing of it was stored)"
        )),
        _ => StoreError::human(format!(
            "could not {action} {path}: {error}; check the disk and the directory's permissions"
        )),
    }
}
