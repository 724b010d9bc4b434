//! A storage with several journals: its number is decided once, every name has its journal, and one broker serves all.

use crate::machine::CACHE_BYTES;
use futures_util::future::join_all;
use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::cluster::Card;
use rawline_broker::store::Storage;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::subscriptions::{Event, Position, Slow, Subscribe};
use rawline_broker::{Broker, Commit, Config, Piece, ReadRequest, Received, SystemClock, Topic};
use rawline_testkit::batches::{batch, received};
use rawline_testkit::s3_server::{Bucket, bucket, buckets};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

async fn store(bucket: &Bucket, cache_dir: &Path, journals: Option<u32>) -> Result<Storage, String> {
    // Copies that are being written hold the cache of a broker that is closed.
    until("the cache is free", || Cache::open(cache_dir, CACHE_BYTES).is_ok()).await;
    let cache = Cache::open(cache_dir, CACHE_BYTES).unwrap();
    let config = S3Config { journals, ..crate::machine::config(bucket, cache) };
    s3::open(config).await.map_err(|error| error.message)
}

async fn number(bucket: &Bucket, journals: Option<u32>) -> Result<usize, String> {
    store(bucket, &bucket.cache_dir(), journals).await.map(|store| store.journals.len())
}

/// A broker on a storage with three journals. It looks for offsets in deleted topics all the time.
async fn broker(bucket: &Bucket, run: u64) -> Broker {
    broker_with(bucket, &bucket.cache_dir(), run).await
}

async fn broker_with(bucket: &Bucket, cache_dir: &Path, run: u64) -> Broker {
    let store = store(bucket, cache_dir, Some(3)).await.unwrap();
    let (batch_wait, retention_interval) = (Duration::from_millis(1), Duration::from_millis(50));
    let config = Config { batch_wait, retention_interval, ..Config::new(run) };
    Broker::open(store, Arc::new(SystemClock), config).await.unwrap()
}

fn record(text: &str) -> Vec<u8> {
    batch(Codec::None, &[text.as_bytes().to_vec()])
}

/// A record that a producer has numbered.
fn numbered(text: &str, sequence: u64) -> Received {
    let mut builder = Builder::new(Codec::None, Limits::default());
    builder.push(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    builder.finish_into(1, 7, sequence, &mut bytes).unwrap();
    received(&bytes).exactly_once(0).unwrap()
}

async fn read(topic: &Topic, offset: u64) -> Vec<u8> {
    let request = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: false };
    let pieces = topic.read(&request).await.unwrap().pieces;
    let whole = pieces.iter().map(|piece| match piece {
        Piece::Whole(bytes) => &bytes[..],
        Piece::Slice { .. } => panic!("a batch of one record was cut"),
    });
    whole.collect::<Vec<_>>().concat()
}

/// Looks again and again until it is so.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_number_of_journals_is_decided_once() {
    let new = bucket().await;
    for wrong in [0, 65] {
        let error = number(&new, Some(wrong)).await.unwrap_err();
        assert!(error.contains("use 1 to 64"), "{error}");
    }
    assert_eq!(number(&new, Some(3)).await, Ok(3));
    let content = fs::read_to_string(new.file("some/prefix/storage.json")).unwrap();
    assert!(content.starts_with(r#"{"format":1,"journals":3,"deletion_delay_s":3600,"id":""#), "{content}");
    assert_eq!((number(&new, Some(3)).await, number(&new, None).await), (Ok(3), Ok(3)));
    let error = number(&new, Some(1)).await.unwrap_err();
    assert!(error.contains("created with 3 journals, which can't change"), "{error}");
    fs::write(new.file("some/prefix/storage.json"), r#"{"format":1,"journals":65}"#).unwrap();
    assert!(number(&new, None).await.unwrap_err().contains("1 to 64 journals"));

    let one = bucket().await;
    assert_eq!(number(&one, None).await, Ok(1));
    let error = number(&one, Some(2)).await.unwrap_err();
    assert!(error.contains("created with 1 journal,"), "{error}");
}

#[tokio::test]
async fn topics_are_spread_over_the_journals_and_all_are_served_after_a_restart() {
    for bucket in buckets().await {
        let names: Vec<String> = ('a'..='i').map(|name| name.to_string()).collect();
        let cache_dir = bucket.cache_dir();
        let first = broker_with(&bucket, &cache_dir, 1).await;
        let journals: BTreeSet<u32> = names.iter().map(|name| first.journal_of(name)).collect();
        assert_eq!((first.journals(), journals.len()), (3, 3));
        let mut ids = BTreeSet::new();
        for name in &names {
            let topic = first.create_topic(name, serde_json::from_str(r#"{"partitions":2}"#).unwrap()).await.unwrap();
            ids.insert(topic.topic_id().to_bytes());
            for number in 0..3 {
                topic.append(received(&record(&format!("{name} {number}")))).await.unwrap();
            }
        }
        assert_eq!(ids.len(), names.len(), "ids of topics in different journals are different");
        for journal in 0..3 {
            let folder = bucket.file(&format!("some/prefix/.journal/{journal:04}"));
            assert!(fs::read_dir(&folder).unwrap().count() > 1, "nothing in {}", folder.display());
        }
        first.close().await;

        // With the copies and without: objects that have one number come from their own journals.
        for (run, cache_dir) in [(2, cache_dir), (3, bucket.cache_dir())] {
            let again = broker_with(&bucket, &cache_dir, run).await;
            let listed: Vec<String> = again.topics().iter().map(|topic| topic.topic_name().to_owned()).collect();
            assert_eq!(listed, names);
            for name in &names {
                let topic = again.topic(name).await.unwrap();
                assert!(ids.contains(&topic.topic_id().to_bytes()) && topic.partitions() == 2);
                assert_eq!(again.topic_with_id(topic.topic_id()).await.unwrap().unwrap().topic_name(), name);
                for number in 0..3 {
                    assert_eq!(read(&topic, number).await, record(&format!("{name} {number}")));
                }
            }
            again.close().await;
        }
    }
}

/// Names of topics in the journals 1, 0 and 2.
const TOPICS: [&str; 3] = ["a", "b", "c"];

#[tokio::test]
async fn producers_number_their_appends_in_topics_of_several_journals() {
    let bucket = bucket().await;
    let first = broker(&bucket, 1).await;
    assert_eq!(TOPICS.map(|name| first.journal_of(name)), [1, 0, 2]);
    let append = async |broker: &Broker, name: &str, sequence: u64| {
        let topic = broker.topic_or_create(name).await.unwrap();
        topic.append(numbered(name, sequence)).await.unwrap().first_offset
    };
    for sequence in 0..3 {
        for name in TOPICS {
            assert_eq!(append(&first, name, sequence).await, sequence);
        }
    }
    first.close().await;
    let again = broker(&bucket, 2).await;
    for name in TOPICS {
        assert_eq!(append(&again, name, 2).await, 2, "a duplicate gets the original's offset");
        assert_eq!(append(&again, name, 3).await, 3);
    }
    // A named one would be fenced in one journal, and continue in the others.
    let error = again.open_producer("p", "").await.unwrap_err().to_string();
    assert!(error.contains("need a storage with one journal, and this one has 3"), "{error}");
    let error = again.open_transactional("p", "", Duration::from_secs(1), None).await.unwrap_err().to_string();
    assert!(error.contains("transactions need a storage with one journal"), "{error}");
    assert_eq!(again.transactional_producers(None, None, |_| true).await.unwrap(), []);
    again.close().await;
}

#[tokio::test]
async fn a_group_commits_offsets_in_topics_of_all_journals_and_those_of_deleted_topics_are_forgotten() {
    let bucket = bucket().await;
    let first = broker(&bucket, 1).await;
    let groups: Vec<Arc<str>> = ["g", "workers", "group"].map(Arc::from).to_vec();
    assert_eq!(groups.iter().map(|group| first.journal_of(group)).collect::<Vec<_>>(), [1, 0, 2]);
    for name in TOPICS {
        first.create_topic(name, serde_json::Map::new()).await.unwrap();
    }
    let of = |broker: &Broker, group: &str| -> BTreeMap<String, i64> {
        let committed = broker.coordinator().committed_offsets(group).into_iter();
        committed.map(|(topic, _, committed)| (topic.to_string(), committed.offset)).collect()
    };
    for (number, group) in (10..).zip(&groups) {
        let commit = |topic: &str| Commit { topic: topic.into(), partition: 0, offset: number, metadata: [].into() };
        let committed = first.coordinator().commit_offsets(group, "", None, &TOPICS.map(commit)).await.unwrap();
        assert!(committed.iter().all(Result::is_ok), "{committed:?}");
    }
    first.close().await;

    let again = broker(&bucket, 2).await;
    let named: Vec<String> = again.coordinator().groups().into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(named, ["g", "group", "workers"]);
    let expected = |number, topics: &[&str]| topics.iter().map(|topic| ((*topic).to_owned(), number)).collect();
    for (number, group) in (10..).zip(&groups) {
        assert_eq!(of(&again, group), expected(number, &TOPICS));
    }
    again.delete_topic("a").await.unwrap();
    for (number, group) in (10..).zip(&groups) {
        assert_eq!(of(&again, group), expected(number, &["b", "c"]), "at once");
    }
    // A new topic of that name is another one.
    again.create_topic("a", serde_json::Map::new()).await.unwrap();
    assert_eq!(of(&again, "g"), expected(10, &["b", "c"]));
    again.delete_topic("b").await.unwrap();
    again.delete_topic("c").await.unwrap();
    until("groups without an offset exist no more", || again.coordinator().groups().is_empty()).await;
    again.close().await;
}

#[tokio::test]
async fn a_subscription_to_all_topics_goes_on_in_every_journal() {
    let bucket = bucket().await;
    let broker = broker(&bucket, 1).await;
    for name in TOPICS {
        broker.topic_or_create(name).await.unwrap().append(received(&record("before"))).await.unwrap();
    }
    let all = |after_us, positions| Subscribe {
        names: Vec::new(),
        prefixes: vec![String::new()],
        partition: None,
        after_us,
        positions,
        slow: Slow::Disconnect,
        lag_max: None,
    };
    let began = broker.subscribe(all(None, BTreeMap::new())).await.unwrap();
    let (after_us, positions) = (began.after_us(), began.positions());
    let position = |(name, id, number, next_offset): (&Arc<str>, u32, u32, u64)| {
        ((name.to_string(), number), Position { topic: Some(id), next_offset })
    };
    let positions: BTreeMap<_, _> = positions.map(position).collect();
    // A subscription from its cursor gets the records since then, also those of new topics, and nothing else.
    let appends = ["a", "b", "c", "d", "e"].map(|name| {
        let topic = broker.topic_or_create(name);
        async move { topic.await.unwrap().append(received(&record("since"))).await.unwrap().first_offset }
    });
    let expected: BTreeSet<(String, u64)> =
        ["a", "b", "c", "d", "e"].into_iter().map(str::to_owned).zip(join_all(appends).await).collect();
    drop(began);
    let mut again = broker.subscribe(all(Some(after_us), positions)).await.unwrap();
    let mut found = BTreeSet::new();
    while found.len() < expected.len() {
        let next = tokio::time::timeout(Duration::from_secs(30), again.next(&broker)).await;
        let Event::Records(records) = next.unwrap_or_else(|_| panic!("only {found:?}")).unwrap() else {
            panic!("no topic is deleted")
        };
        let end = records.partition.offsets().end;
        found.insert((records.topic.to_string(), records.offset));
        again.delivered(&records, end, end);
    }
    assert_eq!(found, expected);
    assert!(again.is_idle());
    drop(again);
    broker.close().await;
}

#[tokio::test]
async fn a_broker_says_how_far_it_is_in_every_journal_and_which_it_owns() {
    let bucket = bucket().await;
    let broker = broker(&bucket, 1).await;
    broker.join(|card| Card { url: Some("http://127.0.0.1:1".to_owned()), ..card }).await.unwrap();
    let cluster = broker.cluster().unwrap().clone();
    until("it owns all", || cluster.me().owns == [0, 1, 2]).await;
    assert_eq!(cluster.me().next_objects().collect::<Vec<_>>(), [1, 1, 1]);
    broker.topic_or_create("c").await.unwrap().append(received(&record("x"))).await.unwrap();
    cluster.passed(&[1, 1, 1]).await;
    let next: Vec<u64> = cluster.me().next_objects().collect();
    assert!(next[..2] == [1, 1] && next[2] > 1, "{next:?}");
    assert!((0..3).all(|journal| !cluster.is_owned_by_other(journal)));
    drop(cluster);
    broker.close().await;
}
