//! Searches over HTTP: criteria, both orders, cursors, and what limits them.

use crate::support::kafka::{Client, produce_body, produced, served};
use crate::support::{connect, get, http};
use rawline_batch::record_batch::RecordCodec;
use rawline_kafka::Api;
use rawline_server::access::{Access, Audit, Grants, KeyEntry, KeyFile, QuotaLimits};
use rawline_server::http::HttpConfig;
use rawline_testkit::batches::keyed_batch;
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use rawline_testkit::unreadable;
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// The lines of a response: matches, and the end.
struct Found {
    matches: Vec<Value>,
    end: Value,
}

impl Found {
    fn offsets(&self) -> Vec<(u64, u64)> {
        let of = |one: &Value| (one["partition"].as_u64().unwrap(), one["offset"].as_u64().unwrap());
        self.matches.iter().map(of).collect()
    }
}

/// The body of a response in chunks.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 2 + size + 2..];
    }
}

async fn search(server: &Served, query: &str) -> Found {
    let (status, _, body) = http(server, "GET", &format!("/search?topic-name=t&{query}"), "accept: */*", b"").await;
    assert_eq!(status, 200, "{query}: {}", String::from_utf8_lossy(&body));
    let text = String::from_utf8(unchunked(&body)).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.pop().unwrap()["end"].clone();
    lines.retain(|line| line.get("progress").is_none());
    assert_eq!(end["matches"].as_u64(), Some(lines.len() as u64), "{query}");
    Found { matches: lines, end }
}

/// Searches until nothing is left.
async fn search_all(server: &Served, query: &str, max: u64) -> Vec<(u64, u64)> {
    let mut found = search(server, &format!("{query}&max-records={max}")).await;
    let criteria = query.split('&').next().unwrap();
    let mut all = found.offsets();
    while let Some(cursor) = found.end["resume"].as_str() {
        let query = format!("{criteria}&max-records={max}&resume={}", cursor.replace('=', "%3D").replace(';', "%3B"));
        found = search(server, &query).await;
        all.extend(found.offsets());
    }
    assert_eq!(found.end["offsets_left"], 0);
    all
}

async fn refused(server: &Served, query: &str, status: u16, code: &str) {
    let (found, _, body) = http(server, "GET", &format!("/search?{query}"), "accept: */*", b"").await;
    let error: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((found, error["code"].as_str()), (status, Some(code)), "{query}: {error}");
}

async fn append(server: &Served, target: &str, content_type: &str, body: &[u8]) {
    let content_type = format!("content-type: {content_type}");
    assert_eq!(http(server, "POST", &format!("/records?topic-name=t{target}"), &content_type, body).await.0, 201);
}

/// Batches of both kinds in two partitions: JSON without keys, and text with keys.
async fn filled() -> (Served, tempfile::TempDir) {
    let (server, dir) = served().await;
    let settings = br#"{"partitions":2}"#;
    assert_eq!(http(&server, "POST", "/topic?topic-name=t", "accept: */*", settings).await.0, 201);
    for first in [0, 50] {
        for partition in 0..2 {
            let line = |n: usize| {
                json!({"n": n, "deep": {"even": n.is_multiple_of(2)}, "text": format!("Line {n}")}).to_string()
            };
            let lines: Vec<String> = (first..first + 50).map(line).collect();
            let target = format!("&partition={partition}");
            append(&server, &target, "application/x-ndjson", lines.join("\n").as_bytes()).await;
        }
    }
    let mut client = Client::connect(&server).await;
    let record = |n: usize| (format!("key {}", n % 5).into_bytes(), Some(format!("value {n}").into_bytes()));
    for codec in [RecordCodec::None, RecordCodec::Zstd] {
        let records: Vec<_> = (0..20).map(record).collect();
        let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &keyed_batch(codec, &records))).await;
        assert_eq!(produced(&body, "t").0, 0);
    }
    (server, dir)
}

#[tokio::test]
async fn every_criterion_finds_the_same_records_in_both_orders_and_in_any_number_of_requests() {
    let (server, _dir) = filled().await;
    let cases: [(&str, Vec<(u64, u64)>); 6] = [
        ("text=line+7", (0..2).flat_map(|p| [7].into_iter().chain(70..80).map(move |o| (p, o))).collect()),
        ("regex=%5Evalue+1%5B0-3%5D%24", [110, 111, 112, 113, 130, 131, 132, 133].map(|o| (0, o)).to_vec()),
        ("where=n%3E=97+and+deep.even=true", vec![(0, 98), (1, 98)]),
        ("key=key+3", (0..8).map(|n| (0, 103 + 5 * n)).collect()),
        ("text=KEY+4", (0..8).map(|n| (0, 104 + 5 * n)).collect()),
        ("text=nowhere", Vec::new()),
    ];
    for (criteria, expected) in cases {
        for max in [1, 3, 100] {
            let mut oldest = search_all(&server, criteria, max).await;
            let mut newest = search_all(&server, &format!("{criteria}&newest-first=true"), max).await;
            for partition in 0..2 {
                let of = |all: &[(u64, u64)]| all.iter().filter(|one| one.0 == partition).copied().collect::<Vec<_>>();
                assert!(of(&oldest).is_sorted() && of(&newest).is_sorted_by(|a, b| a >= b), "{criteria} {max}");
            }
            oldest.sort_unstable();
            newest.sort_unstable();
            assert_eq!((&oldest, &newest), (&expected, &expected), "{criteria}, {max} a request");
        }
    }
    let found = search(&server, "key=key+3&max-records=1").await;
    let expected = json!({"partition": 0, "offset": 103, "key": "key 3", "record": "value 3"});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&found.matches[0][name], value, "{}", found.matches[0]);
    }
    server.wait_for_buffers();
}

#[tokio::test]
async fn a_range_bounds_a_search() {
    let (server, _dir) = filled().await;
    let offsets = async |query: &str| search(&server, query).await.offsets();
    assert_eq!(offsets("text=line&from=10&to=12").await, [(0, 10), (0, 11), (1, 10), (1, 11)]);
    assert_eq!(offsets("text=line&partition=1&from=98").await, [(1, 98), (1, 99)]);
    assert_eq!(offsets("text=value&to=-1h").await, []);
    assert_eq!(offsets("text=value+1&from=-1h&partition=0").await.len(), 22);
    // What is looked through is limited too, and is continued.
    let found = search(&server, "text=value&max-bytes=1").await;
    assert_eq!((found.end["resume"].is_string(), found.end["bytes"].as_u64() > Some(0)), (true, true));
    let found = search(&server, "text=value&timeout=0").await;
    assert_eq!((found.end["offsets"].as_u64(), found.end["offsets_left"].as_u64()), (Some(0), Some(240)));
    // A cursor can name offsets that don't exist: they aren't looked for.
    let found = search(&server, "text=line+3&resume=newest%3B1%3D90-18446744073709551615").await;
    let existing = 100 - 90;
    assert_eq!((found.end["offsets"].as_u64(), found.end["offsets_left"].as_u64()), (Some(existing), Some(0)));
}

#[tokio::test]
async fn wrong_searches_are_refused() {
    let (server, _dir) = filled().await;
    for (query, status, code) in [
        ("topic-name=t", 400, "query_missing"),
        ("text=a", 400, "topic_name_missing"),
        ("topic-name=none&text=a", 404, "topic_not_found"),
        ("topic-name=t&partition=2&text=a", 404, "partition_not_found"),
        ("topic-name=t&regex=a(", 400, "query_invalid"),
        ("topic-name=t&text=a&max-records=0", 400, "query_invalid"),
        ("topic-name=t&text=a&from=noon", 400, "query_invalid"),
        ("topic-name=t&text=a&resume=oldest", 400, "query_invalid"),
        ("topic-name=t&text=a&resume=oldest%3B0%3D0-5,0%3D0-5", 400, "query_invalid"),
        ("topic-name=t&text=a&resume=oldest%3B0%3D0-5&from=1", 400, "query_invalid"),
    ] {
        refused(&server, query, status, code).await;
    }
}

#[tokio::test]
async fn a_search_passes_over_records_that_cannot_be_read_and_leaves_out_large_ones() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    append(&server, "", "application/octet-stream", b"needle").await;
    for (_, sent) in unreadable::compressed().into_iter().take(1) {
        let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &sent)).await;
        assert_eq!(produced(&body, "t").0, 0);
    }
    append(&server, "", "application/octet-stream", &[b"needle".repeat(20_000), b"\n".to_vec()].concat()).await;
    for order in ["false", "true"] {
        let found = search(&server, &format!("text=needle&newest-first={order}")).await;
        assert_eq!((found.matches.len(), found.end["offsets_left"].as_u64()), (2, Some(0)), "{}", found.end);
        assert!(found.end["unreadable"].as_u64() > Some(0), "{}", found.end);
        let large = found.matches.iter().find(|one| one["offset"] != 0).unwrap();
        assert_eq!((large["bytes"].as_u64(), large.get("record")), (Some(120_001), None));
    }
}

/// Clients that don't read their matches hold places; the places and the buffers are free when they are gone.
#[tokio::test]
async fn only_so_many_searches_run_at_once() {
    let config = HttpConfig { pool_wait: Duration::from_millis(50), ..HttpConfig::default() };
    let server = Served::on(in_memory(), config, 64 << 20).await;
    let line = "x".repeat(8 << 10);
    for _ in 0..8 {
        append(&server, "", "application/x-ndjson", vec![&*line; 500].join("\n").as_bytes()).await;
    }
    let mut busy = Vec::new();
    for _ in 0..4 {
        let mut stream = connect(&server).await;
        stream.write_all(get("/search?topic-name=t&text=x&max-records=10000&timeout=60s").as_bytes()).await.unwrap();
        stream.readable().await.unwrap();
        busy.push(stream);
    }
    refused(&server, "topic-name=t&text=x", 503, "searches_too_many").await;
    drop(busy);
    while http(&server, "GET", "/search?topic-name=t&text=nowhere", "accept: */*", b"").await.0 != 200 {
        tokio::task::yield_now().await;
    }
    server.wait_for_buffers();
}

/// All bytes that a search looks through count for the quota, not only the matches.
#[tokio::test]
async fn a_search_counts_for_the_quota_of_its_key() {
    let quota = QuotaLimits { bytes_out_per_second: NonZeroU64::new(1000), ..QuotaLimits::default() };
    let (key, entry) = KeyEntry::generate("some", Grants::all(), quota).unwrap();
    let access = Access::new(Vec::new(), Some(KeyFile { keys: vec![entry] }), Audit::default());
    let server = Served::on(in_memory(), HttpConfig { access, ..HttpConfig::default() }, 64 << 20).await;
    let key = format!("authorization: Bearer {key}");
    let body = vec![0; 1 << 20];
    let content_type = format!("{key}\r\ncontent-type: application/octet-stream");
    assert_eq!(http(&server, "POST", "/records?topic-name=t", &content_type, &body).await.0, 201);
    let (status, _, body) = http(&server, "GET", "/search?topic-name=t&text=a", &key, b"").await;
    let body = String::from_utf8(unchunked(&body)).unwrap();
    assert!(status == 200 && body.contains("\"matches\":0"), "{status} {body}");
    assert_eq!(http(&server, "GET", "/search?topic-name=t&text=a", &key, b"").await.0, 429);
}
