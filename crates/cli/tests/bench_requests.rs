//! `rawline bench requests` measures a broker and its peers alike, and fails on a server that refuses or loses records.

#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // Tests.

mod support;

use serde_json::Value;
use std::process::Output;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

const SMALL: [&str; 4] = ["requests", "--warmup-seconds=0", "--durability=page-cache", "--connections=3"];

fn bench(folder: &TempDir, args: &[&str]) -> Output {
    support::bench::bench(folder.path(), &[&SMALL, args].concat())
}

fn figures(args: &[&str]) -> Value {
    support::bench::figures(&[&SMALL, args].concat())
}

/// The report of a side with `runs` runs of 50 requests.
fn check_side(side: &Value, runs: u64, records_per_request: u64) {
    let all = side["runs"].as_array().unwrap();
    assert_eq!(all.len() as u64, runs, "{side:#}");
    for run in all {
        assert_eq!((&run["requests"], &run["unsent"]), (&50.into(), &0.into()));
        assert_eq!(run["records"], 50 * records_per_request);
        assert!(run["seconds"].as_f64().unwrap() > 0.0, "{run}");
    }
    for name in ["latency_us", "service_us"] {
        assert_eq!(side[name]["count"], 50 * runs, "{name}");
        assert!(side[name]["p50"].as_f64().unwrap() > 0.0, "{name}: {side:#}");
    }
    let [records, requests] = ["records", "requests"].map(|name| side[format!("{name}_per_second")]["avg"].as_f64());
    let per_request = records.unwrap() / requests.unwrap();
    assert!((per_request / records_per_request as f64 - 1.0).abs() < 1e-9, "{per_request}");
}

/// A server that knows the commands of the benchmark. Its streams have `lost` entries fewer than it acknowledges, and
/// it refuses appends after the first `accepted`.
fn redis(lost: u64, accepted: u64) -> String {
    let stored = AtomicU64::new(0);
    support::redis::serve(move |words| match words[0].as_str() {
        "XADD" if stored.fetch_add(1, Ordering::SeqCst) >= accepted => "-OOM command not allowed\r\n".to_owned(),
        "XADD" => "$3\r\n1-1\r\n".to_owned(),
        "XLEN" => format!(":{}\r\n", stored.swap(0, Ordering::SeqCst) - lost),
        _ => support::redis::about(words),
    })
}

#[test]
fn a_broker_and_a_peer_take_turns_and_hold_what_they_acknowledge() {
    let peer = redis(0, u64::MAX);
    let args = ["--requests=50", "-b=4", "--pipeline=3", "--threads=2", "--runs=2", "--with-limit", "--peer", &peer];
    let figures = figures(&args);
    let sides = figures["sides"].as_array().unwrap();
    let names: Vec<_> = sides.iter().map(|side| side["name"].as_str().unwrap()).collect();
    let port = peer.rsplit(':').next().unwrap();
    assert_eq!(names, ["rawline", &format!("redis:{port}"), "bare loop"]);
    for side in sides {
        check_side(side, 2, 4);
    }
    assert_eq!(sides[1]["about"].as_str().unwrap().split(',').next(), Some("Redis 9.8.7"));
    assert!(sides[0]["server_cpu_us_per_request"].as_f64().is_some(), "the broker's process was not found");
}

/// The benchmark compares every topic with what it has acknowledged.
#[test]
fn connections_append_to_topics_in_turns() {
    for topics in [2, 7] {
        let topics_flag = format!("--topics={topics}");
        let figures = figures(&[&topics_flag, "--requests=50", "--threads=2", "--pipeline=2"]);
        check_side(&figures["sides"][0], 1, 1);
        assert_eq!(figures["flags"]["topics"], topics);
    }
}

#[test]
fn requests_are_due_at_a_rate_and_appended_to_a_history() {
    let folder = TempDir::new().unwrap();
    let history = folder.path().join("history.jsonl");
    // So slow that a busy machine sends all requests in time.
    let figures = figures(&["--requests=50", "--rate=20", "--append", history.to_str().unwrap()]);
    check_side(&figures["sides"][0], 1, 1);
    assert_eq!(figures["sides"][0]["lag_us"]["count"], 50);
    let line: Value = serde_json::from_str(&std::fs::read_to_string(&history).unwrap()).unwrap();
    assert_eq!((&line["benchmark"], &line["settings"]["rate"]), (&"requests".into(), &20.into()));
    for name in ["records_per_second", "p50_ms", "p99_ms", "lag_p50_ms", "client_cpu_us_per_request"] {
        assert!(line["figures"][name].as_f64().is_some(), "{name}: {line}");
    }
}

#[test]
fn a_peer_that_refuses_or_loses_records_fails_the_benchmark() {
    let folder = TempDir::new().unwrap();
    for (lost, accepted, reason) in [
        (0, 10, "refused 40 appends of 50 requests; its first response: OOM"),
        (1, u64::MAX, "acknowledged 50 records and holds 49"),
    ] {
        let output = bench(&folder, &["--requests=50", "--peer", &redis(lost, accepted)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn wrong_flags_are_exit_code_2() {
    let folder = TempDir::new().unwrap();
    for args in [
        &["--peer=kafka://localhost:9092"][..],
        &["--peer=redis://localhost:1,redis://localhost:1"],
        &["--with-limit", "--local-broker=false"],
        &["--synced"],
        &["--seconds=1", "--requests=1"],
    ] {
        let output = bench(&folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    }
}
