//! Shared connections to servers that break off, close, or send what no broker sends: each append gets its own result.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // A test.

use bytes::Bytes;
use rawline_client::{Appended, Client, ClientConfig, ClientError, Producer, ProducerConfig};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server's behavior on one connection: it receives this many appends, and sends these bytes.
type Turn = (usize, String);

/// A server with a turn on each connection, in the order of connecting, that closes each connection afterwards. It
/// returns the records.
fn serve(turns: Vec<Turn>) -> (ClientConfig, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = ClientConfig::new(format!("http://{}", listener.local_addr().unwrap()));
    let served = std::thread::spawn(move || {
        let mut received = Vec::new();
        for (appends, response) in turns {
            let (mut connection, _) = listener.accept().unwrap();
            received.extend(receive(&mut connection, appends));
            connection.write_all(response.as_bytes()).unwrap();
        }
        received
    });
    (config, served)
}

/// Receives appends of one record of one byte, and returns the records.
fn receive(connection: &mut TcpStream, appends: usize) -> Vec<u8> {
    let (mut bytes, mut records) = (Vec::new(), Vec::new());
    while records.len() < appends {
        let mut piece = [0; 4096];
        let length = connection.read(&mut piece).unwrap();
        assert!(length > 0, "closed after {records:?}");
        bytes.extend_from_slice(&piece[..length]);
        while let Some(head) = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let text = std::str::from_utf8(&bytes[..head]).unwrap();
            let (_, length) = text.rsplit_once("content-length: ").unwrap();
            let end = head + 4 + length.parse::<usize>().unwrap();
            if bytes.len() < end {
                break;
            }
            // The record's size has four bytes; three of padding follow the record.
            records.push(bytes[end - 4]);
            bytes.drain(..end);
        }
    }
    assert_eq!((records.len(), bytes.len()), (appends, 0));
    records
}

/// The response to the append of one record.
fn stored(offset: u64, header: &str) -> String {
    let text = format!("{{\"first_offset\":{offset},\"next_offset\":{}}}", offset + 1);
    format!("HTTP/1.1 201 Created\r\n{header}content-length: {}\r\n\r\n{text}", text.len())
}

fn all_stored(offsets: std::ops::Range<u64>) -> String {
    offsets.map(|offset| stored(offset, "")).collect()
}

/// Appends records `a`, `b`, ... together.
async fn append_together(client: &Client, records: u8) -> Vec<Result<Appended, ClientError>> {
    let tasks = (0..records).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { client.append_records("t", &[1], Bytes::from(vec![b'a' + number])).await })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

/// The offsets of those that were stored; the others have failed like this.
fn offsets(results: &[Result<Appended, ClientError>], failed: fn(&ClientError) -> bool) -> Vec<Option<u64>> {
    let offset = |result: &Result<Appended, ClientError>| match result {
        Ok(appended) => Some(appended.first_offset),
        Err(error) => {
            assert!(failed(error), "{error}");
            None
        }
    };
    results.iter().map(offset).collect()
}

fn is_broken(error: &ClientError) -> bool {
    matches!(error, ClientError::Broken { .. })
}

#[tokio::test]
async fn a_connection_that_breaks_fails_those_without_a_response() {
    let half = &stored(2, "")[..20];
    for rest in ["", half] {
        let (config, served) = serve(vec![(5, all_stored(0..2) + rest), (1, all_stored(7..8))]);
        let client = Client::new(config).unwrap();
        let results = append_together(&client, 5).await;
        assert_eq!(offsets(&results, is_broken), [Some(0), Some(1), None, None, None]);
        assert_eq!(append_together(&client, 1).await[0].as_ref().unwrap().first_offset, 7);
        assert_eq!(served.join().unwrap(), b"abcdea");
    }
}

/// A proxy may end a connection after a number of requests. It carries out none that follow.
#[tokio::test]
async fn appends_after_an_announced_end_go_elsewhere() {
    let closing = all_stored(0..2) + &stored(2, "Connection: Close\r\n");
    let (config, served) = serve(vec![(5, closing), (2, all_stored(3..5))]);
    let results = append_together(&Client::new(config).unwrap(), 5).await;
    assert_eq!(offsets(&results, |_| false), [Some(0), Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(served.join().unwrap(), b"abcdede");
}

#[tokio::test]
async fn what_is_no_response_fails_its_append_and_breaks_those_that_follow() {
    let long = "HTTP/1.1 500 Long\r\ncontent-length: 100000\r\n\r\n";
    for (bad, reason) in [("220 smtp.example ESMTP\r\n", "no HTTP response"), (long, "more than 65536 bytes")] {
        let (config, served) = serve(vec![(4, stored(0, "") + bad + &all_stored(1..3))]);
        let results = append_together(&Client::new(config).unwrap(), 4).await;
        assert_eq!(results[0].as_ref().unwrap().first_offset, 0);
        let error = results[1].as_ref().unwrap_err();
        assert!(matches!(error, ClientError::Answer { .. }) && error.to_string().contains(reason), "{error}");
        assert_eq!(offsets(&results[2..], is_broken), [None, None]);
        served.join().unwrap();
    }
}

/// A response without a request isn't the response to the next append.
#[tokio::test]
async fn an_extra_response_is_not_given_to_the_next_request() {
    for appends in [1, 3] {
        let more = all_stored(0..u64::from(appends) + 1);
        let (config, served) = serve(vec![(appends.into(), more), (1, all_stored(100..101))]);
        let client = Client::new(config).unwrap();
        let results = append_together(&client, appends).await;
        assert_eq!(offsets(&results, |_| false), (0..u64::from(appends)).map(Some).collect::<Vec<_>>());
        assert_eq!(append_together(&client, 1).await[0].as_ref().unwrap().first_offset, 100);
        served.join().unwrap();
    }
}

/// An idle connection that the server has closed is replaced.
#[tokio::test]
async fn a_closed_idle_connection_is_replaced() {
    let (config, served) = serve(vec![(1, all_stored(0..1)), (3, all_stored(1..4))]);
    let client = Client::new(config).unwrap();
    assert_eq!(append_together(&client, 1).await[0].as_ref().unwrap().first_offset, 0);
    // It is closed at once, which the client's reactor learns in its turn.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let results = append_together(&client, 3).await;
    assert_eq!(offsets(&results, |_| false), [Some(1), Some(2), Some(3)]);
    assert_eq!(served.join().unwrap(), b"aabc");
}

#[tokio::test]
async fn an_overdue_response_ends_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = ClientConfig::new(format!("http://{}", listener.local_addr().unwrap()));
    config.request_timeout = Duration::from_millis(300);
    let served = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut records = receive(&mut connection, 3);
        records.sort_unstable();
        // Until the client closes it.
        assert_eq!(connection.read(&mut [0]).unwrap(), 0);
        records
    });
    let results = append_together(&Client::new(config).unwrap(), 3).await;
    let is_late = |error: &ClientError| matches!(error, ClientError::Timeout { .. }) || is_broken(error);
    assert_eq!(offsets(&results, is_late), [None, None, None]);
    assert_eq!(served.join().unwrap(), b"abc");
}

/// When one of a producer's requests is refused, those that are in flight with it still get their results.
#[tokio::test]
async fn a_refused_request_of_a_producer_leaves_the_others_their_results() {
    const REFUSED: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    const NO_TOPIC: &str = "{\"code\":\"topic_not_found\",\"error\":\"none\"}";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = ClientConfig::new(format!("http://{}", listener.local_addr().unwrap()));
    let served = std::thread::spawn(move || {
        // The number of partitions is looked up first.
        let (mut other, _) = listener.accept().unwrap();
        assert!(other.read(&mut [0; 4096]).unwrap() > 0);
        let head = format!("HTTP/1.1 404 Not Found\r\ncontent-length: {}\r\n\r\n", NO_TOPIC.len());
        other.write_all((head + NO_TOPIC).as_bytes()).unwrap();
        let (mut connection, _) = listener.accept().unwrap();
        assert_eq!(receive(&mut connection, 3), b"abc");
        connection.write_all(REFUSED.as_bytes()).unwrap();
        // By then, the producer has stopped.
        std::thread::sleep(Duration::from_millis(200));
        connection.write_all(all_stored(0..2).as_bytes()).unwrap();
    });
    let one_record =
        ProducerConfig { batch_records_max: 1, request_bytes_max: 1, in_flight_max: 3, ..ProducerConfig::default() };
    let config_of_producer = ProducerConfig { exactly_once: false, ..one_record };
    let producer = Producer::new(Client::new(config).unwrap(), "t", config_of_producer).unwrap();
    let mut receipts = Vec::new();
    for record in ["a", "b", "c"] {
        receipts.push(producer.send(record).await.unwrap());
    }
    let refused = receipts[0].offset().await.unwrap_err();
    assert_eq!(refused.status(), Some(400), "{refused}");
    for (offset, receipt) in (0..).zip(&receipts[1..]) {
        let resolved = tokio::time::timeout(Duration::from_secs(10), receipt.offset());
        assert_eq!(resolved.await.unwrap(), Ok(offset));
    }
    served.join().unwrap();
}
