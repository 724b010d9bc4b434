//! The brokers on the storage as Kafka's clients know them: by numbers, one of which leads all partitions and
//! coordinates all groups.

use super::Client;
use rawline_broker::cluster::{Card, Cluster, Endpoint};
use std::sync::Arc;

/// What a broker calls itself that shares its storage with no other.
const NODE: i32 = 1;

/// A broker that Kafka's clients can connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub id: i32,
    pub host: String,
    pub port: u16,
}

impl Client {
    /// This broker's number.
    pub(super) fn node(&self) -> i32 {
        self.cluster().map_or(NODE, |cluster| cluster.brokers().me.node())
    }

    /// The number of the broker that leads all partitions: the owner, unless Kafka's clients can't connect to it.
    pub(super) fn leader(&self) -> i32 {
        self.owner_with_kafka().map_or_else(|| self.node(), |owner| owner.id.node())
    }

    /// Whether another broker leads all partitions, and coordinates all groups.
    pub(super) fn is_led_elsewhere(&self) -> bool {
        self.owner_with_kafka().is_some()
    }

    /// The brokers that clients can connect to, this one first.
    pub(super) fn nodes(&self) -> Vec<Node> {
        let (host, port) = self.advertised();
        let mut nodes = vec![Node { id: self.node(), host, port }];
        if let Some(cluster) = self.cluster() {
            let brokers = cluster.brokers();
            nodes.extend(brokers.live().filter(|card| card.id != brokers.me).filter_map(of_card));
        }
        nodes
    }

    /// The broker that leads all partitions.
    pub(super) fn leading_node(&self) -> Node {
        self.owner_with_kafka().as_ref().and_then(of_card).unwrap_or_else(|| {
            let (host, port) = self.advertised();
            Node { id: self.node(), host, port }
        })
    }

    /// Whether this broker coordinates groups, and knows what was committed before it did.
    pub(super) async fn coordinates(&self) -> bool {
        match self.cluster() {
            Some(cluster) => cluster.acts().await,
            None => true,
        }
    }

    fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.kafka.broker.cluster()
    }

    fn owner_with_kafka(&self) -> Option<Card> {
        self.cluster()?.other_owner().filter(|owner| owner.kafka.is_some())
    }
}

fn of_card(card: &Card) -> Option<Node> {
    let Endpoint { host, port } = card.kafka.clone()?;
    Some(Node { id: card.id.node(), host, port })
}
