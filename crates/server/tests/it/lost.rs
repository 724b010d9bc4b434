//! Reading records that were given up: an error with the offset at which to continue, over every protocol.

use crate::support::http;
use crate::support::kafka::Client;
use crate::support::kafka_fetch::{Fetch, Fetched};
use rawline_broker::store::disk::{self, Durability, Options};
use rawline_broker::store::{Storage, StoreError};
use rawline_kafka::{Api, ErrorCode};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::path::{Path, PathBuf};
use tokio::io::AsyncWriteExt;

const RECORDS: usize = 100;

fn open(dir: &Path) -> Result<Storage, StoreError> {
    let options = Options { durability: Durability::Fsync, segment_bytes: 8 << 10 };
    disk::open_with(dir, options)
}

/// Opens a directory again; the broker before may still be ending.
async fn serve(dir: &Path) -> Served {
    loop {
        match open(dir) {
            Ok(store) => return Served::on(store, HttpConfig::default(), 64 << 20).await,
            Err(error) => assert!(error.message.contains("in use"), "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir.join("journal")).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "seg")).collect();
    files.sort();
    files
}

#[tokio::test]
async fn records_that_were_given_up_are_an_error_that_says_where_to_continue() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path()).await;
    for _ in 0..RECORDS {
        let target = "/records?topic-name=t&partition=0";
        let (status, ..) = http(&server, "POST", target, "content-type: application/octet-stream", &[b'x'; 300]).await;
        assert_eq!(status, 201);
    }
    server.stop().await;
    let (lost, next) = (segments(dir.path())[1].clone(), segments(dir.path())[2].clone());
    // The topic's creation is object 1, so the record at offset n is in object n + 2.
    let first_of = |path: &Path| path.file_stem().unwrap().to_str().unwrap().parse::<usize>().unwrap() - 2;
    let (from, to) = (first_of(&lost), first_of(&next));
    std::fs::remove_file(&lost).unwrap();
    std::fs::write(lost.with_extension("accept"), b"").unwrap();

    let server = serve(dir.path()).await;
    let mut client = Client::connect(&server).await;
    for offset in 0..RECORDS {
        let target = format!("/record?topic-name=t&offset={offset}");
        let (status, _, body) = http(&server, "GET", &target, "accept: application/octet-stream", b"").await;
        let text = String::from_utf8(body).unwrap();
        let topics = [("t", &[(0, offset as i64)][..])];
        let request = client.request(Api::Fetch.key(), 11, &Fetch { topics: &topics, ..Fetch::default() }.body());
        client.stream.write_all(&request).await.unwrap();
        let (_, fetched) = client.response(false).await;
        let error = Fetched::read(&fetched).partitions[0].error;
        if (from..to).contains(&offset) {
            let next = format!("read from offset {}", offset + 1);
            assert!(status == 500 && text.contains("\"records_lost\"") && text.contains(&next), "{offset}: {text}");
            assert_eq!(error, i16::from(ErrorCode::CorruptMessage), "{offset}");
        } else {
            assert_eq!((status, error), (200, 0), "{offset}: {text}");
        }
    }
}
