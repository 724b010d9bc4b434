//! The limit on connections doesn't lock out active clients.

use crate::support::{DEADLINE, append_head, connect, exchange, get, receive, wait_until};
use rawline_server::http::{HttpConfig, Waits};
use rawline_testkit::served::{PATIENT, Served};
use rawline_testkit::stores::in_memory;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const CONNECTIONS_MAX: usize = 4;

/// Enough of a body to get its first buffers.
static SENT: [u8; 40 << 10] = [b's'; 40 << 10];

async fn start() -> Served {
    let config = HttpConfig { waits: PATIENT, connections_max: CONNECTIONS_MAX, ..HttpConfig::default() };
    Served::on(in_memory(), config, 128 << 20).await
}

async fn health(stream: &mut TcpStream) -> Option<u16> {
    Some(exchange(stream, &[get("/health").as_bytes()]).await?.0)
}

async fn append(stream: &mut TcpStream) -> Option<(u16, String)> {
    exchange(stream, &[append_head(3).as_bytes(), b"abc"]).await
}

/// Defect 8: an idle client held its connection against all others until its timeout. On one thread, a connection is
/// idle before its client has the response, so the first one is idle for the longest time on a busy machine, too.
#[tokio::test]
async fn the_oldest_idle_connection_makes_room_for_a_new_one() {
    let server = start().await;
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = connect(&server).await;
        assert_eq!(health(&mut stream).await, Some(200));
        idle.push(stream);
    }
    let mut new = connect(&server).await;
    assert_eq!(append(&mut new).await.unwrap().0, 201);
    assert_eq!(receive(&mut idle[0]).await, None, "the first was idle for the longest time");
    for stream in &mut idle[1..] {
        assert_eq!(health(stream).await, Some(200));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incomplete_heads_make_room_for_other_connections() {
    let server = start().await;
    let mut half = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = connect(&server).await;
        stream.write_all(b"GET /hea").await.unwrap();
        half.push(stream);
    }
    for _ in 0..CONNECTIONS_MAX {
        assert_eq!(append(&mut connect(&server).await).await.unwrap().0, 201);
    }
}

/// Slow senders held all connections for as long as their bodies took, against everyone else: these have earned almost
/// three minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_bodies_make_room_when_connections_are_refused() {
    let waits = Waits { body: Duration::from_millis(100), ..PATIENT };
    let config = HttpConfig { waits, connections_max: CONNECTIONS_MAX, ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, 128 << 20).await;
    let sent = vec![b's'; 10 << 20];
    let mut uploads = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = connect(&server).await;
        stream.write_all(append_head(sent.len() + 1).as_bytes()).await.unwrap();
        stream.write_all(&sent).await.unwrap();
        uploads.push(stream);
    }
    wait_until(|| server.pool.bytes() - server.pool.bytes_free() >= (CONNECTIONS_MAX * sent.len()) as u64).await;
    // No request waits for buffers, so slow bodies are allowed until a connection is refused.
    let served = async {
        while append(&mut connect(&server).await).await.is_none_or(|(status, _)| status != 201) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, served).await.expect("slow uploads keep all connections");
    let mut refused = 0;
    for stream in &mut uploads {
        let status = exchange(stream, &[b"c"]).await.map(|(status, _)| status);
        assert!(status.is_none_or(|status| [201, 408].contains(&status)), "{status:?}");
        refused += usize::from(status != Some(201));
    }
    assert!(refused >= 1, "no upload has made room");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_known_while_all_connections_are_busy() {
    let server = start().await;
    let mut uploads = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = connect(&server).await;
        // The response to the first request shows that the connection was admitted.
        assert_eq!(append(&mut stream).await.unwrap().0, 201);
        stream.write_all(append_head(SENT.len() + 1).as_bytes()).await.unwrap();
        stream.write_all(&SENT).await.unwrap();
        uploads.push(stream);
    }
    // An upload has begun when it has buffers for its sizes and its data.
    wait_until(|| server.pool.bytes() - server.pool.bytes_free() >= (CONNECTIONS_MAX * 2 * (64 << 10)) as u64).await;
    // More clients than reserved places, with open connections.
    let mut kept = Vec::new();
    for _ in 0..40 {
        let mut stream = connect(&server).await;
        assert_eq!(health(&mut stream).await, Some(200));
        kept.push(stream);
    }
    let (status, text) = append(&mut connect(&server).await).await.unwrap();
    assert_eq!(status, 503);
    assert!(text.contains("\"connections_too_many\"") && text.contains("retry-after: 1"), "{text}");
    for stream in &mut uploads {
        assert_eq!(exchange(stream, &[b"c"]).await.unwrap().0, 201);
    }
    // As soon as they are idle for long enough, they make room.
    while append(&mut connect(&server).await).await.unwrap().0 != 201 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// However many clients send slowly, those that send a whole request get a place at once, from the same address too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_senders_leave_places_for_whole_requests() {
    const PLACES: usize = 16;
    let config = HttpConfig { waits: PATIENT, connections_max: PLACES, ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, 128 << 20).await;
    let mut slow = Vec::new();
    for number in 0..4 * PLACES {
        let mut stream = connect(&server).await;
        let sent = [append_head(10 << 20).into_bytes(), vec![b's'; number]].concat();
        // A part of the head, or of the body.
        stream.write_all(&sent[..sent.len() - if number % 2 == 0 { 0 } else { number + 4 }]).await.unwrap();
        slow.push(stream);
    }
    for _ in 0..PLACES {
        let mut new = connect(&server).await;
        let (status, text) = append(&mut new).await.unwrap();
        assert_eq!(status, 201, "{text}");
        // The next one must not wait until the broker has noticed that this one is gone.
        assert_eq!(health(&mut new).await, Some(200));
    }
    let is_open =
        |stream: &TcpStream| stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    let ended = slow.iter().filter(|stream| !is_open(stream)).count();
    // One that has sent a part of a head makes room where the broker has not noticed yet that another client is gone.
    assert!(ended < PLACES / 2, "{ended} slow ones end");
}
