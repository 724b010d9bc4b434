//! DescribeGroups, ListGroups, DeleteGroups.

use super::code_of_offset;
use crate::kafka::{Client, operations};
use rawline_broker::{MemberStatus, Phase};
use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{
    DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    DescribedGroup, DescribedGroupMember, ListGroupsRequest, ListGroupsResponse, ListedGroup,
};
use std::collections::BTreeSet;

/// From this version on, a group that doesn't exist is an error.
const UNKNOWN_FROM: i16 = 6;

fn state(phase: Phase) -> &'static str {
    match phase {
        Phase::Empty => "Empty",
        Phase::Joining { .. } => "PreparingRebalance",
        Phase::Syncing { .. } => "CompletingRebalance",
        Phase::Stable => "Stable",
    }
}

pub(super) fn describe(client: &Client, version: i16, request: DescribeGroupsRequest) -> DescribeGroupsResponse {
    let authorized_operations = operations::asked(request.include_authorized_operations, operations::OF_GROUPS);
    let unknown = if version >= UNKNOWN_FROM { ErrorCode::GroupIdNotFound } else { ErrorCode::None };
    let described = |group_id: String| match client.kafka.broker.group(&group_id) {
        Some(status) => DescribedGroup {
            group_state: state(status.phase).to_owned(),
            protocol_type: status.protocol_type,
            protocol_data: status.protocol,
            members: status.members.iter().map(member).collect(),
            group_id,
            authorized_operations,
            ..DescribedGroup::default()
        },
        None => DescribedGroup {
            error_code: unknown.into(),
            error_message: (version >= UNKNOWN_FROM).then(|| format!("there is no group {group_id:?}")),
            group_state: "Dead".to_owned(),
            group_id,
            authorized_operations,
            ..DescribedGroup::default()
        },
    };
    // A group that a request repeats is answered once.
    let names: BTreeSet<String> = request.groups.into_iter().collect();
    let groups = names.into_iter().map(described).collect();
    DescribeGroupsResponse { groups, ..DescribeGroupsResponse::default() }
}

fn member(member: &MemberStatus) -> DescribedGroupMember {
    DescribedGroupMember {
        member_id: member.id.to_string(),
        group_instance_id: member.instance.as_ref().map(|instance| instance.to_string()),
        client_id: member.client.to_string(),
        client_host: member.host.to_string(),
        member_metadata: member.says.clone(),
        member_assignment: member.assignment.clone(),
    }
}

pub(super) fn list(client: &Client, request: &ListGroupsRequest) -> ListGroupsResponse {
    const TYPE: &str = "classic";
    let is_wanted = |wanted: &[String], found: &str| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(found))
    };
    let groups = client.kafka.broker.groups().into_iter().filter_map(|(name, status)| {
        let state = state(status.phase);
        let is_listed = is_wanted(&request.states_filter, state) && is_wanted(&request.types_filter, TYPE);
        is_listed.then(|| ListedGroup {
            group_id: name.to_string(),
            protocol_type: status.protocol_type,
            group_state: state.to_owned(),
            group_type: TYPE.to_owned(),
        })
    });
    ListGroupsResponse { groups: groups.collect(), ..ListGroupsResponse::default() }
}

pub(super) async fn delete(client: &Client, request: DeleteGroupsRequest) -> DeleteGroupsResponse {
    let mut results = Vec::with_capacity(request.groups_names.len());
    for group_id in request.groups_names {
        let deleted = client.kafka.broker.delete_group(&group_id.as_str().into()).await;
        let error_code = deleted.map_or_else(|error| code_of_offset(&error), |()| ErrorCode::None).into();
        results.push(DeletableGroupResult { group_id, error_code });
    }
    DeleteGroupsResponse { results, ..DeleteGroupsResponse::default() }
}
