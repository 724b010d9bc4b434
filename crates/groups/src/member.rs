//! One member of a group.

use super::stored::{StoredMember, StoredName};
use crate::limits::{MEMBER_BYTES, MEMBER_STORED_BYTES};
use crate::request::{Identity, Join};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// A member.
pub struct Member<T> {
    pub instance: Option<Arc<str>>,
    pub identity: Identity,
    pub session: Duration,
    pub rebalance: Duration,
    pub protocols: Vec<(Arc<str>, Bytes)>,
    /// Its approximate memory without its share.
    said_bytes: usize,
    /// Whether it joins for the first time: it is a member once all have joined.
    pub is_new: bool,
    /// Its share, once the leader has assigned it.
    pub assignment: Bytes,
    /// The request that waits for the group to be joined by all.
    pub joining: Option<T>,
    /// The request that waits for the leader's assignments.
    pub syncing: Option<T>,
    /// When it is removed, unless it sends a heartbeat before.
    pub gone_at: Duration,
}

impl<T: Copy> Member<T> {
    pub fn new(join: &Join, now: Duration) -> Member<T> {
        Member {
            instance: join.instance.clone(),
            identity: join.identity.clone(),
            session: join.session,
            rebalance: join.rebalance,
            protocols: join.protocols.clone(),
            said_bytes: join.bytes(),
            is_new: true,
            assignment: Bytes::new(),
            joining: None,
            syncing: None,
            gone_at: now + join.session,
        }
    }

    /// It joins again, with new metadata.
    pub fn update(&mut self, join: &Join, now: Duration) {
        self.identity = join.identity.clone();
        (self.session, self.rebalance) = (join.session, join.rebalance);
        (self.protocols, self.said_bytes) = (join.protocols.clone(), join.bytes());
        self.heard(now);
    }

    pub fn heard(&mut self, now: Duration) {
        self.gone_at = now + self.session;
    }

    /// When it is removed. A member that waits for a response can't send heartbeats.
    pub fn gone_at(&self) -> Option<Duration> {
        (self.joining.is_none() && self.syncing.is_none()).then_some(self.gone_at)
    }

    /// Its metadata for one strategy.
    pub fn says(&self, protocol: &str) -> Bytes {
        let known = self.protocols.iter().find(|(name, _)| **name == *protocol);
        known.map(|(_, says)| says.clone()).unwrap_or_default()
    }

    pub fn knows(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|(name, _)| **name == *protocol)
    }

    /// Its state in the journal.
    pub fn stored(&self, id: &Arc<str>) -> StoredMember {
        StoredMember {
            name: StoredName { id: id.clone(), instance: self.instance.clone(), identity: self.identity.clone() },
            session: self.session,
            rebalance: self.rebalance,
            protocols: self.protocols.clone(),
            assignment: self.assignment.clone(),
        }
    }

    /// A member of which the journal has kept this. Its session begins now.
    pub fn of_stored(stored: StoredMember, protocol_type: &Arc<str>, now: Duration) -> Member<T> {
        let join = Join {
            member: stored.name.id,
            instance: stored.name.instance,
            identity: stored.name.identity,
            session: stored.session,
            rebalance: stored.rebalance,
            protocol_type: protocol_type.clone(),
            protocols: stored.protocols,
            needs_id: false,
        };
        Member { is_new: false, assignment: stored.assignment, ..Member::new(&join, now) }
    }

    /// The maximum size of its state in the journal, in bytes.
    pub fn stored_bytes(&self) -> usize {
        self.said_bytes + MEMBER_STORED_BYTES - MEMBER_BYTES + self.assignment.len()
    }

    /// Its approximate memory.
    pub fn bytes(&self) -> usize {
        self.said_bytes + self.assignment.len()
    }
}
