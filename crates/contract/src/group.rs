//! Groups of consumers as the API describes them.

use serde::{Deserialize, Serialize};

/// How far the division of a group's partitions among its members is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupState {
    /// It has no members.
    Empty,
    /// Members join, for the first time or again.
    Joining,
    /// The leader divides the partitions.
    Dividing,
    /// Every member has its partitions.
    Stable,
}

impl GroupState {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            GroupState::Empty => "empty",
            GroupState::Joining => "joining",
            GroupState::Dividing => "dividing",
            GroupState::Stable => "stable",
        }
    }
}

/// All groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupList {
    /// By name.
    pub groups: Vec<GroupSummary>,
}

/// A group in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSummary {
    /// Its name.
    pub name: String,
    /// How far the division of its partitions is.
    pub state: GroupState,
    /// Number of members.
    pub members: u64,
    /// In a list with totals: the topics that it has committed offsets in or that its members read, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<String>>,
    /// In a list with totals: the number of records that it hasn't read yet, of all partitions with committed offsets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupInfo {
    /// Its name.
    pub name: String,
    /// How far the division of its partitions is.
    pub state: GroupState,
    /// How the leader divides the partitions, such as `range`; empty without members.
    pub strategy: String,
    /// By id.
    pub members: Vec<MemberInfo>,
    /// Its committed offsets, by topic and partition.
    pub offsets: Vec<GroupOffset>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberInfo {
    /// Its id.
    pub member: String,
    /// The instance under which it returns after a restart, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The name of its program.
    pub client: String,
    /// The address that it connects from.
    pub address: String,
    /// Its partitions.
    pub partitions: Vec<GroupPartition>,
}

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPartition {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: u32,
}

/// A group's offset and lag in a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOffset {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: u32,
    /// Offset of the next record that it wants.
    pub offset: u64,
    /// Offset that the partition's next record will get.
    pub next_offset: u64,
    /// Number of records that it hasn't read yet.
    pub lag: u64,
    /// Metadata committed with the offset.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metadata: String,
}

/// Offsets that a group commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitRequest {
    /// The member that commits; none sets the offsets of a group that has no members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The generation that the member knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// The instance under which the member returns after a restart, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Each is committed by itself.
    pub offsets: Vec<CommitOffset>,
}

/// An offset that a group commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitOffset {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    #[serde(default)]
    pub partition: u32,
    /// Offset of the next record that the group wants.
    pub offset: u64,
    /// Metadata that the consumer stores with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metadata: String,
}

impl CommitOffset {
    /// An offset without metadata.
    pub fn new(topic: impl Into<String>, partition: u32, offset: u64) -> CommitOffset {
        CommitOffset { topic: topic.into(), partition, offset, metadata: String::new() }
    }
}

/// The request of a member that joins a group, for the first time or again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// The topics that it wants to read.
    pub topics: Vec<String>,
    /// Its id, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The instance under which it gets its partitions back after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The name of its program.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// The member is gone after this time without a request, in milliseconds.
    #[serde(default = "session_ms")]
    pub session_ms: u64,
    /// How long the member may take to join again when the partitions are divided anew, in milliseconds.
    #[serde(default = "rebalance_ms")]
    pub rebalance_ms: u64,
}

/// The default of [`JoinRequest::session_ms`].
pub const fn session_ms() -> u64 {
    30_000
}

/// The default of [`JoinRequest::rebalance_ms`].
pub const fn rebalance_ms() -> u64 {
    60_000
}

/// A member's share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The member's id.
    pub member: String,
    /// The number of the division.
    pub generation: u32,
    /// The partitions that the member reads.
    pub partitions: Vec<MemberPartition>,
    /// Of the member that leads the group: a hash of the assigned partitions, for its
    /// heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divided: Option<u64>,
}

/// A partition that a member reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberPartition {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: u32,
    /// The offset that the group has committed, if it has one here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}
