//! On the emulators of Google Cloud Storage and Azure Blob Storage, and what is the same in every bucket.

use crate::support::{
    CACHE_BYTES, all, assert_all, config, create, damage_copies, fill, merging, one, open, received, three_topics,
};
use futures_util::future::join_all;
use rawline_broker::Kind;
use rawline_broker::SystemClock;
use rawline_broker::journal::Journal;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::store::{Store, StoreError};
use rawline_journal::{PartitionId, Producer};
use rawline_testkit::cloud_bucket::CloudBucket;
use rawline_testkit::stores::{Home, places_and_clouds};
use rawline_testkit::{azure_server, gcs_server};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// One on each emulator.
async fn buckets() -> [CloudBucket; 2] {
    [gcs_server::bucket().await, azure_server::bucket().await]
}

/// A bucket of S3, and one on each emulator.
async fn homes() -> impl Iterator<Item = Home> {
    places_and_clouds().await.into_iter().filter(Home::is_shared)
}

async fn store_in(home: &Home) -> Arc<dyn Store> {
    home.open().await.journal().clone()
}

fn config_of(bucket: &CloudBucket, cache_dir: PathBuf) -> S3Config {
    let cache = Cache::open(cache_dir, CACHE_BYTES).unwrap();
    let config = S3Config::new(&format!("{}/some/prefix", bucket.url), cache).unwrap();
    S3Config { variables: bucket.variables.clone(), ..config }
}

async fn store_with(bucket: &CloudBucket, cache_dir: PathBuf) -> Arc<dyn Store> {
    s3::open(config_of(bucket, cache_dir)).await.unwrap().journal().clone()
}

async fn store(bucket: &CloudBucket) -> Arc<dyn Store> {
    store_with(bucket, bucket.cache_dir()).await
}

/// Why a store can't be opened with settings that `change` has made wrong.
async fn open_error(bucket: &CloudBucket, change: impl FnOnce(&mut S3Config)) -> StoreError {
    let mut config = config_of(bucket, bucket.cache_dir());
    config.retry_budget = Duration::from_millis(200);
    change(&mut config);
    match s3::open(config).await {
        Ok(_) => panic!("this store must not open"),
        Err(error) => error,
    }
}

fn set(config: &mut S3Config, name: &str, value: &str) {
    config.variables.retain(|(other, _)| other != name);
    config.variables.push((name.to_owned(), value.to_owned()));
}

#[tokio::test]
async fn a_bucket_is_enough() {
    let producer = |sequence| Some(Producer { id: 7, epoch: 0, sequence, wraps: false });
    let partition = |number| PartitionId { topic: 1, number };
    for home in homes().await {
        {
            let mut config = config(1);
            config.snapshot_objects = 4;
            let journal = Journal::open(store_in(&home).await, Arc::new(SystemClock), config);
            assert_eq!(journal.change(create("t", 3)).await.unwrap(), 1);
            for n in 0..10 {
                let appends = (0..3).map(|number| {
                    journal.append(partition(number), producer(n), received(&one(&[&format!("{number}-{n}")])))
                });
                for appended in join_all(appends).await {
                    assert_eq!(appended.unwrap().first_offset, n, "{}", home.name);
                }
            }
        }
        let store = store_in(&home).await;
        let listed = store.list().await.unwrap();
        assert!(!listed.found.snapshots.is_empty(), "no snapshot was taken");
        assert_eq!(listed.found.objects.iter().map(|key| key.number).min(), Some(1), "{}", home.name);
        let age = |created: u64| listed.date.abs_diff(created);
        assert!(listed.found.objects.iter().all(|key| age(key.created) < 600), "{listed:?}: dates by one clock");

        let journal = open(store, 2);
        for number in 0..3 {
            let again = journal
                .append(partition(number), producer(9), received(&one(&[&format!("{number}-9")])))
                .await
                .unwrap();
            assert_eq!((again.first_offset, again.next_offset), (9, 10), "a duplicate has its original offsets");
            let expected: Vec<_> = (0..10).map(|n| format!("{number}-{n}")).collect();
            assert_eq!(all(&journal, partition(number)).await, expected, "{}", home.name);
        }
    }
}

#[tokio::test]
async fn two_brokers_share_one_bucket() {
    for home in homes().await {
        let journals = [open(store_in(&home).await, 1), open(store_in(&home).await, 2)];
        let topic = journals[0].change(create("t", 1)).await.unwrap();
        let partition = PartitionId { topic, number: 0 };
        let exists = journals[1].change(create("t", 1)).await;
        assert!(exists.is_err(), "{exists:?}");
        let appends = (0..40).map(|n: usize| {
            let journal = journals[n % 2].clone();
            async move { (n, journal.append(partition, None, received(&one(&[&n.to_string()]))).await.unwrap()) }
        });
        let appended = join_all(appends).await;
        let fresh = open(store_in(&home).await, 3);
        fresh.append(partition, None, received(&one(&["last"]))).await.unwrap();
        let records = all(&fresh, partition).await;
        assert_eq!(records.len(), 41, "{}", home.name);
        for (n, appended) in appended {
            assert_eq!(records[appended.first_offset as usize], n.to_string(), "{}", home.name);
        }
    }
}

/// By the store's clock.
#[tokio::test]
async fn what_is_merged_leaves_a_cloud() {
    join_all(buckets().await.iter().map(async |bucket| {
        let journal = open(store(bucket).await, 1);
        let topics = three_topics(&journal).await;
        fill(&journal, &topics, 0..40).await;
        drop(journal);
        let mut config = merging(2);
        config.limits.deletion_delay = 4;
        config.snapshot_interval = Duration::from_secs(1);
        config.garbage_interval = Duration::from_millis(500);
        let store_of_two = store(bucket).await;
        assert!(store_of_two.list().await.unwrap().found.objects.len() > 40);
        let journal = Journal::open(store_of_two.clone(), Arc::new(SystemClock), config);
        fill(&journal, &topics, 40..41).await;
        let give_up = Instant::now() + Duration::from_secs(120);
        loop {
            let found = store_of_two.list().await.unwrap().found;
            let oldest = found.objects.iter().map(|key| key.number).min();
            if !found.merged.is_empty() && oldest.is_none_or(|oldest| oldest > 20) {
                break;
            }
            assert!(Instant::now() < give_up, "{}: {oldest:?} is still there: {found:?}", bucket.url);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_all(&journal, &topics, 41).await;
        drop(journal);
        let fresh = open(store(bucket).await, 3);
        fill(&fresh, &topics, 41..42).await;
        assert_all(&fresh, &topics, 42).await;
    }))
    .await;
}

#[tokio::test]
async fn damaged_copies_are_fetched_from_a_cloud_again() {
    for bucket in buckets().await {
        let dir = bucket.cache_dir();
        let journal = open(store_with(&bucket, dir.clone()).await, 1);
        let topics = three_topics(&journal).await;
        fill(&journal, &topics, 0..6).await;
        drop(journal);
        let damaged = damage_copies(&dir).await;
        assert!(damaged >= 6, "{}: {damaged} copies", bucket.url);
        let journal = open(store_with(&bucket, dir).await, 2);
        fill(&journal, &topics, 6..7).await;
        assert_all(&journal, &topics, 7).await;
    }
}

#[tokio::test]
async fn a_cloud_that_ignores_the_condition_is_refused() {
    let bucket = gcs_server::unconditional_bucket().await;
    let error = open_error(&bucket, |_| ()).await;
    assert_eq!(error.kind, Kind::TellHuman, "{error}");
    let says = ["overwrote an existing object", "x-goog-if-generation-match: 0", &bucket.address.to_string()];
    assert!(says.iter().all(|says| error.message.contains(says)), "{error}");
}

#[tokio::test]
async fn a_cloud_that_cannot_be_used_says_why() {
    let [gcs, azure] = buckets().await;
    let says = |error: StoreError, kind: Kind, words: &[&str]| {
        let has_all = words.iter().all(|word| error.message.contains(word));
        assert!(error.kind == kind && has_all, "{:?}, {words:?}: {error}", error.kind);
    };
    let error = open_error(&gcs, |config| set(config, "GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")).await;
    says(error, Kind::TellHuman, &["/nowhere", "check the variables GOOGLE_APPLICATION_CREDENTIALS"]);
    let error = open_error(&gcs, |config| config.address.bucket = "nowhere".to_owned()).await;
    says(error, Kind::TellHuman, &["gs://nowhere/some/prefix", "check the bucket"]);

    let error = open_error(&azure, |config| config.address.bucket = "nowhere".to_owned()).await;
    says(error, Kind::TellHuman, &["bucket \"nowhere\" does not exist"]);
    let error = open_error(&azure, |config| set(config, "AZURE_STORAGE_ACCOUNT_KEY", "d3Jvbmc=")).await;
    says(error, Kind::TellHuman, &["correct AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"]);
    let error = open_error(&azure, |config| set(config, "AZURE_STORAGE_ACCOUNT_KEY", "?")).await;
    says(error, Kind::TellHuman, &["check the variables AZURE_STORAGE_ACCOUNT_NAME"]);
    let error = open_error(&azure, |config| config.variables.clear()).await;
    says(error, Kind::TellHuman, &["check the variables AZURE_STORAGE_ACCOUNT_NAME"]);

    // A closed port.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = open_error(&gcs, |config| set(config, "STORAGE_EMULATOR_HOST", &closed.to_string())).await;
    says(error, Kind::Wait, &[&closed.to_string()]);
}
