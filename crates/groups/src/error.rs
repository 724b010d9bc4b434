//! Why a member's request is refused.

use rawline_journal::NAME_BYTES_MAX;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why a member's request is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupError {
    /// The group's name can't be one.
    #[error("a group's name has 1 to {NAME_BYTES_MAX} bytes, and this one has {bytes}; use another name")]
    Name {
        /// Size of the name in bytes.
        bytes: usize,
    },
    /// The member has no id yet: here is one.
    #[error("join again with the member id {member}")]
    NeedsId {
        /// The id.
        member: Arc<str>,
    },
    /// No member has this id, or no longer.
    #[error("the group has no such member; join again without a member id")]
    UnknownMember,
    /// Another member has taken the instance over.
    #[error("another member runs as this instance; stop this one")]
    FencedInstance,
    /// The request belongs to an older division.
    #[error("the group is at generation {current}; join again")]
    Generation {
        /// The generation.
        current: u32,
    },
    /// The partitions are being divided anew.
    #[error("the group divides its partitions anew; join again")]
    Rebalancing,
    /// The member knows no way to divide partitions that all others know.
    #[error("the members of the group have no assignment strategy in common; use the strategies of the others")]
    Protocol,
    /// The member knows too many ways to divide partitions.
    #[error("the member has {found} assignment strategies, where {limit} are allowed; use fewer")]
    Protocols {
        /// Their number.
        found: usize,
        /// The maximum.
        limit: usize,
    },
    /// A time outside the limits.
    #[error("a session timeout of {found:?}; it must be between {min:?} and {max:?}")]
    Session {
        /// The member's.
        found: Duration,
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// Too many members.
    #[error("the group has {limit} members, and can't have more")]
    Full {
        /// The maximum.
        limit: usize,
    },
    /// Too many groups.
    #[error("the broker has {limit} groups with members, and can't have more")]
    Groups {
        /// The maximum.
        limit: usize,
    },
    /// All groups together are too large.
    #[error("groups and what their members say take {limit} bytes, and can't take more; try again later")]
    Memory {
        /// The maximum.
        limit: usize,
    },
    /// A group is too large for the journal.
    #[error("what is known of the group's members would take more than {limit} bytes; use several groups")]
    Large {
        /// The maximum.
        limit: usize,
    },
    /// Another broker coordinates the group, or did a moment ago.
    #[error("another broker has changed the group's members; look for the group's coordinator again, and retry")]
    Moved,
    /// The change could not be stored, or it isn't known whether it is.
    #[error("a change of the group's members was not stored: {reason}; retry")]
    NotStored {
        /// Why.
        reason: Arc<str>,
    },
    /// This broker can't read the storage: another may have taken over.
    #[error("this broker can't tell whether another one coordinates the group, since it can't read the storage; retry")]
    Unconfirmed,
    /// A member reads the topic.
    #[error("a member of the group reads the topic; stop it first")]
    Subscribed,
    /// The group has members, which would not expect it.
    #[error("the group has members; stop them first")]
    NotEmpty,
    /// The group's members use the other one of Kafka's protocols for groups.
    #[error(
        "the group's members use the other protocol for groups, \"consumer\" or \"classic\"; set the same \
         group.protocol for all, or stop the others first"
    )]
    OtherProtocol,
    /// A member of a consumer group doesn't know the epoch that it should.
    #[error("the member is at epoch {current} by the group; join again")]
    FencedEpoch {
        /// The member's epoch.
        current: u32,
    },
    /// The same of a commit.
    #[error("the member is at epoch {current}; commit again with that")]
    StaleEpoch {
        /// The member's epoch.
        current: u32,
    },
    /// Another member runs as the instance.
    #[error("another member runs as this instance, and hasn't left; stop it first, or use another group.instance.id")]
    UnreleasedInstance,
    /// A regular expression that can't be used.
    #[error("a regular expression for topics: {reason}")]
    Regex {
        /// Why.
        reason: Arc<str>,
    },
    /// Too many regular expressions.
    #[error("the group's members have {limit} different regular expressions for topics, and can't have more")]
    Regexes {
        /// The maximum.
        limit: usize,
    },
    /// Too many topics for this number of members.
    #[error("the group's topics times its members would be more than {limit}; use several groups")]
    Pairs {
        /// The maximum.
        limit: usize,
    },
}

/// Fails if no group can have this name.
pub fn check_name(group: &str) -> Result<(), GroupError> {
    match group.len() {
        1..=NAME_BYTES_MAX => Ok(()),
        bytes => Err(GroupError::Name { bytes }),
    }
}
