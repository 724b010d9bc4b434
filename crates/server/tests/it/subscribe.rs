//! `GET /subscribe`, as server-sent events and on a WebSocket, with an independent client.

#![allow(clippy::disallowed_methods)] // Tests start tasks where they like.

use crate::support::{DEADLINE, http};
use futures_util::{SinkExt, StreamExt};
use rawline_batch::{Batch, Limits};
use rawline_testkit::served::Served;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// A stream of server-sent events.
struct Events {
    stream: TcpStream,
    /// What has arrived in chunks, and the text that they hold.
    chunks: Vec<u8>,
    text: String,
    is_over: bool,
    /// The newest id.
    id: String,
    head: String,
}

/// An event: its type and its data.
type Event = (String, Value);

impl Events {
    async fn open(server: &Served, query: &str, header: &str) -> Events {
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
    async fn next(&mut self) -> Option<Event> {
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
async fn control(socket: &mut Socket) -> Value {
    serde_json::from_str(message(socket).await.to_text().unwrap()).unwrap()
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

/// The next binary message.
async fn binary(socket: &mut Socket) -> Binary {
    loop {
        match message(socket).await {
            Message::Binary(bytes) => return Binary::parse(&bytes),
            Message::Text(text) if text.contains(r#""type":"cursor""#) => {}
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
async fn records_arrive_as_events_and_the_cursor_goes_on() {
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
    assert!(events.id.ends_with(";dns/0=3"), "{}", events.id);
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
    assert!(cursor.ends_with(";dns/0=1"), "{cursor}");
    let first = binary(&mut socket).await;
    assert_eq!((first.kind, &*first.topic, first.partition), (1, "dns", 0));
    assert_eq!(first.records(), [(1, b"one".to_vec())]);
    assert!(first.time_us > 1_700_000_000_000_000);
    append(&server, "dns", 0, &["two"]).await;
    assert_eq!(binary(&mut socket).await.records(), [(2, b"two".to_vec())]);
    let told = control(&mut socket).await;
    assert_eq!(told["type"], "cursor");
    assert!(told["cursor"].as_str().unwrap().ends_with(";dns/0=3"), "{told}");
    socket.send(Message::text("hello")).await.unwrap();
    let Message::Close(Some(frame)) = message(&mut socket).await else { panic!("no close frame") };
    assert_eq!((frame.code, &*frame.reason), (CloseCode::Policy, "this WebSocket takes no messages"));
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
