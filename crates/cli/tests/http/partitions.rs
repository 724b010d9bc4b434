//! `partition=` and the setting `partitions`.

use crate::broker::Broker;
use crate::client::*;
use serde_json::json;

fn assert_refused(answer: &Answer, status: u16, code: &str, word: &str) {
    answer.assert_status(status);
    let error = answer.json();
    assert_eq!(error["code"], code);
    assert!(error["error"].as_str().unwrap().contains(word), "{error}");
}

#[test]
fn partitions_are_appended_to_read_trimmed_and_searched_one_by_one() {
    let mut broker = Broker::start(&[]);
    let created = broker.post("/topic?topic-name=t", JSON, br#"{"partitions":3}"#);
    created.assert_status(201);
    let empty = json!({ "first_offset": 0, "next_offset": 0 });
    assert_eq!((&created.json()["partitions"], &created.json()["offsets"]), (&json!(3), &json!([empty, empty, empty])));
    for (partition, lines) in [(0, "a\nb"), (1, "c\nd\ne"), (1, "f")] {
        let target = format!("/records?topic-name=t&partition={partition}");
        broker.post(&target, LINES, lines.as_bytes()).assert_status(201);
    }
    let appended = broker.post("/records?topic-name=t&partition=1", MULTIPART, &multipart("[1]", b"g"));
    assert_eq!(appended.json(), json!({ "offsets": [4] }));
    for round in 0..2 {
        let read = |partition: u64, offset: u64| {
            let target = format!("/records?topic-name=t&partition={partition}&offset={offset}&max-records=0&timeout=0");
            broker.get_as(&target, LINES)
        };
        assert_eq!((read(0, 0).text(), read(1, 2).text()), ("a\nb\n", "e\nf\ng\n"));
        assert_eq!((read(1, 2).number("rawline-next-offset"), read(2, 0).status), (5, 204));
        assert_eq!(broker.get("/record?topic-name=t&partition=1&offset=3").text(), "f");
        let topic = broker.get("/topic?topic-name=t&partition=1").json();
        assert_eq!((&topic["first_offset"], &topic["next_offset"]), (&json!(round), &json!(5)));
        assert_eq!(topic["offsets"][1], json!({ "first_offset": round, "next_offset": 5 }));
        assert_eq!(topic["objects"], json!(4));
        let listed = &broker.get("/topics").json()["topics"][0];
        let members = (&listed["next_offset"], &listed["partitions"], &listed["objects"], listed.get("offsets"));
        assert_eq!(members, (&json!(2), &json!(3), &json!(4), None));
        assert_eq!(listed["bytes"], topic["bytes"]);
        let found = broker.get("/offset?topic-name=t&partition=1&time=2999-01-01T00:00:00Z").json();
        assert_eq!(found, json!({ "offset": 5 }));
        let trimmed = broker.post("/trim?topic-name=t&partition=1&before=1", JSON, b"").json();
        assert_eq!(trimmed, json!({ "first_offset": 1, "next_offset": 5 }));
        assert_eq!(broker.get("/topic?topic-name=t").json()["first_offset"], json!(0));
        broker.kill_and_restart();
    }
}

#[test]
fn wrong_partitions_are_refused_with_advice() {
    let broker = Broker::start(&[]);
    broker.post("/topic?topic-name=t", JSON, br#"{"partitions":2}"#).assert_status(201);
    let text = "has 2 partition(s), numbered from 0, and no partition";
    for number in ["2", "1024", "18446744073709551615"] {
        let target = |path: &str, more: &str| format!("{path}?topic-name=t&partition={number}{more}");
        let reads = [("/records", "&offset=0"), ("/record", "&offset=0"), ("/topic", "")];
        for (path, more) in reads.into_iter().chain([("/offset", "&time=2026-01-01T00:00:00Z")]) {
            assert_refused(&broker.get(&target(path, more)), 404, "partition_not_found", text);
        }
        for (path, more) in [("/records", ""), ("/trim", "&before=0")] {
            assert_refused(&broker.post(&target(path, more), LINES, b"x"), 404, "partition_not_found", text);
        }
    }
    for number in ["x", "-1", "", "1.5"] {
        let target = format!("/records?topic-name=t&partition={number}");
        assert_refused(&broker.get(&format!("{target}&offset=0")), 400, "query_number", "partition=");
        assert_refused(&broker.post(&target, LINES, b"x"), 400, "query_number", "partition=");
    }
    assert_refused(&broker.post("/records?topic-name=new&partition=1", LINES, b"x"), 404, "topic_not_found", "new");
    broker.get("/topic?topic-name=new").assert_status(404);
    for body in [r#"{"partitions":0}"#, r#"{"partitions":1025}"#, r#"{"partitions":null}"#, r#"{"partitions":"2"}"#] {
        assert_refused(&broker.put("/topic?topic-name=t", body), 400, "settings_invalid", "1 to 1024");
    }
    let fewer = broker.put("/topic?topic-name=t", r#"{"partitions":1}"#);
    assert_refused(&fewer, 409, "partitions_fewer", "can only grow");
    let more = broker.put("/topic?topic-name=t", r#"{"partitions":3,"retain_hours":1}"#);
    assert_eq!((&more.json()["partitions"], &more.json()["retain_hours"]), (&json!(3), &json!(1)));
    let same = broker.put("/topic?topic-name=t", r#"{"retain_hours":null}"#);
    assert_eq!(same.json()["partitions"], json!(3));
}
