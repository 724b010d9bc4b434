//! Batches whose records can't be read: uncompressed ones are refused on arrival, and readers skip the others.

use crate::subscribe::Events;
use crate::support::http;
use crate::support::kafka::{Client, batch, produce_body, produced, served};
use rawline_batch::record_batch::{RecordCodec, STAMPED_BYTES};
use rawline_kafka::messages::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_testkit::served::Served;
use rawline_testkit::unreadable;

const RECORD_BATCH: &str = "application/vnd.kafka.record-batch";
const FORMS: [&str; 4] =
    ["application/json", "application/x-ndjson", "multipart/form-data", "application/vnd.rawline.batch"];

async fn read(server: &Served, offset: u64, accept: &str) -> (u16, String, String) {
    let target = format!("/records?topic-name=t&offset={offset}&max-records=0&timeout=0");
    let (status, head, body) = http(server, "GET", &target, &format!("accept: {accept}"), b"").await;
    (status, head, String::from_utf8_lossy(&body).into_owned())
}

async fn produce(client: &mut Client, records: &[u8]) -> i16 {
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, records)).await;
    produced(&body, "t").0
}

#[tokio::test]
async fn records_that_cannot_be_read_are_refused_when_they_arrive() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    for (what, sent) in unreadable::plain() {
        assert_eq!(produce(&mut client, &sent).await, i16::from(ErrorCode::InvalidRecord), "{what}");
        let target = "/records?topic-name=t";
        let (status, _, body) = http(&server, "POST", target, &format!("content-type: {RECORD_BATCH}"), &sent).await;
        let body = String::from_utf8(body).unwrap();
        assert!(status == 400 && body.contains("record_batch_invalid"), "{what}: {status} {body}");
    }
    assert_eq!(client.fetch("t", 0, 1 << 20).await.next_offset, 0);
}

/// Each kind between batches that can be read.
#[tokio::test]
async fn every_reader_continues_after_records_that_cannot_be_read() {
    for (what, sent) in unreadable::compressed() {
        let (server, _dir) = served().await;
        let mut client = Client::connect(&server).await;
        client.create("t").await;
        let good = batch(RecordCodec::Lz4, 3, None);
        for records in [&good, &sent, &good] {
            assert_eq!(produce(&mut client, records).await, 0, "{what}");
        }
        // Kafka's consumers get it as it was sent.
        let fetched = client.fetch("t", 3, sent.len() as i32).await;
        assert_eq!((fetched.error, &fetched.records[STAMPED_BYTES..sent.len()]), (0, &sent[STAMPED_BYTES..]), "{what}");
        for form in FORMS {
            let (status, head, _) = read(&server, 0, form).await;
            assert!(status < 300 && head.contains("rawline-first-offset: 0"), "{what}: {form}: {head}");
            for offset in [3, 4] {
                let (status, head, body) = read(&server, offset, form).await;
                let says = body.contains("unpack_failed") && body.contains("from offset 3 to 4");
                assert!(
                    status == 500 && says && head.contains("rawline-resume-offset: 5"),
                    "{what}: {form}: {head} {body}"
                );
            }
            let (status, head, _) = read(&server, 5, form).await;
            assert!(status < 300 && head.contains("rawline-first-offset: 5"), "{what}: {form}: {head}");
        }
        let mut events = Events::open(&server, "topic-name=t&from=first", "").await;
        let mut found = Vec::new();
        while found.len() < 7 {
            let (kind, data) = events.next().await.expect("the stream has ended");
            match kind.as_str() {
                "message" => found.push(data["offset"].as_u64().unwrap()),
                "skipped" => {
                    assert_eq!((&data["records"], &data["next_offset"]), (&2.into(), &5.into()), "{what}");
                    found.push(u64::MAX);
                }
                _ => {}
            }
        }
        assert_eq!(found, [0, 1, 2, u64::MAX, 5, 6, 7], "{what}");
        // Searches by time get over it, too.
        let at = |timestamp| ListOffsetsPartition { timestamp, ..ListOffsetsPartition::default() };
        let partitions = vec![at(0), at(i64::MAX - 1), at(-3)];
        let topics = vec![ListOffsetsTopic { name: "t".to_owned(), partitions }];
        let asked = ListOffsetsRequest { topics, ..ListOffsetsRequest::default() };
        let Response::ListOffsets(listed) = client.call(7, asked).await else { panic!() };
        let errors: Vec<_> = listed.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
        assert_eq!(errors, [0, 0, 0], "{what}");
    }
}
