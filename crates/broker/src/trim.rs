//! Deletes records from a partition's front.
//!
//! From the moment when the journal has the new first offset, records below it are never readable again. Objects that
//! no reader needs then are deleted by the journal.

use crate::journal::JournalError;
use crate::metrics::METRICS;
use crate::partition::Partition;
use crate::store_error::StoreError;
use rawline_batch::Kind;
use rawline_journal::{Control, Refused};
use thiserror::Error;

/// A partition's extent after a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    /// Offset of the first record.
    pub first_offset: u64,
    /// The offset the next record will get.
    pub next_offset: u64,
}

/// Why a topic was not trimmed.
#[derive(Debug, Clone, Error)]
pub enum TrimError {
    /// The offset is not written yet.
    #[error(
        "can't delete the records before offset {offset}: the topic's next offset is {next_offset}; use at most that"
    )]
    AboveEnd {
        /// The requested first offset.
        offset: u64,
        /// The topic's next offset.
        next_offset: u64,
    },
    /// The topic's deletion has begun.
    #[error("topic {topic:?} was deleted")]
    TopicDeleted {
        /// The topic.
        topic: String,
    },
    /// The store failed. Unless the first offset was stored all the same, nothing is deleted.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TrimError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            TrimError::AboveEnd { .. } | TrimError::TopicDeleted { .. } => Kind::FixRequest,
            TrimError::Store(error) => error.kind,
        }
    }
}

impl Partition {
    /// Makes `offset` the partition's first one. A lower offset than the first changes nothing. Objects that no
    /// reader needs are deleted later.
    pub async fn trim(&self, offset: u64) -> Result<Trimmed, TrimError> {
        let _one_at_a_time = self.changing.lock().await;
        if !self.is_live() {
            return Err(TrimError::TopicDeleted { topic: self.topic.name.clone() });
        }
        let next_offset = self.index().next_offset();
        if offset > next_offset {
            return Err(TrimError::AboveEnd { offset, next_offset });
        }
        let first_offset = self.index().first_offset();
        if offset > first_offset {
            self.store_first_offset(offset).await?;
            METRICS.trims.records.add(offset - first_offset);
        }
        let first_offset = self.index().first_offset();
        assert!(first_offset >= offset, "trimmed to {first_offset} instead of {offset}");
        Ok(Trimmed { first_offset, next_offset })
    }

    /// Deletes the records below an offset.
    async fn store_first_offset(&self, first_offset: u64) -> Result<(), TrimError> {
        let change = Control::Trim { partition: self.id(), first_offset };
        match self.journal().change(change).await {
            Ok(_) => Ok(()),
            Err(JournalError::Refused(Refused::AfterEnd { found, next_offset })) => {
                Err(TrimError::AboveEnd { offset: found, next_offset })
            }
            Err(JournalError::Refused(_)) => Err(TrimError::TopicDeleted { topic: self.topic.name.clone() }),
            Err(error) => Err(TrimError::Store(error.into())),
        }
    }
}
