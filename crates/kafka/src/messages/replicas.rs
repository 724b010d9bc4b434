//! The storage of partitions.

use super::structure::*;

structures! {
    /// Asks how large partitions are on disk.
    struct DescribeLogDirsRequest {
        /// `None`: all.
        topics: Option<Vec<DescribableLogDirTopic>> [0..],
    }

    /// Partitions of one topic.
    struct DescribableLogDirTopic {
        topic: String [0..],
        partitions: Vec<i32> [0..],
    }

    /// The directories of the broker.
    struct DescribeLogDirsResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [3..],
        results: Vec<DescribeLogDirsResult> [0..],
    }

    /// One directory.
    struct DescribeLogDirsResult {
        error_code: i16 [0..],
        log_dir: String [0..],
        topics: Vec<DescribeLogDirsTopic> [0..],
        /// Size of the volume; -1: unknown.
        total_bytes: i64 [4..] = -1,
        usable_bytes: i64 [4..] = -1,
    }

    /// Partitions of one topic.
    struct DescribeLogDirsTopic {
        name: String [0..],
        partitions: Vec<DescribeLogDirsPartition> [0..],
    }

    /// One partition's size.
    struct DescribeLogDirsPartition {
        partition_index: i32 [0..],
        partition_size: i64 [0..],
        offset_lag: i64 [0..],
        /// The partition moves to this directory.
        is_future_key: bool [0..],
    }

    /// Asks which partitions move between brokers.
    struct ListPartitionReassignmentsRequest {
        timeout_ms: i32 [0..] = 60000,
        /// `None`: all.
        topics: Option<Vec<ListPartitionReassignmentsTopics>> [0..],
    }

    /// Requested partitions of one topic.
    struct ListPartitionReassignmentsTopics {
        name: String [0..],
        partition_indexes: Vec<i32> [0..],
    }

    /// The partitions that move.
    struct ListPartitionReassignmentsResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        topics: Vec<OngoingTopicReassignment> [0..],
    }

    /// Partitions of one topic.
    struct OngoingTopicReassignment {
        name: String [0..],
        partitions: Vec<OngoingPartitionReassignment> [0..],
    }

    /// Between which brokers one partition moves.
    struct OngoingPartitionReassignment {
        partition_index: i32 [0..],
        replicas: Vec<i32> [0..],
        adding_replicas: Vec<i32> [0..],
        removing_replicas: Vec<i32> [0..],
    }
}
