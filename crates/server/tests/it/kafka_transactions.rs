//! Transactions over Kafka's protocol, readers over HTTP, and refused requests.

use crate::support::http;
use crate::support::kafka::{Client, batch, served, served_in};
use bytes::Buf;
use rawline_batch::crc32c;
use rawline_batch::record_batch::{RecordCodec, RecordProducer};
use rawline_kafka::messages::*;
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_testkit::served::Served;

pub const NAME: &str = "orders";
pub const FIRST_WITH_TRANSACTIONS: i16 = 12;

pub type Instance = (i64, i16);

/// A batch of a transaction.
pub fn transactional((id, epoch): Instance, base_sequence: u32, count: usize) -> Vec<u8> {
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
pub async fn produce(client: &mut Client, version: i16, name: Option<&str>, topic: &str, records: &[u8]) -> (i16, i64) {
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

pub async fn open(client: &mut Client, version: i16, timeout_ms: i32) -> (i16, Instance) {
    let request = InitProducerIdRequest {
        transactional_id: Some(NAME.to_owned()),
        transaction_timeout_ms: timeout_ms,
        ..InitProducerIdRequest::default()
    };
    let Response::InitProducerId(opened) = client.call(version, request).await else { panic!("another response") };
    (opened.error_code, (opened.producer_id, opened.producer_epoch))
}

pub async fn end(client: &mut Client, version: i16, (id, epoch): Instance, committed: bool) -> (i16, Instance) {
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
    let older = refused(ErrorCode::UnsupportedVersion);
    let unnamed = refused(ErrorCode::TransactionalIdAuthorizationFailed);
    assert_eq!(open(&mut client, 4, 60_000).await.0, unnamed);
    let timeout = refused(ErrorCode::InvalidTransactionTimeout);
    assert_eq!(open(&mut client, 5, 15 * 60_000 + 1).await.0, timeout);
    assert_eq!(open(&mut client, 5, 0).await.0, timeout);
    let (_, one) = open(&mut client, 5, 60_000).await;
    let records = transactional(one, 0, 3);
    let unmapped = refused(ErrorCode::InvalidProducerIdMapping);
    for (version, name, records, code) in [
        (11, Some(NAME), &records, older),
        (FIRST_WITH_TRANSACTIONS, None, &records, unnamed),
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
    assert_eq!(end(&mut client, 5, one, true).await.0, refused(ErrorCode::InvalidTxnState), "nothing to commit");
    for committed in [false, true] {
        assert_eq!(end(&mut client, 4, one, committed).await.0, refused(ErrorCode::InvalidTxnState), "nothing to end");
    }
    assert_eq!(end(&mut client, 5, (one.0 + 1, 0), true).await.0, unmapped);
    assert_eq!(end(&mut client, 5, (-1, -1), true).await.0, unmapped);
    let (_, two) = open(&mut client, 5, 60_000).await;
    assert_eq!(two, (one.0, 1));
    let epoch = refused(ErrorCode::InvalidProducerEpoch);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await.0, epoch);
    assert_eq!(end(&mut client, 5, one, false).await.0, refused(ErrorCode::ProducerFenced));
    assert_eq!(end(&mut client, 2, one, true).await.0, refused(ErrorCode::ProducerFenced));
    assert_eq!(end(&mut client, 1, one, true).await.0, epoch, "older clients don't know the other error");
    let header = "content-type: application/vnd.kafka.record-batch";
    let (status, _, body) = http(&server, "POST", "/records?topic-name=t", header, &transactional(two, 0, 1)).await;
    assert_eq!(status, 400, "{}", String::from_utf8_lossy(&body));
    assert_eq!(offsets(&server, 0).await, [0; 0]);
}

/// Like an engine that continues from a checkpoint: its client doesn't know the next instance.
#[tokio::test]
async fn a_transaction_of_a_checkpoint_is_ended_by_an_older_request() {
    let (server, dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let (_, first) = open(&mut client, 5, 60_000).await;
    let records = transactional(first, 0, 3);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 0));
    drop(client);
    server.stop().await;

    let server = served_in(dir.path()).await;
    let mut client = Client::connect(&server).await;
    let unknown = (-1, -1);
    assert_eq!(end(&mut client, 4, first, true).await, (0, unknown), "a version without the next instance");
    assert_eq!(offsets(&server, 0).await, [0, 1, 2]);
    drop(client);
    server.stop().await;

    let server = served_in(dir.path()).await;
    let mut client = Client::connect(&server).await;
    for version in 0..=4 {
        assert_eq!(end(&mut client, version, first, true).await, (0, unknown), "again, version {version}");
        let other = (ErrorCode::InvalidTxnState.into(), unknown);
        assert_eq!(end(&mut client, version, first, false).await, other, "version {version}");
    }
    let (error, second) = end(&mut client, 5, first, true).await;
    assert_eq!((error, second), (0, (first.0, 1)), "a client that knows them gets the next id and epoch");
    // A batch that arrives late gets into no transaction.
    let late = transactional(first, 3, 1);
    let refused = i16::from(ErrorCode::InvalidProducerEpoch);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &late).await.0, refused);

    // The next instance's open transaction isn't ended by requests of the older one.
    let records = transactional(second, 0, 2);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 4));
    assert_eq!(end(&mut client, 4, first, true).await.0, 0);
    assert_eq!(offsets(&server, 3).await, [0; 0], "still open");
    assert_eq!(end(&mut client, 3, second, false).await, (0, unknown));
    assert_eq!(end(&mut client, 3, second, false).await, (0, unknown), "again");
    assert_eq!(end(&mut client, 3, second, true).await.0, i16::from(ErrorCode::InvalidTxnState));
    assert_eq!(end(&mut client, 4, first, true).await.0, i16::from(ErrorCode::ProducerFenced));
    assert_eq!(offsets(&server, 3).await, [0; 0], "aborted");
}

#[tokio::test]
async fn a_batch_outside_an_open_transaction_of_its_producer_is_refused() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    client.create("u").await;
    let (_, (id, epoch)) = open(&mut client, 5, 60_000).await;
    let outside = |base_sequence| {
        let producer = RecordProducer { id: id as u64, epoch: epoch as u16, base_sequence };
        batch(RecordCodec::None, 1, Some(producer))
    };
    let mut produce = async |topic: &str, records: Vec<u8>| {
        produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), topic, &records).await
    };
    assert_eq!(produce("t", outside(0)).await, (0, 0), "no transaction is open");
    assert_eq!(produce("t", transactional((id, epoch), 1, 2)).await, (0, 1));
    assert_eq!(produce("t", outside(3)).await.0, i16::from(ErrorCode::InvalidTxnState));
    assert_eq!(produce("t", outside(0)).await, (0, 0), "stored before");
    assert_eq!(produce("u", outside(0)).await, (0, 0), "the transaction doesn't write there");
    assert_eq!(produce("t", transactional((id, epoch), 3, 1)).await, (0, 3));
}

#[tokio::test]
async fn administrators_see_transactions_and_producers() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let (_, one) = open(&mut client, 5, 60_000).await;
    let list = async |client: &mut Client, asked: ListTransactionsRequest| {
        let Response::ListTransactions(found) = client.call(2, asked).await else { panic!("another response") };
        let state = |one: &ListedTransaction| format!("{} {}", one.transactional_id, one.transaction_state);
        (found.error_code, found.transaction_states.iter().map(state).collect::<Vec<_>>(), found.unknown_state_filters)
    };
    let describe = async |client: &mut Client| {
        let asked = DescribeTransactionsRequest { transactional_ids: vec![NAME.to_owned(), "none".to_owned()] };
        let Response::DescribeTransactions(found) = client.call(0, asked).await else { panic!("another response") };
        found.transaction_states
    };
    let producers = async |client: &mut Client| {
        let topic = DescribeProducersTopic { name: "t".to_owned(), partition_indexes: vec![0, 7] };
        let asked = DescribeProducersRequest { topics: vec![topic] };
        let Response::DescribeProducers(found) = client.call(0, asked).await else { panic!("another response") };
        let partitions = &found.topics[0].partitions;
        assert_eq!(partitions[1].error_code, i16::from(ErrorCode::UnknownTopicOrPartition));
        let state = |one: &ProducerState| (one.producer_id, one.last_sequence, one.current_txn_start_offset);
        partitions[0].active_producers.iter().map(state).collect::<Vec<_>>()
    };
    let all = ListTransactionsRequest::default;
    let listed = |state: &str| (0, vec![format!("{NAME} {state}")], Vec::new());
    let none = (0, Vec::new(), Vec::new());
    assert_eq!(list(&mut client, all()).await, listed("Empty"));
    assert_eq!(producers(&mut client).await, []);
    assert_eq!(produce(&mut client, 9, None, "t", &batch(RecordCodec::None, 1, None)).await, (0, 0));
    let records = transactional(one, 0, 3);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 1));
    assert_eq!(producers(&mut client).await, [(one.0, 2, 1)]);
    let states = |state: &str| ListTransactionsRequest { state_filters: vec![state.to_owned()], ..all() };
    assert_eq!(list(&mut client, states("Ongoing")).await, listed("Ongoing"));
    assert_eq!(list(&mut client, states("Empty")).await, none);
    assert_eq!(list(&mut client, states("Open")).await.2, ["Open"]);
    let ids = |id| ListTransactionsRequest { producer_id_filters: vec![id], ..all() };
    assert_eq!(list(&mut client, ids(one.0)).await, listed("Ongoing"));
    assert_eq!(list(&mut client, ids(7)).await, none);
    let pattern = |regex: &str| ListTransactionsRequest { transactional_id_pattern: Some(regex.to_owned()), ..all() };
    assert_eq!(list(&mut client, pattern("ord.*")).await, listed("Ongoing"));
    assert_eq!(list(&mut client, pattern("ord")).await, none);
    assert_eq!(list(&mut client, pattern("(")).await.0, i16::from(ErrorCode::InvalidRegularExpression));
    assert_eq!(list(&mut client, ListTransactionsRequest { duration_filter: 3_600_000, ..all() }).await, none);
    let [open, unknown] = &describe(&mut client).await[..] else { panic!("not two") };
    let DescribedTransaction { producer_id, producer_epoch, topics, transaction_timeout_ms: timeout, .. } = open;
    assert_eq!((*producer_id, *producer_epoch, *timeout), (one.0, one.1, 60_000));
    assert_eq!(topics[..], [DescribedTransactionTopic { topic: "t".to_owned(), partitions: vec![0] }]);
    assert!(open.transaction_start_time_ms > 0);
    assert_eq!(unknown.error_code, i16::from(ErrorCode::TransactionalIdNotFound));
    assert_eq!(end(&mut client, 5, one, true).await.0, 0);
    assert_eq!(list(&mut client, all()).await, listed("CompleteCommit"));
    let ended = &describe(&mut client).await[0];
    assert_eq!((ended.topics.len(), ended.transaction_start_time_ms, ended.producer_epoch), (0, -1, 1));
    assert_eq!(producers(&mut client).await, [(one.0, 2, -1)]);
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
    let ends: Vec<_> = ends.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
    assert_eq!(ends, [(26, 0, 5), (28, 5, 5)]);
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
    let mut again = asked.clone();
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
    // A negative one, too, counts once its transaction is committed.
    let (_, two) = open(&mut client, 5, 60_000).await;
    (again.producer_id, again.producer_epoch) = two;
    again.topics[0].partitions[0].committed_offset = -1;
    assert_eq!(commit(&mut client, 5, again).await, 0);
    assert_eq!(fetch(&mut client, false).await, (0, 5));
    assert_eq!(end(&mut client, 5, two, true).await.0, 0);
    assert_eq!(fetch(&mut client, true).await, (0, -1));
}
