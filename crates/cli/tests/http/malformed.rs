//! Invalid or unusual HTTP: the broker survives it and sends one response per request.

use crate::broker::{Broker, batch, records};
use crate::client::*;
use rawline_batch::Codec;

#[test]
fn every_request_gets_its_own_one_answer() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"zero").assert_status(201);
    let append = |target: &str, content_type: &str, body: &[u8]| {
        request("POST", target, &[("content-type", content_type)], body)
    };
    // All on one connection, without waiting; the original responds twice to invalid ones.
    let all = [
        (400, request("GET", "/record?topic-name=t&offset=x", &[], b"")),
        (200, request("GET", "/record?topic-name=t&offset=0", &[], b"")),
        (400, request("GET", "/topic", &[], b"")),
        (400, append("/records", RECORD, b"one")),
        (201, append("/records?topic-name=t", RECORD, b"one")),
        (400, append("/records?topic-name=t", BATCH, &[b'x'; 5000])),
        (400, append("/records?topic-name=t", MULTIPART, &multipart("[3]", b"ab"))),
        (400, append("/records?topic-name=t", "text/plain", b"GET /health HTTP/1.1\r\n\r\n")),
        (404, append("/nowhere", RECORD, b"GET /health HTTP/1.1\r\n\r\n")),
        (405, append("/topics", RECORD, b"two")),
        (201, append("/records?topic-name=t", BATCH, &batch(Codec::None, &records(0, 3, 9)))),
        (200, request("GET", "/record?topic-name=t&offset=1", &[], b"")),
        (200, request("GET", "/health", &[], b"")),
    ];
    let mut connection = Connection::open(broker.address);
    connection.send(&all.iter().flat_map(|(_, request)| request.clone()).collect::<Vec<u8>>());
    let answers: Vec<Answer> = all.iter().map(|_| connection.receive()).collect();
    for (number, ((status, _), answer)) in all.iter().zip(&answers).enumerate() {
        assert_eq!(answer.status, *status, "request {number}: {}", String::from_utf8_lossy(&answer.body));
    }
    assert_eq!((answers[1].text(), answers[11].text(), answers[12].text()), ("zero", "one", "ok\n"));
    assert!(connection.is_silent());
}

#[test]
fn wrong_methods_get_a_list_of_the_right_ones() {
    let broker = Broker::start(&[]);
    for (method, target, allowed) in [
        ("PUT", "/records?topic-name=t", "GET, HEAD, POST"),
        ("DELETE", "/records?topic-name=t", "GET, HEAD, POST"),
        ("POST", "/record?topic-name=t", "GET, HEAD"),
        ("PATCH", "/topic?topic-name=t", "DELETE, GET, HEAD, POST, PUT"),
        ("POST", "/topics", "GET, HEAD"),
        ("PATCH", "/offset", "GET, HEAD"),
        ("POST", "/metrics", "GET, HEAD"),
        ("POST", "/health", "GET, HEAD"),
        ("OPTIONS", "/openapi.json", "GET, HEAD"),
        ("BREW", "/", "GET, HEAD"),
    ] {
        let answer = exchange(broker.address, &request(method, target, &[], b""));
        answer.assert_error(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allowed), "{method} {target}");
    }
    for target in ["/nothing", "/records/", "//records", "/records%3Ftopic-name=t", "/Records"] {
        broker.get(target).assert_error(404, "path_not_found");
    }
}

/// Defect 26.
#[test]
fn http_1_1_needs_exactly_one_host() {
    let broker = Broker::start(&[]);
    for head in ["GET /topics HTTP/1.1\r\n\r\n", "GET /health HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n"] {
        exchange(broker.address, head.as_bytes()).assert_error(400, "host_missing");
    }
    let mut old = Connection::open(broker.address);
    old.send(b"GET /topics HTTP/1.0\r\n\r\n");
    old.receive().assert_status(200);
}

#[test]
fn heads_have_a_limit() {
    let broker = Broker::start(&[]);
    let long = "x".repeat(200 << 10);
    let many: Vec<(String, String)> = (0..200).map(|i| (format!("header-{i}"), "x".into())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for bytes in [
        request("GET", "/health", &[("long", &long)], b""),
        request("GET", &format!("/health?{long}"), &[], b""),
        request("GET", "/health", &many, b""),
    ] {
        let mut connection = Connection::open(broker.address);
        // The broker may have closed the connection before everything is sent.
        let _ = std::io::Write::write_all(&mut connection.stream, &bytes);
        if let Some(answer) = connection.try_receive(true) {
            assert!([400, 414, 431].contains(&answer.status), "{}", answer.status);
        }
        assert!(connection.is_closed());
    }
    broker.get("/health").assert_status(200);
}

/// Defect 26. The HTTP library drops `Content-Length`, takes the chunks and closes the connection, which RFC 9112, 6.1
/// allows. See `docs/decisions.md`.
#[test]
fn content_length_with_chunked_takes_the_chunks_and_closes() {
    let broker = Broker::start(&[]);
    // Read by its length, the body would end early, and the rest would be a request.
    let lengths =
        ["content-length: 3\r\ntransfer-encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 3"];
    for (stored, lengths) in (0..).zip(lengths) {
        let mut connection = Connection::open(broker.address);
        let bytes = format!(
            "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: {RECORD}\r\n{lengths}\r\n\r\n\
             5\r\nhello\r\n0\r\n\r\n\
             POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: {RECORD}\r\n\
             content-length: 5\r\n\r\nfalse"
        );
        connection.send(bytes.as_bytes());
        let answer = connection.receive();
        assert_eq!(answer.assert_status(201).json()["first_offset"], stored);
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(connection.try_receive(true).is_none(), "what follows the chunks is not a request");
        assert_eq!(broker.get(&format!("/record?topic-name=t&offset={stored}")).text(), "hello");
    }
    assert_eq!(broker.get("/topic?topic-name=t").json()["next_offset"], 2);
}

#[test]
fn bodies_with_a_wrong_length_or_encoding_are_refused() {
    let broker = Broker::start(&[]);
    broker.create_topic("t");
    for wrong in
        ["content-length: 5\r\ncontent-length: 6", "content-length: -1", "content-length: x", "transfer-encoding: gzip"]
    {
        let mut connection = Connection::open(broker.address);
        let head = format!(
            "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: {RECORD}\r\n{wrong}\r\n\r\nhello"
        );
        connection.send(head.as_bytes());
        if let Some(answer) = connection.try_receive(true) {
            assert_eq!(answer.status, 400, "{wrong}");
        }
        assert!(connection.is_closed());
    }
    assert_eq!(broker.get("/topic?topic-name=t").json()["next_offset"], 0);
}

#[test]
fn a_truncated_body_is_not_stored() {
    let broker = Broker::start(&[]);
    let body = batch(Codec::None, &records(0, 10, 100));
    for (content_type, body) in [(BATCH, body), (RECORD, vec![b'x'; 1000]), (LINES, b"a\nb\nc".to_vec())] {
        let bytes = request("POST", "/records?topic-name=t", &[("content-type", content_type)], &body);
        let mut connection = Connection::open(broker.address);
        connection.send(&bytes[..bytes.len() - 2]);
        connection.stream.shutdown(std::net::Shutdown::Write).unwrap();
        if let Some(answer) = connection.try_receive(true) {
            answer.assert_error(400, "body_cut_off");
        }
        let chunks = chunked("/records?topic-name=t", content_type, &body, 10);
        let mut connection = Connection::open(broker.address);
        connection.send(&chunks[..chunks.len() - 3]);
        connection.stream.shutdown(std::net::Shutdown::Write).unwrap();
        if let Some(answer) = connection.try_receive(true) {
            answer.assert_error(400, "body_cut_off");
        }
    }
    assert_eq!(broker.get("/topic?topic-name=t").json()["next_offset"], 0);
}

#[test]
fn garbage_never_stops_the_broker() {
    let mut broker = Broker::start(&[]);
    broker.create_topic("t");
    let good = [
        request("POST", "/records?topic-name=t", &[("content-type", BATCH)], &batch(Codec::Zstd, &records(0, 50, 50))),
        request("POST", "/records?topic-name=t", &[("content-type", MULTIPART)], &multipart("[1,2,3]", b"abcdef")),
        request(
            "GET",
            "/records?topic-name=t&offset=0&timeout=1ms&max-records=9&max-bytes=100",
            &[("accept", JSON)],
            b"",
        ),
        chunked("/records?topic-name=t", LINES, b"a\nb\nc", 2),
    ];
    let mut random = fastrand::Rng::with_seed(42);
    for round in 0..400 {
        let mut bytes = match round % 4 {
            0 => (0..random.usize(..2000)).map(|_| random.u8(..)).collect(),
            _ => good[random.usize(..good.len())].clone(),
        };
        for _ in 0..random.usize(..6) {
            if !bytes.is_empty() {
                let position = random.usize(..bytes.len());
                match random.u8(..3) {
                    0 => bytes[position] = random.u8(..),
                    1 => bytes.truncate(position),
                    _ => bytes.insert(position, random.u8(..)),
                }
            }
        }
        let mut connection = Connection::open(broker.address);
        let _ = std::io::Write::write_all(&mut connection.stream, &bytes);
        let _ = connection.stream.shutdown(std::net::Shutdown::Write);
        connection.is_closed();
    }
    assert!(broker.is_running());
    let appended = broker.post("/records?topic-name=t", RECORD, b"still here");
    let next = appended.assert_status(201).json()["first_offset"].as_u64().unwrap();
    assert_eq!(broker.get(&format!("/record?topic-name=t&offset={next}")).text(), "still here");
}
