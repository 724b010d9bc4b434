//! OffsetCommit, OffsetFetch, OffsetDelete.

use super::member;
use crate::kafka::client::Client;
use crate::kafka::error::{Refusal, code_of_group, code_of_offset};
use crate::kafka::lookup::{NO_ID, id_of, topic_with_id};
use crate::kafka::transactions::{instance, is_known_kind};
use rawline_broker::{Commit, GroupError, GroupOffset, Membership, OffsetError};
use rawline_kafka::messages::{
    CONSUMER_PROTOCOL, ConsumerSubscription, OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic, OffsetDeleteRequest, OffsetDeleteResponse,
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic, OffsetFetchRequest, OffsetFetchRequestGroup,
    OffsetFetchRequestTopic, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponseTopic, TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic, Uuid,
};
use rawline_kafka::{Api, ErrorCode};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// From this version on, a request has several groups.
const GROUPS_FROM: i16 = 8;

/// From this version on, members of consumer groups can commit: clients of older ones don't know their errors.
const EPOCHS_FROM: i16 = 9;

/// From this version on, topics are named by their ids.
const IDS_FROM: i16 = 10;

fn code(done: &Result<(), OffsetError>) -> i16 {
    done.as_ref().map_or_else(code_of_offset, |()| ErrorCode::None).into()
}

/// The name of a topic, as a request of this version calls it, if the client may use it.
async fn name_of(client: &Client, api: Api, version: i16, name: &str, id: Uuid) -> Result<Arc<str>, Refusal> {
    match version < IDS_FROM {
        true => client.may_use_topic(api, name).map(|()| name.into()),
        false => Ok(topic_with_id(client, api, id).await?.topic_name().into()),
    }
}

pub(super) async fn commit(client: &Client, version: i16, request: OffsetCommitRequest) -> OffsetCommitResponse {
    let group: Arc<str> = request.group_id.into();
    let generation = request.generation_id_or_member_epoch;
    let is_member = generation >= 0 || !request.member_id.is_empty();
    let membership: Option<Membership> =
        is_member.then(|| member::of(request.member_id, request.group_instance_id, generation));
    let group_is_allowed = client.may_use_group(Api::OffsetCommit, &group);
    let mut commits = Vec::new();
    let mut names = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let name = match &group_is_allowed {
            Ok(()) => name_of(client, Api::OffsetCommit, version, &topic.name, topic.topic_id).await,
            Err(refusal) => Err(refusal.clone()),
        };
        names.push(name.as_ref().map(drop).map_err(|refusal| refusal.code));
        let Ok(name) = name else { continue };
        commits.extend(topic.partitions.iter().map(|partition| Commit {
            topic: name.clone(),
            partition: u64::try_from(partition.partition_index).unwrap_or(u64::MAX),
            offset: partition.committed_offset,
            metadata: partition.committed_metadata.as_deref().unwrap_or_default().as_bytes().into(),
        }));
    }
    if version < EPOCHS_FROM && membership.is_some() && client.kafka.broker.coordinator().is_consumer_group(&group) {
        let error_code = ErrorCode::UnsupportedVersion.into();
        let refused = |of: &OffsetCommitRequestPartition| OffsetCommitResponsePartition {
            partition_index: of.partition_index,
            error_code,
        };
        let topics = request.topics.into_iter().map(|topic| OffsetCommitResponseTopic {
            partitions: topic.partitions.iter().map(refused).collect(),
            name: topic.name,
            topic_id: topic.topic_id,
        });
        return OffsetCommitResponse { topics: topics.collect(), ..OffsetCommitResponse::default() };
    }
    let committed = client
        .kafka
        .broker
        .coordinator()
        .commit_offsets(&group, client.caller().owner(), membership.as_ref(), &commits)
        .await;
    let committed = committed.unwrap_or_else(|error| commits.iter().map(|_| Err(error.clone())).collect());
    let mut committed = committed.into_iter();
    let mut result = |asked: &OffsetCommitRequestPartition, named: Result<(), ErrorCode>| {
        // Topics that don't exist were left out.
        let error_code = match named {
            Err(unknown) => unknown.into(),
            Ok(()) => committed.next().map_or(ErrorCode::UnknownServerError.into(), |committed| code(&committed)),
        };
        OffsetCommitResponsePartition { partition_index: asked.partition_index, error_code }
    };
    let topics = request.topics.into_iter().zip(names).map(|(topic, named)| OffsetCommitResponseTopic {
        partitions: topic.partitions.iter().map(|asked| result(asked, named)).collect(),
        name: topic.name,
        topic_id: topic.topic_id,
    });
    OffsetCommitResponse { topics: topics.collect(), ..OffsetCommitResponse::default() }
}

/// The version from which on the request itself adds the group to the transaction.
const TRANSACTIONS_FROM: i16 = 5;

/// Commits offsets in a producer's transaction.
pub(super) async fn commit_in_transaction(
    client: &Client,
    version: i16,
    request: TxnOffsetCommitRequest,
) -> TxnOffsetCommitResponse {
    let is_allowed = may_commit(client, &request).await;
    let group: Arc<str> = request.group_id.into();
    let generation = request.generation_id;
    let is_member = generation >= 0 || !request.member_id.is_empty();
    let membership: Option<Membership> =
        is_member.then(|| member::of(request.member_id, request.group_instance_id, generation));
    let producer = instance(request.producer_id, request.producer_epoch);
    let refused = match (is_known_kind("TxnOffsetCommit", version, TRANSACTIONS_FROM), producer) {
        _ if is_allowed.is_err() => is_allowed.err().map(|refusal| refusal.code),
        (false, _) => Some(ErrorCode::UnsupportedVersion),
        (true, None) => Some(ErrorCode::InvalidProducerIdMapping),
        (true, Some(_)) => None,
    };
    let asked = || request.topics.iter().flat_map(|topic| topic.partitions.iter().map(move |asked| (topic, asked)));
    let commit = |(topic, asked): (&TxnOffsetCommitRequestTopic, &TxnOffsetCommitRequestPartition)| Commit {
        topic: topic.name.as_str().into(),
        partition: u64::try_from(asked.partition_index).unwrap_or(u64::MAX),
        offset: asked.committed_offset,
        metadata: asked.committed_metadata.as_deref().unwrap_or_default().as_bytes().into(),
    };
    let commits: Vec<Commit> = asked().map(commit).collect();
    let committed = match (refused, producer) {
        (None, Some(producer)) => {
            let broker = &client.kafka.broker;
            let caller = client.caller();
            broker
                .coordinator()
                .commit_offsets_in_transaction(&group, caller.owner(), membership.as_ref(), producer, &commits)
                .await
        }
        _ => Ok(Vec::new()),
    };
    let committed = committed.unwrap_or_else(|error| commits.iter().map(|_| Err(error.clone())).collect());
    let mut committed = committed.into_iter();
    let mut result = |asked: &TxnOffsetCommitRequestPartition| {
        let error_code = match refused {
            Some(refused) => refused.into(),
            None => committed.next().map_or(ErrorCode::UnknownServerError.into(), |committed| code(&committed)),
        };
        TxnOffsetCommitResponsePartition { partition_index: asked.partition_index, error_code }
    };
    let topics = request.topics.iter().map(|topic| TxnOffsetCommitResponseTopic {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(&mut result).collect(),
    });
    TxnOffsetCommitResponse { topics: topics.collect(), ..TxnOffsetCommitResponse::default() }
}

/// Fails unless the client may commit all these offsets in the transaction: they are committed together or not at all.
async fn may_commit(client: &Client, request: &TxnOffsetCommitRequest) -> Result<(), Refusal> {
    client.may_be_producer(Api::TxnOffsetCommit, &request.transactional_id)?;
    client.may_use_group(Api::TxnOffsetCommit, &request.group_id)?;
    request.topics.iter().try_for_each(|topic| client.may_use_topic(Api::TxnOffsetCommit, &topic.name))?;
    match u64::try_from(request.producer_id) {
        Ok(id) => client.check_mapping(&request.transactional_id, id).await,
        Err(_) => Ok(()),
    }
}

pub(super) async fn fetch(client: &Client, version: i16, request: OffsetFetchRequest) -> OffsetFetchResponse {
    let require_stable = request.require_stable;
    if version < GROUPS_FROM {
        if let Err(Refusal { code, .. }) = client.may_use_group(Api::OffsetFetch, &request.group_id) {
            return refused_group(code, request.topics);
        }
        if let Err(error) = client.kafka.broker.coordinator().settle_offsets(&request.group_id).await {
            return refused_group(code_of_group(&error), request.topics);
        }
        let topics = fetched(client, version, &request.group_id, request.topics, require_stable).await;
        return OffsetFetchResponse { topics, ..OffsetFetchResponse::default() };
    }
    // A duplicate group or partition gets one response, since it may have much metadata.
    let mut seen = HashSet::new();
    let mut groups = Vec::new();
    for group in request.groups {
        if seen.insert(group.group_id.clone()) {
            let allowed = client.may_use_group(Api::OffsetFetch, &group.group_id).map_err(|refusal| refusal.code);
            let checked =
                match allowed.and_then(|()| check_member(client, &group).map_err(|error| code_of_group(&error))) {
                    Ok(()) => client
                        .kafka
                        .broker
                        .coordinator()
                        .settle_offsets(&group.group_id)
                        .await
                        .map_err(|error| code_of_group(&error)),
                    refused => refused,
                };
            if let Err(code) = checked {
                let (group_id, error_code) = (group.group_id, code.into());
                groups.push(OffsetFetchResponseGroup { group_id, error_code, ..OffsetFetchResponseGroup::default() });
                continue;
            }
            let topics = fetched(client, version, &group.group_id, group.topics, require_stable).await;
            let group_id = group.group_id;
            groups.push(OffsetFetchResponseGroup { group_id, topics, ..OffsetFetchResponseGroup::default() });
        }
    }
    OffsetFetchResponse { groups, ..OffsetFetchResponse::default() }
}

/// To a client of an older version that may not use the group. The oldest find errors at the partitions only.
fn refused_group(code: ErrorCode, asked: Option<Vec<OffsetFetchRequestTopic>>) -> OffsetFetchResponse {
    let partition = |partition_index| OffsetFetchResponsePartition {
        partition_index,
        committed_offset: -1,
        metadata: Some(String::new()),
        error_code: code.into(),
        ..OffsetFetchResponsePartition::default()
    };
    let topics = asked.unwrap_or_default().into_iter().map(|topic| OffsetFetchResponseTopic {
        partitions: topic.partition_indexes.into_iter().map(partition).collect(),
        name: topic.name,
        topic_id: topic.topic_id,
    });
    OffsetFetchResponse { error_code: code.into(), topics: topics.collect(), ..OffsetFetchResponse::default() }
}

/// A member of a consumer group that sends its id must have the group's epoch, so that it doesn't begin at an offset
/// after which others have read.
fn check_member(client: &Client, group: &OffsetFetchRequestGroup) -> Result<(), GroupError> {
    match &group.member_id {
        Some(id) if client.kafka.broker.coordinator().is_consumer_group(&group.group_id) => {
            let member = member::of(id.clone(), None, group.member_epoch);
            client.kafka.broker.coordinator().may_commit(&group.group_id, &member)
        }
        _ => Ok(()),
    }
}

/// The offsets of a group: the requested ones, or all. An offset that an open transaction may still commit
/// is read at one moment: in between, a transaction could end.
async fn fetched(
    client: &Client,
    version: i16,
    group: &str,
    asked: Option<Vec<OffsetFetchRequestTopic>>,
    require_stable: bool,
) -> Vec<OffsetFetchResponseTopic> {
    let mut by_topic: BTreeMap<Arc<str>, BTreeMap<i32, GroupOffset>> = BTreeMap::new();
    for found in client.kafka.broker.coordinator().group_offsets(group) {
        if found.committed.is_some() || require_stable {
            by_topic.entry(found.topic.clone()).or_default().insert(found.partition as i32, found);
        }
    }
    let partition = |number: i32, found: Option<&GroupOffset>| fetched_partition(number, found, require_stable);
    let (mut topics, caller) = (Vec::new(), client.caller());
    let Some(asked) = asked else {
        for (name, found) in by_topic.iter().filter(|(name, _)| caller.grants().sees(name)) {
            // Pending offsets of open transactions aren't committed yet.
            let committed = found.iter().filter(|(_, found)| found.committed.is_some());
            let partitions: Vec<_> = committed.map(|(number, found)| partition(*number, Some(found))).collect();
            if partitions.is_empty() {
                continue;
            }
            let topic_id = match version < IDS_FROM {
                true => NO_ID,
                false => match client.kafka.broker.topic(name).await {
                    Ok(topic) => id_of(topic.topic_id()),
                    // Deleted meanwhile, and with it its offsets.
                    Err(_) => continue,
                },
            };
            topics.push(OffsetFetchResponseTopic { name: name.to_string(), topic_id, partitions });
        }
        return topics;
    };
    let mut wanted: BTreeMap<Arc<str>, (Uuid, BTreeSet<i32>)> = BTreeMap::new();
    for OffsetFetchRequestTopic { name, topic_id, partition_indexes } in asked {
        match name_of(client, Api::OffsetFetch, version, &name, topic_id).await {
            Ok(name) => wanted.entry(name).or_insert((topic_id, BTreeSet::new())).1.extend(partition_indexes),
            Err(Refusal { code, .. }) => {
                let error_code = code.into();
                let unknown = |number| OffsetFetchResponsePartition { error_code, ..partition(number, None) };
                let partitions = partition_indexes.into_iter().map(unknown).collect();
                topics.push(OffsetFetchResponseTopic { name, topic_id, partitions });
            }
        }
    }
    topics.extend(wanted.into_iter().map(|(name, (topic_id, numbers))| {
        let of_topic = by_topic.get(&name);
        let found = |number: i32| partition(number, of_topic.and_then(|of_topic| of_topic.get(&number)));
        let partitions = numbers.into_iter().map(found).collect();
        OffsetFetchResponseTopic { name: name.to_string(), topic_id, partitions }
    }));
    topics
}

fn fetched_partition(number: i32, found: Option<&GroupOffset>, require_stable: bool) -> OffsetFetchResponsePartition {
    // A transaction that is open may commit another one.
    let is_unstable = require_stable && found.is_some_and(|found| found.is_unstable);
    let committed = found.and_then(|found| found.committed.as_ref()).filter(|_| !is_unstable);
    let metadata = committed.map(|committed| String::from_utf8_lossy(&committed.metadata).into_owned());
    let error_code = if is_unstable { ErrorCode::UnstableOffsetCommit } else { ErrorCode::None };
    OffsetFetchResponsePartition {
        partition_index: number,
        committed_offset: committed.map_or(-1, |committed| committed.offset),
        metadata: Some(metadata.unwrap_or_default()),
        error_code: error_code.into(),
        ..OffsetFetchResponsePartition::default()
    }
}

/// Whether a member of a classic group wants a topic, by what it says about itself, so that its offsets can't be
/// deleted. Members of groups that share other things than partitions may want anything.
fn wants(says: &[u8], topic: &str) -> bool {
    ConsumerSubscription::parse(says)
        .map_or(true, |subscription| subscription.topics.iter().any(|wanted| wanted == topic))
}

pub(super) async fn delete(client: &Client, request: OffsetDeleteRequest) -> OffsetDeleteResponse {
    let group: Arc<str> = request.group_id.into();
    let broker = &client.kafka.broker;
    let refused = |code: ErrorCode| OffsetDeleteResponse { error_code: code.into(), ..OffsetDeleteResponse::default() };
    if let Err(Refusal { code, .. }) = client.may_use_group(Api::OffsetDelete, &group) {
        return refused(code);
    }
    let Some(status) = broker.coordinator().group(&group) else { return refused(ErrorCode::GroupIdNotFound) };
    if !status.members.is_empty() && status.protocol_type != CONSUMER_PROTOCOL {
        return refused(ErrorCode::NonEmptyGroup);
    }
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let allowed = client.may_use_topic(Api::OffsetDelete, &topic.name);
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in topic.partitions {
            let error_code = if let Err(Refusal { code, .. }) = &allowed {
                (*code).into()
            } else {
                let number = u64::try_from(partition.partition_index).unwrap_or(u64::MAX);
                // Deleting a missing offset succeeds.
                let wants = |says: &[u8]| wants(says, &topic.name);
                let deleted = match broker.coordinator().delete_unread_offset(&group, &topic.name, number, wants).await
                {
                    Err(OffsetError::NotCommitted) => Ok(()),
                    deleted => deleted,
                };
                let refusal = |error: &OffsetError| Refusal::new(code_of_offset(error), error.to_string());
                let _ = client.audited("group.delete", &group, deleted.as_ref().map(drop).map_err(refusal));
                code(&deleted)
            };
            partitions.push(OffsetDeleteResponsePartition { partition_index: partition.partition_index, error_code });
        }
        topics.push(OffsetDeleteResponseTopic { name: topic.name, partitions });
    }
    OffsetDeleteResponse { topics, ..OffsetDeleteResponse::default() }
}
