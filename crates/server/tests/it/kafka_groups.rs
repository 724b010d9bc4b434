//! Groups of Kafka's consumers: their members, the offsets that they commit, and what administrators do with them.

use crate::support::http;
use crate::support::kafka::{Client, served};
use bytes::Bytes;
use rawline_broker::store::disk::{self, Durability};
use rawline_kafka::messages::*;
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::path::Path;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

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

async fn at(dir: &Path) -> Served {
    let store = disk::open(dir, Durability::PageCache).unwrap();
    Served::on(store, HttpConfig::default(), 64 << 20).await
}

fn join_request(member: &str) -> JoinGroupRequest {
    let protocol = |name: &str| JoinGroupRequestProtocol { name: name.to_owned(), metadata: Bytes::from("says") };
    JoinGroupRequest {
        group_id: GROUP.to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        member_id: member.to_owned(),
        protocol_type: "consumer".to_owned(),
        protocols: ["range", "roundrobin"].map(protocol).to_vec(),
        ..JoinGroupRequest::default()
    }
}

/// Asks for an id.
async fn id(client: &mut Client) -> String {
    let first = call!(client, JoinGroup, 9, join_request(""));
    assert_eq!(first.error_code, code(ErrorCode::MemberIdRequired));
    first.member_id
}

fn sync_request(joined: &JoinGroupResponse, shares: &[(&str, &'static str)]) -> SyncGroupRequest {
    let share = |(member, share): &(&str, &'static str)| SyncGroupRequestAssignment {
        member_id: (*member).to_owned(),
        assignment: Bytes::from(*share),
    };
    SyncGroupRequest {
        group_id: GROUP.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        assignments: shares.iter().map(share).collect(),
        ..SyncGroupRequest::default()
    }
}

fn heartbeat(joined: &JoinGroupResponse) -> HeartbeatRequest {
    HeartbeatRequest {
        group_id: GROUP.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        ..HeartbeatRequest::default()
    }
}

fn commit_request(partition: i32, offset: i64, metadata: &str) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition {
        partition_index: partition,
        committed_offset: offset,
        committed_metadata: Some(metadata.to_owned()),
        ..OffsetCommitRequestPartition::default()
    };
    let topic = OffsetCommitRequestTopic { name: "t".to_owned(), partitions: vec![partition], ..Default::default() };
    OffsetCommitRequest { group_id: GROUP.to_owned(), topics: vec![topic], ..OffsetCommitRequest::default() }
}

/// Commits, and returns the error.
async fn commit(client: &mut Client, request: OffsetCommitRequest) -> i16 {
    call!(client, OffsetCommit, 9, request).topics[0].partitions[0].error_code
}

/// The group's committed offsets: topic, partition, offset and metadata.
async fn committed(client: &mut Client) -> Vec<(String, i32, i64, String)> {
    let group = OffsetFetchRequestGroup { group_id: GROUP.to_owned(), topics: None, ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group.clone(), group], ..OffsetFetchRequest::default() };
    let mut found = call!(client, OffsetFetch, 9, request);
    assert_eq!(found.groups.len(), 1, "a group that is named twice is answered once");
    let topics = found.groups.remove(0).topics.into_iter();
    let of_topic = |topic: OffsetFetchResponseTopic| {
        let of = |found: OffsetFetchResponsePartition| {
            (topic.name.clone(), found.partition_index, found.committed_offset, found.metadata.unwrap())
        };
        topic.partitions.into_iter().map(of).collect::<Vec<_>>()
    };
    topics.flat_map(of_topic).collect()
}

async fn described(client: &mut Client) -> DescribedGroup {
    let groups = vec![GROUP.to_owned(); 100];
    let request = DescribeGroupsRequest { groups, include_authorized_operations: true };
    let mut found = call!(client, DescribeGroups, 5, request).groups;
    assert_eq!(found.len(), 1, "a group that is named repeatedly is described once");
    found.remove(0)
}

#[tokio::test]
async fn members_share_a_group() {
    let (server, _dir) = served().await;
    let (mut one, mut two) = (Client::connect(&server).await, Client::connect(&server).await);
    let found = call!(
        one,
        FindCoordinator,
        6,
        FindCoordinatorRequest { coordinator_keys: vec![GROUP.to_owned()], ..FindCoordinatorRequest::default() }
    );
    let coordinator = &found.coordinators[0];
    assert_eq!((coordinator.error_code, coordinator.port), (0, i32::from(server.kafka.port())));

    let ids = [id(&mut one).await, id(&mut two).await];
    let (one_joined, two_joined) = tokio::join!(one.call(9, join_request(&ids[0])), two.call(9, join_request(&ids[1])));
    let (Response::JoinGroup(one_joined), Response::JoinGroup(two_joined)) = (one_joined, two_joined) else { panic!() };
    assert_eq!((one_joined.error_code, one_joined.generation_id), (0, 1));
    assert_eq!((two_joined.error_code, two_joined.generation_id), (0, 1));
    assert_eq!((&one_joined.leader, one_joined.protocol_name.as_deref()), (&two_joined.leader, Some("range")));
    // The first member leads.
    let one_leads = one_joined.leader == one_joined.member_id;
    let (leader, follower) = if one_leads { (&one_joined, &two_joined) } else { (&two_joined, &one_joined) };
    assert_eq!((leader.members.len(), follower.members.len()), (2, 0));
    let (leads, follows) = if one_leads { (&mut one, &mut two) } else { (&mut two, &mut one) };

    let shares = [(leader.member_id.as_str(), "a"), (follower.member_id.as_str(), "b")];
    let (first, second) =
        tokio::join!(follows.call(5, sync_request(follower, &[])), leads.call(5, sync_request(leader, &shares)));
    let (Response::SyncGroup(first), Response::SyncGroup(second)) = (first, second) else { panic!() };
    assert_eq!((first.assignment, second.assignment), (Bytes::from("b"), Bytes::from("a")));
    assert_eq!(call!(leads, Heartbeat, 4, heartbeat(leader)).error_code, 0);

    leads.create("t").await;
    let of_member = |joined: &JoinGroupResponse, generation: i32| OffsetCommitRequest {
        generation_id_or_member_epoch: generation,
        member_id: joined.member_id.clone(),
        ..commit_request(0, 5, "")
    };
    assert_eq!(commit(follows, of_member(follower, 1)).await, 0);
    assert_eq!(commit(follows, of_member(follower, 0)).await, code(ErrorCode::IllegalGeneration));
    assert_eq!(commit(follows, commit_request(0, 6, "")).await, code(ErrorCode::UnknownMemberId));
    assert_eq!(committed(follows).await, [("t".to_owned(), 0, 5, String::new())]);

    let status = described(follows).await;
    assert_eq!((status.group_state.as_str(), status.protocol_data.as_str()), ("Stable", "range"));
    let mut shares: Vec<_> = status.members.iter().map(|member| member.member_assignment.clone()).collect();
    shares.sort();
    assert_eq!(shares, ["a", "b"]);
    assert_eq!((status.members[0].client_id.as_str(), status.members[0].client_host.as_str()), ("test", "/127.0.0.1"));
    let group = DeleteGroupsRequest { groups_names: vec![GROUP.to_owned()] };
    let deleted = call!(follows, DeleteGroups, 2, group);
    assert_eq!(deleted.results[0].error_code, code(ErrorCode::NonEmptyGroup));

    let leaving = LeavingMember { member_id: leader.member_id.clone(), ..LeavingMember::default() };
    let unknown = LeavingMember { member_id: "unknown".to_owned(), ..LeavingMember::default() };
    let members = vec![leaving, unknown];
    let request = LeaveGroupRequest { group_id: GROUP.to_owned(), members, ..LeaveGroupRequest::default() };
    let left = call!(leads, LeaveGroup, 5, request);
    let errors: Vec<_> = left.members.iter().map(|member| member.error_code).collect();
    assert_eq!(errors, [0, code(ErrorCode::UnknownMemberId)]);
    assert_eq!(call!(follows, Heartbeat, 4, heartbeat(follower)).error_code, code(ErrorCode::RebalanceInProgress));
    let again = call!(follows, JoinGroup, 9, join_request(&follower.member_id));
    assert_eq!((again.error_code, again.generation_id, &again.leader), (0, 2, &follower.member_id));
}

#[tokio::test]
async fn what_is_committed_stays() {
    let dir = tempfile::tempdir().unwrap();
    let server = at(dir.path()).await;
    let mut client = Client::connect(&server).await;
    for name in ["t", "u"] {
        client.create(name).await;
    }
    assert_eq!(commit(&mut client, commit_request(0, 5, "first")).await, 0);
    assert_eq!(commit(&mut client, commit_request(0, 7, "second")).await, 0);
    assert_eq!(commit(&mut client, commit_request(9, 1, "")).await, code(ErrorCode::UnknownTopicOrPartition));
    let long = "-".repeat(4097);
    assert_eq!(commit(&mut client, commit_request(0, 1, &long)).await, code(ErrorCode::OffsetMetadataTooLarge));
    for group in [String::new(), "-".repeat(201)] {
        let request = OffsetCommitRequest { group_id: group, ..commit_request(0, 1, "") };
        assert_eq!(commit(&mut client, request).await, code(ErrorCode::InvalidGroupId));
    }
    let mut other = commit_request(0, 3, "");
    other.topics[0].name = "u".to_owned();
    assert_eq!(commit(&mut client, other).await, 0);
    let expected = [("t".to_owned(), 0, 7, "second".to_owned()), ("u".to_owned(), 0, 3, String::new())];
    assert_eq!(committed(&mut client).await, expected);
    drop(client);
    server.stop().await;

    let server = at(dir.path()).await;
    let mut client = Client::connect(&server).await;
    assert_eq!(committed(&mut client).await, expected);
    let status = described(&mut client).await;
    assert_eq!((status.group_state.as_str(), status.members.len()), ("Empty", 0));
    let listed = call!(client, ListGroups, 5, ListGroupsRequest::default());
    let listed: Vec<_> =
        listed.groups.iter().map(|group| (group.group_id.as_str(), group.group_state.as_str())).collect();
    assert_eq!(listed, [(GROUP, "Empty")]);
    let asked = OffsetFetchRequestTopic {
        name: "t".to_owned(),
        partition_indexes: vec![0, 0, 1],
        ..OffsetFetchRequestTopic::default()
    };
    let request = OffsetFetchRequest {
        group_id: GROUP.to_owned(),
        topics: Some(vec![asked.clone(), asked]),
        ..OffsetFetchRequest::default()
    };
    let found = call!(client, OffsetFetch, 7, request);
    let offsets: Vec<_> =
        found.topics[0].partitions.iter().map(|found| (found.partition_index, found.committed_offset)).collect();
    assert_eq!((found.topics.len(), offsets), (1, vec![(0, 7), (1, -1)]), "what is asked for twice is answered once");

    let request = DeleteTopicsRequest { topic_names: vec!["u".to_owned()], ..DeleteTopicsRequest::default() };
    assert_eq!(call!(client, DeleteTopics, 5, request).responses[0].error_code, 0);
    assert_eq!(committed(&mut client).await, expected[..1]);
    let partitions = vec![OffsetDeleteRequestPartition { partition_index: 0 }];
    let topics = vec![OffsetDeleteRequestTopic { name: "t".to_owned(), partitions }];
    let deleted = call!(client, OffsetDelete, 0, OffsetDeleteRequest { group_id: GROUP.to_owned(), topics });
    assert_eq!((deleted.error_code, deleted.topics[0].partitions[0].error_code), (0, 0));
    assert_eq!((committed(&mut client).await, described(&mut client).await.group_state.as_str()), (vec![], "Dead"));

    assert_eq!(commit(&mut client, commit_request(0, 5, "")).await, 0);
    let delete = || DeleteGroupsRequest { groups_names: vec![GROUP.to_owned()] };
    assert_eq!(call!(client, DeleteGroups, 2, delete()).results[0].error_code, 0);
    let again = call!(client, DeleteGroups, 2, delete());
    assert_eq!(again.results[0].error_code, code(ErrorCode::GroupIdNotFound));
    assert_eq!(committed(&mut client).await, []);
}

/// The broker stops and starts within the members' sessions: they continue as if nothing had happened.
#[tokio::test]
async fn members_continue_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let server = at(dir.path()).await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let member = id(&mut client).await;
    let joined = call!(client, JoinGroup, 9, join_request(&member));
    let shares = [(member.as_str(), "share")];
    assert_eq!(call!(client, SyncGroup, 5, sync_request(&joined, &shares)).assignment, Bytes::from("share"));
    let commits = |joined: &JoinGroupResponse, offset| OffsetCommitRequest {
        generation_id_or_member_epoch: joined.generation_id,
        member_id: joined.member_id.clone(),
        ..commit_request(0, offset, "")
    };
    assert_eq!(commit(&mut client, commits(&joined, 5)).await, 0);
    drop(client);
    server.stop().await;

    let server = at(dir.path()).await;
    let mut client = Client::connect(&server).await;
    assert_eq!(call!(client, Heartbeat, 4, heartbeat(&joined)).error_code, 0);
    assert_eq!(commit(&mut client, commits(&joined, 6)).await, 0);
    assert_eq!(call!(client, SyncGroup, 5, sync_request(&joined, &[])).assignment, Bytes::from("share"));
    let status = described(&mut client).await;
    assert_eq!((status.group_state.as_str(), status.members.len()), ("Stable", 1));
    // It leaves, and the group is deleted: its epoch is outdated for the next member.
    let leaving = LeavingMember { member_id: member, ..LeavingMember::default() };
    let leave =
        LeaveGroupRequest { group_id: GROUP.to_owned(), members: vec![leaving], ..LeaveGroupRequest::default() };
    assert_eq!(call!(client, LeaveGroup, 5, leave).members[0].error_code, 0);
    let delete = DeleteGroupsRequest { groups_names: vec![GROUP.to_owned()] };
    assert_eq!(call!(client, DeleteGroups, 2, delete).results[0].error_code, 0);
    let other = id(&mut client).await;
    let next = call!(client, JoinGroup, 9, join_request(&other));
    assert!(next.generation_id > joined.generation_id, "{} after {}", next.generation_id, joined.generation_id);
    assert_eq!(commit(&mut client, commits(&joined, 1)).await, code(ErrorCode::UnknownMemberId));
}

#[tokio::test]
async fn a_broker_that_stops_does_not_wait_for_members() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let member = id(&mut client).await;
    let mut body = Vec::new();
    rawline_kafka::Request::from(join_request(&member)).write(9, &mut body);
    let request = client.request(Api::JoinGroup.key(), 9, &body);
    client.stream.write_all(&request).await.unwrap();
    // A second promise keeps the group from being complete.
    id(&mut Client::connect(&server).await).await;
    let (stopped, response) =
        tokio::join!(tokio::time::timeout(Duration::from_secs(5), server.stop()), client.response(true));
    assert!(stopped.is_ok(), "the broker waits for members");
    let Response::JoinGroup(joined) = Response::read(Api::JoinGroup, 9, &response.1).unwrap() else { panic!() };
    assert_eq!(joined.error_code, code(ErrorCode::CoordinatorNotAvailable));
}

/// Clients that reset a group commit -1 or -2, and read it back, as with Kafka: consumers then begin
/// where they begin without an offset.
#[tokio::test]
async fn negative_offsets_are_kept_as_kafka_keeps_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = at(dir.path()).await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    assert_eq!(commit(&mut client, commit_request(0, 5, "first")).await, 0);
    for (offset, note) in [(-1, "end"), (-2, "beginning"), (i64::MIN, "")] {
        assert_eq!(commit(&mut client, commit_request(0, offset, note)).await, 0);
        assert_eq!(committed(&mut client).await, [("t".to_owned(), 0, offset, note.to_owned())]);
    }
    assert_eq!(described(&mut client).await.group_state, "Empty");
    // Over HTTP, the group has no offset there, and can't get a negative one.
    let group = format!("/group?group-name={GROUP}");
    let (status, _, body) = http(&server, "GET", &group, "accept: */*", b"").await;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, &body["offsets"]), (200, &serde_json::json!([])));
    for (offset, expected) in [("-1", 400), ("9223372036854775808", 404)] {
        let text = format!(r#"{{"offsets":[{{"topic":"t","partition":0,"offset":{offset}}}]}}"#);
        let (status, _, body) = http(&server, "PUT", &group, "content-type: application/json", text.as_bytes()).await;
        assert_eq!(status, expected, "{}", String::from_utf8_lossy(&body));
    }
    drop(client);
    server.stop().await;

    let server = at(dir.path()).await;
    let mut client = Client::connect(&server).await;
    assert_eq!(committed(&mut client).await, [("t".to_owned(), 0, i64::MIN, String::new())]);
    assert_eq!(commit(&mut client, commit_request(0, 6, "")).await, 0);
    assert_eq!(committed(&mut client).await, [("t".to_owned(), 0, 6, String::new())]);
}
