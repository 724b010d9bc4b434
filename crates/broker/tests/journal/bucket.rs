//! On a real S3 server.

use crate::support::{all, config, create, one, open, received};
use rawline_broker::SystemClock;
use rawline_broker::journal::{Journal, JournalStore};
use rawline_broker::store::Store;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{S3Config, S3Store};
use rawline_journal::{Control, PartitionId, Producer};
use rawline_testkit::s3_server::{Bucket, bucket};
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const CACHE_BYTES: u64 = 1 << 20;

async fn store(bucket: &Bucket) -> Arc<dyn JournalStore> {
    let cache = Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap();
    let mut config = S3Config::new(&format!("s3://{}/some/prefix", bucket.name), cache).unwrap();
    config.variables = bucket.variables();
    S3Store::open(config).await.unwrap().journal().unwrap()
}

fn keys(bucket: &Bucket, folder: &str) -> Vec<String> {
    let files = fs::read_dir(bucket.file(&format!("some/prefix/.journal/0000{folder}"))).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.contains(".rw")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_bucket_is_enough() {
    let bucket = bucket().await;
    let producer = |sequence| Some(Producer { id: 7, epoch: 0, sequence });
    let partition = |number| PartitionId { topic: 1, number };
    {
        let mut config = config(1);
        config.snapshot_objects = 4;
        let journal = Journal::open(store(&bucket).await, Arc::new(SystemClock), config);
        assert_eq!(journal.change(create("t", 3)).await.unwrap(), 1);
        for n in 0..10 {
            let appends = (0..3).map(|number| {
                journal.append(partition(number), producer(n), received(&one(&[&format!("{number}-{n}")])))
            });
            for appended in futures_util::future::join_all(appends).await {
                assert_eq!(appended.unwrap().first_offset, n);
            }
        }
    }
    assert_eq!(keys(&bucket, "").first().unwrap(), "00000000000000000001.rwj");
    assert!(!keys(&bucket, "/snapshots").is_empty(), "no snapshot was taken");

    let journal = open(store(&bucket).await, 2);
    for number in 0..3 {
        let again = journal.append(partition(number), producer(9), received(&one(&["again"]))).await.unwrap();
        assert_eq!((again.first_offset, again.next_offset), (9, 10), "a duplicate has its original offsets");
        let expected: Vec<_> = (0..10).map(|n| format!("{number}-{n}")).collect();
        assert_eq!(all(&journal, partition(number)).await, expected);
    }
}

#[tokio::test]
async fn what_is_trimmed_leaves_the_bucket() {
    let bucket = bucket().await;
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

#[tokio::test]
async fn two_brokers_share_one_bucket() {
    let bucket = bucket().await;
    let journals = [open(store(&bucket).await, 1), open(store(&bucket).await, 2)];
    let topic = journals[0].change(create("t", 1)).await.unwrap();
    let partition = PartitionId { topic, number: 0 };
    // The second broker learns of the topic when it reads what the first has stored, after it has lost a race.
    let exists = journals[1].change(create("t", 1)).await;
    assert!(exists.is_err(), "{exists:?}");
    let appends = (0..60).map(|n: usize| {
        let journal = journals[n % 2].clone();
        async move { (n, journal.append(partition, None, received(&one(&[&n.to_string()]))).await.unwrap()) }
    });
    let appended = futures_util::future::join_all(appends).await;
    let fresh = open(store(&bucket).await, 3);
    fresh.append(partition, None, received(&one(&["last"]))).await.unwrap();
    let records = all(&fresh, partition).await;
    assert_eq!(records.len(), 61);
    for (n, appended) in appended {
        assert_eq!(records[appended.first_offset as usize], n.to_string());
    }
}
