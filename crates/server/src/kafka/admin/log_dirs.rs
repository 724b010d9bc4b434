//! DescribeLogDirs: how large partitions are in the store.

use crate::kafka::building::Building;
use crate::kafka::client::Client;
use crate::kafka::error::Refusal;
use rawline_broker::ListedTopic;
use rawline_broker::limits::TOPIC_PARTITIONS_MAX;
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
        None => all(client),
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

fn all(client: &Client) -> Vec<DescribeLogDirsTopic> {
    let topics = client.kafka.broker.topics();
    topics.iter().map(|topic| found(topic.topic_name().to_owned(), topic, |_| true)).collect()
}

/// As in Kafka, what doesn't exist is left out.
async fn some(client: &Client, wanted: BTreeMap<String, BTreeSet<i32>>) -> Vec<DescribeLogDirsTopic> {
    let mut described = Vec::with_capacity(wanted.len());
    for (name, numbers) in wanted {
        match client.kafka.broker.topic(&name).await {
            Ok(topic) => described.push(found(name, &topic.listed(), |number| numbers.contains(&number))),
            Err(error) => tracing::debug!(topic = name, %error, "a topic's size isn't known"),
        }
    }
    described
}

fn found(name: String, topic: &ListedTopic, is_wanted: impl Fn(i32) -> bool) -> DescribeLogDirsTopic {
    let sizes = (0..).zip(topic.partitions_bytes()).filter(|(number, _)| is_wanted(*number));
    let described = sizes.map(|(number, bytes)| DescribeLogDirsPartition {
        partition_index: number,
        partition_size: i64::try_from(bytes).unwrap_or(i64::MAX),
        ..DescribeLogDirsPartition::default()
    });
    DescribeLogDirsTopic { name, partitions: described.collect() }
}
