//! Long polls wait, are woken, time out, and don't outlive the broker.

use crate::broker::{Broker, InProcess, create_topic};
use crate::client::*;
use rawline_server::http::HttpConfig;
use std::net::TcpStream;

/// The library serves reads in the first form, the connection's small requests those in the second.
const FORMS: [&str; 2] = ["multipart/form-data", "application/vnd.rawline.batch"];

fn poll(broker: &Broker, target: &str) -> Connection {
    let mut connection = Connection::open(broker.address);
    connection.send(&request("GET", target, &[], b""));
    connection
}

#[test]
fn an_append_wakes_waiting_readers() {
    let broker = Broker::start(&[]);
    broker.create_topic("t");
    broker.create_topic("other");
    let mut empty = poll(&broker, "/records?topic-name=t&offset=0&timeout=1h");
    let mut second = poll(&broker, "/records?topic-name=t&offset=1&timeout=1h");
    let mut other = poll(&broker, "/records?topic-name=other&offset=0&timeout=1h");
    assert!(empty.is_silent() && second.is_silent(), "an empty topic's reader waits at offset 0 too");

    broker.post("/records?topic-name=t", RECORD, b"first").assert_status(201);
    let answer = empty.receive();
    assert_eq!((answer.status, answer.body.clone()), (200, multipart_answer(&answer, &[b"first".to_vec()])));
    assert!(second.is_silent() && other.is_silent());

    broker.post("/records?topic-name=t", RECORD, b"second").assert_status(201);
    let answer = second.receive();
    assert_eq!(answer.body, multipart_answer(&answer, &[b"second".to_vec()]));
    broker.post("/records?topic-name=other", RECORD, b"third").assert_status(201);
    other.receive().assert_status(200);
    // The connection stays open.
    empty.send(&request("GET", "/health", &[], b""));
    assert_eq!(empty.receive().text(), "ok\n");
}

#[test]
fn a_poll_ends_at_its_timeout() {
    let broker = Broker::start(&[]);
    broker.create_topic("t");
    for timeout in ["0", "0s", "1ms", "0.05s", "1ms50us"] {
        let answer = broker.get(&format!("/records?topic-name=t&offset=0&timeout={timeout}"));
        assert_eq!((answer.status, answer.body.clone()), (206, multipart_answer(&answer, &[])), "{timeout}");
    }
}

#[test]
fn sigterm_completes_requests_in_flight_and_exits_with_0() {
    let mut broker = Broker::start(&[]);
    broker.create_topic("t");
    let mut polls: Vec<Connection> =
        (0..10).map(|_| poll(&broker, "/records?topic-name=t&offset=1&timeout=1h")).collect();
    let mut idle = Connection::open(broker.address);
    idle.send(&request("GET", "/health", &[], b""));
    idle.receive().assert_status(200);
    // An append with half of its body sent.
    let mut append = Connection::open(broker.address);
    let bytes = request("POST", "/records?topic-name=t", &[("content-type", RECORD)], &[b'x'; 1000]);
    let (half, rest) = bytes.split_at(bytes.len() - 500);
    append.send(half);
    assert!(polls.iter_mut().all(Connection::is_silent) && append.is_silent());

    broker.terminate();
    for poll in &mut polls {
        assert_eq!(poll.receive().status, 206);
        assert!(poll.is_closed());
    }
    assert!(idle.is_closed());
    assert!(TcpStream::connect(broker.address).is_err(), "no new connections");
    assert!(broker.is_running());
    append.send(rest);
    assert_eq!(append.receive().assert_status(201).json()["next_offset"], 1);
    assert!(append.is_closed());
    assert_eq!(broker.wait().code(), Some(0));
}

/// A reader that disconnects must not keep its place until its timeout.
#[test]
fn waiting_clients_that_disconnect_release_their_connection() {
    let broker = InProcess::start(HttpConfig { connections_max: 2, ..HttpConfig::default() }, 1 << 27);
    create_topic(broker.address, "t");
    for number in 0..10 {
        let mut left = Connection::open(broker.address);
        let accept = [("accept", FORMS[number % 2])];
        left.send(&request("GET", "/records?topic-name=t&offset=0&timeout=1h", &accept, b""));
    }
    exchange(broker.address, &request("GET", "/health", &[], b"")).assert_status(200);
}

/// Defect 8: one byte of a next request hid from the HTTP library that the client had disconnected.
#[test]
fn waiting_clients_that_sent_an_extra_byte_release_their_connection() {
    let broker = InProcess::start(HttpConfig { connections_max: 2, ..HttpConfig::default() }, 1 << 27);
    create_topic(broker.address, "t");
    for form in FORMS.repeat(2) {
        let mut left = Connection::open(broker.address);
        left.send(&request("GET", "/records?topic-name=t&offset=0&timeout=24h", &[("accept", form)], b""));
        left.send(b"G");
    }
    exchange(broker.address, &request("GET", "/health", &[], b"")).assert_status(200);
}

#[test]
fn some_connections_are_kept_for_requests_that_do_not_wait() {
    FORMS.iter().for_each(|form| are_kept(form));
}

fn are_kept(form: &str) {
    let broker = InProcess::start(HttpConfig { connections_max: 3, ..HttpConfig::default() }, 1 << 27);
    let poll = request("GET", "/records?topic-name=t&offset=0&timeout=1h", &[("accept", form)], b"");
    let mut waiting: Vec<Connection> = (0..3).map(|_| Connection::open(broker.address)).collect();
    let create = request("PUT", "/topic?topic-name=t", &[], br#"{"payload":"bytes"}"#);
    // A fourth connection would require one of the three to make room.
    waiting[0].send(&create);
    waiting[0].receive().assert_status(200);
    for connection in &mut waiting {
        connection.send(&poll);
    }
    // Two of the three may wait; the third, whichever it is, gets 503.
    let refused = loop {
        let mut told =
            waiting.iter_mut().filter_map(|connection| (!connection.is_silent()).then(|| connection.receive()));
        if let Some(answer) = told.next() {
            break answer;
        }
    };
    refused.assert_error(503, "waits_too_many");
    assert_eq!(refused.header("retry-after"), Some("1"));
}
