//! `/metrics`: the text format of Prometheus, with counters that match the requests.

use crate::broker::{Broker, batch, pause, records};
use crate::client::*;
use rawline_batch::Codec;
use rawline_broker::metrics::families::{self, Family};
use std::collections::{BTreeMap, BTreeSet};

/// Samples by name with labels. Fails the test on a line that isn't in the text format.
fn scrape(broker: &Broker) -> BTreeMap<String, f64> {
    let answer = broker.get("/metrics");
    assert_eq!(answer.assert_status(200).header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let mut samples = BTreeMap::new();
    let mut typed = BTreeSet::new();
    for line in answer.text().lines().filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("TYPE"), Some(name), Some("counter" | "gauge" | "histogram")) => {
                    assert!(typed.insert(name.to_owned()), "{name} has two types");
                }
                (Some("HELP"), Some(_), Some(_)) => {}
                _ => panic!("{line:?} is not a comment of the text format"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        assert!(
            ["rawline_", "process_"].iter().any(|front| name.starts_with(front))
                && name.bytes().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(&b)),
            "{line}"
        );
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(typed.contains(name) || typed.contains(family), "{name} has no type");
        assert!(series.len() == name.len() || series.ends_with('}'), "{line}");
        assert!(samples.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series} is a duplicate");
    }
    samples
}

#[test]
fn counters_move_with_what_they_count() {
    let broker = Broker::start(&[]);
    let before = scrape(&broker);
    let batch = batch(Codec::None, &records(0, 100, 50));
    for _ in 0..3 {
        broker.post("/records?topic-name=t", BATCH, &batch).assert_status(201);
    }
    broker.post("/records?topic-name=t", BATCH, b"nonsense").assert_status(400);
    let read = broker.get_as("/records?topic-name=t&offset=10&max-records=70", BATCH);
    let text = broker.get_as("/records?topic-name=t&offset=250&max-records=70", LINES);
    broker.get("/record?topic-name=t&offset=0").assert_status(200);
    broker.get("/nowhere").assert_status(404);
    // A response's buffers return after its last byte has been sent.
    let after = loop {
        let after = scrape(&broker);
        if after["rawline_pool_free_bytes"] == after["rawline_pool_bytes"] {
            break after;
        }
        pause();
    };
    let grown = |name: &str| after.get(name).unwrap_or_else(|| panic!("no {name}")) - before.get(name).unwrap_or(&0.0);
    let stored = 3.0 * batch.len() as f64;
    assert_eq!(grown("rawline_append_records_total{protocol=\"http\"}"), 300.0);
    assert_eq!(grown("rawline_append_bytes_total{protocol=\"http\"}"), stored);
    assert_eq!(grown("rawline_commit_records_total{topic=\"t\"}"), 300.0);
    assert_eq!(grown("rawline_commit_bytes_total{topic=\"t\"}"), stored);
    // Four objects, the first of which creates the topic, each with a header and an index of at most one entry.
    let objects = grown("rawline_commit_bytes_sum");
    assert!(objects > stored && objects < stored + 4.0 * 512.0, "{objects}");
    assert_eq!(grown("rawline_commit_seconds_count"), 4.0);
    assert_eq!(grown("rawline_commit_bytes_bucket{le=\"+Inf\"}"), 4.0);
    assert_eq!(grown("rawline_read_records_total{protocol=\"http\"}"), 70.0 + 50.0 + 1.0);
    assert_eq!(grown("rawline_read_bytes_total{protocol=\"http\"}"), (read.body.len() + text.body.len() + 50) as f64);
    assert_eq!(grown("rawline_http_requests_total{verb=\"append\",status=\"2xx\"}"), 3.0);
    assert_eq!(grown("rawline_http_requests_total{verb=\"append\",status=\"4xx\"}"), 1.0);
    assert_eq!(grown("rawline_http_requests_total{verb=\"read\",status=\"2xx\"}"), 2.0);
    assert_eq!(grown("rawline_http_requests_total{verb=\"read_one\",status=\"2xx\"}"), 1.0);
    assert_eq!(grown("rawline_http_requests_total{verb=\"other\",status=\"4xx\"}"), 1.0);
    assert_eq!(grown("rawline_http_request_seconds_count{verb=\"append\"}"), 4.0);
    assert_eq!(after["rawline_memory_bytes"], f64::from(128 << 20));
    // The rest is for 1,024 connections.
    assert_eq!(after["rawline_pool_bytes"], f64::from((128 - 24) << 20));
}

/// Commits an offset of a group without members.
fn commit(broker: &Broker, group: &str, offset: u64) {
    let body = format!(r#"{{"offsets":[{{"topic":"t","partition":0,"offset":{offset}}}]}}"#);
    let committed = broker.put(&format!("/group?group-name={group}"), &body);
    assert!(committed.status < 300, "{}", committed.text());
}

#[test]
fn the_lag_of_a_group_is_the_records_that_it_has_not_committed() {
    let broker = Broker::start(&[]);
    let lag = |group: &str| scrape(&broker).get(&format!("rawline_group_lag_records{{group=\"{group}\"}}")).copied();
    let oldest = |group: &str| {
        scrape(&broker).get(&format!("rawline_group_oldest_timestamp_seconds{{group=\"{group}\"}}")).copied()
    };
    let append = |count: usize| {
        broker.post("/records?topic-name=t", BATCH, &batch(Codec::None, &records(0, count, 50))).assert_status(201);
    };
    append(10);
    assert_eq!(lag("g"), None, "it has committed nothing");
    commit(&broker, "g", 10);
    assert_eq!((lag("g"), oldest("g")), (Some(0.0), None));
    append(5);
    append(7);
    let first = oldest("g").unwrap();
    assert_eq!(lag("g"), Some(12.0));
    let newest = scrape(&broker)["rawline_journal_commit_timestamp_seconds{journal=\"0\"}"];
    assert!(first <= newest && newest - first < 60.0, "{first} to {newest}");
    commit(&broker, "g", 15);
    assert_eq!(lag("g"), Some(7.0));
    assert!(oldest("g").unwrap() > first, "the next object is the oldest");
    broker.post("/trim?topic-name=t&before=20", "", b"").assert_status(200);
    assert_eq!(lag("g"), Some(2.0), "deleted records wait for no group");
    let after = scrape(&broker);
    assert_eq!(after["rawline_groups"], 1.0);
    assert_eq!(after["rawline_group_members{group=\"g\"}"], 0.0);
    assert_eq!(after["rawline_journal_failed{journal=\"0\"}"], 0.0);
}

/// The metrics that a broker serves, with their kinds and labels, are those of the table; `docs/operating.md` explains
/// them in the same order, and no others.
#[test]
fn every_metric_is_in_the_table_and_documented() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"a").assert_status(201);
    broker.get("/record?topic-name=t&offset=0").assert_status(200);
    commit(&broker, "g", 0);
    let (mut served, text) = (BTreeMap::new(), broker.get("/metrics").text().to_owned());
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            served.insert(name.to_owned(), kind.to_owned());
        }
    }
    for Family { name, kind, labels, help } in families::ALL {
        // Only once there was an error.
        if *name != families::KAFKA_ERRORS.name {
            assert_eq!(served.remove(*name).as_deref(), Some(kind.name()), "{name}");
            assert!(text.contains(&format!("# HELP {name} {help}\n")), "{name}");
        }
        for line in text.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))) {
            let named =
                line.split('{').nth(1).unwrap().split("=\"").filter_map(|part| part.rsplit([',', '"', '{']).next());
            let named: Vec<&str> = named.filter(|name| !name.contains('}')).collect();
            assert_eq!(named, *labels, "{line}");
        }
    }
    assert!(served.is_empty(), "not in the table of metrics: {served:?}");
    let page = include_str!("../../../../docs/operating.md");
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let documented = cells.filter(|(name, _)| name.starts_with("rawline_") || name.starts_with("process_"));
    let documented: Vec<(&str, &str)> =
        documented.filter_map(|(name, rest)| Some((name, rest.split(" | ").next()?))).collect();
    let table = families::ALL.iter().map(|Family { name, kind, labels, .. }| {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let by = match labels.split_last() {
            None => String::new(),
            Some((only, [])) => format!(", by {only}"),
            Some((last, others)) => format!(", by {} and {last}", others.join(", ")),
        };
        (*name, format!("{}{by}", kind.name()))
    });
    let table: Vec<(&str, String)> = table.collect();
    let table: Vec<(&str, &str)> = table.iter().map(|(name, kind)| (*name, kind.as_str())).collect();
    assert_eq!(documented, table);
}
