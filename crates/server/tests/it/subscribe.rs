//! `GET /subscribe`, as server-sent events and on a WebSocket, with an independent client.

#![allow(clippy::disallowed_methods)] // Tests start tasks where they like.

use crate::kafka_transactions as transactions;
use crate::support::kafka::{self, served};
use crate::support::{DEADLINE, http, wait_until};
use futures_util::{SinkExt, StreamExt};
use rawline_batch::record_batch::RecordCodec;
use rawline_batch::{Batch, Builder, Codec, Limits};
use rawline_contract::Cursor;
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

/// A stream of server-sent events.
pub struct Events {
    stream: TcpStream,
    /// The received chunks, and their text.
    chunks: Vec<u8>,
    text: String,
    is_over: bool,
    /// The newest id.
    id: String,
    head: String,
}

/// An event: its type and its data.
pub type Event = (String, Value);

impl Events {
    pub async fn open(server: &Served, query: &str, header: &str) -> Events {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = format!("GET /subscribe?{query} HTTP/1.1\r\nhost: localhost\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        while !received.ends_with(b"\r\n\r\n") {
            received.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(received).unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        Events { stream, chunks: Vec::new(), text: String::new(), is_over: false, id: String::new(), head }
    }

    /// The same after the first id.
    async fn begun(server: &Served, query: &str) -> Events {
        let mut events = Events::open(server, query, "").await;
        while events.id.is_empty() {
            events.block().await.unwrap();
        }
        events
    }

    /// Moves the contents of whole chunks to the text.
    fn unchunk(&mut self) {
        while let Some(end) = self.chunks.windows(2).position(|two| two == b"\r\n") {
            let length = usize::from_str_radix(std::str::from_utf8(&self.chunks[..end]).unwrap(), 16).unwrap();
            if self.chunks.len() < end + 2 + length + 2 {
                return;
            }
            self.text.push_str(std::str::from_utf8(&self.chunks[end + 2..end + 2 + length]).unwrap());
            self.chunks.drain(..end + 2 + length + 2);
            self.is_over |= length == 0;
        }
    }

    /// The next block of lines; `None` at the end.
    async fn block(&mut self) -> Option<Vec<String>> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let lines: Vec<String> = block.lines().map(str::to_owned).collect();
                self.text = rest.to_owned();
                for line in &lines {
                    if let Some(id) = line.strip_prefix("id: ") {
                        self.id = id.to_owned();
                    }
                }
                return Some(lines);
            }
            if self.is_over {
                return None;
            }
            let read = timeout(DEADLINE, self.stream.read_buf(&mut self.chunks)).await.expect("no event arrived");
            if read.unwrap_or(0) == 0 {
                return None;
            }
            self.unchunk();
        }
    }

    /// The next event with data; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let lines = self.block().await?;
            let field = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
            if let Some(data) = field("data: ") {
                let kind = field("event: ").unwrap_or("message").to_owned();
                return Some((kind, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The next event, which is a record: topic, partition, offset, text.
    async fn record(&mut self) -> (String, u64, u64, String) {
        let (kind, data) = self.next().await.expect("the stream has ended");
        assert_eq!(kind, "message", "{data}");
        let text = |name: &str| data[name].as_str().unwrap_or_else(|| panic!("{data}")).to_owned();
        (text("topic"), data["partition"].as_u64().unwrap(), data["offset"].as_u64().unwrap(), text("record"))
    }
}

/// A WebSocket.
type Socket = WebSocketStream<TcpStream>;

async fn open(server: &Served, query: &str) -> Socket {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let url = format!("ws://{}/subscribe?{query}", server.address);
    tokio_tungstenite::client_async(url, stream).await.unwrap().0
}

/// A WebSocket after its first message, with the cursor.
async fn begun(server: &Served, query: &str) -> (Socket, String) {
    let mut socket = open(server, query).await;
    let message = control(&mut socket).await;
    assert_eq!(message["type"], "subscribed");
    let cursor = message["cursor"].as_str().unwrap().to_owned();
    (socket, cursor)
}

async fn message(socket: &mut Socket) -> Message {
    loop {
        let next = timeout(DEADLINE, socket.next()).await.expect("no message arrived");
        match next.expect("the connection has ended").unwrap() {
            Message::Ping(_) => {}
            message => return message,
        }
    }
}

/// The next text message.
async fn said(socket: &mut Socket) -> Value {
    serde_json::from_str(message(socket).await.to_text().unwrap()).unwrap()
}

/// A control message that doesn't introduce a topic.
async fn control(socket: &mut Socket) -> Value {
    loop {
        let said = said(socket).await;
        if said["type"] != "topic" {
            return said;
        }
    }
}

/// A binary message.
#[derive(Debug)]
struct Binary {
    kind: u8,
    topic: String,
    partition: u32,
    first_offset: u64,
    end_offset: u64,
    time_us: u64,
    content: Vec<u8>,
}

impl Binary {
    fn parse(bytes: &[u8]) -> Binary {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(bytes[0], 1, "the version");
        let name_bytes = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        let end = (32 + name_bytes).next_multiple_of(8);
        assert!(bytes[32 + name_bytes..end].iter().all(|byte| *byte == 0));
        Binary {
            kind: bytes[1],
            topic: String::from_utf8(bytes[32..32 + name_bytes].to_vec()).unwrap(),
            partition: u32::from_le_bytes(bytes[4..8].try_into().unwrap()),
            first_offset: number(8),
            end_offset: number(16),
            time_us: number(24),
            content: bytes[end..].to_vec(),
        }
    }

    /// The records of batches of ours with their offsets.
    fn records(&self) -> Vec<(u64, Vec<u8>)> {
        assert_eq!(self.kind, 1);
        let (mut rest, mut offset, mut records) = (&self.content[..], self.first_offset, Vec::new());
        while !rest.is_empty() {
            let (batch, after) = Batch::parse_prefix(rest, &Limits::FORMAT).unwrap();
            let mut data = Vec::new();
            let header = batch.header();
            rawline_batch::decompress_into(header.codec, batch.data(), header.raw_bytes, &mut data).unwrap();
            let mut at = 0;
            for size in batch.sizes() {
                let end = at + size.get() as usize;
                records.push((offset, data[at..end].to_vec()));
                (at, offset) = (end, offset + 1);
            }
            rest = after;
        }
        assert_eq!(offset, self.end_offset, "offsets are dense");
        records
    }
}

/// These tests read messages like clients in other languages.
#[test]
fn messages_are_read_as_the_vectors_say() {
    let manifest: Value = serde_json::from_str(include_str!("../../../../vectors/subscribe/messages.json")).unwrap();
    let mut kinds = [0; 4];
    for case in manifest["cases"].as_array().unwrap().iter().filter(|case| case["error"].is_null()) {
        let number = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
        let message = Binary::parse(&unhex(case["hex"].as_str().unwrap()));
        assert_eq!(case["kind"], message.kind, "{case}");
        assert_eq!((&case["topic"], &case["partition"]), (&json!(message.topic), &json!(message.partition)));
        assert_eq!(number(&case["first_offset"]), message.first_offset, "{case}");
        assert_eq!(number(&case["end_offset"]), message.end_offset, "{case}");
        assert_eq!(number(&case["time_us"]), message.time_us, "{case}");
        kinds[usize::from(message.kind)] += 1;
        if message.kind == 1 {
            let found = message.records().into_iter().filter(|(offset, _)| *offset >= number(&case["position"]));
            let expected = case["records"].as_array().unwrap().iter();
            let expected = expected.map(|record| (number(&record["offset"]), unhex(record["hex"].as_str().unwrap())));
            assert!(found.eq(expected), "{case}");
        }
    }
    assert!(kinds[1..].iter().all(|count| *count > 0), "{kinds:?}");
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The next binary message.
async fn binary(socket: &mut Socket) -> Binary {
    loop {
        match message(socket).await {
            Message::Binary(bytes) => return Binary::parse(&bytes),
            Message::Text(text) if text.contains(r#""type":"cursor""#) || text.contains(r#""type":"topic""#) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Appends records to a topic's partition.
async fn append(server: &Served, topic: &str, partition: u64, records: &[&str]) {
    let target = format!("/records?topic-name={topic}&partition={partition}");
    let lines = records.iter().map(|record| format!("{record}\n")).collect::<String>();
    let answer = http(server, "POST", &target, "content-type: application/x-ndjson", lines.as_bytes()).await;
    assert_eq!(answer.0, 201, "{}", String::from_utf8_lossy(&answer.2));
}

async fn create(server: &Served, topic: &str, settings: &Value) {
    let target = format!("/topic?topic-name={topic}");
    let body = settings.to_string();
    let answer = http(server, "POST", &target, "content-type: application/json", body.as_bytes()).await;
    assert_eq!(answer.0, 201, "{}", String::from_utf8_lossy(&answer.2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_arrive_as_events_and_the_cursor_continues() {
    let server = Served::start().await;
    append(&server, "dns", 0, &["zero", "one"]).await;
    let mut events = Events::begun(&server, "topic-name=dns&from=first").await;
    for name in ["content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no"] {
        assert!(events.head.contains(name), "{}", events.head);
    }
    assert_eq!(events.record().await, ("dns".into(), 0, 0, "zero".into()));
    let cursor = events.id.clone();
    assert_eq!(events.record().await, ("dns".into(), 0, 1, "one".into()));
    append(&server, "dns", 0, &["two"]).await;
    assert_eq!(events.record().await, ("dns".into(), 0, 2, "two".into()));
    assert!(events.id.contains(";dns~") && events.id.ends_with("/0=3"), "{}", events.id);
    for (query, header) in
        [(format!("&resume={cursor}"), String::new()), (String::new(), format!("last-event-id: {cursor}\r\n"))]
    {
        let mut events = Events::open(&server, &format!("topic-name=dns&from=end{query}"), &header).await;
        assert_eq!(events.record().await, ("dns".into(), 0, 1, "one".into()));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_arrive_in_binary_messages() {
    let server = Served::start().await;
    append(&server, "dns", 0, &["zero", "one"]).await;
    let (mut socket, cursor) = begun(&server, "topic-name=dns&from=1").await;
    assert!(cursor.contains(";dns~") && cursor.ends_with("/0=1"), "{cursor}");
    let first = binary(&mut socket).await;
    assert_eq!((first.kind, &*first.topic, first.partition), (1, "dns", 0));
    assert_eq!(first.records(), [(1, b"one".to_vec())]);
    assert!(first.time_us > 1_700_000_000_000_000);
    append(&server, "dns", 0, &["two"]).await;
    assert_eq!(binary(&mut socket).await.records(), [(2, b"two".to_vec())]);
    let told = control(&mut socket).await;
    assert_eq!(told["type"], "cursor");
    assert!(told["cursor"].as_str().unwrap().ends_with("/0=3"), "{told}");
    socket.send(Message::text("hello")).await.unwrap();
    let Message::Close(Some(frame)) = message(&mut socket).await else { panic!("no close frame") };
    assert_eq!((frame.code, &*frame.reason), (CloseCode::Policy, "this WebSocket accepts no messages"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_join_by_their_prefix_from_their_first_record() {
    let server = Served::start().await;
    append(&server, "zeek.old", 0, &["before"]).await;
    let (mut socket, _) = begun(&server, "topic-prefix=zeek.").await;
    let mut events = Events::begun(&server, "topic-prefix=zeek.").await;
    append(&server, "other", 0, &["not wanted"]).await;
    append(&server, "zeek.new", 0, &["first"]).await;
    append(&server, "zeek.old", 0, &["after"]).await;
    for (topic, offset, record) in [("zeek.new", 0, "first"), ("zeek.old", 1, "after")] {
        assert_eq!(events.record().await, (topic.into(), 0, offset, record.into()));
        let message = binary(&mut socket).await;
        assert_eq!((&*message.topic, message.records()), (topic, vec![(offset, record.as_bytes().to_vec())]));
    }
    server.stop().await;
}

/// The records of a topic whose number is their text, from the appender.
async fn append_numbers(server: &Served, topic: &str, partition: u64, range: std::ops::Range<u64>) {
    let numbers: Vec<String> = range.map(|number| number.to_string()).collect();
    let records: Vec<&str> = numbers.iter().map(String::as_str).collect();
    append(server, topic, partition, &records).await;
}

/// However often a connection is cut, each record arrives once and in order, whether the client takes the broker's
/// cursor or its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_that_is_cut_anywhere_resumes_without_loss_or_repetition() {
    const RECORDS: u64 = 600;
    let (server, _dir) = served().await;
    create(&server, "many.a", &json!({"partitions": 2})).await;
    let mut random = fastrand::Rng::with_seed(7);
    let appends = async {
        let mut random = fastrand::Rng::with_seed(8);
        for (topic, partition) in [("many.a", 0), ("many.a", 1), ("many.b", 0)] {
            let mut next = 0;
            while next < RECORDS {
                let end = (next + random.u64(1..20)).min(RECORDS);
                append_numbers(&server, topic, partition, next..end).await;
                next = end;
            }
        }
    };
    let subscribes = async {
        let mut cursor = String::new();
        let mut next: BTreeMap<(String, u64), u64> = BTreeMap::new();
        let mut is_whole = |topic: &str, partition: u64, offset: u64, text: &[u8]| {
            let next = next.entry((topic.to_owned(), partition)).or_default();
            assert_eq!(offset, *next, "{topic}/{partition}");
            assert_eq!(text, offset.to_string().as_bytes());
            *next += 1;
            *next == RECORDS
        };
        let (mut whole, mut cuts) = (0, 0);
        while whole < 3 {
            let from = if cursor.is_empty() { "&from=first".to_owned() } else { format!("&resume={cursor}") };
            let query = format!("topic-prefix=many.{from}");
            cuts += 1;
            if random.bool() {
                let mut events = Events::begun(&server, &query).await;
                for _ in 0..random.u32(0..60) {
                    if whole == 3 {
                        break;
                    }
                    let (topic, partition, offset, text) = events.record().await;
                    whole += u32::from(is_whole(&topic, partition, offset, text.as_bytes()));
                }
                cursor = events.id;
            } else {
                let (mut socket, begun) = begun(&server, &query).await;
                let mut own: Cursor = begun.parse().unwrap();
                for _ in 0..random.u32(0..6) {
                    if whole == 3 {
                        break;
                    }
                    let message = binary(&mut socket).await;
                    let known = own.next_offset(&message.topic, message.partition).unwrap_or(0);
                    for (offset, text) in message.records().into_iter().filter(|(offset, _)| *offset >= known) {
                        whole += u32::from(is_whole(&message.topic, message.partition.into(), offset, &text));
                    }
                    own.set(&message.topic, message.partition, message.end_offset);
                }
                cursor = own.to_string();
            }
        }
        assert!(cuts > 3, "{cuts}");
    };
    tokio::join!(appends, subscribes);
    server.stop().await;
}

/// The new topic has more records than the cursor's offset in the old one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_subscription_delivers_all_records_of_a_topic_that_was_created_again() {
    let (server, _dir) = served().await;
    for what in ["topic-name=again", "topic-prefix=ag"] {
        append_numbers(&server, "again", 0, 0..3).await;
        let query = format!("{what}&from=first");
        let mut events = Events::begun(&server, &query).await;
        for offset in 0..3 {
            assert_eq!(events.record().await.2, offset);
        }
        // A cursor that a client computes, before and after the broker has reported the topic's id.
        let (mut socket, begun_at) = begun(&server, &query).await;
        let first = said(&mut socket).await;
        assert_eq!((&first["type"], &first["topic"]), (&json!("topic"), &json!("again")));
        let mut own: Cursor = begun_at.parse().unwrap();
        own.identify("again", first["id"].as_str().unwrap().parse().unwrap());
        own.set("again", 0, binary(&mut socket).await.end_offset);
        assert_eq!(own.to_string(), events.id);
        drop(socket);
        assert_eq!(http(&server, "DELETE", "/topic?topic-name=again", "", b"").await.0, 204);
        append_numbers(&server, "again", 0, 0..5).await;

        let cursor = &events.id;
        let mut resumed = Events::begun(&server, &format!("{what}&resume={cursor}")).await;
        for offset in 0..5 {
            assert_eq!(resumed.record().await.2, offset, "{what}");
        }
        let (mut socket, _) = begun(&server, &format!("{what}&resume={cursor}")).await;
        let again = said(&mut socket).await;
        assert_eq!(again["type"], "topic", "it is another topic");
        assert_ne!(again["id"], first["id"]);
        assert_eq!(binary(&mut socket).await.first_offset, 0);
        // With its own id, it continues, and isn't introduced again.
        let (mut socket, _) = begun(&server, &format!("{what}&resume={}", resumed.id)).await;
        append_numbers(&server, "again", 0, 5..6).await;
        assert!(matches!(message(&mut socket).await, Message::Binary(_)));
        // A cursor may omit ids.
        let old = resumed.id.replace(&format!("~{}", again["id"].as_str().unwrap()), "").replace("0=5", "0=4");
        assert_ne!(old, resumed.id);
        let mut resumed = Events::begun(&server, &format!("{what}&resume={old}")).await;
        assert_eq!(resumed.record().await.2, 4);
        assert_eq!(http(&server, "DELETE", "/topic?topic-name=again", "", b"").await.0, 204);
    }
    server.stop().await;
}

/// The deliveries of a subscription by prefix follow from its first cursor, including records that are committed while
/// it begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_are_committed_while_a_subscription_begins_are_delivered_once() {
    let (server, _dir) = served().await;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let appends = async {
        let mut number = 0;
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            append_numbers(&server, &format!("t{}", number % 3), 0, number..number + 1).await;
            number += 1;
        }
    };
    let subscribes = async {
        for _ in 0..60 {
            let mut events = Events::begun(&server, "topic-prefix=t").await;
            let cursor = events.id.clone();
            let mut seen = Vec::new();
            for _ in 0..10 {
                seen.push(events.record().await);
            }
            drop(events);
            let mut again = Events::begun(&server, &format!("topic-prefix=t&resume={cursor}")).await;
            // By topic: topics take turns.
            for topic in ["t0", "t1", "t2"] {
                let of_topic: Vec<_> = seen.iter().filter(|record| record.0 == topic).cloned().collect();
                assert!(of_topic.windows(2).all(|pair| pair[0].2 + 1 == pair[1].2), "{of_topic:?}");
            }
            let mut left: Vec<_> = seen;
            while !left.is_empty() {
                let record = again.record().await;
                let place = left.iter().position(|seen| *seen == record);
                match place {
                    Some(place) => drop(left.remove(place)),
                    None => assert!(
                        !left.iter().any(|seen| seen.0 == record.0),
                        "{record:?} was not delivered at first, before {left:?}"
                    ),
                }
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    tokio::join!(appends, subscribes);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_begins_at_a_time_an_offset_or_in_one_partition() {
    let (server, _dir) = served().await;
    create(&server, "two", &json!({"partitions": 2})).await;
    append_numbers(&server, "two", 0, 0..3).await;
    append_numbers(&server, "two", 1, 0..2).await;
    let between = jiff::Timestamp::now();
    append_numbers(&server, "two", 1, 2..4).await;
    append_numbers(&server, "one", 0, 0..2).await;
    let first = async |query: &str| {
        let mut events = Events::begun(&server, query).await;
        let (topic, partition, offset, _) = events.record().await;
        (topic, partition, offset)
    };
    let time = between.to_string();
    assert_eq!(first(&format!("topic-name=two&from={time}")).await, ("two".into(), 1, 2));
    assert_eq!(first(&format!("topic-prefix=o&from={time}")).await, ("one".into(), 0, 0));
    assert_eq!(first("topic-name=two&partition=1&from=first").await, ("two".into(), 1, 0));
    assert_eq!(first("topic-name=two&partition=1&from=3").await, ("two".into(), 1, 3));
    assert_eq!(first("topic-name=one&from=1").await, ("one".into(), 0, 1));
    // A position after the end is of another topic of that name.
    assert_eq!(first("topic-name=one&resume=0;one/0=99").await, ("one".into(), 0, 0));
    // Nothing before that time, in the future.
    let mut events = Events::begun(&server, "topic-prefix=&from=2200-01-01T00:00:00Z").await;
    append_numbers(&server, "one", 0, 2..3).await;
    server.stop().await;
    assert_eq!(events.next().await.unwrap().0, "end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_selects_structured_values() {
    let (server, _dir) = served().await;
    create(&server, "values", &json!({"payload": "value"})).await;
    create(&server, "bytes", &json!({})).await;
    let value = |port: u64| rawline_value::to_bytes(&BTreeMap::from([("port", port)])).unwrap();
    let mut socket = begun(&server, "topic-prefix=&where=port=53").await.0;
    let mut events = Events::begun(&server, "topic-name=values&where=port=53").await;
    append(&server, "bytes", 0, &["{\"port\":53}"]).await;
    for ports in [[80, 53], [1, 2], [53, 53]] {
        let mut batch = Builder::new(Codec::Zstd, Limits::FORMAT);
        ports.iter().for_each(|port| batch.push(&value(*port)).unwrap());
        let mut bytes = Vec::new();
        batch.finish_into(1_700_000_000_000_000, 0, 0, &mut bytes).unwrap();
        let target = "/records?topic-name=values";
        let answer = http(&server, "POST", target, "content-type: application/vnd.rawline.batch", &bytes).await;
        assert_eq!(answer.0, 201);
    }
    let mut offsets = Vec::new();
    while offsets.len() < 3 {
        let message = binary(&mut socket).await;
        assert_eq!((message.kind, &*message.topic, message.time_us), (3, "values", 1_700_000_000_000_000));
        let count = u32::from_le_bytes(message.content[..4].try_into().unwrap()) as usize;
        let mut at = 8 + count * 12;
        for number in 0..count {
            let offset = &message.content[8 + number * 8..][..8];
            offsets.push(u64::from_le_bytes(offset.try_into().unwrap()));
            let size = &message.content[8 + count * 8 + number * 4..][..4];
            let size = u32::from_le_bytes(size.try_into().unwrap()) as usize;
            assert_eq!(message.content[at..at + size], value(53));
            at += size;
        }
        assert_eq!(at, message.content.len());
    }
    assert_eq!(offsets, [1, 4, 5]);
    for offset in [1, 4, 5] {
        let (kind, data) = events.next().await.unwrap();
        assert_eq!((&*kind, &data["offset"], &data["record"]), ("message", &json!(offset), &json!({"port": 53})));
    }
    // The cursor passes records that were not selected.
    append(&server, "values", 0, &["no value"]).await;
    while !events.id.ends_with("/0=7") {
        events.block().await.unwrap();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_subscriber_skips_or_is_disconnected() {
    let (server, _dir) = served().await;
    append_numbers(&server, "t", 0, 0..100).await;
    let mut events = Events::begun(&server, "topic-name=t&from=first&slow=skip&max-lag=10").await;
    let (kind, data) = events.next().await.unwrap();
    assert_eq!((&*kind, data), ("skipped", json!({"topic": "t", "partition": 0, "records": 95, "next_offset": 95})));
    assert_eq!(events.record().await.2, 95);
    let (mut socket, _) = begun(&server, "topic-name=t&from=first&slow=skip&max-lag=10").await;
    let skipped = control(&mut socket).await;
    assert_eq!((&skipped["type"], &skipped["next_offset"]), (&json!("skipped"), &json!(95)));
    assert_eq!(binary(&mut socket).await.records().len(), 5);
    // It catches up first, and is within the limit then. One commit exceeds it.
    let (mut socket, _) = begun(&server, "topic-name=t&from=first&max-lag=10").await;
    assert_eq!(binary(&mut socket).await.end_offset, 100);
    append_numbers(&server, "t", 0, 100..150).await;
    let end = loop {
        let said = control(&mut socket).await;
        if said["type"] == "end" {
            break said;
        }
        assert_eq!(said["type"], "cursor");
    };
    assert_eq!(end["code"], "subscriber_slow");
    let Message::Close(Some(frame)) = message(&mut socket).await else { panic!("no close frame") };
    assert_eq!(frame.code, CloseCode::Again);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_trimmed_is_reported_and_deleted_topics_too() {
    let (server, _dir) = served().await;
    append_numbers(&server, "a.one", 0, 0..10).await;
    append_numbers(&server, "a.two", 0, 0..1).await;
    let trim = "/trim?topic-name=a.one&before=6";
    assert_eq!(http(&server, "POST", trim, "x: y", b"").await.0, 200);
    let mut events = Events::begun(&server, "topic-name=a.one&resume=0;a.one/0=2").await;
    let (kind, data) = events.next().await.unwrap();
    assert_eq!((&*kind, &data["records"], &data["next_offset"]), ("skipped", &json!(4), &json!(6)));
    assert_eq!(events.record().await.2, 6);
    let mut all = Events::begun(&server, "topic-prefix=a.").await;
    let delete =
        async |topic: &str| http(&server, "DELETE", &format!("/topic?topic-name={topic}"), "x: y", b"").await.0;
    assert_eq!(delete("a.one").await, 204);
    let deleted = ("deleted".to_owned(), json!({"topic": "a.one"}));
    loop {
        match events.next().await.unwrap() {
            (kind, _) if kind == "message" => {}
            event => break assert_eq!(event, deleted),
        }
    }
    let (kind, data) = events.next().await.unwrap();
    assert_eq!((&*kind, &data["code"]), ("end", &json!("topic_not_found")));
    assert!(events.next().await.is_none());
    assert_eq!(all.next().await.unwrap(), deleted);
    // Another topic of that name.
    append_numbers(&server, "a.one", 0, 0..1).await;
    assert_eq!(all.record().await, ("a.one".into(), 0, 0, "0".into()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafkas_and_compressed_batches_are_delivered_as_they_are() {
    let (server, _dir) = served().await;
    let kafka = kafka::batch(RecordCodec::Gzip, 5, None);
    let post = async |media: &str, bytes: &[u8]| {
        let header = format!("content-type: {media}");
        assert_eq!(http(&server, "POST", "/records?topic-name=t", &header, bytes).await.0, 201);
    };
    post("application/vnd.kafka.record-batch", &kafka).await;
    let ours = rawline_testkit::batches::batch(Codec::Lz4, &[b"five".to_vec(), b"six".to_vec()]);
    post("application/vnd.rawline.batch", &ours).await;
    let (mut socket, _) = begun(&server, "topic-name=t&from=3").await;
    let first = binary(&mut socket).await;
    assert_eq!((first.kind, first.first_offset, first.end_offset), (2, 0, 5));
    // Without the fields that the broker sets.
    assert_eq!(first.content[16..], kafka[16..]);
    let second = binary(&mut socket).await;
    assert_eq!((second.first_offset, second.end_offset), (5, 7));
    assert_eq!(second.content, ours);
    let mut events = Events::begun(&server, "topic-name=t&from=3").await;
    let (_, data) = events.next().await.unwrap();
    assert_eq!((&data["offset"], &data["key"]), (&json!(3), &json!("key 3")));
    let json =
        http(&server, "GET", "/records?topic-name=t&offset=3&max-records=1", "accept: application/json", b"").await;
    let mut record = serde_json::from_slice::<Value>(&json.2).unwrap()[0].clone();
    record["topic"] = json!("t");
    record["partition"] = json!(0);
    assert_eq!(data, record);
    assert_eq!(events.next().await.unwrap().1["record"], Value::Null);
    assert_eq!(events.record().await.3, "five");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_and_hostile_records_are_one_line_each() {
    let (server, _dir) = served().await;
    let records = [vec![b'x'; 3 << 20], b"data: a\n\nid: b\r\n\0\xff".to_vec(), vec![0; 100_000], b"\r\n\r\n".to_vec()];
    let batch = rawline_testkit::batches::batch(Codec::None, &records);
    let post = ("POST", "/records?topic-name=t", "content-type: application/vnd.rawline.batch");
    assert_eq!(http(&server, post.0, post.1, post.2, &batch).await.0, 201);
    let mut events = Events::begun(&server, "topic-name=t&from=first").await;
    for record in &records {
        let (_, data) = events.next().await.unwrap();
        let expected = serde_json::to_value(rawline_contract::JsonRecord::new(0, "", record)).unwrap();
        assert_eq!((&data["record"], &data["record_base64"]), (&expected["record"], &expected["record_base64"]));
    }
    drop(events);
    server.wait_for_buffers();
    server.stop().await;
}

/// A subscriber that doesn't read holds no records: pending ones are in the log. One that holds buffers is
/// disconnected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_that_never_read_hold_nothing() {
    let mut config = HttpConfig::default();
    config.waits.answer = Duration::from_millis(300);
    config.waits.answer_piece = Duration::from_millis(300);
    let server = Served::on(in_memory(), config, 64 << 20).await;
    let record = "x".repeat(1 << 20);
    let mut stuck = Vec::new();
    for _ in 0..10 {
        append(&server, "t", 0, &[&*record, &*record]).await;
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"GET /subscribe?topic-name=t&from=first HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        stuck.push((stream, open(&server, "topic-name=t&from=first").await));
    }
    let (mut reader, _) = begun(&server, "topic-name=t").await;
    append(&server, "t", 0, &["after"]).await;
    assert_eq!(binary(&mut reader).await.records(), [(20, b"after".to_vec())]);
    wait_until(|| server.pool.bytes_free() == server.pool.bytes()).await;
    drop(stuck);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_end_with_the_broker() {
    let (server, _dir) = served().await;
    append_numbers(&server, "t", 0, 0..1).await;
    let mut events = Events::begun(&server, "topic-name=t").await;
    let (mut socket, _) = begun(&server, "topic-name=t").await;
    let stop = tokio::spawn(server.stop());
    let (kind, data) = events.next().await.unwrap();
    assert_eq!((&*kind, &data["code"]), ("end", &json!("shutting_down")));
    assert!(events.next().await.is_none());
    assert_eq!(control(&mut socket).await["code"], "shutting_down");
    let Message::Close(Some(frame)) = message(&mut socket).await else { panic!("no close frame") };
    assert_eq!(frame.code, CloseCode::Away);
    drop(socket);
    stop.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_wrong_with_a_subscription_is_said_at_once() {
    let (server, _dir) = served().await;
    create(&server, "two", &json!({"partitions": 2})).await;
    create(&server, "one", &json!({})).await;
    let many = "topic-prefix=a&".repeat(2) + &(0..1024).map(|n| format!("topic-name={n}&")).collect::<String>();
    for (query, code) in [
        ("", "query_missing"),
        (&*many, "query_invalid"),
        ("topic-name=none", "topic_not_found"),
        ("topic-name=one&topic-name=none", "topic_not_found"),
        ("topic-name=a/b", "topic_name"),
        ("topic-name=one&partition=1", "partition_not_found"),
        ("topic-name=one&partition=x", "query_number"),
        ("topic-name=one&from=1", "offset_out_of_bounds"),
        ("topic-name=one&from=99999999999999999999", "query_number"),
        ("topic-name=one&from=yesterday", "query_invalid"),
        ("topic-name=one&from=2026-11-26T10:00:00[Europe/Berlin]", "query_invalid"),
        ("topic-name=one&from=", "query_invalid"),
        ("topic-name=one&from=-1", "query_invalid"),
        ("topic-name=two&from=0", "query_invalid"),
        ("topic-name=two&from=0&partition=2", "partition_not_found"),
        ("topic-name=two&topic-name=one&from=0", "query_invalid"),
        ("topic-prefix=one&from=0", "query_invalid"),
        ("topic-name=one&resume=", "query_invalid"),
        ("topic-name=one&resume=1;one", "query_invalid"),
        ("topic-name=one&slow=wait", "query_invalid"),
        ("topic-name=one&max-lag=0", "query_invalid"),
        ("topic-name=one&max-lag=x", "query_number"),
        ("topic-name=one&where=port", "query_invalid"),
        ("topic-name=one&where=port=53", "query_invalid"),
        (&format!("topic-prefix={}", "a".repeat(1000)), "query_invalid"),
    ] {
        let (status, _, body) = http(&server, "GET", &format!("/subscribe?{query}"), "x: y", b"").await;
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["code"], code, "{query}: {body}");
        assert!((400..500).contains(&status), "{query}: {status}");
        let stream = TcpStream::connect(server.address).await.unwrap();
        let url = format!("ws://{}/subscribe?{query}", server.address);
        let refused = tokio_tungstenite::client_async(url, stream).await;
        let Err(Error::Http(answer)) = refused else { panic!("{query}: {refused:?}") };
        assert_eq!(answer.status(), status, "{query}");
    }
    let (status, _, _) = http(&server, "GET", "/subscribe?topic-name=one", "last-event-id: x", b"").await;
    assert_eq!(status, 400);
    let (status, head, body) = http(&server, "HEAD", "/subscribe?topic-name=one", "x: y", b"").await;
    assert!(status == 200 && head.contains("content-type: text/event-stream") && body.is_empty(), "{head}");
    let offered = "sec-websocket-protocol: rawline.subscribe.v1";
    let mut request = format!("ws://{}/subscribe?topic-name=one", server.address).into_client_request().unwrap();
    let (name, value) = offered.split_once(": ").unwrap();
    request.headers_mut().insert(name, value.parse().unwrap());
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (_socket, answer) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    assert_eq!(answer.headers()[name], value);
}

/// Records of transactions arrive once these are committed, those of aborted ones never.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_get_committed_records_only() {
    let (server, _dir) = served().await;
    let mut client = kafka::Client::connect(&server).await;
    client.create("t").await;
    let (mut socket, _) = begun(&server, "topic-name=t").await;
    let mut events = Events::begun(&server, "topic-prefix=t").await;
    let mut instance = transactions::open(&mut client, 5, 60_000).await.1;
    for (number, is_committed) in [(0, false), (4, true)] {
        let records = transactions::transactional(instance, 0, 3);
        let version = transactions::FIRST_WITH_TRANSACTIONS;
        let produced = transactions::produce(&mut client, version, Some(transactions::NAME), "t", &records).await;
        assert_eq!(produced, (0, number));
        let (error, next) = transactions::end(&mut client, 5, instance, is_committed).await;
        assert_eq!(error, 0);
        instance = next;
    }
    // The messages follow each other without a gap: empty batches cover aborted records and markers.
    let (mut position, mut counts) = (0, Vec::new());
    while position < 8 {
        let message = binary(&mut socket).await;
        assert_eq!((message.kind, message.first_offset), (2, position));
        position = message.end_offset;
        let mut left = &message.content[..];
        while !left.is_empty() {
            let number = |at: usize| i32::from_be_bytes(left[at..at + 4].try_into().unwrap());
            counts.push((i64::from_be_bytes(left[..8].try_into().unwrap()), number(57)));
            left = &left[number(8) as usize + 12..];
        }
    }
    counts.retain(|(_, records)| *records > 0);
    assert_eq!(counts, [(4, 3)]);
    for offset in 4..7 {
        assert_eq!(events.next().await.unwrap().1["offset"], offset);
    }
    append(&server, "t", 0, &["after"]).await;
    assert_eq!(events.record().await.2, 8);
    server.stop().await;
}
