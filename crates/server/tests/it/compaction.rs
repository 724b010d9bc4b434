//! A compacted topic as every reader sees it: a Kafka client, and HTTP in all forms, also from offsets of removed
//! records.

use crate::support::http;
use crate::support::kafka::{Client, produce_body, produced, served};
use rawline_batch::Limits;
use rawline_batch::record_batch::{RecordBatchHeader, RecordCodec, Records, check_stored, unpack};
use rawline_kafka::{Api, ErrorCode};
use rawline_testkit::batches::{batch, keyed_batch};
use rawline_testkit::served::Served;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const RECORD_BATCH: &str = "application/vnd.kafka.record-batch";
const BATCH: &str = "application/vnd.rawline.batch";
const KEYS: usize = 10;
const RECORDS: usize = 60;

/// A record: 10 keys, and values that are long enough for a few requests to be worth a compaction.
fn record(number: usize) -> (Vec<u8>, Option<Vec<u8>>) {
    let key = if number.is_multiple_of(7) { "often".to_owned() } else { format!("key {}", number % KEYS) };
    (key.into_bytes(), Some(format!("value {number} {}", "-".repeat(10_000)).into_bytes()))
}

/// Fills a compacted topic until records are gone; how many there were.
async fn compacted(server: &Served, client: &mut Client) -> u64 {
    let settings = br#"{"cleanup_policy":"compact"}"#;
    assert_eq!(http(server, "POST", "/topic?topic-name=t", "content-type: application/json", settings).await.0, 201);
    let give_up = Instant::now() + Duration::from_secs(60);
    let mut appended = 0;
    loop {
        let records: Vec<_> = (appended..appended + RECORDS).map(record).collect();
        let body =
            client.exchange(Api::Produce, 3, &produce_body("t", -1, &keyed_batch(RecordCodec::None, &records))).await;
        assert_eq!(produced(&body, "t"), (0, appended as i64));
        appended += RECORDS;
        let (_, found) = fetched(client, 0).await;
        if !found.contains_key(&1) {
            return appended as u64;
        }
        assert!(Instant::now() < give_up, "nothing is compacted");
        sleep(Duration::from_millis(10)).await;
    }
}

/// The records in the batches that a fetch returns, by offset, and the offset after the last batch.
async fn fetched(client: &mut Client, offset: u64) -> (u64, BTreeMap<u64, Vec<u8>>) {
    let fetched = client.fetch("t", offset as i64, 1 << 20).await;
    assert_eq!(fetched.error, 0);
    let (mut left, mut found, mut next_offset) = (&fetched.records[..], BTreeMap::new(), offset);
    while !left.is_empty() {
        let header = RecordBatchHeader::parse_stored(left.first_chunk().unwrap(), &Limits::FORMAT).unwrap();
        let (bytes, rest) = left.split_at(header.batch_bytes as usize);
        let first_offset = header.base_offset as u64;
        check_stored(bytes, first_offset).unwrap();
        let mut unpacked = Vec::new();
        for record in Records::new(&header, unpack(header.codec, &bytes[61..], 1 << 24, &mut unpacked).unwrap()) {
            let record = record.unwrap();
            found.insert(first_offset + u64::from(record.offset_delta), record.key.unwrap().to_vec());
        }
        next_offset = first_offset + u64::from(header.offsets);
        left = rest;
    }
    (next_offset, found)
}

/// The records of a client that reads from `offset` to the end.
async fn all(client: &mut Client, offset: u64, end_offset: u64) -> BTreeMap<u64, Vec<u8>> {
    let (mut at, mut records) = (offset, BTreeMap::new());
    while at < end_offset {
        let (next_offset, found) = fetched(client, at).await;
        assert!(next_offset > at, "nothing at {at}");
        records.extend(found);
        at = next_offset;
    }
    records.split_off(&offset)
}

fn first_offset(head: &str) -> u64 {
    let value = head.split("rawline-first-offset: ").nth(1).unwrap();
    value.split("\r\n").next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_reader_gets_the_records_that_are_left() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let end_offset = compacted(&server, &mut client).await;
    let left = all(&mut client, 0, end_offset).await;
    let mut newest = BTreeMap::new();
    for offset in 0..end_offset {
        newest.insert(record(offset as usize).0, offset);
    }
    assert!(left.len() < end_offset as usize / 2 && newest.values().all(|offset| left.contains_key(offset)));
    for (offset, key) in &left {
        assert_eq!(*key, record(*offset as usize).0);
    }
    let value = |offset: u64| record(offset as usize).1.unwrap();
    let get = async |offset: u64, accept: &str| {
        let target = format!("/records?topic-name=t&offset={offset}&max-records=0&timeout=0");
        http(&server, "GET", &target, &format!("accept: {accept}"), b"").await
    };
    let offsets: Vec<u64> = left.keys().copied().collect();
    for from in (0..end_offset).step_by(91).chain(offsets.iter().step_by(9).flat_map(|at| [*at, at + 1])) {
        if from >= end_offset {
            continue;
        }
        let expected: Vec<u64> = offsets.iter().copied().filter(|offset| *offset >= from).collect();
        let runs = expected.iter().zip(expected[0]..).take_while(|(offset, at)| *offset == at).count();
        assert_eq!(all(&mut client, from, end_offset).await.into_keys().collect::<Vec<_>>(), expected);
        // JSON says where gaps are.
        let (status, head, json) = get(from, "application/json").await;
        let json: Vec<serde_json::Value> = serde_json::from_slice(&json).unwrap();
        let found: Vec<u64> = json.iter().map(|record| record["offset"].as_u64().unwrap()).collect();
        assert_eq!((status, first_offset(&head), &found[..]), (200, expected[0], &expected[..found.len()]));
        // On a slow machine, a read ends early: after a fifth of a second.
        assert!(!found.is_empty());
        assert_eq!(json[0]["record"].as_str().unwrap().as_bytes(), value(expected[0]));
        // The other forms end before the first.
        let (status, head, lines) = get(from, "application/x-ndjson").await;
        let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!((status, first_offset(&head)), (200, expected[0]));
        assert!((1..=runs).contains(&lines.len()), "{} lines of {runs}", lines.len());
        assert!(lines.iter().zip(&expected).all(|(line, offset)| *line == value(*offset)));
        let (status, head, body) = get(from, BATCH).await;
        let records = rawline_testkit::batches::records_of(&body);
        let skipped = expected[0].saturating_sub(first_offset(&head)) as usize;
        assert!(status == 200 && (1..=runs).contains(&(records.len() - skipped)), "from {from}, {head}");
        assert!(records[skipped..].iter().zip(&expected).all(|(record, offset)| *record == value(*offset)));
        // One record, or none.
        let (status, _, body) =
            http(&server, "GET", &format!("/record?topic-name=t&offset={from}"), "accept: */*", b"").await;
        match left.contains_key(&from) {
            true => assert_eq!((status, body), (200, value(from))),
            false => {
                let text = String::from_utf8(body).unwrap();
                assert!(status == 404 && text.contains("a compaction has removed it"), "{status} {text}");
            }
        }
        let (status, head, _) = get(from, &format!("{BATCH}, {RECORD_BATCH}")).await;
        assert!(status == 200 && first_offset(&head) <= from, "stored batches have all offsets: {head}");
    }
}

#[tokio::test]
async fn records_without_keys_are_refused() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let settings = br#"{"cleanup_policy":"compact"}"#;
    assert_eq!(http(&server, "PUT", "/topic?topic-name=t", "content-type: application/json", settings).await.0, 200);
    for codec in [RecordCodec::None, RecordCodec::Zstd] {
        let mut builder = rawline_batch::record_batch::RecordBatchBuilder::new(codec, Limits::default());
        builder.push(1, Some(b"key"), Some(b"value"), []).unwrap();
        builder.push(1, None, Some(b"value ".repeat(100).as_slice()), []).unwrap();
        let batch = builder.finish(None).unwrap().to_vec();
        let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &batch)).await;
        assert_eq!(produced(&body, "t").0, i16::from(ErrorCode::InvalidRecord));
        let content = format!("content-type: {RECORD_BATCH}");
        let (status, _, body) = http(&server, "POST", "/records?topic-name=t", &content, &batch).await;
        assert!(status == 400 && String::from_utf8(body).unwrap().contains("key_missing"), "{codec}");
    }
    for (content, body) in [
        (BATCH, batch(rawline_batch::Codec::None, &[b"record".to_vec()])),
        ("application/octet-stream", b"record".to_vec()),
        ("application/x-ndjson", b"record\n".to_vec()),
    ] {
        let content = format!("content-type: {content}");
        let (status, _, body) = http(&server, "POST", "/records?topic-name=t", &content, &body).await;
        assert!(status == 400 && String::from_utf8(body).unwrap().contains("key_missing"), "{content}");
    }
    let body =
        client.exchange(Api::Produce, 3, &produce_body("t", -1, &keyed_batch(RecordCodec::Lz4, &[record(1)]))).await;
    assert_eq!(produced(&body, "t"), (0, 0));
}
