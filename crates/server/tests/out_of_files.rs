//! Without file descriptors, appends that need one get 503; other requests continue.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // A test.

mod support;

use rawline_broker::store::disk::{self, Durability, Options};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::{PATIENT, Served};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::fs::File;
use support::{connect, exchange, get};

/// Low enough to exhaust, and far more than the server needs. The test has a separate process.
const FILES_MAX: u64 = 200;

async fn append(stream: &mut tokio::net::TcpStream, topic: &str) -> (u16, String) {
    let head = support::append_head(3).replace("topic-name=t", &format!("topic-name={topic}"));
    exchange(stream, &[head.as_bytes(), b"abc"]).await.unwrap()
}

/// Defect 14: without file descriptors, a broker responded with 500, as if its disk were broken, until a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_finds_no_file_descriptor_gets_503_and_succeeds_later() {
    let mut limit = getrlimit(Resource::Nofile);
    (limit.current, limit.maximum) = (Some(FILES_MAX), Some(FILES_MAX));
    setrlimit(Resource::Nofile, limit).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::PageCache, segment_bytes: 8 << 10 };
    let store = disk::open_with(dir.path(), options).unwrap();
    let server = Served::on(store, HttpConfig { waits: PATIENT, ..HttpConfig::default() }, 128 << 20).await;
    let mut stream = connect(&server).await;
    assert_eq!(append(&mut stream, "open").await.0, 201);

    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    assert_eq!(append(&mut stream, "new").await.0, 201, "there is room in the open segment");
    let mut stored = 2;
    let text = loop {
        let (status, text) = append(&mut stream, "new").await;
        if status != 201 {
            assert_eq!(status, 503, "{text}");
            break text;
        }
        stored += 1;
        assert!(stored < 1000, "a segment was created without a file");
    };
    assert!(text.contains("\"store_unavailable\"") && text.contains("retry-after: 1"), "{text}");
    let read = get("/record?topic-name=new&offset=0");
    assert_eq!(exchange(&mut stream, &[read.as_bytes()]).await.unwrap().0, 200);
    assert_eq!(exchange(&mut stream, &[get("/health").as_bytes()]).await.unwrap().0, 200);

    drop(files);
    // The journal may still be resolving the outcome of the last one.
    loop {
        match append(&mut stream, "new").await {
            (201, _) => break,
            (status, text) => assert_eq!(status, 503, "{text}"),
        }
    }
}
