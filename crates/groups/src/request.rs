//! Requests of members of classic groups, and the responses.

use crate::error::GroupError;
use crate::limits::MEMBER_BYTES;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// How others see a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name of its client.
    pub client: Arc<str>,
    /// The address of its client.
    pub host: Arc<str>,
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

impl Join {
    /// Its approximate memory.
    pub(crate) fn bytes(&self) -> usize {
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
