//! Limits of groups, and of their members' memory.

use rawline_journal::GROUP_STATE_BYTES_MAX;
use std::time::Duration;

/// The default session timeout of members of a consumer group, as in Kafka.
pub const CONSUMER_SESSION: Duration = Duration::from_secs(45);

/// Groups without members of which it is known what their members took them for, at least.
pub(crate) const EMPTY_GROUPS: usize = 1_000;

/// Limits of groups.
#[derive(Debug, Clone, Copy)]
pub struct GroupLimits {
    /// Maximum number of groups that have members.
    pub groups_max: usize,
    /// Maximum number of members of a group.
    pub members_max: usize,
    /// Maximum number of ways to divide the partitions that a member may know.
    pub protocols_max: usize,
    /// Maximum size of all groups in memory in bytes.
    pub bytes_max: usize,
    /// Maximum size of a group's state in the journal in bytes.
    pub stored_bytes_max: usize,
    /// The shortest time after which a silent member may be taken for gone.
    pub session_min: Duration,
    /// The longest.
    pub session_max: Duration,
    /// How long the first members of a group wait for others.
    pub first_wait: Duration,
    /// The time after which a silent member of a consumer group is gone.
    pub consumer_session: Duration,
    /// How often members of consumer groups give signs.
    pub consumer_heartbeat: Duration,
    /// Maximum number of regular expressions for topics in a group: the name of each topic is compared with all.
    pub regexes_max: usize,
    /// Maximum number of pairs of a member of a consumer group and a topic that any member wants: a division looks at
    /// each.
    pub pairs_max: usize,
}

impl GroupLimits {
    /// The defaults, but for the time after which a silent member of a consumer group is gone. It gives a sign 15 times
    /// in it, in Kafka 9 times: how soon partitions move depends on how often members ask.
    pub fn with_session(session: Duration) -> Self {
        GroupLimits { consumer_session: session, consumer_heartbeat: session / 15, ..GroupLimits::default() }
    }
}

impl Default for GroupLimits {
    /// Sessions as in Kafka, whose first wait is 3 s: a group of one doesn't wait.
    fn default() -> Self {
        GroupLimits {
            groups_max: 10_000,
            members_max: 4_096,
            protocols_max: 16,
            bytes_max: 16 << 20,
            stored_bytes_max: GROUP_STATE_BYTES_MAX,
            session_min: Duration::from_secs(6),
            session_max: Duration::from_secs(30 * 60),
            first_wait: Duration::from_millis(500),
            consumer_session: CONSUMER_SESSION,
            consumer_heartbeat: CONSUMER_SESSION / 15,
            regexes_max: 16,
            pairs_max: 1 << 22,
        }
    }
}

/// Approximate memory of a member, without its metadata.
pub(crate) const MEMBER_BYTES: usize = 512;

/// Maximum size of a member in the journal in bytes, without its metadata, its client's and its instance's
/// name: a member's id of 140 bytes, an address, and numbers.
pub(crate) const MEMBER_STORED_BYTES: usize = 256;
