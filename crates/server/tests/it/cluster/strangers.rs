//! Programs that aren't brokers on the storage, but can read all of it.

use super::{ALL, Two, access, code};
use crate::support::{connect, exchange};
use rawline_contract::path;
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The cards of all brokers, as any program with access to the bucket reads them.
fn cards(two: &Two) -> Vec<Value> {
    let files = std::fs::read_dir(two.bucket.file("events/.brokers")).unwrap();
    let cards = files.map(|file| serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap());
    cards.collect()
}

async fn post(stream: &mut TcpStream, target: &str, headers: &str, body: &str) -> (u16, String) {
    let request = format!(
        "POST {target} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n{headers}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, text) = exchange(stream, &[request.as_bytes()]).await.unwrap();
    (status, text.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn assert_unknown((status, body): (u16, String), what: &str) {
    assert_eq!((status, code(body.as_bytes()).as_str()), (401, "peer_unknown"), "{what}: {body}");
}

/// The requests that a peer may send, and those that it may forward.
const TARGETS: [&str; 5] =
    [path::BROKER_CHANGES, "/records?topic-name=t", "/topic?topic-name=t", "/metrics", "/trim?topic-name=t&before=1"];

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_knows_the_bucket_is_not_a_broker() {
    let two = Two::with_keys(&[]).await;
    let cards = cards(&two);
    assert_eq!(cards.len(), 2);
    for server in [&two.owner, &two.other] {
        for card in &cards {
            pretend(server, card).await;
        }
        for route in [path::BROKER_HELLO, path::BROKER_PROOF, path::BROKER_CHANGES] {
            let (status, body) = post(&mut connect(server).await, route, "", "{}").await;
            assert!(status == 400 || status == 401, "{route}: {status} {body}");
        }
    }
}

/// Tries all values of a card as secrets, and a handshake without the card's private key.
async fn pretend(server: &Served, card: &Value) {
    let texts: Vec<String> = card.as_object().unwrap().values().filter_map(Value::as_str).map(str::to_owned).collect();
    assert!(texts.iter().any(|text| text.len() == 64), "the public key: {card}");
    for text in &texts {
        for target in TARGETS {
            for header in [
                format!("rawline-peer: {text}\r\n"),
                format!("rawline-peer: 1 {text}\r\nrawline-caller: 127.0.0.1 anyone\r\n"),
                format!("rawline-peer: 1 {text}\r\nrawline-caller: 127.0.0.1 api-key {text}\r\n"),
            ] {
                assert_unknown(post(&mut connect(server).await, target, &header, "x").await, target);
            }
        }
        let (status, _) =
            post(&mut connect(server).await, TARGETS[1], &format!("authorization: Bearer {text}\r\n"), "x").await;
        assert_eq!(status, 401);
    }
    let me = id_of(server).await;
    let mut stream = connect(server).await;
    let hello = json!({"from": card["id"], "to": me, "share": "CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"});
    let (status, answer) = post(&mut stream, path::BROKER_HELLO, "", &hello.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    // Its own signature, sent back.
    let proof = json!({"signature": answer["signature"]}).to_string();
    assert_unknown(post(&mut stream, path::BROKER_PROOF, "", &proof).await, "a proof");
    assert_unknown(post(&mut stream, path::BROKER_PROOF, "", &proof).await, "a proof without a hello");
    for target in TARGETS {
        let header = "rawline-peer: 1 AAAA\r\nrawline-caller: 127.0.0.1 anyone\r\n";
        assert_unknown(post(&mut stream, target, header, "x").await, target);
    }
    // For another broker.
    let wrong = json!({"from": card["id"], "to": "00000000000000ff", "share": hello["share"]});
    assert_unknown(post(&mut stream, path::BROKER_HELLO, "", &wrong.to_string()).await, "another broker's address");
}

async fn id_of(server: &Served) -> Value {
    let (_, _, list) = super::ask(server, ALL, "GET", "/brokers", "", b"").await;
    let list: Value = serde_json::from_slice(&list).unwrap();
    let me = list["brokers"].as_array().unwrap().iter().find(|broker| broker["is_me"] == true).unwrap();
    me["id"].clone()
}

/// A broker that shares its storage with no other.
#[tokio::test]
async fn a_broker_without_others_has_nothing_between_brokers() {
    let config = rawline_server::http::HttpConfig { access: access(&[]), ..Default::default() };
    let store = in_memory();
    let server = Served::on(store, config, 64 << 20).await;
    for route in [path::BROKER_HELLO, path::BROKER_PROOF, path::BROKER_CHANGES] {
        assert_eq!(post(&mut connect(&server).await, route, "", "{}").await.0, 404, "{route}");
        assert_unknown(post(&mut connect(&server).await, route, "rawline-peer: 1 x\r\n", "{}").await, route);
    }
}
