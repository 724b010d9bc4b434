//! Offsets that groups have committed.

use super::structure::*;

structures! {
    /// Commits offsets of a group.
    struct OffsetCommitRequest {
        group_id: String [0..],
        /// -1: not of a member.
        generation_id_or_member_epoch: i32 [1..] = -1,
        member_id: String [1..],
        group_instance_id: Option<String> [7..],
        retention_time_ms: i64 [2..=4] = -1,
        topics: Vec<OffsetCommitRequestTopic> [0..],
    }

    /// Offsets in one topic.
    struct OffsetCommitRequestTopic {
        name: String [0..=9],
        topic_id: Uuid [10..],
        partitions: Vec<OffsetCommitRequestPartition> [0..],
    }

    /// The offset in one partition.
    struct OffsetCommitRequestPartition {
        partition_index: i32 [0..],
        committed_offset: i64 [0..],
        committed_leader_epoch: i32 [6..] = -1,
        committed_metadata: Option<String> [0..],
    }

    /// Which offsets were committed.
    struct OffsetCommitResponse {
        throttle_time_ms: i32 [3..],
        topics: Vec<OffsetCommitResponseTopic> [0..],
    }

    /// Partitions of one topic.
    struct OffsetCommitResponseTopic {
        name: String [0..=9],
        topic_id: Uuid [10..],
        partitions: Vec<OffsetCommitResponsePartition> [0..],
    }

    /// Whether one partition's offset was committed.
    struct OffsetCommitResponsePartition {
        partition_index: i32 [0..],
        error_code: i16 [0..],
    }

    /// Asks for the committed offsets of a group, or of several.
    struct OffsetFetchRequest {
        /// Later versions have several `groups`.
        group_id: String [0..=7],
        /// `None`: all.
        topics: Option<Vec<OffsetFetchRequestTopic>> [0..=7, null 2],
        groups: Vec<OffsetFetchRequestGroup> [8..],
        require_stable: bool [7..],
    }

    /// Requested partitions of one topic.
    struct OffsetFetchRequestTopic {
        name: String [0..=9],
        topic_id: Uuid [10..],
        partition_indexes: Vec<i32> [0..],
    }

    /// The request for one group.
    struct OffsetFetchRequestGroup {
        group_id: String [8..],
        member_id: Option<String> [9..],
        member_epoch: i32 [9..] = -1,
        /// `None`: all.
        topics: Option<Vec<OffsetFetchRequestTopic>> [8..],
    }

    /// The committed offsets.
    struct OffsetFetchResponse {
        throttle_time_ms: i32 [3..],
        topics: Vec<OffsetFetchResponseTopic> [0..=7],
        error_code: i16 [2..=7],
        groups: Vec<OffsetFetchResponseGroup> [8..],
    }

    /// Offsets in one topic.
    struct OffsetFetchResponseTopic {
        name: String [0..=9],
        topic_id: Uuid [10..],
        partitions: Vec<OffsetFetchResponsePartition> [0..],
    }

    /// The offset in one partition.
    struct OffsetFetchResponsePartition {
        partition_index: i32 [0..],
        /// -1: none was committed.
        committed_offset: i64 [0..],
        committed_leader_epoch: i32 [5..] = -1,
        metadata: Option<String> [0..],
        error_code: i16 [0..],
    }

    /// Offsets of one group.
    struct OffsetFetchResponseGroup {
        group_id: String [8..],
        topics: Vec<OffsetFetchResponseTopic> [8..],
        error_code: i16 [8..],
    }

    /// Deletes committed offsets of a group.
    struct OffsetDeleteRequest {
        group_id: String [0..],
        topics: Vec<OffsetDeleteRequestTopic> [0..],
    }

    /// Partitions of one topic.
    struct OffsetDeleteRequestTopic {
        name: String [0..],
        partitions: Vec<OffsetDeleteRequestPartition> [0..],
    }

    /// One partition.
    struct OffsetDeleteRequestPartition {
        partition_index: i32 [0..],
    }

    /// Which offsets were deleted.
    struct OffsetDeleteResponse {
        error_code: i16 [0..],
        throttle_time_ms: i32 [0..],
        topics: Vec<OffsetDeleteResponseTopic> [0..],
    }

    /// Partitions of one topic.
    struct OffsetDeleteResponseTopic {
        name: String [0..],
        partitions: Vec<OffsetDeleteResponsePartition> [0..],
    }

    /// Whether one partition's offset was deleted.
    struct OffsetDeleteResponsePartition {
        partition_index: i32 [0..],
        error_code: i16 [0..],
    }
}
