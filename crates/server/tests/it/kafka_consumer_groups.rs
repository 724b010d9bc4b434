//! Groups in which the broker divides the partitions, as their members and administrators see them over Kafka's
//! protocol.

use crate::support::http;
use crate::support::kafka::{Client, served};
use rawline_kafka::messages::*;
use rawline_kafka::{ErrorCode, Response};
use rawline_testkit::served::Served;
use serde_json::{Value, json};

const GROUP: &str = "billing";

macro_rules! call {
    ($client:expr, $api:ident, $version:expr, $request:expr) => {
        match $client.call($version, $request).await {
            Response::$api(response) => response,
            other => panic!("{other:?}"),
        }
    };
}

fn code(error: ErrorCode) -> i16 {
    error.into()
}

/// The first heartbeat of a member.
fn joining(member: &str, topics: &[&str]) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: GROUP.to_owned(),
        member_id: member.to_owned(),
        rebalance_timeout_ms: 60_000,
        subscribed_topic_names: Some(topics.iter().map(|topic| (*topic).to_owned()).collect()),
        topic_partitions: Some(Vec::new()),
        ..ConsumerGroupHeartbeatRequest::default()
    }
}

/// A heartbeat of a member, with its partitions.
fn sign(member: &str, epoch: i32, owned: Option<&[ConsumerGroupTopicPartitions]>) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        member_epoch: epoch,
        rebalance_timeout_ms: -1,
        subscribed_topic_names: None,
        topic_partitions: owned.map(<[_]>::to_vec),
        ..joining(member, &[])
    }
}

/// Sends a heartbeat; returns the member's epoch and its share, if that is in the response.
async fn beat(
    client: &mut Client,
    request: ConsumerGroupHeartbeatRequest,
) -> (i32, Option<Vec<ConsumerGroupTopicPartitions>>) {
    let response = call!(client, ConsumerGroupHeartbeat, 1, request);
    assert_eq!((response.error_code, response.error_message), (0, None));
    assert!(response.member_epoch < 0 || response.heartbeat_interval_ms == 3000);
    (response.member_epoch, response.assignment.map(|assignment| assignment.topic_partitions))
}

/// The same of one that is refused.
async fn refused(client: &mut Client, request: ConsumerGroupHeartbeatRequest, error: ErrorCode) {
    let response = call!(client, ConsumerGroupHeartbeat, 1, request);
    assert_eq!(response.error_code, code(error), "{:?}", response.error_message);
    assert!(response.error_message.is_some());
}

async fn create(client: &mut Client, name: &str, partitions: i32) {
    let topic = CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: 1,
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 1000, ..CreateTopicsRequest::default() };
    assert_eq!(call!(client, CreateTopics, 7, request).topics[0].error_code, 0);
}

fn commit_request(member: &str, epoch: i32, partition_index: i32) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition {
        partition_index,
        committed_offset: 5,
        ..OffsetCommitRequestPartition::default()
    };
    let topic = OffsetCommitRequestTopic { name: "t".to_owned(), partitions: vec![partition], ..Default::default() };
    OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        generation_id_or_member_epoch: epoch,
        member_id: member.to_owned(),
        topics: vec![topic],
        ..OffsetCommitRequest::default()
    }
}

async fn commit(client: &mut Client, version: i16, member: &str, epoch: i32) -> i16 {
    commit_of(client, version, member, epoch, 0).await
}

async fn commit_of(client: &mut Client, version: i16, member: &str, epoch: i32, partition: i32) -> i16 {
    call!(client, OffsetCommit, version, commit_request(member, epoch, partition)).topics[0].partitions[0].error_code
}

async fn fetch_offsets(client: &mut Client, member: &str, epoch: i32) -> OffsetFetchResponseGroup {
    let group = OffsetFetchRequestGroup {
        group_id: GROUP.to_owned(),
        member_id: Some(member.to_owned()),
        member_epoch: epoch,
        topics: None,
    };
    let request = OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() };
    call!(client, OffsetFetch, 9, request).groups.remove(0)
}

async fn delete_offsets(client: &mut Client, topic: &str) -> (i16, i16) {
    let partitions = vec![OffsetDeleteRequestPartition { partition_index: 0 }];
    let topics = vec![OffsetDeleteRequestTopic { name: topic.to_owned(), partitions }];
    let request = OffsetDeleteRequest { group_id: GROUP.to_owned(), topics };
    let deleted = call!(client, OffsetDelete, 0, request);
    (deleted.error_code, deleted.topics[0].partitions[0].error_code)
}

async fn described(client: &mut Client) -> DescribedConsumerGroup {
    let group_ids = vec![GROUP.to_owned(); 100];
    let request = ConsumerGroupDescribeRequest { group_ids, include_authorized_operations: true };
    let mut found = call!(client, ConsumerGroupDescribe, 1, request).groups;
    assert_eq!(found.len(), 1, "a group that is named repeatedly is described once");
    found.remove(0)
}

#[tokio::test]
async fn members_share_partitions() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    create(&mut client, "t", 4).await;
    let (epoch, share) = beat(&mut client, joining("x", &["t", "later"])).await;
    let all = share.unwrap();
    assert_eq!((epoch, all[0].partitions.as_slice()), (1, &[0, 1, 2, 3][..]));
    beat(&mut client, sign("x", 1, Some(&all))).await;
    assert_eq!(commit(&mut client, 9, "x", 1).await, 0);
    // The second gets partitions once the first has given them up.
    assert_eq!(beat(&mut client, joining("y", &["t"])).await, (2, Some(vec![])));
    let state = described(&mut client).await;
    assert_eq!((state.group_state.as_str(), state.group_epoch, state.assignment_epoch), ("Reconciling", 2, 2));
    let (epoch, share) = beat(&mut client, sign("x", 1, None)).await;
    let half = share.unwrap();
    assert_eq!((epoch, half[0].partitions.as_slice()), (1, &[0, 1][..]));
    assert_eq!(beat(&mut client, sign("x", 1, Some(&half))).await, (2, None));
    let (_, share) = beat(&mut client, sign("y", 2, None)).await;
    assert_eq!(share.unwrap()[0].partitions, [2, 3]);

    // A commit that was sent before the member knew of the epoch is valid for its remaining partitions.
    assert_eq!(commit_of(&mut client, 9, "x", 1, 0).await, 0);
    assert_eq!(commit_of(&mut client, 9, "x", 1, 2).await, code(ErrorCode::StaleMemberEpoch));
    assert_eq!(commit_of(&mut client, 9, "y", 1, 2).await, code(ErrorCode::StaleMemberEpoch));
    assert_eq!(commit(&mut client, 8, "x", 2).await, code(ErrorCode::UnsupportedVersion));
    assert_eq!(commit(&mut client, 9, "z", 2).await, code(ErrorCode::UnknownMemberId));
    assert_eq!(commit(&mut client, 9, "", -1).await, code(ErrorCode::UnknownMemberId));
    assert_eq!(fetch_offsets(&mut client, "x", 1).await.error_code, code(ErrorCode::StaleMemberEpoch));
    let found = fetch_offsets(&mut client, "x", 2).await;
    assert_eq!((found.error_code, found.topics[0].partitions[0].committed_offset), (0, 5));
    refused(&mut client, sign("x", 9, None), ErrorCode::FencedMemberEpoch).await;

    let state = described(&mut client).await;
    assert_eq!((state.error_code, state.group_state.as_str(), state.assignor_name.as_str()), (0, "Stable", "uniform"));
    let member = &state.members[0];
    assert_eq!((member.member_id.as_str(), member.member_epoch, member.client_id.as_str()), ("x", 2, "test"));
    assert_eq!(member.assignment, member.target_assignment);
    assert_eq!((member.assignment.topic_partitions[0].topic_name.as_str(), member.member_type), ("t", 1));
    assert_eq!(member.subscribed_topic_names, ["later", "t"]);
    let groups = || vec![GROUP.to_owned()];
    let classic = DescribeGroupsRequest { groups: groups(), ..DescribeGroupsRequest::default() };
    let classic = call!(client, DescribeGroups, 6, classic).groups.remove(0);
    assert_eq!((classic.error_code, classic.group_state.as_str()), (code(ErrorCode::GroupIdNotFound), "Dead"));
    let types = |wanted: &str| ListGroupsRequest { types_filter: vec![wanted.to_owned()], ..Default::default() };
    let listed = call!(client, ListGroups, 5, types("Consumer")).groups;
    assert_eq!((listed[0].group_type.as_str(), listed[0].protocol_type.as_str()), ("consumer", "consumer"));
    assert_eq!(call!(client, ListGroups, 5, types("classic")).groups, []);
    let deleted = call!(client, DeleteGroups, 2, DeleteGroupsRequest { groups_names: groups() });
    assert_eq!(deleted.results[0].error_code, code(ErrorCode::NonEmptyGroup));
    create(&mut client, "u", 1).await;
    assert_eq!(delete_offsets(&mut client, "t").await, (0, code(ErrorCode::GroupSubscribedToTopic)));
    assert_eq!(delete_offsets(&mut client, "u").await, (0, 0));

    // A topic that is created later is read, and a member that leaves frees its partitions for the other one.
    create(&mut client, "later", 1).await;
    assert_eq!(beat(&mut client, sign("x", 2, None)).await.1.unwrap().len(), 2);
    assert_eq!(beat(&mut client, sign("y", -1, None)).await, (-1, None));
    let (_, share) = beat(&mut client, sign("x", 3, None)).await;
    assert_eq!(share.unwrap().iter().map(|of| of.partitions.len()).sum::<usize>(), 5);
    assert_eq!(beat(&mut client, sign("x", -1, None)).await, (-1, None));
    assert_eq!(described(&mut client).await.group_state, "Empty");
    assert_eq!(delete_offsets(&mut client, "t").await, (0, 0));
    assert_eq!(described(&mut client).await.error_code, code(ErrorCode::GroupIdNotFound));
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let good = || joining("x", &["t"]);
    let instance = || Some("i".to_owned());
    let invalid = [
        ConsumerGroupHeartbeatRequest { member_id: String::new(), ..good() },
        ConsumerGroupHeartbeatRequest { group_id: String::new(), ..good() },
        ConsumerGroupHeartbeatRequest { instance_id: Some(String::new()), ..good() },
        ConsumerGroupHeartbeatRequest { rack_id: Some(String::new()), ..good() },
        ConsumerGroupHeartbeatRequest { rebalance_timeout_ms: -1, ..good() },
        ConsumerGroupHeartbeatRequest { topic_partitions: None, ..good() },
        ConsumerGroupHeartbeatRequest { subscribed_topic_names: None, ..good() },
        ConsumerGroupHeartbeatRequest { member_epoch: -2, ..good() },
        ConsumerGroupHeartbeatRequest { member_epoch: -3, instance_id: instance(), ..good() },
    ];
    for request in invalid {
        refused(&mut client, request, ErrorCode::InvalidRequest).await;
    }
    let assignor = ConsumerGroupHeartbeatRequest { server_assignor: Some("sticky".to_owned()), ..good() };
    refused(&mut client, assignor, ErrorCode::UnsupportedAssignor).await;
    let regex = ConsumerGroupHeartbeatRequest { subscribed_topic_regex: Some("(".to_owned()), ..good() };
    refused(&mut client, regex, ErrorCode::InvalidRegularExpression).await;
    let name = ConsumerGroupHeartbeatRequest { group_id: "-".repeat(201), ..good() };
    refused(&mut client, name, ErrorCode::InvalidGroupId).await;
    refused(&mut client, sign("x", 1, None), ErrorCode::UnknownMemberId).await;
    refused(&mut client, sign("x", -1, None), ErrorCode::UnknownMemberId).await;
    // In the first version, the broker may choose the id.
    let request = ConsumerGroupHeartbeatRequest { member_id: String::new(), ..good() };
    let joined = call!(client, ConsumerGroupHeartbeat, 0, request);
    assert!(joined.member_id.unwrap().starts_with("test-"));
}

#[tokio::test]
async fn members_of_the_other_protocol_are_refused() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    create(&mut client, "t", 2).await;
    beat(&mut client, joining("x", &["t"])).await;
    let protocol = JoinGroupRequestProtocol { name: "range".to_owned(), metadata: bytes::Bytes::new() };
    let join = || JoinGroupRequest {
        group_id: GROUP.to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".to_owned(),
        protocols: vec![protocol.clone()],
        ..JoinGroupRequest::default()
    };
    assert_eq!(call!(client, JoinGroup, 3, join()).error_code, code(ErrorCode::InconsistentGroupProtocol));
    let (status, error) = over_http(&server, "POST", "/member", &json!({"topics": ["t"]})).await;
    assert_eq!((status, error["code"].as_str()), (409, Some("group_strategy")), "{error}");
    let (_, shown) = over_http(&server, "GET", "/group", &Value::Null).await;
    assert_eq!((shown["state"].as_str(), shown["strategy"].as_str()), (Some("stable"), Some("uniform")));
    let of = |partition: u32| json!({"topic": "t", "partition": partition});
    assert_eq!(shown["members"][0]["partitions"], json!([of(0), of(1)]), "{shown}");

    // A group without members may be of either kind.
    beat(&mut client, sign("x", -1, None)).await;
    assert_eq!(call!(client, JoinGroup, 3, join()).error_code, 0);
    refused(&mut client, joining("x", &["t"]), ErrorCode::GroupIdNotFound).await;
    let request = ConsumerGroupDescribeRequest { group_ids: vec![GROUP.to_owned()], ..Default::default() };
    let described = call!(client, ConsumerGroupDescribe, 1, request).groups.remove(0);
    assert_eq!(described.error_message.as_deref(), Some("Group billing is not a consumer group."));
}

async fn over_http(server: &Served, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let target = format!("{path}?group-name={GROUP}");
    let (status, _, text) = http(server, method, &target, "accept: */*", body.as_bytes()).await;
    (status, serde_json::from_slice(&text).unwrap())
}

#[tokio::test]
async fn clients_find_the_feature() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    for version in [3, 4] {
        let found = call!(client, ApiVersions, version, ApiVersionsRequest::default());
        let finalized: Vec<_> =
            found.finalized_features.iter().map(|one| (one.name.as_str(), one.max_version_level)).collect();
        assert!(finalized.contains(&("group.version", 1)), "{finalized:?}");
        // Clients of version 3 can't read a lowest level of 0.
        assert_eq!(found.supported_features.is_empty(), version == 3);
    }
}
