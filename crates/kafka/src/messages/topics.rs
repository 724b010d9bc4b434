//! Creation and deletion of topics and partitions.

use super::structure::*;

structures! {
    /// Creates topics.
    struct CreateTopicsRequest {
        topics: Vec<CreatableTopic> [0..],
        timeout_ms: i32 [0..] = 60000,
        validate_only: bool [1..],
    }

    /// A topic to create.
    struct CreatableTopic {
        name: String [0..],
        /// -1: the broker's default, or as the assignments say.
        num_partitions: i32 [0..],
        /// -1: the broker's default, or as the assignments say.
        replication_factor: i16 [0..],
        assignments: Vec<CreatableReplicaAssignment> [0..],
        configs: Vec<CreatableTopicConfig> [0..],
    }

    /// Which brokers are to have a partition.
    struct CreatableReplicaAssignment {
        partition_index: i32 [0..],
        broker_ids: Vec<i32> [0..],
    }

    /// A setting of a new topic.
    struct CreatableTopicConfig {
        name: String [0..],
        value: Option<String> [0..],
    }

    /// Which topics were created.
    struct CreateTopicsResponse {
        throttle_time_ms: i32 [2..],
        topics: Vec<CreatableTopicResult> [0..],
    }

    /// Whether one topic was created, and how.
    struct CreatableTopicResult {
        name: String [0..],
        topic_id: Uuid [7..],
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        num_partitions: i32 [5..] = -1,
        replication_factor: i16 [5..] = -1,
        /// `None`: not to be seen by this client.
        configs: Option<Vec<CreatableTopicConfigs>> [5..],
    } tagged {
        /// Why the settings are missing.
        0 topic_config_error_code: i16,
    }

    /// A setting of the topic.
    struct CreatableTopicConfigs {
        name: String [5..],
        value: Option<String> [5..],
        read_only: bool [5..],
        config_source: i8 [5..] = -1,
        is_sensitive: bool [5..],
    }

    /// Deletes topics.
    struct DeleteTopicsRequest {
        topics: Vec<DeleteTopicState> [6..],
        topic_names: Vec<String> [0..=5],
        timeout_ms: i32 [0..],
    }

    /// A topic to delete, by its name or id.
    struct DeleteTopicState {
        name: Option<String> [6..],
        topic_id: Uuid [6..],
    }

    /// Which topics were deleted.
    struct DeleteTopicsResponse {
        throttle_time_ms: i32 [1..],
        responses: Vec<DeletableTopicResult> [0..],
    }

    /// Whether one topic was deleted.
    struct DeletableTopicResult {
        name: Option<String> [0.., null 6],
        topic_id: Uuid [6..],
        error_code: i16 [0..],
        error_message: Option<String> [5..],
    }

    /// Adds partitions to topics.
    struct CreatePartitionsRequest {
        topics: Vec<CreatePartitionsTopic> [0..],
        timeout_ms: i32 [0..],
        validate_only: bool [0..],
    }

    /// A topic that gets more partitions.
    struct CreatePartitionsTopic {
        name: String [0..],
        /// So many in all.
        count: i32 [0..],
        /// `None`: the broker chooses.
        assignments: Option<Vec<CreatePartitionsAssignment>> [0..],
    }

    /// Which brokers are to have a new partition.
    struct CreatePartitionsAssignment {
        broker_ids: Vec<i32> [0..],
    }

    /// Which topics have got their partitions.
    struct CreatePartitionsResponse {
        throttle_time_ms: i32 [0..],
        results: Vec<CreatePartitionsTopicResult> [0..],
    }

    /// Whether one topic got its partitions.
    struct CreatePartitionsTopicResult {
        name: String [0..],
        error_code: i16 [0..],
        error_message: Option<String> [0..],
    }
}
