//! Why a journal didn't do what it was asked for.

use crate::store_error::StoreError;
use rawline_batch::Kind;
use rawline_journal::{Refused, Rejected};
use thiserror::Error;

/// Why a request had no effect, or why it isn't known whether it had one.
#[derive(Debug, Clone, Error)]
pub enum JournalError {
    /// The append is not stored.
    #[error(transparent)]
    Rejected(Rejected),
    /// The change is not stored.
    #[error(transparent)]
    Refused(Refused),
    /// More than one object can hold.
    #[error("{bytes} bytes in {batches} batches are too much for one request; send fewer batches at once")]
    TooLarge {
        /// Size of the request's batches.
        bytes: u64,
        /// Number of the request's batches.
        batches: usize,
    },
    /// Too many requests wait.
    #[error("too many pending appends; wait, then retry")]
    Busy,
    /// The store didn't take it.
    #[error("the store takes no objects at the moment and nothing of this request is stored; retry")]
    NotStored,
    /// The store refused it, with this reason.
    #[error("{0}")]
    Store(StoreError),
    /// This broker only follows other brokers.
    #[error(
        "this broker is read-only, and can't reach one that stores records: start one on the storage that isn't \
         read-only"
    )]
    ReadOnly,
    /// The journal's end can't be read.
    #[error("what other brokers have stored can't be read at the moment; retry, and if it stays so, check the storage")]
    Unread,
    /// Unknown, and it stays so.
    #[error("the store failed, and whether this request is stored is unknown; read the partition's end to find out")]
    Unknown,
    /// The journal's task has ended.
    #[error("the broker is shutting down; retry when it is running again")]
    Closed,
}

impl JournalError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            JournalError::Rejected(_) | JournalError::Refused(_) | JournalError::TooLarge { .. } => Kind::FixRequest,
            JournalError::Store(error) => error.kind,
            JournalError::Busy
            | JournalError::NotStored
            | JournalError::ReadOnly
            | JournalError::Unread
            | JournalError::Unknown
            | JournalError::Closed => Kind::Wait,
        }
    }
}

/// The same to callers that know no journal.
impl From<JournalError> for StoreError {
    fn from(error: JournalError) -> StoreError {
        StoreError::new(error.kind(), error.to_string())
    }
}
