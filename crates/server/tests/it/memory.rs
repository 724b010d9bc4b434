//! A storage in memory has the features of the others: keys, groups, transactions, Kafka. It is full at its limit,
//! until records are deleted.

use crate::kafka_transactions::{FIRST_WITH_TRANSACTIONS, NAME, end, open, produce, transactional};
use crate::support::http;
use crate::support::kafka::{Client, produce_body, produced};
use rawline_batch::record_batch::RecordCodec;
use rawline_broker::store::Storage;
use rawline_kafka::Api;
use rawline_server::http::HttpConfig;
use rawline_testkit::batches::{keyed_batch, stamped};
use rawline_testkit::served::Served;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const OCTETS: &str = "content-type: application/octet-stream";
const JSON: &str = "content-type: application/json";

/// Sends a request with JSON, and returns the status and the response's JSON.
async fn send(server: &Served, method: &str, target: &str, body: &Value) -> (u16, Value) {
    let (status, _, text) =
        http(server, method, target, &format!("{JSON}\r\naccept: application/json"), body.to_string().as_bytes()).await;
    (status, serde_json::from_slice(&text).unwrap_or(Value::Null))
}

#[tokio::test]
async fn a_storage_in_memory_has_keys_groups_transactions_and_kafka() {
    let server = Served::start().await;
    let mut client = Client::connect(&server).await;
    assert_eq!(send(&server, "POST", "/topic?topic-name=t", &json!({"partitions": 2})).await.0, 201);
    let keyed = keyed_batch(RecordCodec::None, &[(b"ada".to_vec(), Some(b"in".to_vec())), (b"grace".to_vec(), None)]);
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &keyed)).await;
    assert_eq!(produced(&body, "t"), (0, 0));
    let fetched = client.fetch("t", 0, 1 << 20).await;
    assert_eq!((fetched.error, fetched.next_offset, fetched.records), (0, 2, stamped(&keyed, 0)));

    let (error, first) = open(&mut client, 5, 60_000).await;
    assert_eq!(error, 0);
    let records = transactional(first, 0, 3);
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 2));
    assert_eq!(produce(&mut client, FIRST_WITH_TRANSACTIONS, Some(NAME), "t", &records).await, (0, 2), "sent again");
    let read = "/records?topic-name=t&offset=2&timeout=0";
    assert_eq!(send(&server, "GET", read, &Value::Null).await, (200, json!([])), "not committed");
    assert_eq!(end(&mut client, 5, first, true).await.0, 0);
    assert_eq!(send(&server, "GET", read, &Value::Null).await.1.as_array().unwrap().len(), 3);

    let group = "group-name=readers";
    let member = json!({"topics": ["t"], "member": null, "client": "test"});
    let (status, share) = send(&server, "POST", &format!("/member?{group}"), &member).await;
    assert_eq!((status, share["partitions"].as_array().unwrap().len()), (200, 2), "{share}");
    let offsets = json!([{"topic": "t", "partition": 0, "offset": 2, "metadata": ""}]);
    let commit = json!({"member": share["member"], "generation": share["generation"], "offsets": offsets});
    assert_eq!(send(&server, "PUT", &format!("/group?{group}"), &commit).await.0, 204);
    let (status, found) = send(&server, "GET", &format!("/group?{group}"), &Value::Null).await;
    assert_eq!((status, found["offsets"][0]["offset"].as_u64()), (200, Some(2)), "{found}");

    // A search by time reads the stored times of batches.
    let (status, found) = send(&server, "GET", "/offset?topic-name=t&time=2020-01-01T00:00:00Z", &Value::Null).await;
    assert_eq!((status, found["offset"].as_u64()), (200, Some(0)), "{found}");
}

const ROOM: u64 = 1 << 20;
const RECORD_BYTES: usize = 50_000;

async fn append(server: &Served, topic: &str) -> (u16, String) {
    let target = format!("/records?topic-name={topic}");
    let (status, head, body) = http(server, "POST", &target, OCTETS, &[b'r'; RECORD_BYTES]).await;
    (status, format!("{head}\r\n{}", String::from_utf8_lossy(&body)))
}

/// Appends until the storage is full. Returns how many records it has taken.
async fn fill(server: &Served, topic: &str) -> u64 {
    for appended in 0.. {
        let (status, text) = append(server, topic).await;
        if status != 201 {
            assert_eq!(status, 503, "{text}");
            assert!(text.contains("\"store_unavailable\"") && text.contains("retry-after: "), "{text}");
            assert!(text.contains("the storage in memory is full") && text.contains("delete records"), "{text}");
            return appended;
        }
    }
    unreachable!("the storage is never full")
}

async fn append_when_there_is_room(server: &Served, topic: &str) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while append(server, topic).await.0 != 201 {
        assert!(Instant::now() < give_up, "what was deleted isn't free");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_storage_takes_no_records_until_some_are_deleted() {
    let server = Served::on(Storage::in_memory(ROOM), HttpConfig::default(), 64 << 20).await;
    let appended = fill(&server, "t").await;
    // All but a record, and the snapshots.
    assert!((15..=20).contains(&appended), "{appended} records of {RECORD_BYTES} bytes in {ROOM}");
    let (status, _, read) = http(&server, "GET", "/record?topic-name=t&offset=0", "accept: */*", b"").await;
    assert_eq!((status, read.len()), (200, RECORD_BYTES), "it can be read");
    let (status, _, health) = http(&server, "GET", "/health", "accept: */*", b"").await;
    assert_eq!((status, &health[..]), (200, &b"ok\n"[..]));

    // Others keep trying: their appends don't prevent the deletion from being stored.
    let is_trimmed = AtomicBool::new(false);
    let trying = async {
        while !is_trimmed.load(Ordering::Relaxed) {
            append(&server, "other").await;
        }
    };
    let trimming = async {
        let trim = format!("/trim?topic-name=t&before={}", appended - 2);
        assert_eq!(http(&server, "POST", &trim, JSON, b"").await.0, 200);
        is_trimmed.store(true, Ordering::Relaxed);
    };
    tokio::join!(trying, trimming);
    let other = http(&server, "DELETE", "/topic?topic-name=other", JSON, b"").await.0;
    assert!(other == 204 || other == 404, "{other}");
    append_when_there_is_room(&server, "t").await;

    fill(&server, "t").await;
    assert_eq!(http(&server, "DELETE", "/topic?topic-name=t", JSON, b"").await.0, 204);
    append_when_there_is_room(&server, "t").await;
    let (status, _, read) = http(&server, "GET", "/record?topic-name=t&offset=0", "accept: */*", b"").await;
    assert_eq!((status, read.len()), (200, RECORD_BYTES), "of the new topic");
}
