//! What an operator should know of a directory besides its journal: its disk, its permissions, and files that a person
//! or a crash has left.

use super::errors::io_error;
use crate::store_error::StoreError;
use rustix::fs::{Access, access, statvfs};
use std::path::{Path, PathBuf};

/// See the file's first lines.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Bytes that this user can still write.
    pub free_bytes: u64,
    /// Size of the file system in bytes.
    pub total_bytes: u64,
    /// Whether this user can create files in the directory.
    pub is_writable: bool,
    /// Segments that a start has set aside, because what they had was never confirmed.
    pub torn: Vec<PathBuf>,
    /// Files by which a person gives up damaged objects.
    pub given_up: Vec<PathBuf>,
}

/// The facts of a storage's directory.
pub fn facts(dir: &Path) -> Result<Facts, StoreError> {
    let system = statvfs(dir).map_err(|error| io_error("look at", dir, &error.into()))?;
    let journal = dir.join("journal");
    let is_writable = [dir, &journal].iter().all(|dir| access(*dir, Access::WRITE_OK | Access::EXEC_OK).is_ok());
    let (mut torn, mut given_up) = (Vec::new(), Vec::new());
    for dir in [&journal, &journal.join("merged")] {
        for entry in std::fs::read_dir(dir).map_err(|error| io_error("list", dir, &error))? {
            let path = entry.map_err(|error| io_error("list", dir, &error))?.path();
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("torn") => torn.push(path),
                Some("accept") => given_up.push(path),
                _ => {}
            }
        }
    }
    let bytes = |blocks: u64| blocks.saturating_mul(system.f_frsize);
    Ok(Facts { free_bytes: bytes(system.f_bavail), total_bytes: bytes(system.f_blocks), is_writable, torn, given_up })
}
