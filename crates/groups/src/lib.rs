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
mod error;
mod group;
mod keep;
mod limits;
mod member;
mod name_pattern;
mod range;
mod request;
mod stored;
#[cfg(test)]
mod tests;

pub use error::{GroupError, check_name};
pub use group::{Group, Phase};
pub use keep::{Restored, restored};
pub use limits::{CONSUMER_SESSION, GroupLimits};
pub use name_pattern::compile;
pub use range::{RANGE, RangeShare, Wanting, divide_by_range};
pub use request::{Answer, Identity, Join, Joined, Membership, Outcome};

use bytes::Bytes;
use consumer::{ConsumerGroup, Leaving, TopicList};
use limits::EMPTY_GROUPS;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

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
