//! Brokers, topics and their partitions.

use super::structure::*;

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
