//! Memory of clients that request many partitions over Kafka's protocol, and don't read the responses.

// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use rawline_kafka::messages::{CreatableTopic, CreateTopicsRequest, DescribeLogDirsRequest, MetadataRequest, Request};
use rawline_kafka::{Api, Response};
use rawline_testkit::allocator::{Counting, live_bytes, peak_bytes, reset_peak};
use std::time::Duration;
use support::kafka::{Client, served};
use support::wait_until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

#[global_allocator]
static COUNTING: Counting = Counting;

const TOPICS: usize = 24;
const PARTITIONS: i32 = 1024;

/// Memory for each partition while a response is written: three times its bytes. Its structure has 160.
const WRITTEN_BYTES_MAX: u64 = 90;

/// Clients that don't read, and how often each of them asks.
const CLIENTS: usize = 8;
const REQUESTS: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn unread_responses_are_in_the_pool() {
    let (server, _dir) = served().await;
    let mut reader = Client::connect(&server).await;
    let topic = |number| CreatableTopic {
        name: format!("topic {number}").replace(' ', "-"),
        num_partitions: PARTITIONS,
        replication_factor: -1,
        ..CreatableTopic::default()
    };
    let topics = (0..TOPICS).map(topic).collect();
    let request = CreateTopicsRequest { topics, timeout_ms: 30_000, ..CreateTopicsRequest::default() };
    let Response::CreateTopics(created) = reader.call(7, request).await else { panic!() };
    assert!(created.topics.iter().all(|topic| topic.error_code == 0));
    let before = live_bytes();
    reset_peak();
    let of_server = unparsed(&mut reader).await - before;
    let most = TOPICS as u64 * PARTITIONS as u64 * WRITTEN_BYTES_MAX;
    assert!(of_server < most, "{of_server} bytes while a response is built that is written topic by topic, not {most}");
    let Response::Metadata(all) = reader.call(12, everything()).await else { panic!() };
    let partitions: usize = all.topics.iter().map(|topic| topic.partitions.len()).sum();
    assert_eq!(partitions, TOPICS * PARTITIONS as usize);
    drop(all);
    // Of this process, both sides.
    let of_one = peak_bytes() - before;

    let mut stuck = Vec::new();
    for number in 0..CLIENTS {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut client = Client { stream: socket.connect(server.kafka).await.unwrap(), correlation_id: 0 };
        let (version, request): (_, Request) = match number % 4 {
            0 => (4, DescribeLogDirsRequest { topics: None }.into()),
            _ => (12, everything().into()),
        };
        let mut body = Vec::new();
        request.write(version, &mut body);
        for _ in 0..REQUESTS {
            let bytes = client.request(request.api().key(), version, &body);
            client.stream.write_all(&bytes).await.unwrap();
        }
        stuck.push(client);
    }
    // Until they fill it. A client that doesn't read loses its buffers to others after a second.
    wait_until(|| server.pool.bytes_free() < server.pool.bytes() / 8).await;
    let Response::Metadata(all) = tokio::time::timeout(Duration::from_secs(30), reader.call(12, everything()))
        .await
        .expect("clients that don't read keep another from reading")
    else {
        panic!()
    };
    assert_eq!(all.topics.len(), TOPICS);
    let peak = peak_bytes() - before;
    println!("{peak} bytes at most, {of_one} of one response");
    assert!(peak < 4 * of_one, "{peak} bytes, {of_one} of one response");
    drop(stuck);
    server.wait_for_buffers();
}

/// Reads a response with everything, and keeps nothing of it. Returns the most that was allocated meanwhile.
async fn unparsed(client: &mut Client) -> u64 {
    let mut body = Vec::new();
    Request::from(everything()).write(12, &mut body);
    let request = client.request(Api::Metadata.key(), 12, &body);
    client.stream.write_all(&request).await.unwrap();
    let (mut left, mut part) = (client.stream.read_u32().await.unwrap() as usize, [0; 4096]);
    while left > 0 {
        let length = left.min(part.len());
        left -= client.stream.read(&mut part[..length]).await.unwrap();
    }
    peak_bytes()
}

fn everything() -> MetadataRequest {
    MetadataRequest { topics: None, ..MetadataRequest::default() }
}
