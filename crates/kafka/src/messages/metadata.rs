//! Brokers, topics and their partitions.

use super::structure::*;
use crate::api::Api;

structures! {
    /// Asks where topics are, or for all of them.
    struct MetadataRequest {
        /// `None`: all. In version 0 all are meant by an empty list.
        topics: Option<Vec<MetadataRequestTopic>> [0.., null 1],
        /// Older clients create topics by asking for them.
        allow_auto_topic_creation: bool [4..] = true,
        include_cluster_authorized_operations: bool [8..=10],
        include_topic_authorized_operations: bool [8..],
    }

    /// A requested topic.
    struct MetadataRequestTopic {
        topic_id: Uuid [10..],
        /// `None` if the id is given.
        name: Option<String> [0.., null 10],
    }

    /// The brokers, and the requested topics.
    struct MetadataResponse {
        throttle_time_ms: i32 [3..],
        brokers: Vec<MetadataResponseBroker> [0..],
        cluster_id: Option<String> [2..],
        /// -1: none.
        controller_id: i32 [1..] = -1,
        topics: Vec<MetadataResponseTopic> [0..],
        /// A bit for each operation that the client may do; `i32::MIN`: not requested.
        cluster_authorized_operations: i32 [8..=10] = i32::MIN,
        error_code: i16 [13..],
    }

    /// A broker that clients can connect to.
    struct MetadataResponseBroker {
        node_id: i32 [0..],
        host: String [0..],
        port: i32 [0..],
        rack: Option<String> [1..],
    }

    /// A topic and its partitions.
    struct MetadataResponseTopic {
        error_code: i16 [0..],
        name: Option<String> [0.., null 12],
        topic_id: Uuid [10..],
        is_internal: bool [1..],
        partitions: Vec<MetadataResponsePartition> [0..],
        /// A bit for each operation that the client may do; `i32::MIN`: not requested.
        topic_authorized_operations: i32 [8..] = i32::MIN,
    }

    /// A partition and the brokers that have it.
    struct MetadataResponsePartition {
        error_code: i16 [0..],
        partition_index: i32 [0..],
        /// -1: none.
        leader_id: i32 [0..],
        leader_epoch: i32 [7..] = -1,
        replica_nodes: Vec<i32> [0..],
        /// Brokers whose copy is complete.
        isr_nodes: Vec<i32> [0..],
        offline_replicas: Vec<i32> [5..],
    }

    /// Asks for the brokers.
    struct DescribeClusterRequest {
        include_cluster_authorized_operations: bool [0..],
        /// 1: brokers, 2: controllers.
        endpoint_type: i8 [1..] = 1,
        include_fenced_brokers: bool [2..],
    }

    /// The brokers.
    struct DescribeClusterResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        endpoint_type: i8 [1..] = 1,
        cluster_id: String [0..],
        controller_id: i32 [0..] = -1,
        brokers: Vec<DescribeClusterBroker> [0..],
        /// A bit for each operation that the client may do; `i32::MIN`: not requested.
        cluster_authorized_operations: i32 [0..] = i32::MIN,
    }

    /// A broker that clients can connect to.
    struct DescribeClusterBroker {
        broker_id: i32 [0..],
        host: String [0..],
        port: i32 [0..],
        rack: Option<String> [0..],
        is_fenced: bool [2..],
    }

    /// Asks for the partitions of topics, a page at a time.
    struct DescribeTopicPartitionsRequest {
        topics: Vec<DescribeTopicPartitionsTopic> [0..],
        /// Maximum number of partitions in the response.
        response_partition_limit: i32 [0..] = 2000,
        /// The start of the page; `None` for the beginning.
        cursor: Option<TopicPartitionsCursor> [0..],
    }

    /// A requested topic.
    struct DescribeTopicPartitionsTopic {
        name: String [0..],
    }

    /// The start of a page.
    struct TopicPartitionsCursor {
        topic_name: String [0..],
        partition_index: i32 [0..],
    }

    /// A page of topics and their partitions.
    struct DescribeTopicPartitionsResponse {
        throttle_time_ms: i32 [0..],
        topics: Vec<DescribeTopicPartitionsResponseTopic> [0..],
        /// The start of the next page, if there is one.
        next_cursor: Option<TopicPartitionsCursor> [0..],
    }

    /// A topic and its partitions.
    struct DescribeTopicPartitionsResponseTopic {
        error_code: i16 [0..],
        name: Option<String> [0..],
        topic_id: Uuid [0..],
        is_internal: bool [0..],
        partitions: Vec<DescribeTopicPartitionsResponsePartition> [0..],
        /// A bit for each operation that the client may do; `i32::MIN`: not requested.
        topic_authorized_operations: i32 [0..] = i32::MIN,
    }

    /// A partition and the brokers that have it.
    struct DescribeTopicPartitionsResponsePartition {
        error_code: i16 [0..],
        partition_index: i32 [0..],
        leader_id: i32 [0..],
        leader_epoch: i32 [0..] = -1,
        replica_nodes: Vec<i32> [0..],
        isr_nodes: Vec<i32> [0..],
        eligible_leader_replicas: Option<Vec<i32>> [0..],
        last_known_elr: Option<Vec<i32>> [0..],
        offline_replicas: Vec<i32> [0..],
    }
}

impl MetadataResponse {
    /// Appends the body with these topics, of which there are `count`; `self` has none. Each is written before the next
    /// one is made: a million of them take 340 MB together, and a fifth of it in the response.
    pub fn write_with(
        &self,
        count: usize,
        topics: impl Iterator<Item = MetadataResponseTopic>,
        version: i16,
        to: &mut Vec<u8>,
    ) {
        assert!(self.topics.is_empty(), "{} other topics", self.topics.len());
        let is_flexible = Api::Metadata.is_flexible(version);
        let (mut none, mut rest, mut body) =
            (Writer::new(is_flexible), Writer::new(is_flexible), Writer::new(is_flexible));
        none.count(0);
        if (8..=10).contains(&version) {
            rest.i32(self.cluster_authorized_operations);
        }
        if version >= 13 {
            rest.i16(self.error_code);
        }
        rest.no_tags();
        self.write(&mut body, version);
        let (none, rest, body) = (none.into_bytes(), rest.into_bytes(), body.into_bytes());
        let front = body.strip_suffix(&*rest).and_then(|body| body.strip_suffix(&*none));
        let Some(front) = front else { unreachable!("{body:?} ends with something else than {none:?} and {rest:?}") };
        to.extend(front);
        let mut writer = Writer::after(std::mem::take(to), is_flexible);
        writer.count(count);
        let written = topics.map(|topic| topic.write(&mut writer, version)).count();
        assert_eq!(written, count, "topics in the response");
        writer.raw(&rest);
        *to = writer.into_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Response;
    use super::*;

    #[test]
    fn topics_that_are_written_one_by_one_are_the_same_bytes() {
        let topic = |number: i16| MetadataResponseTopic {
            error_code: number,
            name: Some(format!("topic-{number}")),
            topic_id: Uuid([number as u8; 16]),
            partitions: vec![MetadataResponsePartition { replica_nodes: vec![1, 2], ..Default::default() }; 3],
            topic_authorized_operations: 7,
            ..MetadataResponseTopic::default()
        };
        let broker = MetadataResponseBroker { node_id: 1, host: "localhost".into(), port: 9092, rack: None };
        let response = MetadataResponse {
            brokers: vec![broker],
            cluster_id: Some("cluster".into()),
            controller_id: 1,
            cluster_authorized_operations: 9,
            ..MetadataResponse::default()
        };
        for (version, count) in Api::Metadata.versions().flat_map(|version| [0, 1, 300].map(|count| (version, count))) {
            let topics: Vec<_> = (0..count).map(topic).collect();
            let mut written = b"before".to_vec();
            response.write_with(topics.len(), topics.iter().cloned(), version, &mut written);
            let mut expected = b"before".to_vec();
            Response::Metadata(MetadataResponse { topics, ..response.clone() }).write(version, &mut expected);
            assert_eq!(written, expected, "{count} topics in version {version}");
        }
    }
}
