//! Requests about groups and transactions that another broker coordinates, or will: clients look for it and ask again.

use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{
    ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatResponse, DeletableGroupResult, DeleteGroupsResponse,
    DescribeGroupsResponse, DescribedConsumerGroup, DescribedGroup, HeartbeatResponse, JoinGroupResponse,
    LeaveGroupResponse, ListGroupsResponse, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic, OffsetDeleteResponse, OffsetFetchResponse, OffsetFetchResponseGroup, Request, Response,
    SyncGroupResponse, TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};

/// The response to a request, with this code for everything in it.
pub(super) fn refuse(request: Request, code: ErrorCode) -> Response {
    let error_code = code.into();
    match request {
        Request::JoinGroup(request) => {
            JoinGroupResponse { error_code, member_id: request.member_id, ..Default::default() }.into()
        }
        Request::SyncGroup(_) => SyncGroupResponse { error_code, ..Default::default() }.into(),
        Request::Heartbeat(_) => HeartbeatResponse { error_code, ..Default::default() }.into(),
        Request::LeaveGroup(_) => LeaveGroupResponse { error_code, ..Default::default() }.into(),
        Request::OffsetCommit(request) => {
            let partition = |partition_index| OffsetCommitResponsePartition { partition_index, error_code };
            let topics = request.topics.into_iter().map(|topic| OffsetCommitResponseTopic {
                name: topic.name,
                topic_id: topic.topic_id,
                partitions: topic.partitions.iter().map(|found| partition(found.partition_index)).collect(),
            });
            OffsetCommitResponse { topics: topics.collect(), ..Default::default() }.into()
        }
        Request::TxnOffsetCommit(request) => {
            let partition = |partition_index| TxnOffsetCommitResponsePartition { partition_index, error_code };
            let topics = request.topics.into_iter().map(|topic| TxnOffsetCommitResponseTopic {
                name: topic.name,
                partitions: topic.partitions.iter().map(|found| partition(found.partition_index)).collect(),
            });
            TxnOffsetCommitResponse { topics: topics.collect(), ..Default::default() }.into()
        }
        Request::OffsetFetch(request) => {
            let group = |group_id: String| OffsetFetchResponseGroup {
                group_id,
                error_code,
                ..OffsetFetchResponseGroup::default()
            };
            let groups = request.groups.into_iter().map(|asked| group(asked.group_id)).collect();
            OffsetFetchResponse { error_code, groups, ..Default::default() }.into()
        }
        Request::OffsetDelete(_) => OffsetDeleteResponse { error_code, ..Default::default() }.into(),
        Request::DescribeGroups(request) => {
            let group = |group_id: String| DescribedGroup { error_code, group_id, ..DescribedGroup::default() };
            DescribeGroupsResponse { groups: request.groups.into_iter().map(group).collect(), ..Default::default() }
                .into()
        }
        // Those who list groups ask every broker.
        Request::ListGroups(_) => ListGroupsResponse::default().into(),
        Request::DeleteGroups(request) => {
            let group = |group_id: String| DeletableGroupResult { group_id, error_code };
            DeleteGroupsResponse {
                results: request.groups_names.into_iter().map(group).collect(),
                ..Default::default()
            }
            .into()
        }
        Request::ConsumerGroupHeartbeat(request) => {
            let member_id = Some(request.member_id);
            ConsumerGroupHeartbeatResponse { error_code, member_id, ..Default::default() }.into()
        }
        Request::ConsumerGroupDescribe(request) => {
            let group =
                |group_id: String| DescribedConsumerGroup { error_code, group_id, ..DescribedConsumerGroup::default() };
            let groups = request.group_ids.into_iter().map(group).collect();
            ConsumerGroupDescribeResponse { groups, ..Default::default() }.into()
        }
        other => unreachable!("{:?} has no coordinator", other.api()),
    }
}
