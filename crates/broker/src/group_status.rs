//! Groups and their members as others see them.

use bytes::Bytes;
use rawline_groups::consumer::{ConsumerGroup, ConsumerMember, ConsumerPhase, Partitions};
use rawline_groups::{Group, Phase};
use rawline_journal::TopicId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What groups are taken for whose members share partitions.
const CONSUMERS: &str = "consumer";

/// How far the division of a group's partitions is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupState {
    /// The group has no members.
    Empty,
    /// Members join, for the first time or again.
    Joining,
    /// The leader divides the partitions.
    Syncing,
    /// In a consumer group: the next heartbeat divides the partitions.
    Assigning,
    /// In a consumer group: members give partitions up, or wait for them.
    Reconciling,
    /// Every member has its share.
    Stable,
}

impl From<Phase> for GroupState {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Empty => GroupState::Empty,
            Phase::Joining { .. } => GroupState::Joining,
            Phase::Syncing { .. } => GroupState::Syncing,
            Phase::Stable => GroupState::Stable,
        }
    }
}

impl From<ConsumerPhase> for GroupState {
    fn from(phase: ConsumerPhase) -> Self {
        match phase {
            ConsumerPhase::Empty => GroupState::Empty,
            ConsumerPhase::Assigning => GroupState::Assigning,
            ConsumerPhase::Reconciling => GroupState::Reconciling,
            ConsumerPhase::Stable => GroupState::Stable,
        }
    }
}

/// A group as others see it.
#[derive(Debug, Clone)]
pub struct GroupStatus {
    /// How far the division of its partitions is.
    pub state: GroupState,
    /// What kind of group its members take it for; empty if it isn't known that it has had members.
    pub protocol_type: String,
    /// The way in which its partitions are divided.
    pub protocol: String,
    /// Of a group in which the broker divides the partitions: its epoch, and that of the newest division.
    pub epochs: Option<(u32, u32)>,
    /// Its members.
    pub members: Vec<MemberStatus>,
    /// Whether members have got an id and not joined yet.
    pub(crate) has_promises: bool,
}

/// A member as others see it.
#[derive(Debug, Clone)]
pub struct MemberStatus {
    /// Its id.
    pub id: Arc<str>,
    /// The instance under which it returns after a restart.
    pub instance: Option<Arc<str>>,
    /// The name of its client.
    pub client: Arc<str>,
    /// Where it connects from.
    pub host: Arc<str>,
    /// Its metadata, and its share.
    pub share: MemberShare,
}

/// A member's topics and partitions.
#[derive(Debug, Clone)]
pub enum MemberShare {
    /// Where the members divide the partitions: both in the form that they have agreed on.
    Classic {
        /// Its metadata.
        says: Bytes,
        /// Its share.
        assignment: Bytes,
    },
    /// Where the broker does.
    Consumer(ConsumerShare),
}

/// The topics and partitions of a consumer group's member.
#[derive(Debug, Clone)]
pub struct ConsumerShare {
    /// The epoch of the share that it has; `None` while it has left for a while.
    pub epoch: Option<u32>,
    /// Where it runs.
    pub rack: Option<Arc<str>>,
    /// The topics that it wants, by name.
    pub names: BTreeSet<Arc<str>>,
    /// It wants also topics with names like this.
    pub regex: Option<Arc<str>>,
    /// The partitions that it may read.
    pub assigned: Vec<TopicShare>,
    /// Its next share.
    pub target: Vec<TopicShare>,
}

/// Partitions of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicShare {
    /// The topic's id.
    pub id: TopicId,
    /// Its name.
    pub name: Arc<str>,
    /// The partitions' numbers.
    pub partitions: Vec<u32>,
}

impl GroupStatus {
    /// Of a group of which nothing is known but offsets.
    pub(crate) fn of_offsets() -> GroupStatus {
        GroupStatus {
            state: GroupState::Empty,
            protocol_type: String::new(),
            protocol: String::new(),
            epochs: None,
            members: Vec::new(),
            has_promises: false,
        }
    }

    pub(crate) fn of_classic<T: Copy>(group: &Group<T>) -> GroupStatus {
        let (protocol_type, protocol) = group.protocol();
        let members = group.members().map(|(id, instance, identity, says, assignment)| MemberStatus {
            id: id.clone(),
            instance: instance.cloned(),
            client: identity.client.clone(),
            host: identity.host.clone(),
            share: MemberShare::Classic { says, assignment: assignment.clone() },
        });
        GroupStatus {
            state: group.phase().into(),
            protocol_type: protocol_type.to_owned(),
            protocol: protocol.to_owned(),
            epochs: None,
            members: members.collect(),
            has_promises: !group.is_empty(),
        }
    }

    pub(crate) fn of_consumer(group: &ConsumerGroup) -> GroupStatus {
        let members = group.members().map(|(id, member)| MemberStatus {
            id: id.clone(),
            instance: member.instance.clone(),
            client: member.identity.client.clone(),
            host: member.identity.host.clone(),
            share: MemberShare::Consumer(ConsumerShare::of(group, member)),
        });
        GroupStatus {
            state: group.phase().into(),
            protocol_type: CONSUMERS.to_owned(),
            protocol: group.assignor().name().to_owned(),
            epochs: Some(group.epochs()),
            members: members.collect(),
            has_promises: false,
        }
    }
}

impl ConsumerShare {
    fn of(group: &ConsumerGroup, member: &ConsumerMember) -> ConsumerShare {
        // Topics that don't exist any more have no name.
        let named = |share: &Partitions| {
            let named = share.topics().filter_map(|(id, numbers)| {
                Some(TopicShare { id, name: group.topic(id)?.clone(), partitions: numbers.iter().copied().collect() })
            });
            named.collect()
        };
        ConsumerShare {
            epoch: (!member.is_away).then_some(member.epoch),
            rack: member.rack.clone(),
            names: member.names.clone(),
            regex: member.regex.clone(),
            assigned: named(&member.assigned),
            target: named(&member.target),
        }
    }
}
