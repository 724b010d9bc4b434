//! The brokers on the storage as nodes of Kafka's protocol, by number. The owner of a journal leads the partitions of
//! its topics, and coordinates its groups.

use super::client::Client;
use rawline_broker::cluster::{Brokers, Card, Cluster, Endpoint};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The id of a broker that shares its storage with no other.
const NODE: i32 = 1;

/// The journal whose owner Kafka's clients take for the controller: any broker changes topics.
pub(super) const CONTROLLING: u32 = 0;

/// A broker that Kafka's clients can connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub id: i32,
    pub host: String,
    pub port: u16,
    /// The zone that it runs in.
    pub zone: Option<String>,
}

impl Client {
    /// This broker's number.
    pub(super) fn node(&self) -> i32 {
        self.cluster().map_or(NODE, |cluster| cluster.brokers().me.node())
    }

    /// The number of the broker that leads the partitions of a journal: its owner, unless Kafka's clients can't connect
    /// to that.
    pub(super) fn leader(&self, journal: u32) -> i32 {
        self.owner_with_kafka(journal).map_or_else(|| self.node(), |owner| owner.id.node())
    }

    /// The number of the broker that leads all partitions of a topic, by the topic's name, as of now.
    pub(super) fn leaders(&self) -> impl Fn(&str) -> i32 + use<> {
        let broker = self.kafka.broker.clone();
        let leaders: Vec<i32> = (0..broker.journals()).map(|journal| self.leader(journal)).collect();
        let me = self.node();
        move |topic| leaders.get(broker.journal_of(topic) as usize).copied().unwrap_or(me)
    }

    /// Whether another broker leads the partitions of a topic, or coordinates a group, with this name.
    pub(super) fn is_led_elsewhere(&self, name: &str) -> bool {
        self.owner_with_kafka(self.kafka.broker.journal_of(name)).is_some()
    }

    /// The brokers that clients can connect to, this one first.
    pub(super) fn nodes(&self) -> Vec<Node> {
        let mut nodes = vec![self.own()];
        if let Some(cluster) = self.cluster() {
            let brokers = cluster.brokers();
            nodes.extend(brokers.live().filter(|card| card.id != brokers.me).filter_map(of_card));
        }
        nodes
    }

    /// Those of them that consumers of their zones read partitions from, next to the leader.
    pub(super) fn replicas(&self) -> Vec<i32> {
        self.nodes().into_iter().filter(|node| node.zone.is_some()).map(|node| node.id).collect()
    }

    /// The brokers, if some are in a consumer's zone and this one isn't.
    pub(super) fn in_zone(&self, zone: &str) -> Option<Arc<Brokers>> {
        if zone.is_empty() || self.kafka.broker.zone() == Some(zone) {
            return None;
        }
        let brokers = self.cluster()?.brokers();
        let has_some = brokers.live().any(|card| card.zone.as_deref() == Some(zone));
        has_some.then_some(brokers)
    }

    /// The broker that coordinates a group.
    pub(super) fn coordinator(&self, group: &str) -> Node {
        let owner = self.owner_with_kafka(self.kafka.broker.journal_of(group));
        owner.as_ref().and_then(of_card).unwrap_or_else(|| self.own())
    }

    /// Whether this broker coordinates these groups, or without groups all journals that no other broker leads, and has
    /// caught up with earlier commits.
    pub(super) async fn coordinates(&self, groups: &[&str]) -> bool {
        let Some(cluster) = self.cluster() else { return true };
        let journals: BTreeSet<u32> = match groups {
            // All of them.
            [] => (0..self.kafka.broker.journals()).filter(|journal| !cluster.is_owned_by_other(*journal)).collect(),
            groups => groups.iter().map(|group| self.kafka.broker.journal_of(group)).collect(),
        };
        for journal in journals {
            if !cluster.acts(journal).await {
                return false;
            }
        }
        true
    }

    fn own(&self) -> Node {
        let (host, port) = self.advertised();
        Node { id: self.node(), host, port, zone: self.kafka.broker.zone().map(str::to_owned) }
    }

    /// The address for clients.
    pub(super) fn advertised(&self) -> (String, u16) {
        match &self.kafka.config.advertise {
            Some(advertise) => advertise.clone(),
            None => (self.local.ip().to_canonical().to_string(), self.local.port()),
        }
    }

    fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.kafka.broker.cluster()
    }

    fn owner_with_kafka(&self, journal: u32) -> Option<Card> {
        self.cluster()?.other_owner(journal).filter(|owner| owner.kafka.is_some())
    }
}

fn of_card(card: &Card) -> Option<Node> {
    let Endpoint { host, port } = card.kafka.clone()?;
    Some(Node { id: card.id.node(), host, port, zone: card.zone.clone() })
}
