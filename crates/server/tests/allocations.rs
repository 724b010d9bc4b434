//! Invariant 6: the broker's cost of a request doesn't depend on the number of its records.
//!
//! The broker runs in this process with a counting allocator. The client is a plain socket whose buffers are allocated
//! before counting begins. The same number of bytes is sent as 10 and as 100,000 records. Responses in forms other than
//! batches return 65,536 of these.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // A test.

use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::pool::Pool;
use rawline_broker::store::disk::{DiskStore, Durability};
use rawline_broker::{Broker, Config, SystemClock};
use rawline_server::http::{self, HttpConfig};
use rawline_testkit::allocator::{Counting, allocated};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

#[global_allocator]
static COUNTING: Counting = Counting;

const BATCH_BYTES: usize = 1 << 20;
const REQUESTS: u64 = 40;
const FORMS: [&str; 3] = ["application/json", "application/x-ndjson", "multipart/form-data"];

/// Allocations and allocated bytes per request.
#[derive(Debug, Clone, Copy)]
struct Cost {
    allocations: u64,
    bytes: u64,
}

fn cost(mut request: impl FnMut()) -> Cost {
    // The first requests allocate what is kept: connection buffers, the topic's segment.
    for _ in 0..10 {
        request();
    }
    let before = allocated();
    for _ in 0..REQUESTS {
        request();
    }
    let after = allocated();
    Cost {
        allocations: (after.allocations - before.allocations) / REQUESTS,
        bytes: (after.bytes - before.bytes) / REQUESTS,
    }
}

/// A batch of exactly [`BATCH_BYTES`].
fn batch(records: usize) -> Vec<u8> {
    let data_bytes = BATCH_BYTES - rawline_batch::HEADER_BYTES - 4 * records;
    let size = data_bytes / records;
    let mut builder = Builder::new(Codec::None, Limits::default());
    for number in 0..records {
        let last = data_bytes - size * (records - 1);
        builder.push(&vec![number as u8; if number + 1 == records { last } else { size }]).unwrap();
    }
    let mut batch = Vec::new();
    builder.finish_into(1, 0, 0, &mut batch).unwrap();
    assert_eq!(batch.len(), BATCH_BYTES);
    batch
}

struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Connection { stream, answer: vec![0; BATCH_BYTES * 8] }
    }

    /// Sends a request and reads its response; returns the length of the response's body.
    fn request(&mut self, head: &[u8], body: &[u8], status: &[u8]) -> usize {
        self.stream.write_all(head).unwrap();
        self.stream.write_all(body).unwrap();
        let mut have = 0;
        let head_bytes = loop {
            have += self.stream.read(&mut self.answer[have..]).unwrap();
            if let Some(end) = self.answer[..have].windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let head = std::str::from_utf8(&self.answer[..head_bytes]).unwrap();
        assert!(self.answer.starts_with(status), "{head}");
        let name = "content-length: ";
        let value = head.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let body_bytes: usize = value.parse().unwrap();
        let all = head_bytes + body_bytes;
        while have < all {
            have += self.stream.read(&mut self.answer[have..all]).unwrap();
        }
        body_bytes
    }
}

fn serve(dir: &std::path::Path) -> (tokio::runtime::Runtime, SocketAddr, watch::Sender<bool>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (stop, stopped) = watch::channel(false);
    let store = {
        let _inside = runtime.enter();
        Arc::new(DiskStore::open(dir, Durability::PageCache).unwrap())
    };
    let clock = Arc::new(SystemClock);
    let broker = runtime.block_on(Broker::open(store, clock.clone(), Config::new(7))).unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let pool = Pool::new(64 << 20);
    runtime.spawn(http::serve(listener, Arc::new(broker), pool, clock, HttpConfig::default(), stopped));
    (runtime, address, stop)
}

#[test]
fn a_requests_cost_does_not_depend_on_its_number_of_records() {
    let dir = tempfile::tempdir().unwrap();
    let (runtime, address, stop) = serve(dir.path());
    let mut connection = Connection::new(address);
    let mut appends = Vec::new();
    let mut reads = Vec::new();
    let mut slices = Vec::new();
    let mut forms = [const { Vec::new() }; 3];
    for records in [10usize, 100_000] {
        let batch = batch(records);
        let head = format!(
            "POST /records?topic-name=t{records} HTTP/1.1\r\nhost: localhost\r\n\
             content-type: application/vnd.rawline.batch\r\ncontent-length: {}\r\n\r\n",
            batch.len()
        );
        appends.push(cost(|| {
            connection.request(head.as_bytes(), &batch, b"HTTP/1.1 201");
        }));
        let read = |offset: usize, count: usize| {
            format!(
                "GET /records?topic-name=t{records}&offset={offset}&max-records={count} HTTP/1.1\r\nhost: localhost\r\n\
                 accept: application/vnd.rawline.batch\r\n\r\n"
            )
        };
        let whole = read(records, records);
        reads.push(cost(|| {
            assert_eq!(connection.request(whole.as_bytes(), b"", b"HTTP/1.1 200"), BATCH_BYTES);
        }));
        let slice = read(records + 1, records - 2);
        slices.push(cost(|| {
            connection.request(slice.as_bytes(), b"", b"HTTP/1.1 200");
        }));
        // Text is written to buffers of the pool; outside the pool, nothing may be allocated per record.
        for (costs, accept) in forms.iter_mut().zip(FORMS) {
            let head = format!(
                "GET /records?topic-name=t{records}&offset=0&max-records={records} HTTP/1.1\r\nhost: localhost\r\n\
                 accept: {accept}\r\n\r\n"
            );
            costs.push(cost(|| {
                connection.request(head.as_bytes(), b"", b"HTTP/1.1 200");
            }));
        }
    }
    stop.send_replace(true);
    drop(connection);
    runtime.shutdown_timeout(Duration::from_secs(5));

    let batches = [("append", appends), ("read", reads), ("read of a slice", slices)];
    for (what, costs) in batches.into_iter().chain(FORMS.into_iter().zip(forms)) {
        let [few, many] = costs[..] else { unreachable!() };
        println!("{what} of 1 MiB: 10 records {few:?}, 100,000 records {many:?}");
        // The number of pieces in which a socket delivers a body varies from request to request. A cost that grew with
        // the records would be 100,000 or more.
        assert!(many.allocations <= few.allocations * 2 + 100, "{what}: {few:?}, then {many:?}");
        assert!(many.bytes <= few.bytes * 2 + (64 << 10), "{what}: {few:?}, then {many:?}");
        assert!(few.allocations < 500, "{what}: {few:?}");
    }
}
