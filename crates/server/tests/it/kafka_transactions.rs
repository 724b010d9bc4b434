//! Transactions over Kafka's protocol, what readers over HTTP see of them, and what is refused.

use crate::support::http;
use crate::support::kafka::{Client, batch, served};
use bytes::Buf;
use rawline_batch::crc32c;
use rawline_batch::record_batch::{RecordCodec, RecordProducer};
use rawline_kafka::messages::*;
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_testkit::served::Served;

const NAME: &str = "orders";
const FIRST_WITH_TRANSACTIONS: i16 = 12;

type Instance = (i64, i16);

/// A batch of a transaction.
fn transactional((id, epoch): Instance, base_sequence: u32, count: usize) -> Vec<u8> {
    let producer = RecordProducer { id: id as u64, epoch: epoch as u16, base_sequence };
    marked(batch(RecordCodec::None, count, Some(producer)), 1 << 4)
}

/// The batch with another attribute.
fn marked(mut batch: Vec<u8>, attribute: u8) -> Vec<u8> {
    batch[22] |= attribute;
    let crc = crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    batch
}

/// A varint that counts from 1.
fn compact(length: usize, to: &mut Vec<u8>) {
    let mut left = length + 1;
    while left >= 0x80 {
        to.push(left as u8 | 0x80);
        left >>= 7;
    }
    to.push(left as u8);
}

/// Produces to partition 0: the error and the first offset.
async fn produce(client: &mut Client, version: i16, name: Option<&str>, topic: &str, records: &[u8]) -> (i16, i64) {
    let mut body = Vec::new();
    match name {
        Some(name) => {
            compact(name.len(), &mut body);
            body.extend(name.as_bytes());
        }
        None => body.push(0),
    }
    body.extend((-1_i16).to_be_bytes());
    body.extend(30_000_i32.to_be_bytes());
    compact(1, &mut body);
    compact(topic.len(), &mut body);
    body.extend(topic.as_bytes());
    compact(1, &mut body);
    body.extend(0_i32.to_be_bytes());
    compact(records.len(), &mut body);
    body.extend(records);
    body.extend([0; 3]);
    let response = client.exchange(Api::Produce, version, &body).await;
    let mut fields = &response[1 + 1 + topic.len() + 1 + 4..];
    (fields.get_i16(), fields.get_i64())
}

async fn open(client: &mut Client, version: i16, timeout_ms: i32) -> (i16, Instance) {
    let request = InitProducerIdRequest {
        transactional_id: Some(NAME.to_owned()),
        transaction_timeout_ms: timeout_ms,
        ..InitProducerIdRequest::default()
    };
    let Response::InitProducerId(opened) = client.call(version, request).await else { panic!("another response") };
    (opened.error_code, (opened.producer_id, opened.producer_epoch))
}

async fn end(client: &mut Client, version: i16, (id, epoch): Instance, committed: bool) -> (i16, Instance) {
    let request =
        EndTxnRequest { transactional_id: NAME.to_owned(), producer_id: id, producer_epoch: epoch, committed };
    let Response::EndTxn(ended) = client.call(version, request).await else { panic!("another response") };
    (ended.error_code, (ended.producer_id, ended.producer_epoch))
}

async fn get(server: &Served, offset: u64, accept: &str) -> (u16, String, Vec<u8>) {
    let target = format!("/records?topic-name=t&offset={offset}&max-records=0&timeout=0");
    http(server, "GET", &target, &format!("accept: {accept}"), b"").await
}

async fn offsets(server: &Served, offset: u64) -> Vec<u64> {
    let (status, _, json) = get(server, offset, "application/json").await;
    assert!(status == 200 || status == 204, "{status}");
    let json: Vec<serde_json::Value> = if status == 204 { Vec::new() } else { serde_json::from_slice(&json).unwrap() };
    json.iter().map(|record| record["offset"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn readers_over_http_see_committed_records_only() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let (error, first) = open(&mut client, 5, 60_000).await;
    assert_eq!((error, first.1), (0, 0));
    let records = transactional(first, 0, 3);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 0));
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 0), "again");
    let plain = batch(RecordCodec::Gzip, 2, None);
    assert_eq!(produce(&mut client, 9, None, "t", &plain).await, (0, 3));
    assert_eq!(offsets(&server, 0).await, [0; 0], "open");
    let (_, head, _) = get(&server, 0, "application/vnd.kafka.record-batch").await;
    assert!(head.contains("rawline-next-offset: 0"), "{head}");

    let (error, second) = end(&mut client, 5, first, true).await;
    assert_eq!((error, second), (0, (first.0, 1)));
    assert_eq!(end(&mut client, 5, first, true).await, (0, second), "asked again");
    assert_eq!(offsets(&server, 0).await, [0, 1, 2, 3, 4]);
    let records = transactional(second, 0, 2);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 6));
    assert_eq!(end(&mut client, 5, second, false).await, (0, (first.0, 2)));
    // A marker, two aborted records, a marker.
    assert_eq!(offsets(&server, 5).await, [0; 0]);
    assert_eq!(produce(&mut client, 9, None, "t", &plain).await, (0, 9));
    for from in 5..=9 {
        assert_eq!(offsets(&server, from).await, [9, 10], "from {from}");
    }
    for accept in ["application/x-ndjson", "application/vnd.rawline.batch"] {
        let (status, head, _) = get(&server, 5, accept).await;
        assert!(status == 200 && head.contains("rawline-first-offset: 9"), "{head}");
    }
    let hidden = http(&server, "GET", "/record?topic-name=t&offset=6", "accept: */*", b"").await;
    let text = String::from_utf8(hidden.2).unwrap();
    assert!(hidden.0 == 404 && text.contains("its transaction was aborted"), "{text}");
    // Our clients take batches as they are stored, and get batches without records in the place of the others.
    let (_, _, stored) = get(&server, 5, "application/vnd.rawline.batch, application/vnd.kafka.record-batch").await;
    let counts: Vec<(i32, i32)> = {
        let (mut left, mut counts) = (&stored[..], Vec::new());
        while !left.is_empty() {
            let bytes = i32::from_be_bytes(left[8..12].try_into().unwrap()) as usize + 12;
            let field = |at: usize| i32::from_be_bytes(left[at..at + 4].try_into().unwrap());
            assert_eq!(left[22] & 0x30, 0, "neither transactional nor control");
            counts.push((field(23) + 1, field(57)));
            left = &left[bytes..];
        }
        counts
    };
    assert_eq!(counts, [(4, 0), (2, 2)]);
}

#[tokio::test]
async fn what_is_no_transaction_of_this_kind_is_refused() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let refused = |code: ErrorCode| i16::from(code);
    let older = refused(ErrorCode::TransactionalIdAuthorizationFailed);
    assert_eq!(open(&mut client, 4, 60_000).await.0, older);
    let timeout = refused(ErrorCode::InvalidTransactionTimeout);
    assert_eq!(open(&mut client, 5, 15 * 60_000 + 1).await.0, timeout);
    assert_eq!(open(&mut client, 5, 0).await.0, timeout);
    let (_, one) = open(&mut client, 5, 60_000).await;
    let records = transactional(one, 0, 3);
    let unmapped = refused(ErrorCode::InvalidProducerIdMapping);
    for (version, name, records, code) in [
        (11, Some(NAME), &records, older),
        (FIRST_WITH_TRANSACTIONS, None, &records, older),
        (FIRST_WITH_TRANSACTIONS, Some(NAME), &transactional((7, 0), 0, 3), unmapped),
        (FIRST_WITH_TRANSACTIONS, Some(NAME), &marked(records.clone(), 1 << 5), refused(ErrorCode::InvalidRecord)),
        (FIRST_WITH_TRANSACTIONS, Some(NAME), &[&records[..], &records].concat(), refused(ErrorCode::InvalidRecord)),
        (
            FIRST_WITH_TRANSACTIONS,
            Some(NAME),
            &transactional((one.0, 5), 0, 3),
            refused(ErrorCode::InvalidProducerEpoch),
        ),
        (
            FIRST_WITH_TRANSACTIONS,
            Some(NAME),
            &marked(batch(RecordCodec::None, 1, None), 1 << 4),
            refused(ErrorCode::InvalidRecord),
        ),
    ] {
        assert_eq!(produce(&mut client, version, name, "t", records).await.0, code, "version {version} {name:?}");
    }
    assert_eq!(end(&mut client, 4, one, true).await.0, refused(ErrorCode::UnsupportedVersion));
    assert_eq!(end(&mut client, 5, one, true).await.0, refused(ErrorCode::InvalidTxnState), "nothing to commit");
    assert_eq!(end(&mut client, 5, (one.0 + 1, 0), true).await.0, unmapped);
    assert_eq!(end(&mut client, 5, (-1, -1), true).await.0, unmapped);
    let (_, two) = open(&mut client, 5, 60_000).await;
    assert_eq!(two, (one.0, 1));
    let epoch = refused(ErrorCode::InvalidProducerEpoch);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await.0, epoch);
    assert_eq!(end(&mut client, 5, one, false).await.0, refused(ErrorCode::ProducerFenced));
    let header = "content-type: application/vnd.kafka.record-batch";
    let (status, _, body) = http(&server, "POST", "/records?topic-name=t", header, &transactional(two, 0, 1)).await;
    assert_eq!(status, 400, "{}", String::from_utf8_lossy(&body));
    assert_eq!(offsets(&server, 0).await, [0; 0]);
}

#[tokio::test]
async fn clients_learn_of_the_kind_of_transactions() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let Response::ApiVersions(found) = client.call(4, ApiVersionsRequest::default()).await else { panic!() };
    assert_eq!(found.finalized_features_epoch, 0);
    let mut features =
        found.finalized_features.iter().map(|feature| (feature.name.as_str(), feature.max_version_level));
    assert!(features.any(|feature| feature == ("transaction.version", 2)), "{:?}", found.finalized_features);
    let ends: Vec<_> = found.api_keys.iter().filter(|api| [26, 28].contains(&api.api_key)).collect();
    assert!(ends.len() == 2 && ends.iter().all(|api| (api.min_version, api.max_version) == (5, 5)), "{ends:?}");
    let found: Vec<i16> = found.api_keys.iter().map(|api| api.api_key).collect();
    assert!(!found.contains(&24) && !found.contains(&25), "partitions and offsets join by themselves");
}

#[tokio::test]
async fn offsets_of_open_transactions_are_unstable() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let (_, one) = open(&mut client, 5, 60_000).await;
    let partition = TxnOffsetCommitRequestPartition { committed_offset: 5, ..Default::default() };
    let topics = vec![TxnOffsetCommitRequestTopic { name: "t".to_owned(), partitions: vec![partition] }];
    let asked = TxnOffsetCommitRequest {
        transactional_id: NAME.to_owned(),
        group_id: "g".to_owned(),
        producer_id: one.0,
        producer_epoch: one.1,
        topics,
        ..Default::default()
    };
    let commit = async |client: &mut Client, version, asked: TxnOffsetCommitRequest| {
        let Response::TxnOffsetCommit(found) = client.call(version, asked).await else { panic!() };
        found.topics[0].partitions[0].error_code
    };
    let fetch = async |client: &mut Client, require_stable| {
        let topics = Some(vec![OffsetFetchRequestTopic {
            name: "t".to_owned(),
            partition_indexes: vec![0],
            ..Default::default()
        }]);
        let group = OffsetFetchRequestGroup { group_id: "g".to_owned(), topics, ..Default::default() };
        let asked = OffsetFetchRequest { groups: vec![group], require_stable, ..Default::default() };
        let Response::OffsetFetch(found) = client.call(8, asked).await else { panic!() };
        let partition = &found.groups[0].topics[0].partitions[0];
        (partition.error_code, partition.committed_offset)
    };
    assert_eq!(commit(&mut client, 4, asked.clone()).await, i16::from(ErrorCode::UnsupportedVersion));
    let stranger = TxnOffsetCommitRequest { producer_id: 7, ..asked.clone() };
    assert_eq!(commit(&mut client, 5, stranger).await, i16::from(ErrorCode::InvalidProducerIdMapping));
    assert_eq!(commit(&mut client, 5, asked).await, 0);
    assert_eq!(fetch(&mut client, false).await, (0, -1));
    assert_eq!(fetch(&mut client, true).await, (i16::from(ErrorCode::UnstableOffsetCommit), -1));
    assert_eq!(end(&mut client, 5, one, true).await.0, 0);
    assert_eq!(fetch(&mut client, true).await, (0, 5));
}
