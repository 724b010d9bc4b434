//! DescribeLogDirs: how large partitions are in the store.

use crate::kafka::building::Building;
use crate::kafka::client::Client;
use crate::kafka::error::Refusal;
use rawline_broker::limits::TOPIC_PARTITIONS_MAX;
use rawline_broker::{Topic, TopicError};
use rawline_kafka::Api;
use rawline_kafka::messages::{
    DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse, DescribeLogDirsResult,
    DescribeLogDirsTopic,
};
use std::collections::{BTreeMap, BTreeSet};

/// Stands for the storage, whatever it is.
const LOG_DIR: &str = "rawline";

pub(super) async fn describe(
    client: &Client,
    request: DescribeLogDirsRequest,
    building: &mut Building<'_>,
) -> DescribeLogDirsResponse {
    if let Err(Refusal { code, .. }) = client.may_monitor(Api::DescribeLogDirs) {
        return DescribeLogDirsResponse { error_code: code.into(), ..DescribeLogDirsResponse::default() };
    }
    // Sizes are computed for all partitions of a topic, whichever are requested.
    let topics = request.topics.as_ref().map_or_else(|| client.kafka.broker.topics_count(), Vec::len);
    building.begin(topics.saturating_mul(TOPIC_PARTITIONS_MAX as usize)).await;
    let topics = match request.topics {
        None => all(client).await,
        Some(wanted) => {
            let mut merged: BTreeMap<String, BTreeSet<i32>> = BTreeMap::new();
            for topic in wanted {
                merged.entry(topic.topic).or_default().extend(topic.partitions);
            }
            some(client, merged).await
        }
    };
    let dir = DescribeLogDirsResult { log_dir: LOG_DIR.to_owned(), topics, ..DescribeLogDirsResult::default() };
    DescribeLogDirsResponse { results: vec![dir], ..DescribeLogDirsResponse::default() }
}

async fn all(client: &Client) -> Vec<DescribeLogDirsTopic> {
    let topics = client.kafka.broker.topics();
    let mut described = Vec::with_capacity(topics.len());
    for topic in topics {
        let name = topic.status().name;
        described.extend(found(name, partitions(&topic, |_| true).await));
    }
    described
}

/// As in Kafka, what doesn't exist is left out.
async fn some(client: &Client, wanted: BTreeMap<String, BTreeSet<i32>>) -> Vec<DescribeLogDirsTopic> {
    let mut described = Vec::with_capacity(wanted.len());
    for (name, numbers) in wanted {
        let sizes = match client.kafka.broker.topic(&name).await {
            Ok(topic) => partitions(&topic, |number| numbers.contains(&number)).await,
            Err(error) => Err(error),
        };
        described.extend(found(name, sizes));
    }
    described
}

fn found(name: String, sizes: Result<Vec<DescribeLogDirsPartition>, TopicError>) -> Option<DescribeLogDirsTopic> {
    match sizes {
        Ok(partitions) => Some(DescribeLogDirsTopic { name, partitions }),
        Err(error) => {
            tracing::debug!(topic = name, %error, "a topic's size isn't known");
            None
        }
    }
}

async fn partitions(
    topic: &Topic,
    is_wanted: impl Fn(i32) -> bool,
) -> Result<Vec<DescribeLogDirsPartition>, TopicError> {
    let sizes = topic.partitions_bytes();
    let described =
        (0..).zip(sizes).filter(|(number, _)| is_wanted(*number)).map(|(number, bytes)| DescribeLogDirsPartition {
            partition_index: number,
            partition_size: i64::try_from(bytes).unwrap_or(i64::MAX),
            ..DescribeLogDirsPartition::default()
        });
    Ok(described.collect())
}
