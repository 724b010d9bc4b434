//! How rolling up and asking fail, and what to do about it.

use rawline_client::{ClientError, Kind};
use thiserror::Error;

/// Why roll-ups could not be made or read. Every message says what to do.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A setting is wrong.
    #[error("{reason}")]
    Config {
        /// Which, and what it should be.
        reason: String,
    },
    /// The broker could not be read from.
    #[error(transparent)]
    Broker(#[from] ClientError),
    /// A message has a schema that is not known, and those that have come since could not be read. The message is not
    /// lost: it will be the next one to be rolled up.
    #[error(
        "a message of topic {topic} between offsets {first_offset} and {end_offset} has an unknown schema, and new \
         schemas could not be read ({reason}); repair that and start again, it goes on at its last commit"
    )]
    Schemas {
        /// The topic.
        topic: String,
        /// Offset of the first record that was decoded together with the message.
        first_offset: u64,
        /// Offset behind the last one.
        end_offset: u64,
        /// Why they could not be read.
        reason: String,
    },
    /// The store failed.
    #[error("{reason}")]
    Store {
        /// What a caller can do.
        kind: Kind,
        /// What happened to which object.
        reason: String,
    },
    /// Nearly no record could be read as a measurement, and none was before. Nothing was committed.
    #[error(
        "{bad} of {records} records of topic {topic} are not measurements, and nothing was committed; the first of them, \
         at offset {offset}: {field}: {reason}; check how records are framed and which schema wrote them"
    )]
    NotMeasurements {
        /// The topic.
        topic: String,
        /// Records that would have been committed.
        records: u64,
        /// How many of them could not be read.
        bad: u64,
        /// Offset of the first one that could not be read.
        offset: u64,
        /// Its field that could not be read.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody else rolls up the same topic and was faster. What this one had not committed is theirs to commit.
    #[error(
        "the records of topic {topic} from offset {offset} on were rolled up by another process meanwhile; let one \
         process do it, and start this one again only when the other has ended"
    )]
    Raced {
        /// The topic.
        topic: String,
        /// Where this process wanted to commit.
        offset: u64,
    },
    /// The topic's records are not those that were rolled up.
    #[error(
        "topic {topic} ends at offset {next_offset}, but it was rolled up as far as {end_offset}: it is another topic \
         of the same name; delete {folder} to roll it up anew"
    )]
    OtherTopic {
        /// The topic.
        topic: String,
        /// Offset of its next record.
        next_offset: u64,
        /// Where the last commit ends.
        end_offset: u64,
        /// Where its roll-ups lie.
        folder: String,
    },
    /// An object in the store is not what was written.
    #[error("{path} is damaged: {reason}; restore it from a copy, or delete {folder} to roll the topic up anew")]
    Damaged {
        /// The object.
        path: String,
        /// What is wrong with it.
        reason: String,
        /// Where the topic's roll-ups lie.
        folder: String,
    },
    /// A newer version of Rawline wrote the roll-ups.
    #[error("{path} was written in version {found} of the layout, this is {known}: use a newer Rawline")]
    Version {
        /// The object.
        path: String,
        /// Its version.
        found: u32,
        /// The greatest that can be read here.
        known: u32,
    },
    /// A thread of the roll-up ended without an answer: a bug, or the process is ending.
    #[error("a part of the roll-up ended early ({reason}); start it again, it goes on at its last commit")]
    BrokeOff {
        /// What the thread said.
        reason: String,
    },
}

impl MeasureError {
    /// What a caller can do.
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
