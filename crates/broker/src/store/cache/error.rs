//! Why an object isn't available from the cache.

use crate::object_error::ObjectError;
use crate::store_error::{Setting, StoreError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Why an object isn't available.
#[derive(Debug, Clone, Error)]
pub(crate) enum CacheError {
    /// The fetched bytes, two times, were not the requested object.
    #[error(transparent)]
    Damaged(#[from] ObjectError),
    /// Fetching it failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache's disk failed.
    #[error("{0}")]
    Disk(Arc<io::Error>),
}

pub(super) fn unusable(dir: &Path, error: &io::Error) -> StoreError {
    let dir = dir.display();
    StoreError::human(format!(
        "can't use the cache {dir}: {error}; check its free space and its permissions, or use another directory"
    ))
    .about(Setting::CacheDir)
}

pub(super) fn aborted(error: impl std::fmt::Display) -> StoreError {
    StoreError::wait(format!("reading an object was aborted ({error}); retry"))
}

pub(super) fn disk(error: io::Error) -> CacheError {
    CacheError::Disk(Arc::new(error))
}
