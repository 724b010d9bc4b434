//! Brokers that forward appends and name the owner of the journal: the client sends the next ones there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // A test.

mod fake;

use bytes::Bytes;
use fake::{Log, names};
use rawline_client::{Client, ClientConfig, ClientError, Producer, ProducerConfig, RetryPolicy};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// Starts a broker that records appends, and names this owner in its responses, which take some time. Returns its
/// URL.
fn broker(name: char, log: &Log, owner: impl Into<String>, takes: Duration) -> String {
    fake::broker(name, log, owner, takes).url.clone()
}

fn client(url: &str) -> Client {
    Client::new(ClientConfig { retries: RetryPolicy::NONE, ..ClientConfig::new(url) }).unwrap()
}

/// Appends a record of this size that ends with this byte.
async fn append(client: &Client, topic: &str, bytes: usize, last: u8) -> Result<u64, ClientError> {
    let mut record = vec![b'-'; bytes];
    record[bytes - 1] = last;
    let appended = client.append_records(topic, &[bytes as u32], Bytes::from(record)).await?;
    Ok(appended.first_offset)
}

/// A URL at which no server listens.
fn unreachable() -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", free.local_addr().unwrap())
}

#[tokio::test]
async fn small_and_large_appends_go_to_the_owner_that_a_response_has_named() {
    let log = Log::default();
    let owner = broker('B', &log, "", Duration::ZERO);
    let client = client(&broker('a', &log, &owner, Duration::ZERO));
    for (topic, bytes) in [("t", 1), ("t", 100_000), ("u", 100_000), ("u", 1), ("t", 1)] {
        append(&client, topic, bytes, b'x').await.unwrap();
    }
    assert_eq!(names(&log), "aBaBB");
}

#[tokio::test]
async fn an_owner_that_has_moved_is_followed() {
    let log = Log::default();
    let newest = broker('C', &log, "", Duration::ZERO);
    let former = broker('B', &log, &newest, Duration::ZERO);
    let client = client(&broker('a', &log, &former, Duration::ZERO));
    for _ in 0..4 {
        append(&client, "t", 1, b'x').await.unwrap();
    }
    assert_eq!(names(&log), "aBCC");
}

#[tokio::test]
async fn appends_continue_where_they_were_if_the_owner_cannot_be_reached() {
    let log = Log::default();
    let client = client(&broker('a', &log, unreachable(), Duration::ZERO));
    for bytes in [1, 1, 100_000, 1] {
        append(&client, "t", bytes, b'x').await.unwrap();
    }
    assert_eq!(names(&log), "aaaa", "each is stored once");
}

#[tokio::test]
async fn an_owners_address_that_leads_to_something_else_is_used_once() {
    for response in ["HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nno...", "SSH-2.0-x\r\n\r\n"] {
        let (log, stranger) = (Log::default(), TcpListener::bind("127.0.0.1:0").unwrap());
        let client = client(&broker('a', &log, format!("http://{}", stranger.local_addr().unwrap()), Duration::ZERO));
        let served = std::thread::spawn(move || {
            let (mut connection, _) = stranger.accept().unwrap();
            assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
            connection.write_all(response.as_bytes()).unwrap();
        });
        append(&client, "t", 1, b'x').await.unwrap();
        append(&client, "t", 1, b'x').await.unwrap_err();
        for _ in 0..2 {
            append(&client, "t", 1, b'x').await.unwrap();
        }
        served.join().unwrap();
        assert_eq!(names(&log), "aaa", "{response:?}");
    }
}

#[tokio::test]
async fn what_is_no_brokers_address_or_another_scheme_is_not_followed() {
    for other in ["https://127.0.0.1:1", "x", "http://", "http://127.0.0.1:1,http://127.0.0.1:2", "ftp://127.0.0.1"] {
        let log = Log::default();
        let client = client(&broker('a', &log, other, Duration::ZERO));
        for _ in 0..2 {
            append(&client, "t", 1, b'x').await.unwrap();
        }
        assert_eq!(names(&log), "aa", "{other}");
    }
}

/// Sends records of a byte each, of which several requests are in flight, and returns what brokers have received.
async fn produce(client: Client, log: &Log) -> String {
    let config = ProducerConfig {
        batch_records_max: 1,
        request_bytes_max: 1,
        in_flight_max: 5,
        linger: Some(Duration::ZERO),
        exactly_once: false,
        ..ProducerConfig::default()
    };
    let producer = Producer::new(client, "t", config).unwrap();
    let records: Vec<u8> = (b'0'..b'z').collect();
    for record in &records {
        producer.send(vec![*record]).await.unwrap();
    }
    producer.close().await.unwrap();
    let received = log.lock().unwrap().clone();
    let mut sorted: Vec<u8> = received.iter().map(|(_, record)| *record).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, records);
    // Requests in flight may overtake each other on different connections to one broker. What is in flight when the
    // producer goes elsewhere ends first.
    for border in 1..received.len() {
        let (before, after) = received.split_at(border);
        if before.last().map(|(name, _)| name) != after.first().map(|(name, _)| name) {
            let newest = before.iter().map(|(_, record)| record).max();
            assert!(newest < after.iter().map(|(_, record)| record).min(), "{received:?}");
        }
    }
    names(log)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_keeps_its_order_when_it_goes_to_the_owner() {
    let log = Log::default();
    let owner = broker('B', &log, "", Duration::ZERO);
    // Requests that are still in flight when the owner is known take longer than those to the owner.
    let names = produce(client(&broker('a', &log, &owner, Duration::from_millis(30))), &log).await;
    let (forwarded, direct) = names.split_at(names.find('B').unwrap());
    assert!((1..=10).contains(&forwarded.len()), "{names}");
    assert!(direct.chars().all(|name| name == 'B'), "{names}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_keeps_its_order_if_the_owner_cannot_be_reached() {
    let log = Log::default();
    let names = produce(client(&broker('a', &log, unreachable(), Duration::from_millis(1))), &log).await;
    assert!(names.chars().all(|name| name == 'a'), "{names}");
}
