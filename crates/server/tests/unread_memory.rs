//! Memory of readers that request many small objects and don't read the responses, in every form.

// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use rawline_batch::Codec;
use rawline_batch::record_batch::RecordCodec;
use rawline_broker::limits::{DISK_MERGE_OBJECTS, READ_OBJECTS_MAX};
use rawline_kafka::Api;
use rawline_testkit::allocator::{Counting, live_bytes, peak_bytes, reset_peak};
use rawline_testkit::batches::{batch, keyed_batch};
use rawline_testkit::served::Served;
use std::net::SocketAddr;
use support::kafka::{Client, fetch_body, produce_body, produced, served};
use support::{receive, wait_until};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

#[global_allocator]
static COUNTING: Counting = Counting;

/// More than one read visits, and so few in two topics that none are merged. Each has a record of this size.
const OBJECTS: usize = 4000;
const RECORD_BYTES: usize = 300;
const _: () = assert!(READ_OBJECTS_MAX < OBJECTS && 2 * OBJECTS < DISK_MERGE_OBJECTS);

/// Readers at once.
const READERS: u64 = 128;

/// Maximum memory of each outside the pool in bytes: 56 of each of 1,024 pieces that were read, and a connection with
/// its tasks and buffers. Neither depends on the number of objects.
const READER_BYTES_MAX: u64 = 1024 * 56 + (32 << 10);

/// The memory of all readers whose responses are being built: two at a time whose batches are converted, 2 MB here, or
/// 32 with text, for which 208 bytes of each batch are noted.
const BATCHES_BYTES_MAX: u64 = 4 << 20;
const TEXT_BYTES_MAX: u64 = 32 * 1024 * 208 + BATCHES_BYTES_MAX;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_that_do_not_read_take_bounded_memory() {
    let (server, _dir) = served().await;
    fill(&server).await;
    let get =
        |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").into_bytes();
    let records = |topic: &str, accept: &str| {
        get(&format!("/records?topic-name={topic}&offset=0&max-records=0"), &format!("accept: {accept}\r\n"))
    };
    let websocket = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: rawline.subscribe.v1\r\n";
    let mut requests: Vec<(String, SocketAddr, Vec<u8>, u64)> = Vec::new();
    for topic in ["ours", "kafkas"] {
        for accept in ["application/vnd.rawline.batch", "application/vnd.kafka.record-batch"] {
            let what = format!("{accept} of {topic}");
            requests.push((what, server.address, records(topic, accept), BATCHES_BYTES_MAX));
        }
        for accept in ["application/x-ndjson", "application/json", "multipart/form-data"] {
            let what = format!("{accept} of {topic}");
            requests.push((what, server.address, records(topic, accept), TEXT_BYTES_MAX));
        }
        let subscribe = format!("/subscribe?topic-name={topic}&from=first");
        requests.push((format!("events of {topic}"), server.address, get(&subscribe, ""), TEXT_BYTES_MAX));
        let upgrade = get(&subscribe, websocket);
        requests.push((format!("a WebSocket of {topic}"), server.address, upgrade, BATCHES_BYTES_MAX));
        let mut client = Client { stream: TcpStream::connect(server.kafka).await.unwrap(), correlation_id: 0 };
        let fetch = client.request(Api::Fetch.key(), 4, &fetch_body(topic, 0, 50 << 20, 0));
        requests.push((format!("a Fetch of {topic}"), server.kafka, fetch, BATCHES_BYTES_MAX));
    }
    // Kept memory is allocated first, such as caches.
    for (_, address, request, _) in &requests {
        drop(ask(*address, request, 2).await);
        server.wait_for_buffers();
    }
    let first = live_bytes();
    for (what, address, request, shared) in requests {
        let before = live_bytes();
        reset_peak();
        let readers = ask(address, &request, READERS).await;
        let (held, peak) = (live_bytes().saturating_sub(before), peak_bytes().saturating_sub(before));
        println!("{what}: {} KiB held for each reader, {} KiB at most", (held / READERS) >> 10, (peak / READERS) >> 10);
        let bytes_max = READERS * READER_BYTES_MAX + shared;
        assert!(peak < bytes_max, "{what}: {peak} bytes of {READERS} readers, of at most {bytes_max}");
        drop(readers);
        // The broker notices that they are gone.
        wait_until(|| live_bytes() < before + (2 << 20)).await;
        server.wait_for_buffers();
    }
    let left = live_bytes().saturating_sub(first);
    assert!(left < 4 << 20, "{left} bytes stay");
}

/// Stores objects of one record in two topics, of batches of each kind.
async fn fill(server: &Served) {
    let mut stream = support::connect(server).await;
    let ours = batch(Codec::None, &[vec![b'r'; RECORD_BYTES]]);
    let head = format!(
        "POST /records?topic-name=ours HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/vnd.rawline.batch\r\n\
         content-length: {}\r\n\r\n",
        ours.len()
    );
    let append = [head.as_bytes(), &ours].concat();
    for _ in 0..OBJECTS {
        stream.write_all(&append).await.unwrap();
        assert_eq!(receive(&mut stream).await.unwrap().0, 201);
    }
    let mut client = Client::connect(server).await;
    client.create("kafkas").await;
    let produce =
        produce_body("kafkas", -1, &keyed_batch(RecordCodec::None, &[(b"k".to_vec(), Some(vec![b'r'; RECORD_BYTES]))]));
    for _ in 0..OBJECTS {
        assert_eq!(produced(&client.exchange(Api::Produce, 3, &produce).await, "kafkas").0, 0);
    }
}

/// Readers with an unread response, beyond the system's buffers.
async fn ask(address: SocketAddr, request: &[u8], count: u64) -> Vec<TcpStream> {
    let mut readers = Vec::new();
    for _ in 0..count {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        readers.push(stream);
    }
    for reader in &readers {
        // The beginning has arrived, or the connection was closed: the reader had to yield to others.
        reader.readable().await.unwrap();
    }
    readers
}
