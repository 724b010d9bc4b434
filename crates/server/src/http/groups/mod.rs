//! `/groups` and `/group`: groups of consumers, their members and the offsets that they have committed.

pub(crate) mod member;

use crate::access::{Caller, Operation};
use crate::http::api::Api;
use crate::http::auth;
use crate::http::body::BodyReader;
use crate::http::cluster::{Via, groups_of_others};
use crate::http::error::ApiError;
use crate::http::peers::Client;
use crate::http::query::Query;
use crate::http::render;
use crate::http::response::{self, ApiResponse};
use crate::net::peer::Peer;
use http::{Request, header};
use hyper::body::Incoming;
use rawline_broker::cluster::Cluster;
use rawline_broker::{Commit, GroupError, GroupState, GroupStatus, MemberShare, MemberStatus, OffsetError};
use rawline_contract::{
    CommitOffset, CommitRequest, GroupInfo, GroupList, GroupOffset, GroupPartition, GroupSummary, MemberInfo, code,
};
use rawline_kafka::messages::{CONSUMER_PROTOCOL, ConsumerAssignment};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum size of a request's JSON in bytes.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// A state as the API shows it, for both kinds of groups.
fn shown(state: GroupState) -> rawline_contract::GroupState {
    match state {
        GroupState::Empty => rawline_contract::GroupState::Empty,
        GroupState::Joining => rawline_contract::GroupState::Joining,
        GroupState::Syncing | GroupState::Assigning | GroupState::Reconciling => rawline_contract::GroupState::Dividing,
        GroupState::Stable => rawline_contract::GroupState::Stable,
    }
}

/// A request's JSON.
async fn read_json<T: DeserializeOwned>(body: &mut BodyReader, form: &str) -> Result<T, ApiError> {
    let text = body.text(REQUEST_BYTES_MAX).await?;
    serde_json::from_slice(&text)
        .map_err(|error| ApiError::new(code::GROUP_INVALID, format!("send a JSON object such as {form}: {error}")))
}

/// All groups that the caller may use, by name. Through another broker, those that this one coordinates.
pub(crate) async fn groups(
    api: &Api,
    peer: &Peer,
    caller: &Arc<Caller>,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    // A body has no meaning and is not read.
    let (request, _body) = BodyReader::split(api, request);
    let has_totals = Query::of(&request).switch("totals")?;
    let own = |cluster: &Cluster, name: &str| !cluster.is_owned_by_other(api.broker.journal_of(name));
    let mut groups: Vec<GroupSummary> = match api.broker.cluster() {
        None => Box::pin(summaries(api, caller, api.broker.coordinator().groups(), has_totals)).await,
        Some(cluster) => {
            for journal in 0..api.broker.journals() {
                if !cluster.is_owned_by_other(journal) && !cluster.acts(journal).await {
                    let is_read_only = cluster.is_read_only();
                    return Err(if is_read_only { ApiError::read_only() } else { ApiError::taking_over() });
                }
            }
            let others = if request.extensions().get::<Via>().is_some() {
                Vec::new()
            } else {
                let authorization = request.headers().get(header::AUTHORIZATION).cloned();
                let client = Client { caller: caller.clone(), address: peer.address, authorization };
                Box::pin(groups_of_others(api, cluster, client, has_totals)).await?
            };
            let own = api.broker.coordinator().groups().into_iter().filter(|(name, _)| own(cluster, name));
            let own = Box::pin(summaries(api, caller, own.collect(), has_totals)).await;
            own.into_iter().chain(others).collect()
        }
    };
    groups.retain(|group| caller.grants().group(&group.name).is_ok());
    groups.sort_by(|one, other| one.name.cmp(&other.name));
    // While a group moves, both may list it.
    groups.dedup_by(|one, other| one.name == other.name);
    render::value(api, peer, &GroupList { groups }).await
}

/// The groups that this broker coordinates, as far as the caller may use them.
async fn summaries(
    api: &Api,
    caller: &Caller,
    groups: Vec<(Arc<str>, GroupStatus)>,
    has_totals: bool,
) -> Vec<GroupSummary> {
    let mut summaries = Vec::with_capacity(groups.len());
    for (name, status) in groups {
        if caller.grants().group(&name).is_err() {
            continue;
        }
        let (topics, lag) = if has_totals { totals(api, caller, &name, &status).await } else { (None, None) };
        let (state, members) = (shown(status.state), status.members.len() as u64);
        summaries.push(GroupSummary { name: name.to_string(), state, members, topics, lag });
    }
    summaries
}

/// A group's topics that the caller may use, and its lag in them; `None` if one of them can't be opened.
async fn totals(api: &Api, caller: &Caller, name: &str, status: &GroupStatus) -> (Option<Vec<String>>, Option<u64>) {
    let Ok(offsets) = offsets(api, caller, name).await else { return (None, None) };
    let lag = offsets.iter().map(|offset| offset.lag).sum();
    let members = status.members.iter().map(|member| member_info(caller, &status.protocol_type, member));
    let read = members.flat_map(|member| member.partitions).map(|partition| partition.topic);
    let topics: BTreeSet<String> = offsets.into_iter().map(|offset| offset.topic).chain(read).collect();
    (Some(topics.into_iter().collect()), Some(lag))
}

/// One group, with the topics that the caller may use.
pub(crate) async fn group(
    api: &Api,
    peer: &Peer,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let name = Query::of(&request).group()?.into_owned();
    let Some(status) = api.broker.coordinator().group(&name) else { return Err(ApiError::group_not_found(&name)) };
    let info = GroupInfo {
        state: shown(status.state),
        strategy: status.protocol,
        members: status.members.iter().map(|member| member_info(caller, &status.protocol_type, member)).collect(),
        offsets: offsets(api, caller, &name).await?,
        name,
    };
    render::value(api, peer, &info).await
}

fn member_info(caller: &Caller, protocol_type: &str, member: &MemberStatus) -> MemberInfo {
    let shares: Vec<(String, Vec<u32>)> = match &member.share {
        MemberShare::Consumer(share) => {
            share.assigned.iter().map(|of| (of.name.to_string(), of.partitions.clone())).collect()
        }
        MemberShare::Classic { assignment, .. } => {
            let assignment = (protocol_type == CONSUMER_PROTOCOL).then(|| ConsumerAssignment::parse(assignment));
            let assignment = assignment.and_then(Result::ok).unwrap_or_default();
            let numbers = |all: Vec<i32>| all.into_iter().filter_map(|number| u32::try_from(number).ok()).collect();
            assignment.assigned_partitions.into_iter().map(|of| (of.topic, numbers(of.partitions))).collect()
        }
    };
    let seen = shares.into_iter().filter(|(topic, _)| caller.grants().sees(topic));
    let partitions = seen.flat_map(|(topic, numbers)| {
        numbers.into_iter().map(move |partition| GroupPartition { topic: topic.clone(), partition })
    });
    MemberInfo {
        member: member.id.to_string(),
        instance: member.instance.as_ref().map(|instance| instance.to_string()),
        client: member.client.to_string(),
        address: member.host.trim_start_matches('/').to_owned(),
        partitions: partitions.collect(),
    }
}

async fn offsets(api: &Api, caller: &Caller, group: &str) -> Result<Vec<GroupOffset>, ApiError> {
    let mut ends: BTreeMap<Arc<str>, Vec<u64>> = BTreeMap::new();
    let mut offsets = Vec::new();
    for (topic, partition, committed) in api.broker.coordinator().committed_offsets(group) {
        let (true, Some(offset)) = (caller.grants().sees(&topic), committed.next_offset()) else { continue };
        if !ends.contains_key(&topic) {
            let all = api.broker.topic(&topic).await?.listed().all_offsets();
            ends.insert(topic.clone(), all.into_iter().map(|offsets| offsets.end).collect());
        }
        let end = ends.get(&topic).and_then(|ends| ends.get(partition as usize)).copied();
        let next_offset = end.unwrap_or_default();
        offsets.push(GroupOffset {
            topic: topic.to_string(),
            partition,
            offset,
            next_offset,
            // Kafka's clients may commit any offset.
            lag: next_offset.saturating_sub(offset),
            metadata: String::from_utf8_lossy(&committed.metadata).into_owned(),
        });
    }
    offsets.sort_by(|one, other| (&one.topic, one.partition).cmp(&(&other.topic, other.partition)));
    Ok(offsets)
}

/// Commits offsets: of a member, or of a group without members.
pub(crate) async fn commit(
    api: &Api,
    caller: &Arc<Caller>,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let (request, mut body) = BodyReader::split(api, request);
    let name: Arc<str> = Query::of(&request).group()?.into();
    let form = r#"{"member":"ID","generation":1,"offsets":[{"topic":"T","partition":0,"offset":5}]}"#;
    let request: CommitRequest = read_json(&mut body, form).await?;
    let caller = auth::renewed(api, caller)?;
    caller.grants().group(&name)?;
    request.offsets.iter().try_for_each(|one| caller.grants().topic(Operation::Read, &one.topic))?;
    let membership = match (request.member, request.generation) {
        (Some(member), Some(generation)) => Some(member::membership(member, request.instance, generation)),
        (None, None) => None,
        _ => {
            let message = "send both \"member\" and \"generation\", or neither to set the offsets of a group without \
                           members";
            return Err(ApiError::new(code::GROUP_INVALID, message));
        }
    };
    let commit = |one: CommitOffset| {
        let offset = i64::try_from(one.offset).map_err(|_| {
            let message = format!("no record has the offset {}; commit one of at most {}", one.offset, i64::MAX);
            ApiError::new(code::GROUP_INVALID, message)
        })?;
        Ok(Commit {
            topic: one.topic.into(),
            partition: one.partition.into(),
            offset,
            metadata: one.metadata.into_bytes().into(),
        })
    };
    check_ends(api, &request.offsets).await?;
    let commits: Vec<Commit> = request.offsets.into_iter().map(commit).collect::<Result<_, ApiError>>()?;
    let committed = api.broker.coordinator().commit_offsets(&name, caller.owner(), membership.as_ref(), &commits).await;
    let committed = committed.map_err(|error| match error {
        OffsetError::Group(GroupError::UnknownMember) if membership.is_none() => GroupError::NotEmpty.into(),
        error => error,
    })?;
    committed.into_iter().collect::<Result<(), _>>()?;
    Ok(response::no_content())
}

/// Fails if an offset is after its partition's end: a consumer that begins there would find that it doesn't exist, and
/// begin again at the oldest record. Topics and partitions that don't exist are refused when the offsets are committed.
async fn check_ends(api: &Api, commits: &[CommitOffset]) -> Result<(), ApiError> {
    for CommitOffset { topic: name, partition: number, offset, .. } in commits {
        let Ok(topic) = api.broker.topic(name).await else { continue };
        let Ok(partition) = topic.partition(u64::from(*number)) else { continue };
        if !partition.reaches(*offset).await? {
            let end = partition.offsets().end;
            let message = format!(
                "offset {offset} is after the end of partition {number} of topic {name:?}; commit {end} at most"
            );
            return Err(ApiError::new(code::OFFSET_OUT_OF_BOUNDS, message));
        }
    }
    Ok(())
}

/// Deletes offsets of a group that has no members: all, or those in one partition.
pub(crate) async fn delete(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    // A body has no meaning and is not read.
    let (request, _body) = BodyReader::split(api, request);
    let query = Query::of(&request);
    let name: Arc<str> = query.group()?.into();
    if query.has_topic() {
        api.broker.coordinator().delete_offset(&name, &query.topic()?, query.partition()?).await?;
    } else {
        api.broker.coordinator().delete_group(&name).await?;
    }
    Ok(response::no_content())
}
