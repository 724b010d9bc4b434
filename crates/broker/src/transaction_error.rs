//! Why a transaction did not end, or its producer was not opened.

use crate::journal::JournalError;
use crate::store_error::StoreError;
use rawline_journal::{NAME_BYTES_MAX, Refused};
use std::time::Duration;
use thiserror::Error;

/// Why a transaction did not end, or a producer was not opened, or why it isn't known whether it was.
#[derive(Debug, Clone, Error)]
pub enum TransactionError {
    /// The name breaks the rules.
    #[error("a transactional id has 1 to {NAME_BYTES_MAX} bytes, and this one has {bytes}; use another")]
    Name {
        /// Size of the name in bytes.
        bytes: usize,
    },
    /// Transactions may not take so long, or no time at all.
    #[error("a transaction may take 1 ms to {limit:?}, not {timeout:?}; set transaction.timeout.ms")]
    Timeout {
        /// The timeout asked for.
        timeout: Duration,
        /// The maximum.
        limit: Duration,
    },
    /// A newer instance of the producer was opened.
    #[error("a newer instance of this producer was opened, or its transaction took too long; stop this one")]
    Fenced,
    /// It isn't an instance of this producer.
    #[error("the producer's id or epoch isn't one that was opened under this transactional id; open a new instance")]
    NotOpen,
    /// There is nothing to commit, or the transaction has ended the other way.
    #[error("{reason}")]
    State {
        /// What is wrong.
        reason: String,
    },
    /// The regular expression for names can't be read.
    #[error("the regular expression for transactional ids can't be used: {reason}")]
    Regex {
        /// What is wrong.
        reason: String,
    },
    /// Too many names or offsets are in use.
    #[error("{reason}")]
    TooMany {
        /// Which limit is reached.
        reason: String,
    },
    /// The store failed, or has no journal.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Refused> for TransactionError {
    fn from(refused: Refused) -> Self {
        let reason = refused.to_string();
        match refused {
            Refused::Fenced { .. } => TransactionError::Fenced,
            Refused::NotOpen { .. } | Refused::NoTransactions { .. } => TransactionError::NotOpen,
            Refused::Names { .. } | Refused::Committed { .. } | Refused::OpenTransaction { .. } => {
                TransactionError::TooMany { reason }
            }
            _ => TransactionError::State { reason },
        }
    }
}

impl From<JournalError> for TransactionError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Refused(refused) => refused.into(),
            error => TransactionError::Store(error.into()),
        }
    }
}
