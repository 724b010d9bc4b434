//! What extends a partition: the journal that it shares with others.

use crate::append::{AppendError, Appended};
use crate::journal::{Journal, JournalError, JournalTopic};
use crate::limits::JOURNAL_PARTITIONS_MAX;
use crate::received::Received;
use crate::settings::Settings;
use crate::store_error::StoreError;
use crate::topic::TopicError;
use crate::trim::TrimError;
use rawline_journal::{Control, PartitionId, Refused, Rejected};
use std::sync::Arc;

/// What extends a partition: the journal that has its topic.
pub(crate) struct End {
    journal: Journal,
    topic: Arc<JournalTopic>,
    partition: PartitionId,
}

impl End {
    /// The partition with this number.
    pub fn new(journal: Journal, topic: Arc<JournalTopic>, number: u32) -> End {
        let partition = PartitionId { topic: topic.id, number };
        End { journal, topic, partition }
    }

    /// Another partition of the topic.
    pub fn other(&self, number: u32) -> End {
        End::new(self.journal.clone(), self.topic.clone(), number)
    }

    /// The journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The topic.
    pub fn topic(&self) -> &Arc<JournalTopic> {
        &self.topic
    }

    /// The partition.
    pub fn id(&self) -> PartitionId {
        self.partition
    }

    /// The partition's number.
    pub fn number(&self) -> u32 {
        self.partition.number
    }

    /// Appends batches; `None` if the journal's task has ended.
    pub async fn append(&self, received: Received) -> Result<Option<Appended>, AppendError> {
        let producer = received.producer;
        let error = match self.journal.append(self.partition, producer, received).await {
            Ok(appended) => return Ok(Some(appended)),
            Err(JournalError::Closed) => return Ok(None),
            Err(error) => error,
        };
        Err(match error {
            JournalError::Rejected(Rejected::Partition(_)) => {
                AppendError::TopicDeleted { topic: self.topic.name.to_string() }
            }
            JournalError::Rejected(Rejected::Gap { expected, found }) => AppendError::Gap { expected, found },
            JournalError::Rejected(Rejected::Fenced { current, found }) => AppendError::Fenced { current, found },
            JournalError::Rejected(Rejected::NotOpen { found, .. }) => AppendError::NotOpen { found },
            JournalError::Rejected(Rejected::Old { found }) => AppendError::Old { found },
            JournalError::Rejected(Rejected::Conflict { found }) => AppendError::Conflict { found },
            JournalError::Rejected(Rejected::NoTransactions { id }) => AppendError::NoTransactions { id },
            JournalError::Rejected(Rejected::InTransaction { id }) => AppendError::InTransaction { id },
            JournalError::Rejected(rejected @ Rejected::Transactions { .. }) => {
                AppendError::Transactions { reason: rejected.to_string() }
            }
            JournalError::TooLarge { bytes, batches } => AppendError::TooLarge { bytes, batches },
            JournalError::Busy => AppendError::Busy,
            error => AppendError::Store(in_store(&error)),
        })
    }

    /// Replaces the topic's settings, and perhaps its number of partitions.
    pub async fn change_settings(&self, settings: &Settings, wanted: Option<u32>) -> Result<(), TopicError> {
        let (topic, encoded) = (self.topic.id, settings.encode()?);
        let before = self.topic.partitions();
        if let Some(added) = wanted.and_then(|wanted| wanted.checked_sub(before)) {
            check_partitions(&self.journal, added)?;
        }
        let mut partitions = wanted.unwrap_or(before);
        loop {
            let change = Control::Alter { topic, partitions, settings: encoded[..].into() };
            let name = || self.topic.name.to_string();
            match self.journal.change(change).await {
                Ok(_) => return Ok(()),
                // Another broker has given it more meanwhile, and no request asks for fewer.
                Err(JournalError::Refused(Refused::Partitions { least, .. })) if wanted.is_none() => {
                    assert!(least > partitions, "{partitions} partitions were refused, though {least} are possible");
                    partitions = least;
                }
                Err(JournalError::Refused(Refused::Partitions { least, found, .. })) => {
                    return Err(TopicError::FewerPartitions { name: name(), partitions: least, wanted: found });
                }
                Err(JournalError::Refused(_)) => return Err(TopicError::NotFound { name: name() }),
                Err(error) => return Err(in_store(&error).into()),
            }
        }
    }

    /// Deletes the partition's records below an offset.
    pub async fn trim(&self, first_offset: u64) -> Result<(), TrimError> {
        let change = Control::Trim { partition: self.partition, first_offset };
        match self.journal.change(change).await {
            Ok(_) => Ok(()),
            Err(JournalError::Refused(Refused::AfterEnd { found, next_offset })) => {
                Err(TrimError::AboveEnd { offset: found, next_offset })
            }
            Err(JournalError::Refused(_)) => Err(TrimError::TopicDeleted { topic: self.topic.name.to_string() }),
            Err(error) => Err(TrimError::Store(in_store(&error))),
        }
    }
}

/// Fails if a journal would have too many partitions.
pub(crate) fn check_partitions(journal: &Journal, added: u32) -> Result<(), TopicError> {
    if journal.partitions_count() + added as usize <= JOURNAL_PARTITIONS_MAX {
        return Ok(());
    }
    Err(TopicError::TooMany { what: "partitions", limit: JOURNAL_PARTITIONS_MAX })
}

/// What a journal's error is to those who know no journal.
pub(crate) fn in_store(error: &JournalError) -> StoreError {
    StoreError::new(error.kind(), error.to_string())
}
