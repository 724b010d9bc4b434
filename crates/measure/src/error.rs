//! Errors of writing and reading roll-ups.

use rawline_client::{ClientError, Kind};
use thiserror::Error;

/// Errors of writing and reading roll-ups. Every message says what to do.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A setting is wrong.
    #[error("{reason}")]
    Config {
        /// The setting, and its valid values.
        reason: String,
    },
    /// Reading from the broker failed.
    #[error(transparent)]
    Broker(#[from] ClientError),
    /// A message has an unknown schema, and reading new schemas failed. The message is not lost: the next run continues
    /// with it.
    #[error(
        "a message of topic {topic} between offsets {first_offset} and {end_offset} has an unknown schema, and new \
         schemas could not be read ({reason}); fix this and restart; the next run continues at the last commit"
    )]
    Schemas {
        /// The topic.
        topic: String,
        /// Offset of the first record of the read that contains the message.
        first_offset: u64,
        /// Offset after the last record of the read.
        end_offset: u64,
        /// The reason why schemas could not be read.
        reason: String,
    },
    /// The store failed.
    #[error("{reason}")]
    Store {
        /// How the caller can handle it.
        kind: Kind,
        /// The failed operation and its object.
        reason: String,
    },
    /// Nearly all records are bad, and no earlier record was a measurement. Nothing was committed.
    #[error(
        "{bad} of {records} records of topic {topic} are not measurements, and nothing was committed; the first of \
         them, at offset {offset}: {field}: {reason}; check how records are framed and which schema wrote them"
    )]
    NotMeasurements {
        /// The topic.
        topic: String,
        /// Records that would have been committed.
        records: u64,
        /// Number of bad records among them.
        bad: u64,
        /// Offset of the first bad record.
        offset: u64,
        /// The field that can't be read.
        field: String,
        /// The reason.
        reason: String,
    },
    /// Another process rolls up the same topic and committed first. That process also commits what this one has not.
    #[error(
        "another process has rolled up topic {topic} from offset {offset}; run one process per topic, and restart \
         this one only after the other has ended"
    )]
    Raced {
        /// The topic.
        topic: String,
        /// First offset of the commit that failed.
        offset: u64,
    },
    /// The topic is not the one that was rolled up before.
    #[error(
        "topic {topic} ends at offset {next_offset}, but its roll-ups end at {end_offset}: another topic has the \
         same name; delete {folder} to roll it up again"
    )]
    OtherTopic {
        /// The topic.
        topic: String,
        /// Offset of its next record.
        next_offset: u64,
        /// Offset after the last commit.
        end_offset: u64,
        /// Folder of its roll-ups.
        folder: String,
    },
    /// An object in the store is damaged.
    #[error("{path} is damaged: {reason}; restore it from a copy, or delete {folder} to roll up the topic again")]
    Damaged {
        /// The object.
        path: String,
        /// The reason.
        reason: String,
        /// Folder of the topic's roll-ups.
        folder: String,
    },
    /// A newer version of Rawline wrote the roll-ups.
    #[error("{path} has version {found} of the layout, this Rawline reads up to {known}; use a newer Rawline")]
    Version {
        /// The object.
        path: String,
        /// Its version.
        found: u32,
        /// The greatest supported version.
        known: u32,
    },
    /// A thread of the roll-up ended early because of a bug or shutdown.
    #[error("a thread of the roll-up ended early ({reason}); restart, the next run continues at the last commit")]
    BrokeOff {
        /// The thread's error.
        reason: String,
    },
}

impl MeasureError {
    /// How the caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            MeasureError::Config { .. } | MeasureError::NotMeasurements { .. } => Kind::FixRequest,
            MeasureError::Broker(error) => error.kind(),
            MeasureError::Store { kind, .. } => *kind,
            MeasureError::BrokeOff { .. } | MeasureError::Schemas { .. } => Kind::TryAgain,
            MeasureError::Raced { .. }
            | MeasureError::OtherTopic { .. }
            | MeasureError::Damaged { .. }
            | MeasureError::Version { .. } => Kind::TellHuman,
        }
    }
}
