//! `rawline bench --append`: one line of JSON per run, after the existing lines.

#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

mod support;

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use support::RAWLINE;

fn append(folder: &Path, history: &Path, args: &[&str]) {
    let mut command = Command::new(RAWLINE);
    command.arg("bench").args(args).arg("--append").arg(history).env("TMPDIR", folder).env_remove("RAWLINE_API_KEY");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn each_run_of_a_benchmark_appends_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history.jsonl");
    let write =
        ["write", "--batches=20", "-b=16", "--record-size=100", "-w=2", "--warmup-runs=0", "--durability=page-cache"];
    append(folder.path(), &history, &write);
    let first = std::fs::read_to_string(&history).unwrap();
    append(folder.path(), &history, &write);
    append(folder.path(), &history, &["latency", "--rate=200", "--seconds=1", "--warmup-seconds=0"]);
    let text = std::fs::read_to_string(&history).unwrap();
    assert!(text.starts_with(&first), "an earlier line was changed");

    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    for line in &lines {
        line["time"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert!(line["commit"].is_null() || line["commit"].as_str().unwrap().len() >= 12, "{line}");
        assert!(!line["version"].as_str().unwrap().is_empty());
        for name in ["cores", "memory_bytes"] {
            assert!(line["machine"][name].as_u64().unwrap() > 0, "{line}");
        }
        let figures = line["figures"].as_object().unwrap();
        assert!(figures.values().all(|figure| figure.as_f64().is_some_and(f64::is_finite)), "{line}");
        for name in ["records_per_second", "p50_ms", "p99_ms", "broker_peak_rss_bytes"] {
            assert!(figures[name].as_f64().unwrap() > 0.0, "{name}: {line}");
        }
        assert!(line["settings"].get("append").is_none(), "{line}");
    }
    assert_eq!(lines[0]["benchmark"], "write");
    assert_eq!(lines[2]["benchmark"], "latency");
    assert_eq!(lines[0]["settings"], lines[1]["settings"]);
    assert_eq!((&lines[0]["settings"]["batches"], &lines[0]["settings"]["seed"]), (&20.into(), &1.into()));
    assert_eq!(lines[0]["settings"]["durability"], "page-cache");
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_before_anything_is_measured() {
    let mut command = Command::new(RAWLINE);
    command.args(["bench", "limits", "--append", "/no/such/folder/history.jsonl"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("--append") && output.stdout.is_empty(), "{stderr}");
}
