//! The id of a partition.

/// A partition of a topic. A topic's id is never used again, unlike its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    /// The topic's id.
    pub topic: u64,
    /// The partition's number in the topic, from 0.
    pub number: u32,
}
