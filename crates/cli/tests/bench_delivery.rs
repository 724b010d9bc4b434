//! `rawline bench delivery` measures every way in which readers wait, and fails if one of them gets other records.

#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // Tests.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Output;
use std::sync::{Condvar, Mutex};
use tempfile::TempDir;

const SMALL: [&str; 4] = ["delivery", "--warmup-seconds=0", "--durability=page-cache", "--connections=3"];

fn bench(folder: &TempDir, args: &[&str]) -> Output {
    support::bench::bench(folder.path(), &[&SMALL, args].concat())
}

fn figures(args: &[&str]) -> Value {
    support::bench::figures(&[&SMALL, args].concat())
}

/// A server that has streams, whose readers wait, and deliver `value` of an appended one.
fn redis(value: fn(&str) -> String) -> String {
    let (streams, appended) = (Mutex::new(BTreeMap::<String, Vec<String>>::new()), Condvar::new());
    support::redis::serve(move |words| match words[0].as_str() {
        "XADD" => {
            let mut streams = streams.lock().unwrap();
            let entries = streams.entry(words[1].clone()).or_default();
            entries.push(words[4].clone());
            appended.notify_all();
            let id = format!("{}-0", entries.len());
            format!("${}\r\n{id}\r\n", id.len())
        }
        "XREAD" => {
            let (stream, id) = (&words[4], &words[5]);
            let seen: usize = id.split('-').next().unwrap().parse().unwrap();
            let streams = streams.lock().unwrap();
            let has_none =
                |streams: &mut BTreeMap<String, Vec<String>>| streams.get(stream).is_none_or(|all| all.len() == seen);
            let streams = appended.wait_while(streams, has_none).unwrap();
            let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
            let entries = streams[stream].iter().zip(1..).skip(seen);
            let entries: Vec<String> = entries
                .map(|(entry, number)| {
                    format!("*2\r\n{}*2\r\n$1\r\nf\r\n{}", text(&format!("{number}-0")), text(&value(entry)))
                })
                .collect();
            format!("*1\r\n*2\r\n{}*{}\r\n{}", text(stream), entries.len(), entries.concat())
        }
        _ => support::redis::about(words),
    })
}

#[test]
fn every_record_reaches_its_reader_by_each_protocol() {
    let peer = redis(str::to_owned);
    let figures = figures(&["--records=50", "--rate=500", "--runs=2", "--peer", &peer]);
    let sides = figures["sides"].as_array().unwrap();
    let names: Vec<_> = sides.iter().map(|side| side["name"].as_str().unwrap()).collect();
    let port = peer.rsplit(':').next().unwrap();
    assert_eq!(names, ["long poll", "WebSocket", "Kafka's Fetch", &format!("redis:{port} XREAD BLOCK")]);
    for side in sides {
        for run in side["runs"].as_array().unwrap() {
            assert_eq!(run["records"], 50, "{side:#}");
        }
        for name in ["delivery_us", "from_send_us", "append_us", "lag_us"] {
            assert_eq!(side[name]["count"], 100, "{name}: {side:#}");
            assert!(side[name]["p50"].as_f64().unwrap() > 0.0, "{name}: {side:#}");
        }
    }
    for side in &sides[..3] {
        let cpu = side["server_cpu_us_per_record"].as_f64();
        assert!(cpu.is_some() && side["server_bytes_per_reader"].is_number(), "{side:#}");
    }
}

#[test]
fn a_way_to_wait_is_chosen_and_appended_to_a_history() {
    let folder = TempDir::new().unwrap();
    let history = folder.path().join("history.jsonl");
    let output = bench(&folder, &["--records=20", "--by=websocket,long-poll", "--append", history.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let line: Value = serde_json::from_str(&std::fs::read_to_string(&history).unwrap()).unwrap();
    assert_eq!((&line["benchmark"], &line["settings"]["by"][0]), (&"delivery".into(), &"websocket".into()));
    for name in ["long_poll_p50_ms", "websocket_p99_ms", "long_poll_server_cpu_us_per_record"] {
        assert!(line["figures"][name].as_f64().is_some(), "{name}: {line}");
    }
    assert!(line["figures"]["kafka_s_fetch_p50_ms"].is_null(), "{line}");
}

#[test]
fn a_reader_that_gets_other_records_fails_the_benchmark() {
    let folder = TempDir::new().unwrap();
    let peer = redis(|value| format!("{value}."));
    let output = bench(&folder, &["--records=10", "--by=long-poll", "--peer", &peer]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("entries that were not appended"), "{said}");
}

#[test]
fn wrong_flags_are_exit_code_2() {
    let folder = TempDir::new().unwrap();
    for args in [
        &["--peer=nats://localhost:4222"][..],
        &["--by=redis"],
        &["--by=kafka", "--local-broker=false"],
        &["--kafka-address=localhost:9092"],
        &["--seconds=1", "--records=1"],
    ] {
        let output = bench(&folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    }
}
