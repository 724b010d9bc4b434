//! One group: its members, and the division of its partitions.

use super::division::choose;
use super::error::GroupError;
use super::limits::{GroupLimits, MEMBER_BYTES};
use super::member::Member;
use super::request::{Answer, Identity, Join, Joined, Membership, Outcome};
use super::stored::{StoredClassic, StoredError, StoredPhase};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The greatest generation of Kafka's protocol. 1 follows it.
const GENERATION_MAX: u32 = i32::MAX as u32;

/// How far the division of a group's partitions is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The group has no members.
    #[default]
    Empty,
    /// Members join, for the first time or again.
    Joining {
        /// When members that have not joined are removed.
        until: Duration,
        /// Whether members are waited for although all have joined: the group was empty.
        is_first: bool,
    },
    /// The leader divides the partitions.
    Syncing {
        /// When members that haven't requested their share are removed.
        until: Duration,
    },
    /// Every member has its share.
    Stable,
}

/// A group.
pub struct Group<T> {
    phase: Phase,
    generation: u32,
    protocol_type: Arc<str>,
    protocol: Arc<str>,
    leader: Option<Arc<str>>,
    members: BTreeMap<Arc<str>, Member<T>>,
    /// The id of each instance's member.
    instances: BTreeMap<Arc<str>, Arc<str>>,
    /// Ids that were given and not used yet, and when they are forgotten.
    promised: BTreeMap<Arc<str>, Duration>,
    /// Another one if the journal is to keep something else.
    revision: u64,
}

impl<T> Default for Group<T> {
    fn default() -> Self {
        Group {
            phase: Phase::Empty,
            generation: 0,
            protocol_type: "".into(),
            protocol: "".into(),
            leader: None,
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            promised: BTreeMap::new(),
            revision: 0,
        }
    }
}

impl<T: Copy> Group<T> {
    /// A group without members that continues after a generation and a revision.
    pub(super) fn after(generation: u32, revision: u64) -> Group<T> {
        Group { generation, revision, ..Group::default() }
    }

    /// The group that the journal has kept. Members' sessions begin now.
    pub(super) fn of_stored(stored: StoredClassic, revision: u64, now: Duration) -> Result<Group<T>, StoredError> {
        let StoredClassic { phase, generation, protocol_type, protocol, leader, members } = stored;
        let mut group = Group { generation, leader, protocol, revision, ..Group::default() };
        for member in members {
            let id = member.name.id.clone();
            if let Some(instance) = &member.name.instance {
                group.instances.insert(instance.clone(), id.clone());
            }
            group.members.insert(id, Member::of_stored(member, &protocol_type, now));
        }
        group.protocol_type = protocol_type;
        if !group.members.is_empty() && choose(group.members.values()).is_none() {
            return Err(StoredError("members without a protocol in common"));
        }
        let until = now + group.rebalance_max();
        group.phase = match phase {
            StoredPhase::Empty => Phase::Empty,
            StoredPhase::Joining => Phase::Joining { until, is_first: false },
            StoredPhase::Syncing => Phase::Syncing { until },
            StoredPhase::Stable => Phase::Stable,
        };
        Ok(group)
    }

    /// The state to store in the journal.
    pub(super) fn stored(&self) -> StoredClassic {
        let known = self.members.iter().filter(|(_, member)| !member.is_new);
        let members: Vec<_> = known.map(|(id, member)| member.stored(id)).collect();
        let phase = match self.phase {
            _ if members.is_empty() => StoredPhase::Empty,
            Phase::Empty | Phase::Joining { .. } => StoredPhase::Joining,
            Phase::Syncing { .. } => StoredPhase::Syncing,
            Phase::Stable => StoredPhase::Stable,
        };
        StoredClassic {
            phase,
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().filter(|leader| members.iter().any(|member| member.name.id == *leader)),
            members,
        }
    }

    /// Another number if the journal is to keep something else.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// The newest generation.
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// The maximum size of the stored state, in bytes.
    pub(super) fn stored_bytes(&self) -> usize {
        MEMBER_BYTES + self.members.values().map(Member::stored_bytes).sum::<usize>()
    }

    /// Its clock was stopped for this time: all deadlines move by it.
    pub(super) fn delay(&mut self, time: Duration) {
        if let Phase::Joining { until, .. } | Phase::Syncing { until } = &mut self.phase {
            *until += time;
        }
        self.promised.values_mut().for_each(|forgotten_at| *forgotten_at += time);
        self.members.values_mut().for_each(|member| member.gone_at += time);
    }

    /// The requests that wait for a response.
    pub(super) fn into_tickets(self) -> impl Iterator<Item = T> {
        self.members.into_values().flat_map(|member| member.joining.into_iter().chain(member.syncing))
    }

    /// Whether it has neither members nor promises.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.promised.is_empty()
    }

    /// How far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The protocol type of its members, and their assignment strategy.
    pub fn protocol(&self) -> (&str, &str) {
        (&self.protocol_type, &self.protocol)
    }

    /// Its approximate memory.
    pub(super) fn bytes(&self) -> usize {
        MEMBER_BYTES * (1 + self.promised.len()) + self.members.values().map(Member::bytes).sum::<usize>()
    }

    /// Its members: id, instance, identity, metadata, and share.
    pub fn members(&self) -> impl Iterator<Item = (&Arc<str>, Option<&Arc<str>>, &Identity, Bytes, &Bytes)> {
        self.members.iter().map(|(id, member)| {
            (id, member.instance.as_ref(), &member.identity, member.says(&self.protocol), &member.assignment)
        })
    }

    pub(super) fn join(
        &mut self,
        ticket: T,
        join: Join,
        new_id: impl FnOnce() -> Arc<str>,
        limits: &GroupLimits,
        now: Duration,
        answers: &mut Vec<Answer<T>>,
    ) -> Result<(), GroupError> {
        self.check_protocols(&join)?;
        if !join.member.is_empty() {
            return self.join_again(ticket, &join, limits, now, answers);
        }
        let known = join.instance.as_ref().and_then(|instance| self.instances.get(instance).cloned());
        if let Some(before) = known {
            return self.replace(&before, new_id(), ticket, &join, limits, now, answers);
        }
        if self.members.len() + self.promised.len() >= limits.members_max {
            return Err(GroupError::Full { limit: limits.members_max });
        }
        let member = new_id();
        if join.needs_id && join.instance.is_none() {
            self.promised.insert(member.clone(), now + join.session);
            return Err(GroupError::NeedsId { member });
        }
        self.add(member, ticket, &join, limits, now, answers);
        Ok(())
    }

    /// Whether the members would still have a way of dividing in common.
    fn check_protocols(&self, join: &Join) -> Result<(), GroupError> {
        let others = || {
            let is_other = |id: &Arc<str>, member: &Member<T>| {
                *id != join.member && (join.instance.is_none() || member.instance != join.instance)
            };
            self.members.iter().filter(move |(id, member)| is_other(id, member)).map(|(_, member)| member)
        };
        let is_common = |protocol: &str| others().all(|member| member.knows(protocol));
        let fits = join.protocols.iter().any(|(name, _)| is_common(name));
        let is_same_type = others().next().is_none() || self.protocol_type == join.protocol_type;
        if fits && is_same_type && !join.protocol_type.is_empty() { Ok(()) } else { Err(GroupError::Protocol) }
    }

    /// A member with an id joins.
    fn join_again(
        &mut self,
        ticket: T,
        join: &Join,
        limits: &GroupLimits,
        now: Duration,
        answers: &mut Vec<Answer<T>>,
    ) -> Result<(), GroupError> {
        if self.promised.remove(&join.member).is_some() {
            self.add(join.member.clone(), ticket, join, limits, now, answers);
            return Ok(());
        }
        self.check(&join.member, join.instance.as_ref())?;
        let (phase, is_leader) = (self.phase, self.leader.as_ref() == Some(&join.member));
        let Some(member) = self.members.get_mut(&join.member) else { return Err(GroupError::UnknownMember) };
        let is_same = member.protocols == join.protocols;
        member.update(join, now);
        match phase {
            // Its answer was lost.
            Phase::Syncing { .. } if is_same => self.answer_joined(&join.member, ticket, false, answers),
            Phase::Stable if is_same && !is_leader => self.answer_joined(&join.member, ticket, false, answers),
            _ => {
                if let Some(ticket) = member.joining.replace(ticket) {
                    answers.push(Answer { ticket, outcome: Outcome::Refused(GroupError::Rebalancing) });
                }
                self.rebalance(limits, now, answers);
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        id: Arc<str>,
        ticket: T,
        join: &Join,
        limits: &GroupLimits,
        now: Duration,
        answers: &mut Vec<Answer<T>>,
    ) {
        if self.members.is_empty() {
            self.protocol_type = join.protocol_type.clone();
        }
        let mut member = Member::new(join, now);
        member.joining = Some(ticket);
        if let Some(instance) = &join.instance {
            self.instances.insert(instance.clone(), id.clone());
        }
        self.leader.get_or_insert_with(|| id.clone());
        self.members.insert(id, member);
        self.rebalance(limits, now, answers);
    }

    /// An instance returns after a restart, with a new id. The assignment stays if its metadata is unchanged.
    #[expect(clippy::too_many_arguments, reason = "of one caller")]
    fn replace(
        &mut self,
        before: &Arc<str>,
        id: Arc<str>,
        ticket: T,
        join: &Join,
        limits: &GroupLimits,
        now: Duration,
        answers: &mut Vec<Answer<T>>,
    ) -> Result<(), GroupError> {
        let Some(mut member) = self.members.remove(before) else {
            unreachable!("{:?} is an instance of no member", join.instance)
        };
        for ticket in [member.joining.take(), member.syncing.take()].into_iter().flatten() {
            answers.push(Answer { ticket, outcome: Outcome::Refused(GroupError::FencedInstance) });
        }
        let said = member.says(&self.protocol);
        member.update(join, now);
        let is_same = member.says(&self.protocol) == said && member.knows(&self.protocol);
        let is_leader = self.leader.as_ref() == Some(before);
        if is_leader {
            self.leader = Some(id.clone());
        }
        if let Some(instance) = &join.instance {
            self.instances.insert(instance.clone(), id.clone());
        }
        self.revision += u64::from(!member.is_new);
        let stays = self.phase == Phase::Stable && is_same;
        if !stays {
            member.joining = Some(ticket);
        }
        self.members.insert(id.clone(), member);
        if stays {
            self.answer_joined(&id, ticket, is_leader, answers);
        } else {
            self.rebalance(limits, now, answers);
        }
        Ok(())
    }

    pub(super) fn sync(
        &mut self,
        ticket: T,
        sync: &Membership,
        assignments: Vec<(Arc<str>, Bytes)>,
        now: Duration,
        answers: &mut Vec<Answer<T>>,
    ) -> Result<(), GroupError> {
        self.check_generation(sync, now)?;
        match self.phase {
            Phase::Empty => Err(GroupError::UnknownMember),
            Phase::Joining { .. } => Err(GroupError::Rebalancing),
            Phase::Stable => {
                self.answer_synced(&sync.member, ticket, answers);
                Ok(())
            }
            Phase::Syncing { .. } => {
                let Some(member) = self.members.get_mut(&sync.member) else { return Err(GroupError::UnknownMember) };
                if let Some(ticket) = member.syncing.replace(ticket) {
                    answers.push(Answer { ticket, outcome: Outcome::Refused(GroupError::Rebalancing) });
                }
                if self.leader.as_ref() == Some(&sync.member) {
                    self.divide(assignments, now, answers);
                }
                Ok(())
            }
        }
    }

    /// The leader has divided the partitions. Members that it has given nothing get nothing.
    fn divide(&mut self, assignments: Vec<(Arc<str>, Bytes)>, now: Duration, answers: &mut Vec<Answer<T>>) {
        for (id, assignment) in assignments {
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = assignment;
            }
        }
        self.phase = Phase::Stable;
        self.revision += 1;
        let mut waiting = Vec::new();
        for (id, member) in &mut self.members {
            if let Some(ticket) = member.syncing.take() {
                member.heard(now);
                waiting.push((id.clone(), ticket));
            }
        }
        waiting.into_iter().for_each(|(id, ticket)| self.answer_synced(&id, ticket, answers));
    }

    pub(super) fn heartbeat(&mut self, sync: &Membership, now: Duration) -> Result<(), GroupError> {
        self.check_generation(sync, now)?;
        match self.phase {
            Phase::Empty => Err(GroupError::UnknownMember),
            Phase::Joining { .. } => Err(GroupError::Rebalancing),
            Phase::Syncing { .. } | Phase::Stable => Ok(()),
        }
    }

    pub(super) fn may_commit(&mut self, sync: &Membership, now: Duration) -> Result<(), GroupError> {
        self.check_generation(sync, now)?;
        match self.phase {
            // It knows its new share only after the sync.
            Phase::Syncing { .. } => Err(GroupError::Rebalancing),
            _ => Ok(()),
        }
    }

    pub(super) fn leave(
        &mut self,
        member: &str,
        instance: Option<&str>,
        limits: &GroupLimits,
        now: Duration,
        answers: &mut Vec<Answer<T>>,
    ) -> Result<(), GroupError> {
        if self.promised.remove(member).is_some() {
            return Ok(());
        }
        let named = instance.and_then(|instance| self.instances.get(instance).cloned());
        let id = match (member.is_empty(), named) {
            (true, Some(id)) => id,
            (true, None) => return Err(GroupError::UnknownMember),
            (false, Some(id)) if *id != *member => return Err(GroupError::FencedInstance),
            (false, _) => Arc::from(member),
        };
        if !self.members.contains_key(&id) {
            return Err(GroupError::UnknownMember);
        }
        self.remove(&id, answers);
        self.rebalance(limits, now, answers);
        Ok(())
    }

    /// The events that are due by now.
    pub(super) fn tick(&mut self, limits: &GroupLimits, now: Duration, answers: &mut Vec<Answer<T>>) {
        self.promised.retain(|_, forgotten_at| *forgotten_at > now);
        let late = match self.phase {
            Phase::Syncing { until } => until <= now,
            _ => false,
        };
        let is_gone = |member: &Member<T>| {
            member.gone_at().is_some_and(|gone_at| gone_at <= now) || late && member.syncing.is_none()
        };
        let gone: Vec<_> =
            self.members.iter().filter(|(_, member)| is_gone(member)).map(|(id, _)| id.clone()).collect();
        for id in &gone {
            self.remove(id, answers);
        }
        if gone.is_empty() {
            self.complete(limits, now, answers);
        } else {
            self.rebalance(limits, now, answers);
        }
    }

    /// When [`Group::tick`] is due.
    pub(super) fn due_at(&self) -> Option<Duration> {
        let until = match self.phase {
            Phase::Joining { until, .. } | Phase::Syncing { until } => Some(until),
            Phase::Empty | Phase::Stable => None,
        };
        let gone_at = self.members.values().filter_map(Member::gone_at);
        gone_at.chain(self.promised.values().copied()).chain(until).min()
    }

    fn remove(&mut self, id: &Arc<str>, answers: &mut Vec<Answer<T>>) {
        let Some(mut member) = self.members.remove(id) else { unreachable!("{id} is no member") };
        for ticket in [member.joining.take(), member.syncing.take()].into_iter().flatten() {
            answers.push(Answer { ticket, outcome: Outcome::Refused(GroupError::UnknownMember) });
        }
        if let Some(instance) = &member.instance {
            self.instances.remove(instance);
        }
        self.revision += u64::from(!member.is_new);
        if self.leader.as_ref() == Some(id) {
            self.leader = self.members.keys().next().cloned();
        }
    }

    /// The members have changed: all join again.
    fn rebalance(&mut self, limits: &GroupLimits, now: Duration, answers: &mut Vec<Answer<T>>) {
        match self.phase {
            Phase::Joining { .. } => {}
            Phase::Empty => self.phase = Phase::Joining { until: now + limits.first_wait, is_first: true },
            Phase::Syncing { .. } | Phase::Stable => {
                for member in self.members.values_mut() {
                    if let Some(ticket) = member.syncing.take() {
                        member.heard(now);
                        answers.push(Answer { ticket, outcome: Outcome::Refused(GroupError::Rebalancing) });
                    }
                }
                self.phase = Phase::Joining { until: now + self.rebalance_max(), is_first: false };
            }
        }
        self.complete(limits, now, answers);
    }

    fn rebalance_max(&self) -> Duration {
        self.members.values().map(|member| member.rebalance).max().unwrap_or_default()
    }

    /// Ends the joining, if all have joined or their time is over.
    fn complete(&mut self, limits: &GroupLimits, now: Duration, answers: &mut Vec<Answer<T>>) {
        let Phase::Joining { until, is_first } = self.phase else { return };
        let have_joined = self.members.values().all(|member| member.joining.is_some()) && self.promised.is_empty();
        if until > now && (is_first && !self.members.is_empty() || !have_joined) {
            return;
        }
        // Instances stay until their session is over: they may be restarting.
        let silent = self.members.iter().filter(|(_, member)| member.joining.is_none() && member.instance.is_none());
        let silent: Vec<_> = silent.map(|(id, _)| id.clone()).collect();
        silent.iter().for_each(|id| self.remove(id, answers));
        self.generation = if self.generation == GENERATION_MAX { 1 } else { self.generation + 1 };
        self.revision += 1;
        self.members.values_mut().for_each(|member| member.is_new = false);
        if self.members.is_empty() {
            (self.phase, self.leader, self.protocol) = (Phase::Empty, None, "".into());
            return;
        }
        let has_joined = |id: &Arc<str>| self.members.get(id).is_some_and(|member| member.joining.is_some());
        let leader = self.leader.clone().filter(has_joined);
        let Some(leader) = leader.or_else(|| self.members.keys().find(|id| has_joined(id)).cloned()) else {
            // Only silent instances: until one of them returns, or all are removed.
            self.phase = Phase::Joining { until: now + self.rebalance_max().max(limits.first_wait), is_first: false };
            return;
        };
        self.leader = Some(leader);
        let Some(protocol) = choose(self.members.values()) else {
            unreachable!("{} members without a protocol in common", self.members.len())
        };
        self.protocol = protocol;
        self.phase = Phase::Syncing { until: now + self.rebalance_max() };
        let mut waiting = Vec::new();
        for (id, member) in &mut self.members {
            member.assignment = Bytes::new();
            if let Some(ticket) = member.joining.take() {
                member.heard(now);
                waiting.push((id.clone(), ticket));
            }
        }
        waiting.into_iter().for_each(|(id, ticket)| self.answer_joined(&id, ticket, false, answers));
    }

    /// Fails unless this is a member, and not one whose instance runs elsewhere.
    fn check(&self, id: &Arc<str>, instance: Option<&Arc<str>>) -> Result<(), GroupError> {
        match instance.map(|instance| self.instances.get(instance)) {
            Some(None) => Err(GroupError::UnknownMember),
            Some(Some(running)) if running != id => Err(GroupError::FencedInstance),
            _ if self.members.contains_key(id) => Ok(()),
            _ => Err(GroupError::UnknownMember),
        }
    }

    /// The same of a member that knows the newest division. It has given a sign.
    fn check_generation(&mut self, sync: &Membership, now: Duration) -> Result<(), GroupError> {
        self.check(&sync.member, sync.instance.as_ref())?;
        if sync.generation != self.generation {
            return Err(GroupError::Generation { current: self.generation });
        }
        if let Some(member) = self.members.get_mut(&sync.member) {
            member.heard(now);
        }
        Ok(())
    }

    fn answer_joined(&self, id: &Arc<str>, ticket: T, is_divided: bool, answers: &mut Vec<Answer<T>>) {
        let Some(leader) = self.leader.clone() else {
            unreachable!("a group of {} without a leader", self.members.len())
        };
        let says =
            |(id, member): (&Arc<str>, &Member<T>)| (id.clone(), member.instance.clone(), member.says(&self.protocol));
        let members = if *id == leader { self.members.iter().map(says).collect() } else { Vec::new() };
        let joined = Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader,
            member: id.clone(),
            members,
            is_divided,
        };
        answers.push(Answer { ticket, outcome: Outcome::Joined(joined) });
    }

    fn answer_synced(&self, id: &Arc<str>, ticket: T, answers: &mut Vec<Answer<T>>) {
        let Some(member) = self.members.get(id) else { unreachable!("{id} is no member") };
        let outcome = Outcome::Synced {
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment: member.assignment.clone(),
        };
        answers.push(Answer { ticket, outcome });
    }
}
