//! Consumer groups, in Kafka's sense (KIP-848): the broker divides the partitions, and each member moves towards its
//! share with its heartbeats, without waiting for the others.
//!
//! A group's epoch grows when members come or go, or want other topics, or when these change. Each epoch has one
//! division. A member moves to it in steps, and has the epoch once it has given up the partitions of others:
//!
//! ```text
//!             must give partitions up         it says that it has, and others have what it is to get
//!   stable ───────────────────────► revoking ──────────────────────────────────────────► waiting
//!     ▲                              │                                                     │
//!     └── nothing is missing ────────┴──────────── others have given it up ────────────────┘
//! ```
//!
//! A partition is in the share of one member at a time: it is given to another only after its member has said that it
//! doesn't read it any more, or is gone.

mod assignor;
mod group;
mod heartbeat;
mod member;
mod partitions;
#[cfg(test)]
mod tests;
mod visible;
mod wanted;

pub use assignor::Assignor;
pub use group::{ConsumerGroup, ConsumerPhase};
pub use heartbeat::{ConsumerHeartbeat, Kept, Leaving};
pub use member::ConsumerMember;
pub use partitions::Partitions;
pub use visible::Visible;
pub use wanted::{KnownTopic, KnownTopics, TopicList};

use super::stored::StoredGroup;
use super::{GroupError, GroupLimits, Groups, check_name};
use std::sync::Arc;
use std::time::Duration;

/// Whether the journal can't store the next state of a group: members can get their new share in
/// addition to their current one.
fn is_too_large(group: &ConsumerGroup, limits: &GroupLimits) -> bool {
    StoredGroup::Consumer(group.stored()).encode().len() > limits.stored_bytes_max / 2
}

impl<T: Copy> Groups<T> {
    /// The version of the topics that the groups know.
    pub fn topics_version(&self) -> Option<u64> {
        self.topics.version()
    }

    /// The topics that the groups know.
    pub fn topics(&self) -> &TopicList {
        &self.topics
    }

    /// There are these topics now.
    pub fn set_topics(&mut self, topics: TopicList) {
        self.topics = topics;
    }

    /// A member of a consumer group joins or gives a sign.
    pub fn beat(&mut self, group: &Arc<str>, beat: &ConsumerHeartbeat, now: Duration) -> Result<Kept, GroupError> {
        check_name(group)?;
        if self.by_name.get(group).is_some_and(|classic| !classic.is_empty()) {
            return Err(GroupError::OtherProtocol);
        }
        let is_new = !self.consumer.contains_key(group);
        if is_new {
            if beat.epoch != 0 {
                return Err(GroupError::UnknownMember);
            }
            let before = self.by_name.get(group).map(|classic| (classic.generation(), classic.revision()));
            if before.is_none() {
                self.make_room()?;
            }
            let (generation, revision) = before.unwrap_or_default();
            self.consumer.insert(group.clone(), ConsumerGroup::after(generation, revision));
        }
        let may_grow = self.consumer.get(group).is_some_and(|found| found.may_grow(beat, &self.topics));
        let bytes = if may_grow { self.bytes() } else { 0 };
        let Some(found) = self.consumer.get_mut(group) else { unreachable!("{group} is there") };
        let before = may_grow.then(|| found.clone());
        let others_bytes = bytes.saturating_sub(found.bytes());
        let mut kept = found.beat(beat, &self.topics, others_bytes, &self.limits, now);
        if let Some(before) = before
            && is_too_large(found, &self.limits)
        {
            *found = before;
            kept = Err(GroupError::Large { limit: self.limits.stored_bytes_max });
        }
        match kept {
            // A group that no member could join never existed.
            Err(_) if is_new => drop(self.consumer.remove(group)),
            Ok(_) => drop(self.by_name.remove(group)),
            Err(_) => {}
        }
        kept
    }

    /// A member of a consumer group leaves: by its id, or by its instance if the id is empty.
    pub fn leave_consumers(
        &mut self,
        group: &str,
        member: &str,
        instance: Option<&str>,
        leaving: Leaving,
    ) -> Result<(), GroupError> {
        let found = self.consumer.get_mut(group).ok_or(GroupError::UnknownMember)?;
        found.leave(member, instance, leaving)
    }

    /// When [`Groups::tick`] is due for this group.
    pub fn consumers_due_at(&self, group: &str) -> Option<Duration> {
        self.consumer.get(group)?.due_at()
    }

    /// A consumer group, with or without members.
    pub fn consumer_group(&self, group: &str) -> Option<&ConsumerGroup> {
        self.consumer.get(group)
    }

    /// All of them, by name.
    pub fn consumer_groups(&self) -> impl Iterator<Item = (&Arc<str>, &ConsumerGroup)> {
        self.consumer.iter()
    }
}
