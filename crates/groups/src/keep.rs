//! The stored state of groups, and groups that continue from it.

use super::consumer::ConsumerGroup;
use super::group::Group;
use super::stored::{StoredError, StoredGroup};
use super::{GroupError, Groups};
use std::sync::Arc;
use std::time::Duration;

impl<T: Copy> Groups<T> {
    /// Whether the group is in memory.
    pub fn contains(&self, group: &str) -> bool {
        self.by_name.contains_key(group) || self.consumer.contains_key(group)
    }

    /// Another number if the journal is to keep something else of a group.
    pub fn revision(&self, group: &str) -> u64 {
        let consumer = self.consumer.get(group).map_or(0, ConsumerGroup::revision);
        self.by_name.get(group).map_or(0, Group::revision).max(consumer)
    }

    /// The state of a group to store in the journal: its number of members, and bytes.
    pub fn stored(&self, group: &str) -> (u32, Vec<u8>) {
        let consumer = self.consumer.get(group).map(|found| StoredGroup::Consumer(found.stored()));
        let stored = self.by_name.get(group).map(|found| StoredGroup::Classic(found.stored())).or(consumer);
        let Some(stored) = stored else { unreachable!("{group} is not in memory") };
        (stored.members() as u32, stored.encode())
    }

    /// A group continues from its stored state, which replaces the one in memory; without one, after a number
    /// that no earlier group of this name has had a generation or an epoch above. The members' sessions begin now.
    pub fn restore(
        &mut self,
        group: &Arc<str>,
        stored: Option<&[u8]>,
        after: u32,
        now: Duration,
    ) -> Result<(), GroupError> {
        assert!(!self.contains(group), "{group} is in memory");
        self.make_room()?;
        match stored.map(|bytes| restored(bytes, &self.topics, &self.limits, now)) {
            Some(Ok(Restored::Classic(found))) => drop(self.by_name.insert(group.clone(), found)),
            Some(Ok(Restored::Consumer(found))) => drop(self.consumer.insert(group.clone(), *found)),
            Some(Err(error)) => {
                tracing::error!(
                    group = &**group, %error,
                    "the stored state of a group can't be read; the group begins again, and its members join again"
                );
                self.by_name.insert(group.clone(), Group::after(after, 0));
            }
            None => drop(self.by_name.insert(group.clone(), Group::after(after, 0))),
        }
        Ok(())
    }

    /// Forgets a group. Returns the requests that wait for a response.
    pub fn forget(&mut self, group: &str) -> Vec<T> {
        self.held.remove(group);
        self.consumer.remove(group);
        self.by_name.remove(group).map(|found| found.into_tickets().collect()).unwrap_or_default()
    }

    /// Stops the group's clock: its changes are being stored, and members that wait for that
    /// can't give signs.
    pub fn hold(&mut self, group: &Arc<str>, now: Duration) {
        self.held.entry(group.clone()).or_insert(now);
    }

    /// Its clock advances.
    pub fn go_on(&mut self, group: &str, now: Duration) {
        let Some(since) = self.held.remove(group) else { return };
        if let Some(found) = self.by_name.get_mut(group) {
            found.delay(now.saturating_sub(since));
        }
        if let Some(found) = self.consumer.get_mut(group) {
            found.delay(now.saturating_sub(since));
        }
    }
}

/// A group that the journal has kept.
pub enum Restored<T> {
    /// A group in which a member assigns the partitions.
    Classic(Group<T>),
    /// A group in which the broker assigns the partitions.
    Consumer(Box<ConsumerGroup>),
}

/// The group with these bytes, among these topics.
pub fn restored<T: Copy>(
    bytes: &[u8],
    topics: &super::consumer::TopicList,
    limits: &super::GroupLimits,
    now: Duration,
) -> Result<Restored<T>, StoredError> {
    Ok(match StoredGroup::decode(bytes)? {
        StoredGroup::Classic(stored) => Restored::Classic(Group::of_stored(stored, 0, now)?),
        StoredGroup::Consumer(stored) => {
            Restored::Consumer(Box::new(ConsumerGroup::of_stored(stored, topics, limits, 0, now)))
        }
    })
}
