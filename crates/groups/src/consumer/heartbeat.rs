//! Heartbeats of members of consumer groups, and the responses.

use super::assignor::Assignor;
use super::partitions::Partitions;
use super::visible::Visible;
use crate::request::Identity;
use std::sync::Arc;
use std::time::Duration;

/// The heartbeat of a member of a consumer group; with epoch 0 it joins.
#[derive(Debug, Clone)]
pub struct ConsumerHeartbeat {
    /// Its id, which it has chosen.
    pub member: Arc<str>,
    /// The instance under which it returns after a restart, if it has one.
    pub instance: Option<Arc<str>>,
    /// The address of its client. `None` in this and the next fields: as before.
    pub rack: Option<Arc<str>>,
    /// How others see it.
    pub identity: Identity,
    /// The epoch that it knows.
    pub epoch: u32,
    /// How long it may take to give partitions up.
    pub rebalance: Option<Duration>,
    /// The topics that it wants, by name.
    pub names: Option<Vec<Arc<str>>>,
    /// A regular expression for the names of topics that it wants too. Empty: none.
    pub regex: Option<Arc<str>>,
    /// The topics that its client may know of now: the regular expression matches no others.
    pub visible: Arc<Visible>,
    /// How it would have the partitions divided.
    pub assignor: Option<Assignor>,
    /// The partitions that it reads.
    pub owned: Option<Partitions>,
}

impl ConsumerHeartbeat {
    /// Whether it has metadata of the member.
    pub(super) fn says_something(&self) -> bool {
        self.rack.is_some()
            || self.rebalance.is_some()
            || self.names.is_some()
            || self.regex.is_some()
            || self.assignor.is_some()
    }

    /// Whether it has all fields, as after a lost response.
    pub(super) fn is_full(&self) -> bool {
        self.rebalance.is_some() && (self.names.is_some() || self.regex.is_some()) && self.owned.is_some()
    }
}

/// The response to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The member's epoch.
    pub epoch: u32,
    /// Its partitions, if they have changed or it may not know them.
    pub assignment: Option<Partitions>,
    /// When the next heartbeat is due.
    pub interval: Duration,
}

/// How a member leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// It leaves permanently.
    ForGood,
    /// It has an instance and returns within its session; it keeps its share until then.
    ForAWhile,
}
