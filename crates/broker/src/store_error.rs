//! Errors of a store.

use rawline_batch::Kind;
use thiserror::Error;

/// What went wrong in a store, in words for the log and for the operator.
#[derive(Debug, Clone, Error)]
#[error("{message}")]
pub struct StoreError {
    /// How a caller can handle it.
    pub kind: Kind,
    /// The failure, its place, and what to do.
    pub message: String,
    /// The setting that an operator can change, if there is one: a program adds what it calls it.
    pub setting: Option<Setting>,
    /// Whether an object is gone that was to be read: another broker has deleted it, because its records are deleted or
    /// elsewhere.
    pub is_gone: bool,
    /// Whether an object that was to be read has other bytes than were stored.
    pub is_damaged: bool,
}

/// A setting of a store. A library doesn't know how a program's users change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Where objects are stored: a directory, or `s3://BUCKET/PREFIX`.
    Storage,
    /// The cache's directory.
    CacheDir,
    /// Maximum size of the cache.
    CacheBytes,
    /// When an append to a local directory is acknowledged.
    Durability,
    /// Minimum time to keep unreferenced objects of a bucket.
    DeletionDelay,
    /// The number of journals.
    Journals,
    /// Where the other brokers on the storage reach this one.
    Advertise,
}

impl StoreError {
    /// An error of any kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        StoreError { kind, message: message.into(), setting: None, is_gone: false, is_damaged: false }
    }

    /// An object that was to be read is gone.
    pub fn gone(message: impl Into<String>) -> Self {
        StoreError { is_gone: true, ..StoreError::new(Kind::TryAgain, message) }
    }

    /// An object that was to be read has other bytes than were stored.
    pub fn damaged(message: impl Into<String>) -> Self {
        StoreError { is_damaged: true, ..StoreError::human(message) }
    }

    /// An error that passes by itself.
    pub fn wait(message: impl Into<String>) -> Self {
        StoreError::new(Kind::Wait, message)
    }

    /// An error that only an operator can resolve.
    pub fn human(message: impl Into<String>) -> Self {
        StoreError::new(Kind::TellHuman, message)
    }

    /// Names the setting that an operator can change.
    #[must_use]
    pub fn about(mut self, setting: Setting) -> Self {
        self.setting = Some(setting);
        self
    }
}
