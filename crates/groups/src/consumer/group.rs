//! One consumer group: its members, and the order in which partitions move between them.

use super::assignor::Assignor;
use super::heartbeat::{ConsumerHeartbeat, Kept, Leaving};
use super::member::{ConsumerMember, Step};
use super::partitions::Partitions;
use super::wanted::{TopicList, Wanted};
use crate::error::GroupError;
use crate::limits::GroupLimits;
use crate::range::Wanting;
use crate::stored::StoredConsumers;
use rawline_journal::TopicId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How far a consumer group is with the division of its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsumerPhase {
    /// The group has no members.
    Empty,
    /// The members or their topics have changed; the next heartbeat assigns the partitions.
    Assigning,
    /// Members give partitions up, or wait for them.
    Reconciling,
    /// Every member has its share.
    Stable,
}

/// A group in which the broker divides the partitions.
#[derive(Debug, Clone, Default)]
pub struct ConsumerGroup {
    /// Grows with every change of the members and their topics.
    epoch: u32,
    /// The epoch that the partitions were divided in.
    target_epoch: u32,
    members: BTreeMap<Arc<str>, ConsumerMember>,
    /// The id of each instance's member.
    instances: BTreeMap<Arc<str>, Arc<str>>,
    wanted: Wanted,
    /// The version of the topics by which the members' wishes were looked up; `None`: look them up again.
    topics_version: Option<u64>,
    /// Its approximate memory.
    bytes: usize,
    /// Nothing happens to a member before.
    due_at: Option<Duration>,
    /// Another one if the journal is to keep something else.
    revision: u64,
}

/// The identity of a member that sends a heartbeat.
enum Place {
    New,
    Known,
    /// It is the instance of this member, which has left for a while.
    Replaces(Arc<str>),
}

impl ConsumerGroup {
    /// A group without members that continues after an epoch and a revision.
    pub(super) fn after(epoch: u32, revision: u64) -> ConsumerGroup {
        ConsumerGroup { epoch, target_epoch: epoch, revision, ..ConsumerGroup::default() }
    }

    /// The group that the journal has kept. Members' sessions begin now.
    pub(crate) fn of_stored(
        stored: StoredConsumers,
        topics: &TopicList,
        limits: &GroupLimits,
        revision: u64,
        now: Duration,
    ) -> ConsumerGroup {
        let StoredConsumers { epoch, target_epoch, wanted_crc32c, members } = stored;
        let mut group = ConsumerGroup { epoch, target_epoch, revision, ..ConsumerGroup::default() };
        for member in members {
            let id = member.name.id.clone();
            if let Some(instance) = &member.name.instance {
                group.instances.insert(instance.clone(), id.clone());
            }
            group.members.insert(id, ConsumerMember::of_stored(member, limits.consumer_session, now));
        }
        // If there are other topics since, the next heartbeat divides them.
        let wanted = Wanted::by(group.members.values(), topics, limits).ok();
        if let Some(wanted) = wanted.filter(|wanted| wanted.crc32c() == wanted_crc32c) {
            (group.wanted, group.topics_version) = (wanted, topics.version());
        }
        group.due_at = group.members.values().map(ConsumerMember::due_at).min();
        group.count_bytes();
        group
    }

    /// The state to store in the journal.
    pub(crate) fn stored(&self) -> StoredConsumers {
        StoredConsumers {
            epoch: self.epoch,
            target_epoch: self.target_epoch,
            wanted_crc32c: self.wanted.crc32c(),
            members: self.members.iter().map(|(id, member)| member.stored(id)).collect(),
        }
    }

    /// Another number if the journal is to keep something else.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Its clock was stopped for this time: all deadlines move by it.
    pub(crate) fn delay(&mut self, time: Duration) {
        self.members.values_mut().for_each(|member| member.delay(time));
        self.due_at = self.due_at.map(|due_at| due_at + time);
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Its epoch, and that of its assignment.
    pub fn epochs(&self) -> (u32, u32) {
        (self.epoch, self.target_epoch)
    }

    /// How far it is.
    pub fn phase(&self) -> ConsumerPhase {
        if self.members.is_empty() {
            ConsumerPhase::Empty
        } else if self.epoch > self.target_epoch {
            ConsumerPhase::Assigning
        } else if self.members.values().all(|member| member.has_share(self.target_epoch)) {
            ConsumerPhase::Stable
        } else {
            ConsumerPhase::Reconciling
        }
    }

    /// Its members, by id.
    pub fn members(&self) -> impl Iterator<Item = (&Arc<str>, &ConsumerMember)> {
        self.members.iter()
    }

    /// The strategy that most members prefer; of several, the first.
    pub fn assignor(&self) -> Assignor {
        let mut votes: BTreeMap<Assignor, usize> = BTreeMap::new();
        for assignor in self.members.values().filter_map(|member| member.assignor) {
            *votes.entry(assignor).or_default() += 1;
        }
        // The first of the greatest.
        votes.into_iter().rev().max_by_key(|(_, votes)| *votes).map(|(assignor, _)| assignor).unwrap_or_default()
    }

    /// A topic's name, if a member wants the topic.
    pub fn topic(&self, id: TopicId) -> Option<&Arc<str>> {
        self.wanted.topics.get(&id).map(|topic| &topic.name)
    }

    /// Whether a member wants the topic with this name.
    pub fn wants(&self, topic: &str) -> bool {
        let is_named = |member: &ConsumerMember| member.names.contains(topic);
        self.members.values().any(is_named) || self.wanted.topics.values().any(|wanted| *wanted.name == *topic)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn due_at(&self) -> Option<Duration> {
        self.due_at
    }

    /// Whether a heartbeat may change the group's memory.
    pub(super) fn may_grow(&self, beat: &ConsumerHeartbeat, topics: &TopicList) -> bool {
        let sees_others = |member: &ConsumerMember| member.regex.is_some() && member.visible != beat.visible;
        beat.epoch == 0
            || beat.says_something()
            || self.topics_version != topics.version()
            || self.members.get(&beat.member).is_some_and(sees_others)
    }

    /// A member joins or gives a sign. `others_bytes` is what other groups take in memory.
    pub(super) fn beat(
        &mut self,
        beat: &ConsumerHeartbeat,
        topics: &TopicList,
        others_bytes: usize,
        limits: &GroupLimits,
        now: Duration,
    ) -> Result<Kept, GroupError> {
        let place = self.place(beat, limits)?;
        if self.may_grow(beat, topics) {
            self.change(beat, &place, topics, others_bytes, limits, now)?;
        }
        if self.epoch > self.target_epoch {
            self.divide();
        }
        let is_changed = self.reconcile(beat, now);
        let Some(member) = self.members.get_mut(&beat.member) else { unreachable!("{} is no member", beat.member) };
        member.gone_at = now + limits.consumer_session;
        let due_at = member.due_at();
        self.due_at = Some(self.due_at.map_or(due_at, |before| before.min(due_at)));
        let shows_share = beat.epoch == 0 || beat.is_full() || is_changed;
        Ok(Kept {
            epoch: member.epoch,
            assignment: shows_share.then(|| member.assigned.clone()),
            interval: limits.consumer_heartbeat,
        })
    }

    fn place(&self, beat: &ConsumerHeartbeat, limits: &GroupLimits) -> Result<Place, GroupError> {
        let running = beat.instance.as_ref().and_then(|instance| self.instances.get(instance));
        let known = self.members.get(&beat.member);
        if let Some(running) = running.filter(|running| **running != beat.member) {
            let is_away = self.members.get(running).is_some_and(|member| member.is_away);
            return match beat.epoch {
                0 if known.is_some() => Err(GroupError::FencedInstance),
                0 if is_away => Ok(Place::Replaces(running.clone())),
                0 => Err(GroupError::UnreleasedInstance),
                _ => Err(GroupError::FencedInstance),
            };
        }
        let Some(member) = known else {
            return match beat.epoch {
                0 if self.members.len() >= limits.members_max => Err(GroupError::Full { limit: limits.members_max }),
                0 => Ok(Place::New),
                _ => Err(GroupError::UnknownMember),
            };
        };
        if member.instance != beat.instance && (beat.epoch == 0 || beat.instance.is_some()) {
            return Err(GroupError::FencedInstance);
        }
        let lost_response = || {
            beat.epoch == member.previous_epoch
                && beat.owned.as_ref().is_some_and(|owned| owned.is_within(&member.assigned))
        };
        let is_expected = beat.epoch == 0 || !member.is_away && (beat.epoch == member.epoch || lost_response());
        if is_expected { Ok(Place::Known) } else { Err(GroupError::FencedEpoch { current: member.epoch }) }
    }

    /// Applies the member's heartbeat with the current topics. A refusal changes nothing.
    fn change(
        &mut self,
        beat: &ConsumerHeartbeat,
        place: &Place,
        topics: &TopicList,
        others_bytes: usize,
        limits: &GroupLimits,
        now: Duration,
    ) -> Result<(), GroupError> {
        let before_id = match place {
            Place::New => None,
            Place::Known => Some(&beat.member),
            Place::Replaces(before) => Some(before),
        };
        let before = before_id.and_then(|id| self.members.get(id));
        let mut member = before.cloned().unwrap_or_else(|| ConsumerMember::new(beat, now + limits.consumer_session));
        member.update(beat);
        if beat.epoch == 0 {
            member.restart();
        }
        let mut changes_group = before.is_none_or(|before| !member.is_like(before));
        let changes_member = before.is_none_or(|before| member != *before) || matches!(place, Place::Replaces(_));
        if changes_group || self.topics_version != topics.version() {
            let others = self.members.iter().filter(|(id, _)| Some(*id) != before_id).map(|(_, other)| other);
            let wanted = Wanted::by(others.chain([&member]), topics, limits)?;
            let bytes = self.bytes + member.bytes() + wanted.bytes().saturating_sub(self.wanted.bytes());
            if others_bytes + bytes > limits.bytes_max && (changes_group || wanted != self.wanted) {
                return Err(GroupError::Memory { limit: limits.bytes_max });
            }
            changes_group |= wanted != self.wanted;
            (self.wanted, self.topics_version) = (wanted, topics.version());
        }
        if let Place::Replaces(before) = place {
            self.members.remove(before);
        }
        if let Some(instance) = &beat.instance {
            self.instances.insert(instance.clone(), beat.member.clone());
        }
        self.members.insert(beat.member.clone(), member);
        self.epoch += u32::from(changes_group);
        self.revision += u64::from(changes_group || changes_member);
        self.count_bytes();
        Ok(())
    }

    fn count_bytes(&mut self) {
        let members = self.members.values().map(ConsumerMember::bytes).sum::<usize>();
        self.bytes = members + self.wanted.bytes();
    }

    fn divide(&mut self) {
        let wanting = |(id, member): (&Arc<str>, &ConsumerMember)| Wanting {
            member: id.clone(),
            instance: member.instance.clone(),
            topics: self.wanted.of(member),
        };
        let wanting: Vec<Wanting<TopicId>> = self.members.iter().map(wanting).collect();
        let had = self.members.iter().map(|(id, member)| (id.clone(), member.target.clone())).collect();
        let mut shares = self.assignor().divide(&wanting, &had, &self.wanted.partitions());
        for (id, member) in &mut self.members {
            member.target = shares.remove(id).unwrap_or_default();
        }
        self.target_epoch = self.epoch;
        self.revision += 1;
        self.count_bytes();
    }

    /// The member moves towards its share. Returns whether its partitions have changed.
    fn reconcile(&mut self, beat: &ConsumerHeartbeat, now: Duration) -> bool {
        let Some((id, mut member)) = self.members.remove_entry(&beat.member) else {
            unreachable!("{} is no member", beat.member)
        };
        let before = member.assigned.clone();
        let kept_before = (member.epoch, member.step, member.revoking.clone());
        let is_free = |missing: &Partitions| {
            let mut free = missing.clone();
            for other in self.members.values().filter(|_| !missing.is_empty()) {
                free = free.without(&other.assigned).without(&other.revoking);
            }
            free
        };
        member.reconcile(self.target_epoch, beat.owned.as_ref(), is_free, now);
        let is_changed = member.assigned != before;
        let keeps_other = is_changed || kept_before != (member.epoch, member.step, member.revoking.clone());
        self.revision += u64::from(keeps_other);
        self.members.insert(id, member);
        is_changed
    }

    /// A member leaves: by its id, or by its instance if the id is empty.
    pub(super) fn leave(&mut self, member: &str, instance: Option<&str>, leaving: Leaving) -> Result<(), GroupError> {
        let named = instance.and_then(|instance| self.instances.get(instance).cloned());
        let id = match (named, instance, member.is_empty()) {
            (Some(id), _, true) => id,
            (Some(id), ..) if *id != *member => return Err(GroupError::FencedInstance),
            (None, Some(_), _) => return Err(GroupError::UnknownMember),
            (Some(id), ..) => id,
            (None, None, _) => member.into(),
        };
        let Some(found) = self.members.get_mut(&id) else { return Err(GroupError::UnknownMember) };
        self.revision += 1;
        if leaving == Leaving::ForAWhile && found.instance.is_some() {
            // Its partitions are free for it alone, until its session is over.
            (found.is_away, found.revoking) = (true, Partitions::default());
            if let Step::Revoking(_) = found.step {
                found.step = Step::Waiting;
            }
        } else {
            self.remove(&id);
        }
        Ok(())
    }

    fn remove(&mut self, id: &Arc<str>) {
        let Some(member) = self.members.remove(id) else { unreachable!("{id} is no member") };
        if let Some(instance) = &member.instance {
            self.instances.remove(instance);
        }
        self.epoch += 1;
        self.revision += 1;
        // Topics that only this member wanted are removed.
        self.topics_version = None;
        if self.members.is_empty() {
            (self.wanted, self.due_at) = (Wanted::default(), None);
        }
        self.count_bytes();
    }

    /// Removes members whose time is over.
    pub(crate) fn tick(&mut self, now: Duration) {
        let is_gone = |(_, member): &(&Arc<str>, &ConsumerMember)| member.due_at() <= now;
        let gone: Vec<Arc<str>> = self.members.iter().filter(is_gone).map(|(id, _)| id.clone()).collect();
        gone.iter().for_each(|id| self.remove(id));
        self.due_at = self.members.values().map(ConsumerMember::due_at).min();
    }

    /// Whether a member of this epoch may commit offsets.
    pub(crate) fn may_commit(&self, member: &str, epoch: u32) -> Result<(), GroupError> {
        let found = self.members.get(member).ok_or(GroupError::UnknownMember)?;
        if found.epoch == epoch && !found.is_away {
            return Ok(());
        }
        Err(GroupError::StaleEpoch { current: found.epoch })
    }

    /// Whether a member that had this epoch before its present one still has these partitions: no other member reads
    /// them, so its commits for them are valid. A heartbeat changes the epoch while a commit is in flight.
    pub fn still_has(&self, member: &str, epoch: u32, partitions: &Partitions) -> bool {
        let Some(found) = self.members.get(member).filter(|found| !found.is_away) else { return false };
        epoch > 0 && found.previous_epoch == epoch && partitions.without(&found.assigned).is_empty()
    }
}
