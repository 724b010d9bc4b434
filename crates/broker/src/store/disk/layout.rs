//! The constants of a directory: `DIR/storage.json`.

use super::device::System;
use super::dirs::sync_dir;
use super::errors::io_error;
use super::options::Durability;
use super::sys;
use crate::storage_id::StorageId;
use crate::store::Purpose;
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backup_of: Option<StorageId>,
}

/// What a directory says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Laid {
    pub id: StorageId,
    /// The storage of which it is a backup, if it is one.
    pub backup_of: Option<StorageId>,
}

/// What the directory says; `None` if it says nothing.
pub(super) fn find(dir: &Path, purpose: Purpose) -> Result<Option<Laid>, StoreError> {
    let path = dir.join(STORAGE);
    let content = match std::fs::read(&path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("read", &path, &error)),
    };
    match serde_json::from_slice::<Storage>(&content) {
        Ok(Storage { format: FORMAT, journals: JOURNALS, id, backup_of }) => {
            purpose.check(&dir.display(), backup_of)?;
            Ok(Some(Laid { id, backup_of }))
        }
        _ => Err(StoreError::human(format!(
            "{} says {:?}; this version reads storages of format {FORMAT} with {JOURNALS} journal: use the version \
             that wrote it, or a newer one",
            path.display(),
            String::from_utf8_lossy(&content)
        ))),
    }
}

/// What the directory says. One that says nothing gets an id.
pub(super) fn find_or_decide(dir: &Path, durability: Durability, purpose: Purpose) -> Result<Laid, StoreError> {
    if let Some(laid) = find(dir, purpose)? {
        return Ok(laid);
    }
    let path = dir.join(STORAGE);
    let (id, backup_of) = (StorageId::draw(), purpose.backup_of());
    let decided = Storage { format: FORMAT, journals: JOURNALS, id, backup_of };
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
    Ok(Laid { id, backup_of })
}
