//! Topics are deleted and created again: nothing of a deleted one is seen, whatever runs at the same time.

use crate::support::{
    append_some, batch, body, changes, eventually, open, open_with, received, record, records, request,
};
use rawline_batch::Codec;
use rawline_broker::metrics::commit_counts;
use rawline_broker::{
    AppendError, Appended, Broker, Config, Kind, Piece, ReadError, ReadRequest, Retention, Topic, TopicError, TrimError,
};
use rawline_journal::Control;
use rawline_testkit::faulty::{Faulty, OnCreate, has};
use rawline_testkit::stores::{in_memory, places, places_and_clouds};
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Checks that every way to use a topic by its handle says that it was deleted.
async fn assert_deleted(topic: &Topic, what: &str) {
    for offset in [0, 7, 1000] {
        let read = topic.read(&request(offset, 0, 0)).await;
        assert!(matches!(&read, Err(ReadError::TopicDeleted { topic }) if topic == "t"), "{what}: {read:?}");
    }
    let found = topic.offset_at(0).await;
    assert!(matches!(found, Err(ReadError::TopicDeleted { .. })), "{what}: {found:?}");
    let appended = topic.append(received(&batch(&[record(0)], Codec::None))).await;
    assert!(matches!(&appended, Err(AppendError::TopicDeleted { topic }) if topic == "t"), "{what}: {appended:?}");
    let trimmed = topic.trim(1).await;
    assert!(matches!(trimmed, Err(TrimError::TopicDeleted { .. })), "{what}: {trimmed:?}");
    let changed = topic.change_settings(changes(json!({ "a": 1 }))).await;
    assert!(matches!(changed, Err(TopicError::NotFound { .. })), "{what}: {changed:?}");
}

async fn assert_missing(broker: &Broker, what: &str) {
    let missing = broker.topic("t").await.err();
    assert!(matches!(missing, Some(TopicError::NotFound { .. })), "{what}: {missing:?}");
    assert_eq!(broker.statuses(), [], "{what}");
}

#[tokio::test]
async fn a_deleted_topic_is_gone_and_a_new_one_begins_at_offset_0() {
    for place in places_and_clouds().await {
        let name = place.name;
        let broker = open(place.open().await).await;
        let old = broker.topic_or_create("t").await.unwrap();
        append_some(&old, 0, 300, 10, Codec::None).await;
        old.change_settings(changes(json!({ "number": 1, "retain_hours": 1e6 }))).await.unwrap();
        old.trim(25).await.unwrap();
        broker.delete_topic("t").await.unwrap();
        assert_missing(&broker, name).await;
        assert_deleted(&old, name).await;
        let again = broker.delete_topic("t").await;
        assert!(matches!(again, Err(TopicError::NotFound { .. })), "{name}: {again:?}");

        let new = broker.topic_or_create("t").await.unwrap();
        assert_eq!((new.status().first_offset, new.status().next_offset), (0, 0), "{name}");
        let settings = new.settings();
        assert_eq!((settings.get("number"), settings.retention()), (None, Retention::default()), "{name}");
        append_some(&new, 0, 90, 7, Codec::Zstd).await;
        assert_deleted(&old, name).await;
        let answer = new.read(&request(0, 0, 0)).await.unwrap();
        assert_eq!(records(&answer), (0..answer.end_offset).map(record).collect::<Vec<_>>(), "{name}");
        drop((old, new, answer));
        broker.close().await;

        let broker = open(place.open().await).await;
        let status = broker.topic("t").await.unwrap().status();
        assert_eq!((status.first_offset, status.next_offset), (0, 90), "{name}");
        broker.delete_topic("t").await.unwrap();
        broker.close().await;
        let broker = open(place.open().await).await;
        assert_missing(&broker, name).await;
        assert_eq!(broker.topic_or_create("t").await.unwrap().status().next_offset, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_reads_end_when_the_topic_is_deleted() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        append_some(&topic, 0, 20, 10, Codec::None).await;
        let waiting: Vec<_> = [20, 25, 1000]
            .map(|offset| {
                let topic = topic.clone();
                let wanted = ReadRequest { wait: Duration::from_secs(3600), ..request(offset, 0, 0) };
                tokio::spawn(async move { topic.read(&wanted).await })
            })
            .into();
        broker.delete_topic("t").await.unwrap();
        for waiting in waiting {
            let read = waiting.await.unwrap();
            assert!(matches!(read, Err(ReadError::TopicDeleted { .. })), "{}: {read:?}", place.name);
        }
    }
}

#[tokio::test]
async fn a_response_in_flight_keeps_its_bytes() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let sent = append_some(&topic, 0, 100, 100, Codec::None).await.concat();
        let answer = topic.read(&request(0, 0, 0)).await.unwrap();
        broker.delete_topic("t").await.unwrap();
        let new = broker.topic_or_create("t").await.unwrap();
        append_some(&new, 0, 50, 3, Codec::None).await;
        assert_eq!(body(&answer), sent, "{}", place.name);
        // A socket gets the bytes from the file.
        let Some(mappings) = broker.mappings() else { continue };
        let [Piece::Whole(bytes)] = answer.pieces.as_slice() else { panic!("{:?}", answer.pieces) };
        let range = mappings.find(bytes).unwrap();
        let mut read = vec![0; bytes.len()];
        range.file.read_exact_at(&mut read, range.position).unwrap();
        assert_eq!(read, sent, "{}", place.name);
    }
}

/// An append that was acknowledged: its number, where it is, when it began and ended.
type Acknowledged = (u64, Appended, Instant, Instant);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_append_was_before_the_deletion_or_is_in_the_new_topic() {
    for place in places().await {
        let name = place.name;
        let broker = Arc::new(open(place.open().await).await);
        let (numbers, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let acknowledged: Arc<Mutex<Vec<Acknowledged>>> = Arc::default();
        let appending: Vec<_> = (0..4)
            .map(|_| {
                let (broker, numbers, is_over) = (broker.clone(), numbers.clone(), is_over.clone());
                let acknowledged = acknowledged.clone();
                tokio::spawn(async move {
                    while !is_over.load(Ordering::SeqCst) {
                        let number = numbers.fetch_add(1, Ordering::SeqCst);
                        let bytes = batch(&[record(number)], Codec::None);
                        let began = Instant::now();
                        let topic = match broker.topic_or_create("t").await {
                            Ok(topic) => topic,
                            Err(error) => panic!("{error}"),
                        };
                        match topic.append(received(&bytes)).await {
                            Ok(at) => acknowledged.lock().unwrap().push((number, at, began, Instant::now())),
                            Err(error) => assert!(matches!(error, AppendError::TopicDeleted { .. }), "{error}"),
                        }
                    }
                })
            })
            .collect();
        let count = || acknowledged.lock().unwrap().len();
        let mut last = (Instant::now(), Instant::now());
        for _ in 0..8 {
            let before = count();
            eventually(async || count() > before + 20).await;
            let began = Instant::now();
            broker.delete_topic("t").await.unwrap();
            last = (began, Instant::now());
        }
        let before = count();
        eventually(async || count() > before + 20).await;
        is_over.store(true, Ordering::SeqCst);
        for appending in appending {
            appending.await.unwrap();
        }
        let topic = broker.topic("t").await.unwrap();
        let mut found = BTreeMap::new();
        let mut offset = 0;
        while offset < topic.status().next_offset {
            let answer = topic.read(&request(offset, 0, 0)).await.unwrap();
            found.extend((offset..).zip(records(&answer)));
            offset = answer.end_offset;
        }
        assert_eq!(topic.status().first_offset, 0, "{name}");
        let (began, ended) = last;
        for (number, at, from, to) in acknowledged.lock().unwrap().iter() {
            let is_there = found.get(&at.first_offset) == Some(&record(*number));
            assert!(is_there || *from < ended, "{name}: append {number} after the deletion is lost");
            assert!(!is_there || *to > began, "{name}: append {number} from before the deletion is there");
        }
        let unique: std::collections::BTreeSet<_> = found.values().collect();
        assert_eq!(unique.len(), found.len(), "{name}");
    }
}

#[tokio::test]
async fn a_topic_without_records_is_deleted_and_one_that_does_not_exist_is_not() {
    for place in places().await {
        let broker = open(place.open().await).await;
        for (wrong, kind) in [("missing", Kind::FixRequest), ("..", Kind::FixRequest)] {
            assert_eq!(broker.delete_topic(wrong).await.unwrap_err().kind(), kind, "{}", place.name);
        }
        broker.topic_or_create("t").await.unwrap();
        broker.delete_topic("t").await.unwrap();
        assert_missing(&broker, place.name).await;
    }
}

#[tokio::test]
async fn a_topic_whose_deletion_is_not_stored_stays() {
    let mut store = Faulty::new();
    let switch = Arc::new(AtomicBool::new(true));
    let is_on = switch.clone();
    store.on_create = Box::new(move |index| {
        let deletes = has(index, |control| matches!(control, Control::Delete { .. }));
        if deletes && is_on.load(Ordering::SeqCst) { OnCreate::Fail } else { OnCreate::Pass }
    });
    let broker = open(store.storage()).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_some(&topic, 0, 30, 10, Codec::None).await;
    let waiting = {
        let topic = topic.clone();
        let wanted = ReadRequest { wait: Duration::from_secs(3600), ..request(30, 0, 0) };
        tokio::spawn(async move { topic.read(&wanted).await })
    };
    let refused = broker.delete_topic("t").await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Wait, "{refused}");
    append_some(&topic, 30, 40, 10, Codec::None).await;
    assert_eq!(waiting.await.unwrap().unwrap().end_offset, 40, "readers continue");
    let answer = topic.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(records(&answer), (0..40).map(record).collect::<Vec<_>>());
    switch.store(false, Ordering::SeqCst);
    broker.delete_topic("t").await.unwrap();
    assert_missing(&broker, "memory").await;
    assert_deleted(&topic, "memory").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletions_while_retention_and_readers_run_harm_nobody() {
    for place in places().await {
        let name = place.name;
        let config = Config { retention_interval: Duration::from_millis(1), ..Config::new(1) };
        let broker = Arc::new(open_with(place.open().await, config).await);
        for _ in 0..6 {
            let topic = broker.create_topic("t", changes(json!({ "retain_bytes": 1500 }))).await.unwrap();
            let reading: Vec<_> = (0..3)
                .map(|_| {
                    let topic = topic.clone();
                    tokio::spawn(async move {
                        let mut offset = 0;
                        loop {
                            let wanted = ReadRequest { wait: Duration::from_secs(3600), ..request(offset, 5, 0) };
                            match topic.read(&wanted).await {
                                Ok(answer) => {
                                    let expected: Vec<_> = (offset..answer.end_offset).map(record).collect();
                                    assert_eq!(records(&answer), expected);
                                    offset = answer.end_offset;
                                }
                                Err(ReadError::Deleted { first_offset, .. }) => offset = first_offset,
                                Err(ReadError::TopicDeleted { .. }) => return,
                                Err(error) => assert_eq!(error.kind(), Kind::TryAgain, "{error}"),
                            }
                        }
                    })
                })
                .collect();
            append_some(&topic, 0, 200, 5, Codec::None).await;
            broker.delete_topic("t").await.unwrap();
            for reading in reading {
                reading.await.unwrap();
            }
            assert_deleted(&topic, name).await;
        }
        assert_eq!(broker.failed_topics(), [], "{name}");
        assert_missing(&broker, name).await;
    }
}

#[tokio::test]
async fn a_topic_is_created_once() {
    for place in places().await {
        let name = place.name;
        let config = Config { create_topics: false, ..Config::new(1) };
        let broker = open_with(place.open().await, config.clone()).await;
        let topic = broker.create_topic("t", changes(json!({ "retain_bytes": 1500 }))).await.unwrap();
        assert_eq!(topic.settings().retention().bytes, Some(1500), "{name}");
        broker.create_topic("plain", changes(json!({}))).await.unwrap();
        let second = broker.create_topic("t", changes(json!({}))).await.err().unwrap();
        assert!(matches!(second, TopicError::Exists { .. }) && second.kind() == Kind::FixRequest, "{name}: {second}");
        let create = |_| broker.create_topic("u", changes(json!({})));
        let several = futures_util::future::join_all((0..5).map(create)).await;
        assert_eq!(several.iter().filter(|created| created.is_ok()).count(), 1, "{name}");
        drop((several, topic));
        broker.close().await;
        // All of them exist without a record.
        let broker = open_with(place.open().await, config).await;
        let names: Vec<_> = broker.statuses().into_iter().map(|status| status.name).collect();
        assert_eq!(names, ["plain", "t", "u"], "{name}");
        let second = broker.create_topic("plain", changes(json!({}))).await.err().unwrap();
        assert!(matches!(second, TopicError::Exists { .. }), "{name}: {second}");
        assert_eq!(broker.topic("t").await.unwrap().settings().retention().bytes, Some(1500), "{name}");
    }
}

#[tokio::test]
async fn the_counts_of_a_deleted_topic_are_gone() {
    let broker = open(in_memory()).await;
    let counts = |records: u64| {
        let counts = commit_counts().into_iter().find(|counts| counts.topic == "counted")?;
        assert_eq!((counts.records, counts.failures, counts.bytes > 0), (records, 0, records > 0));
        Some(())
    };
    for records in [30, 10] {
        let topic = broker.topic_or_create("counted").await.unwrap();
        counts(0).unwrap();
        append_some(&topic, 0, records, 10, Codec::None).await;
        counts(records).unwrap();
        drop(topic);
        broker.delete_topic("counted").await.unwrap();
        eventually(async || counts(records).is_none()).await;
    }
}
