//! Groups of consumers that share the partitions of topics: who is a member, and when the partitions are divided anew.
//!
//! A state machine without I/O or clock: the driver reports what members send ([`Groups::join`] and so on) and that
//! time has passed ([`Groups::tick`]), and gets the answers. Time is a [`Duration`] since some moment of the driver's
//! choice.
//!
//! The broker doesn't divide the partitions. One member, the leader, does, from what every member says about itself,
//! which the broker doesn't look into. Each division has a generation:
//!
//! ```text
//!            join               all have joined, or their time is over      the leader's assignments
//! empty ───────────► joining ──────────────────────────────────► syncing ───────────────────────────► stable
//!   ▲                 ▲  │                                           │                                    │
//!   └── none is left ─┼──┘                                           │                                    │
//!                     └── a member joins, leaves, is gone, or has changed ────────────────────────────────┘
//! ```

mod division;
mod group;
mod member;
#[cfg(test)]
mod tests;

pub use group::Phase;
pub use member::Identity;

use bytes::Bytes;
pub use group::Group;
use rawline_journal::NAME_BYTES_MAX;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

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
    /// The shortest time after which a silent member may be taken for gone.
    pub session_min: Duration,
    /// The longest.
    pub session_max: Duration,
    /// How long the first members of a group wait for others.
    pub first_wait: Duration,
}

impl Default for GroupLimits {
    /// Sessions as in Kafka, whose first wait is 3 s: a group of one waits for nobody.
    fn default() -> Self {
        GroupLimits {
            groups_max: 10_000,
            members_max: 4_096,
            protocols_max: 16,
            bytes_max: 16 << 20,
            session_min: Duration::from_secs(6),
            session_max: Duration::from_secs(30 * 60),
            first_wait: Duration::from_millis(500),
        }
    }
}

/// What a member sends to join, for the first time or again.
#[derive(Debug, Clone)]
pub struct Join {
    /// The id that the member was given; empty if it has none yet.
    pub member: Arc<str>,
    /// The name under which it comes back after a restart, if it has one.
    pub instance: Option<Arc<str>>,
    /// How others see it.
    pub identity: Identity,
    /// After this time without a sign it is gone.
    pub session: Duration,
    /// How long it may take to join again.
    pub rebalance: Duration,
    /// What kind of group it takes this for.
    pub protocol_type: Arc<str>,
    /// Ways to divide the partitions that it knows, the preferred first, and for each what it says about itself.
    pub protocols: Vec<(Arc<str>, Bytes)>,
    /// Whether a member without an id first gets one and then joins with it, so that requests that are lost leave no
    /// member.
    pub needs_id: bool,
}

/// About what a member takes in memory, without what it says.
const MEMBER_BYTES: usize = 512;

impl Join {
    /// About what it takes in memory.
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
    /// What kind of group it is.
    pub protocol_type: Arc<str>,
    /// The way in which the leader divides the partitions.
    pub protocol: Arc<str>,
    /// The leader's id.
    pub leader: Arc<str>,
    /// The member's id.
    pub member: Arc<str>,
    /// For the leader: all members, with their instances and what they say about themselves. Empty for others.
    pub members: Vec<(Arc<str>, Option<Arc<str>>, Bytes)>,
    /// Whether the leader need not divide anything: the division of this generation is known.
    pub is_divided: bool,
}

/// What is answered to a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// To a join.
    Joined(Joined),
    /// To a sync: what the leader has assigned to the member.
    Synced {
        /// What kind of group it is.
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
    /// The group has members, which would not expect it.
    #[error("the group has members; stop them first")]
    NotEmpty,
}

/// All groups that have had a member in this run of the broker.
pub struct Groups<T> {
    limits: GroupLimits,
    by_name: BTreeMap<Arc<str>, Group<T>>,
}

impl<T: Copy> Groups<T> {
    /// No groups.
    pub fn new(limits: GroupLimits) -> Groups<T> {
        Groups { limits, by_name: BTreeMap::new() }
    }

    /// Size of all groups in memory.
    fn bytes(&self) -> usize {
        self.by_name.values().map(Group::bytes).sum()
    }

    /// A member joins. `new_id` is the id that it gets if it has none.
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
        if !self.by_name.contains_key(group) {
            if !join.member.is_empty() {
                return refuse(GroupError::UnknownMember);
            }
            self.by_name.retain(|_, group| !group.is_empty());
            if self.by_name.len() >= self.limits.groups_max {
                return refuse(GroupError::Groups { limit: self.limits.groups_max });
            }
        }
        let mut answers = Vec::new();
        let found = self.by_name.entry(group.clone()).or_default();
        if let Err(error) = found.join(ticket, join, new_id, &self.limits, now, &mut answers) {
            answers.push(Answer { ticket, outcome: Outcome::Refused(error) });
        }
        answers
    }

    /// A member asks for its share. The leader sends those of all members.
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
            None => Err(GroupError::UnknownMember),
        };
        (left, answers)
    }

    /// Whether a member of this generation may commit offsets. One that is no member may do so while the group has
    /// none.
    pub fn may_commit(&mut self, group: &str, sync: Option<&Membership>, now: Duration) -> Result<(), GroupError> {
        match (self.by_name.get_mut(group), sync) {
            (Some(found), Some(sync)) => found.may_commit(sync, now),
            (Some(found), None) if !found.is_empty() => Err(GroupError::UnknownMember),
            (_, None) => Ok(()),
            (None, Some(_)) => Err(GroupError::UnknownMember),
        }
    }

    /// Whether the group has no members, so that its offsets can be deleted.
    pub fn check_empty(&self, group: &str) -> Result<(), GroupError> {
        match self.by_name.get(group) {
            Some(found) if !found.is_empty() => Err(GroupError::NotEmpty),
            _ => Ok(()),
        }
    }

    /// What has happened because of the time.
    pub fn tick(&mut self, now: Duration) -> Vec<Answer<T>> {
        let mut answers = Vec::new();
        for group in self.by_name.values_mut() {
            if group.due_at().is_some_and(|due_at| due_at <= now) {
                group.tick(&self.limits, now, &mut answers);
            }
        }
        answers
    }

    /// When [`Groups::tick`] has something to do.
    pub fn due_at(&self) -> Option<Duration> {
        self.by_name.values().filter_map(Group::due_at).min()
    }

    /// A group that has members.
    pub fn get(&self, group: &str) -> Option<&Group<T>> {
        self.by_name.get(group).filter(|group| !group.is_empty())
    }

    /// The groups that have members, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Group<T>)> {
        self.by_name.iter().filter(|(_, group)| !group.is_empty())
    }
}

/// Fails if no group can have this name.
pub(crate) fn check_name(group: &str) -> Result<(), GroupError> {
    match group.len() {
        1..=NAME_BYTES_MAX => Ok(()),
        bytes => Err(GroupError::Name { bytes }),
    }
}

/// Who sends something, and of which division it knows.
#[derive(Debug, Clone)]
pub struct Membership {
    /// The member's id.
    pub member: Arc<str>,
    /// Its instance.
    pub instance: Option<Arc<str>>,
    /// The division.
    pub generation: u32,
}
