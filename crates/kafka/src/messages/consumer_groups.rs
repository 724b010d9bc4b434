//! Groups of the new protocol (KIP-848), in which the broker assigns partitions.

use super::structure::*;

structures! {
    /// Joins a group, stays in it or leaves it.
    struct ConsumerGroupHeartbeatRequest {
        group_id: String [0..],
        member_id: String [0..],
        /// 0: joins, -1: leaves, -2: a static member leaves for a while.
        member_epoch: i32 [0..],
        instance_id: Option<String> [0..],
        rack_id: Option<String> [0..],
        /// -1, as `None` below: unchanged since the last request.
        rebalance_timeout_ms: i32 [0..] = -1,
        subscribed_topic_names: Option<Vec<String>> [0..],
        subscribed_topic_regex: Option<String> [1..],
        server_assignor: Option<String> [0..],
        /// The partitions that the member reads.
        topic_partitions: Option<Vec<ConsumerGroupTopicPartitions>> [0..],
    }

    /// Partitions of one topic.
    struct ConsumerGroupTopicPartitions {
        topic_id: Uuid [0..],
        partitions: Vec<i32> [0..],
    }

    /// The member's epoch and, when it changed, its assignment.
    struct ConsumerGroupHeartbeatResponse {
        throttle_time_ms: i32 [0..],
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        member_id: Option<String> [0..],
        member_epoch: i32 [0..],
        heartbeat_interval_ms: i32 [0..],
        /// `None`: unchanged.
        assignment: Option<ConsumerGroupAssignment> [0..],
    }

    /// Partitions that are assigned to a member.
    struct ConsumerGroupAssignment {
        topic_partitions: Vec<ConsumerGroupTopicPartitions> [0..],
    }

    /// Asks for the state of groups.
    struct ConsumerGroupDescribeRequest {
        group_ids: Vec<String> [0..],
        include_authorized_operations: bool [0..],
    }

    /// The requested groups.
    struct ConsumerGroupDescribeResponse {
        throttle_time_ms: i32 [0..],
        groups: Vec<DescribedConsumerGroup> [0..],
    }

    /// A group and its members.
    struct DescribedConsumerGroup {
        error_code: i16 [0..],
        error_message: Option<String> [0..],
        group_id: String [0..],
        group_state: String [0..],
        group_epoch: i32 [0..],
        assignment_epoch: i32 [0..],
        assignor_name: String [0..],
        members: Vec<DescribedConsumerGroupMember> [0..],
        /// A bit for each operation that the client may do; `i32::MIN`: not requested.
        authorized_operations: i32 [0..] = i32::MIN,
    }

    /// A member of a group.
    struct DescribedConsumerGroupMember {
        member_id: String [0..],
        instance_id: Option<String> [0..],
        rack_id: Option<String> [0..],
        member_epoch: i32 [0..],
        client_id: String [0..],
        client_host: String [0..],
        subscribed_topic_names: Vec<String> [0..],
        subscribed_topic_regex: Option<String> [0..],
        assignment: ConsumerGroupDescribedAssignment [0..],
        target_assignment: ConsumerGroupDescribedAssignment [0..],
        /// 0: of the classic protocol, 1: of the new one, -1: unknown.
        member_type: i8 [1..] = -1,
    }

    /// Partitions that are assigned to a member.
    struct ConsumerGroupDescribedAssignment {
        topic_partitions: Vec<ConsumerGroupDescribedTopicPartitions> [0..],
    }

    /// Partitions of one topic.
    struct ConsumerGroupDescribedTopicPartitions {
        topic_id: Uuid [0..],
        topic_name: String [0..],
        partitions: Vec<i32> [0..],
    }
}
