//! Requests for groups and transactions with another coordinator: clients look it up and retry. Requests without the
//! necessary grant are refused here as the coordinator refuses them.

use super::super::error::Refusal;
use crate::kafka::client::Client;
use rawline_kafka::messages::{
    ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatResponse, DeletableGroupResult, DeleteGroupsResponse,
    DescribeGroupsResponse, DescribedConsumerGroup, DescribedGroup, HeartbeatResponse, JoinGroupResponse,
    LeaveGroupResponse, ListGroupsResponse, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic, OffsetDeleteResponse, OffsetFetchResponse, OffsetFetchResponseGroup, Request, Response,
    SyncGroupResponse, TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use rawline_kafka::{Api, ErrorCode};

/// The codes of one request.
struct Codes<'a> {
    client: &'a Client,
    api: Api,
    /// That of what the client has grants for.
    granted: ErrorCode,
}

impl Codes<'_> {
    fn of(&self, allowed: Result<(), Refusal>) -> i16 {
        allowed.map_or_else(|refusal| refusal.code, |()| self.granted).into()
    }

    fn group(&self, group: &str) -> i16 {
        self.of(self.client.may_use_group(self.api, group))
    }

    /// That of a topic in a request about this group.
    fn topic(&self, group: Result<(), Refusal>, topic: &str) -> i16 {
        let is_named = !topic.is_empty();
        self.of(group.and_then(|()| if is_named { self.client.may_use_topic(self.api, topic) } else { Ok(()) }))
    }
}

/// The response to a request, with this code for everything in it that the client has grants for.
pub(super) fn refuse(client: &Client, request: Request, granted: ErrorCode) -> Response {
    let api = request.api();
    let codes = Codes { client, api, granted };
    match request {
        Request::JoinGroup(request) => {
            let error_code = codes.group(&request.group_id);
            JoinGroupResponse { error_code, member_id: request.member_id, ..Default::default() }.into()
        }
        Request::SyncGroup(request) => {
            SyncGroupResponse { error_code: codes.group(&request.group_id), ..Default::default() }.into()
        }
        Request::Heartbeat(request) => {
            HeartbeatResponse { error_code: codes.group(&request.group_id), ..Default::default() }.into()
        }
        Request::LeaveGroup(request) => {
            LeaveGroupResponse { error_code: codes.group(&request.group_id), ..Default::default() }.into()
        }
        Request::OffsetCommit(request) => {
            let group = client.may_use_group(api, &request.group_id);
            let topics = request.topics.into_iter().map(|topic| {
                let error_code = codes.topic(group.clone(), &topic.name);
                let partition = |partition_index| OffsetCommitResponsePartition { partition_index, error_code };
                OffsetCommitResponseTopic {
                    name: topic.name,
                    topic_id: topic.topic_id,
                    partitions: topic.partitions.iter().map(|found| partition(found.partition_index)).collect(),
                }
            });
            OffsetCommitResponse { topics: topics.collect(), ..Default::default() }.into()
        }
        Request::TxnOffsetCommit(request) => {
            let producer = client.may_be_producer(api, &request.transactional_id);
            let group = producer.and_then(|()| client.may_use_group(api, &request.group_id));
            let topics = request.topics.into_iter().map(|topic| {
                let error_code = codes.topic(group.clone(), &topic.name);
                let partition = |partition_index| TxnOffsetCommitResponsePartition { partition_index, error_code };
                TxnOffsetCommitResponseTopic {
                    name: topic.name,
                    partitions: topic.partitions.iter().map(|found| partition(found.partition_index)).collect(),
                }
            });
            TxnOffsetCommitResponse { topics: topics.collect(), ..Default::default() }.into()
        }
        Request::OffsetFetch(request) => {
            // Older versions have one group, whose code is the response's.
            let error_code = if request.groups.is_empty() { codes.group(&request.group_id) } else { granted.into() };
            let group = |group_id: String| OffsetFetchResponseGroup {
                error_code: codes.group(&group_id),
                group_id,
                ..OffsetFetchResponseGroup::default()
            };
            let groups = request.groups.into_iter().map(|asked| group(asked.group_id)).collect();
            OffsetFetchResponse { error_code, groups, ..Default::default() }.into()
        }
        Request::OffsetDelete(request) => {
            OffsetDeleteResponse { error_code: codes.group(&request.group_id), ..Default::default() }.into()
        }
        Request::DescribeGroups(request) => {
            let group = |group_id: String| DescribedGroup {
                error_code: codes.group(&group_id),
                group_id,
                ..DescribedGroup::default()
            };
            DescribeGroupsResponse { groups: request.groups.into_iter().map(group).collect(), ..Default::default() }
                .into()
        }
        // Clients that list groups ask every broker.
        Request::ListGroups(_) => ListGroupsResponse::default().into(),
        Request::DeleteGroups(request) => {
            let group = |group_id: String| DeletableGroupResult { error_code: codes.group(&group_id), group_id };
            DeleteGroupsResponse {
                results: request.groups_names.into_iter().map(group).collect(),
                ..Default::default()
            }
            .into()
        }
        Request::ConsumerGroupHeartbeat(request) => {
            let group = client.may_use_group(api, &request.group_id);
            let topics = request.subscribed_topic_names.iter().flatten();
            let allowed = topics.fold(group, |allowed, topic| allowed.and_then(|()| client.may_use_topic(api, topic)));
            let (member_id, error_code) = (Some(request.member_id), codes.of(allowed));
            ConsumerGroupHeartbeatResponse { error_code, member_id, ..Default::default() }.into()
        }
        Request::ConsumerGroupDescribe(request) => {
            let group = |group_id: String| DescribedConsumerGroup {
                error_code: codes.group(&group_id),
                group_id,
                ..DescribedConsumerGroup::default()
            };
            let groups = request.group_ids.into_iter().map(group).collect();
            ConsumerGroupDescribeResponse { groups, ..Default::default() }.into()
        }
        other => unreachable!("{:?} has no coordinator", other.api()),
    }
}
