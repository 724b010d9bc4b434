//! DescribeGroups, ListGroups, DeleteGroups.

use crate::kafka::client::Client;
use crate::kafka::error::{Refusal, code_of_offset};
use crate::kafka::operations;
use rawline_broker::{GroupState, GroupStatus, MemberShare, MemberStatus};
use rawline_kafka::messages::{
    CONSUMER_PROTOCOL, ConsumerAssignment, ConsumerSubscription, DeletableGroupResult, DeleteGroupsRequest,
    DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
    ListGroupsRequest, ListGroupsResponse, ListedGroup,
};
use rawline_kafka::{Api, ErrorCode};
use std::collections::BTreeSet;

/// From this version on, a group that doesn't exist is an error.
const UNKNOWN_FROM: i16 = 6;

/// A state's name in Kafka.
pub(super) fn name_of(state: GroupState) -> &'static str {
    match state {
        GroupState::Empty => "Empty",
        GroupState::Joining => "PreparingRebalance",
        GroupState::Syncing => "CompletingRebalance",
        GroupState::Assigning => "Assigning",
        GroupState::Reconciling => "Reconciling",
        GroupState::Stable => "Stable",
    }
}

pub(super) fn describe(client: &Client, version: i16, request: DescribeGroupsRequest) -> DescribeGroupsResponse {
    let authorized_operations = operations::asked(request.include_authorized_operations, operations::OF_GROUPS);
    let unknown = if version >= UNKNOWN_FROM { ErrorCode::GroupIdNotFound } else { ErrorCode::None };
    let described = |group_id: String| match allowed(client, Api::DescribeGroups, &group_id) {
        Err(Refusal { code, message }) => DescribedGroup {
            error_code: code.into(),
            error_message: Some(message),
            group_id,
            ..DescribedGroup::default()
        },
        // Another request describes it.
        Ok(Some(GroupStatus { epochs: Some(_), .. })) => DescribedGroup {
            error_code: unknown.into(),
            error_message: (version >= UNKNOWN_FROM).then(|| format!("Group {group_id} is not a classic group.")),
            group_state: "Dead".to_owned(),
            group_id,
            authorized_operations,
            ..DescribedGroup::default()
        },
        Ok(Some(status)) if has_hidden_topics(client, &status) => DescribedGroup {
            error_code: ErrorCode::TopicAuthorizationFailed.into(),
            error_message: Some(HIDDEN_TOPICS.to_owned()),
            group_id,
            ..DescribedGroup::default()
        },
        Ok(Some(status)) => DescribedGroup {
            group_state: name_of(status.state).to_owned(),
            protocol_type: status.protocol_type,
            protocol_data: status.protocol,
            members: status.members.iter().map(member).collect(),
            group_id,
            authorized_operations,
            ..DescribedGroup::default()
        },
        Ok(None) => DescribedGroup {
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

/// The description of a group with topics that the client may not see, as in Kafka.
pub(super) const HIDDEN_TOPICS: &str =
    "The group has described topic(s) that the client is not authorized to describe.";

/// Whether a description of the group would have the name of a topic that the client may not see: one that a member
/// wants, or has partitions of. What members of other kinds of groups than consumers' say is theirs.
pub(super) fn has_hidden_topics(client: &Client, status: &GroupStatus) -> bool {
    let caller = client.caller();
    let is_hidden = |topic: &str| !caller.grants().sees(topic);
    status.members.iter().any(|member| match &member.share {
        MemberShare::Consumer(share) => {
            let mut shares = share.assigned.iter().chain(&share.target);
            share.names.iter().any(|name| is_hidden(name)) || shares.any(|of| is_hidden(&of.name))
        }
        MemberShare::Classic { .. } if status.protocol_type != CONSUMER_PROTOCOL => false,
        MemberShare::Classic { says, assignment } => {
            let says = ConsumerSubscription::parse(says).unwrap_or_default();
            let assignment = ConsumerAssignment::parse(assignment).unwrap_or_default();
            says.topics.iter().any(|topic| is_hidden(topic))
                || assignment.assigned_partitions.iter().any(|of| is_hidden(&of.topic))
        }
    })
}

/// The group, if it exists and the client may use it.
pub(super) fn allowed(client: &Client, api: Api, group: &str) -> Result<Option<GroupStatus>, Refusal> {
    client.may_use_group(api, group)?;
    Ok(client.kafka.broker.coordinator().group(group))
}

fn member(member: &MemberStatus) -> DescribedGroupMember {
    let (member_metadata, member_assignment) = match &member.share {
        MemberShare::Classic { says, assignment } => (says.clone(), assignment.clone()),
        MemberShare::Consumer(_) => unreachable!("{} is in no classic group", member.id),
    };
    DescribedGroupMember {
        member_id: member.id.to_string(),
        group_instance_id: member.instance.as_ref().map(|instance| instance.to_string()),
        client_id: member.client.to_string(),
        client_host: member.host.to_string(),
        member_metadata,
        member_assignment,
    }
}

pub(super) fn list(client: &Client, request: &ListGroupsRequest) -> ListGroupsResponse {
    let is_wanted = |wanted: &[String], found: &str| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(found))
    };
    let caller = client.caller();
    // Clients that list groups ask every broker for the groups that it coordinates.
    let is_seen = |name: &str| caller.grants().group(name).is_ok() && !client.is_led_elsewhere(name);
    let seen = client.kafka.broker.coordinator().groups().into_iter().filter(|(name, _)| is_seen(name));
    let groups = seen.filter_map(|(name, status)| {
        let state = name_of(status.state);
        let group_type = if status.epochs.is_some() { "consumer" } else { "classic" };
        let is_listed = is_wanted(&request.states_filter, state) && is_wanted(&request.types_filter, group_type);
        is_listed.then(|| ListedGroup {
            group_id: name.to_string(),
            protocol_type: status.protocol_type,
            group_state: state.to_owned(),
            group_type: group_type.to_owned(),
        })
    });
    ListGroupsResponse { groups: groups.collect(), ..ListGroupsResponse::default() }
}

pub(super) async fn delete(client: &Client, request: DeleteGroupsRequest) -> DeleteGroupsResponse {
    let mut results = Vec::with_capacity(request.groups_names.len());
    for group_id in request.groups_names {
        let deleted = match client.may_use_group(Api::DeleteGroups, &group_id) {
            Ok(()) => {
                let deleted = client.kafka.broker.coordinator().delete_group(&group_id.as_str().into()).await;
                deleted.map_err(|error| {
                    let code = match code_of_offset(&error) {
                        // A group with a name that none can have doesn't exist, as in Kafka.
                        ErrorCode::InvalidGroupId => ErrorCode::GroupIdNotFound,
                        code => code,
                    };
                    Refusal::new(code, error.to_string())
                })
            }
            Err(refusal) => Err(refusal),
        };
        let deleted = client.audited("group.delete", &group_id, deleted);
        let error_code = deleted.map_or_else(|refusal| refusal.code, |()| ErrorCode::None).into();
        results.push(DeletableGroupResult { group_id, error_code });
    }
    DeleteGroupsResponse { results, ..DeleteGroupsResponse::default() }
}
