//! A response's memory outside the pool doesn't grow with its number of batches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // A test.

mod support;

use rawline_batch::{Builder, Codec, Limits};
use rawline_server::http::HttpConfig;
use rawline_testkit::allocator::{Counting, allocated};
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use support::{connect, exchange};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[global_allocator]
static COUNTING: Counting = Counting;

/// The batches of one request, each with one empty record.
const BATCHES: usize = 40_000;

/// Maximum memory outside the pool, mostly for the object's index, which is held briefly.
const COST_MAX: u64 = 2 << 20;

fn body() -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..BATCHES {
        let mut builder = Builder::new(Codec::None, Limits::default());
        builder.push(b"").unwrap();
        builder.finish_into(1, 0, 0, &mut body).unwrap();
    }
    body
}

/// Defect 10: a client that asked for tiny batches as multipart and didn't read held megabytes outside the pool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_of_many_batches_takes_bounded_memory_outside_the_pool() {
    let server = Served::on(in_memory(), HttpConfig::default(), 64 << 20).await;
    let mut stream = connect(&server).await;
    let body = body();
    let head = format!(
        "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/vnd.rawline.batch\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let (status, text) = exchange(&mut stream, &[head.as_bytes(), &body]).await.unwrap();
    assert_eq!(status, 201, "{text}");
    let mut response = vec![0; 16 << 20];
    for form in ["multipart/form-data", "application/x-ndjson", "application/json"] {
        let read = format!(
            "GET /records?topic-name=t&offset=0&max-records=0 HTTP/1.1\r\nhost: localhost\r\naccept: {form}\r\n\r\n"
        );
        let mut cost = 0;
        // The first request allocates memory that is kept.
        for _ in 0..2 {
            let before = allocated().bytes;
            stream.write_all(read.as_bytes()).await.unwrap();
            read_response(&mut stream, &mut response).await;
            cost = allocated().bytes - before;
        }
        assert!(response.starts_with(b"HTTP/1.1 200 "), "{form}");
        assert!(cost < COST_MAX, "{form}: {cost} bytes");
        println!("{form}: {cost} bytes");
    }
}

/// Reads one response into `response`, without allocating.
async fn read_response(stream: &mut TcpStream, response: &mut [u8]) {
    let (mut have, mut all) = (0, usize::MAX);
    while have < all {
        have += stream.read(&mut response[have..]).await.unwrap();
        let end = response[..have].windows(4).position(|four| four == b"\r\n\r\n");
        if let (Some(end), usize::MAX) = (end, all) {
            let head = std::str::from_utf8(&response[..end]).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            all = end + 4 + length.parse::<usize>().unwrap();
        }
    }
}
