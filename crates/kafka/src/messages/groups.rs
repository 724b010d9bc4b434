//! Membership of groups: the classic protocol.

use super::structure::*;

structures! {
    /// Asks which broker coordinates groups or transactions.
    struct FindCoordinatorRequest {
        key: String [0..=3],
        /// 0: a group, 1: a transaction.
        key_type: i8 [1..],
        coordinator_keys: Vec<String> [4..],
    }

    /// The brokers that coordinate.
    struct FindCoordinatorResponse {
        throttle_time_ms: i32 [1..],
        error_code: i16 [0..=3],
        error_message: Option<String> [1..=3],
        node_id: i32 [0..=3],
        host: String [0..=3],
        port: i32 [0..=3],
        coordinators: Vec<Coordinator> [4..],
    }

    /// The broker that coordinates one group or transaction.
    struct Coordinator {
        key: String [4..],
        node_id: i32 [4..],
        host: String [4..],
        port: i32 [4..],
        error_code: i16 [4..],
        error_message: Option<String> [4..],
    }

    /// Joins a group, or takes part in its rebalance.
    struct JoinGroupRequest {
        group_id: String [0..],
        session_timeout_ms: i32 [0..],
        /// How long other members may take to join.
        rebalance_timeout_ms: i32 [1..] = -1,
        /// Empty if the member is new.
        member_id: String [0..],
        /// Of a static member.
        group_instance_id: Option<String> [5..],
        protocol_type: String [0..],
        protocols: Vec<JoinGroupRequestProtocol> [0..],
        reason: Option<String> [8..],
    }

    /// A way to assign partitions that the member knows.
    struct JoinGroupRequestProtocol {
        name: String [0..],
        /// The broker doesn't look into it.
        metadata: Bytes [0..],
    }

    /// The generation that the member belongs to. The leader gets all members.
    struct JoinGroupResponse {
        throttle_time_ms: i32 [2..],
        error_code: i16 [0..],
        generation_id: i32 [0..] = -1,
        protocol_type: Option<String> [7..],
        protocol_name: Option<String> [0.., null 7],
        /// The leader's member id.
        leader: String [0..],
        /// The leader keeps the assignment that it made before.
        skip_assignment: bool [9..],
        member_id: String [0..],
        members: Vec<JoinGroupResponseMember> [0..],
    }

    /// A member, as the leader needs it.
    struct JoinGroupResponseMember {
        member_id: String [0..],
        group_instance_id: Option<String> [5..],
        metadata: Bytes [0..],
    }

    /// Asks for the member's assignment. The leader's request has all of them.
    struct SyncGroupRequest {
        group_id: String [0..],
        generation_id: i32 [0..],
        member_id: String [0..],
        group_instance_id: Option<String> [3..],
        protocol_type: Option<String> [5..],
        protocol_name: Option<String> [5..],
        assignments: Vec<SyncGroupRequestAssignment> [0..],
    }

    /// The leader's assignment for one member.
    struct SyncGroupRequestAssignment {
        member_id: String [0..],
        assignment: Bytes [0..],
    }

    /// The member's assignment.
    struct SyncGroupResponse {
        throttle_time_ms: i32 [1..],
        error_code: i16 [0..],
        protocol_type: Option<String> [5..],
        protocol_name: Option<String> [5..],
        /// As the leader wrote it.
        assignment: Bytes [0..],
    }

    /// A member's heartbeat.
    struct HeartbeatRequest {
        group_id: String [0..],
        generation_id: i32 [0..],
        member_id: String [0..],
        group_instance_id: Option<String> [3..],
    }

    /// Whether the group is as the member knows it.
    struct HeartbeatResponse {
        throttle_time_ms: i32 [1..],
        error_code: i16 [0..],
    }

    /// Leaves a group.
    struct LeaveGroupRequest {
        group_id: String [0..],
        member_id: String [0..=2],
        members: Vec<LeavingMember> [3..],
    }

    /// A member that leaves.
    struct LeavingMember {
        member_id: String [3..],
        group_instance_id: Option<String> [3..],
        reason: Option<String> [5..],
    }

    /// Which members left.
    struct LeaveGroupResponse {
        throttle_time_ms: i32 [1..],
        error_code: i16 [0..],
        members: Vec<LeftMember> [3..],
    }

    /// Whether one member left.
    struct LeftMember {
        member_id: String [3..],
        group_instance_id: Option<String> [3..],
        error_code: i16 [3..],
    }
}
