//! On a real S3 server.

use crate::support::{
    CACHE_BYTES, all, assert_all, config, create, damage_copies, fill, merging, one, open, received, three_topics,
};
use rawline_broker::SystemClock;
use rawline_broker::journal::Journal;
use rawline_broker::store::Store;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_journal::{Control, PartitionId};
use rawline_testkit::s3_server::{Bucket, bucket, buckets};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub(crate) async fn store(bucket: &Bucket) -> Arc<dyn Store> {
    store_with(bucket, bucket.cache_dir()).await
}

async fn store_with(bucket: &Bucket, cache_dir: PathBuf) -> Arc<dyn Store> {
    let cache = Cache::open(cache_dir, CACHE_BYTES).unwrap();
    let mut config = S3Config::new(&format!("s3://{}/some/prefix", bucket.name), cache).unwrap();
    config.variables = bucket.variables();
    s3::open(config).await.unwrap().journal().clone()
}

fn keys(bucket: &Bucket, folder: &str) -> Vec<String> {
    let files = fs::read_dir(bucket.file(&format!("some/prefix/.journal/0000{folder}")));
    let names = files.into_iter().flatten().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.contains(".rw")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_is_trimmed_leaves_the_bucket() {
    for bucket in buckets().await {
        let mut config = config(1);
        config.limits.batch_wait = Duration::ZERO;
        config.limits.deletion_delay = 4;
        config.snapshot_objects = 5;
        config.garbage_interval = Duration::from_millis(300);
        let journal = Journal::open(store(&bucket).await, Arc::new(SystemClock), config);
        let topic = journal.change(create("t", 1)).await.unwrap();
        let partition = PartitionId { topic, number: 0 };
        for n in 0..20 {
            journal.append(partition, None, received(&one(&[&n.to_string()]))).await.unwrap();
        }
        assert!(keys(&bucket, "").len() > 20);
        journal.change(Control::Trim { partition, first_offset: 18 }).await.unwrap();
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            // A snapshot covers the objects only once others follow.
            journal.append(partition, None, received(&one(&["later"]))).await.unwrap();
            let first = keys(&bucket, "").into_iter().next().unwrap();
            if first.as_str() > "00000000000000000019.rwj" {
                break;
            }
            assert!(Instant::now() < give_up, "{first} is still there");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(all(&journal, partition).await[..2], ["18", "19"]);
        let fresh = open(store(&bucket).await, 2);
        fresh.append(partition, None, received(&one(&["last"]))).await.unwrap();
        assert_eq!(all(&fresh, partition).await[..2], ["18", "19"], "a new broker reads what is left");
    }
}

/// The journal's objects and merged objects with their sizes.
fn listing(bucket: &Bucket) -> Vec<(String, u64)> {
    let size = |key: String| {
        let bytes = fs::metadata(bucket.file(&format!("some/prefix/.journal/0000/{key}"))).map_or(0, |file| file.len());
        (key, bytes)
    };
    let merged = keys(bucket, "/merged").into_iter().map(|name| format!("merged/{name}"));
    keys(bucket, "").into_iter().chain(merged).map(size).collect()
}

fn bytes(listing: &[(String, u64)]) -> u64 {
    listing.iter().map(|(_, bytes)| bytes).sum()
}

/// Waits for something that happens in the background.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_bucket_has_few_objects_after_merging() {
    for bucket in buckets().await {
        let mut config = merging(1);
        config.limits.deletion_delay = 4;
        config.snapshot_interval = Duration::from_secs(1);
        config.garbage_interval = Duration::from_millis(500);
        let mut quiet = config.clone();
        quiet.merge = None;
        let journal = Journal::open(store(&bucket).await, Arc::new(SystemClock), quiet);
        let topics = three_topics(&journal).await;
        fill(&journal, &topics, 0..60).await;
        drop(journal);
        let before = listing(&bucket);

        let journal = Journal::open(store(&bucket).await, Arc::new(SystemClock), config);
        fill(&journal, &topics, 60..61).await;
        until("nothing was merged", || !keys(&bucket, "/merged").is_empty()).await;
        assert_all(&journal, &topics, 61).await;
        println!("before: {} objects, {} bytes\n{before:#?}", before.len(), bytes(&before));
        until("there are not fewer objects and bytes", || {
            let after = listing(&bucket);
            after.len() < before.len() / 2 && bytes(&after) < bytes(&before)
        })
        .await;
        assert_all(&journal, &topics, 61).await;
        drop(journal);
        // Another cache, which is empty.
        let fresh = open(store(&bucket).await, 2);
        fill(&fresh, &topics, 61..62).await;
        assert_all(&fresh, &topics, 62).await;
    }
}

#[tokio::test]
async fn two_brokers_merge_one_bucket() {
    for bucket in buckets().await {
        let open = async |run| {
            let mut config = merging(run);
            config.limits.deletion_delay = 4;
            config.snapshot_interval = Duration::from_secs(1);
            config.garbage_interval = Duration::from_millis(500);
            Journal::open(store(&bucket).await, Arc::new(SystemClock), config)
        };
        let journals = [open(1).await, open(2).await];
        let topics = three_topics(&journals[0]).await;
        for n in 0..90 {
            fill(&journals[n % 2], &topics, n..n + 1).await;
        }
        until("nothing was merged", || keys(&bucket, "/merged").len() >= 2).await;
        until("what was merged is not deleted", || keys(&bucket, "").len() < 50).await;
        fill(&journals[0], &topics, 90..91).await;
        fill(&journals[1], &topics, 91..92).await;
        fill(&journals[0], &topics, 92..93).await;
        assert_all(&journals[0], &topics, 93).await;
        let fresh = open(3).await;
        fill(&fresh, &topics, 93..94).await;
        assert_all(&fresh, &topics, 94).await;
    }
}

#[tokio::test]
async fn a_damaged_copy_is_never_merged() {
    let bucket = bucket().await;
    let dir = bucket.cache_dir();
    let journal = open(store_with(&bucket, dir.clone()).await, 1);
    let topics = three_topics(&journal).await;
    fill(&journal, &topics, 0..40).await;
    drop(journal);
    let damaged = damage_copies(&dir).await;
    assert!(damaged >= 40, "{damaged} copies");
    let journal = Journal::open(store_with(&bucket, dir).await, Arc::new(SystemClock), merging(2));
    fill(&journal, &topics, 40..41).await;
    until("nothing was merged", || !keys(&bucket, "/merged").is_empty()).await;
    assert_all(&journal, &topics, 41).await;
    drop(journal);
    let fresh = open(store(&bucket).await, 3);
    fill(&fresh, &topics, 41..42).await;
    assert_all(&fresh, &topics, 42).await;
}

#[tokio::test]
async fn a_damaged_object_is_left_where_it_is_and_others_are_merged() {
    let bucket = bucket().await;
    let journal = open(store(&bucket).await, 1);
    let topics = three_topics(&journal).await;
    fill(&journal, &topics, 0..40).await;
    drop(journal);
    let damaged = keys(&bucket, "").into_iter().nth(20).unwrap();
    let file = bucket.file(&format!("some/prefix/.journal/0000/{damaged}"));
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();

    let mut config = merging(2);
    config.limits.deletion_delay = 4;
    config.snapshot_interval = Duration::from_secs(1);
    config.garbage_interval = Duration::from_millis(500);
    let journal = Journal::open(store(&bucket).await, Arc::new(SystemClock), config);
    fill(&journal, &topics, 40..80).await;
    until("nothing was merged", || keys(&bucket, "/merged").len() >= 2).await;
    until("what was merged is not deleted", || keys(&bucket, "").len() < 40).await;
    assert!(keys(&bucket, "").contains(&damaged), "its records are nowhere else");
    for &topic in &topics[..2] {
        // The damaged batch is the third topic's.
        for offset in 0..80 {
            let piece = journal.read(PartitionId { topic, number: 0 }, offset).await;
            let is_in_damaged = piece.as_ref().is_err_and(|error| error.to_string().contains(&damaged));
            assert!(is_in_damaged || piece.is_ok(), "{piece:?}");
        }
    }
}
