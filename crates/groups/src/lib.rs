//! Groups of consumers that share the partitions of topics: their members and rebalances. Kafka's classic groups are
//! here; groups in which the broker assigns the partitions are in [`consumer`].
//!
//! A state machine without I/O or clock: the driver reports what members send ([`Groups::join`] and so on) and that
//! time has passed ([`Groups::tick`]), and gets the answers. Time is a [`Duration`] since some moment of the driver's
//! choice.
//!
//! The broker doesn't assign the partitions. One member, the leader, does, from the metadata of every member,
//! which the broker doesn't look into. Each division has a generation:
//!
//! ```text
//!            join               all have joined, or their time is over      the leader's assignments
//! empty ───────────► joining ──────────────────────────────────► syncing ───────────────────────────► stable
//!   ▲                 ▲  │                                           │                                    │
//!   └── none is left ─┼──┘                                           │                                    │
//!                     └── a member joins, leaves, is gone, or has changed ────────────────────────────────┘
//! ```

pub mod consumer;
mod division;
mod group;
mod keep;
mod member;
mod name_pattern;
mod range;
mod stored;
#[cfg(test)]
mod tests;

pub use group::Phase;
pub use keep::{Restored, restored};
pub use member::Identity;
pub use name_pattern::compile;

use bytes::Bytes;
use consumer::{ConsumerGroup, Leaving, TopicList};
pub use group::Group;
pub use range::{RANGE, RangeShare, Wanting, divide_by_range};
use rawline_journal::{GROUP_STATE_BYTES_MAX, NAME_BYTES_MAX};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// The default session timeout of members of a consumer group, as in Kafka.
pub const CONSUMER_SESSION: Duration = Duration::from_secs(45);

/// Groups without members of which it is known what their members took them for, at least.
const EMPTY_GROUPS: usize = 1_000;

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

/// The request of a member that joins, for the first time or again.
#[derive(Debug, Clone)]
pub struct Join {
    /// The member's id; empty if it has none yet.
    pub member: Arc<str>,
    /// The instance under which it returns after a restart, if it has one.
    pub instance: Option<Arc<str>>,
    /// How others see it.
    pub identity: Identity,
    /// After this time without a sign it is gone.
    pub session: Duration,
    /// How long it may take to join again.
    pub rebalance: Duration,
    /// The protocol type that it expects.
    pub protocol_type: Arc<str>,
    /// The strategies that it supports, the preferred first, each with the member's metadata.
    pub protocols: Vec<(Arc<str>, Bytes)>,
    /// Whether a member without an id first gets one and then joins with it, so that requests that are lost leave no
    /// member.
    pub needs_id: bool,
}

/// Approximate memory of a member, without its metadata.
const MEMBER_BYTES: usize = 512;

/// Maximum size of a member in the journal in bytes, without its metadata, its client's and its instance's
/// name: a member's id of 140 bytes, an address, and numbers.
const MEMBER_STORED_BYTES: usize = 256;

impl Join {
    /// Its approximate memory.
    fn bytes(&self) -> usize {
        let protocols = self.protocols.iter().map(|(name, says)| name.len() + says.len() + 64).sum::<usize>();
        let names = self.member.len() + self.instance.as_ref().map_or(0, |instance| instance.len());
        MEMBER_BYTES + names + self.identity.client.len() + self.protocol_type.len() + protocols
    }
}

/// A member has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Number of the division.
    pub generation: u32,
    /// The group's protocol type.
    pub protocol_type: Arc<str>,
    /// The way in which the leader divides the partitions.
    pub protocol: Arc<str>,
    /// The leader's id.
    pub leader: Arc<str>,
    /// The member's id.
    pub member: Arc<str>,
    /// For the leader: all members, with their instances and metadata. Empty for others.
    pub members: Vec<(Arc<str>, Option<Arc<str>>, Bytes)>,
    /// Whether the leader need not divide anything: the division of this generation is known.
    pub is_divided: bool,
}

/// A response to a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// To a join.
    Joined(Joined),
    /// To a sync: the member's assignment.
    Synced {
        /// The group's protocol type.
        protocol_type: Arc<str>,
        /// The way in which the leader has divided the partitions.
        protocol: Arc<str>,
        /// The member's share, in the form that its clients have agreed on.
        assignment: Bytes,
    },
    /// To anything.
    Refused(GroupError),
}

/// An answer to the request with this ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// The request's.
    pub ticket: T,
    /// The answer.
    pub outcome: Outcome,
}

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

/// The requested groups.
pub struct Groups<T> {
    limits: GroupLimits,
    by_name: BTreeMap<Arc<str>, Group<T>>,
    /// Those in which the broker divides the partitions. A group that has members is in one of the two.
    consumer: BTreeMap<Arc<str>, ConsumerGroup>,
    topics: TopicList,
    /// Those whose time stands still, and since when.
    held: BTreeMap<Arc<str>, Duration>,
}

impl<T: Copy> Groups<T> {
    /// No groups.
    pub fn new(limits: GroupLimits) -> Groups<T> {
        Groups {
            limits,
            by_name: BTreeMap::new(),
            consumer: BTreeMap::new(),
            topics: TopicList::default(),
            held: BTreeMap::new(),
        }
    }

    /// Size of all groups in memory.
    fn bytes(&self) -> usize {
        let consumer: usize = self.consumer.values().map(ConsumerGroup::bytes).sum();
        self.by_name.values().map(Group::bytes).sum::<usize>() + consumer
    }

    /// Makes room for another group, if that is possible.
    fn make_room(&mut self) -> Result<(), GroupError> {
        if self.by_name.len() + self.consumer.len() >= EMPTY_GROUPS.min(self.limits.groups_max) {
            let held = &self.held;
            self.by_name.retain(|name, group| !group.is_empty() || held.contains_key(name));
            self.consumer.retain(|name, group| !group.is_empty() || held.contains_key(name));
        }
        let limit = self.limits.groups_max;
        if self.by_name.len() + self.consumer.len() >= limit { Err(GroupError::Groups { limit }) } else { Ok(()) }
    }

    /// A member joins. `new_id` is its id if it has none.
    pub fn join(
        &mut self,
        group: &Arc<str>,
        ticket: T,
        join: Join,
        new_id: impl FnOnce() -> Arc<str>,
        now: Duration,
    ) -> Vec<Answer<T>> {
        let refuse = |error| vec![Answer { ticket, outcome: Outcome::Refused(error) }];
        let (min, max) = (self.limits.session_min, self.limits.session_max);
        if !(min..=max).contains(&join.session) {
            return refuse(GroupError::Session { found: join.session, min, max });
        }
        if let Err(error) = check_name(group) {
            return refuse(error);
        }
        let (found, limit) = (join.protocols.len(), self.limits.protocols_max);
        if found > limit {
            return refuse(GroupError::Protocols { found, limit });
        }
        if self.bytes() + join.bytes() > self.limits.bytes_max {
            return refuse(GroupError::Memory { limit: self.limits.bytes_max });
        }
        if self.consumer.get(group).is_some_and(|consumer| !consumer.is_empty()) {
            return refuse(GroupError::OtherProtocol);
        }
        if !self.by_name.contains_key(group) {
            if !join.member.is_empty() {
                return refuse(GroupError::UnknownMember);
            }
            if !self.consumer.contains_key(group)
                && let Err(error) = self.make_room()
            {
                return refuse(error);
            }
        }
        let before = self.consumer.remove(group).map(|found| (found.epochs().0, found.revision()));
        let mut answers = Vec::new();
        let (epoch, revision) = before.unwrap_or_default();
        let found = self.by_name.entry(group.clone()).or_insert_with(|| Group::after(epoch, revision));
        if found.stored_bytes() + join.bytes() > self.limits.stored_bytes_max {
            let refused = Outcome::Refused(GroupError::Large { limit: self.limits.stored_bytes_max });
            return vec![Answer { ticket, outcome: refused }];
        }
        if let Err(error) = found.join(ticket, join, new_id, &self.limits, now, &mut answers) {
            answers.push(Answer { ticket, outcome: Outcome::Refused(error) });
        }
        answers
    }

    /// A member requests its share. The leader sends the shares of all members.
    pub fn sync(
        &mut self,
        group: &str,
        ticket: T,
        sync: &Membership,
        assignments: Vec<(Arc<str>, Bytes)>,
        now: Duration,
    ) -> Vec<Answer<T>> {
        let mut answers = Vec::new();
        let bytes: usize = assignments.iter().map(|(_, assignment)| assignment.len()).sum();
        if bytes > 0 && self.bytes() + bytes > self.limits.bytes_max {
            let refused = Outcome::Refused(GroupError::Memory { limit: self.limits.bytes_max });
            return vec![Answer { ticket, outcome: refused }];
        }
        let limit = self.limits.stored_bytes_max;
        if bytes > 0 && self.by_name.get(group).is_some_and(|found| found.stored_bytes() + bytes > limit) {
            return vec![Answer { ticket, outcome: Outcome::Refused(GroupError::Large { limit }) }];
        }
        let synced = match self.by_name.get_mut(group) {
            Some(found) => found.sync(ticket, sync, assignments, now, &mut answers),
            None => Err(GroupError::UnknownMember),
        };
        if let Err(error) = synced {
            answers.push(Answer { ticket, outcome: Outcome::Refused(error) });
        }
        answers
    }

    /// A member gives a sign.
    pub fn heartbeat(&mut self, group: &str, sync: &Membership, now: Duration) -> Result<(), GroupError> {
        self.by_name.get_mut(group).ok_or(GroupError::UnknownMember)?.heartbeat(sync, now)
    }

    /// A member leaves: by its id, or by its instance if the id is empty.
    pub fn leave(
        &mut self,
        group: &str,
        member: &str,
        instance: Option<&str>,
        now: Duration,
    ) -> (Result<(), GroupError>, Vec<Answer<T>>) {
        let mut answers = Vec::new();
        let left = match self.by_name.get_mut(group) {
            Some(found) => found.leave(member, instance, &self.limits, now, &mut answers),
            None => self.leave_consumers(group, member, instance, Leaving::ForGood),
        };
        (left, answers)
    }

    /// Whether a member of this generation may commit offsets. A client that isn't a member may do so while the group
    /// has none.
    pub fn may_commit(&mut self, group: &str, sync: Option<&Membership>, now: Duration) -> Result<(), GroupError> {
        if let Some(found) = self.consumer.get(group).filter(|found| !found.is_empty()) {
            let sync = sync.ok_or(GroupError::UnknownMember)?;
            return found.may_commit(&sync.member, sync.generation);
        }
        match (self.by_name.get_mut(group), sync) {
            (Some(found), Some(sync)) => found.may_commit(sync, now),
            (Some(found), None) if !found.is_empty() => Err(GroupError::UnknownMember),
            (_, None) => Ok(()),
            (None, Some(_)) => Err(GroupError::UnknownMember),
        }
    }

    /// Whether the group has no members, so that its offsets can be deleted.
    pub fn check_empty(&self, group: &str) -> Result<(), GroupError> {
        let is_empty = self.by_name.get(group).is_none_or(Group::is_empty)
            && self.consumer.get(group).is_none_or(ConsumerGroup::is_empty);
        if is_empty { Ok(()) } else { Err(GroupError::NotEmpty) }
    }

    /// The events that are due by now.
    #[cfg(test)]
    pub fn tick(&mut self, now: Duration) -> Vec<Answer<T>> {
        self.due(now).iter().flat_map(|group| self.tick_group(group, now)).collect()
    }

    /// The groups for which [`Groups::tick_group`] has something to do.
    pub fn due(&self, now: Duration) -> BTreeSet<Arc<str>> {
        let is_due = |due_at: Option<Duration>| due_at.is_some_and(|due_at| due_at <= now);
        let classic = self.by_name.iter().filter(|(_, group)| is_due(group.due_at())).map(|(name, _)| name);
        let consumer = self.consumer.iter().filter(|(_, group)| is_due(group.due_at())).map(|(name, _)| name);
        classic.chain(consumer).filter(|name| !self.held.contains_key(*name)).cloned().collect()
    }

    /// The events of one group that are due by now.
    pub fn tick_group(&mut self, group: &str, now: Duration) -> Vec<Answer<T>> {
        let mut answers = Vec::new();
        if let Some(found) = self.by_name.get_mut(group) {
            found.tick(&self.limits, now, &mut answers);
        }
        if let Some(found) = self.consumer.get_mut(group) {
            found.tick(now);
        }
        answers
    }

    /// When [`Groups::tick`] is due.
    pub fn due_at(&self) -> Option<Duration> {
        let runs = |name: &Arc<str>| !self.held.contains_key(name);
        let classic = self.by_name.iter().filter(|(name, _)| runs(name)).filter_map(|(_, group)| group.due_at());
        let consumer = self.consumer.iter().filter(|(name, _)| runs(name)).filter_map(|(_, group)| group.due_at());
        classic.chain(consumer).min()
    }

    /// A classic group, with or without members.
    pub fn get(&self, group: &str) -> Option<&Group<T>> {
        self.by_name.get(group)
    }

    /// The classic groups, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Group<T>)> {
        self.by_name.iter()
    }
}

/// Fails if no group can have this name.
pub fn check_name(group: &str) -> Result<(), GroupError> {
    match group.len() {
        1..=NAME_BYTES_MAX => Ok(()),
        bytes => Err(GroupError::Name { bytes }),
    }
}

/// The sender of a request, and the generation that it knows.
#[derive(Debug, Clone)]
pub struct Membership {
    /// The member's id.
    pub member: Arc<str>,
    /// Its instance.
    pub instance: Option<Arc<str>>,
    /// The division.
    pub generation: u32,
}
