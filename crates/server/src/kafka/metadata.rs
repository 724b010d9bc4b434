//! Metadata: the brokers, and topics with their partitions.

use super::building::Building;
use super::client::Client;
use super::error::Refusal;
use super::lookup::{id_of, topic_with_id};
use super::nodes::{CONTROLLING, Node};
use super::operations;
use rawline_broker::{ListedTopic, Topic, TopicError};
use rawline_kafka::Api;
use rawline_kafka::messages::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use std::collections::HashSet;
use std::sync::Arc;

/// The epoch of each partition's leader. It never changes, because a change of the leader never truncates a log.
pub(super) const EPOCH: i32 = 0;

/// A requested topic, or its name and the reason for an error. It is small, as there may be a million of them.
type Found = Result<ListedTopic, Box<(String, Refusal)>>;

/// Returns the response's body, and the first error in it.
pub(super) async fn respond(
    client: &Client,
    version: i16,
    request: MetadataRequest,
    building: &mut Building<'_>,
) -> (Vec<u8>, i16) {
    let mut unknown = Vec::new();
    let found = match request.topics {
        Some(wanted) if version > 0 || !wanted.is_empty() => {
            let creates = request.allow_auto_topic_creation && client.kafka.config.create_topics;
            let mut found = Vec::with_capacity(wanted.len());
            // A duplicate name gets one response, since a topic may have many partitions.
            let mut names = HashSet::with_capacity(wanted.len());
            for topic in wanted {
                let (name, topic) = match topic.name {
                    Some(name) => (name, None),
                    None => match topic_with_id(client, Api::Metadata, topic.topic_id).await {
                        Ok(topic) => (topic.topic_name().to_owned(), Some(topic)),
                        Err(Refusal { code, .. }) => {
                            let (error_code, topic_id) = (code.into(), topic.topic_id);
                            unknown.push(MetadataResponseTopic { error_code, topic_id, ..Default::default() });
                            continue;
                        }
                    },
                };
                if names.insert(name.clone()) {
                    let topic = match topic {
                        Some(topic) => Ok(topic),
                        None => find(client, &name, creates).await,
                    };
                    found.push(topic.map(|topic| topic.listed()).map_err(|error| Box::new((name, error))));
                }
            }
            found
        }
        _ => all(client),
    };
    let partitions = |found: &Found| found.as_ref().map_or(1, |topic| topic.partitions() as usize);
    building.begin(found.iter().map(partitions).sum()).await;
    let (leader_of, replicas, caller) = (client.leaders(), client.replicas(), client.caller());
    let count = found.len() + unknown.len();
    let refused_code = |found: &Found| found.as_ref().err().map(|refused| refused.1.code.into());
    let error = found.iter().find_map(refused_code).or(unknown.first().map(|topic| topic.error_code));
    let describe = |found: Found| match found {
        Ok(topic) => {
            let operations = operations::of_topic(caller.grants(), topic.topic_name());
            MetadataResponseTopic {
                topic_authorized_operations: operations::asked(request.include_topic_authorized_operations, operations),
                ..described(&topic, leader_of(topic.topic_name()), &replicas)
            }
        }
        Err(error) => refused(*error),
    };
    let broker = |Node { id, host, port, zone }: Node| MetadataResponseBroker {
        node_id: id,
        host,
        port: port.into(),
        rack: zone,
    };
    let response = MetadataResponse {
        brokers: client.nodes().into_iter().map(broker).collect(),
        cluster_id: Some(client.kafka.broker.storage_id().to_string()),
        controller_id: client.leader(CONTROLLING),
        cluster_authorized_operations: operations::asked(
            request.include_cluster_authorized_operations,
            operations::of_broker(caller.grants()),
        ),
        ..MetadataResponse::default()
    };
    let mut body = Vec::new();
    response.write_with(count, found.into_iter().map(describe).chain(unknown), version, &mut body);
    (body, error.unwrap_or_default())
}

fn all(client: &Client) -> Vec<Found> {
    let caller = client.caller();
    let is_seen = |topic: &ListedTopic| caller.grants().sees(topic.topic_name());
    client.kafka.broker.topics().into_iter().filter(is_seen).map(Ok).collect()
}

async fn find(client: &Client, name: &str, creates: bool) -> Result<Arc<Topic>, Refusal> {
    client.may_use_topic(Api::Metadata, name)?;
    let broker = &client.kafka.broker;
    match broker.topic(name).await {
        Err(TopicError::NotFound { .. }) if creates => {
            client.may_create(Api::Metadata, name)?;
            Ok(broker.topic_or_create(name).await?)
        }
        found => Ok(found?),
    }
}

/// The leader of a partition first, and the other brokers that it can be read from.
pub(super) fn with_leader(leader: i32, replicas: &[i32]) -> Vec<i32> {
    let others = replicas.iter().copied().filter(|id| *id != leader);
    std::iter::once(leader).chain(others).collect()
}

fn refused((name, Refusal { code, message }): (String, Refusal)) -> MetadataResponseTopic {
    tracing::debug!(topic = name, message, "refused a client's request for a topic");
    let (error_code, name) = (code.into(), Some(name));
    MetadataResponseTopic { error_code, name, ..MetadataResponseTopic::default() }
}

fn described(topic: &ListedTopic, leader: i32, replicas: &[i32]) -> MetadataResponseTopic {
    let partition = |number: u32| MetadataResponsePartition {
        partition_index: number as i32,
        leader_id: leader,
        leader_epoch: EPOCH,
        replica_nodes: with_leader(leader, replicas),
        isr_nodes: with_leader(leader, replicas),
        ..MetadataResponsePartition::default()
    };
    let partitions = (0..topic.partitions()).map(partition).collect();
    let (name, topic_id) = (Some(topic.topic_name().to_owned()), id_of(topic.topic_id()));
    MetadataResponseTopic { name, topic_id, partitions, ..MetadataResponseTopic::default() }
}
