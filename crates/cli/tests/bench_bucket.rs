//! Benchmarks on a bucket: its own limits, and a broker's requests to it.

#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // Tests.

mod support;

use rawline_testkit::s3_server::{Bucket, bucket};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use support::RAWLINE;
use tempfile::TempDir;

/// What `--store-delay` adds in these tests.
const DELAY_MS: f64 = 40.0;

/// Runs a benchmark on a bucket.
fn bench(bucket: &Bucket, folder: &TempDir, args: &[&str], variables: Vec<(String, String)>) -> Output {
    let mut command = Command::new(RAWLINE);
    command.arg("bench").args(args).args(["--storage", &format!("s3://{}/some/prefix", bucket.name)]);
    command.env_remove("AWS_ENDPOINT_URL_S3").env("TMPDIR", folder.path()).envs(variables).output().unwrap()
}

/// Runs a benchmark that must succeed; returns its output and its JSON.
fn figures(bucket: &Bucket, args: &[&str]) -> (String, Value) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("figures.json");
    let output = bench(bucket, &folder, &[args, &["--json", path.to_str().unwrap()]].concat(), bucket.variables());
    assert!(output.status.success(), "{output:?}");
    let figures = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    (String::from_utf8(output.stdout).unwrap(), figures)
}

/// The benchmarks' own objects in the bucket; those of brokers stay.
fn left(bucket: &Bucket) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![bucket.file("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.retain(|file| file.to_string_lossy().contains(".bench-"));
    files
}

/// Fails if a request was faster than the delay. The proxy guarantees it; nothing bounds the time from above.
fn assert_delayed(latency_us: &Value) {
    for name in ["mean", "p50", "p99"] {
        assert!(latency_us[name].as_f64().unwrap() >= DELAY_MS * 1e3, "{name}: {latency_us}");
    }
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
    assert!(output.contains("compare with the broker"), "{output}");
    assert_eq!(left(&bucket), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn write_counts_the_requests_to_the_bucket() {
    let bucket = bucket().await;
    let args = ["write", "--runs=1", "-w", "2", "--batches=8", "--record-size=100", "--warmup-batches=1"];
    let (output, figures) = figures(&bucket, &args);
    let puts = figures["runs"][0]["bucket"]["puts"].as_u64().unwrap();
    assert!((1..=8).contains(&puts), "{puts} PUTs for 8 appends");
    for text in [&format!("{puts} PUTs, "), "PUTs per GiB", "PUTs per second", "PUTs per batch wait"] {
        assert!(output.contains(text), "{text}: {output}");
    }
    // The broker's default.
    let (per_second, per_wait) = (&figures["summary"]["puts_per_second"], &figures["summary"]["puts_per_batch_wait"]);
    let waits_per_second = per_second["avg"].as_f64().unwrap() / per_wait["avg"].as_f64().unwrap();
    assert!((waits_per_second - 10.0).abs() < 1e-6, "{waits_per_second}");
}

#[tokio::test]
async fn the_delay_is_added_to_each_request_to_the_bucket() {
    let bucket = bucket().await;
    let (output, limits) = figures(&bucket, &["limits", "--objects=2", "--store-delay=40ms"]);
    for figure in limits["requests"].as_array().unwrap() {
        assert_delayed(&figure["latency_us"]);
    }
    assert_eq!(limits["flags"]["store_delay"], "40ms");
    assert_eq!(limits["flags"]["store_bandwidth"], "90");
    assert!(output.contains("proxy"), "{output}");
    assert_eq!(left(&bucket), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_broker_appends_through_the_delay() {
    let bucket = bucket().await;
    let args = ["write", "--topics=3", "--batches=9", "-b=1", "-w=3", "--warmup-batches=1", "--store-delay=40ms"];
    let (_, figures) = figures(&bucket, &[&args[..], &["--warmup-runs=0", "--batcher-block-time=1ms"]].concat());
    let run = &figures["runs"][0];
    assert_delayed(&run["latency_us"]);
    assert!(run["bucket"]["puts"].as_u64().unwrap() >= 1, "{run}");
    assert!(run["proxy_cpu_seconds"].as_f64().unwrap() > 0.0, "{run}");
}

#[tokio::test]
async fn a_broker_appends_through_a_distribution_without_a_limit_of_bandwidth() {
    let bucket = bucket().await;
    let args = ["write", "--batches=40", "-b=1", "-w=2", "--warmup-runs=0", "--batcher-block-time=1ms"];
    let (_, figures) = figures(&bucket, &[&args[..], &["--store-delay=express", "--store-bandwidth=none"]].concat());
    assert_eq!(figures["runs"][0]["requests"], 40);
    assert_eq!(figures["flags"]["store_delay"], "express");
    assert_eq!(figures["flags"]["store_bandwidth"], "none");
    assert_eq!(figures["flags"]["store_seed"], 1);
}

#[tokio::test]
async fn the_proxy_runs_without_a_benchmark_until_it_is_interrupted() {
    let bucket = bucket().await;
    let mut command = Command::new(RAWLINE);
    command.args(["bench", "proxy", "--store-delay=1ms"]).env_remove("AWS_ENDPOINT_URL_S3").envs(bucket.variables());
    let mut proxy = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(proxy.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = output.next().unwrap();
    let endpoint = first.strip_prefix("export AWS_ENDPOINT_URL=").unwrap();

    let folder = TempDir::new().unwrap();
    let mut variables = bucket.variables();
    variables.retain(|(name, _)| name != "AWS_ENDPOINT_URL");
    variables.push(("AWS_ENDPOINT_URL".to_owned(), endpoint.to_owned()));
    let measured = bench(&bucket, &folder, &["limits", "--objects=2"], variables);
    assert!(measured.status.success(), "{measured:?}");

    // A signal that its user's terminal sends.
    let interrupted = Command::new("kill").args(["-INT", &proxy.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert!(proxy.wait().unwrap().success());
    let counts = output.next().unwrap();
    let requests: u64 = counts.split(' ').next().unwrap().parse().unwrap();
    assert!(requests >= 16 && counts.contains(" requests, 0 of them refused"), "{counts}");
}

#[tokio::test]
async fn latency_compares_a_lone_append_with_a_put() {
    let bucket = bucket().await;
    let args = ["latency", "--interval=300ms", "--seconds=2", "-w=1", "--warmup-seconds=0", "--store-delay=40ms"];
    let (output, figures) = figures(&bucket, &args);
    assert_eq!(figures["runs"][0]["requests"], 7);
    assert_eq!(figures["flags"]["rate"], Value::Null);
    assert_delayed(&figures["put_us"]);
    assert_delayed(&figures["service_us"]);
    assert!(output.contains("over the p50 of a PUT"), "{output}");
    assert_eq!(left(&bucket), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn start_reads_the_bucket_through_the_delay() {
    let bucket = bucket().await;
    let args = ["start", "--topics=3", "--commits=10", "--runs=1", "--store-delay=40ms"];
    let (output, figures) = figures(&bucket, &args);
    let start = &figures["starts"][0];
    assert!(start["listening_seconds"].as_f64().unwrap() >= DELAY_MS / 1e3, "{start}");
    assert!(start["lists"].as_u64().unwrap() >= 1, "{start}");
    assert!((1..=10).contains(&figures["prepared_puts"].as_u64().unwrap()), "{figures:#}");
    assert!(output.contains("first read"), "{output}");
}

#[tokio::test]
async fn a_delay_needs_a_plain_endpoint() {
    let bucket = bucket().await;
    let folder = TempDir::new().unwrap();
    let with = |endpoint: &str| {
        let mut variables = bucket.variables();
        variables.retain(|(name, _)| name != "AWS_ENDPOINT_URL");
        variables.push(("AWS_ENDPOINT_URL".to_owned(), endpoint.to_owned()));
        variables
    };
    // Bound and closed again, so nothing listens there.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for command in ["limits", "write", "latency", "read", "start"] {
        for (endpoint, code, word) in [
            ("https://s3.example".to_owned(), 2, "without TLS"),
            (String::new(), 2, "set AWS_ENDPOINT_URL"),
            (format!("http://{closed}"), 1, "start the S3 server"),
        ] {
            let output = bench(&bucket, &folder, &[command, "--store-delay=1ms"], with(&endpoint));
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{command} {endpoint}: {said}");
            assert!(said.contains(word), "{command} {endpoint}: {said}");
        }
    }
    let output = Command::new(RAWLINE).args(["bench", "write", "--store-delay=1ms"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--storage s3://"), "{output:?}");
}
