//! A record's way to a reader that waits for it: counted, not timed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // Tests.

mod support;

use rawline_batch::Limits;
use rawline_batch::record_batch::{RecordBatchBuilder, RecordCodec};
use rawline_testkit::batches::batch;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use support::Broker;
use support::RAWLINE;

/// Records that are counted, and those before them, by which connections come to where they are served.
const COUNTED: u64 = 200;
const BEFORE: u64 = 20;
/// Waits that the broker's other work may need meanwhile. A thread that is woken for records waits less often than once
/// for each if it is still running when the next one comes.
const FEW: u64 = COUNTED / 10;
/// How often they are counted: where the machine is busy, the broker's other work has more time.
const ROUNDS: usize = 5;

/// How often threads other than the commit thread have waited: each wake-up ends with that.
fn waits_elsewhere(broker: &Broker) -> u64 {
    let of = |task: PathBuf| {
        let comm = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        let status = std::fs::read_to_string(task.join("status")).unwrap_or_default();
        let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let waits = waits.map_or(0, |waits| waits.trim().parse().unwrap());
        if comm.trim() == "commit" { 0 } else { waits }
    };
    let tasks = std::fs::read_dir(format!("/proc/{}/task", broker.pid())).unwrap();
    tasks.map(|task| of(task.unwrap().path())).sum()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Reads until `is_whole`.
fn receive(stream: &mut TcpStream, is_whole: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut received = Vec::new();
    while !is_whole(&received) {
        let mut piece = [0; 4096];
        let bytes = stream.read(&mut piece).unwrap();
        assert!(bytes > 0, "closed after {:?}", String::from_utf8_lossy(&received));
        received.extend(&piece[..bytes]);
    }
    received
}

fn contains(received: &[u8], part: &[u8]) -> bool {
    received.windows(part.len()).any(|found| found == part)
}

/// Counts the waits elsewhere while `append` appends a record and `deliver` receives it, again and again.
fn count(broker: &Broker, mut append: impl FnMut(), mut deliver: impl FnMut(u64)) -> [u64; ROUNDS] {
    let mut offsets = 0..;
    let mut pass = |records: u64| {
        for offset in offsets.by_ref().take(records as usize) {
            append();
            deliver(offset);
        }
    };
    pass(BEFORE);
    [(); ROUNDS].map(|()| {
        let before = waits_elsewhere(broker);
        pass(COUNTED);
        waits_elsewhere(broker) - before
    })
}

fn assert_few(waits: [u64; ROUNDS]) {
    assert!(waits.iter().any(|waits| *waits < FEW), "{waits:?} waits of other threads for {COUNTED} records each");
}

fn broker(flags: &[&str]) -> Broker {
    let broker = Broker::start(RAWLINE, flags);
    create(&broker);
    broker
}

/// An append of one record over HTTP, with its batch.
fn appender(address: SocketAddr, batch: &[u8]) -> impl FnMut() {
    let head = format!(
        "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/vnd.rawline.batch\r\n\
         content-length: {}\r\n\r\n",
        batch.len()
    );
    let (request, mut writer) = ([head.as_bytes(), batch].concat(), connect(address));
    move || {
        writer.write_all(&request).unwrap();
        receive(&mut writer, |received| received.ends_with(b"}"));
    }
}

fn create(broker: &Broker) {
    let create = b"PUT /topic?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    let mut stream = connect(broker.address);
    stream.write_all(create).unwrap();
    receive(&mut stream, |received| received.ends_with(b"}"));
}

/// The waits elsewhere for the long polls of a reader that accepts this form.
fn long_polls(form: &str) -> [u64; ROUNDS] {
    let broker = broker(&[]);
    let batch = batch(rawline_batch::Codec::None, &[b"record".to_vec()]);
    let mut reader = connect(broker.address);
    let poll = |offset: u64| {
        format!(
            "GET /records?topic-name=t&offset={offset}&max-records=0&timeout=300s HTTP/1.1\r\nhost: localhost\r\n\
             accept: {form}\r\n\r\n"
        )
    };
    reader.write_all(poll(0).as_bytes()).unwrap();
    let deliver = |offset| {
        let response = receive(&mut reader, |received| received.ends_with(&batch) || received.ends_with(b"record\n"));
        assert!(response.starts_with(b"HTTP/1.1 200"));
        reader.write_all(poll(offset + 1).as_bytes()).unwrap();
    };
    count(&broker, appender(broker.address, &batch), deliver)
}

/// A request that waits, its response, and the next request: all on the thread that commits. Other forms are made on
/// the runtime's threads, which shows what is counted.
#[test]
fn a_long_poll_wakes_no_thread_but_the_one_that_commits() {
    assert_few(long_polls("application/vnd.rawline.batch"));
    let waits = long_polls("application/x-ndjson");
    assert!(waits.iter().all(|waits| *waits >= FEW), "{waits:?} waits of other threads for {COUNTED} records each");
}

const SUBSCRIBE: &str = "GET /subscribe?topic-name=t HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n\
     upgrade: websocket\r\nsec-websocket-version: 13\r\n\
     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[test]
fn a_subscription_wakes_no_thread_but_the_one_that_commits() {
    let broker = broker(&[]);
    let batch = batch(rawline_batch::Codec::None, &[b"record".to_vec()]);
    let mut reader = connect(broker.address);
    reader.write_all(SUBSCRIBE.as_bytes()).unwrap();
    receive(&mut reader, |received| contains(received, b"\"subscribed\""));
    let deliver = |_| drop(receive(&mut reader, |received| contains(received, &batch)));
    assert_few(count(&broker, appender(broker.address, &batch), deliver));
}

/// The subscription comes to the commit thread and leaves it again, with records that are small, large and small.
#[test]
fn records_of_any_size_reach_a_subscription_once_and_in_order() {
    let broker = broker(&[]);
    let mut reader = connect(broker.address);
    reader.write_all(SUBSCRIBE.as_bytes()).unwrap();
    receive(&mut reader, |received| contains(received, b"\"subscribed\""));
    let sizes = (0..300usize).map(|n| if n % 20 < 12 { 10 + n } else { 1_000 << (n % 9) });
    let batches: Vec<_> =
        sizes.enumerate().map(|(n, size)| batch(rawline_batch::Codec::None, &[vec![n as u8; size]])).collect();
    let mut received = Vec::new();
    for (offset, batch) in batches.iter().enumerate() {
        appender(broker.address, batch)();
        // Sometimes two at once.
        if offset % 3 > 0 {
            received.extend(receive(&mut reader, |part| contains(part, batch)));
        }
    }
    let mut rest = &received[..];
    for (offset, batch) in batches.iter().enumerate() {
        let found = rest.windows(batch.len()).position(|found| found == batch);
        let Some(place) = found else { panic!("batch {offset} is missing, or comes twice and too early") };
        rest = &rest[place + batch.len()..];
    }
    assert!(batches.iter().all(|batch| !contains(rest, batch)), "a batch comes twice");
}

/// A request of Kafka's protocol for partition 0 of `t`: its fields before the topic, and those of the partition.
fn kafka(api: i16, version: i16, before: &[u8], partition: &[u8]) -> Vec<u8> {
    let mut request = [api.to_be_bytes(), version.to_be_bytes()].concat();
    // The correlation id, and no client id.
    request.extend([0, 0, 0, 1, 0xff, 0xff]);
    request.extend(before);
    request.extend([0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0]);
    request.extend(partition);
    [&(request.len() as u32).to_be_bytes()[..], &request].concat()
}

fn is_whole(received: &[u8]) -> bool {
    let length = received.first_chunk().map(|length| u32::from_be_bytes(*length) as usize);
    length.is_some_and(|length| received.len() == 4 + length)
}

#[test]
fn a_fetch_wakes_no_thread_but_the_one_that_commits() {
    let broker = broker(&["--kafka", "127.0.0.1:0"]);
    let address = broker.printed.lines().find_map(|line| line.split_once("Kafka's clients on "));
    let address: SocketAddr = address.unwrap().1.trim().parse().unwrap();
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    builder.push(0, None, Some(b"record"), []).unwrap();
    let batch = builder.finish(None).unwrap();
    // Produce: no transaction, acks=all, 30 s; Fetch: no replica, 300 s, 1 byte, 1 MiB, uncommitted.
    let acks = [&[0xff; 4][..], &30_000_i32.to_be_bytes()].concat();
    let produce = kafka(0, 3, &acks, &[&(batch.len() as u32).to_be_bytes(), batch].concat());
    let wait = [&[0xff; 4][..], &300_000_i32.to_be_bytes(), &[0, 0, 0, 1, 0, 16, 0, 0, 0]].concat();
    let fetch = |offset: u64| kafka(1, 4, &wait, &[&offset.to_be_bytes()[..], &[0, 16, 0, 0]].concat());
    let (mut writer, mut reader) = (connect(address), connect(address));
    reader.write_all(&fetch(0)).unwrap();
    let append = || {
        writer.write_all(&produce).unwrap();
        receive(&mut writer, is_whole);
    };
    let deliver = |offset| {
        let response = receive(&mut reader, is_whole);
        assert!(response.ends_with(&batch[16..]), "{response:?}");
        reader.write_all(&fetch(offset + 1)).unwrap();
    };
    assert_few(count(&broker, append, deliver));
}
