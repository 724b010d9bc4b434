//! Opens a new instance of a named producer, which fences those before it.

use crate::Kind;
use crate::broker::Broker;
use crate::end::in_store;
use crate::journal::JournalError;
use crate::store::StoreError;
use rawline_journal::{NAME_BYTES_MAX, Refused};
use thiserror::Error;

/// An instance of a named producer. Batches carry the id, and requests the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerInstance {
    /// The name's id.
    pub id: u64,
    /// Grows with every instance.
    pub epoch: u16,
}

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
    #[error("this journal can't have more than {limit} named producers in use; use fewer names, or unnamed producers")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The store failed, or has no journal.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenProducerError {
    /// What a caller can do.
    pub fn kind(&self) -> Kind {
        match self {
            OpenProducerError::Name { .. } => Kind::FixRequest,
            OpenProducerError::TooMany { .. } => Kind::TellHuman,
            OpenProducerError::Store(error) => error.kind,
        }
    }
}

impl Broker {
    /// Opens the next instance of the producer with this name. When this returns, it is stored, and no older instance
    /// can append to any partition. If the outcome is unknown, it can be repeated: that opens one more instance.
    pub async fn open_producer(&self, name: &str) -> Result<ProducerInstance, OpenProducerError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(OpenProducerError::Name { bytes: name.len() });
        }
        match self.journals.of_producers("named producers")?.open_producer(name).await {
            Ok(instance) => Ok(instance),
            Err(JournalError::Refused(Refused::Names { limit })) => Err(OpenProducerError::TooMany { limit }),
            Err(error) => Err(in_store(&error).into()),
        }
    }
}
