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
mod dirs;
mod errors;
pub(super) mod holes;
mod journal;
mod layout;
mod open_files;
mod options;
mod room;
mod segment;
pub(super) mod sys;
pub(super) mod warm;

use super::lock::DirLock;
use super::{Storage, StoreError};
use crate::limits::SEGMENT_BYTES;
use dirs::create_dir;
use errors::io_error;
use journal::DiskStore;
use open_files::OpenFiles;
use std::path::Path;
use std::sync::Arc;

pub use device::{Device, System, Work};
pub use options::{Durability, Options};

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
