//! The WebSocket of Zeek's Broker, with an independent client.

#![allow(clippy::disallowed_methods)] // Tests start tasks where they like.

use crate::support::{DEADLINE, connect, get, http, wait_until};
use futures_util::{SinkExt, StreamExt};
use rawline_server::Access;
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

type Client = WebSocketStream<TcpStream>;

/// How long nothing arrives where nothing is expected.
const SILENCE: Duration = Duration::from_millis(300);

async fn open(server: &Served) -> Client {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let url = format!("ws://{}/v1/messages/json", server.address);
    tokio_tungstenite::client_async(url, stream).await.unwrap().0
}

/// A client that has subscribed to these prefixes.
async fn subscribed(server: &Served, prefixes: &[&str]) -> Client {
    let mut client = open(server).await;
    send(&mut client, &json!(prefixes).to_string()).await;
    let ack = receive(&mut client).await;
    assert_eq!(ack["type"], "ack");
    assert_eq!(ack["endpoint"].as_str().unwrap().len(), 36, "{ack}");
    client
}

async fn send(client: &mut Client, text: &str) {
    client.send(Message::text(text)).await.unwrap();
}

async fn text(client: &mut Client) -> String {
    client.next().await.unwrap().unwrap().into_text().unwrap().to_string()
}

async fn receive(client: &mut Client) -> Value {
    let text = text(client).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

async fn is_silent(client: &mut Client) -> bool {
    tokio::time::timeout(SILENCE, client.next()).await.is_err()
}

fn count(topic: &str, number: u64) -> String {
    json!({"type": "data-message", "topic": topic, "@data-type": "count", "data": number}).to_string()
}

async fn close_reason(client: &mut Client) -> (CloseCode, String) {
    loop {
        match client.next().await {
            Some(Ok(Message::Close(Some(frame)))) => return (frame.code, frame.reason.to_string()),
            Some(Ok(Message::Text(_))) => {}
            other => panic!("no close frame with a reason: {other:?}"),
        }
    }
}

/// The recorded session of the original: ours gives the same responses, except where the original's are
/// defects.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_as_with_the_original() {
    let server = Served::start().await;
    let mut first = subscribed(&server, &["/test", "/foo"]).await;
    let mut second = subscribed(&server, &[]).await;
    let event = concat!(
        r#"{"type":"data-message","topic":"/test/x","@data-type":"vector","data":["#,
        r#"{"@data-type":"count","data":1},{"@data-type":"string","data":"hi"}]}"#
    );
    send(&mut second, event).await;
    assert_eq!(text(&mut first).await, event);
    send(&mut second, r#"{"topic": "/foo", "@data-type": "timespan", "data": "90s"}"#).await;
    let expected = r#"{"type":"data-message","topic":"/foo","@data-type":"timespan","data":"90s"}"#;
    assert_eq!(text(&mut first).await, expected);
    // A prefix is one of bytes.
    send(&mut second, &count("/bar", 1)).await;
    send(&mut second, &count("/foobar", 2)).await;
    assert_eq!(receive(&mut first).await["data"], 2);
    // A client doesn't get its own messages back.
    send(&mut first, &count("/test/self", 3)).await;
    for (input, wrong, context) in [
        (5, "How is it going?", "contained malformed JSON -> caf::pec::unexpected_character(1, 1)"),
        (6, "[]", "expected a JSON object"),
        (7, r#"{"topic":"/test","@data-type":"phone","data":"555-0123"}"#, "contained invalid data"),
    ] {
        send(&mut second, wrong).await;
        let answer = receive(&mut second).await;
        assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!("deserialization_failed")));
        assert_eq!(answer["context"], format!("input #{input} {context}"));
    }
    send(&mut second, r#"{"type":"data-message","@data-type":"count","data":5}"#).await;
    let set = |numbers: [u64; 2]| {
        let elements = numbers.map(|number| json!({"@data-type": "count", "data": number}));
        json!({"type": "data-message", "topic": "/test", "@data-type": "set", "data": elements}).to_string()
    };
    send(&mut second, &set([1, 1])).await;
    let answer = receive(&mut second).await;
    let failed = "caused an internal error -> deserialization_failed(\"failed to parse data\")";
    assert_eq!(answer["context"], format!("input #9 {failed}"));
    send(&mut second, "").await;
    let eof = "contained malformed JSON -> caf::pec::unexpected_eof(1, 1)";
    assert_eq!(receive(&mut second).await["context"], format!("input #10 {eof}"));
    send(&mut second, &set([2, 1])).await;
    let sorted: Value = serde_json::from_str(&set([1, 2])).unwrap();
    assert_eq!(receive(&mut first).await, sorted);
    // The original drops the connection without a word.
    second.send(Message::binary(vec![0, 1])).await.unwrap();
    assert_eq!(close_reason(&mut second).await.0, CloseCode::Unsupported);
    assert!(is_silent(&mut first).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_subscription_gets_an_error_and_another_chance() {
    let server = Served::start().await;
    let mut client = open(&server).await;
    for wrong in [r#"{"foo":1}"#, "hello", r#"["a",1]"#, r#""x""#] {
        send(&mut client, wrong).await;
        let answer = receive(&mut client).await;
        assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!("deserialization_failed")));
    }
    send(&mut client, "[\"/a\"]").await;
    assert_eq!(receive(&mut client).await["type"], "ack");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_appended_over_http_reach_subscribers_and_published_ones_are_records() {
    let server = Served::start().await;
    let create = |name: &str| format!("/topic?topic-name={name}");
    let settings = br#"{"payload":"value","partitions":2}"#;
    assert_eq!(http(&server, "POST", &create("zeek.event"), "x: y", settings).await.0, 201);
    assert_eq!(http(&server, "POST", &create("zeek.bytes"), "x: y", b"{}").await.0, 201);
    let append = async |name: &str, partition: u8, record: &[u8]| {
        let target = format!("/records?topic-name={name}&partition={partition}");
        let answer = http(&server, "POST", &target, "content-type: application/octet-stream", record).await;
        assert_eq!(answer.0, 201, "{answer:?}");
    };
    // A count: 7, 8.
    append("zeek.event", 0, &[2, 0, 0, 0, 0, 0, 0, 0, 7]).await;
    let mut client = subscribed(&server, &["/zeek/"]).await;
    append("zeek.bytes", 0, &[2, 0, 0, 0, 0, 0, 0, 0, 1]).await;
    append("zeek.event", 0, b"not a value").await;
    append("zeek.event", 1, &[2, 0, 0, 0, 0, 0, 0, 0, 8]).await;
    // Only what is appended after the subscription, of topics of values.
    assert_eq!(text(&mut client).await, count_text("/zeek/event", 8));
    append("zeek.event", 0, &[2, 0, 0, 0, 0, 0, 0, 0, 9]).await;
    assert_eq!(text(&mut client).await, count_text("/zeek/event", 9));
    // A topic that comes later, from its first record.
    let mut other = subscribed(&server, &[]).await;
    send(&mut other, &count("/zeek/new.topic", 10)).await;
    assert_eq!(text(&mut client).await, count_text("/zeek/new.topic", 10));
    let (status, _, body) =
        http(&server, "GET", "/records?topic-name=zeek.new-.2Etopic&offset=0", "accept: application/json", b"").await;
    assert_eq!(status, 200);
    let records: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(records[0]["record"], 10, "{records}");
    // Readers of bytes expect something else.
    send(&mut other, &count("/zeek/bytes", 11)).await;
    let answer = receive(&mut other).await;
    assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!("publish_failed")), "{answer}");
    assert!(answer["context"].as_str().unwrap().starts_with("input #2 "), "{answer}");
}

/// Its name may get another topic, which is delivered from its first record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_deleted_and_created_again_is_delivered() {
    let server = Served::start().await;
    let mut client = subscribed(&server, &["/again"]).await;
    let mut publisher = subscribed(&server, &[]).await;
    for number in 0..3 {
        send(&mut publisher, &count("/again", number)).await;
        assert_eq!(text(&mut client).await, count_text("/again", number));
        assert_eq!(http(&server, "DELETE", "/topic?topic-name=again", "x: y", b"").await.0, 204);
        assert!(is_silent(&mut client).await);
    }
}

fn count_text(topic: &str, number: u64) -> String {
    format!(r#"{{"type":"data-message","topic":"{topic}","@data-type":"count","data":{number}}}"#)
}

/// Several clients publish to the same topics and each gets everything but its own, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_messages_arrive_once_and_in_order_and_no_client_gets_its_own() {
    const MESSAGES: u64 = 2000;
    let server = Served::start().await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(subscribed(&server, &["/many"]).await);
    }
    let mut tasks = Vec::new();
    for (number, client) in (0..).zip(clients) {
        let (mut sink, mut stream) = client.split();
        let sending = async move {
            for message in 0..MESSAGES {
                let topic = format!("/many/{}", message % 3);
                sink.send(Message::text(count(&topic, number * MESSAGES + message))).await.unwrap();
            }
            sink
        };
        let receiving = async move {
            let mut last = std::collections::HashMap::new();
            for _ in 0..2 * MESSAGES {
                let text = stream.next().await.unwrap().unwrap().into_text().unwrap();
                let message: Value = serde_json::from_str(&text).unwrap();
                let data = message["data"].as_u64().unwrap();
                assert_ne!(data / MESSAGES, number, "its own");
                let key = (message["topic"].as_str().unwrap().to_owned(), data / MESSAGES);
                assert!(last.insert(key, data).is_none_or(|last| last < data), "{text}");
            }
            stream
        };
        tasks.push(tokio::spawn(async { tokio::join!(sending, receiving) }));
    }
    for task in tasks {
        let (_sink, mut stream) = tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
        assert!(tokio::time::timeout(SILENCE, stream.next()).await.is_err(), "more than there is");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_upgrade_needs_a_key_and_a_handshake() {
    let config = HttpConfig { access: Access::of_keys(vec!["secret".into()]), ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, 64 << 20).await;
    let url = format!("ws://{}/v1/messages/json", server.address);
    for (key, status) in [(None, 401), (Some("Bearer wrong"), 401), (Some("Bearer secret"), 101)] {
        let mut request = url.as_str().into_client_request().unwrap();
        if let Some(key) = key {
            request.headers_mut().insert("authorization", key.parse().unwrap());
        }
        let stream = TcpStream::connect(server.address).await.unwrap();
        let opened = match tokio_tungstenite::client_async(request, stream).await {
            Ok(_) => 101,
            Err(Error::Http(response)) => response.status().as_u16(),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(opened, status, "{key:?}");
    }
    let (status, _, body) = http(&server, "GET", "/v1/messages/json", "authorization: Bearer secret", b"").await;
    assert_eq!(status, 400);
    assert!(String::from_utf8(body).unwrap().contains("websocket_needed"));
}

/// The upgraded connection keeps its place, and gives it back; bytes that follow the request at once aren't lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_may_follow_the_handshake_at_once() {
    let server = Served::start().await;
    let mut stream = connect(&server).await;
    // Another request before it, on the same connection.
    let upgrade = "GET /v1/messages/json HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let bytes = [get("/health").as_bytes(), upgrade.as_bytes(), b"\x81\x82\0\0\0\0[]\x88\x80\0\0\0\0"].concat();
    stream.write_all(&bytes).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{text}");
    assert!(text.contains(r#"{"type":"ack","#), "{text}");
    assert!(answer.ends_with(b"\x88\x00"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_sessions_are_refused_and_leave_room_for_requests() {
    let config = HttpConfig { connections_max: 3, ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, 64 << 20).await;
    let first = subscribed(&server, &[]).await;
    let _second = subscribed(&server, &[]).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let url = format!("ws://{}/v1/messages/json", server.address);
    match tokio_tungstenite::client_async(url, stream).await {
        Err(Error::Http(response)) => assert_eq!(response.status(), 503),
        other => panic!("{other:?}"),
    }
    assert_eq!(http(&server, "GET", "/topics", "x: y", b"").await.0, 200);
    drop(first);
    let is_free = async || {
        let stream = TcpStream::connect(server.address).await.unwrap();
        tokio_tungstenite::client_async(format!("ws://{}/v1/messages/json", server.address), stream).await.is_ok()
    };
    while !is_free().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_says_so() {
    let server = Served::start().await;
    let mut client = subscribed(&server, &["/a"]).await;
    let stop = tokio::spawn(server.stop());
    assert_eq!(close_reason(&mut client).await.0, CloseCode::Away);
    drop(client);
    stop.await.unwrap();
}

/// A subscriber that reads nothing costs one read's buffers and then its connection; others continue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_reads_nothing_is_disconnected() {
    let mut config = HttpConfig::default();
    config.waits.answer = Duration::from_millis(500);
    config.waits.answer_piece = Duration::from_millis(500);
    let server = Served::on(in_memory(), config, 64 << 20).await;
    let slow = subscribed(&server, &["/slow"]).await;
    let mut fast = subscribed(&server, &["/slow"]).await;
    let mut publisher = subscribed(&server, &[]).await;
    let record = json!({"topic": "/slow", "@data-type": "string", "data": "x".repeat(50_000)}).to_string();
    for _ in 0..1000 {
        send(&mut publisher, &record).await;
        assert_eq!(receive(&mut fast).await["topic"], "/slow");
    }
    wait_until(|| server.pool.bytes_free() == server.pool.bytes()).await;
    drop(slow);
}
