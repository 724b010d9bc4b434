//! The HTTP contract: shapes, names and codes that the broker's server and its clients share.
//!
//! Each part of the contract is written once, here. `docs/http.md` describes the API to its users and `openapi.json` to
//! their tools; tests compare both with this crate.

mod broker;
pub mod code;
mod cursor;
mod duration;
mod group;
pub mod header;
mod media_type;
mod partitions;
pub mod path;
mod record;
mod retention;
pub mod subscription;
mod topic;

pub use broker::{BrokerInfo, BrokerList, BrokerState};
pub use code::Code;
pub use cursor::{CURSOR_BYTES_MAX, Cursor, CursorError, ShortId};
pub use duration::parse_duration;
pub use group::{
    CommitOffset, CommitRequest, GroupInfo, GroupList, GroupOffset, GroupPartition, GroupState, GroupSummary,
    JoinRequest, MemberInfo, MemberPartition, Membership, rebalance_ms, session_ms,
};
pub use media_type::MediaType;
pub use partitions::{PARTITIONS_MAX, Partitions};
pub use rawline_batch::Kind;
pub use record::{JsonRecord, timestamp, timestamp_ms};
pub use retention::Hours;
pub use topic::{CleanupPolicy, Extent, Payload, Settings, TOPICS_PAGE, TOPICS_PAGE_MAX, TopicInfo, TopicList};

use serde::{Deserialize, Serialize};

/// The offsets that an append's records got: `first_offset..next_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// Offset of the first record.
    pub first_offset: u64,
    /// Offset after the last record.
    pub next_offset: u64,
}

/// The extent of a partition after records were deleted from its front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trimmed {
    /// Offset of the first record.
    pub first_offset: u64,
    /// Offset that the next record will get.
    pub next_offset: u64,
}

/// A new instance of a named producer. Its batches carry the id, and its requests the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerInstance {
    /// The same for every instance of the name, until its epochs are used up.
    pub producer_id: u64,
    /// Grows with every instance.
    pub producer_epoch: u16,
}

/// A ticket, which opens subscriptions instead of a key, for a short time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The value of the parameter `ticket`.
    pub ticket: String,
    /// The time until which it opens subscriptions.
    pub expires_in_seconds: u64,
}

/// The response to a search by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetFound {
    /// The first offset at or after the time.
    pub offset: u64,
}

/// The body of every error response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody<'a> {
    /// Stable, for programs: the name of a [`Code`].
    #[serde(borrow)]
    pub code: std::borrow::Cow<'a, str>,
    /// A human-readable message that says what to do. May change.
    #[serde(borrow)]
    pub error: std::borrow::Cow<'a, str>,
}
