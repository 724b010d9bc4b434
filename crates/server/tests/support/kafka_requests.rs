//! A request of each of Kafka's APIs that concerns a topic, a group and a producer.

// Helpers of tests may fail the test.
#![allow(clippy::panic, clippy::unwrap_used)]

use super::kafka::{batch, fetch_body, produce_body};
use rawline_batch::record_batch::RecordCodec;
use rawline_kafka::messages::*;
use rawline_kafka::{Api, Request};

pub enum Body {
    Bytes(i16, Vec<u8>),
    Request(Request),
}

fn d<T: Default>() -> T {
    T::default()
}

/// The resource of a request.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    pub topic: &'a str,
    pub group: &'a str,
    pub producer: &'a str,
}

/// The request, in its newest version unless its bytes are given.
pub fn of(api: Api, names: &Names<'_>) -> Body {
    let (topic, group, producer) = (names.topic.to_owned(), names.group.to_owned(), names.producer.to_owned());
    let request: Request = match api {
        Api::Produce => return Body::Bytes(3, produce_body(names.topic, -1, &batch(RecordCodec::None, 1, None))),
        Api::Fetch => return Body::Bytes(4, fetch_body(names.topic, 0, 1 << 20, 0)),
        Api::ListOffsets => {
            let partitions = vec![d()];
            ListOffsetsRequest { topics: vec![ListOffsetsTopic { name: topic, partitions }], ..d() }.into()
        }
        Api::Metadata => {
            MetadataRequest { topics: Some(vec![MetadataRequestTopic { name: Some(topic), ..d() }]), ..d() }.into()
        }
        Api::OffsetCommit => {
            let topics = vec![OffsetCommitRequestTopic { name: topic, partitions: vec![d()], ..d() }];
            OffsetCommitRequest { group_id: group, topics, ..d() }.into()
        }
        Api::OffsetFetch => {
            OffsetFetchRequest { groups: vec![OffsetFetchRequestGroup { group_id: group, ..d() }], ..d() }.into()
        }
        Api::FindCoordinator => FindCoordinatorRequest { coordinator_keys: vec![group], ..d() }.into(),
        Api::JoinGroup => JoinGroupRequest { group_id: group, ..d() }.into(),
        Api::Heartbeat => HeartbeatRequest { group_id: group, ..d() }.into(),
        Api::LeaveGroup => LeaveGroupRequest { group_id: group, ..d() }.into(),
        Api::SyncGroup => SyncGroupRequest { group_id: group, ..d() }.into(),
        Api::DescribeGroups => DescribeGroupsRequest { groups: vec![group], ..d() }.into(),
        Api::CreateTopics => CreateTopicsRequest { topics: vec![CreatableTopic { name: topic, ..d() }], ..d() }.into(),
        Api::DeleteTopics => {
            DeleteTopicsRequest { topics: vec![DeleteTopicState { name: Some(topic), ..d() }], ..d() }.into()
        }
        Api::DeleteRecords => {
            let topics = vec![DeleteRecordsTopic { name: topic, partitions: vec![d()] }];
            DeleteRecordsRequest { topics, ..d() }.into()
        }
        Api::InitProducerId => {
            let (producer_id, producer_epoch) = (-1, -1);
            InitProducerIdRequest { transactional_id: Some(producer), producer_id, producer_epoch, ..d() }.into()
        }
        Api::OffsetForLeaderEpoch => {
            let topics = vec![OffsetForLeaderTopic { topic, partitions: vec![d()] }];
            OffsetForLeaderEpochRequest { topics, ..d() }.into()
        }
        Api::DescribeAcls => DescribeAclsRequest::default().into(),
        Api::CreateAcls => CreateAclsRequest { creations: vec![d()] }.into(),
        Api::DeleteAcls => DeleteAclsRequest { filters: vec![d()] }.into(),
        Api::ListConfigResources => ListConfigResourcesRequest::default().into(),
        Api::DescribeConfigs => {
            let resources =
                vec![DescribeConfigsResource { resource_type: 2, resource_name: topic, configuration_keys: None }];
            DescribeConfigsRequest { resources, ..d() }.into()
        }
        Api::AlterConfigs => {
            let resources = vec![AlterConfigsResource { resource_type: 4, ..d() }];
            AlterConfigsRequest { resources, ..d() }.into()
        }
        Api::IncrementalAlterConfigs => {
            let resources = vec![IncrementalAlterConfigsResource { resource_type: 2, resource_name: topic, ..d() }];
            IncrementalAlterConfigsRequest { resources, ..d() }.into()
        }
        Api::DescribeLogDirs => DescribeLogDirsRequest::default().into(),
        Api::CreatePartitions => {
            CreatePartitionsRequest { topics: vec![CreatePartitionsTopic { name: topic, ..d() }], ..d() }.into()
        }
        Api::DeleteGroups => DeleteGroupsRequest { groups_names: vec![group] }.into(),
        Api::EndTxn => EndTxnRequest { transactional_id: producer, ..d() }.into(),
        Api::TxnOffsetCommit => {
            let topics = vec![TxnOffsetCommitRequestTopic { name: topic, partitions: vec![d()] }];
            TxnOffsetCommitRequest { transactional_id: producer, group_id: group, topics, ..d() }.into()
        }
        Api::ListPartitionReassignments => ListPartitionReassignmentsRequest::default().into(),
        Api::OffsetDelete => OffsetDeleteRequest { group_id: group, ..d() }.into(),
        Api::DescribeProducers => {
            let topics = vec![DescribeProducersTopic { name: topic, partition_indexes: vec![0] }];
            DescribeProducersRequest { topics }.into()
        }
        Api::DescribeTransactions => DescribeTransactionsRequest { transactional_ids: vec![producer] }.into(),
        Api::DescribeTopicPartitions => {
            DescribeTopicPartitionsRequest { topics: vec![DescribeTopicPartitionsTopic { name: topic }], ..d() }.into()
        }
        Api::ConsumerGroupHeartbeat => {
            let (subscribed_topic_names, topic_partitions) = (Some(vec![topic]), Some(Vec::new()));
            let (member_id, rebalance_timeout_ms) = ("m".to_owned(), 1000);
            ConsumerGroupHeartbeatRequest {
                group_id: group,
                member_id,
                rebalance_timeout_ms,
                subscribed_topic_names,
                topic_partitions,
                ..d()
            }
            .into()
        }
        Api::ListGroups => ListGroupsRequest::default().into(),
        Api::ListTransactions => ListTransactionsRequest::default().into(),
        Api::DescribeCluster => DescribeClusterRequest::default().into(),
        Api::ConsumerGroupDescribe => ConsumerGroupDescribeRequest { group_ids: vec![group], ..d() }.into(),
        other => panic!("no request of {} here; add one, so that its grants are tested", other.name()),
    };
    Body::Request(request)
}
