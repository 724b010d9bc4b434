//! Metadata: the one broker, and topics with their partitions.

use super::error::Refusal;
use super::{Client, operations};
use rawline_broker::{Topic, TopicError};
use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use std::collections::HashSet;

/// What this broker calls itself.
pub(super) const NODE: i32 = 1;

/// The epoch of each partition's leader: logs are never truncated, and no other broker takes part.
pub(super) const EPOCH: i32 = 0;

/// What all brokers on one storage are together.
pub(super) const CLUSTER: &str = "rawline";

pub(super) async fn respond(client: &Client, version: i16, request: MetadataRequest) -> MetadataResponse {
    let mut topics = match request.topics {
        Some(wanted) if version > 0 || !wanted.is_empty() => {
            let creates = request.allow_auto_topic_creation && client.kafka.config.create_topics;
            let mut topics = Vec::with_capacity(wanted.len());
            // A name that is repeated is answered once: a short name may stand for many partitions.
            let mut names = HashSet::with_capacity(wanted.len());
            for topic in wanted {
                topics.push(match topic.name {
                    Some(name) if names.contains(&name) => continue,
                    Some(name) => {
                        let found = described(&name, find(client, &name, creates).await);
                        names.insert(name);
                        found
                    }
                    // Topics have no ids yet.
                    None => MetadataResponseTopic {
                        error_code: ErrorCode::UnknownTopicId.into(),
                        topic_id: topic.topic_id,
                        ..MetadataResponseTopic::default()
                    },
                });
            }
            topics
        }
        _ => all(client),
    };
    for topic in topics.iter_mut().filter(|topic| topic.error_code == i16::from(ErrorCode::None)) {
        topic.topic_authorized_operations =
            operations::asked(request.include_topic_authorized_operations, operations::OF_TOPICS);
    }
    let (host, port) = client.advertised();
    MetadataResponse {
        brokers: vec![MetadataResponseBroker { node_id: NODE, host, port: port.into(), rack: None }],
        cluster_id: Some(CLUSTER.to_owned()),
        controller_id: NODE,
        topics,
        cluster_authorized_operations: operations::asked(
            request.include_cluster_authorized_operations,
            operations::OF_BROKERS,
        ),
        ..MetadataResponse::default()
    }
}

impl Client {
    /// Where clients connect to.
    pub(super) fn advertised(&self) -> (String, u16) {
        match &self.kafka.config.advertise {
            Some(advertise) => advertise.clone(),
            None => (self.local.ip().to_canonical().to_string(), self.local.port()),
        }
    }
}

fn all(client: &Client) -> Vec<MetadataResponseTopic> {
    client.kafka.broker.topics().iter().map(|topic| topic_of(&topic.status().name, topic)).collect()
}

async fn find(client: &Client, name: &str, creates: bool) -> Result<MetadataResponseTopic, TopicError> {
    let broker = &client.kafka.broker;
    let topic = if creates { broker.topic_or_create(name).await } else { broker.topic(name).await }?;
    Ok(topic_of(name, &topic))
}

fn topic_of(name: &str, topic: &Topic) -> MetadataResponseTopic {
    let partition = |number: u32| MetadataResponsePartition {
        partition_index: number as i32,
        leader_id: NODE,
        leader_epoch: EPOCH,
        replica_nodes: vec![NODE],
        isr_nodes: vec![NODE],
        ..MetadataResponsePartition::default()
    };
    let partitions = (0..topic.partitions()).map(partition).collect();
    MetadataResponseTopic { name: Some(name.to_owned()), partitions, ..MetadataResponseTopic::default() }
}

fn described(name: &str, found: Result<MetadataResponseTopic, TopicError>) -> MetadataResponseTopic {
    found.unwrap_or_else(|error| {
        let Refusal { code, message } = error.into();
        tracing::debug!(topic = name, message, "a client asks for a topic in vain");
        MetadataResponseTopic {
            error_code: code.into(),
            name: Some(name.to_owned()),
            ..MetadataResponseTopic::default()
        }
    })
}
