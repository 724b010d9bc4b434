//! Finds topics and partitions by name or id, for clients with the necessary grant.

use super::client::Client;
use super::error::Refusal;
use rawline_broker::{Partition, Topic, TopicId};
use rawline_kafka::messages::Uuid;
use rawline_kafka::produce::TopicRef;
use rawline_kafka::{Api, ErrorCode};
use std::sync::Arc;

/// The value for no id.
pub(super) const NO_ID: Uuid = Uuid([0; 16]);

/// The topic with this id.
pub(super) async fn topic_with_id(client: &Client, api: Api, id: Uuid) -> Result<Arc<Topic>, Refusal> {
    let topic = client.kafka.broker.topic_with_id(TopicId::from_bytes(id.0)).await?.ok_or_else(no_such_id)?;
    client.may_use_topic(api, topic.topic_name())?;
    Ok(topic)
}

/// A client's reference to a topic.
pub(super) fn id_of(id: TopicId) -> Uuid {
    Uuid(id.to_bytes())
}

/// The partition of an existing topic.
pub(super) async fn partition(client: &Client, api: Api, topic: &str, number: i32) -> Result<Arc<Partition>, Refusal> {
    client.may_use_topic(api, topic)?;
    Ok(client.kafka.broker.partition(topic, checked(number)?).await?)
}

/// The partition of an existing topic, whatever the request calls it.
pub(super) async fn partition_of(
    client: &Client,
    api: Api,
    topic: &TopicRef,
    number: i32,
) -> Result<Arc<Partition>, Refusal> {
    match topic {
        TopicRef::Name(name) => partition(client, api, name, number).await,
        TopicRef::Id(id) => {
            let found = client.kafka.broker.partition_with_id(TopicId::from_bytes(*id), checked(number)?).await?;
            let found = found.ok_or_else(no_such_id)?;
            client.may_use_topic(api, found.topic_name())?;
            Ok(found)
        }
    }
}

fn checked(number: i32) -> Result<u64, Refusal> {
    u64::try_from(number)
        .map_err(|_| Refusal::new(ErrorCode::UnknownTopicOrPartition, format!("no partition has the number {number}")))
}

/// For a topic that was deleted, or isn't in this storage.
pub(super) fn no_such_id() -> Refusal {
    Refusal::new(ErrorCode::UnknownTopicId, "no topic has this id; ask for the topic's id by its name")
}
