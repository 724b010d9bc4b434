//! One member of a consumer group: the topics that it wants, the partitions that it may read, and those that it has to
//! give up.

use super::assignor::Assignor;
use super::heartbeat::ConsumerHeartbeat;
use super::partitions::Partitions;
use super::visible::Visible;
use super::wanted::Pattern;
use crate::limits::MEMBER_BYTES;
use crate::request::Identity;
use crate::stored::{StoredConsumer, StoredName, StoredStep};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A member's progress towards its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It has its share, of its epoch.
    Stable,
    /// It has to give partitions up, until then.
    Revoking(Duration),
    /// It waits for partitions that others have.
    Waiting,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerMember {
    /// The instance under which it returns after a restart.
    pub instance: Option<Arc<str>>,
    /// The address of its client.
    pub rack: Option<Arc<str>>,
    /// How others see it.
    pub identity: Identity,
    /// How long it may take to give partitions up.
    pub rebalance: Duration,
    /// The topics that it wants, by name.
    pub names: BTreeSet<Arc<str>>,
    /// It wants also topics with names like this.
    pub regex: Option<Arc<str>>,
    /// The topics that its client may know of, by its newest heartbeat.
    pub visible: Arc<Visible>,
    /// How it would have the partitions divided.
    pub assignor: Option<Assignor>,
    /// The newest of the group's epochs whose share it has got.
    pub epoch: u32,
    /// The one before: the response with the newest may be lost.
    pub previous_epoch: u32,
    /// How far it is.
    pub step: Step,
    /// The free part of its share.
    pub assigned: Partitions,
    /// Partitions that it has to give up; no other member may have them until it confirms.
    pub revoking: Partitions,
    /// Its share of the group's newest division.
    pub target: Partitions,
    /// Whether it has left for a while, and keeps its share.
    pub is_away: bool,
    /// When it is removed, unless it sends a heartbeat before.
    pub gone_at: Duration,
}

impl ConsumerMember {
    /// A member that joins.
    pub fn new(beat: &ConsumerHeartbeat, gone_at: Duration) -> ConsumerMember {
        let mut member = ConsumerMember {
            instance: beat.instance.clone(),
            rack: None,
            identity: beat.identity.clone(),
            rebalance: Duration::ZERO,
            names: BTreeSet::new(),
            regex: None,
            visible: beat.visible.clone(),
            assignor: None,
            epoch: 0,
            previous_epoch: 0,
            step: Step::Waiting,
            assigned: Partitions::default(),
            revoking: Partitions::default(),
            target: Partitions::default(),
            is_away: false,
            gone_at,
        };
        member.update(beat);
        member
    }

    /// Applies the member's metadata.
    pub fn update(&mut self, beat: &ConsumerHeartbeat) {
        self.identity = beat.identity.clone();
        self.visible = beat.visible.clone();
        self.rack = beat.rack.clone().or_else(|| self.rack.take());
        self.rebalance = beat.rebalance.unwrap_or(self.rebalance);
        self.assignor = beat.assignor.or(self.assignor);
        if let Some(names) = &beat.names {
            self.names = names.iter().cloned().collect();
        }
        if let Some(regex) = &beat.regex {
            self.regex = Some(regex.clone()).filter(|regex| !regex.is_empty());
        }
    }

    /// Its state in the journal.
    pub fn stored(&self, id: &Arc<str>) -> StoredConsumer {
        StoredConsumer {
            name: StoredName { id: id.clone(), instance: self.instance.clone(), identity: self.identity.clone() },
            rack: self.rack.clone(),
            rebalance: self.rebalance,
            names: self.names.clone(),
            regex: self.regex.clone(),
            visible: self.visible.patterns().collect(),
            assignor: self.assignor,
            epoch: self.epoch,
            previous_epoch: self.previous_epoch,
            step: match self.step {
                Step::Stable => StoredStep::Stable,
                Step::Revoking(_) => StoredStep::Revoking,
                Step::Waiting => StoredStep::Waiting,
            },
            is_away: self.is_away,
            target: self.target.clone(),
            assigned: self.assigned.clone(),
            revoking: self.revoking.clone(),
        }
    }

    /// A member of which the journal has kept this. Its times begin now.
    pub fn of_stored(stored: StoredConsumer, session: Duration, now: Duration) -> ConsumerMember {
        ConsumerMember {
            instance: stored.name.instance,
            rack: stored.rack,
            identity: stored.name.identity,
            rebalance: stored.rebalance,
            names: stored.names,
            regex: stored.regex,
            visible: Arc::new(Visible::of(stored.visible)),
            assignor: stored.assignor,
            epoch: stored.epoch,
            previous_epoch: stored.previous_epoch,
            step: match stored.step {
                StoredStep::Stable => Step::Stable,
                StoredStep::Revoking => Step::Revoking(now + stored.rebalance),
                StoredStep::Waiting => Step::Waiting,
            },
            assigned: stored.assigned,
            revoking: stored.revoking,
            target: stored.target,
            is_away: stored.is_away,
            gone_at: now + session,
        }
    }

    /// Its clock was stopped for this time: all deadlines move by it.
    pub fn delay(&mut self, time: Duration) {
        self.gone_at += time;
        if let Step::Revoking(until) = &mut self.step {
            *until += time;
        }
    }

    /// It joins again, and has nothing.
    pub fn restart(&mut self) {
        (self.epoch, self.previous_epoch, self.step, self.is_away) = (0, 0, Step::Waiting, false);
        (self.assigned, self.revoking) = (Partitions::default(), Partitions::default());
    }

    /// Whether it wants to be treated as before.
    pub fn is_like(&self, other: &ConsumerMember) -> bool {
        (&self.names, self.pattern(), self.assignor) == (&other.names, other.pattern(), other.assignor)
    }

    /// Its regular expression, and the topics that it may match.
    pub fn pattern(&self) -> Option<Pattern> {
        Some((self.regex.clone()?, self.visible.clone()))
    }

    /// Moves towards its share of the assignment with this epoch. `owned` are the partitions that it reports, `is_free`
    /// whether no other member has a partition.
    pub fn reconcile(
        &mut self,
        epoch: u32,
        owned: Option<&Partitions>,
        is_free: impl Fn(&Partitions) -> Partitions,
        now: Duration,
    ) {
        match self.step {
            Step::Stable if self.epoch == epoch => return,
            // Only the member knows when it has stopped reading.
            Step::Revoking(_) if owned.is_none_or(|owned| owned.intersects(&self.revoking)) => return,
            _ => self.revoking = Partitions::default(),
        }
        let surplus = self.assigned.without(&self.target);
        self.assigned = self.assigned.and(&self.target);
        if !surplus.is_empty() && owned.is_none_or(|owned| owned.intersects(&surplus)) {
            self.revoking = surplus;
            self.step = Step::Revoking(now + self.rebalance);
            return;
        }
        let missing = self.target.without(&self.assigned);
        let free = is_free(&missing);
        self.step = if free.len() == missing.len() { Step::Stable } else { Step::Waiting };
        self.assigned.extend(free.iter());
        if self.epoch != epoch {
            (self.previous_epoch, self.epoch) = (self.epoch, epoch);
        }
    }

    /// Whether it has its share of the division with this epoch.
    pub fn has_share(&self, epoch: u32) -> bool {
        self.step == Step::Stable && self.epoch == epoch
    }

    /// The first time at which something happens to it.
    pub fn due_at(&self) -> Duration {
        match self.step {
            Step::Revoking(until) => until.min(self.gone_at),
            Step::Stable | Step::Waiting => self.gone_at,
        }
    }

    /// Its approximate memory.
    pub fn bytes(&self) -> usize {
        let shares = [&self.assigned, &self.revoking, &self.target].map(Partitions::bytes);
        let names: usize = self.names.iter().map(|name| name.len() + 64).sum();
        MEMBER_BYTES + names + self.regex.as_ref().map_or(0, |regex| regex.len()) + shares.iter().sum::<usize>()
    }
}
