//! The memory of clients that wait for records: while a long poll for batches waits, the broker holds its request and
//! no buffers.

// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use rawline_testkit::allocator::{Counting, live_bytes};
use support::kafka::served;
use support::{connect, exchange, get, http, receive, wait_until};
use tokio::io::AsyncWriteExt;

#[global_allocator]
static COUNTING: Counting = Counting;

const POLLS: u64 = 200;
/// Heap of a waiting long poll, the test's side of its connection included.
const BYTES_MAX: u64 = 12 << 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_that_waits_holds_no_buffers() {
    let (server, _dir) = served().await;
    assert!(http(&server, "PUT", "/topic?topic-name=t", "x: y", b"{}").await.0 < 300);
    let before = live_bytes();
    let mut polls = Vec::new();
    for _ in 0..POLLS {
        let mut stream = connect(&server).await;
        // The HTTP library has its buffers.
        assert_eq!(exchange(&mut stream, &[get("/health").as_bytes()]).await.unwrap().0, 200);
        polls.push(stream);
    }
    let of_library = (live_bytes() - before) / POLLS;
    for stream in &mut polls {
        let poll = "GET /records?topic-name=t&offset=0&timeout=1h HTTP/1.1\r\nhost: localhost\r\n\
                    accept: application/vnd.rawline.batch\r\n\r\n";
        stream.write_all(poll.as_bytes()).await.unwrap();
    }
    assert!(of_library > BYTES_MAX, "a long poll that isn't there yet would look as small: {of_library} bytes");
    wait_until(|| (live_bytes() - before) / POLLS <= BYTES_MAX).await;
    println!("{} bytes, {of_library} of an idle connection", (live_bytes() - before) / POLLS);
    assert_eq!(
        http(&server, "POST", "/records?topic-name=t", "content-type: application/octet-stream", b"r").await.0,
        201
    );
    for stream in &mut polls {
        assert_eq!(receive(stream).await.unwrap().0, 200);
    }
}
