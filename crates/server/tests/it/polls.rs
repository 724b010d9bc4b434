//! Reads of batches that wait for records, which the HTTP library doesn't see, next to those that it does.

#![allow(clippy::disallowed_methods)] // Tests start tasks where they like.

use crate::support::connect;
use rawline_batch::Codec;
use rawline_testkit::batches::batch;
use rawline_testkit::served::Served;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

with_and_without_a_commit_thread! {
    a_read_that_waits_has_the_response_that_the_library_gives
    every_record_arrives_once_and_in_order
    reads_and_appends_take_turns_on_a_connection
    a_waiting_read_ends_with_its_topic_and_with_the_broker
}

fn one(record: &[u8]) -> Vec<u8> {
    batch(Codec::None, &[record.to_vec()])
}

fn append(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

const BATCH: &str = "application/vnd.rawline.batch";

fn read(topic: &str, offset: u64, timeout: &str) -> Vec<u8> {
    let accept = format!("accept: {BATCH}, application/vnd.kafka.record-batch");
    format!(
        "GET /records?topic-name={topic}&offset={offset}&max-records=0&timeout={timeout} HTTP/1.1\r\n\
         host: localhost\r\n{accept}\r\n\r\n"
    )
    .into_bytes()
}

/// The next response: its head without the time, and its body.
async fn response(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut received = Vec::new();
    let reading = async {
        loop {
            if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
                let lines = std::str::from_utf8(&received[..end]).unwrap().lines();
                let head = lines.filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\n");
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let body_end = end + 4 + length.map_or(0, |length| length.parse().unwrap());
                if received.len() >= body_end {
                    assert_eq!(received.len(), body_end, "more than the response to {head}");
                    return (head, received[end + 4..].to_vec());
                }
            }
            assert!(stream.read_buf(&mut received).await.unwrap() > 0, "closed after {received:?}");
        }
    };
    tokio::time::timeout(crate::support::DEADLINE, reading).await.expect("no response")
}

/// The same for a request.
async fn ask(stream: &mut TcpStream, request: &[u8]) -> (String, Vec<u8>) {
    stream.write_all(request).await.unwrap();
    response(stream).await
}

async fn create(stream: &mut TcpStream) {
    let (head, _) =
        ask(stream, b"PUT /topic?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").await;
    assert!(head.starts_with("HTTP/1.1 20"), "{head}");
}

/// The encoded name is one that only the library decodes.
async fn a_read_that_waits_has_the_response_that_the_library_gives(server: Served) {
    let (mut writer, mut reader, mut library) =
        (connect(&server).await, connect(&server).await, connect(&server).await);
    create(&mut writer).await;
    let none = ask(&mut reader, &read("t", 0, "20ms")).await;
    assert!(none.0.starts_with("HTTP/1.1 204") && none.0.contains("rawline-next-offset: 0"), "{none:?}");
    assert_eq!(none, ask(&mut library, &read("%74", 0, "20ms")).await);
    let kafka = crate::support::kafka::batch(rawline_batch::record_batch::RecordCodec::None, 3, None);
    let large = one(&[7; 200_000]);
    let appends = [
        (BATCH, one(b"first"), 1),
        (BATCH, large, 1),
        (BATCH, one(b""), 1),
        ("application/vnd.kafka.record-batch", kafka, 3),
    ];
    let mut offset = 0;
    for (kind, batch, records) in appends {
        reader.write_all(&read("t", offset, "1h")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (head, _) = ask(&mut writer, &append(kind, &batch)).await;
        assert!(head.starts_with("HTTP/1.1 201"), "{head}");
        let found = response(&mut reader).await;
        assert_eq!(found, ask(&mut library, &read("%74", offset, "0")).await);
        assert!(kind != BATCH || found.1 == batch, "{}", found.0);
        offset += records;
    }
}

/// Also when the reader is late, and when responses are larger than the commit thread's.
async fn every_record_arrives_once_and_in_order(server: Served) {
    const BATCHES: usize = 300;
    let (mut writer, mut reader) = (connect(&server).await, connect(&server).await);
    create(&mut writer).await;
    let batches: Vec<Vec<u8>> =
        (0..BATCHES).map(|n| one(&vec![n as u8; [10, 3_000, 100, 30_000, 1, 90_000][n * n % 7 % 6]])).collect();
    let expected = batches.concat();
    let writing = async {
        for (n, batch) in batches.iter().enumerate() {
            let (head, _) = ask(&mut writer, &append(BATCH, batch)).await;
            assert!(head.starts_with("HTTP/1.1 201"), "{head}");
            if n % 100 > 50 {
                tokio::task::yield_now().await;
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        }
    };
    let reading = async {
        let (mut found, mut offset) = (Vec::new(), 0);
        while found.len() < expected.len() {
            let (head, body) = ask(&mut reader, &read("t", offset, "1h")).await;
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            assert!(head.contains(&format!("rawline-first-offset: {offset}\n")), "{head}");
            let mut rest = &body[..];
            while !rest.is_empty() {
                let bytes = batches[offset as usize].len();
                rest = &rest[bytes..];
                offset += 1;
            }
            found.extend(body);
        }
        found
    };
    let ((), found) = tokio::join!(writing, reading);
    assert!(found == expected, "other bytes");
}

/// Requests that arrive together, while the first read waits, and others between them.
async fn reads_and_appends_take_turns_on_a_connection(server: Served) {
    let (mut writer, mut stream) = (connect(&server).await, connect(&server).await);
    create(&mut writer).await;
    for round in 0..20u64 {
        let health = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let (appended, next) = (append(BATCH, &one(b"own")), read("t", 2 * round + 1, "1h"));
        let together = [&read("t", 2 * round, "1h"), &appended[..], &next, health].concat();
        let (first, rest) = together.split_at(30 + (round as usize * 37) % 200);
        stream.write_all(first).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        stream.write_all(rest).await.unwrap();
        // The read waits for another connection's record, the connection's own append comes after it.
        tokio::time::sleep(Duration::from_millis(5)).await;
        let (head, _) = ask(&mut writer, &append(BATCH, &one(b"other"))).await;
        assert!(head.contains("201"), "{head}");
        let all = [one(b"other"), b"{\"first_offset".to_vec(), one(b"own"), b"ok\n".to_vec()];
        let mut received = Vec::new();
        let reading = async {
            while !received.ends_with(b"ok\n") {
                assert!(stream.read_buf(&mut received).await.unwrap() > 0, "closed in round {round}");
            }
        };
        tokio::time::timeout(crate::support::DEADLINE, reading).await.expect("no response");
        let mut from = 0;
        for part in all {
            let found = received[from..].windows(part.len()).position(|found| found == part);
            from +=
                found.unwrap_or_else(|| panic!("round {round}: {:?}", String::from_utf8_lossy(&received))) + part.len();
        }
    }
}

async fn a_waiting_read_ends_with_its_topic_and_with_the_broker(server: Served) {
    let (mut writer, mut reader) = (connect(&server).await, connect(&server).await);
    create(&mut writer).await;
    reader.write_all(&read("t", 0, "1h")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let (head, _) = ask(&mut writer, b"DELETE /topic?topic-name=t HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 20"), "{head}");
    assert!(response(&mut reader).await.0.starts_with("HTTP/1.1 404"));
    create(&mut writer).await;
    reader.write_all(&read("t", 0, "1h")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let stopped = tokio::spawn(server.stop());
    let (head, _) = response(&mut reader).await;
    assert!(head.starts_with("HTTP/1.1 204"), "{head}");
    assert_eq!(reader.read(&mut [0; 1]).await.unwrap(), 0);
    drop(writer);
    stopped.await.unwrap();
}
