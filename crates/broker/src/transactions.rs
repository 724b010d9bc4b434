//! Transactions of named producers: opens a producer that has some, and ends them.
//!
//! A transaction begins with its first append, or with the first offset that it commits. The rules are the journal's,
//! which also ends those that take too long (`journal/task.rs`).

use crate::broker::Broker;
use crate::end::in_store;
use crate::journal::{Journal, JournalError};
use crate::limits::TRANSACTION_TIMEOUT_MAX;
use crate::producer::ProducerInstance;
use crate::store_error::StoreError;
use rawline_batch::record_batch::RecordBatchHeader;
use rawline_journal::{Aborted, Control, NAME_BYTES_MAX, Refused, TransactionEnd};
use std::collections::BTreeMap;
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
            error => in_store(&error).into(),
        }
    }
}

impl Broker {
    fn transactional(&self, name: &str) -> Result<&Journal, TransactionError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(TransactionError::Name { bytes: name.len() });
        }
        Ok(self.journals.of_producers("transactions")?)
    }

    /// Opens the next instance of the producer with this name, whose transactions may take so long. An open transaction
    /// of an older instance is aborted. If `from` is given, only the instance that it is is replaced. `owner` is the
    /// name of the key that asks; empty if it has none.
    pub async fn open_transactional(
        &self,
        name: &str,
        owner: &str,
        timeout: Duration,
        from: Option<ProducerInstance>,
    ) -> Result<ProducerInstance, TransactionError> {
        let journal = self.transactional(name)?;
        let limit = TRANSACTION_TIMEOUT_MAX;
        if timeout.is_zero() || timeout > limit {
            return Err(TransactionError::Timeout { timeout, limit });
        }
        // Fits: the maximum is a quarter of an hour.
        let timeout_ms = timeout.as_millis() as u32;
        let from = from.map(|ProducerInstance { id, epoch }| (id, epoch));
        let open = Control::OpenProducer {
            name: name.into(),
            id: 0,
            epoch: 0,
            timeout_ms,
            owner: owner.into(),
            from,
            ends: 0,
        };
        Ok(journal.change_producer(open).await?)
    }

    /// Commits or aborts the transaction of a producer. Returns the instance that it continues with. A caller that asks
    /// again, because the response was lost, gets the same one.
    pub async fn end_transaction(
        &self,
        name: &str,
        instance: ProducerInstance,
        is_committed: bool,
    ) -> Result<ProducerInstance, TransactionError> {
        let journal = self.transactional(name)?;
        let ProducerInstance { id, epoch } = instance;
        let end = if is_committed { TransactionEnd::Commit } else { TransactionEnd::Abort };
        let end = Control::EndTransaction { name: name.into(), id, epoch, end, next: (0, 0) };
        match journal.change_producer(end).await {
            Err(JournalError::Refused(Refused::AlreadyEnded { id, epoch })) => Ok(ProducerInstance { id, epoch }),
            ended => Ok(ended?),
        }
    }
}

/// Aborted transactions, to tell whether a batch belongs to one.
#[derive(Debug, Default)]
pub(crate) struct AbortedRecords(BTreeMap<(u64, u64), u64>);

impl AbortedRecords {
    pub fn new<'a>(aborted: impl Iterator<Item = &'a Aborted>) -> AbortedRecords {
        AbortedRecords(aborted.map(|found| ((found.producer, found.first_offset), found.last_offset)).collect())
    }

    /// Whether the records of a stored batch were aborted.
    pub fn have(&self, header: &RecordBatchHeader) -> bool {
        let (Some(producer), Ok(offset)) = (header.producer, u64::try_from(header.base_offset)) else { return false };
        let before = self.0.range((producer.id, 0)..=(producer.id, offset)).next_back();
        header.is_transactional && before.is_some_and(|(_, last_offset)| offset < *last_offset)
    }
}
