//! CreatePartitions, and the limits of partitions.

use super::many::{Subjects, each, outcome};
use super::settings;
use crate::kafka::client::Client;
use crate::kafka::error::{ConnectionError, Refusal};
use rawline_broker::limits::TOPIC_PARTITIONS_MAX;
use rawline_kafka::messages::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};
use rawline_kafka::{Api, ErrorCode};
use serde_json::Map;

pub(super) async fn create(
    client: &Client,
    request: CreatePartitionsRequest,
) -> Result<CreatePartitionsResponse, ConnectionError> {
    let CreatePartitionsRequest { topics, validate_only, .. } = request;
    let subjects = Subjects::of(topics.iter().map(|topic| topic.name.clone()))?;
    let results = each(topics, |topic| create_one(client, topic, &subjects, validate_only)).await;
    Ok(CreatePartitionsResponse { results, ..CreatePartitionsResponse::default() })
}

async fn create_one(
    client: &Client,
    topic: CreatePartitionsTopic,
    subjects: &Subjects<String>,
    validate_only: bool,
) -> CreatePartitionsTopicResult {
    let created = try_create(client, &topic, subjects, validate_only).await;
    let created = if validate_only { created } else { client.audited("topic.alter", &topic.name, created) };
    let (error_code, error_message) = outcome(created);
    CreatePartitionsTopicResult { name: topic.name, error_code, error_message }
}

async fn try_create(
    client: &Client,
    wanted: &CreatePartitionsTopic,
    subjects: &Subjects<String>,
    validate_only: bool,
) -> Result<(), Refusal> {
    subjects.check(&wanted.name)?;
    client.may_use_topic(Api::CreatePartitions, &wanted.name)?;
    let topic = client.kafka.broker.topic(&wanted.name).await?;
    let partitions = checked(wanted.count)?;
    let added = match partitions.checked_sub(topic.partitions()) {
        Some(added) if added > 0 => added,
        _ => {
            let message = format!(
                "the topic has {} partition(s), whose number can only grow, and not become {partitions}; use a \
                 greater number",
                topic.partitions()
            );
            return Err(Refusal::new(ErrorCode::InvalidPartitions, message));
        }
    };
    if let Some(assignments) = &wanted.assignments {
        if assignments.len() != added as usize {
            let message =
                format!("{} assignment(s) for {added} new partition(s); send one for each", assignments.len());
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        for assignment in assignments {
            check_assigned(client, &assignment.broker_ids)?;
        }
    }
    if !validate_only {
        let changes = Map::from_iter([(settings::PARTITIONS.to_owned(), partitions.into())]);
        topic.change_settings(changes).await?;
    }
    Ok(())
}

/// A number of partitions, if a topic can have so many.
pub(super) fn checked(partitions: i32) -> Result<u32, Refusal> {
    let allowed = u32::try_from(partitions).ok().filter(|partitions| (1..=TOPIC_PARTITIONS_MAX).contains(partitions));
    allowed.ok_or_else(|| {
        let message = format!("a topic can't have {partitions} partitions; use 1 to {TOPIC_PARTITIONS_MAX}");
        Refusal::new(ErrorCode::InvalidPartitions, message)
    })
}

/// Fails unless a partition can have these brokers: one of those that there are.
pub(super) fn check_assigned(client: &Client, brokers: &[i32]) -> Result<(), Refusal> {
    let nodes = client.nodes();
    if matches!(brokers, [one] if nodes.iter().any(|node| node.id == *one)) {
        return Ok(());
    }
    let ids: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
    let ids = ids.join(" or ");
    let message = format!("assign each partition to broker {ids}, or leave the assignments out");
    Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message))
}
