//! Creates directories, and makes the names in them durable.

use super::device::{Device, System};
use super::errors::io_error;
use super::options::Durability;
use crate::store_error::StoreError;
use std::fs::File;
use std::io;
use std::path::Path;

/// Creates a directory if it doesn't exist, and makes its name durable: an earlier run may have failed to.
pub(super) fn create_dir(dir: &Path, durability: Durability) -> Result<(), StoreError> {
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
            _ => sync_dir(&System, parent),
        };
    }
    missing.iter().filter_map(|dir| dir.parent()).try_for_each(|dir| sync_dir(&System, dir))
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(device: &dyn Device, dir: &Path) -> Result<(), StoreError> {
    device.sync_dir(dir).map_err(|error| io_error("sync", dir, &error))
}
