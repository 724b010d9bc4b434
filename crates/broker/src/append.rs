//! Append: hands received batches to the journal, and waits until they are stored.

use crate::journal::JournalError;
use crate::journal::request::Appended;
use crate::limits::{OBJECT_BATCHES_MAX, RECORD_AHEAD_MAX};
use crate::partition::Partition;
use crate::received::Received;
use crate::store_error::StoreError;
use rawline_batch::Kind;
use rawline_journal::{BatchKind, Rejected};
use thiserror::Error;

/// Why nothing was appended, or why it isn't known whether it was.
#[derive(Debug, Clone, Error)]
pub enum AppendError {
    /// More than one object can hold.
    #[error("{bytes} bytes in {batches} batches are too much for one request; send fewer batches at once")]
    TooLarge {
        /// Size of the request's batches.
        bytes: u64,
        /// Number of the request's batches.
        batches: usize,
    },
    /// A batch is larger than the topic allows.
    #[error(
        "a batch of {bytes} bytes is too large for this topic, which takes {limit}; send smaller batches, or set the \
         topic's max.message.bytes"
    )]
    BatchTooLarge {
        /// Size of the largest batch.
        bytes: u64,
        /// The topic's limit.
        limit: u64,
    },
    /// One of Kafka's batches has a record of the future.
    #[error(
        "a record is of {newest_ms} ms after 1970, more than an hour after the broker's time ({now_ms} ms); correct \
         the time of the record, or the clock of the broker"
    )]
    Future {
        /// The newest time in the batch, in milliseconds since the Unix epoch.
        newest_ms: i64,
        /// The broker's time, in milliseconds since the Unix epoch.
        now_ms: u64,
    },
    /// The topic is compacted by key, and the records have no keys.
    #[error("this topic is compacted: every record needs a key; send records with keys, or a topic without compaction")]
    NoKeys,
    /// Too many requests wait for this partition's next commit.
    #[error("too many pending appends to this topic; wait, then retry")]
    Busy,
    /// The journal's task has ended, because the broker is shutting down.
    #[error("the broker is shutting down; retry when it is running again")]
    Closed,
    /// The topic's deletion has begun.
    #[error(
        "topic {topic:?} was deleted, and this append was not stored; send it again only if it belongs in a new topic \
         of that name"
    )]
    TopicDeleted {
        /// The topic.
        topic: String,
    },
    /// The journal's task has panicked: a bug. Its stored records can still be read.
    #[error(
        "topic {topic:?} has stopped after an internal error ({reason}); its records can be read, but appends need a \
         restart of the broker; please report the error"
    )]
    Failed {
        /// The topic.
        topic: String,
        /// Message of the panic.
        reason: String,
    },
    /// Records that the producer has numbered lower are not stored yet.
    #[error(
        "sequence {found} of this producer was appended before {expected}, which comes next; append what is missing, \
         then retry"
    )]
    Gap {
        /// The sequence that comes next.
        expected: u64,
        /// The append's sequence.
        found: u64,
    },
    /// A newer instance of the producer was opened, or has appended.
    #[error("a newer instance of this producer is active, with epoch {current}; this one has epoch {found}: stop it")]
    Fenced {
        /// The newest instance's epoch.
        current: u16,
        /// The append's epoch.
        found: u16,
    },
    /// The producer has a name, and this isn't its newest instance.
    #[error(
        "this producer has no open instance with epoch {found}: a newer one was opened, or its name was forgotten; \
         stop this one. If the producer has no name, choose an id below 2^52 or from 2^53 on"
    )]
    NotOpen {
        /// The append's epoch.
        found: u16,
    },
    /// It belongs to a transaction, but its producer can't have transactions.
    #[error("producer {id} has no transactions; open it with a transactional id, and send the transaction again")]
    NoTransactions {
        /// The producer's id.
        id: u64,
    },
    /// It belongs to no transaction, and its producer has one that writes to the partition.
    #[error(
        "producer {id} has a transaction that writes to this partition, and this append isn't in it; commit or abort \
         the transaction first"
    )]
    InTransaction {
        /// The producer's id.
        id: u64,
    },
    /// One transaction too many writes to this partition, or the transaction to one partition too many.
    #[error("{reason}")]
    Transactions {
        /// Which limit is reached.
        reason: String,
    },
    /// It was stored too long ago: its offsets aren't known any more.
    #[error("sequence {found} of this producer was stored before its last appends; don't send it again")]
    Old {
        /// The append's sequence.
        found: u64,
    },
    /// Its number is stored with other records.
    #[error(
        "sequence {found} of this producer is stored already, with other records: another program uses the producer's \
         id, or the records were sent again in other batches; begin again with another id"
    )]
    Conflict {
        /// The append's sequence.
        found: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AppendError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            AppendError::TooLarge { .. }
            | AppendError::BatchTooLarge { .. }
            | AppendError::Future { .. }
            | AppendError::NoKeys
            | AppendError::TopicDeleted { .. }
            | AppendError::Fenced { .. }
            | AppendError::NotOpen { .. }
            | AppendError::NoTransactions { .. }
            | AppendError::InTransaction { .. }
            | AppendError::Old { .. }
            | AppendError::Conflict { .. } => Kind::FixRequest,
            // The append that is missing may be in flight.
            AppendError::Gap { .. } => Kind::TryAgain,
            AppendError::Busy | AppendError::Closed => Kind::Wait,
            AppendError::Failed { .. } | AppendError::Transactions { .. } => Kind::TellHuman,
            AppendError::Store(error) => error.kind,
        }
    }
}

/// Whether a record of this time is refused: searches by the times of records rely on it.
fn is_future(newest_ms: i64, now_ms: u64) -> bool {
    u64::try_from(newest_ms).is_ok_and(|newest_ms| newest_ms > now_ms + RECORD_AHEAD_MAX.as_millis() as u64)
}

impl Partition {
    /// Appends batches. Returns when the store has confirmed them. They are stored even if the caller stops waiting.
    pub async fn append(&self, received: Received) -> Result<Appended, AppendError> {
        if received.batches.len() > OBJECT_BATCHES_MAX || received.bytes() > self.topic.shared.config.object_bytes_max()
        {
            return Err(AppendError::TooLarge { bytes: received.bytes(), batches: received.batches.len() });
        }
        let now_ms = self.topic.shared.clock.now_us() / 1000;
        if let Some(newest_ms) = received.newest_ms().filter(|&newest_ms| is_future(newest_ms, now_ms)) {
            return Err(AppendError::Future { newest_ms, now_ms });
        }
        let settings = self.settings();
        if received.batches.kind() == BatchKind::Rawline && settings.compaction().is_some() {
            return Err(AppendError::NoKeys);
        }
        if let Some(limit) = settings.batch_bytes_max()
            && let bytes = received.largest_batch_bytes()
            && bytes > limit
        {
            return Err(AppendError::BatchTooLarge { bytes, limit });
        }
        let (records, bytes) = (received.records(), received.bytes());
        match self.journal().append(self.id(), received.producer, received).await {
            Ok(appended) => {
                self.topic.metrics.appended(records, bytes);
                Ok(self.checked(appended, records))
            }
            Err(error) => Err(self.why_not_appended(error).await),
        }
    }

    async fn why_not_appended(&self, error: JournalError) -> AppendError {
        match error {
            JournalError::Closed => self.why_ended().await,
            JournalError::Rejected(Rejected::Partition(_)) => {
                AppendError::TopicDeleted { topic: self.topic.name.clone() }
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
            error => {
                self.topic.metrics.failed();
                let error = StoreError::from(error);
                // One for a human has its reason already.
                let failure = self.failure().filter(|_| error.kind != Kind::TellHuman);
                let failed = |reason| AppendError::Failed { topic: self.log.clone(), reason };
                failure.map_or(AppendError::Store(error), failed)
            }
        }
    }

    /// The offsets that `records` records got, which readers can see.
    fn checked(&self, appended: Appended, records: u64) -> Appended {
        let acknowledged = appended.next_offset - appended.first_offset;
        assert_eq!(acknowledged, records, "{appended:?} for an append of {records} records");
        let visible = self.index().next_offset();
        assert!(appended.next_offset <= visible, "{appended:?} is acknowledged, readers see up to {visible}");
        appended
    }

    /// Why nothing can be appended any more.
    async fn why_ended(&self) -> AppendError {
        match self.journal().ended().await {
            Some(reason) => AppendError::Failed { topic: self.log.clone(), reason },
            None if !self.is_live() => AppendError::TopicDeleted { topic: self.topic.name.clone() },
            None => AppendError::Closed,
        }
    }
}
