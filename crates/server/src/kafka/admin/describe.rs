//! DescribeTopicPartitions: topics and their partitions, a page at a time.

use crate::kafka::building::Building;
use crate::kafka::client::Client;
use crate::kafka::error::Refusal;
use crate::kafka::lookup::id_of;
use crate::kafka::metadata::{EPOCH, with_leader};
use crate::kafka::operations;
use rawline_broker::Topic;
use rawline_kafka::Api;
use rawline_kafka::messages::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic, TopicPartitionsCursor,
};
use std::collections::BTreeSet;
use std::ops::Bound;

/// Maximum number of partitions in a page, as in Kafka.
const PAGE_PARTITIONS_MAX: u32 = 2000;

pub(super) async fn respond(
    client: &Client,
    request: DescribeTopicPartitionsRequest,
    building: &mut Building<'_>,
) -> DescribeTopicPartitionsResponse {
    let DescribeTopicPartitionsRequest { topics, response_partition_limit, cursor } = request;
    let limit = u32::try_from(response_partition_limit).unwrap_or_default().clamp(1, PAGE_PARTITIONS_MAX);
    let cursor = cursor.unwrap_or_default();
    let mut names: BTreeSet<String> = match topics.is_empty() {
        true => {
            building.begin(2 * limit as usize).await;
            let (caller, from) = (client.caller(), cursor.topic_name.as_str());
            let sees = |name: &str| caller.grants().sees(name);
            // Each has a partition at least.
            let (topics, _) = client.kafka.broker.topics_page("", Bound::Included(from), limit as usize + 1, sees);
            topics.iter().map(|topic| topic.topic_name().to_owned()).collect()
        }
        false => {
            building.begin(topics.len() + limit as usize).await;
            topics.into_iter().map(|topic| topic.name).collect()
        }
    };
    names = names.split_off(&cursor.topic_name);
    let mut page = Page { topics: Vec::new(), left: limit, next: None };
    for name in names {
        if page.next.is_some() {
            break;
        }
        let first = if name == cursor.topic_name { cursor.partition_index } else { 0 };
        page.add(client, name, u32::try_from(first).unwrap_or_default()).await;
    }
    DescribeTopicPartitionsResponse {
        topics: page.topics,
        next_cursor: page.next,
        ..DescribeTopicPartitionsResponse::default()
    }
}

/// One response.
struct Page {
    topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// How many more partitions may be in it.
    left: u32,
    /// The start of the next one, if this one is full and isn't the last.
    next: Option<TopicPartitionsCursor>,
}

impl Page {
    /// Adds a topic's partitions from `first` on, as far as there is room.
    async fn add(&mut self, client: &Client, name: String, first: u32) {
        let found = match client.may_use_topic(Api::DescribeTopicPartitions, &name) {
            Ok(()) => client.kafka.broker.topic(&name).await.map_err(Refusal::from),
            Err(refusal) => Err(refusal),
        };
        let (topic_id, partitions) = match found {
            Ok(topic) => (id_of(topic.topic_id()), self.take(client, &topic, &name, first)),
            Err(Refusal { code, message }) => {
                tracing::debug!(topic = name, message, "refused a client's request for a topic");
                return self.topics.push(DescribeTopicPartitionsResponseTopic {
                    error_code: code.into(),
                    name: Some(name),
                    ..DescribeTopicPartitionsResponseTopic::default()
                });
            }
        };
        if partitions.is_empty() && self.next.is_some() {
            return;
        }
        // The request can't say whether they are wanted.
        let topic_authorized_operations = operations::of_topic(client.caller().grants(), &name);
        self.topics.push(DescribeTopicPartitionsResponseTopic {
            name: Some(name),
            topic_id,
            partitions,
            topic_authorized_operations,
            ..DescribeTopicPartitionsResponseTopic::default()
        });
    }

    fn take(
        &mut self,
        client: &Client,
        topic: &Topic,
        name: &str,
        first: u32,
    ) -> Vec<DescribeTopicPartitionsResponsePartition> {
        let all = first..topic.partitions().max(first);
        let end = all.end.min(all.start.saturating_add(self.left));
        self.left -= end - all.start;
        if end < all.end {
            let cursor = TopicPartitionsCursor { topic_name: name.to_owned(), partition_index: end as i32 };
            self.next = Some(cursor);
        }
        let (leader, replicas) = (client.leaders()(name), client.replicas());
        (all.start..end).map(|number| described(number, leader, &replicas)).collect()
    }
}

fn described(number: u32, leader: i32, replicas: &[i32]) -> DescribeTopicPartitionsResponsePartition {
    DescribeTopicPartitionsResponsePartition {
        partition_index: number as i32,
        leader_id: leader,
        leader_epoch: EPOCH,
        replica_nodes: with_leader(leader, replicas),
        isr_nodes: with_leader(leader, replicas),
        eligible_leader_replicas: Some(Vec::new()),
        last_known_elr: Some(Vec::new()),
        ..DescribeTopicPartitionsResponsePartition::default()
    }
}
