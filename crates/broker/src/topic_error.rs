//! Why a topic isn't available, and the rules of its name.

use crate::journal::JournalError;
use crate::limits::TOPIC_NAME_BYTES_MAX;
use crate::store_error::StoreError;
use rawline_batch::Kind;
use thiserror::Error;

/// Topics that Kafka keeps for itself. Here groups and transactions are in no topic, and tools would take one of these
/// names for Kafka's.
const RESERVED_NAMES: [&str; 4] =
    ["__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"];

/// Why a topic isn't available.
#[derive(Debug, Clone, Error)]
pub enum TopicError {
    /// The name breaks the rules.
    #[error(
        "{name:?} can't be a topic's name: use 1 to {TOPIC_NAME_BYTES_MAX} letters, digits, '.', '_' and '-', not \
         beginning with '.'"
    )]
    Name {
        /// The name asked for.
        name: String,
    },
    /// A new topic can't have the name.
    #[error(
        "{name:?} is the name of a topic that Kafka keeps for itself, where tools expect groups or transactions; use \
         another name"
    )]
    Reserved {
        /// The name asked for.
        name: String,
    },
    /// No topic has that name, and it wasn't to be created.
    #[error("topic {name:?} does not exist; appending to it creates it, if the broker is configured to create topics")]
    NotFound {
        /// The name asked for.
        name: String,
    },
    /// The topic has fewer partitions.
    #[error(
        "topic {name:?} has {partitions} partition(s), numbered from 0, and no partition {number}; use one of these, \
         or give the topic more partitions"
    )]
    NoPartition {
        /// The topic's name.
        name: String,
        /// The number asked for.
        number: u64,
        /// Number of the topic's partitions.
        partitions: u32,
    },
    /// The topic has more partitions already.
    #[error(
        "topic {name:?} has {partitions} partitions, and can't have {wanted}: their number can only grow; keep it, or \
         create another topic"
    )]
    FewerPartitions {
        /// The topic's name.
        name: String,
        /// Number of the topic's partitions.
        partitions: u32,
        /// The number asked for.
        wanted: u32,
    },
    /// A topic of that name was to be created, and one exists.
    #[error("topic {name:?} exists already; use another name, or change the topic's settings")]
    Exists {
        /// The name asked for.
        name: String,
    },
    /// The broker has its maximum number of topics, or of partitions.
    #[error("this broker can't have more than {limit} {what}; use fewer")]
    TooMany {
        /// Topics or partitions.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TopicError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            TopicError::Name { .. }
            | TopicError::Reserved { .. }
            | TopicError::NotFound { .. }
            | TopicError::NoPartition { .. }
            | TopicError::FewerPartitions { .. }
            | TopicError::Exists { .. } => Kind::FixRequest,
            TopicError::TooMany { .. } => Kind::TellHuman,
            TopicError::Store(error) => error.kind,
        }
    }
}

/// Of a journal that doesn't say what is wrong with the topic.
impl From<JournalError> for TopicError {
    fn from(error: JournalError) -> TopicError {
        TopicError::Store(error.into())
    }
}

/// Checks the number of a partition, of this many.
pub(crate) fn check_partition(topic: &str, number: u64, partitions: u32) -> Result<u32, TopicError> {
    let found = u32::try_from(number).ok().filter(|number| *number < partitions);
    found.ok_or_else(|| TopicError::NoPartition { name: topic.to_owned(), number, partitions })
}

/// Checks a topic's name: it becomes a file's name and a part of an S3 key.
pub fn check_name(name: &str) -> Result<(), TopicError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let valid =
        !name.is_empty() && name.len() <= TOPIC_NAME_BYTES_MAX && !name.starts_with('.') && name.bytes().all(plain);
    if valid { Ok(()) } else { Err(TopicError::Name { name: name.chars().take(TOPIC_NAME_BYTES_MAX).collect() }) }
}

/// Checks the name of a topic that is to be created. [`check_name`] is for those that may exist.
pub fn check_new_name(name: &str) -> Result<(), TopicError> {
    check_name(name)?;
    if RESERVED_NAMES.contains(&name) { Err(TopicError::Reserved { name: name.to_owned() }) } else { Ok(()) }
}
