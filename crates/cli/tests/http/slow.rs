//! Slow and stalled clients: their buffers are released, and others get 503 in the meantime.

use crate::broker::{InProcess, batch, pause, records};
use crate::client::*;
use rawline_batch::{Codec, Limits};
use rawline_server::http::{HttpConfig, Waits, request_buffers_max};
use rawline_testkit::served::PATIENT;
use std::time::Duration;

/// Batches of 64 KiB, so that a few requests use up all buffers, and no timeouts for clients.
fn patient() -> HttpConfig {
    let batch_limits = Limits { batch_bytes_max: 64 << 10, records_max: 1000, raw_bytes_max: 128 << 10 };
    HttpConfig {
        batch_limits,
        request_bytes_max: 128 << 10,
        pool_wait: Duration::from_millis(20),
        waits: PATIENT,
        ..HttpConfig::default()
    }
}

fn pool_bytes(config: &HttpConfig) -> u64 {
    request_buffers_max(&config.batch_limits, config.request_bytes_max)
}

fn append(body: &[u8]) -> Vec<u8> {
    request("POST", "/records?topic-name=t", &[("content-type", BATCH)], body)
}

fn large_batch() -> Vec<u8> {
    batch(Codec::None, &records(0, 60, 1000))
}

/// As many uploads as use up all buffers, each one byte short of complete.
fn stalled_uploads(broker: &InProcess) -> Vec<Connection> {
    let bytes = append(&large_batch());
    let mut stalled = Vec::new();
    while broker.pool.bytes_free() > 0 {
        let free = broker.pool.bytes_free();
        let mut connection = Connection::open(broker.address);
        connection.send(&bytes[..bytes.len() - 1]);
        while broker.pool.bytes_free() == free {
            pause();
        }
        stalled.push(connection);
    }
    stalled
}

#[test]
fn without_buffers_requests_get_503() {
    let config = patient();
    let broker = InProcess::start(config.clone(), pool_bytes(&config));
    let mut stalled = stalled_uploads(&broker);
    assert!(stalled.len() > 2, "{}", stalled.len());
    for (content_type, body) in
        [(BATCH, large_batch()), (RECORD, b"a".to_vec()), (LINES, b"a".to_vec()), (MULTIPART, multipart("[1]", b"a"))]
    {
        let bytes = request("POST", "/records?topic-name=t", &[("content-type", content_type)], &body);
        let answer = exchange(broker.address, &bytes);
        answer.assert_error(503, "buffers_exhausted");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    // The same holds for a list of all topics, which can have megabytes.
    let answer = exchange(broker.address, &request("GET", "/topics", &[], b""));
    answer.assert_error(503, "buffers_exhausted");
    // Requests that need no buffers get their responses.
    exchange(broker.address, &request("GET", "/topic?topic-name=t", &[], b"")).assert_status(200);
    exchange(broker.address, &request("GET", "/health", &[], b"")).assert_status(200);

    for connection in &mut stalled {
        connection.send(&large_batch()[large_batch().len() - 1..]);
        connection.receive().assert_status(201);
    }
    broker.wait_for_buffers();
    exchange(broker.address, &append(&large_batch())).assert_status(201);
}

#[test]
fn buffers_come_back_from_clients_that_leave() {
    let config = patient();
    let broker = InProcess::start(config.clone(), pool_bytes(&config));
    for _ in 0..3 {
        drop(stalled_uploads(&broker));
        broker.wait_for_buffers();
    }
    exchange(broker.address, &append(&large_batch())).assert_status(201);
}

#[test]
fn stalled_uploads_are_disconnected() {
    let mut config = patient();
    config.waits.body_piece = Duration::from_millis(100);
    let broker = InProcess::start(config.clone(), pool_bytes(&config));
    for mut connection in stalled_uploads(&broker) {
        connection.receive().assert_error(408, "body_too_slow");
        assert!(connection.is_closed());
    }
    broker.wait_for_buffers();
    // The same holds for uploads without a content type, and for those that send a byte now and then.
    config.waits.body_piece = PATIENT.body_piece;
    config.waits.body = Duration::from_millis(100);
    let broker = InProcess::start(config.clone(), pool_bytes(&config));
    let mut connection = Connection::open(broker.address);
    let bytes = append(&large_batch());
    connection.send(&bytes[..200]);
    let answer = loop {
        if !connection.is_silent() {
            break connection.receive();
        }
        connection.send(b"x");
    };
    answer.assert_error(408, "body_too_slow");
    broker.wait_for_buffers();
}

#[test]
fn silent_connections_are_closed() {
    let mut config = patient();
    config.waits.head = Duration::from_millis(50);
    let broker = InProcess::start(config, 1 << 20);
    assert!(Connection::open(broker.address).is_closed());
    let mut half = Connection::open(broker.address);
    half.send(b"GET /hea");
    assert!(half.is_closed());
    let mut idle = Connection::open(broker.address);
    idle.send(&request("GET", "/health", &[], b""));
    idle.receive().assert_status(200);
    assert!(idle.is_closed());
}

#[test]
fn a_reader_that_stalls_is_disconnected_and_blocks_no_client() {
    let mut config = HttpConfig {
        waits: Waits { answer_piece: Duration::from_secs(1), ..patient().waits },
        ..HttpConfig::default()
    };
    config.pool_wait = PATIENT.body_piece;
    let pool_bytes = request_buffers_max(&config.batch_limits, config.request_bytes_max);
    let broker = InProcess::start(config, pool_bytes);
    let large = vec![b'x'; 24 << 20];
    exchange(broker.address, &request("POST", "/records?topic-name=t", &[("content-type", RECORD)], &large))
        .assert_status(201);
    let read = request("GET", "/records?topic-name=t&offset=0", &[("accept", LINES)], b"");
    // Each holds buffers for its lines; together they need more memory than there is.
    let mut stalled: Vec<Connection> = (0..6).map(|_| Connection::open(broker.address)).collect();
    for connection in &mut stalled {
        connection.send(&read);
    }
    assert_eq!(exchange(broker.address, &read).body.len(), large.len() + 1);
    broker.wait_for_buffers();
}

/// Defect 9: 40 clients at 1 KiB/s held all buffers, and 16 others got almost none.
#[test]
fn clients_that_announce_much_and_send_little_hold_no_buffers() {
    let config = patient();
    let broker = InProcess::start(config.clone(), pool_bytes(&config));
    let bytes = append(&large_batch());
    let mut slow: Vec<Connection> = (0..40).map(|_| Connection::open(broker.address)).collect();
    for connection in &mut slow {
        connection.send(&bytes[..6 << 10]);
    }
    // One at a time, so that the buffers suffice, and without waiting for the responses.
    for _ in 0..20 {
        exchange(broker.address, &bytes).assert_status(201);
    }
    for connection in &mut slow {
        connection.send(&bytes[6 << 10..]);
    }
    // The buffers that they need only now may be too many for all of them at once.
    for connection in &mut slow {
        assert!([201, 503].contains(&connection.receive().status));
    }
    broker.wait_for_buffers();
}
