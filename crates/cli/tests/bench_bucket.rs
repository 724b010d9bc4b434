//! Benchmarks on a bucket: its own limits, and what a broker sends to it.

#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // Tests.

mod support;

use rawline_testkit::s3_server::{Bucket, bucket};
use serde_json::Value;
use std::process::Command;
use support::RAWLINE;
use tempfile::TempDir;

/// Runs a benchmark on a bucket; returns its output and its JSON.
fn figures(bucket: &Bucket, args: &[&str]) -> (String, Value) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("figures.json");
    let mut command = Command::new(RAWLINE);
    command.arg("bench").args(args).args(["--storage", &format!("s3://{}/some/prefix", bucket.name)]);
    command.arg("--json").arg(&path).env("TMPDIR", folder.path()).envs(bucket.variables());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let figures = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    (String::from_utf8(output.stdout).unwrap(), figures)
}

#[tokio::test]
async fn limits_measure_a_bucket_and_leave_nothing() {
    let bucket = bucket().await;
    let (output, figures) = figures(&bucket, &["limits", "--objects=3"]);
    let requests = figures["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 8, "{figures:#}");
    for figure in requests {
        assert_eq!(figure["latency_us"]["count"], 3);
        assert!(figure["mb_per_second"].as_f64().unwrap() > 0.0);
    }
    assert!(output.contains("PUT  8192 KiB  8 in flight"), "{output}");
    let mut files = Vec::new();
    let mut folders = vec![bucket.file("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    assert!(files.iter().all(|file| !file.to_string_lossy().contains("bench-limits")), "{files:?}");
}

#[tokio::test]
async fn write_counts_the_requests_to_the_bucket() {
    let bucket = bucket().await;
    let args = ["write", "--runs=1", "-w", "2", "--batches=8", "--record-size=100", "--warmup-batches=1"];
    let (output, figures) = figures(&bucket, &args);
    let puts = figures["runs"][0]["bucket"]["puts"].as_u64().unwrap();
    assert!((1..=8).contains(&puts), "{puts} PUTs for 8 appends");
    assert!(output.contains(&format!("{puts} PUTs, ")) && output.contains("PUTs per GiB"), "{output}");
}
