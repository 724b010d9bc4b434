//! Control records: changes of topics, which objects record next to appends.

use crate::state::PartitionId;
use std::sync::Arc;
use thiserror::Error;

/// A change of a topic, as an object records it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Control {
    /// A topic is created.
    Create {
        /// Its id. A caller that asks for a new topic leaves it 0.
        topic: u64,
        /// Its name: 1 to [`NAME_BYTES_MAX`](crate::limits::NAME_BYTES_MAX) bytes.
        name: Arc<str>,
        /// Its number of partitions, from 1 to [`PARTITIONS_MAX`](crate::limits::PARTITIONS_MAX).
        partitions: u32,
        /// Its settings, which the rules only keep: at most
        /// [`SETTINGS_BYTES_MAX`](crate::limits::SETTINGS_BYTES_MAX) bytes.
        settings: Arc<[u8]>,
    },
    /// A topic gets other settings, or more partitions.
    Alter {
        /// The topic's id.
        topic: u64,
        /// Its number of partitions, not less than before.
        partitions: u32,
        /// Its settings in place of those before.
        settings: Arc<[u8]>,
    },
    /// A topic and all its records are deleted.
    Delete {
        /// The topic's id.
        topic: u64,
    },
    /// A partition's records below an offset are deleted.
    Trim {
        /// The partition.
        partition: PartitionId,
        /// Offset of the first record that stays; nothing changes if it is not above the partition's.
        first_offset: u64,
    },
}

impl Control {
    /// The id of the topic that changes.
    pub fn topic(&self) -> u64 {
        match self {
            Control::Create { topic, .. } | Control::Alter { topic, .. } | Control::Delete { topic } => *topic,
            Control::Trim { partition, .. } => partition.topic,
        }
    }

    /// Its name and settings; empty if it has none.
    pub(crate) fn texts(&self) -> (&[u8], &[u8]) {
        match self {
            Control::Create { name, settings, .. } => (name.as_bytes(), settings),
            Control::Alter { settings, .. } => (&[], settings),
            Control::Delete { .. } | Control::Trim { .. } => (&[], &[]),
        }
    }
}

/// Why a control record can't be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Refused {
    /// A topic has that name.
    #[error("a topic with this name exists, with the id {topic}; use it, or choose another name")]
    Exists {
        /// The topic's id.
        topic: u64,
    },
    /// No topic has that id.
    #[error("no topic has the id {topic}; it was deleted, or never existed")]
    NoTopic {
        /// The id.
        topic: u64,
    },
    /// The number of partitions is out of range, or less than before.
    #[error("a topic can't have {found} partitions here: between {least} and {most} are possible")]
    Partitions {
        /// The number asked for.
        found: u32,
        /// The minimum: what the topic has.
        least: u32,
        /// The maximum.
        most: u32,
    },
    /// The topic has no partition of that number.
    #[error("the topic has the partitions 0 to {last}; {found} is none of them")]
    NoPartition {
        /// The number asked for.
        found: u32,
        /// The number of the topic's last partition.
        last: u32,
    },
    /// There are no records up to that offset.
    #[error("offset {found} is after the partition's end, {next_offset}; trim at most up to the end")]
    AfterEnd {
        /// The offset asked for.
        found: u64,
        /// The offset that the partition's next record gets.
        next_offset: u64,
    },
    /// An object creates a topic with an id that isn't the next.
    #[error("the next topic gets the id {expected}, not {found}")]
    Id {
        /// The id that comes next.
        expected: u64,
        /// The id found.
        found: u64,
    },
}
