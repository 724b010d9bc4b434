//! The constants of a directory: `DIR/storage.json`.

use super::device::System;
use super::dirs::sync_dir;
use super::errors::io_error;
use super::options::Durability;
use super::sys;
use crate::storage_id::StorageId;
use crate::store_error::StoreError;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;

/// Name of the file.
pub(super) const STORAGE: &str = "storage.json";

/// The format that this version writes.
const FORMAT: u32 = 1;

/// The number of journals in a storage.
const JOURNALS: u32 = 1;

/// The content of the file. An unknown member may change the rules, so it is refused.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Storage {
    format: u32,
    journals: u32,
    id: StorageId,
}

/// The directory's id. One that says nothing gets one.
pub(super) fn find_or_decide(dir: &Path, durability: Durability) -> Result<StorageId, StoreError> {
    let path = dir.join(STORAGE);
    match std::fs::read(&path) {
        Ok(content) => {
            return match serde_json::from_slice::<Storage>(&content) {
                Ok(Storage { format: FORMAT, journals: JOURNALS, id }) => Ok(id),
                _ => Err(StoreError::human(format!(
                    "{} says {:?}; this version reads storages of format {FORMAT} with {JOURNALS} journal: use the \
                     version that wrote it, or a newer one",
                    path.display(),
                    String::from_utf8_lossy(&content)
                ))),
            };
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io_error("read", &path, &error)),
    }
    let id = StorageId::draw();
    let decided = Storage { format: FORMAT, journals: JOURNALS, id };
    let create = || {
        let mut draft = tempfile::NamedTempFile::new_in(dir)?;
        draft.write_all(&serde_json::to_vec(&decided)?)?;
        if durability == Durability::Fsync {
            sys::sync(draft.as_file())?;
        }
        draft.persist(&path)?;
        Ok(())
    };
    create().map_err(|error: io::Error| io_error("create", &path, &error))?;
    if durability == Durability::Fsync {
        sync_dir(&System, dir)?;
    }
    Ok(id)
}
