//! Invariant 6: the broker's cost of a request doesn't depend on the number of its records.
//!
//! The broker runs in this process with a counting allocator. The client is a plain socket whose buffers are allocated
//! before counting begins. The same number of bytes is sent as 10 and as 100,000 records. Responses in forms other than
//! batches return 65,536 of these.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // A test.

use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::pool::Pool;
use rawline_broker::store::disk::{self, Durability};
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
const REQUESTS: u64 = 16;
const BATCH: &str = "application/vnd.rawline.batch";
const FORMS: [&str; 3] = ["application/json", "application/x-ndjson", "multipart/form-data"];

/// Allocations and allocated bytes per request.
#[derive(Debug, Clone, Copy)]
struct Cost {
    allocations: u64,
    bytes: u64,
}

fn cost(mut request: impl FnMut()) -> Cost {
    // The first requests allocate memory that is kept: connection buffers, the topic's segment.
    for _ in 0..5 {
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

/// Asserts that a request costs the same with few records (0) as with many (1).
///
/// How a socket delivers a body varies, and a connection found to be fast gets larger reads from then on, so one of
/// several comparisons must succeed. A cost that grew with the records, 100,000 allocations or more, would fail in all.
fn compare(what: &str, mut request: impl FnMut(usize)) {
    let mut differing = Vec::new();
    for _ in 0..5 {
        let [few, many] = [0, 1].map(|which| cost(|| request(which)));
        println!("{what} of 1 MiB: 10 records {few:?}, 100,000 records {many:?}");
        assert!(few.allocations < 500, "{what}: {few:?}");
        if many.allocations <= few.allocations * 2 + 100 && many.bytes <= few.bytes * 2 + (64 << 10) {
            return;
        }
        differing.push((few, many));
    }
    panic!("{what}: costs with 10 and with 100,000 records: {differing:?}");
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
        disk::open(dir, Durability::PageCache).unwrap()
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
    let few_and_many = [10usize, 100_000];
    let batches = few_and_many.map(batch);
    let read = |records: usize, offset: usize, count: usize, accept: &str| {
        format!(
            "GET /records?topic-name=t{records}&offset={offset}&max-records={count} HTTP/1.1\r\nhost: localhost\r\n\
             accept: {accept}\r\n\r\n"
        )
    };

    let heads = few_and_many.map(|records| {
        format!(
            "POST /records?topic-name=t{records} HTTP/1.1\r\nhost: localhost\r\n\
             content-type: application/vnd.rawline.batch\r\ncontent-length: {BATCH_BYTES}\r\n\r\n"
        )
    });
    compare("append", |which| {
        connection.request(heads[which].as_bytes(), &batches[which], b"HTTP/1.1 201");
    });
    let heads = few_and_many.map(|records| read(records, records, records, BATCH));
    compare("read", |which| {
        assert_eq!(connection.request(heads[which].as_bytes(), b"", b"HTTP/1.1 200"), BATCH_BYTES);
    });
    let heads = few_and_many.map(|records| read(records, records + 1, records - 2, BATCH));
    compare("read of a slice", |which| {
        connection.request(heads[which].as_bytes(), b"", b"HTTP/1.1 200");
    });
    // Text is written to buffers of the pool; outside the pool, nothing may be allocated per record.
    for form in FORMS {
        let heads = few_and_many.map(|records| read(records, 0, records, form));
        compare(form, |which| {
            connection.request(heads[which].as_bytes(), b"", b"HTTP/1.1 200");
        });
    }

    stop.send_replace(true);
    drop(connection);
    runtime.shutdown_timeout(Duration::from_secs(5));
}
