//! Errors of requests. The kind of an error determines what a caller can do.

use rawline_batch::record_batch::{RecordBatchError, RecordError};
use rawline_batch::{BatchError, Kind};
use rawline_contract::code::{PARTITION_NOT_FOUND, PRODUCER_FENCED, kind_of_status};
use std::time::Duration;

/// Errors of requests. Every message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A setting of the client is wrong.
    #[error("{reason}")]
    Config {
        /// The wrong setting, and the reason.
        reason: String,
    },
    /// The connection could not be opened.
    #[error("cannot connect to {broker} ({reason}); is the broker running there? start it with `rawline serve`")]
    Connect {
        /// The broker's address.
        broker: String,
        /// The system's error.
        reason: String,
    },
    /// The TLS handshake failed.
    #[error("no TLS connection to {broker}: {reason}")]
    Tls {
        /// The broker's address.
        broker: String,
        /// The error of TLS, and what to do.
        reason: String,
    },
    /// The connection broke before the response arrived. The request may have been carried out.
    #[error("the connection to {broker} broke ({reason}); check that the broker is still running, then retry")]
    Broken {
        /// The broker's address.
        broker: String,
        /// The error of the connection.
        reason: String,
    },
    /// No response in time. The request may have been carried out.
    #[error(
        "no response from {broker} within {:.1} s; it may be overloaded: retry later or with a longer timeout",
        waited.as_secs_f64()
    )]
    Timeout {
        /// The broker's address.
        broker: String,
        /// The timeout.
        waited: Duration,
    },
    /// The broker responded with an error.
    #[error("{message} (HTTP {status}, {code})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The broker's code for the error, such as `topic_not_found`; without one, the text of the status.
        code: String,
        /// The broker's message.
        message: String,
        /// How long to wait before the next attempt, if the broker said so.
        retry_after: Option<Duration>,
    },
    /// A newer instance of the named producer was opened, or the producer's name was forgotten.
    #[error("{message}; this producer can't append any more, and its appends in flight may be stored")]
    Fenced {
        /// The broker's message.
        message: String,
    },
    /// The response is not a broker's.
    #[error("the response of {broker} is not a broker's ({reason}); is another program listening there?")]
    Answer {
        /// The broker's address.
        broker: String,
        /// The reason.
        reason: String,
    },
    /// The topic has fewer partitions.
    #[error(
        "topic {topic:?} has {partitions} partition(s), numbered from 0, and no partition {partition}; use one of \
         these, or give the topic more partitions"
    )]
    NoPartition {
        /// The topic.
        topic: String,
        /// The requested partition.
        partition: u32,
        /// Number of the topic's partitions.
        partitions: u32,
    },
    /// A batch, received or to be sent, is damaged.
    #[error("bad batch: {0}")]
    Batch(#[from] BatchError),
    /// A Kafka batch is damaged.
    #[error("bad batch: {0}")]
    RecordBatch(#[from] RecordBatchError),
    /// The records of a Kafka batch can't be read or encoded.
    #[error("bad batch: {0}")]
    Records(#[from] RecordError),
    /// The records of a received batch can't be read. The reader's next call continues after them.
    #[error("the records from offset {first_offset} on, before {next_offset}, can't be read: {reason}")]
    Unreadable {
        /// Offset of the first record that can't be read.
        first_offset: u64,
        /// Offset after the batch.
        next_offset: u64,
        /// The error in the batch.
        reason: String,
    },
    /// The producer stopped after an earlier failure. The records in its buffer were not sent.
    #[error("the producer has stopped: {reason}; create a new one and send the records again that have no offset")]
    Stopped {
        /// The failure that stopped it.
        reason: String,
    },
}

impl ClientError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            ClientError::Config { .. }
            | ClientError::NoPartition { .. }
            | ClientError::Fenced { .. }
            | ClientError::Unreadable { .. } => Kind::FixRequest,
            ClientError::Connect { .. } => Kind::Wait,
            ClientError::Broken { .. } | ClientError::Timeout { .. } => Kind::TryAgain,
            ClientError::Refused { status, .. } => kind_of_status(*status),
            // Damage in transit is rare, and unlikely to occur again.
            ClientError::Batch(BatchError::Crc { .. }) => Kind::TryAgain,
            ClientError::Batch(_) => Kind::FixRequest,
            ClientError::RecordBatch(error) => error.kind(),
            ClientError::Records(error) => error.kind(),
            ClientError::Tls { .. } | ClientError::Answer { .. } | ClientError::Stopped { .. } => Kind::TellHuman,
        }
    }

    /// Whether the same request may work later.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// The HTTP status, if the broker responded with an error.
    pub fn status(&self) -> Option<u16> {
        match self {
            ClientError::Refused { status, .. } => Some(*status),
            ClientError::Fenced { .. } => Some(PRODUCER_FENCED.status),
            _ => None,
        }
    }

    /// The broker's code for the error, such as `topic_not_found`, if it responded with one, or would have.
    pub fn code(&self) -> Option<&str> {
        match self {
            ClientError::Refused { code, .. } => Some(code),
            ClientError::NoPartition { .. } => Some(PARTITION_NOT_FOUND.name),
            ClientError::Fenced { .. } => Some(PRODUCER_FENCED.name),
            _ => None,
        }
    }

    /// How long the broker asked to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ClientError::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
