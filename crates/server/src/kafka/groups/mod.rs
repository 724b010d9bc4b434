//! Consumer groups: their members, committed offsets, and administration.

mod consumer;
mod elsewhere;
mod manage;
mod member;
mod offsets;

use super::client::Client;
use super::error::Refusal;
use super::reply::{Pending, Reply};
use futures_util::future::FutureExt;
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::messages::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse, Request, Response};
use rawline_kafka::{Api, ErrorCode};
use std::sync::Arc;

/// The APIs that [`respond`] answers.
pub(super) const APIS: &[Api] = &[
    Api::FindCoordinator,
    Api::JoinGroup,
    Api::SyncGroup,
    Api::Heartbeat,
    Api::LeaveGroup,
    Api::OffsetCommit,
    Api::OffsetFetch,
    Api::OffsetDelete,
    Api::TxnOffsetCommit,
    Api::DescribeGroups,
    Api::ListGroups,
    Api::DeleteGroups,
    Api::ConsumerGroupHeartbeat,
    Api::ConsumerGroupDescribe,
];

/// The future response to a request of one of [`APIS`].
pub(super) async fn respond(client: &Arc<Client>, header: &RequestHeader, request: Request) -> Pending {
    let version = header.version;
    if !matches!(request, Request::FindCoordinator(_)) {
        let groups = names_in(&request);
        let code = if is_for_members(&request) && groups.iter().any(|group| group.is_empty()) {
            // Before all else, as in Kafka.
            Some(ErrorCode::InvalidGroupId)
        } else if groups.iter().any(|group| client.is_led_elsewhere(group)) {
            Some(ErrorCode::NotCoordinator)
        } else {
            (!client.coordinates(&groups).await).then_some(ErrorCode::CoordinatorLoadInProgress)
        };
        if let Some(code) = code {
            let response = elsewhere::refuse(client, request, code);
            return Pending::Ready(Ok(Some(reply(header, response.api(), &response))));
        }
    }
    let response: Response = match request {
        // Those that wait for other members don't hold up the requests after them.
        Request::JoinGroup(request) => {
            let joining = member::join(client, header, request);
            return later(header, Api::JoinGroup, joining);
        }
        Request::SyncGroup(request) => {
            let syncing = member::sync(client, request);
            return later(header, Api::SyncGroup, syncing);
        }
        Request::FindCoordinator(request) => find(client, version, request).into(),
        Request::Heartbeat(request) => member::heartbeat(client, request).into(),
        Request::LeaveGroup(request) => member::leave(client, version, request).await.into(),
        Request::OffsetCommit(request) => offsets::commit(client, version, request).await.into(),
        Request::OffsetFetch(request) => offsets::fetch(client, version, request).await.into(),
        Request::TxnOffsetCommit(request) => offsets::commit_in_transaction(client, version, request).await.into(),
        Request::OffsetDelete(request) => offsets::delete(client, request).await.into(),
        Request::DescribeGroups(request) => manage::describe(client, version, request).into(),
        Request::ListGroups(request) => manage::list(client, &request).into(),
        Request::DeleteGroups(request) => manage::delete(client, request).await.into(),
        Request::ConsumerGroupHeartbeat(request) => consumer::heartbeat(client, header, request).await.into(),
        Request::ConsumerGroupDescribe(request) => consumer::describe(client, request).into(),
        other => unreachable!("{:?} is not an API of groups", other.api()),
    };
    Pending::Ready(Ok(Some(reply(header, response.api(), &response))))
}

/// Whether a request is one of members of classic groups, which needs a group with a name.
fn is_for_members(request: &Request) -> bool {
    matches!(request, Request::JoinGroup(_) | Request::SyncGroup(_) | Request::Heartbeat(_) | Request::LeaveGroup(_))
}

/// The groups that a request is about; none if it is about all. Clients put those of one coordinator in a request.
fn names_in(request: &Request) -> Vec<&str> {
    match request {
        Request::JoinGroup(request) => vec![&request.group_id],
        Request::SyncGroup(request) => vec![&request.group_id],
        Request::Heartbeat(request) => vec![&request.group_id],
        Request::LeaveGroup(request) => vec![&request.group_id],
        Request::OffsetCommit(request) => vec![&request.group_id],
        Request::TxnOffsetCommit(request) => vec![&request.group_id],
        Request::OffsetDelete(request) => vec![&request.group_id],
        Request::ConsumerGroupHeartbeat(request) => vec![&request.group_id],
        Request::OffsetFetch(request) if request.groups.is_empty() => vec![&request.group_id],
        Request::OffsetFetch(request) => request.groups.iter().map(|group| group.group_id.as_str()).collect(),
        Request::DescribeGroups(request) => request.groups.iter().map(String::as_str).collect(),
        Request::DeleteGroups(request) => request.groups_names.iter().map(String::as_str).collect(),
        Request::ConsumerGroupDescribe(request) => request.group_ids.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn reply(header: &RequestHeader, api: Api, response: &Response) -> Reply {
    let mut bytes = Vec::new();
    response.write(header.version, &mut bytes);
    Reply::new(header, api, [bytes.into()]).with_error(response.error())
}

/// A response that may take a while. The request has begun when this returns.
fn later<R: Into<Response>>(
    header: &RequestHeader,
    api: Api,
    response: impl Future<Output = R> + Send + 'static,
) -> Pending {
    let header = header.clone();
    let mut replied = async move { Ok(Some(reply(&header, api, &response.await.into()))) }.boxed();
    match (&mut replied).now_or_never() {
        Some(outcome) => Pending::Ready(outcome),
        None => Pending::Later(replied),
    }
}

/// Kafka's numbers of coordinator types.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// Fails unless the client may use the group, or be the producer.
fn may_find(client: &Client, kind: i8, key: &str) -> Result<(), Refusal> {
    match kind {
        GROUP => client.may_use_group(Api::FindCoordinator, key),
        TRANSACTION => client.may_be_producer(Api::FindCoordinator, key),
        _ => Ok(()),
    }
}

/// The owner of a group's journal coordinates it, and of a transactional id's its transactions.
fn find(client: &Client, version: i16, request: FindCoordinatorRequest) -> FindCoordinatorResponse {
    let refused = |code: ErrorCode, message: String| (code.into(), Some(message));
    let (error_code, error_message) = match request.key_type {
        GROUP | TRANSACTION if version < 4 => match may_find(client, request.key_type, &request.key) {
            Ok(()) => (ErrorCode::None.into(), None),
            Err(Refusal { code, message }) => refused(code, message),
        },
        GROUP | TRANSACTION => (ErrorCode::None.into(), None),
        other => refused(
            ErrorCode::InvalidRequest,
            format!("there is no coordinator of type {other}; groups have 0, transactions 1"),
        ),
    };
    let is_known = error_code == i16::from(ErrorCode::None);
    let node = |key: &str| {
        let found = is_known.then(|| client.coordinator(key));
        found.map_or((-1, String::new(), 0), |node| (node.id, node.host, node.port.into()))
    };
    if version < 4 {
        let (node_id, host, port) = node(&request.key);
        let throttle_time_ms = 0;
        let coordinators = Vec::new();
        return FindCoordinatorResponse {
            throttle_time_ms,
            error_code,
            error_message,
            node_id,
            host,
            port,
            coordinators,
        };
    }
    let coordinator = |key: String| match may_find(client, request.key_type, &key) {
        Err(Refusal { code, message }) => {
            let (node_id, error_code) = (-1, code.into());
            Coordinator { key, node_id, error_code, error_message: Some(message), ..Coordinator::default() }
        }
        Ok(()) => {
            let (node_id, host, port) = node(&key);
            Coordinator { key, node_id, host, port, error_code, error_message: error_message.clone() }
        }
    };
    let coordinators = request.coordinator_keys.into_iter().map(coordinator).collect();
    FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() }
}
