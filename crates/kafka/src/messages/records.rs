//! Offsets of records: look-ups by time or epoch, and deletions.

use super::structure::*;

structures! {
    /// Asks for partitions' first or last offset, or for the first record since a time.
    struct ListOffsetsRequest {
        /// -1: a consumer.
        replica_id: i32 [0..],
        /// 1: only committed records.
        isolation_level: i8 [2..],
        topics: Vec<ListOffsetsTopic> [0..],
        timeout_ms: i32 [10..],
    }

    /// Requested partitions of one topic.
    struct ListOffsetsTopic {
        name: String [0..],
        partitions: Vec<ListOffsetsPartition> [0..],
    }

    /// The request for one partition.
    struct ListOffsetsPartition {
        partition_index: i32 [0..],
        /// -1: unknown.
        current_leader_epoch: i32 [4..] = -1,
        /// In milliseconds; -1: the end, -2: the first offset, -3: the record of the greatest time, -4: the first on
        /// local disk, -5: the last in remote storage.
        timestamp: i64 [0..],
    }

    /// The requested offsets.
    struct ListOffsetsResponse {
        throttle_time_ms: i32 [2..],
        topics: Vec<ListOffsetsTopicResponse> [0..],
    }

    /// Partitions of one topic.
    struct ListOffsetsTopicResponse {
        name: String [0..],
        partitions: Vec<ListOffsetsPartitionResponse> [0..],
    }

    /// The result for one partition.
    struct ListOffsetsPartitionResponse {
        partition_index: i32 [0..],
        error_code: i16 [0..],
        /// Of the record that was found.
        timestamp: i64 [1..] = -1,
        offset: i64 [1..] = -1,
        leader_epoch: i32 [4..] = -1,
    }

    /// Asks where leaders' epochs ended.
    struct OffsetForLeaderEpochRequest {
        /// -1: a consumer.
        replica_id: i32 [3..] = -2,
        topics: Vec<OffsetForLeaderTopic> [0..],
    }

    /// Requested partitions of one topic.
    struct OffsetForLeaderTopic {
        topic: String [0..],
        partitions: Vec<OffsetForLeaderPartition> [0..],
    }

    /// The request for one partition.
    struct OffsetForLeaderPartition {
        partition: i32 [0..],
        current_leader_epoch: i32 [2..] = -1,
        leader_epoch: i32 [0..],
    }

    /// The ends of the epochs.
    struct OffsetForLeaderEpochResponse {
        throttle_time_ms: i32 [2..],
        topics: Vec<OffsetForLeaderTopicResult> [0..],
    }

    /// Partitions of one topic.
    struct OffsetForLeaderTopicResult {
        topic: String [0..],
        partitions: Vec<EpochEndOffset> [0..],
    }

    /// The end of an epoch in one partition.
    struct EpochEndOffset {
        error_code: i16 [0..],
        partition: i32 [0..],
        leader_epoch: i32 [1..] = -1,
        /// Offset after the epoch's last record.
        end_offset: i64 [0..] = -1,
    }

    /// Deletes records from the beginning of partitions.
    struct DeleteRecordsRequest {
        topics: Vec<DeleteRecordsTopic> [0..],
        timeout_ms: i32 [0..],
    }

    /// Partitions of one topic.
    struct DeleteRecordsTopic {
        name: String [0..],
        partitions: Vec<DeleteRecordsPartition> [0..],
    }

    /// The deletion in one partition.
    struct DeleteRecordsPartition {
        partition_index: i32 [0..],
        /// The first that stays; -1: none stays.
        offset: i64 [0..],
    }

    /// The results.
    struct DeleteRecordsResponse {
        throttle_time_ms: i32 [0..],
        topics: Vec<DeleteRecordsTopicResult> [0..],
    }

    /// Partitions of one topic.
    struct DeleteRecordsTopicResult {
        name: String [0..],
        partitions: Vec<DeleteRecordsPartitionResult> [0..],
    }

    /// The result for one partition.
    struct DeleteRecordsPartitionResult {
        partition_index: i32 [0..],
        /// The partition's first offset.
        low_watermark: i64 [0..],
        error_code: i16 [0..],
    }
}
