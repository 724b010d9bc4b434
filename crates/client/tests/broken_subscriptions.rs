//! Subscriptions of servers that break off, close, or send invalid bytes: no record is lost or duplicated,
//! and invalid bytes are an error.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::disallowed_methods)] // A test.
#![allow(clippy::result_large_err)] // The callback's type is the library's.

use rawline_batch::{Builder, Codec, Limits};
use rawline_client::{Client, ClientConfig, ClientError, Delivered, RetryPolicy, Subscription, SubscriptionConfig};
use rawline_contract::subscription::{Delivery, DeliveryKind};
use std::io::Write;
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;
use tungstenite::Message;
use tungstenite::handshake::server::{Request, Response};

/// A server's behavior on a connection.
enum Step {
    Text(&'static str),
    Binary(Vec<u8>),
    /// The beginning of a frame that doesn't end.
    Raw(Vec<u8>),
    Ping,
}

/// A server with these steps on each connection, which it closes afterwards. It returns the cursors of the requests.
fn serve(turns: Vec<Vec<Step>>) -> (Client, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = ClientConfig::new(format!("http://{}", listener.local_addr().unwrap()));
    config.api_key = Some("secret".into());
    let served = std::thread::spawn(move || {
        let mut cursors = Vec::new();
        for steps in turns {
            let (stream, _) = listener.accept().unwrap();
            let callback = |request: &Request, response: Response| {
                let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
                assert_eq!(header("authorization").as_deref(), Some("Bearer secret"));
                cursors.push(header("last-event-id").unwrap_or_default());
                Ok(response)
            };
            let mut socket = tungstenite::accept_hdr(stream, callback).unwrap();
            for step in steps {
                // A client that has seen something wrong doesn't read the rest.
                let _ = match step {
                    Step::Text(text) => socket.send(Message::text(text)),
                    Step::Binary(bytes) => socket.send(Message::binary(bytes)),
                    Step::Ping => socket.send(Message::Ping("here?".into())),
                    Step::Raw(bytes) => socket.get_mut().write_all(&bytes).map_err(Into::into),
                };
            }
        }
        cursors
    });
    (Client::new(config).unwrap(), served)
}

/// A message of records whose text is their offset.
fn message(topic: &str, codec: Codec, offsets: std::ops::Range<u64>) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::default());
    offsets.clone().for_each(|offset| builder.push(format!("{offset}").as_bytes()).unwrap());
    let (first_offset, end_offset) = (offsets.start, offsets.end);
    let head = Delivery { kind: DeliveryKind::Batches, topic, partition: 0, first_offset, end_offset, time_us: 0 };
    let mut bytes = Vec::new();
    head.put(&mut bytes);
    builder.finish_into(1, 0, 0, &mut bytes).unwrap();
    bytes
}

fn quick() -> RetryPolicy {
    RetryPolicy { wait_min: Duration::from_millis(1), ..RetryPolicy::default() }
}

/// The next delivery, as text.
async fn next(subscription: &mut Subscription) -> Result<String, ClientError> {
    Ok(match subscription.next().await? {
        Delivered::Records(fetched) => {
            let mut text = format!("{}:", fetched.topic());
            let mut records = fetched.records();
            while let Some(record) = records.next_record()? {
                assert_eq!(record.bytes, record.offset.to_string().as_bytes());
                text += &format!(" {}", record.offset);
            }
            text
        }
        Delivered::Skipped { topic, records, next_offset, .. } => {
            format!("{topic}: skipped {records}, {next_offset} is next")
        }
        Delivered::Deleted { topic } => format!("{topic} deleted"),
    })
}

const SUBSCRIBED: Step = Step::Text(r#"{"type":"subscribed","cursor":"5;dns/0=0"}"#);

#[tokio::test]
async fn another_connection_continues_after_what_was_delivered() {
    let whole = message("dns", Codec::None, 2..4);
    let half = [&[0x82, 126, (whole.len() >> 8) as u8, whole.len() as u8], &whole[..whole.len() / 2]].concat();
    let (client, served) = serve(vec![
        vec![SUBSCRIBED, Step::Binary(message("dns", Codec::None, 0..2)), Step::Raw(half)],
        vec![
            Step::Text(r#"{"type":"subscribed","cursor":"5;dns/0=2"}"#),
            Step::Text(r#"{"type":"weather","sunny":true}"#),
            Step::Ping,
            // Compressed batches come whole.
            Step::Binary(message("dns", Codec::Zstd, 0..4)),
            Step::Binary(message("http", Codec::None, 7..8)),
            Step::Text(r#"{"type":"skipped","topic":"dns","partition":0,"records":96,"next_offset":100}"#),
            Step::Text(r#"{"type":"deleted","topic":"http"}"#),
            Step::Binary(message("http", Codec::None, 0..1)),
        ],
        vec![SUBSCRIBED, Step::Text(r#"{"type":"cursor","cursor":"9;dns/0=120"}"#)],
        vec![SUBSCRIBED, Step::Binary(message("dns", Codec::None, 120..121))],
    ]);
    let config = SubscriptionConfig { retries: quick(), ..SubscriptionConfig::with_prefix("") };
    let mut subscription = Subscription::new(client, config).await.unwrap();
    assert_eq!(subscription.cursor(), "5;dns/0=0");
    let mut delivered = Vec::new();
    while delivered.len() < 7 {
        // A wait that is given up loses nothing.
        tokio::select! {
            biased;
            event = next(&mut subscription) => delivered.push(event.unwrap()),
            () = tokio::time::sleep(Duration::from_micros(200)) => {}
        }
    }
    let expected = [
        "dns: 0 1",
        "dns: 2 3",
        "http: 7",
        "dns: skipped 96, 100 is next",
        "http deleted",
        // Another topic of its name.
        "http: 0",
        "dns: 120",
    ];
    assert_eq!(delivered, expected);
    assert_eq!(subscription.cursor(), "9;dns/0=121");
    drop(subscription);
    assert_eq!(served.join().unwrap(), ["", "5;dns/0=2", "5;dns/0=100;http/0=1", "9;dns/0=120"]);
}

#[tokio::test]
async fn what_no_broker_sends_is_an_error_and_the_next_call_connects_again() {
    let mut damaged = message("dns", Codec::None, 0..2);
    let last = damaged.len() - 8;
    damaged[last] ^= 1;
    for (name, step, is_answer) in [
        ("no message", Step::Binary(vec![1, 2, 3]), true),
        ("no control message", Step::Text("hello"), true),
        ("a gap", Step::Binary(message("dns", Codec::None, 1..2)), true),
        ("what was delivered", Step::Binary(message("dns", Codec::None, 0..1)), false),
        ("a wrong cursor", Step::Text(r#"{"type":"cursor","cursor":"now"}"#), true),
        ("reserved bits", Step::Raw(vec![0xf2, 0]), true),
        ("a message without an end", Step::Raw([&[0x82, 127][..], &u64::MAX.to_be_bytes()].concat()), true),
        ("200 MB", Step::Raw([&[0x82, 127][..], &200_000_000_u64.to_be_bytes()].concat()), true),
        ("a damaged batch", Step::Binary(damaged), false),
        ("the end", Step::Text(r#"{"type":"end","code":"topic_not_found","error":"create it"}"#), false),
    ] {
        let delivers_twice = name == "what was delivered";
        let mut first = vec![SUBSCRIBED];
        if delivers_twice {
            first.push(Step::Binary(message("dns", Codec::None, 0..1)));
        }
        first.push(step);
        let from = u64::from(delivers_twice);
        let (client, served) = serve(vec![first, vec![SUBSCRIBED, Step::Binary(message("dns", Codec::None, from..5))]]);
        let config = SubscriptionConfig { retries: RetryPolicy::NONE, ..SubscriptionConfig::new("dns") };
        let mut subscription = Subscription::new(client, config).await.unwrap();
        if delivers_twice {
            assert_eq!(next(&mut subscription).await.unwrap(), "dns: 0");
        }
        let error = next(&mut subscription).await.unwrap_err();
        let expected = match error {
            ClientError::Answer { .. } => is_answer || delivers_twice,
            ClientError::Batch(_) => name == "a damaged batch",
            ClientError::Refused { .. } => name == "the end",
            _ => false,
        };
        assert!(expected, "{name}: {error}");
        let rest = if delivers_twice { "dns: 1 2 3 4" } else { "dns: 0 1 2 3 4" };
        assert_eq!(next(&mut subscription).await.unwrap(), rest, "{name}");
        drop(subscription);
        assert_eq!(served.join().unwrap(), ["", if delivers_twice { "5;dns/0=1" } else { "5;dns/0=0" }]);
    }
}

#[tokio::test]
async fn a_server_without_subscriptions_is_an_error() {
    for (first, is_answer) in [
        (Step::Binary(message("dns", Codec::None, 0..1)), true),
        (Step::Text(r#"{"type":"deleted","topic":"dns"}"#), true),
        (Step::Text(r#"{"type":"subscribed","cursor":""}"#), true),
        (Step::Text(r#"{"type":"end","code":"shutting_down","error":"later"}"#), false),
    ] {
        let (client, served) = serve(vec![vec![first]]);
        let config = SubscriptionConfig { retries: RetryPolicy::NONE, ..SubscriptionConfig::new("dns") };
        let error = Subscription::new(client, config).await.unwrap_err();
        assert_eq!(matches!(error, ClientError::Answer { .. }), is_answer, "{error}");
        served.join().unwrap();
    }
}
