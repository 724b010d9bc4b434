//! Slow senders of large bodies leave buffers for others.

use crate::support::{append_head, connect, connect_from, exchange, wait_until};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::{PATIENT, Served};
use rawline_testkit::stores::in_memory;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const POOL_BYTES: usize = 64 << 20;
const BODY_BYTES: usize = 10 << 20;

/// A sender that has sent this much of its body and then stops.
async fn stalled(server: &Served, from: [u8; 4], sent: usize) -> TcpStream {
    let mut stream = connect_from(from, server).await;
    stream.write_all(append_head(BODY_BYTES).as_bytes()).await.unwrap();
    stream.write_all(&vec![b's'; sent]).await.unwrap();
    stream
}

/// Appends large and small records; each must be stored.
async fn work(server: &Served, appends: usize) {
    let mut stream = connect(server).await;
    for (number, bytes) in [BODY_BYTES, 1, 100 << 10, 1 << 20].into_iter().cycle().take(appends).enumerate() {
        let (head, body) = (append_head(bytes), vec![b'w'; bytes]);
        let (status, text) = exchange(&mut stream, &[head.as_bytes(), &body]).await.unwrap();
        assert_eq!(status, 201, "append {number} of {bytes} bytes: {text}");
    }
}

/// Defect 9: each sender reserved as much as it had announced, so that six of them held all buffers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_continue_while_slow_senders_announce_much() {
    let config = HttpConfig { waits: PATIENT, ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, POOL_BYTES).await;
    let mut slow = Vec::new();
    for _ in 0..40 {
        slow.push(stalled(&server, [127, 0, 0, 1], 40 << 10).await);
    }
    // One for the sizes, one for the data.
    let held = server.pool.bytes() - 40 * 2 * (64 << 10);
    wait_until(|| server.pool.bytes_free() <= held).await;
    work(&server, 12).await;
    // The senders are still connected, and each holds two buffers.
    assert_eq!(server.pool.bytes_free(), held);
    for stream in &mut slow {
        stream.write_all(b"x").await.unwrap();
    }
}

/// Senders that were fast and stop shortly before their end hold nearly all buffers. They lose them to waiting
/// requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_stall_lose_their_buffers_to_those_who_wait() {
    let mut waits = PATIENT;
    waits.body = std::time::Duration::from_secs(1);
    let config = HttpConfig { waits, ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, POOL_BYTES).await;
    let mut slow = Vec::new();
    for _ in 0..6 {
        slow.push(stalled(&server, [127, 0, 0, 2], BODY_BYTES - 1).await);
    }
    wait_until(|| server.pool.bytes_free() <= (POOL_BYTES - 6 * BODY_BYTES) as u64).await;
    work(&server, 4).await;
    let mut refused = 0;
    for stream in &mut slow {
        if let Some((status, text)) = exchange(stream, &[b"s"]).await {
            assert!([201, 408].contains(&status), "{text}");
            refused += usize::from(status == 408);
        } else {
            refused += 1;
        }
    }
    assert!(refused >= 1, "no sender has lost its buffers");
    work(&server, 4).await;
}
