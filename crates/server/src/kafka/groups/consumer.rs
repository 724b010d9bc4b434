//! ConsumerGroupHeartbeat, ConsumerGroupDescribe: groups in which the broker divides the partitions (KIP-848).

use super::manage;
use crate::groups::new_member_id;
use crate::kafka::client::Client;
use crate::kafka::error::{Refusal, code_of_group, code_of_offset};
use crate::kafka::operations;
use rawline_broker::{
    Assignor, ConsumerHeartbeat, GroupError, GroupStatus, Identity, Kept, Leaving, MemberShare, MemberStatus,
    OffsetError, Partitions, TopicId, TopicShare,
};
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::messages::{
    ConsumerGroupAssignment, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse,
    ConsumerGroupDescribedAssignment, ConsumerGroupDescribedTopicPartitions, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, ConsumerGroupTopicPartitions, DescribedConsumerGroup, DescribedConsumerGroupMember,
    Uuid,
};
use rawline_kafka::{Api, ErrorCode};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The epochs with which members leave: permanently, and as an instance that returns.
const LEAVES: i32 = -1;
const LEAVES_FOR_A_WHILE: i32 = -2;

/// From this version on, members choose their ids.
const CHOOSES_ID_FROM: i16 = 1;

/// The described epoch of a member that has left temporarily.
const AWAY: i32 = -2;

/// A member whose protocol is the new one, when it is described.
const CONSUMER_MEMBER: i8 = 1;

pub(super) async fn heartbeat(
    client: &Client,
    header: &RequestHeader,
    mut request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    if request.member_id.is_empty() && request.member_epoch == 0 && header.version < CHOOSES_ID_FROM {
        request.member_id = new_member_id(header.client_id.as_deref().unwrap_or_default()).to_string();
    }
    let member_id = request.member_id.clone();
    match beat(client, header, request).await {
        Ok((member_epoch, kept)) => ConsumerGroupHeartbeatResponse {
            member_id: Some(member_id),
            member_epoch,
            heartbeat_interval_ms: kept.as_ref().map_or(0, |kept| kept.interval.as_millis() as i32),
            assignment: kept.and_then(|kept| kept.assignment).map(|share| assignment(&share)),
            ..ConsumerGroupHeartbeatResponse::default()
        },
        Err(refusal) => ConsumerGroupHeartbeatResponse {
            error_code: refusal.code.into(),
            error_message: Some(refusal.message),
            ..ConsumerGroupHeartbeatResponse::default()
        },
    }
}

/// The member's epoch, and its partitions unless it has left.
async fn beat(
    client: &Client,
    header: &RequestHeader,
    request: ConsumerGroupHeartbeatRequest,
) -> Result<(i32, Option<Kept>), Refusal> {
    check(&request)?;
    client.may_use_group(Api::ConsumerGroupHeartbeat, &request.group_id)?;
    for topic in request.subscribed_topic_names.iter().flatten() {
        client.may_use_topic(Api::ConsumerGroupHeartbeat, topic)?;
    }
    let assignor = request.server_assignor.as_deref().map(assignor_named).transpose()?;
    let broker = &client.kafka.broker;
    let epoch = request.member_epoch;
    let Ok(known_epoch) = u32::try_from(epoch) else {
        let leaving = if epoch == LEAVES { Leaving::ForGood } else { Leaving::ForAWhile };
        broker
            .coordinator()
            .leave_consumers(&request.group_id, &request.member_id, request.instance_id.as_deref(), leaving)
            .await?;
        return Ok((epoch, None));
    };
    let beat = ConsumerHeartbeat {
        member: request.member_id.into(),
        instance: request.instance_id.map(Arc::from),
        rack: request.rack_id.map(Arc::from),
        identity: Identity {
            client: header.client_id.as_deref().unwrap_or_default().into(),
            host: format!("/{}", client.peer.address).into(),
        },
        epoch: known_epoch,
        rebalance: u64::try_from(request.rebalance_timeout_ms).ok().map(Duration::from_millis),
        names: request.subscribed_topic_names.map(|names| names.into_iter().map(Arc::from).collect()),
        regex: request.subscribed_topic_regex.map(Arc::from),
        visible: client.caller().visible().clone(),
        assignor,
        owned: request.topic_partitions.as_deref().map(partitions),
    };
    let kept = broker.coordinator().consumer_heartbeat(&request.group_id.into(), &beat).await?;
    Ok((kept.epoch as i32, Some(kept)))
}

/// Fails if the fields contradict each other.
fn check(request: &ConsumerGroupHeartbeatRequest) -> Result<(), Refusal> {
    let invalid = |message: &str| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    let is_empty = |text: &Option<String>| text.as_ref().is_some_and(String::is_empty);
    if request.member_id.is_empty() {
        return invalid("MemberId can't be empty.");
    }
    if request.group_id.is_empty() {
        return invalid("GroupId can't be empty.");
    }
    if is_empty(&request.instance_id) {
        return invalid("InstanceId can't be empty.");
    }
    if is_empty(&request.rack_id) {
        return invalid("RackId can't be empty.");
    }
    let joins = request.member_epoch == 0;
    if joins && request.rebalance_timeout_ms == -1 {
        return invalid("RebalanceTimeoutMs must be provided in first request.");
    }
    if joins && request.topic_partitions.as_ref().is_none_or(|owned| !owned.is_empty()) {
        return invalid("TopicPartitions must be empty when (re-)joining.");
    }
    if joins && request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() {
        return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.");
    }
    if request.member_epoch == LEAVES_FOR_A_WHILE && request.instance_id.is_none() {
        return invalid("InstanceId can't be null.");
    }
    if request.member_epoch < LEAVES_FOR_A_WHILE {
        return invalid("MemberEpoch must be greater than or equal to -2.");
    }
    Ok(())
}

fn assignor_named(name: &str) -> Result<Assignor, Refusal> {
    Assignor::named(name).ok_or_else(|| {
        let known = Assignor::ALL.map(Assignor::name).join(", ");
        let message = format!("ServerAssignor {name} is not supported. Supported assignors: {known}.");
        Refusal::new(ErrorCode::UnsupportedAssignor, message)
    })
}

impl From<GroupError> for Refusal {
    /// To a member of a consumer group.
    fn from(error: GroupError) -> Refusal {
        let code = match &error {
            // Kafka's error for a group of another kind.
            GroupError::OtherProtocol => ErrorCode::GroupIdNotFound,
            error => code_of_group(error),
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<OffsetError> for Refusal {
    fn from(error: OffsetError) -> Refusal {
        match error {
            OffsetError::Group(error) => error.into(),
            error => Refusal::new(code_of_offset(&error), error.to_string()),
        }
    }
}

/// The partitions that a member claims to read. No partition's number is negative.
fn partitions(owned: &[ConsumerGroupTopicPartitions]) -> Partitions {
    let of_topic = |of: &ConsumerGroupTopicPartitions| {
        let topic = TopicId::from_bytes(of.topic_id.0);
        let numbers: Vec<u32> = of.partitions.iter().filter_map(|number| u32::try_from(*number).ok()).collect();
        numbers.into_iter().map(move |number| (topic, number))
    };
    owned.iter().flat_map(of_topic).collect()
}

fn assignment(share: &Partitions) -> ConsumerGroupAssignment {
    let of_topic = |(topic, numbers): (TopicId, &BTreeSet<u32>)| ConsumerGroupTopicPartitions {
        topic_id: Uuid(topic.to_bytes()),
        partitions: numbers.iter().map(|number| *number as i32).collect(),
    };
    ConsumerGroupAssignment { topic_partitions: share.topics().map(of_topic).collect() }
}

pub(super) fn describe(client: &Client, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse {
    let authorized_operations = operations::asked(request.include_authorized_operations, operations::OF_GROUPS);
    let described = |group_id: String| match manage::allowed(client, Api::ConsumerGroupDescribe, &group_id) {
        Err(Refusal { code, message }) => DescribedConsumerGroup {
            error_code: code.into(),
            error_message: Some(message),
            group_id,
            ..DescribedConsumerGroup::default()
        },
        Ok(Some(status)) if status.epochs.is_some() && manage::has_hidden_topics(client, &status) => {
            DescribedConsumerGroup {
                error_code: ErrorCode::TopicAuthorizationFailed.into(),
                error_message: Some(manage::HIDDEN_TOPICS.to_owned()),
                group_id,
                ..DescribedConsumerGroup::default()
            }
        }
        Ok(Some(GroupStatus { epochs: Some((group_epoch, assignment_epoch)), state, protocol, members, .. })) => {
            DescribedConsumerGroup {
                group_state: manage::name_of(state).to_owned(),
                group_epoch: group_epoch as i32,
                assignment_epoch: assignment_epoch as i32,
                assignor_name: protocol,
                members: members.iter().map(member).collect(),
                group_id,
                authorized_operations,
                ..DescribedConsumerGroup::default()
            }
        }
        Ok(found) => DescribedConsumerGroup {
            error_code: ErrorCode::GroupIdNotFound.into(),
            error_message: Some(match found {
                Some(_) => format!("Group {group_id} is not a consumer group."),
                None => format!("Group {group_id} not found."),
            }),
            group_id,
            ..DescribedConsumerGroup::default()
        },
    };
    // A group that a request repeats is answered once.
    let names: BTreeSet<String> = request.group_ids.into_iter().collect();
    let groups = names.into_iter().map(described).collect();
    ConsumerGroupDescribeResponse { groups, ..ConsumerGroupDescribeResponse::default() }
}

fn member(member: &MemberStatus) -> DescribedConsumerGroupMember {
    let MemberShare::Consumer(share) = &member.share else { unreachable!("{} is in no consumer group", member.id) };
    let named = |partitions: &[TopicShare]| ConsumerGroupDescribedAssignment {
        topic_partitions: partitions.iter().map(described).collect(),
    };
    DescribedConsumerGroupMember {
        member_id: member.id.to_string(),
        instance_id: member.instance.as_ref().map(|instance| instance.to_string()),
        rack_id: share.rack.as_ref().map(|rack| rack.to_string()),
        member_epoch: share.epoch.map_or(AWAY, |epoch| epoch as i32),
        client_id: member.client.to_string(),
        client_host: member.host.to_string(),
        subscribed_topic_names: share.names.iter().map(|name| name.to_string()).collect(),
        // Kafka has an empty one for none.
        subscribed_topic_regex: Some(share.regex.as_deref().unwrap_or_default().to_owned()),
        assignment: named(&share.assigned),
        target_assignment: named(&share.target),
        member_type: CONSUMER_MEMBER,
    }
}

fn described(share: &TopicShare) -> ConsumerGroupDescribedTopicPartitions {
    ConsumerGroupDescribedTopicPartitions {
        topic_id: Uuid(share.id.to_bytes()),
        topic_name: share.name.to_string(),
        partitions: share.partitions.iter().map(|number| *number as i32).collect(),
    }
}
