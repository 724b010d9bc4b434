//! What extends a topic: its own task, or the journal that it shares with others.

use crate::append::{AppendError, Appended, Message, Received};
use crate::journal::{Journal, JournalError, JournalTopic};
use crate::settings::Settings;
use crate::store::StoreError;
use crate::supervise::Supervised;
use crate::trim::TrimError;
use rawline_journal::{Control, PartitionId, Refused, Rejected};
use std::sync::Arc;
use tokio::sync::mpsc;

/// What extends a topic.
pub(crate) enum End {
    /// Its own task.
    Own { inbox: mpsc::Sender<Message>, task: Supervised },
    /// A journal.
    Journal(InJournal),
}

/// A partition in a journal.
pub(crate) struct InJournal {
    journal: Journal,
    topic: Arc<JournalTopic>,
    partition: PartitionId,
}

impl End {
    /// The message of the panic because of which nothing can be appended any more.
    pub fn failure(&self) -> Option<String> {
        match self {
            End::Own { task, .. } => task.failure(),
            End::Journal(end) => end.journal.failure(),
        }
    }

    /// After an object was gone that was to be read: learns where its records are now. Returns the error if nobody else
    /// moves records.
    pub async fn catch_up(&self, gone: StoreError) -> Result<(), StoreError> {
        match self {
            End::Own { .. } => Err(gone),
            End::Journal(end) => end.journal.catch_up().await.map_err(|error| in_store(&error)),
        }
    }

    /// Waits until nothing can be appended any more; then returns the message of the panic that was the reason.
    pub async fn ended(&self) -> Option<String> {
        match self {
            End::Own { task, .. } => task.ended().await,
            End::Journal(end) => end.journal.ended().await,
        }
    }
}

impl InJournal {
    /// The partition with this number.
    pub fn new(journal: Journal, topic: Arc<JournalTopic>, number: u32) -> InJournal {
        let partition = PartitionId { topic: topic.id, number };
        InJournal { journal, topic, partition }
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
            JournalError::Rejected(Rejected::Old { found }) => AppendError::Old { found },
            JournalError::TooLarge { bytes, batches } => AppendError::TooLarge { bytes, batches },
            JournalError::Busy => AppendError::Busy,
            error => AppendError::Store(in_store(&error)),
        })
    }

    /// Replaces the topic's settings.
    pub async fn put_settings(&self, settings: &Settings) -> Result<(), StoreError> {
        let settings = settings.encode()?;
        let (topic, partitions) = (self.topic.id, self.topic.partitions());
        let change = Control::Alter { topic, partitions, settings: settings[..].into() };
        self.journal.change(change).await.map(drop).map_err(|error| in_store(&error))
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

/// What a journal's error is to those who know no journal.
pub(crate) fn in_store(error: &JournalError) -> StoreError {
    StoreError::new(error.kind(), error.to_string())
}
