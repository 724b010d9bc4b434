//! `POST /trim`, the limits of `PUT /topic`, and their commands.

use crate::broker::{Broker, pause};
use crate::client::*;
use serde_json::{Value, json};

fn append(broker: &Broker, records: std::ops::Range<u64>) {
    for number in records {
        broker.post("/records?topic-name=t", RECORD, format!("record {number}").as_bytes()).assert_status(201);
    }
}

fn trim(broker: &Broker, before: u64) -> Answer {
    broker.post(&format!("/trim?topic-name=t&before={before}"), JSON, b"")
}

/// Checks every way to read: below `first` the error names it, from there to `next` records are returned.
fn assert_extent(broker: &Broker, first: u64, next: u64) {
    let topic = broker.get("/topic?topic-name=t").json();
    assert_eq!((&topic["first_offset"], &topic["next_offset"]), (&first.into(), &next.into()));
    for offset in [0, first / 2, first.saturating_sub(1)].into_iter().filter(|&offset| offset < first) {
        for accept in [LINES, JSON, BATCH, MULTIPART] {
            let refused = broker.get_as(&format!("/records?topic-name=t&offset={offset}"), accept);
            assert_deleted(&refused, offset, first);
        }
        assert_deleted(&broker.get(&format!("/record?topic-name=t&offset={offset}")), offset, first);
    }
    let lines: String = (first..next).map(|number| format!("record {number}\n")).collect();
    let read = broker.get_as(&format!("/records?topic-name=t&offset={first}&max-records=0&timeout=0"), LINES);
    assert_eq!(String::from_utf8(read.body).unwrap(), lines);
    let found = broker.get("/offset?topic-name=t&time=2020-01-01T00:00:00Z").json();
    assert_eq!(found["offset"], json!(first));
}

fn assert_deleted(refused: &Answer, offset: u64, first: u64) {
    refused.assert_status(404);
    let error = refused.json();
    assert_eq!(error["code"], "offset_out_of_bounds");
    let text = format!("offset {offset} is below the topic's first offset {first}; read from there");
    assert_eq!(error["error"], json!(text));
}

#[test]
fn a_trim_outlives_kill_9() {
    for durability in ["fsync", "page-cache"] {
        let mut broker = Broker::start(&["--durability", durability]);
        append(&broker, 0..20);
        for before in [0, 1, 7, 19] {
            let trimmed = trim(&broker, before);
            trimmed.assert_status(200);
            assert_eq!(trimmed.json(), json!({ "first_offset": before, "next_offset": 20 }));
            broker.kill_and_restart();
            assert_extent(&broker, before, 20);
        }
        assert_eq!(trim(&broker, 3).json()["first_offset"], 19, "a lower offset changes nothing");
        // All of them, twice killed before the next append.
        trim(&broker, 20).assert_status(200);
        broker.kill_and_restart();
        assert_extent(&broker, 20, 20);
        broker.kill_and_restart();
        append(&broker, 20..25);
        assert_extent(&broker, 20, 25);
        broker.kill_and_restart();
        assert_extent(&broker, 20, 25);
    }
}

#[test]
fn a_trim_that_is_not_possible_says_what_to_do() {
    let broker = Broker::start(&[]);
    trim(&broker, 0).assert_status(404);
    append(&broker, 0..3);
    let refused = trim(&broker, 4);
    refused.assert_status(404);
    assert_eq!(refused.json()["code"], "offset_out_of_bounds");
    assert!(refused.json()["error"].as_str().unwrap().contains("next offset is 3"), "{:?}", refused.json());
    for (target, code) in [
        ("/trim?topic-name=t", "query_missing"),
        ("/trim?topic-name=t&before=-1", "query_number"),
        ("/trim?before=1", "topic_name_missing"),
        ("/trim?topic-name=.&before=1", "topic_name"),
    ] {
        let refused = broker.post(target, JSON, b"");
        refused.assert_status(400);
        assert_eq!(refused.json()["code"], code);
    }
    assert_extent(&broker, 0, 3);
}

#[test]
fn settings_change_one_by_one_and_outlive_kill_9() {
    let mut broker = Broker::start(&[]);
    let set = |broker: &Broker, settings: &str| -> Value {
        let set = broker.put("/topic?topic-name=t", settings);
        set.assert_status(200);
        let topic = set.json();
        assert_eq!(topic, broker.get("/topic?topic-name=t").json());
        assert_eq!(as_listed(topic.clone()), broker.get("/topics").json()["topics"][0]);
        json!([topic["payload"], topic["retain_hours"], topic["retain_bytes"]])
    };
    assert_eq!(set(&broker, "{}"), json!(["bytes", null, null]));
    assert_eq!(set(&broker, r#"{"retain_hours":24}"#), json!(["bytes", 24, null]));
    assert_eq!(set(&broker, r#"{"payload":"value"}"#), json!(["value", 24, null]));
    assert_eq!(set(&broker, r#"{"retain_bytes":1000000,"retain_hours":0.5}"#), json!(["value", 0.5, 1_000_000]));
    append(&broker, 0..5);
    trim(&broker, 2).assert_status(200);
    broker.kill_and_restart();
    assert_eq!(set(&broker, "{}"), json!(["value", 0.5, 1_000_000]));
    assert_extent(&broker, 2, 5);
    assert_eq!(set(&broker, r#"{"payload":null,"retain_hours":null}"#), json!(["bytes", null, 1_000_000]));
    assert_extent(&broker, 2, 5);
}

#[test]
fn settings_that_make_no_sense_say_what_to_send() {
    let broker = Broker::start(&[]);
    for wrong in [
        "",
        "[]",
        r#"{"retain_hours":0}"#,
        r#"{"retain_hours":-1}"#,
        r#"{"retain_hours":"24"}"#,
        r#"{"retain_hours":1e300}"#,
        r#"{"retain_bytes":0}"#,
        r#"{"retain_bytes":1.5}"#,
        r#"{"retain_bytes":9223372036854775808}"#,
        r#"{"retain_bytes":"10GiB"}"#,
        r#"{"first_offset":7}"#,
        r#"{"payload":"text"}"#,
    ] {
        let refused = broker.put("/topic?topic-name=t", wrong);
        refused.assert_status(400);
        let error = refused.json();
        assert_eq!(error["code"], "settings_invalid", "{wrong}");
        assert!(error["error"].as_str().unwrap().contains("\"retain_hours\" (a number greater than 0)"), "{error}");
    }
    broker.get("/topic?topic-name=t").assert_status(404);
}

#[test]
fn old_records_are_deleted_by_size_and_counted() {
    let mut broker = Broker::start(&[]);
    append(&broker, 0..50);
    broker.put("/topic?topic-name=t", r#"{"retain_bytes":1000}"#).assert_status(200);
    let first = |broker: &Broker| broker.get("/topic?topic-name=t").json()["first_offset"].as_u64().unwrap();
    let bytes = |broker: &Broker| broker.get("/topic?topic-name=t").json()["bytes"].as_u64().unwrap();
    // The first offset moves before the objects below it are deleted.
    while first(&broker) == 0 || bytes(&broker) > 1000 {
        pause();
    }
    let topic = broker.get("/topic?topic-name=t").json();
    assert!((500..=1000).contains(&topic["bytes"].as_u64().unwrap()), "{topic}");
    assert_extent(&broker, first(&broker), 50);
    let deleted = format!("rawline_deleted_records_total {}\n", first(&broker));
    while !String::from_utf8(broker.get("/metrics").body).unwrap().contains(&deleted) {
        pause();
    }
    let kept = first(&broker);
    append(&broker, 50..100);
    // The check at start.
    broker.kill_and_restart();
    while first(&broker) < kept + 50 {
        pause();
    }
    assert_extent(&broker, kept + 50, 100);
}

#[test]
fn commands_set_limits_and_trim() {
    let broker = Broker::start(&[]);
    let run = |args: &[&str]| {
        let output = broker.rawline(args).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    let (code, text) = run(&["topic", "set", "t", "--retain-hours", "24", "--retain-bytes", "10GiB"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("retain hours   24\nretain bytes   10737418240 (10.00 GiB)\n"), "{text}");
    let (code, text) = run(&["topic", "set", "t", "--retain-hours", "none", "--payload", "value"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("payload        value\nretain hours   no limit\nretain bytes   1073741"), "{text}");
    append(&broker, 0..9);
    let (code, text) = run(&["topic", "trim", "t", "--before", "4", "--yes"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("records        5\nfirst offset   4\nnext offset    9\n"), "{text}");
    let (code, text) = run(&["topic", "trim", "t", "--before", "10", "--yes"]);
    assert!(code != 0 && text.contains("next offset is 9"), "{code}: {text}");
    let (code, text) = run(&["consume", "t", "--offset", "3", "--max-records", "1"]);
    assert!(code != 0 && text.contains("first offset 4"), "{code}: {text}");
    for args in [
        &["topic", "set", "t"][..],
        &["topic", "set", "t", "--retain-hours", "0"],
        &["topic", "set", "t", "--retain-hours", "2 weeks"],
        &["topic", "set", "t", "--retain-bytes", "0"],
        &["topic", "trim", "t"],
    ] {
        let (code, text) = run(args);
        assert_eq!(code, 2, "{args:?}: {text}");
    }
}
