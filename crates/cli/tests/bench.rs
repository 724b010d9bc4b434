//! The benchmarks report what they measured, remove their files, and fail on a broker with errors.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)] // Tests.

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use support::RAWLINE;
use support::bench::bench;
use tempfile::TempDir;

fn rawline() -> Command {
    let mut command = Command::new(RAWLINE);
    command.env_remove("RAWLINE_API_KEY");
    command
}

/// Runs a benchmark that must succeed; returns its JSON, which says where it ran.
fn figures(args: &[&str]) -> Value {
    let figures = support::bench::figures(args);
    for name in ["version", "commit", "rustc", "cpu_model", "kernel", "filesystem"] {
        assert!(figures["environment"][name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {figures:#}");
    }
    assert!(figures["environment"]["memory_bytes"].as_u64().unwrap() > 0);
    figures
}

fn positive(value: &Value) -> f64 {
    let number = value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"));
    assert!(number > 0.0 && number.is_finite(), "{number}");
    number
}

fn check_runs(figures: &Value, runs: u64, warmup_runs: u64) {
    let all = figures["runs"].as_array().unwrap();
    assert_eq!(all.len() as u64, runs + warmup_runs);
    for (i, run) in all.iter().enumerate() {
        assert_eq!(run["warmup"], (i as u64) < warmup_runs);
        assert_eq!(run["checksum"].as_str().unwrap().len(), 16);
        for name in ["seconds", "requests_per_second", "batches_per_second", "records_per_second", "mb_per_second"] {
            positive(&run[name]);
        }
        assert_eq!(run["latency_us"]["count"], run["requests"]);
    }
    let summary = &figures["summary"];
    assert_eq!(summary["runs"], runs);
    for name in ["seconds", "records_per_second", "batches_per_second", "mb_per_second", "client_cpu_seconds_per_gb"] {
        let spread = &summary[name];
        let (avg, min, max) = (positive(&spread["avg"]), positive(&spread["min"]), positive(&spread["max"]));
        assert!(min <= max && avg >= min * 0.999 && avg <= max * 1.001, "{name}: {spread}");
    }
    let latency = &summary["latency_us"];
    let quantiles = ["p50", "p90", "p99", "p999", "max"].map(|name| positive(&latency[name]));
    assert!(quantiles.is_sorted(), "{latency}");
    assert!(quantiles[0] > 1.0, "a request over a socket takes longer than a microsecond: {latency}");
    positive(&summary["client_peak_rss_bytes"]);
    positive(&summary["broker_peak_rss_bytes"]);
}

#[test]
fn write_reports_what_it_moved() {
    let figures = figures(&[
        "write",
        "-r",
        "2",
        "-w=4",
        "-l=true",
        "--batches=20",
        "-b",
        "16",
        "--record-size=100",
        "--warmup-runs=1",
        "--warmup-batches=3",
        "--durability=page-cache",
        "--batcher-block-time=5ms",
        "--batcher-max-bytes=1048576",
        "--memory=128MiB",
        "--remote-broker-api-key=unused",
    ]);
    assert_eq!(figures["bench"], "write");
    assert_eq!(figures["flags"]["durability"], "page-cache");
    assert_eq!(figures["flags"]["remote_broker_api_key"], Value::Null, "a key must not be printed");
    check_runs(&figures, 2, 1);
    let run = &figures["runs"][1];
    assert_eq!((&run["requests"], &run["batches"]), (&20.into(), &20.into()));
    assert_eq!((&run["records"], &run["bytes"]), (&320.into(), &32_000.into()));
}

#[test]
fn write_takes_turns_at_topics_and_reads_each_back() {
    let args = ["write", "--topics=7", "--batches=20", "-b=1", "--record-size=10", "-w=3", "--warmup-batches=2"];
    let figures = figures(&args);
    check_runs(&figures, 1, 1);
    assert_eq!((&figures["runs"][1]["requests"], &figures["runs"][1]["records"]), (&20.into(), &20.into()));
    assert_eq!(figures["runs"][1]["bucket"], Value::Null);
}

#[test]
fn start_measures_until_the_broker_answers() {
    let figures = figures(&["start", "--topics=5", "--commits=12", "--runs=2"]);
    let starts = figures["starts"].as_array().unwrap();
    assert_eq!(starts.len(), 2);
    for start in starts {
        let times = ["listening", "healthy", "first_read"].map(|name| positive(&start[format!("{name}_seconds")]));
        assert!(times.is_sorted(), "{start}");
        assert_eq!(start["gets"], Value::Null);
    }
    assert_eq!(figures["prepared_puts"], Value::Null);
}

#[test]
fn partitions_measures_creation_starts_lists_and_appends() {
    let figures = figures(&["partitions", "--topics=20", "--partitions=3", "--rate=100", "--seconds=1"]);
    assert_eq!(figures["partitions"], 60);
    for name in ["created_per_second", "filled_per_second", "stop_seconds"] {
        positive(&figures[name]);
    }
    for start in [&figures["start"], &figures["killed_start"]] {
        positive(&start["seconds"]);
        positive(&start["peak_rss_bytes"]);
    }
    positive(&figures["lists"]["metadata_bytes"]);
    assert_eq!(figures["appends"]["latency_us"]["count"], 100);
}

#[test]
fn a_sequential_read_reads_each_record_once_in_a_pass() {
    let size = ["--batches=40", "-b", "3", "--record-size=50", "-w", "2", "-r", "2", "--warmup-runs=0"];
    let figures = figures(&[&["read", "--sequential", "--passes=3"], size.as_slice()].concat());
    check_runs(&figures, 2, 0);
    for run in figures["runs"].as_array().unwrap() {
        assert_eq!(run["records"], 40 * 3 * 3);
        assert_eq!(run["bytes"], 40 * 3 * 3 * 50);
        assert_eq!(run["checksum"], figures["runs"][0]["checksum"], "the same records are compared in each run");
    }
}

#[test]
fn read_reports_what_it_moved_and_compares_with_sendfile() {
    let figures = figures(&[
        "read",
        "--local-broker=true",
        "-r",
        "2",
        "-w",
        "4",
        "--batches=8",
        "--record-size=64",
        "--records-per-batch=32",
        "--records-per-request=100",
        "--requests",
        "60",
        "--warmup-runs=0",
        "--with-limit",
        "--log-level=3",
    ]);
    check_runs(&figures, 2, 0);
    let run = &figures["runs"][0];
    assert_eq!(run["requests"], 60);
    // The topic has 255 records to request; a request near its end returns fewer than 100.
    let records = run["records"].as_u64().unwrap();
    assert!((60..6000).contains(&records), "{records}");
    assert_eq!(run["bytes"].as_u64().unwrap(), records * 64);
    assert!(run["batches"].as_u64().unwrap() >= 60);
    positive(&run["limit"]["gb_per_second"]);
    positive(&figures["summary"]["limit_ratio"]["avg"]);
    assert_ne!(figures["runs"][0]["checksum"], figures["runs"][1]["checksum"], "each run draws its own offsets");
}

#[test]
fn latency_reports_both_times() {
    let figures = figures(&["latency", "--rate=200", "--seconds=1", "-w", "2", "--warmup-seconds=0"]);
    check_runs(&figures, 1, 0);
    assert_eq!(figures["runs"][0]["requests"], 200);
    let at = |name: &str| positive(&figures[name]["p50"]);
    assert!(figures["summary"]["latency_us"]["p50"].as_f64().unwrap() >= at("service_us") * 0.99);
    positive(&figures["rate_reached"]["avg"]);
    positive(&figures["client_cpu_us_per_append"]);
}

#[test]
fn subscribe_delivers_everything_to_everyone() {
    let args = ["--subscribers=3", "--topic-mib=2", "--events=2000", "--rate=200", "--seconds=1"];
    let figures = figures(&[&["subscribe"], &args[..]].concat());
    let (binary, events) = (&figures["binary"][0], &figures["events"][0]);
    assert_eq!((&binary["records"], &binary["bytes"]), (&(3 * 2048).into(), &(6 << 20).into()));
    assert_eq!(binary["check"], binary["read"]["check"]);
    assert_eq!(events["records"], 3 * 2048);
    assert_eq!(figures["delivery"][0]["delivery_us"]["count"], 200);
    assert!(figures["search"][1]["matches"].as_u64().unwrap() > 0);
}

#[test]
fn limits_measure_everything() {
    let figures = figures(&[
        "limits",
        "--loopback-bytes=33554432",
        "--file-bytes=4194304",
        "--copy-bytes=65536",
        "--disk-bytes=1048577",
        "--syncs=5",
    ]);
    let loopback = figures["loopback"].as_array().unwrap();
    assert_eq!(loopback.len(), 9);
    for figure in loopback {
        positive(&figure["gb_per_second"]);
        positive(&figure["cpu_seconds_per_gb"]);
        assert!(figure["bytes"].as_u64().unwrap() >= 33_554_432);
    }
    assert!(!figures["memory_copy"].as_array().unwrap().is_empty());
    positive(&figures["disk_write"]["page_cache_gb_per_second"]);
    for figure in figures["disk_sync"].as_array().unwrap() {
        assert_eq!(figure["latency_us"]["count"], 5);
        positive(&figure["latency_us"]["p50"]);
    }
}

#[test]
fn a_missing_broker_is_exit_code_1() {
    // Bound and closed again, so nothing listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}");
    let folder = TempDir::new().unwrap();
    for which in ["write", "read", "latency"] {
        let output = bench(folder.path(), &[which, "--local-broker=false", "--remote-broker-address", &url]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&url) && said.contains("rawline serve"), "{said}");
    }
}

#[test]
fn a_broker_that_does_not_start_is_exit_code_1() {
    let folder = TempDir::new().unwrap();
    let output = bench(folder.path(), &["write", "--memory", "3 bananas"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("bananas"), "the broker's message is missing: {said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = TempDir::new().unwrap();
    for args in [
        &["write", "--batches=0"][..],
        &["write", "-w", "0"],
        &["read", "--durability=never"],
        &["sideways"],
        &["latency", "--interval=0s"],
        &["latency", "--interval=1s", "--rate=1"],
    ] {
        assert_eq!(bench(folder.path(), args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn interrupting_removes_everything() {
    let folder = TempDir::new().unwrap();
    let mut child = rawline()
        .args(["bench", "latency", "--seconds", "600"])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Waits until the broker has its folder.
    while std::fs::read_dir(folder.path()).unwrap().next().is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The way in which the proxy breaks the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// Appends are acknowledged but not stored.
    Swallows,
    /// Every append gets the offsets of the first one.
    RepeatsOffsets,
    /// Reads return the records before the requested ones, under the requested offsets.
    ReadsElsewhere,
}

#[test]
fn a_broker_that_is_wrong_never_passes() {
    let folder = TempDir::new().unwrap();
    let broker = support::Broker::start(RAWLINE, &[]);
    let write = ["write", "--batches=10", "-b", "8", "--record-size=32", "-w", "2", "--warmup-runs=0"];
    let topics = ["write", "--topics=2", "--batches=10", "-b=1", "--record-size=32", "-w", "2", "--warmup-runs=0"];
    let read = ["read", "--batches=10", "-b", "8", "--record-size=32", "-w", "2", "--requests=20", "--warmup-runs=0"];
    let latency = ["latency", "--rate=1000", "--seconds=1", "--record-size=32", "--warmup-seconds=0"];
    for (wrong, args, word) in [
        (Wrong::Nothing, &write[..], ""),
        (Wrong::Nothing, &read, ""),
        (Wrong::Swallows, &write, "lost records"),
        (Wrong::Nothing, &topics, ""),
        (Wrong::Swallows, &topics, "loses or repeats"),
        (Wrong::RepeatsOffsets, &topics, "loses or repeats"),
        (Wrong::ReadsElsewhere, &topics, "not those that were sent"),
        (Wrong::Swallows, &latency, "lost records"),
        (Wrong::RepeatsOffsets, &write, "loses or repeats"),
        (Wrong::RepeatsOffsets, &read, "loses or repeats"),
        (Wrong::RepeatsOffsets, &latency, "loses or repeats"),
        (Wrong::ReadsElsewhere, &write, "not the one that was sent"),
        (Wrong::ReadsElsewhere, &read, "is another one"),
        (Wrong::ReadsElsewhere, &latency, "not those that were sent"),
    ] {
        let url = proxy(broker.address, wrong);
        let remote = ["--local-broker=false", "--remote-broker-address", &url];
        let output = bench(folder.path(), &[args, &remote].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        let code = i32::from(wrong != Wrong::Nothing);
        assert_eq!(output.status.code(), Some(code), "{wrong:?} {args:?}: {said}");
        assert!(said.contains(word), "{wrong:?} {args:?}: {said}");
    }
}

/// A proxy that breaks a broker in one way; returns its URL. It lives until the tests end.
fn proxy(address: SocketAddr, wrong: Wrong) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let swallowed = Arc::new(AtomicU64::new(0));
    let first_answer = Arc::new(Mutex::new(None));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (swallowed, first_answer) = (swallowed.clone(), first_answer.clone());
            std::thread::spawn(move || {
                let mut client = client.unwrap();
                let mut broker = TcpStream::connect(address).unwrap();
                for stream in [&client, &broker] {
                    stream.set_nodelay(true).unwrap();
                }
                let mut from_client = BufReader::new(client.try_clone().unwrap());
                let mut from_broker = BufReader::new(broker.try_clone().unwrap());
                while let Some((mut head, body)) = message(&mut from_client) {
                    let append = head.starts_with("POST /records");
                    let requested = head.split_once("&offset=").and_then(|(_, rest)| {
                        rest.split(|end: char| !end.is_ascii_digit()).next()?.parse::<u64>().ok()
                    });
                    // The record before the requested one, if there is one.
                    let elsewhere = requested.filter(|&requested| wrong == Wrong::ReadsElsewhere && requested > 0);
                    if let Some(requested) = elsewhere {
                        head = head.replace(&format!("&offset={requested}"), &format!("&offset={}", requested - 1));
                    }
                    let (mut head, mut body) = if append && wrong == Wrong::Swallows {
                        // The batch header's number of records.
                        let records = u64::from(u32::from_le_bytes(body[12..16].try_into().unwrap()));
                        let first = swallowed.fetch_add(records, Ordering::SeqCst);
                        let text = format!("{{\"first_offset\":{first},\"next_offset\":{}}}", first + records);
                        (format!("HTTP/1.1 201 Created\r\ncontent-length: {}\r\n\r\n", text.len()), text.into_bytes())
                    } else {
                        broker.write_all(head.as_bytes()).unwrap();
                        broker.write_all(&body).unwrap();
                        message(&mut from_broker).unwrap()
                    };
                    if let Some(requested) = elsewhere {
                        let is = format!("rawline-first-offset: {}\r\n", requested - 1);
                        assert!(head.contains(&is), "{head}");
                        head = head.replace(&is, &format!("rawline-first-offset: {requested}\r\n"));
                    }
                    if append && wrong == Wrong::RepeatsOffsets {
                        (head, body) = first_answer.lock().unwrap().get_or_insert((head, body)).clone();
                    }
                    // A benchmark that has failed doesn't read the rest.
                    if client.write_all(head.as_bytes()).and_then(|()| client.write_all(&body)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// Reads a head and a body of known length.
fn message(from: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if from.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some((head, body))
}
