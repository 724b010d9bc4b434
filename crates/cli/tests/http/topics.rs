//! `GET /topic`, `GET /topics`, `GET /offset`.

use crate::broker::Broker;
use crate::client::*;
use serde_json::Value;

#[test]
fn topics_report_their_extent() {
    let broker = Broker::start(&[]);
    assert_eq!(broker.get("/topics").json()["topics"], Value::Array(Vec::new()));
    broker.create_topic("new");
    let new = broker.get("/topic?topic-name=new").json();
    assert_eq!((&new["next_offset"], &new["latest_commit_at"]), (&Value::from(0), &Value::Null));
    for _ in 0..3 {
        broker.post("/records?topic-name=b", LINES, b"one\ntwo").assert_status(201);
    }
    broker.post("/records?topic-name=a", RECORD, b"x").assert_status(201);
    let topics = broker.get("/topics").json();
    let topics = topics["topics"].as_array().unwrap();
    let names: Vec<&str> = topics.iter().map(|topic| topic["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "new"]);
    let described = broker.get("/topic?topic-name=b").json();
    assert_eq!(described["offsets"], serde_json::json!([{ "first_offset": 0, "next_offset": 6 }]));
    assert_eq!(topics[1], as_listed(described));
    let b = &topics[1];
    assert_eq!((&b["first_offset"], &b["next_offset"], &b["objects"]), (&0.into(), &6.into(), &3.into()));
    assert!(b["bytes"].as_u64().unwrap() > 3 * 64);
    let time: jiff::Timestamp = b["latest_commit_at"].as_str().unwrap().parse().unwrap();
    assert!(time > "2026-01-01T00:00:00Z".parse().unwrap());
}

#[test]
fn topics_are_listed_in_pages() {
    let broker = Broker::start(&[]);
    let names = ["a", "b-1", "b-2", "b-3", "c", "c-d"];
    names.iter().rev().for_each(|name| broker.create_topic(name));
    let page = |query: &str| {
        let page = broker.get(&format!("/topics?{query}")).json();
        let names: Vec<String> =
            page["topics"].as_array().unwrap().iter().map(|topic| topic["name"].as_str().unwrap().to_owned()).collect();
        (names.join(" | "), page["next"].as_str().map(str::to_owned))
    };
    let next = |name: &str| Some(name.to_owned());
    assert_eq!(page("limit=2"), ("a | b-1".to_owned(), next("b-1")));
    assert_eq!(page("limit=2&after=b-1"), ("b-2 | b-3".to_owned(), next("b-3")));
    assert_eq!(page("limit=2&after=b-3"), ("c | c-d".to_owned(), None), "a full page may be the last one");
    assert_eq!(page("after=c-d"), (String::new(), None));
    assert_eq!(page("prefix=b-&limit=2"), ("b-1 | b-2".to_owned(), next("b-2")));
    assert_eq!(page("prefix=b-&limit=2&after=b-2"), ("b-3".to_owned(), None));
    assert_eq!(page("prefix=c&after=a&totals=true"), ("c | c-d".to_owned(), None));
    assert_eq!(page("prefix=d"), (String::new(), None));
    exchange(broker.address, &request("DELETE", "/topic?topic-name=b-2", &[], b"")).assert_status(204);
    assert_eq!(page("after=b-2&limit=1"), ("b-3".to_owned(), next("b-3")), "after a name that doesn't exist any more");
    for limit in ["0", "10001"] {
        broker.get(&format!("/topics?limit={limit}")).assert_error(400, "query_invalid");
    }
}

#[test]
fn offsets_are_found_by_time() {
    let broker = Broker::start(&[]);
    let mut times = Vec::new();
    for _ in 0..5 {
        broker.post("/records?topic-name=t", LINES, b"a\nb\nc").assert_status(201);
        times.push(broker.get("/topic?topic-name=t").json()["latest_commit_at"].as_str().unwrap().to_owned());
    }
    let at = |time: &str| {
        let time = time.replace('+', "%2B");
        broker.get(&format!("/offset?topic-name=t&time={time}")).json()["offset"].as_u64().unwrap()
    };
    for (number, time) in times.iter().enumerate() {
        // Two commits within a microsecond have the same time; the first one's offset is returned.
        let first = times.iter().position(|other| other == time).unwrap();
        assert_eq!(at(time), first as u64 * 3, "commit {number}");
    }
    assert_eq!(at("2020-01-01T00:00:00Z"), 0);
    assert_eq!(at("1900-01-01T00:00:00+02:00"), 0);
    assert_eq!(at("2999-01-01T00:00:00Z"), 15);
    assert_eq!([at("2020-01-01"), at("-1h"), at("1577836800"), at("now+1h")], [0, 0, 0, 15], "as the command line");
    broker.create_topic("empty");
    broker.get("/offset?topic-name=empty&time=2026-01-01T00:00:00Z").assert_status(200);
}
