//! Named producers: opens a new instance, which fences those before it, and finds the name that has an id.

use super::Broker;
use crate::append::AppendError;
use crate::journal::request::ProducerInstance;
use crate::journal::{Journal, JournalError};
use crate::partition::Partition;
use crate::received::Received;
use crate::store_error::StoreError;
use rawline_batch::Kind;
use rawline_journal::{NAME_BYTES_MAX, NAMED_IDS, Producer, Refused};
use std::sync::Arc;
use thiserror::Error;

/// Why an instance was not opened, or why it isn't known whether it was.
#[derive(Debug, Clone, Error)]
pub enum OpenProducerError {
    /// The name breaks the rules.
    #[error("a producer's name has 1 to {NAME_BYTES_MAX} bytes, and this one has {bytes}; use another name")]
    Name {
        /// Size of the name in bytes.
        bytes: usize,
    },
    /// Too many names are in use.
    #[error(
        "this journal has {limit} named producers, and no key has more of them than this one, or all were in use \
         lately; use fewer names, or unnamed producers"
    )]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The store failed, or the storage has several journals.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenProducerError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            OpenProducerError::Name { .. } => Kind::FixRequest,
            OpenProducerError::TooMany { .. } => Kind::TellHuman,
            OpenProducerError::Store(error) => error.kind,
        }
    }
}

/// Whether ids such as this are those of named producers. Others are chosen by clients, or given out without a name.
pub fn is_named_id(id: u64) -> bool {
    NAMED_IDS.contains(&id)
}

/// A comparison tells for most appends, which have no named producer.
fn named(journal: &Journal, id: u64) -> Option<Arc<str>> {
    if is_named_id(id) { journal.producer_name(id) } else { None }
}

async fn name_of(journal: &Journal, id: u64) -> Result<Option<Arc<str>>, StoreError> {
    if !is_named_id(id) {
        return Ok(None);
    }
    if let Some(name) = journal.producer_name(id) {
        return Ok(Some(name));
    }
    // Another broker may have opened it.
    journal.catch_up().await?;
    Ok(journal.producer_name(id))
}

impl Partition {
    /// The name of the producer of an exactly-once append, if it has one. An id of named producers without a name is
    /// refused here: whose it is may become known only after the caller's rights were checked.
    pub async fn producer_name(&self, received: &Received) -> Result<Option<Arc<str>>, AppendError> {
        let Some(Producer { id, epoch, .. }) = received.producer else { return Ok(None) };
        match name_of(self.journal(), id).await? {
            None if is_named_id(id) => Err(AppendError::NotOpen { found: epoch }),
            name => Ok(name),
        }
    }
}

impl Broker {
    /// The name of the producer with this id, if it has one as far as this broker has seen.
    pub fn known_producer_name(&self, id: u64) -> Option<Arc<str>> {
        // Several journals have no named producers.
        let [journal] = self.journals.all() else { return None };
        named(journal, id)
    }

    /// The name of the producer with this id, if it has one.
    pub async fn producer_name(&self, id: u64) -> Result<Option<Arc<str>>, StoreError> {
        let [journal] = self.journals.all() else { return Ok(None) };
        name_of(journal, id).await
    }

    /// Opens the next instance of the producer with this name. When this returns, it is stored, and no older instance
    /// can append to any partition. If the outcome is unknown, it can be repeated: that opens one more instance.
    /// `owner` is the name of the key that asks; empty if it has none.
    pub async fn open_producer(&self, name: &str, owner: &str) -> Result<ProducerInstance, OpenProducerError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(OpenProducerError::Name { bytes: name.len() });
        }
        match self.journals.of_producers("named producers")?.open_producer(name, owner).await {
            Ok(instance) => Ok(instance),
            Err(JournalError::Refused(Refused::Names { limit })) => Err(OpenProducerError::TooMany { limit }),
            Err(error) => Err(StoreError::from(error).into()),
        }
    }
}
