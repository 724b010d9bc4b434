//! Topics of several partitions on the command line, on a real S3 server and on a directory.

// Clippy recognizes tests only by their attribute; these are their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_testkit::s3_server;
use serde_json::Value;
use std::collections::BTreeMap;
use support::{Broker, RAWLINE, broker, run};

const TOPICS: [&str; 3] = ["conn", "dns", "http"];
const PARTITIONS: usize = 4;

/// Lines as Zeek logs connections.
fn log(topic: &str, lines: u64) -> String {
    let line = |number: u64| {
        let host = number * 7919 % 41;
        let (time, port) = (1_700_000_000 + number, number % 3 * 400 + 53);
        let connection = format!(r#""uid":"C{number}","id.orig_h":"10.0.0.{host}","id.resp_p":{port}"#);
        format!("{{\"ts\":{time}.5,\"log\":\"{topic}\",{connection}}}\n")
    };
    (0..lines).map(line).collect()
}

fn stdout(broker: &Broker, args: &[&str]) -> Vec<u8> {
    broker.run(args, b"").stdout
}

/// The records of each partition.
fn partitions(broker: &Broker, topic: &str) -> Vec<Vec<u8>> {
    let read = |number: usize| stdout(broker, &["consume", topic, "--partition", &number.to_string()]);
    (0..PARTITIONS).map(read).collect()
}

/// What `rawline consume --format json` shows of all partitions: the records of each, in order.
fn by_partition(output: &[u8]) -> BTreeMap<u64, Vec<String>> {
    let mut found: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8(output.to_vec()).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let records = found.entry(record["partition"].as_u64().unwrap()).or_default();
        assert_eq!(record["offset"], records.len() as u64, "{line}");
        records.push(record["record"].as_str().unwrap().to_owned());
    }
    found
}

/// As a new user would: three topics of four partitions in a bucket, `kill -9`, and every local file deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_partition_has_the_same_bytes_after_kill_9_and_without_local_files() {
    let bucket = s3_server::bucket().await;
    let (storage, cache) = (format!("s3://{}/logs", bucket.name), bucket.cache_dir());
    let flags = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap(), "--batch-wait", "5ms"];
    let mut broker = Broker::start_with(RAWLINE, &flags, bucket.variables());
    for topic in TOPICS {
        broker.run(&["topic", "create", topic, "--partitions", "4"], b"");
        let produced = broker.run(&["produce", topic, "--key-field", "id.orig_h"], log(topic, 2000).as_bytes());
        let said = String::from_utf8(produced.stderr).unwrap();
        assert!(said.contains("appended 2000 records") && said.contains("several partitions"), "{said}");
    }
    let before: Vec<_> = TOPICS.iter().map(|topic| partitions(&broker, topic)).collect();
    broker.kill();
    std::fs::remove_dir_all(&cache).unwrap();
    broker.start_again();
    for (topic, before) in TOPICS.iter().zip(&before) {
        assert!(partitions(&broker, topic) == *before, "{topic}");
        assert!(before.iter().all(|partition| !partition.is_empty()), "{topic}");
        // Every line is stored once, and the lines of a host are in one partition, in order.
        let all = by_partition(&stdout(&broker, &["consume", topic, "--format", "json"]));
        let mut lines: Vec<&str> = all.values().flatten().map(String::as_str).collect();
        let log = log(topic, 2000);
        let mut expected: Vec<&str> = log.lines().collect();
        lines.sort_unstable();
        expected.sort_unstable();
        assert!(lines == expected, "{topic}: {} lines", lines.len());
        let mut hosts: BTreeMap<String, (u64, f64)> = BTreeMap::new();
        for (partition, records) in &all {
            assert_eq!(records.join("\n") + "\n", String::from_utf8_lossy(&before[*partition as usize]));
            for record in records {
                let record: Value = serde_json::from_str(record).unwrap();
                let now = (*partition, record["ts"].as_f64().unwrap());
                if let Some(before) = hosts.insert(record["id.orig_h"].as_str().unwrap().to_owned(), now) {
                    assert!(before.0 == now.0 && before.1 < now.1, "{topic}: {record} after {before:?}");
                }
            }
        }
        assert_eq!(hosts.len(), 41);
    }
}

#[test]
fn partitions_are_shown_chosen_and_trimmed() {
    let broker = broker(&[]);
    let text = |args: &[&str]| String::from_utf8(stdout(&broker, args)).unwrap();
    let created = text(&["topic", "create", "t", "--partitions", "2"]);
    assert!(created.contains("partitions     2\n") && created.contains("  1            offsets 0 to 0\n"), "{created}");
    let produce = |args: &[&str], input: &str| {
        let output = broker.run(&[&["produce", "t"], args].concat(), input.as_bytes());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(produce(&["--partition", "1"], "a\nb\nc\n").contains("to t, partition 1, offsets 0..3,"));
    assert!(produce(&["--partition", "0"], "d\n").contains("to t, offsets 0..1,"));
    assert_eq!(text(&["consume", "t", "--partition", "1"]), "a\nb\nc\n");
    assert_eq!(text(&["consume", "t", "--partition", "1", "--offset", "1", "--max-records", "1"]), "b\n");
    assert_eq!(text(&["consume", "t", "--max-records", "2"]).lines().count(), 2);
    assert_eq!(text(&["consume", "t"]).lines().count(), 4);
    assert_eq!(by_partition(text(&["consume", "t", "--format", "json"]).as_bytes())[&1], ["a", "b", "c"]);
    let trimmed = text(&["topic", "trim", "t", "--partition", "1", "--before", "2", "--yes"]);
    assert!(trimmed.contains("records        2\n") && trimmed.contains("  1            offsets 2 to 3\n"), "{trimmed}");
    let listed = text(&["topics"]);
    assert!(listed.lines().nth(1).unwrap().split_whitespace().take(5).eq(["t", "2", "2", "-", "-"]), "{listed}");
    // All records of a key are in one partition; those without one are reported.
    text(&["topic", "set", "t", "--partitions", "3"]);
    let before = text(&["topic", "t", "--json"]);
    assert!(produce(&["--key", "user 7"], "e\nf\n").contains(", offsets ") && before.contains("\"partitions\": 3"));
    let said = produce(&["--key-field", "user"], "{\"user\":1}\nx\n");
    assert!(said.contains("records without the field \"user\": 1;"), "{said}");
}

#[test]
fn a_tail_is_the_newest_records_of_all_partitions() {
    let broker = broker(&[]);
    broker.run(&["topic", "create", "t", "--partitions", "3"], b"");
    for (partition, lines) in [("0", "a\nb\nc\nd\n"), ("1", "e\n"), ("2", "f\n"), ("0", "g\n"), ("1", "h\ni\n")] {
        broker.run(&["produce", "t", "--partition", partition], lines.as_bytes());
    }
    let sorted = |args: &[&str]| {
        let output = String::from_utf8(stdout(&broker, &[&["consume", "t"], args].concat())).unwrap();
        let mut records: Vec<&str> = output.lines().collect();
        records.sort_unstable();
        records.concat()
    };
    for (args, records) in [
        (&["--tail", "1"][..], "i"),
        (&["--tail", "2"], "hi"),
        (&["--tail", "4"], "fghi"),
        (&["--tail", "5"], "efghi"),
        (&["--tail", "6"], "defghi"),
        (&["--tail", "100"], "abcdefghi"),
        (&["--tail", "3", "--partition", "0", "--partition", "2"], "dfg"),
        (&["--tail", "2", "--follow", "--max-records", "2"], "hi"),
        (&["--offset", "-1"], "fgi"),
        (&["--offset", "-2", "--partition", "0"], "dg"),
        (&["--offset", "-99"], "abcdefghi"),
        (&["--offset", "-0"], ""),
    ] {
        assert_eq!(sorted(args), records, "{args:?}");
    }
    // Of one partition, in order and byte for byte.
    assert_eq!(stdout(&broker, &["consume", "t", "--partition", "0", "--tail", "3"]), b"c\nd\ng\n");
    broker.run(&["topic", "trim", "t", "--before", "4", "--yes"], b"");
    assert_eq!(stdout(&broker, &["consume", "t", "--partition", "0", "--tail", "3"]), b"g\n");
    assert_eq!(stdout(&broker, &["consume", "t", "--partition", "0", "--offset", "-3"]), b"g\n");
    broker.run(&["group", "reset", "g", "t", "--offset", "-1", "--yes"], b"");
    assert_eq!(offsets(&broker, "g"), [(4, 1), (2, 1), (0, 1)]);
    for (args, says) in [
        (&["--tail", "0"][..], "--tail 0 writes nothing; add --follow"),
        (&["--tail", "3", "--max-records", "1"], "give one of them, or add --follow"),
        (&["--tail", "3", "--offset", "-1"], "cannot be used with"),
        (&["--tail", "3", "--since", "-1h"], "cannot be used with"),
        (&["--tail", "3", "--group", "g"], "cannot be used with"),
        (&["--group", "g", "--offset", "-1"], "`rawline group reset GROUP TOPIC --offset -N`"),
        (&["--tail", "-3"], "--tail"),
    ] {
        let output = run(broker.rawline(&[&["consume", "t"], args].concat()), b"");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn wrong_partitions_are_refused_with_advice() {
    let broker = broker(&[]);
    broker.run(&["topic", "create", "t", "--partitions", "2"], b"");
    let advice = "no partition 2; use one of these, or give the topic more partitions";
    for (args, code, word) in [
        (&["consume", "t", "--partition", "2"][..], 1, advice),
        (&["produce", "t", "--partition", "2"], 1, advice),
        (&["topic", "trim", "t", "--partition", "2", "--before", "0", "--yes"], 1, "no partition 2"),
        (&["topic", "set", "t", "--partitions", "1"], 1, "can only grow"),
        (&["topic", "set", "t", "--partitions", "1025"], 2, "from 1 to 1024"),
        (&["produce", "t", "--key-separator", ":", "--key", "x"], 2, "--key"),
        (&["produce", "t", "--header", "a=b", "--key-field", "x"], 2, "--header"),
        (&["produce", "t", "--key-separator", ""], 2, "at least one character"),
        (
            &["produce", "t", "--key-field", "a", "--format", "avro", "--schema", "measurement", "x.csv"],
            2,
            "lines of JSON",
        ),
    ] {
        let output = run(broker.rawline(args), b"x\n");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.contains(word)), (Some(code), true), "{args:?}: {said}");
    }
}

/// A group's partitions in `rawline group show`: offset and lag.
fn offsets(broker: &Broker, group: &str) -> Vec<(u64, u64)> {
    let shown: Value = serde_json::from_slice(&stdout(broker, &["group", "show", group, "--json"])).unwrap();
    let offsets = shown["offsets"].as_array().unwrap().iter();
    offsets.map(|offset| (offset["offset"].as_u64().unwrap(), offset["lag"].as_u64().unwrap())).collect()
}

#[test]
fn a_group_reads_every_record_once_and_can_be_reset() {
    let broker = broker(&[]);
    broker.run(&["topic", "create", "dns", "--partitions", "4"], b"");
    broker.run(&["produce", "dns", "--key-field", "id.orig_h"], log("dns", 200).as_bytes());
    let group = ["consume", "dns", "--group", "nightly", "--format", "json"];
    let mut read = stdout(&broker, &[&group[..], &["--max-records", "30"]].concat());
    assert_eq!(read.iter().filter(|byte| **byte == b'\n').count(), 30);
    assert_eq!(offsets(&broker, "nightly").iter().map(|(_, lag)| lag).sum::<u64>(), 170);
    // The rest, with a break.
    read.extend(stdout(&broker, &[&group[..], &["--max-records", "100", "--read-bytes", "500"]].concat()));
    read.extend(stdout(&broker, &group));
    let read = by_partition(&read);
    assert_eq!((read.len(), read.values().map(Vec::len).sum::<usize>()), (4, 200));
    assert!(offsets(&broker, "nightly").iter().all(|(offset, lag)| *offset > 0 && *lag == 0));
    assert_eq!(stdout(&broker, &group), b"");
    let table = String::from_utf8(stdout(&broker, &["group", "list"])).unwrap();
    assert_eq!(table, "GROUP    STATE  MEMBERS  TOPICS  LAG\nnightly  empty        0       1    0\n");

    broker.run(&["group", "reset", "nightly", "dns", "--partition", "2", "--offset", "1", "--yes"], b"");
    let again = by_partition(&stdout(&broker, &["consume", "dns", "--partition", "2", "--format", "json"]));
    let rest = stdout(&broker, &["consume", "dns", "--group", "nightly"]);
    assert_eq!(String::from_utf8(rest).unwrap().lines().collect::<Vec<_>>(), again[&2][1..]);
    broker.run(&["group", "reset", "nightly", "dns", "--offset", "earliest", "--yes"], b"");
    assert_eq!(offsets(&broker, "nightly").iter().map(|(_, lag)| lag).sum::<u64>(), 200);

    for (args, code, says) in [
        (&["group", "delete", "nightly"][..], 2, "--yes"),
        (&["group", "delete", "nightly", "--topic", "conn", "--yes"], 1, "don't exist"),
        (&["group", "show", "daily"], 1, "no group \"daily\""),
        (&["group", "reset", "nightly", "dns", "--partition", "4", "--offset", "0", "--yes"], 1, "no partition 4"),
        (&["consume", "dns", "--group", "nightly", "--partition", "1"], 2, "cannot be used with"),
    ] {
        let output = run(broker.rawline(args), b"");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && said.contains(says), "{args:?}: {said}");
    }
    assert_eq!(stdout(&broker, &["group", "delete", "nightly", "--yes"]), b"deleted group \"nightly\"\n");
    assert_eq!(stdout(&broker, &["group", "list", "--json"]), b"[]\n");
}
