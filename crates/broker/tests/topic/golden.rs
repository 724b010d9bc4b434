//! A journal of golden bytes (`vectors/journal/`), on a directory and in a bucket.

use crate::support::{batch, open, received, records, request};
use object_store::ObjectStoreExt;
use object_store::path::Path as Key;
use rawline_batch::Codec;
use rawline_broker::Broker;
use rawline_broker::store::Storage;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk::{self, Options};
use rawline_broker::store::s3::{self, S3Config, connect};
use rawline_testkit::s3_server::{Bucket, bucket};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn vectors(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(below)
}

/// The bytes of a file of hexadecimal digits, in which a line that begins with `#` is a comment.
fn golden(name: &str) -> Vec<u8> {
    let text = fs::read_to_string(vectors("journal").join(name)).unwrap();
    let digits: String = text.lines().filter(|line| !line.starts_with('#')).collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

async fn all(broker: &Broker, topic: &str, partition: u64) -> Vec<Vec<u8>> {
    let partition = broker.partition(topic, partition).await.unwrap();
    let mut found: Vec<Vec<u8>> = Vec::new();
    let first_offset = partition.status().first_offset;
    loop {
        let answer = partition.read(&request(first_offset + found.len() as u64, 0, 0)).await.unwrap();
        if answer.pieces.is_empty() {
            return found;
        }
        found.extend(records(&answer));
    }
}

/// A store in a bucket, with an empty cache.
fn config(bucket: &Bucket) -> S3Config {
    let cache = Cache::open(bucket.cache_dir(), 1 << 20).unwrap();
    let config = S3Config::new(&format!("s3://{}/store", bucket.name), cache).unwrap();
    S3Config { variables: bucket.variables(), ..config }
}

async fn fill(bucket: &Bucket, files: Vec<(String, Vec<u8>)>) {
    let client = connect(&config(bucket).address, &bucket.variables(), Duration::from_secs(5)).unwrap().store;
    for (name, bytes) in files {
        client.put(&Key::from(format!("store/{name}")), bytes.into()).await.unwrap();
    }
}

/// The journal of the golden bytes opens, and continues.
async fn assert_journal_opens(store: impl AsyncFn() -> Storage, more: Vec<Vec<u8>>) {
    let record = |text: &str| text.as_bytes().to_vec();
    let broker = open(store().await).await;
    let names: Vec<String> = broker.statuses().into_iter().map(|status| status.name).collect();
    assert_eq!((names, broker.topic("orders").await.unwrap().partitions()), (vec!["orders".to_owned()], 3));
    // The partition is trimmed to its second record.
    let first = ["", "world!", "hello again", "!"].map(record);
    assert_eq!(all(&broker, "orders", 0).await, [&first[..], &more].concat());
    assert_eq!(all(&broker, "orders", 1).await, [record("elsewhere")]);
    let partition = broker.partition("orders", 0).await.unwrap();
    let appended = partition.append(received(&batch(&[record("new")], Codec::None))).await.unwrap();
    assert_eq!(appended.first_offset, 5 + more.len() as u64);
    drop(partition);
    broker.close().await;
}

#[tokio::test]
async fn a_journal_of_golden_bytes_opens() {
    let storage = br#"{"format":1,"journals":1,"id":"000102030405060708090a0b0c0d0e0f"}"#.to_vec();
    let objects = ["object-1.hex", "object-2.hex", "object-3.hex"].map(golden);
    let dir = tempfile::tempdir().unwrap();
    let mut segment = Vec::new();
    for (frame, object) in golden("frames.hex").chunks(32).zip(&objects) {
        segment.extend([frame, object].concat());
        segment.resize(segment.len().next_multiple_of(8), 0);
    }
    fs::create_dir_all(dir.path().join("journal/merged")).unwrap();
    fs::write(dir.path().join("storage.json"), &storage).unwrap();
    fs::write(dir.path().join("journal/00000000000000000001.seg"), segment).unwrap();
    fs::write(dir.path().join("journal/merged/00000000000000000001.seg"), golden("merged-1.hex")).unwrap();
    let on_disk = || disk::open_with(dir.path(), Options::default()).unwrap();
    for more in [vec![], vec![b"new".to_vec()]] {
        assert_journal_opens(async || on_disk(), more).await;
    }

    // With the objects alone, and with a snapshot.
    for snapshot in [None, Some("snapshot-4.hex")] {
        let bucket = bucket().await;
        let mut files = vec![("storage.json".to_owned(), storage.clone())];
        for (number, object) in (1..).zip(&objects) {
            files.push((format!(".journal/0000/{number:020}.rwj"), object.clone()));
        }
        files.push((format!(".journal/0000/merged/{:020}.rwj", 1), golden("merged-1.hex")));
        files.extend(snapshot.map(|name| (format!(".journal/0000/snapshots/{:020}.rws", 4), golden(name))));
        fill(&bucket, files).await;
        let in_bucket = async || s3::open(config(&bucket)).await.unwrap();
        for more in [vec![], vec![b"new".to_vec()]] {
            assert_journal_opens(in_bucket, more).await;
        }
    }
}
