//! Administrators' requests for groups.

use super::structure::*;

structures! {
    /// Asks for the state of groups.
    struct DescribeGroupsRequest {
        groups: Vec<String> [0..],
        include_authorized_operations: bool [3..],
    }

    /// The requested groups.
    struct DescribeGroupsResponse {
        throttle_time_ms: i32 [1..],
        groups: Vec<DescribedGroup> [0..],
    }

    /// A group and its members.
    struct DescribedGroup {
        error_code: i16 [0..],
        error_message: Option<String> [6..],
        group_id: String [0..],
        group_state: String [0..],
        protocol_type: String [0..],
        /// The chosen protocol's name.
        protocol_data: String [0..],
        members: Vec<DescribedGroupMember> [0..],
        /// A bit for each operation that the client may do; `i32::MIN`: not requested.
        authorized_operations: i32 [3..] = i32::MIN,
    }

    /// A member of a group.
    struct DescribedGroupMember {
        member_id: String [0..],
        group_instance_id: Option<String> [4..],
        client_id: String [0..],
        client_host: String [0..],
        member_metadata: Bytes [0..],
        member_assignment: Bytes [0..],
    }

    /// Asks which groups there are.
    struct ListGroupsRequest {
        states_filter: Vec<String> [4..],
        types_filter: Vec<String> [5..],
    }

    /// The groups.
    struct ListGroupsResponse {
        throttle_time_ms: i32 [1..],
        error_code: i16 [0..],
        groups: Vec<ListedGroup> [0..],
    }

    /// One group.
    struct ListedGroup {
        group_id: String [0..],
        protocol_type: String [0..],
        group_state: String [4..],
        group_type: String [5..],
    }

    /// Deletes groups and their offsets.
    struct DeleteGroupsRequest {
        groups_names: Vec<String> [0..],
    }

    /// Which groups were deleted.
    struct DeleteGroupsResponse {
        throttle_time_ms: i32 [0..],
        results: Vec<DeletableGroupResult> [0..],
    }

    /// Whether one group was deleted.
    struct DeletableGroupResult {
        group_id: String [0..],
        error_code: i16 [0..],
    }
}
