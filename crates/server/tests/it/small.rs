//! Small appends, which the HTTP library doesn't see, next to requests that it does.

use crate::commit_thread::config;
use crate::support::{append_head, connect, exchange, get, receive, wait_until};
use rawline_broker::limits::BLOCK_BYTES;
use rawline_testkit::batches::batch;
use rawline_testkit::faulty::{Faulty, FaultyStore, OnCreate, has_records};
use rawline_testkit::served::Served;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

with_and_without_a_commit_thread! {
    requests_that_arrive_together_are_answered_in_order
    an_error_is_the_response_to_its_request_only
    requests_are_cut_and_mixed_anywhere
    a_small_batch_is_stored_verbatim
    a_request_that_is_cut_off_gets_a_response
    idle_connections_are_closed_when_the_broker_stops
}

fn one(record: &str) -> Vec<u8> {
    batch(rawline_batch::Codec::None, &[record.as_bytes().to_vec()])
}

fn small(query: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /records?{query} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/vnd.rawline.batch\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// All records of `t`, which are text.
async fn records(stream: &mut TcpStream) -> Vec<String> {
    let request = "GET /records?topic-name=t&offset=0&max-records=0 HTTP/1.1\r\nhost: localhost\r\n\
                   accept: application/x-ndjson\r\n\r\n";
    let (status, text) = exchange(stream, &[request.as_bytes()]).await.unwrap();
    assert_eq!(status, 200, "{text}");
    text.split_once("\r\n\r\n").unwrap().1.lines().map(str::to_owned).collect()
}

/// The next `count` responses, however they arrive.
async fn responses(stream: &mut TcpStream, count: usize) -> Vec<String> {
    let (mut text, mut found) = (String::new(), Vec::new());
    while found.len() < count {
        let mut piece = [0; 4096];
        let reading = tokio::time::timeout(crate::support::DEADLINE, stream.read(&mut piece)).await;
        let bytes = reading.expect("no response").unwrap();
        assert!(bytes > 0, "closed after {found:?} and {text:?}");
        text.push_str(std::str::from_utf8(&piece[..bytes]).unwrap());
        while let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.map_or(0, |length| length.parse().unwrap());
            if rest.len() < length {
                break;
            }
            found.push(format!("{} {}", head.split(' ').nth(1).unwrap(), &rest[..length]));
            text = rest[length..].to_owned();
        }
    }
    assert_eq!(text, "", "after {count} responses");
    found
}

async fn requests_that_arrive_together_are_answered_in_order(server: Served) {
    let mut stream = connect(&server).await;
    let mut sent = Vec::new();
    for number in 0..20 {
        sent.extend(small("topic-name=t", &one(&format!("record {number}"))));
    }
    stream.write_all(&sent).await.unwrap();
    let expected: Vec<_> =
        (0..20).map(|number| format!("201 {{\"first_offset\":{number},\"next_offset\":{}}}", number + 1)).collect();
    assert_eq!(responses(&mut stream, 20).await, expected);
    let expected: Vec<_> = (0..20).map(|number| format!("record {number}")).collect();
    assert_eq!(records(&mut stream).await, expected);
}

/// A refused append doesn't change what those around it get, and the topic's name is checked as ever.
async fn an_error_is_the_response_to_its_request_only(server: Served) {
    let mut stream = connect(&server).await;
    let mut damaged = one("damaged");
    *damaged.last_mut().unwrap() ^= 1;
    let requests = [
        small("topic-name=t", &one("first")),
        small("topic-name=t", &damaged),
        small("topic-name=t", b"no batch"),
        small("topic-name=t", b""),
        small("topic-name=t&partition=1", &one("elsewhere")),
        small("topic-name=", &one("nowhere")),
        small("topic-name=t&producer-epoch=0", &one("no producer")),
        small("topic-name=t", &one("second")),
    ];
    stream.write_all(&requests.concat()).await.unwrap();
    let responses = responses(&mut stream, requests.len()).await;
    let has = ["201 ", "400 ", "400 ", "400 ", "404 ", "400 ", "400 ", "201 {\"first_offset\":1,"];
    for (response, expected) in responses.iter().zip(has) {
        assert!(response.starts_with(expected), "{expected} in {responses:?}");
    }
    assert_eq!(records(&mut stream).await, ["first", "second"]);
}

/// A request's response depends neither on where its bytes are split nor on which handler serves its neighbours.
async fn requests_are_cut_and_mixed_anywhere(server: Served) {
    let mut stream = connect(&server).await;
    let append = small("topic-name=t", &one("r"));
    let health = get("/health").into_bytes();
    let large = "x".repeat(20_000);
    let other = [append_head(large.len()).as_bytes(), large.as_bytes()].concat();
    let mut appends = 0;
    for (number, position) in (1..append.len()).enumerate() {
        let (front, rest) = append.split_at(position);
        let between: &[u8] = match number % 4 {
            0 => &health,
            1 => &other,
            2 => &append,
            _ => &[],
        };
        stream.write_all(&[between, front].concat()).await.unwrap();
        // The rest is another packet, and often another read.
        tokio::time::sleep(Duration::from_millis(1)).await;
        stream.write_all(&[rest, &health].concat()).await.unwrap();
        let responses = responses(&mut stream, if between.is_empty() { 2 } else { 3 }).await;
        appends += responses.iter().filter(|response| response.starts_with("201 ")).count();
        assert_eq!(
            responses.iter().filter(|response| *response == "200 ok\n").count(),
            1 + usize::from(number % 4 == 0)
        );
    }
    assert_eq!(records(&mut stream).await.len(), appends);
    let between = (0..append.len() - 1).filter(|number| [1, 2].contains(&(number % 4))).count();
    assert_eq!(appends, append.len() - 1 + between);
}

/// The bytes in the buffer are stored unchanged.
async fn a_small_batch_is_stored_verbatim(server: Served) {
    let mut stream = connect(&server).await;
    let batch = one("verbatim");
    let (status, _) = exchange(&mut stream, &[&small("topic-name=t", &batch)]).await.unwrap();
    assert_eq!(status, 201);
    let request = "GET /records?topic-name=t&offset=0 HTTP/1.1\r\nhost: localhost\r\n\
                   accept: application/vnd.rawline.batch\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    while !received.ends_with(&batch) {
        assert!(stream.read_buf(&mut received).await.unwrap() > 0);
    }
}

/// The client gets the library's response, although the request is not one that the library reads to its end.
async fn a_request_that_is_cut_off_gets_a_response(server: Served) {
    let append = small("topic-name=t", &one("r"));
    let mut stream = connect(&server).await;
    stream.write_all(&append[..append.len() - 1]).await.unwrap();
    stream.shutdown().await.unwrap();
    let (status, text) = receive(&mut stream).await.unwrap();
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("body_cut_off"), "{text}");
}

/// Appends in flight are answered when the broker stops, and connections that are idle are closed.
async fn idle_connections_are_closed_when_the_broker_stops(server: Served) {
    let (mut small_only, mut silent, mut both) =
        (connect(&server).await, connect(&server).await, connect(&server).await);
    let append = small("topic-name=t", &one("r"));
    assert_eq!(exchange(&mut small_only, &[&append]).await.unwrap().0, 201);
    assert_eq!(exchange(&mut both, &[get("/health").as_bytes()]).await.unwrap().0, 200);
    let began = tokio::time::Instant::now();
    server.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for stream in [&mut small_only, &mut silent, &mut both] {
        assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
    }
}

/// A store that confirms nothing until it is released, and the number of commits that it has begun.
fn held() -> (FaultyStore, Arc<AtomicUsize>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let mut store = Faulty::new();
    let count = begun.clone();
    store.on_create = Box::new(move |index| {
        if !has_records(index) {
            return OnCreate::Pass;
        }
        count.fetch_add(1, Ordering::Relaxed);
        OnCreate::Hold
    });
    (store.shared(), begun)
}

/// Commits of little that this store has in flight.
const COMMITS: usize = 1;

/// Waits until the broker has this many appends that arrived alone: each has a buffer.
async fn taken(server: &Served, begun: &AtomicUsize, appends: usize) {
    let held = (appends * BLOCK_BYTES) as u64;
    let has_taken = || server.pool.bytes() - server.pool.bytes_free() == held;
    wait_until(|| begun.load(Ordering::Relaxed) == appends.min(COMMITS) && has_taken()).await;
}

/// Appends that arrived on a connection while a commit was in flight waited for it, and for later ones. On a
/// bucket, a connection that many callers share gave each commit one buffer of requests.
mod appends_are_taken_while_earlier_ones_are_being_stored {
    use super::*;

    #[tokio::test]
    async fn without_a_commit_thread() {
        all_are(false).await;
    }

    #[tokio::test]
    async fn with_a_commit_thread() {
        all_are(true).await;
    }

    async fn all_are(has_commit_thread: bool) {
        const APPENDS: usize = 40;
        let (store, begun) = held();
        let server = Served::on(store.storage(), config(has_commit_thread), 64 << 20).await;
        let mut stream = connect(&server).await;
        for number in 0..APPENDS {
            stream.write_all(&small("topic-name=t", &one(&format!("record {number}")))).await.unwrap();
            taken(&server, &begun, number + 1).await;
        }
        store.0.released.send_replace(true);
        let expected: Vec<_> = (0..APPENDS)
            .map(|number| format!("201 {{\"first_offset\":{number},\"next_offset\":{}}}", number + 1))
            .collect();
        assert_eq!(responses(&mut stream, APPENDS).await, expected);
        assert_eq!(begun.load(Ordering::Relaxed), COMMITS + 1, "all that waited are in the next commit");
    }
}

/// Also those after requests that the HTTP library serves, and those that arrive before the client ends its side.
#[tokio::test]
async fn appends_in_flight_are_answered_before_what_follows_them() {
    const APPENDS: usize = 30;
    let (store, begun) = held();
    let server = Served::on(store.storage(), config(false), 64 << 20).await;
    let mut other = connect(&server).await;
    for topic in 0..2 * APPENDS {
        let create = format!(
            "POST /topic?topic-name=topic-{topic} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        assert_eq!(exchange(&mut other, &[create.as_bytes()]).await.unwrap().0, 201);
    }
    let (mut mixed, mut ended) = (connect(&server).await, connect(&server).await);
    let mut topics = 0;
    for (stream, last) in [(&mut mixed, get("/health").into_bytes()), (&mut ended, Vec::new())] {
        for _ in 0..APPENDS {
            let append = small(&format!("topic-name=topic-{topics}"), &one(&"r".repeat(1000)));
            stream.write_all(&append).await.unwrap();
            topics += 1;
        }
        stream.write_all(&last).await.unwrap();
    }
    ended.shutdown().await.unwrap();
    // The first commit is held; the others have time to arrive.
    wait_until(|| begun.load(Ordering::Relaxed) == COMMITS).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    store.0.released.send_replace(true);
    let mixed = responses(&mut mixed, APPENDS + 1).await;
    assert!(mixed[..APPENDS].iter().all(|response| response.starts_with("201 ")), "{mixed:?}");
    assert_eq!(mixed[APPENDS], "200 ok\n");
    let ended = responses(&mut ended, APPENDS).await;
    assert!(ended.iter().all(|response| response.starts_with("201 ")), "{ended:?}");
}

/// While there are no buffers for further appends, earlier ones get their responses all the same.
#[tokio::test]
async fn appends_without_a_buffer_wait_for_those_before_them() {
    let (store, begun) = held();
    let server = Served::on(store.storage(), config(false), (COMMITS + 2) * BLOCK_BYTES).await;
    let mut stream = connect(&server).await;
    for number in 0..COMMITS + 2 {
        stream.write_all(&small("topic-name=t", &one(&format!("record {number}")))).await.unwrap();
        taken(&server, &begun, number + 1).await;
    }
    for number in COMMITS + 2..9 {
        stream.write_all(&small("topic-name=t", &one(&format!("record {number}")))).await.unwrap();
    }
    store.0.released.send_replace(true);
    let responses = responses(&mut stream, 9).await;
    assert!(responses.iter().all(|response| response.starts_with("201 ")), "{responses:?}");
}
