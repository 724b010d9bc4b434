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
mod facts;
pub(super) mod holes;
mod journal;
mod layout;
mod open_files;
mod options;
mod room;
mod segment;
pub(super) mod sys;
mod viewing;
pub(super) mod warm;

use super::lock::DirLock;
use super::{Purpose, Storage, StoreError};
use crate::limits::{SEGMENT_BYTES, VIEW_RETRY, VIEW_TRIES_MAX};
use crate::tasks;
use dirs::create_dir;
use errors::io_error;
use journal::DiskStore;
use open_files::OpenFiles;
use std::path::Path;
use std::sync::Arc;
use tokio::time::sleep;
use viewing::Viewing;

pub use device::{Device, System, Work};
pub use facts::{Facts, facts};
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
    open_for(dir, options, device, Purpose::Broker)
}

/// As [`open`], for what `purpose` says.
pub fn open_as(dir: &Path, purpose: Purpose) -> Result<Storage, StoreError> {
    open_for(dir, Options::default(), Arc::new(System), purpose)
}

fn open_for(dir: &Path, options: Options, device: Arc<dyn Device>, purpose: Purpose) -> Result<Storage, StoreError> {
    let segment_bytes = options.segment_bytes.min(u64::from(u32::MAX));
    let options = Options { segment_bytes, ..options };
    let dir = std::path::absolute(dir).map_err(|error| io_error("find", dir, &error))?;
    create_dir(&dir, options.durability)?;
    let lock = Arc::new(DirLock::acquire(&dir)?);
    let laid = layout::find_or_decide(&dir, options.durability, purpose)?;
    let journal = DiskStore::open(&dir, options, &Arc::new(OpenFiles::on(device)), &lock)?;
    Ok(storage(laid, journal, lock))
}

/// Opens `dir` to look at it, also while a broker has it: nothing is changed, and nothing that is stored afterwards is
/// seen. Of what a broker deletes meanwhile, reads fail.
pub async fn view(dir: &Path) -> Result<Storage, StoreError> {
    let dir = std::path::absolute(dir).map_err(|error| io_error("find", dir, &error))?;
    let mut tries = 1;
    loop {
        let dir = dir.clone();
        let viewed = tasks::spawn_blocking(move || look(&dir).map_err(|error| (error, is_in_use(&dir)))).await;
        match viewed.unwrap_or_else(|error| unreachable!("looking at a directory: {error}")) {
            // What is there changes while a broker runs.
            Err((_, true)) if tries < VIEW_TRIES_MAX => {
                tries += 1;
                sleep(VIEW_RETRY).await;
            }
            viewed => return viewed.map_err(|(error, _)| error),
        }
    }
}

fn look(dir: &Path) -> Result<Storage, StoreError> {
    let Some(laid) = layout::find(dir, Purpose::View)? else {
        return Err(StoreError::human(format!(
            "there is no storage in {}: it has no {}; check its name",
            dir.display(),
            layout::STORAGE
        )));
    };
    let lock = Arc::new(DirLock::none());
    let journal = DiskStore::view(dir, &Arc::new(OpenFiles::on(Arc::new(Viewing))), &lock)?;
    Ok(storage(laid, journal, lock))
}

/// Whether a process has locked the directory, as a broker does that runs on it.
pub fn is_in_use(dir: &Path) -> bool {
    DirLock::is_held(dir)
}

fn storage(laid: layout::Laid, journal: DiskStore, lock: Arc<DirLock>) -> Storage {
    let journals: Vec<Arc<dyn super::Store>> = vec![Arc::new(journal)];
    Storage { id: laid.id, backup_of: laid.backup_of, journals, members: None, _lock: Some(lock) }
}
