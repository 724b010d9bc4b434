//! Kafka's protocol and Kafka's batches over HTTP, on a directory: records are stored and returned in either form.

use crate::support::kafka::{Client, Fetched, TIME_MS, batch, fetch_body, produce_body, produced, served, served_with};
use crate::support::{exchange, http};
use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, RecordBatchBuilder, RecordBatchHeader, RecordCodec, RecordProducer, Records,
    STAMPED_BYTES, check_stored, stamp, unpack,
};
use rawline_batch::{Batches, Builder, Codec, Limits};
use rawline_broker::CommitThread;
use rawline_kafka::messages::{
    ApiVersionsRequest, InitProducerIdRequest, ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic,
    MetadataRequest, MetadataRequestTopic,
};
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use rawline_testkit::stores::{Home, places};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CODECS: [RecordCodec; 5] =
    [RecordCodec::None, RecordCodec::Gzip, RecordCodec::Snappy, RecordCodec::Lz4, RecordCodec::Zstd];

async fn append(server: &Served, topic: &str, media_type: &str, body: &[u8]) -> (u16, String) {
    let target = format!("/records?topic-name={topic}");
    let (status, _, body) = http(server, "POST", &target, &format!("content-type: {media_type}"), body).await;
    (status, String::from_utf8(body).unwrap())
}

async fn read(server: &Served, topic: &str, offset: u64, accept: &str) -> (u16, String, Vec<u8>) {
    let target = format!("/records?topic-name={topic}&offset={offset}&max-records=0&timeout=0");
    http(server, "GET", &target, &format!("accept: {accept}"), b"").await
}

const RECORD_BATCH: &str = "application/vnd.kafka.record-batch";
const BATCH: &str = "application/vnd.rawline.batch";

/// The values of records in batches of ours.
fn records_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    rawline_testkit::batches::records_of(bytes)
}

#[tokio::test]
async fn whatever_the_codec_bytes_are_the_producers() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let mut expected = Vec::new();
    for (n, codec) in CODECS.into_iter().enumerate() {
        let sent = batch(codec, 100, None);
        let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &sent)).await;
        assert_eq!(produced(&body, "t"), (0, n as i64 * 100), "{codec}");
        expected.extend(stamp(n as u64 * 100, sent.len() as u32));
        expected.extend(&sent[STAMPED_BYTES..]);
    }
    assert_eq!(client.fetch("t", 0, 1 << 20).await.records, expected);
    let (status, head, body) = read(&server, "t", 0, RECORD_BATCH).await;
    assert!(status == 200 && head.contains(RECORD_BATCH), "{head}");
    assert!(body == expected);
    // From the middle: the whole batch.
    let fetched = client.fetch("t", 250, 10).await;
    let header = check_stored(&fetched.records, 200).unwrap();
    assert_eq!((header.records, header.codec), (100, RecordCodec::Snappy));
    // At the end and after it.
    assert_eq!(client.fetch("t", 500, 1 << 20).await, Fetched { error: 0, next_offset: 500, records: Vec::new() });
    assert_eq!(client.fetch("t", 501, 1 << 20).await.error, i16::from(ErrorCode::OffsetOutOfRange));
}

#[tokio::test]
async fn every_reader_finds_the_records() {
    let (server, _dir) = served().await;
    for codec in CODECS {
        let topic = codec.to_string();
        let sent = [batch(codec, 50, None), batch(codec, 3, None)].concat();
        let (status, text) = append(&server, &topic, RECORD_BATCH, &sent).await;
        assert_eq!((status, text.as_str()), (201, r#"{"first_offset":0,"next_offset":53}"#));
        // As batches of ours, always the same.
        let (status, head, body) = read(&server, &topic, 0, BATCH).await;
        assert!(status == 200 && head.contains(BATCH), "{head}");
        let values = records_of(&body);
        assert_eq!((values.len(), &values[1][..], values[49].len()), (53, &b"value 1 -"[..], 0));
        assert!(read(&server, &topic, 0, BATCH).await.2 == body);
        assert!(head.contains("rawline-first-offset: 0") && head.contains("rawline-next-offset: 53"), "{head}");
        // As JSON, from within a batch.
        let (_, _, json) = read(&server, &topic, 48, "application/json").await;
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json[0]["key"], "key 48");
        assert_eq!(json[0]["time"], "2023-11-14T22:13:20.048Z");
        assert_eq!(json[0]["headers"][0], serde_json::json!({"key": "source", "value": "test"}));
        assert_eq!(json[0]["headers"][1], serde_json::json!({"key": "empty", "value": null}));
        assert_eq!((&json[1]["offset"], &json[1]["record"]), (&49.into(), &serde_json::Value::Null));
        assert_eq!(json.as_array().unwrap().len(), 5);
        // As lines, and one record.
        let (_, _, lines) = read(&server, &topic, 0, "application/x-ndjson").await;
        assert!(lines.starts_with(b"value 0 \nvalue 1 -\n"));
        let target = format!("/record?topic-name={topic}&offset=51");
        assert_eq!(http(&server, "GET", &target, "accept: */*", b"").await.2, b"value 1 -");
    }
}

/// Times before 1970 are shown, and none is null.
#[tokio::test]
async fn times_before_1970_and_missing_ones_are_shown_as_such() {
    let (server, _dir) = served().await;
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    let expected = [
        (-1000, "1969-12-31T23:59:59Z".into()),
        (-1, serde_json::Value::Null),
        (0, "1970-01-01T00:00:00Z".into()),
        (i64::MIN, "-009999-01-02T01:59:59Z".into()),
    ];
    for (time_ms, _) in &expected[..3] {
        builder.push(*time_ms, Some(b"key"), Some(b"value"), []).unwrap();
    }
    let first = builder.finish(None).unwrap().to_vec();
    builder.push(i64::MIN, None, Some(b"value"), []).unwrap();
    let sent = [&first, builder.finish(None).unwrap()].concat();
    assert_eq!(append(&server, "t", RECORD_BATCH, &sent).await.0, 201);
    let (_, _, json) = read(&server, "t", 0, "application/json").await;
    let found: Vec<serde_json::Value> = serde_json::from_slice(&json).unwrap();
    let found: Vec<_> = found.into_iter().map(|mut record| record["time"].take()).collect();
    assert_eq!(found, expected.map(|(_, time)| time));
}

#[tokio::test]
async fn a_kafka_client_reads_our_batches() {
    let (server, _dir) = served().await;
    let values: Vec<Vec<u8>> = (0..300).map(|n| format!("record {n}").into_bytes()).collect();
    for (codec, topic) in [(Codec::None, "none"), (Codec::Zstd, "zstd")] {
        let mut sent = Vec::new();
        for values in values.chunks(60) {
            let mut builder = Builder::new(codec, Limits::default());
            values.iter().for_each(|value| builder.push(value).unwrap());
            builder.finish_into(TIME_MS as u64 * 1000, 0, 0, &mut sent).unwrap();
        }
        assert_eq!(append(&server, topic, BATCH, &sent).await.0, 201);
        let mut client = Client::connect(&server).await;
        for (offset, first) in [(0, 0), (61, 60), (299, 240)] {
            let fetched = client.fetch(topic, offset, 1 << 20).await;
            let mut found = Vec::new();
            let mut left = &fetched.records[..];
            let mut expected_offset = first;
            while !left.is_empty() {
                let header = RecordBatchHeader::parse(left.first_chunk().unwrap(), &Limits::FORMAT).unwrap();
                let (bytes, rest) = left.split_at(header.batch_bytes as usize);
                check_stored(bytes, expected_offset).unwrap();
                assert_eq!(header.max_timestamp_ms, TIME_MS);
                let mut scratch = Vec::new();
                let section = unpack(header.codec, &bytes[RECORD_BATCH_HEADER_BYTES..], 1 << 20, &mut scratch).unwrap();
                found.extend(Records::new(&header, section).map(|record| record.unwrap().value.unwrap().to_vec()));
                expected_offset += u64::from(header.records);
                left = rest;
            }
            assert_eq!(found, values[first as usize..], "{topic}: from {offset}");
            let (_, head, over_http) = read(&server, topic, offset as u64, RECORD_BATCH).await;
            assert!(over_http == fetched.records, "{head}");
        }
        // Those that accept both get them as they are stored.
        let (_, head, body) = read(&server, topic, 0, &format!("{RECORD_BATCH}, {BATCH}")).await;
        assert!(head.contains(BATCH) && body == sent, "{head}");
        assert_eq!(Batches::new(&body, Limits::FORMAT).count(), 5);
    }
}

#[tokio::test]
async fn requests_are_taken_together_and_answered_in_order() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let producer = |base_sequence| Some(RecordProducer { id: 77, epoch: 0, base_sequence });
    let mut requests = Vec::new();
    for n in 0..20_u32 {
        let sent = batch(RecordCodec::None, 10, producer(n * 10));
        let body = produce_body("t", if n % 4 == 3 { 0 } else { 1 }, &sent);
        requests.extend(client.request(Api::Produce.key(), 3, &body));
    }
    let first = client.correlation_id - 19;
    client.stream.write_all(&requests).await.unwrap();
    // Those with acks=0 get no response.
    for n in (0..20).filter(|n| n % 4 != 3) {
        let (correlation_id, body) = client.response(false).await;
        assert_eq!((correlation_id, produced(&body, "t")), (first + n, (0, i64::from(n) * 10)));
    }
    // Sent again, they have their offsets; out of order, they are refused.
    let again = batch(RecordCodec::None, 10, producer(180));
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &again)).await;
    assert_eq!(produced(&body, "t"), (0, 180));
    let gap = batch(RecordCodec::None, 10, producer(210));
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &gap)).await;
    assert_eq!(produced(&body, "t").0, i16::from(ErrorCode::OutOfOrderSequenceNumber));
}

/// Small Produce requests are served on the commit thread, all others elsewhere: the connection moves many times.
#[tokio::test]
async fn requests_of_all_kinds_and_sizes_are_answered_in_order() {
    for commit_thread in [None, Some(CommitThread::start().unwrap())] {
        let (server, _dir) = served_with(commit_thread).await;
        let mut client = Client::connect(&server).await;
        client.create("t").await;
        let (small, large) = (batch(RecordCodec::None, 1, None), batch(RecordCodec::None, 1000, None));
        assert!(large.len() > 64 << 10, "{} bytes", large.len());
        let kinds = [[1; 5].as_slice(), &[1000], &[1; 9], &[0, 1, 0, 1, 1000], &[1; 6], &[0]].concat();
        let mut requests = Vec::new();
        for &records in &kinds {
            requests.extend(match records {
                0 => client.request(Api::Fetch.key(), 4, &fetch_body("t", 0, 100, 0)),
                1 => client.request(Api::Produce.key(), 3, &produce_body("t", -1, &small)),
                _ => client.request(Api::Produce.key(), 3, &produce_body("t", -1, &large)),
            });
        }
        let first = client.correlation_id + 1 - kinds.len() as i32;
        client.stream.write_all(&requests).await.unwrap();
        let mut offset = 0;
        for (&records, expected) in kinds.iter().zip(first..) {
            let (correlation_id, body) = client.response(false).await;
            assert_eq!(correlation_id, expected);
            match records {
                0 => assert_eq!(
                    Fetched::read(&body).records[STAMPED_BYTES..small.len()],
                    small[STAMPED_BYTES..],
                    "{body:?}"
                ),
                _ => assert_eq!(produced(&body, "t"), (0, offset)),
            }
            offset += records;
        }
        assert_eq!(client.fetch("t", offset - 1, 100).await.next_offset, offset);
    }
}

#[tokio::test]
async fn a_fetch_waits_for_records() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let request = client.request(Api::Fetch.key(), 4, &fetch_body("t", 0, 1 << 20, 60_000));
    client.stream.write_all(&request).await.unwrap();
    let sent = batch(RecordCodec::Lz4, 5, None);
    assert_eq!(append(&server, "t", RECORD_BATCH, &sent).await.0, 201);
    let (_, body) = client.response(false).await;
    let fetched = Fetched::read(&body);
    assert_eq!((fetched.next_offset, fetched.records.len()), (5, sent.len()));
}

#[tokio::test]
async fn a_client_learns_what_there_is() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let Response::ApiVersions(versions) = client.call(3, ApiVersionsRequest::default()).await else { panic!() };
    let produce = versions.api_keys.iter().find(|api| api.api_key == 0).unwrap();
    assert_eq!((produce.min_version, produce.max_version), (0, 13));
    // A newer one: an error in the oldest form, from which the client learns the versions that it can ask for.
    let body = client.request(Api::ApiVersions.key(), 99, b"\0\0\0");
    client.stream.write_all(&body).await.unwrap();
    let (_, body) = client.response(false).await;
    let Response::ApiVersions(versions) = Response::read(Api::ApiVersions, 0, &body).unwrap() else { panic!() };
    assert_eq!(versions.error_code, i16::from(ErrorCode::UnsupportedVersion));
    assert_eq!(versions.api_keys.iter().map(|api| api.api_key).collect::<Vec<_>>(), [18]);

    for name in ["one", "two"] {
        client.create(name).await;
    }
    let Response::Metadata(all) = client.call(1, MetadataRequest::default()).await else { panic!() };
    let names: Vec<_> = all.topics.iter().map(|topic| topic.name.clone().unwrap()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!((all.brokers[0].host.as_str(), all.brokers[0].port), ("127.0.0.1", i32::from(server.kafka.port())));
    let wrong = MetadataRequestTopic { name: Some("/".to_owned()), ..MetadataRequestTopic::default() };
    let missing = MetadataRequestTopic { name: Some("none".to_owned()), ..MetadataRequestTopic::default() };
    let asked = MetadataRequest {
        topics: Some(vec![wrong, missing]),
        allow_auto_topic_creation: false,
        ..MetadataRequest::default()
    };
    let Response::Metadata(found) = client.call(9, asked).await else { panic!() };
    let errors: Vec<_> = found.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(errors, [ErrorCode::InvalidTopicException, ErrorCode::UnknownTopicOrPartition].map(i16::from));
    // A topic may have many partitions: a duplicate name gets one response.
    let again = MetadataRequestTopic { name: Some("one".to_owned()), ..MetadataRequestTopic::default() };
    let asked = MetadataRequest { topics: Some(vec![again; 1_000]), ..MetadataRequest::default() };
    let Response::Metadata(found) = client.call(9, asked).await else { panic!() };
    assert_eq!(found.topics.len(), 1);

    append(&server, "one", RECORD_BATCH, &batch(RecordCodec::None, 7, None)).await;
    let at = |timestamp| ListOffsetsPartition { timestamp, ..ListOffsetsPartition::default() };
    let partitions = [-2, -1, -3, 0, i64::MAX].map(at).to_vec();
    let topics = vec![ListOffsetsTopic { name: "one".to_owned(), partitions }];
    let asked = ListOffsetsRequest { topics, ..ListOffsetsRequest::default() };
    let Response::ListOffsets(found) = client.call(5, asked).await else { panic!() };
    let offsets: Vec<_> = found.topics[0].partitions.iter().map(|partition| partition.offset).collect();
    assert_eq!(offsets, [0, 7, 6, 0, -1]);

    let id = async |client: &mut Client, transactional_id: Option<String>| {
        let request = InitProducerIdRequest { transactional_id, ..InitProducerIdRequest::default() };
        let Response::InitProducerId(id) = client.call(4, request).await else { panic!() };
        (id.error_code, id.producer_id)
    };
    let (error, one) = id(&mut client, None).await;
    assert!(error == 0 && one >= 0);
    assert_ne!(id(&mut client, None).await.1, one);
    assert_eq!(id(&mut client, Some("t".into())).await.0, i16::from(ErrorCode::TransactionalIdAuthorizationFailed));
}

#[tokio::test]
async fn what_is_wrong_is_refused() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let good = batch(RecordCodec::None, 3, None);
    let mut damaged = good.clone();
    damaged[70] ^= 1;
    let mut old = good.clone();
    old[16] = 1;
    for (records, error) in [
        (&damaged[..], ErrorCode::CorruptMessage),
        (&old, ErrorCode::UnsupportedForMessageFormat),
        (&good[..60], ErrorCode::CorruptMessage),
        (&[], ErrorCode::InvalidRecord),
    ] {
        let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, records)).await;
        assert_eq!(produced(&body, "t").0, i16::from(error), "{error:?}");
    }
    let body = client.exchange(Api::Produce, 3, &produce_body("no", -1, &good)).await;
    assert_eq!(produced(&body, "no").0, i16::from(ErrorCode::UnknownTopicOrPartition));
    for (body, code) in [(&damaged[..], "record_batch_damaged"), (&old, "record_batch_invalid")] {
        let (_, text) = append(&server, "t", RECORD_BATCH, body).await;
        assert!(text.contains(code), "{text}");
    }
    // Nothing of it was stored, and the connection continues.
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &good)).await;
    assert_eq!(produced(&body, "t"), (0, 0));
    server.wait_for_buffers();
}

/// Lengths that can't be, requests that aren't Kafka's, unknown APIs, the twelve bytes that end other brokers: the
/// connection is closed, and nothing else happens.
#[tokio::test]
async fn hostile_bytes_close_the_connection() {
    let (server, _dir) = served().await;
    let mut metadata = 4_i16.to_be_bytes().to_vec();
    metadata.splice(0..0, 3_i16.to_be_bytes());
    metadata.extend(7_i32.to_be_bytes());
    metadata.extend((-1_i16).to_be_bytes());
    metadata.extend(i32::MAX.to_be_bytes());
    let framed = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
    let unknown = [&999_i16.to_be_bytes()[..], &[0; 8]].concat();
    let old_produce = [&[0; 4][..], &[0; 6]].concat();
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        i32::MAX.to_be_bytes().to_vec(),
        (-1_i32).to_be_bytes().to_vec(),
        framed(&metadata),
        framed(&unknown),
        framed(&old_produce),
        framed(&[]),
    ] {
        let mut stream = TcpStream::connect(server.kafka).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        let mut rest = Vec::new();
        // It may be reset, if some of the bytes were not read.
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "{bytes:?}: {rest:?}");
    }
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..300 {
        let mut client = Client::connect(&server).await;
        let api = random.i16(-1..25);
        let body: Vec<u8> = (0..random.usize(0..200)).map(|_| random.u8(..)).collect();
        let request = client.request(api, random.i16(0..13), &body);
        let cut = random.usize(1..=request.len());
        let _ = client.stream.write_all(&request[..cut]).await;
        let _ = client.stream.shutdown().await;
        let _ = client.stream.read_to_end(&mut Vec::new()).await;
    }
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(exchange(&mut stream, &[crate::support::get("/health").as_bytes()]).await.unwrap().0, 200);
    server.wait_for_buffers();
}

/// A client whose offset is out of range begins elsewhere, and so reads records again or leaves some out.
#[tokio::test]
async fn an_offset_that_another_broker_has_stored_is_in_range() {
    let place = places().await.into_iter().find(Home::is_shared).unwrap();
    let one = Served::on(place.open().await, HttpConfig::default(), 64 << 20).await;
    let mut producer = Client::connect(&one).await;
    producer.create("t").await;
    let other = Served::on(place.open().await, HttpConfig::default(), 64 << 20).await;
    let mut consumer = Client::connect(&other).await;
    assert_eq!(consumer.fetch("t", 0, 1 << 20).await.error, 0);
    let records = batch(RecordCodec::None, 3, None);
    let body = producer.exchange(Api::Produce, 3, &produce_body("t", -1, &records)).await;
    assert_eq!(produced(&body, "t").0, 0);
    // Where a consumer continues that has read the records from the first broker.
    let found = consumer.fetch("t", 3, 1 << 20).await;
    assert_eq!((found.error, found.next_offset), (0, 3));
    let found = consumer.fetch("t", 4, 1 << 20).await;
    assert_eq!(found.error, i16::from(ErrorCode::OffsetOutOfRange));
}
