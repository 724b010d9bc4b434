//! Idempotent producers and their transactions.

use super::structure::*;

structures! {
    /// Asks for a producer's id.
    struct InitProducerIdRequest {
        /// `None`: idempotent only.
        transactional_id: Option<String> [0..],
        transaction_timeout_ms: i32 [0..],
        /// -1: a new one.
        producer_id: i64 [3..] = -1,
        producer_epoch: i16 [3..] = -1,
    }

    /// A producer's id and epoch.
    struct InitProducerIdResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [0..],
        producer_id: i64 [0..] = -1,
        producer_epoch: i16 [0..],
    }

    /// Asks which producers write to partitions.
    struct DescribeProducersRequest {
        topics: Vec<DescribeProducersTopic> [0..],
    }

    /// Requested partitions of one topic.
    struct DescribeProducersTopic {
        name: String [0..],
        partition_indexes: Vec<i32> [0..],
    }

    /// The producers.
    struct DescribeProducersResponse {
        throttle_time_ms: i32 [0..],
        topics: Vec<DescribeProducersTopicResponse> [0..],
    }

    /// Partitions of one topic.
    struct DescribeProducersTopicResponse {
        name: String [0..],
        partitions: Vec<DescribeProducersPartitionResponse> [0..],
    }

    /// The producers that write to one partition.
    struct DescribeProducersPartitionResponse {
        partition_index: i32 [0..],
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        active_producers: Vec<ProducerState> [0..],
    }

    /// One producer.
    struct ProducerState {
        producer_id: i64 [0..],
        producer_epoch: i32 [0..],
        last_sequence: i32 [0..] = -1,
        last_timestamp: i64 [0..] = -1,
        coordinator_epoch: i32 [0..],
        /// -1: no transaction.
        current_txn_start_offset: i64 [0..] = -1,
    }

    /// Asks which producers have transactions.
    struct ListTransactionsRequest {
        /// Empty: in all states.
        state_filters: Vec<String> [0..],
        /// Empty: of all producers.
        producer_id_filters: Vec<i64> [0..],
        /// Only those that have been open for longer, in milliseconds; -1: all.
        duration_filter: i64 [1..] = -1,
        /// A regular expression for whole ids.
        transactional_id_pattern: Option<String> [2..],
    }

    /// The producers.
    struct ListTransactionsResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [0..],
        unknown_state_filters: Vec<String> [0..],
        transaction_states: Vec<ListedTransaction> [0..],
    }

    /// A producer that can have transactions.
    struct ListedTransaction {
        transactional_id: String [0..],
        producer_id: i64 [0..],
        transaction_state: String [0..],
    }

    /// Asks about producers' transactions.
    struct DescribeTransactionsRequest {
        transactional_ids: Vec<String> [0..],
    }

    /// The transactions.
    struct DescribeTransactionsResponse {
        throttle_time_ms: i32 [0..],
        transaction_states: Vec<DescribedTransaction> [0..],
    }

    /// A producer's newest transaction.
    struct DescribedTransaction {
        error_code: i16 [0..],
        transactional_id: String [0..],
        transaction_state: String [0..],
        transaction_timeout_ms: i32 [0..],
        transaction_start_time_ms: i64 [0..],
        producer_id: i64 [0..],
        producer_epoch: i16 [0..],
        topics: Vec<DescribedTransactionTopic> [0..],
    }

    /// Its partitions in one topic.
    struct DescribedTransactionTopic {
        topic: String [0..],
        partitions: Vec<i32> [0..],
    }

    /// Says which partitions a transaction writes to.
    struct AddPartitionsToTxnRequest {
        transactional_id: String [0..],
        producer_id: i64 [0..],
        producer_epoch: i16 [0..],
        topics: Vec<AddPartitionsToTxnTopic> [0..],
    }

    /// Partitions of one topic.
    struct AddPartitionsToTxnTopic {
        name: String [0..],
        partitions: Vec<i32> [0..],
    }

    /// Which partitions belong to the transaction.
    struct AddPartitionsToTxnResponse {
        throttle_time_ms: i32 [0..],
        results_by_topic: Vec<AddPartitionsToTxnTopicResult> [0..],
    }

    /// Partitions of one topic.
    struct AddPartitionsToTxnTopicResult {
        name: String [0..],
        results_by_partition: Vec<AddPartitionsToTxnPartitionResult> [0..],
    }

    /// Whether one partition belongs to the transaction.
    struct AddPartitionsToTxnPartitionResult {
        partition_index: i32 [0..],
        partition_error_code: i16 [0..],
    }

    /// Commits offsets of a group in a transaction.
    struct TxnOffsetCommitRequest {
        transactional_id: String [0..],
        group_id: String [0..],
        producer_id: i64 [0..],
        producer_epoch: i16 [0..],
        /// -1: not of a member.
        generation_id: i32 [3..] = -1,
        member_id: String [3..],
        group_instance_id: Option<String> [3..],
        topics: Vec<TxnOffsetCommitRequestTopic> [0..],
    }

    /// Offsets in one topic.
    struct TxnOffsetCommitRequestTopic {
        name: String [0..],
        partitions: Vec<TxnOffsetCommitRequestPartition> [0..],
    }

    /// The offset in one partition.
    struct TxnOffsetCommitRequestPartition {
        partition_index: i32 [0..],
        committed_offset: i64 [0..],
        committed_leader_epoch: i32 [2..] = -1,
        committed_metadata: Option<String> [0..],
    }

    /// Which offsets were committed.
    struct TxnOffsetCommitResponse {
        throttle_time_ms: i32 [0..],
        topics: Vec<TxnOffsetCommitResponseTopic> [0..],
    }

    /// Partitions of one topic.
    struct TxnOffsetCommitResponseTopic {
        name: String [0..],
        partitions: Vec<TxnOffsetCommitResponsePartition> [0..],
    }

    /// Whether one partition's offset was committed.
    struct TxnOffsetCommitResponsePartition {
        partition_index: i32 [0..],
        error_code: i16 [0..],
    }

    /// Commits or aborts a transaction.
    struct EndTxnRequest {
        transactional_id: String [0..],
        producer_id: i64 [0..],
        producer_epoch: i16 [0..],
        /// `false`: aborted.
        committed: bool [0..],
    }

    /// Whether it was.
    struct EndTxnResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [0..],
        /// For the next transaction.
        producer_id: i64 [5..] = -1,
        producer_epoch: i16 [5..] = -1,
    }
}
