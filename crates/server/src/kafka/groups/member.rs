//! JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

use crate::groups::new_member_id;
use crate::kafka::client::Client;
use crate::kafka::error::{Refusal, code_of_group};
use futures_util::future::join_all;
use rawline_broker::{GroupError, Identity, Join, Joined, Membership, Outcome};
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::messages::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember,
    LeaveGroupRequest, LeaveGroupResponse, LeavingMember, LeftMember, SyncGroupRequest, SyncGroupResponse,
};
use rawline_kafka::{Api, ErrorCode};
use std::sync::Arc;
use std::time::Duration;

/// From this version on, a member without an id gets one first.
const NEEDS_ID_FROM: i16 = 4;
/// From this version on, a response can tell a leader to keep the assignment.
const SKIPS_FROM: i16 = 9;

/// Clients look for the coordinator again.
const STOPPING: i16 = ErrorCode::CoordinatorNotAvailable as i16;

/// Waits for other members: the result, or `None` if the broker stops first.
async fn unless_stopping(client: &Client, outcome: impl Future<Output = Outcome>) -> Option<Outcome> {
    let mut stopping = client.kafka.stopping.clone();
    tokio::select! {
        outcome = outcome => Some(outcome),
        _ = stopping.wait_for(|&is_stopping| is_stopping) => None,
    }
}

fn duration(ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

pub(super) fn join(
    client: &Arc<Client>,
    header: &RequestHeader,
    request: JoinGroupRequest,
) -> impl Future<Output = JoinGroupResponse> + Send + use<> {
    let (client, version) = (client.clone(), header.version);
    let name = header.client_id.clone().unwrap_or_default();
    async move {
        if let Err(Refusal { code, .. }) = client.may_use_group(Api::JoinGroup, &request.group_id) {
            return JoinGroupResponse { error_code: code.into(), ..JoinGroupResponse::default() };
        }
        let session = duration(request.session_timeout_ms);
        let rebalance = if request.rebalance_timeout_ms < 0 { session } else { duration(request.rebalance_timeout_ms) };
        let group: Arc<str> = request.group_id.into();
        let protocols = request.protocols.into_iter().map(|protocol| (protocol.name.into(), protocol.metadata));
        let member = request.member_id.clone();
        let join = Join {
            member: request.member_id.into(),
            instance: request.group_instance_id.clone().map(Arc::from),
            identity: Identity { client: name.as_str().into(), host: format!("/{}", client.peer.address).into() },
            session,
            rebalance,
            protocol_type: request.protocol_type.into(),
            protocols: protocols.collect(),
            needs_id: version >= NEEDS_ID_FROM,
        };
        let new_id = || new_member_id(request.group_instance_id.as_deref().unwrap_or(&name));
        let joined = unless_stopping(&client, client.kafka.broker.coordinator().join_group(&group, join, new_id)).await;
        if let (Some(Outcome::Joined(Joined { member, .. })), Err(Refusal { code, .. })) =
            (&joined, client.may_use_group(Api::JoinGroup, &group))
        {
            // Its key has changed while it waited for the others.
            let _ = client
                .kafka
                .broker
                .coordinator()
                .leave_group(&group, member, request.group_instance_id.as_deref())
                .await;
            return JoinGroupResponse { error_code: code.into(), ..JoinGroupResponse::default() };
        }
        match joined {
            None => JoinGroupResponse { error_code: STOPPING, ..JoinGroupResponse::default() },
            Some(Outcome::Joined(joined)) => described(version, joined),
            Some(Outcome::Refused(error)) => refused(&error, member),
            Some(Outcome::Synced { .. }) => unreachable!("a share for a member that joins"),
        }
    }
}

/// To a member that gave this id; it may have to take another.
fn refused(error: &GroupError, member: String) -> JoinGroupResponse {
    let member_id = match error {
        GroupError::NeedsId { member } => member.to_string(),
        _ => member,
    };
    JoinGroupResponse { error_code: code_of_group(error).into(), member_id, ..JoinGroupResponse::default() }
}

fn described(version: i16, joined: Joined) -> JoinGroupResponse {
    // A leader that can't be asked to keep the division must not know that it is one.
    let hides_leader = joined.is_divided && version < SKIPS_FROM;
    let member = |(id, instance, metadata): (Arc<str>, Option<Arc<str>>, _)| JoinGroupResponseMember {
        member_id: id.to_string(),
        group_instance_id: instance.map(|instance| instance.to_string()),
        metadata,
    };
    let members = if hides_leader { Vec::new() } else { joined.members };
    JoinGroupResponse {
        generation_id: joined.generation as i32,
        protocol_type: Some(joined.protocol_type.to_string()),
        protocol_name: Some(joined.protocol.to_string()),
        leader: if hides_leader { format!("not {}", joined.leader) } else { joined.leader.to_string() },
        skip_assignment: joined.is_divided,
        member_id: joined.member.to_string(),
        members: members.into_iter().map(member).collect(),
        ..JoinGroupResponse::default()
    }
}

/// A member that knows a generation. No generation is negative.
pub(super) fn of(member: String, instance: Option<String>, generation: i32) -> Membership {
    Membership {
        member: member.into(),
        instance: instance.map(Arc::from),
        generation: u32::try_from(generation).unwrap_or(u32::MAX),
    }
}

pub(super) fn sync(
    client: &Arc<Client>,
    request: SyncGroupRequest,
) -> impl Future<Output = SyncGroupResponse> + Send + use<> {
    let client = client.clone();
    async move {
        if let Err(Refusal { code, .. }) = client.may_use_group(Api::SyncGroup, &request.group_id) {
            return SyncGroupResponse { error_code: code.into(), ..SyncGroupResponse::default() };
        }
        if !is_of_group(&client, &request) {
            let error_code = ErrorCode::InconsistentGroupProtocol.into();
            return SyncGroupResponse { error_code, ..SyncGroupResponse::default() };
        }
        let sync = of(request.member_id, request.group_instance_id, request.generation_id);
        let assignments = request.assignments.into_iter().map(|share| (share.member_id.into(), share.assignment));
        let synced = client.kafka.broker.coordinator().sync_group(&request.group_id, &sync, assignments.collect());
        let synced = unless_stopping(&client, synced).await;
        if let Err(Refusal { code, .. }) = client.may_use_group(Api::SyncGroup, &request.group_id) {
            return SyncGroupResponse { error_code: code.into(), ..SyncGroupResponse::default() };
        }
        match synced {
            None => SyncGroupResponse { error_code: STOPPING, ..SyncGroupResponse::default() },
            Some(Outcome::Synced { protocol_type, protocol, assignment }) => SyncGroupResponse {
                protocol_type: Some(protocol_type.to_string()),
                protocol_name: Some(protocol.to_string()),
                assignment,
                ..SyncGroupResponse::default()
            },
            Some(Outcome::Refused(error)) => {
                SyncGroupResponse { error_code: code_of_group(&error).into(), ..SyncGroupResponse::default() }
            }
            Some(Outcome::Joined(_)) => unreachable!("a member joins that asks for its share"),
        }
    }
}

/// Whether a member means the strategy that its group has chosen. Older versions don't say which they mean.
fn is_of_group(client: &Client, request: &SyncGroupRequest) -> bool {
    let Some(group) = client.kafka.broker.coordinator().group(&request.group_id) else { return true };
    let is_same = |asked: &Option<String>, chosen: &str| asked.as_deref().is_none_or(|asked| asked == chosen);
    let is_chosen = !group.protocol.is_empty();
    !is_chosen
        || (is_same(&request.protocol_type, &group.protocol_type) && is_same(&request.protocol_name, &group.protocol))
}

fn code(done: Result<(), GroupError>) -> i16 {
    done.map_or_else(|error| code_of_group(&error), |()| ErrorCode::None).into()
}

pub(super) fn heartbeat(client: &Client, request: HeartbeatRequest) -> HeartbeatResponse {
    if let Err(Refusal { code, .. }) = client.may_use_group(Api::Heartbeat, &request.group_id) {
        return HeartbeatResponse { error_code: code.into(), ..HeartbeatResponse::default() };
    }
    let sync = of(request.member_id, request.group_instance_id, request.generation_id);
    let error_code = code(client.kafka.broker.coordinator().heartbeat(&request.group_id, &sync));
    HeartbeatResponse { error_code, ..HeartbeatResponse::default() }
}

pub(super) async fn leave(client: &Client, version: i16, request: LeaveGroupRequest) -> LeaveGroupResponse {
    if let Err(Refusal { code, .. }) = client.may_use_group(Api::LeaveGroup, &request.group_id) {
        return LeaveGroupResponse { error_code: code.into(), ..LeaveGroupResponse::default() };
    }
    let group = request.group_id.as_str();
    let leave = async |member: &str, instance: Option<&str>| {
        code(client.kafka.broker.coordinator().leave_group(group, member, instance).await)
    };
    if version < 3 {
        let error_code = leave(&request.member_id, None).await;
        return LeaveGroupResponse { error_code, ..LeaveGroupResponse::default() };
    }
    let left = async |LeavingMember { member_id, group_instance_id, .. }: LeavingMember| {
        let error_code = leave(&member_id, group_instance_id.as_deref()).await;
        LeftMember { member_id, group_instance_id, error_code }
    };
    // Together, so that they are stored together.
    let members = join_all(request.members.into_iter().map(left)).await;
    LeaveGroupResponse { members, ..LeaveGroupResponse::default() }
}
