//! Transactions of named producers: opens a producer that has some, and ends them.
//!
//! A transaction begins with its first append, or with the first offset that it commits. The rules are the journal's,
//! which also ends those that take too long (`journal/task.rs`).

use super::Broker;
use crate::journal::request::ProducerInstance;
use crate::journal::{Journal, JournalError};
use crate::limits::TRANSACTION_TIMEOUT_MAX;
use crate::transaction_error::TransactionError;
use rawline_journal::{Control, NAME_BYTES_MAX, Refused, TransactionEnd};
use std::time::Duration;

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
