//! Topics by their ids, over Kafka's protocol.

use crate::support::kafka::{Client, batch};
use bytes::Buf;
use rawline_batch::record_batch::RecordCodec;
use rawline_broker::store::disk::{self, Durability};
use rawline_kafka::messages::*;
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::path::Path;

const NO_ID: Uuid = Uuid([0; 16]);

macro_rules! call {
    ($client:expr, $api:ident, $version:expr, $request:expr) => {
        match $client.call($version, $request).await {
            Response::$api(response) => response,
            other => panic!("{other:?}"),
        }
    };
}

async fn served(dir: &Path) -> Served {
    let store = disk::open(dir, Durability::PageCache).unwrap();
    Served::on(store, HttpConfig::default(), 64 << 20).await
}

/// Creates a topic, and returns its id.
async fn created(client: &mut Client, name: &str, validate_only: bool) -> Uuid {
    let topic = CreatableTopic {
        name: name.to_owned(),
        num_partitions: 2,
        replication_factor: -1,
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], validate_only, ..CreateTopicsRequest::default() };
    let created = call!(client, CreateTopics, 7, request).topics.remove(0);
    assert_eq!((created.error_code, created.error_message), (0, None));
    created.topic_id
}

/// Topics in Metadata: error, name, id, number of partitions.
async fn metadata(
    client: &mut Client,
    version: i16,
    topics: Option<Vec<MetadataRequestTopic>>,
) -> Vec<(i16, Option<String>, Uuid, usize)> {
    let request = MetadataRequest { topics, ..MetadataRequest::default() };
    let found = call!(client, Metadata, version, request).topics.into_iter();
    found.map(|topic| (topic.error_code, topic.name, topic.topic_id, topic.partitions.len())).collect()
}

fn named(name: &str) -> MetadataRequestTopic {
    MetadataRequestTopic { name: Some(name.to_owned()), topic_id: NO_ID }
}

fn with_id(topic_id: Uuid) -> MetadataRequestTopic {
    MetadataRequestTopic { name: None, topic_id }
}

/// A length in flexible versions. Test data is short.
fn compact(length: usize) -> [u8; 2] {
    assert!(length < (1 << 14) - 1, "{length}");
    [(length + 1) as u8 | 0x80, ((length + 1) >> 7) as u8]
}

fn read_compact(from: &mut &[u8]) -> usize {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = from.get_u8();
        value |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value - 1;
        }
    }
}

/// Produces by id: the error and the first offset.
async fn produce(client: &mut Client, id: Uuid, records: &[u8]) -> (i16, i64) {
    // No transaction.
    let mut body = vec![0];
    body.extend((-1_i16).to_be_bytes());
    body.extend(30_000_i32.to_be_bytes());
    body.push(2);
    body.extend(id.0);
    body.push(2);
    body.extend(0_i32.to_be_bytes());
    body.extend(compact(records.len()));
    body.extend(records);
    body.extend([0; 3]);
    let response = client.exchange(Api::Produce, 13, &body).await;
    let mut from = &response[..];
    assert_eq!(read_compact(&mut from), 1);
    assert_eq!(from[..16], id.0);
    from.advance(16);
    assert_eq!((read_compact(&mut from), from.get_i32()), (1, 0));
    (from.get_i16(), from.get_i64())
}

/// Fetches by id: the error, the next offset and the records.
async fn fetch(client: &mut Client, version: i16, id: Uuid) -> (i16, i64, Vec<u8>) {
    let mut body = Vec::new();
    if version <= 14 {
        body.extend((-1_i32).to_be_bytes());
    }
    for field in [0_i32, 1, 50 << 20] {
        body.extend(field.to_be_bytes());
    }
    body.push(0);
    body.extend(0_i32.to_be_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.push(2);
    body.extend(id.0);
    body.push(2);
    body.extend(0_i32.to_be_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.extend(0_i64.to_be_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.extend((-1_i64).to_be_bytes());
    body.extend((1_i32 << 20).to_be_bytes());
    // No tags of the partition and the topic, nothing to forget, no rack, no tags.
    body.extend([0, 0, 1, 1, 0]);
    let response = client.exchange(Api::Fetch, version, &body).await;
    let mut from = &response[..];
    assert_eq!((from.get_i32(), from.get_i16(), from.get_i32()), (0, 0, 0));
    assert_eq!(read_compact(&mut from), 1);
    assert_eq!(from[..16], id.0);
    from.advance(16);
    assert_eq!((read_compact(&mut from), from.get_i32()), (1, 0));
    let (error, next_offset) = (from.get_i16(), from.get_i64());
    from.advance(8 + 8);
    assert_eq!((read_compact(&mut from), from.get_i32()), (0, -1));
    let records_bytes = read_compact(&mut from);
    (error, next_offset, from[..records_bytes].to_vec())
}

async fn delete(client: &mut Client, topics: Vec<DeleteTopicState>) -> Vec<(i16, Option<String>, Uuid)> {
    let request = DeleteTopicsRequest { topics, ..DeleteTopicsRequest::default() };
    let deleted = call!(client, DeleteTopics, 6, request).responses.into_iter();
    deleted.map(|topic| (topic.error_code, topic.name, topic.topic_id)).collect()
}

#[tokio::test]
async fn a_topic_keeps_its_id_and_no_other_topic_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = served(dir.path()).await;
    let mut client = Client::connect(&server).await;
    assert_eq!(created(&mut client, "t", true).await, NO_ID);
    let id = created(&mut client, "t", false).await;
    // As clients and appends create topics.
    client.create("u").await;
    let of_u = metadata(&mut client, 13, Some(vec![named("u")])).await[0].2;
    assert!(id != NO_ID && of_u != NO_ID && id != of_u);
    for _ in 0..2 {
        for version in 10..=13 {
            let found = metadata(&mut client, version, None).await;
            let name = |name: &str| Some(name.to_owned());
            assert_eq!(found, [(0, name("t"), id, 2), (0, name("u"), of_u, 1)], "{version}");
        }
        server.stop().await;
        server = served(dir.path()).await;
        client = Client::connect(&server).await;
    }
    let topics = vec![DescribeTopicPartitionsTopic { name: "t".to_owned() }];
    let request = DescribeTopicPartitionsRequest {
        topics,
        response_partition_limit: 1,
        ..DescribeTopicPartitionsRequest::default()
    };
    assert_eq!(call!(client, DescribeTopicPartitions, 0, request).topics[0].topic_id, id);
    // By id, also of a topic that the request names too.
    let unknown = Uuid([7; 16]);
    let found = metadata(&mut client, 12, Some(vec![with_id(id), named("t"), with_id(unknown), with_id(id)])).await;
    let code = ErrorCode::UnknownTopicId.into();
    assert_eq!(found, [(0, Some("t".to_owned()), id, 2), (code, None, unknown, 0)]);
    // The same steps in another storage.
    let other_dir = tempfile::tempdir().unwrap();
    let other = served(other_dir.path()).await;
    assert_ne!(created(&mut Client::connect(&other).await, "t", false).await, id);
}

#[tokio::test]
async fn records_are_produced_and_fetched_by_id_until_the_topic_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let server = served(dir.path()).await;
    let mut client = Client::connect(&server).await;
    let id = created(&mut client, "t", false).await;
    let sent = batch(RecordCodec::Zstd, 5, None);
    assert_eq!(produce(&mut client, id, &sent).await, (0, 0));
    assert_eq!(produce(&mut client, id, &sent).await, (0, 5));
    for version in 13..=18 {
        let (error, next_offset, records) = fetch(&mut client, version, id).await;
        assert_eq!((error, next_offset, records.len()), (0, 10, 2 * sent.len()), "{version}");
        assert_eq!(records[16..sent.len()], sent[16..]);
    }
    // A topic with the same name is another one.
    let state = |name: Option<&str>, topic_id| DeleteTopicState { name: name.map(str::to_owned), topic_id };
    let code = |code: ErrorCode| i16::from(code);
    let twice = vec![state(None, id), state(None, id)];
    let refused = (code(ErrorCode::InvalidRequest), None, id);
    assert_eq!(delete(&mut client, twice).await, [refused.clone(), refused]);
    let unknown = code(ErrorCode::UnknownTopicId);
    let deleted = delete(&mut client, vec![state(None, Uuid([7; 16])), state(None, id)]).await;
    assert_eq!(deleted, [(unknown, None, Uuid([7; 16])), (0, Some("t".to_owned()), id)]);
    let again = created(&mut client, "t", false).await;
    assert_ne!(again, id);
    assert_eq!(produce(&mut client, id, &sent).await.0, unknown);
    for version in 13..=18 {
        assert_eq!(fetch(&mut client, version, id).await, (unknown, -1, Vec::new()), "{version}");
    }
    assert_eq!(delete(&mut client, vec![state(None, id)]).await, [(unknown, None, id)]);
    assert_eq!(fetch(&mut client, 18, again).await, (0, 0, Vec::new()));
    assert_eq!(delete(&mut client, vec![state(Some("t"), NO_ID)]).await, [(0, Some("t".to_owned()), again)]);
}

/// Commits an offset in partition 0: the error.
async fn commit(client: &mut Client, id: Uuid, committed_offset: i64) -> i16 {
    let partition = OffsetCommitRequestPartition { committed_offset, ..OffsetCommitRequestPartition::default() };
    let topic = OffsetCommitRequestTopic { name: String::new(), topic_id: id, partitions: vec![partition] };
    // One that has no partition, so that results are those of the right topics.
    let unknown = OffsetCommitRequestTopic { topic_id: Uuid([9; 16]), ..topic.clone() };
    let topics = vec![unknown, topic];
    let request = OffsetCommitRequest { group_id: "g".to_owned(), topics, ..OffsetCommitRequest::default() };
    let found = call!(client, OffsetCommit, 10, request).topics;
    assert_eq!((found[0].topic_id, found[1].topic_id), (Uuid([9; 16]), id));
    assert_eq!(found[0].partitions[0].error_code, i16::from(ErrorCode::UnknownTopicId));
    found[1].partitions[0].error_code
}

/// The committed offsets in partition 0: id, offset, error.
async fn committed(client: &mut Client, wanted: Option<&[Uuid]>) -> Vec<(Uuid, i64, i16)> {
    let topic = |id: &Uuid| OffsetFetchRequestTopic { name: String::new(), topic_id: *id, partition_indexes: vec![0] };
    let topics = wanted.map(|wanted| wanted.iter().map(topic).collect());
    let group = OffsetFetchRequestGroup { group_id: "g".to_owned(), topics, ..OffsetFetchRequestGroup::default() };
    let request = OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() };
    let found = call!(client, OffsetFetch, 10, request).groups.remove(0).topics.into_iter();
    found.map(|topic| (topic.topic_id, topic.partitions[0].committed_offset, topic.partitions[0].error_code)).collect()
}

#[tokio::test]
async fn offsets_of_groups_are_those_of_ids() {
    let dir = tempfile::tempdir().unwrap();
    let server = served(dir.path()).await;
    let mut client = Client::connect(&server).await;
    let id = created(&mut client, "t", false).await;
    assert_eq!(commit(&mut client, id, 7).await, 0);
    assert_eq!(committed(&mut client, None).await, [(id, 7, 0)]);
    let (other, unknown) = (Uuid([8; 16]), i16::from(ErrorCode::UnknownTopicId));
    assert_eq!(committed(&mut client, Some(&[id, other])).await, [(other, -1, unknown), (id, 7, 0)]);
    let state = DeleteTopicState { name: None, topic_id: id };
    delete(&mut client, vec![state]).await;
    let again = created(&mut client, "t", false).await;
    assert_eq!(commit(&mut client, id, 8).await, unknown);
    assert_eq!(committed(&mut client, Some(&[id, again])).await, [(id, -1, unknown), (again, -1, 0)]);
    assert_eq!(committed(&mut client, None).await, []);
}
