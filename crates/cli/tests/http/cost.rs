//! Requests to a bucket are counted, and `rawline cost` prices them.

use crate::broker::{Broker, RAWLINE, batch, records};
use crate::client::*;
use rawline_batch::Codec;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use rawline_testkit::{process, s3_server};
use serde_json::Value;

fn cost(url: &str) -> Value {
    let output = process::run(process::rawline(RAWLINE, url, &["cost", "--json"]), b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_to_the_bucket_is_counted_and_priced() {
    let bucket = s3_server::bucket().await;
    let cache = Cache::open(bucket.cache_dir(), 64 << 20).unwrap();
    let mut config = S3Config::new(&format!("s3://{}/prefix", bucket.name), cache).unwrap();
    config.variables = bucket.variables();
    let store = s3::open(config).await.unwrap();
    let served = Served::on(store, HttpConfig::default(), 128 << 20).await;
    let bytes = batch(Codec::None, &records(0, 1000, 100));
    let append = request("POST", "/records?topic-name=t", &[("content-type", BATCH)], &bytes);
    exchange(served.address, &append).assert_status(201);
    let before = cost(&served.url());
    // One after the other: each is a commit.
    for _ in 0..3 {
        exchange(served.address, &append).assert_status(201);
    }
    let after = cost(&served.url());
    let grown = |pointer: &str| {
        let number = |value: &Value| value.pointer(pointer).and_then(Value::as_u64).unwrap();
        number(&after) - number(&before)
    };
    assert_eq!(grown("/requests/put"), 3);
    assert_eq!(grown("/requests/get"), 0, "what was written is read without a GET");
    assert_eq!(grown("/appended_bytes"), 3 * bytes.len() as u64);
    let sent = grown("/sent_bytes");
    assert!(sent > grown("/appended_bytes") && sent < grown("/appended_bytes") + 3 * 1024, "{sent}");
    let stored = grown("/stored_bytes");
    assert!(sent - stored < 3 * 256, "objects are sent and nothing else: {sent} for {stored}");
    assert_eq!(grown("/requests/delete"), 0);
    let trim = request("POST", "/trim?topic-name=t&before=3000", &[], b"");
    exchange(served.address, &trim).assert_status(200);
    let trimmed = cost(&served.url());
    let requests = |value: &Value, kind: &str| value["requests"][kind].as_u64().unwrap();
    assert_eq!(requests(&trimmed, "put") - requests(&after, "put"), 1, "a trim is one object: {trimmed}");
    assert_eq!(requests(&trimmed, "delete"), requests(&after, "delete"), "objects are deleted later: {trimmed}");
    assert_eq!(trimmed["stored_bytes"].as_u64().unwrap(), after["stored_bytes"].as_u64().unwrap() / 4);
    assert!(before["requests"]["list"].as_u64().unwrap() > 0, "opening the store lists topics: {before}");
    assert!(after["dollars_per_gib"].as_f64().unwrap() > 0.0, "{after}");
    assert_eq!(after["dollars_per_day"], Value::Null, "a broker that was just started says nothing about a day");
}

#[test]
fn a_directory_has_no_requests_to_pay() {
    let broker = Broker::start(&[]);
    let output = broker.rawline(&["cost"]).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no requests to a bucket"));
    assert_eq!(broker.rawline(&["cost", "--for", "soon"]).output().unwrap().status.code(), Some(2));
}
