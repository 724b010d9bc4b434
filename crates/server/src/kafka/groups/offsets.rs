//! OffsetCommit, OffsetFetch, OffsetDelete.

use super::{code_of_offset, member};
use crate::kafka::Client;
use rawline_broker::{Commit, Committed, Membership, OffsetError};
use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic, OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic, OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse,
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponseTopic,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// From this version on, a request asks for several groups.
const GROUPS_FROM: i16 = 8;

fn code(done: &Result<(), OffsetError>) -> i16 {
    done.as_ref().map_or_else(code_of_offset, |()| ErrorCode::None).into()
}

pub(super) async fn commit(client: &Client, request: OffsetCommitRequest) -> OffsetCommitResponse {
    let group: Arc<str> = request.group_id.into();
    let generation = request.generation_id_or_member_epoch;
    let is_member = generation >= 0 || !request.member_id.is_empty();
    let membership: Option<Membership> =
        is_member.then(|| member::of(request.member_id, request.group_instance_id, generation));
    let mut commits = Vec::new();
    for topic in &request.topics {
        let name: Arc<str> = topic.name.as_str().into();
        commits.extend(topic.partitions.iter().filter_map(|partition| {
            Some(Commit {
                topic: name.clone(),
                partition: u64::try_from(partition.partition_index).unwrap_or(u64::MAX),
                offset: u64::try_from(partition.committed_offset).ok()?,
                metadata: partition.committed_metadata.as_deref().unwrap_or_default().as_bytes().into(),
            })
        }));
    }
    let committed = client.kafka.broker.commit_offsets(&group, membership.as_ref(), &commits).await;
    let committed = committed.unwrap_or_else(|error| commits.iter().map(|_| Err(error.clone())).collect());
    let mut committed = committed.into_iter();
    let mut result = |asked: &OffsetCommitRequestPartition| {
        // Negative offsets were left out.
        let committed = if asked.committed_offset >= 0 { committed.next() } else { None };
        let error_code = committed.map_or(ErrorCode::OffsetOutOfRange.into(), |committed| code(&committed));
        OffsetCommitResponsePartition { partition_index: asked.partition_index, error_code }
    };
    let topics = request.topics.into_iter().map(|topic| OffsetCommitResponseTopic {
        partitions: topic.partitions.iter().map(&mut result).collect(),
        name: topic.name,
        topic_id: topic.topic_id,
    });
    OffsetCommitResponse { topics: topics.collect(), ..OffsetCommitResponse::default() }
}

pub(super) fn fetch(client: &Client, version: i16, request: OffsetFetchRequest) -> OffsetFetchResponse {
    if version < GROUPS_FROM {
        let topics = fetched(client, &request.group_id, request.topics);
        return OffsetFetchResponse { topics, ..OffsetFetchResponse::default() };
    }
    // A group or a partition that a request repeats is answered once: it may stand for much metadata.
    let mut seen = HashSet::new();
    let groups = request.groups.into_iter().filter(|group| seen.insert(group.group_id.clone()));
    let groups = groups.map(|group| OffsetFetchResponseGroup {
        topics: fetched(client, &group.group_id, group.topics),
        group_id: group.group_id,
        ..OffsetFetchResponseGroup::default()
    });
    OffsetFetchResponse { groups: groups.collect(), ..OffsetFetchResponse::default() }
}

/// The offsets of a group: those that are asked for, or all.
fn fetched(client: &Client, group: &str, asked: Option<Vec<OffsetFetchRequestTopic>>) -> Vec<OffsetFetchResponseTopic> {
    let mut by_topic: BTreeMap<Arc<str>, BTreeMap<i32, Committed>> = BTreeMap::new();
    for (topic, partition, committed) in client.kafka.broker.committed_offsets(group) {
        by_topic.entry(topic).or_default().insert(partition as i32, committed);
    }
    let partition = |number: i32, committed: Option<&Committed>| OffsetFetchResponsePartition {
        partition_index: number,
        committed_offset: committed.map_or(-1, |committed| committed.offset as i64),
        metadata: Some(
            committed.map(|committed| String::from_utf8_lossy(&committed.metadata).into_owned()).unwrap_or_default(),
        ),
        ..OffsetFetchResponsePartition::default()
    };
    let Some(asked) = asked else {
        let topics = by_topic.iter().map(|(name, committed)| OffsetFetchResponseTopic {
            name: name.to_string(),
            partitions: committed.iter().map(|(number, committed)| partition(*number, Some(committed))).collect(),
            ..OffsetFetchResponseTopic::default()
        });
        return topics.collect();
    };
    let mut wanted: BTreeMap<String, BTreeSet<i32>> = BTreeMap::new();
    for topic in asked {
        wanted.entry(topic.name).or_default().extend(topic.partition_indexes);
    }
    let topics = wanted.into_iter().map(|(name, numbers)| {
        let committed = by_topic.get(name.as_str());
        let found = |number: i32| partition(number, committed.and_then(|committed| committed.get(&number)));
        let partitions = numbers.into_iter().map(found).collect();
        OffsetFetchResponseTopic { name, partitions, ..OffsetFetchResponseTopic::default() }
    });
    topics.collect()
}

pub(super) async fn delete(client: &Client, request: OffsetDeleteRequest) -> OffsetDeleteResponse {
    let group: Arc<str> = request.group_id.into();
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in topic.partitions {
            let number = u64::try_from(partition.partition_index).unwrap_or(u64::MAX);
            let deleted = client.kafka.broker.delete_offset(&group, &topic.name, number).await;
            // Whoever deletes what isn't there has what it wants.
            let deleted = deleted.or_else(|error| match error {
                OffsetError::NotCommitted => Ok(()),
                error => Err(error),
            });
            let error_code = code(&deleted);
            partitions.push(OffsetDeleteResponsePartition { partition_index: partition.partition_index, error_code });
        }
        topics.push(OffsetDeleteResponseTopic { name: topic.name, partitions });
    }
    OffsetDeleteResponse { topics, ..OffsetDeleteResponse::default() }
}
