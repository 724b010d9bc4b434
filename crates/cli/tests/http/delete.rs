//! `POST /topic`, `DELETE /topic` and their commands.

use crate::broker::{Broker, batch, pause, records};
use crate::client::*;
use rawline_batch::Codec;
use serde_json::{Value, json};
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::process::Stdio;
use std::time::Duration;

const TOPIC: &str = "/topic?topic-name=t";

fn delete(broker: &Broker) -> Answer {
    exchange(broker.address, &request("DELETE", TOPIC, &[], b""))
}

fn append(broker: &Broker, records: std::ops::Range<u64>) {
    let lines: String = records.clone().map(|number| format!("record {number}\n")).collect();
    let appended = broker.post("/records?topic-name=t", LINES, lines.as_bytes());
    assert_eq!(appended.assert_status(201).json()["first_offset"], json!(records.start));
}

fn assert_missing(broker: &Broker) {
    for target in [TOPIC, "/records?topic-name=t&offset=0", "/record?topic-name=t&offset=0"] {
        broker.get(target).assert_error(404, "topic_not_found");
    }
    assert_eq!(broker.get("/topics").json()["topics"], json!([]));
}

fn assert_records(broker: &Broker, next: u64) {
    let topic = broker.get(TOPIC).json();
    assert_eq!((&topic["first_offset"], &topic["next_offset"]), (&json!(0), &json!(next)));
    let lines: String = (0..next).map(|number| format!("record {number}\n")).collect();
    let read = broker.get_as("/records?topic-name=t&offset=0&max-records=0&timeout=0", LINES);
    assert_eq!(read.text(), lines);
}

#[test]
fn a_deletion_outlives_kill_9() {
    for durability in ["fsync", "page-cache"] {
        let mut broker = Broker::start(&["--durability", durability]);
        broker.put(TOPIC, r#"{"payload":"value","retain_hours":24}"#).assert_status(200);
        append(&broker, 0..20);
        assert_eq!(delete(&broker).assert_status(204).body, b"");
        assert_missing(&broker);
        broker.kill_and_restart();
        assert_missing(&broker);
        delete(&broker).assert_error(404, "topic_not_found");
        append(&broker, 0..7);
        let topic = broker.get(TOPIC).json();
        assert_eq!((&topic["payload"], &topic["retain_hours"]), (&json!("bytes"), &Value::Null));
        broker.kill_and_restart();
        assert_records(&broker, 7);
    }
}

#[test]
fn a_topic_is_there_or_deleted_when_the_broker_is_killed_in_the_middle() {
    let mut broker = Broker::start(&[]);
    let (mut round, mut deleted) = (0, 0);
    // However slow the machine is, some of these waits are long enough.
    while round < 10 || deleted == 0 {
        append(&broker, 0..30);
        // No response is awaited.
        let mut stream = TcpStream::connect(broker.address).unwrap();
        stream.write_all(&request("DELETE", TOPIC, &[], b"")).unwrap();
        stream.flush().unwrap();
        std::thread::sleep(Duration::from_micros(100 << (round % 14)));
        round += 1;
        broker.kill_and_restart();
        let _ = stream.shutdown(Shutdown::Both);
        if broker.get(TOPIC).status == 200 {
            assert_records(&broker, 30);
            delete(&broker).assert_status(204);
        } else {
            deleted += 1;
        }
        assert_missing(&broker);
    }
}

#[test]
fn a_long_poll_ends_when_its_topic_is_deleted() {
    let broker = Broker::start(&[]);
    append(&broker, 0..3);
    let mut waiting = Vec::new();
    for accept in [BATCH, LINES, JSON, MULTIPART] {
        let mut connection = Connection::open(broker.address);
        let target = "/records?topic-name=t&offset=3&timeout=300s";
        connection.send(&request("GET", target, &[("accept", accept)], b""));
        waiting.push(connection);
    }
    assert!(waiting.iter_mut().all(Connection::is_silent));
    delete(&broker).assert_status(204);
    for mut connection in waiting {
        let answer = connection.receive();
        answer.assert_error(404, "topic_not_found");
        assert!(answer.text().contains("was deleted"), "{}", answer.text());
    }
}

#[test]
fn a_response_in_flight_is_completed_when_its_topic_is_deleted() {
    let broker = Broker::start(&[]);
    let sent: Vec<Vec<u8>> = (0..24).map(|number| batch(Codec::None, &records(number * 1024, 1024, 1000))).collect();
    for batch in &sent {
        broker.post("/records?topic-name=t", BATCH, batch).assert_status(201);
    }
    let mut slow = Connection::open(broker.address);
    let target = "/records?topic-name=t&offset=0&max-records=0&max-bytes=60000000";
    slow.send(&request("GET", target, &[("accept", BATCH)], b""));
    // More than sockets buffer: most of it is still to be sent when the topic is deleted.
    assert!(slow.stream.peek(&mut [0]).unwrap() > 0);
    delete(&broker).assert_status(204);
    append(&broker, 0..1000);
    // A slow disk ends a response early, after whole batches.
    let received = slow.receive().assert_status(200).body.clone();
    assert!(
        received.len() >= sent[0].len() && received.len().is_multiple_of(sent[0].len()),
        "{} bytes",
        received.len()
    );
    assert!(sent.concat().starts_with(&received));
    assert_records(&broker, 1000);
}

#[test]
fn topics_are_created_on_request_and_once() {
    for flags in [&[][..], &["--no-create-topics"]] {
        let mut broker = Broker::start(flags);
        let create = |broker: &Broker, body: &str| broker.post(TOPIC, JSON, body.as_bytes());
        for wrong in ["", "[]", r#"{"retain_hours":0}"#, r#"{"deleted":"x"}"#, r#"{"first_offset":7}"#] {
            create(&broker, wrong).assert_error(400, "settings_invalid");
        }
        assert_missing(&broker);
        let created = create(&broker, r#"{"retain_hours":24,"payload":"value"}"#);
        assert_eq!(created.assert_status(201).json(), broker.get(TOPIC).json());
        assert_eq!(created.json()["retain_hours"], json!(24));
        create(&broker, "{}").assert_error(409, "topic_exists");
        broker.kill_and_restart();
        let listed = json!([as_listed(created.json())]);
        assert_eq!(broker.get("/topics").json()["topics"], listed, "it exists without a record");
        create(&broker, "{}").assert_error(409, "topic_exists");
        append(&broker, 0..3);
        delete(&broker).assert_status(204);
        create(&broker, "{}").assert_status(201);
        append(&broker, 0..3);
        broker.post("/topic?topic-name=.", JSON, b"{}").assert_error(400, "topic_name");
        broker.post("/topic", JSON, b"{}").assert_error(400, "topic_name_missing");
    }
}

#[test]
fn metrics_of_a_deleted_topic_end() {
    let broker = Broker::start(&[]);
    let has_series = || broker.get("/metrics").text().contains("{topic=\"t\"}");
    for _ in 0..2 {
        append(&broker, 0..3);
        assert!(broker.get("/metrics").text().contains("rawline_commit_records_total{topic=\"t\"} 3\n"));
        delete(&broker).assert_status(204);
        // The task of the deletion holds the topic for a moment longer.
        while has_series() {
            pause();
        }
    }
}

#[test]
fn commands_create_and_delete() {
    let broker = Broker::start(&["--no-create-topics"]);
    let run = |args: &[&str]| {
        let output = broker.rawline(args).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    let (code, text) = run(&["topic", "create", "t", "--retain-hours", "24", "--payload", "value"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("payload        value\nretain hours   24\nretain bytes   no limit\n"), "{text}");
    let (code, text) = run(&["topic", "create", "t"]);
    assert!(code == 1 && text.contains("topic \"t\" exists already"), "{code}: {text}");
    append(&broker, 0..3);
    let (code, text) = run(&["topic", "delete", "t"]);
    assert!(code == 2 && text.contains("add --yes"), "{code}: {text}");
    assert_records(&broker, 3);
    let (code, text) = run(&["topic", "delete", "t", "--yes"]);
    assert_eq!((code, text.as_str()), (0, "deleted topic t\n"));
    let (code, text) = run(&["topic", "delete", "t", "--yes"]);
    assert!(code == 1 && text.contains("does not exist"), "{code}: {text}");
    let (code, text) = run(&["topic", "create", "t"]);
    assert!(code == 0 && text.contains("next offset    0\n"), "{code}: {text}");
    let (code, text) = run(&["topic", "set", "t"]);
    assert_eq!(code, 2, "{text}");
}
