//! Trims delete the records before an offset: exactly, at once, and permanently.

use crate::support::{append_some, assert_records, open, record, records, request};
use rawline_batch::Codec;
use rawline_broker::{Kind, ReadError, Topic, TrimError, Trimmed};
use rawline_journal::Control;
use rawline_testkit::faulty::{Faulty, OnCreate, has};
use rawline_testkit::stores::places;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Checks that the topic holds exactly the records `first..next`, whatever is asked for.
async fn assert_extent(topic: &Topic, first: u64, next: u64, what: &str) {
    let status = topic.status();
    assert_eq!((status.first_offset, status.next_offset), (first, next), "{what}");
    for below in [0, first / 2, first.saturating_sub(1)].into_iter().filter(|&offset| offset < first) {
        let read = topic.read(&request(below, 1, 0)).await;
        let is_deleted = matches!(&read, Err(ReadError::Deleted { first_offset, .. }) if *first_offset == first);
        assert!(is_deleted, "{what}: {below}: {read:?}");
        assert!(read.unwrap_err().to_string().contains(&format!("first offset {first}")));
    }
    assert_records(topic, first, next, what).await;
    assert_eq!(topic.offset_at(0).await.unwrap(), first, "{what}");
}

#[tokio::test]
async fn a_trim_sets_exactly_the_first_offset_and_outlives_a_restart() {
    for place in places().await {
        let broker = open(place.open().await).await;
        // Several of the test's short segments.
        append_some(&broker.topic_or_create("t").await.unwrap(), 0, 600, 10, Codec::None).await;
        broker.close().await;
        let mut objects = 61;
        for offset in [0, 1, 7, 10, 333, 590, 595] {
            let what = format!("{}: {offset}", place.name);
            let broker = open(place.open().await).await;
            let topic = broker.topic("t").await.unwrap();
            let trimmed = topic.trim(offset).await.unwrap();
            assert_eq!(trimmed, Trimmed { first_offset: offset, next_offset: 600 }, "{what}");
            assert_extent(&topic, offset, 600, &what).await;
            // Below the first offset nothing changes.
            assert_eq!(topic.trim(offset / 2).await.unwrap(), trimmed, "{what}");
            let refused = topic.trim(601).await.unwrap_err();
            assert!(matches!(refused, TrimError::AboveEnd { offset: 601, next_offset: 600 }), "{what}: {refused:?}");
            assert!(refused.kind() == Kind::FixRequest && refused.to_string().contains("next offset is 600"));
            assert_extent(&topic, offset, 600, &what).await;
            assert!(topic.status().objects <= objects, "{what}");
            objects = topic.status().objects;
            drop(topic);
            broker.close().await;
            let broker = open(place.open().await).await;
            assert_extent(&broker.topic("t").await.unwrap(), offset, 600, &what).await;
            broker.close().await;
        }
        assert_eq!(objects, 1, "{}", place.name);
    }
}

#[tokio::test]
async fn a_topic_that_is_trimmed_to_its_end_continues_there() {
    for place in places().await {
        let mut next = 0;
        for restarts in [0, 1, 2] {
            let mut broker = open(place.open().await).await;
            append_some(&broker.topic_or_create("t").await.unwrap(), next, next + 50, 7, Codec::None).await;
            next += 50;
            let time = broker.topic("t").await.unwrap().status().latest_commit_us;
            assert_eq!(broker.topic("t").await.unwrap().trim(next).await.unwrap().first_offset, next);
            for _ in 0..restarts {
                broker.close().await;
                broker = open(place.open().await).await;
            }
            let topic = broker.topic("t").await.unwrap();
            assert_extent(&topic, next, next, place.name).await;
            // A snapshot has the times of records that are there, and none is.
            let latest = topic.status().latest_commit_us;
            assert!(latest == time || restarts > 0 && latest.is_none(), "{}: {latest:?}", place.name);
            append_some(&topic, next, next + 3, 1, Codec::None).await;
            assert_extent(&topic, next, next + 3, place.name).await;
            topic.trim(next + 2).await.unwrap();
            drop(topic);
            broker.close().await;
            let broker = open(place.open().await).await;
            assert_extent(&broker.topic("t").await.unwrap(), next + 2, next + 3, place.name).await;
            next += 3;
            broker.close().await;
        }
    }
}

#[tokio::test]
async fn an_empty_topic_is_trimmed_to_0_only() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_eq!(topic.trim(0).await.unwrap(), Trimmed { first_offset: 0, next_offset: 0 }, "{}", place.name);
        assert!(topic.trim(1).await.is_err(), "{}", place.name);
        assert_extent(&topic, 0, 0, place.name).await;
    }
}

#[tokio::test]
async fn nothing_is_deleted_if_the_first_offset_cannot_be_stored() {
    let mut store = Faulty::new();
    store.on_create = Box::new(|index| match has(index, |control| matches!(control, Control::Trim { .. })) {
        true => OnCreate::Fail,
        false => OnCreate::Pass,
    });
    let broker = open(store.storage()).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_some(&topic, 0, 60, 10, Codec::None).await;
    let failed = topic.trim(45).await.unwrap_err();
    assert_eq!(failed.kind(), Kind::Wait, "{failed}");
    assert_extent(&topic, 0, 60, "not trimmed").await;
}

#[tokio::test(start_paused = true)]
async fn a_read_of_records_that_are_deleted_meanwhile_says_so() {
    let mut store = Faulty::new();
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = is_slow.clone();
    store.read_delay = Box::new(move |_| Duration::from_secs(slow.load(Ordering::SeqCst).into()));
    let broker = open(store.storage()).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_some(&topic, 0, 60, 10, Codec::None).await;
    is_slow.store(true, Ordering::SeqCst);
    let reading = {
        let topic = topic.clone();
        tokio::spawn(async move { topic.read(&request(5, 0, 0)).await })
    };
    tokio::time::sleep(Duration::from_millis(500)).await;
    topic.trim(35).await.unwrap();
    let read = reading.await.unwrap();
    assert!(matches!(read, Err(ReadError::Deleted { offset: 5, first_offset: 35 })), "{read:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_while_records_are_deleted_return_them_or_say_so() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        append_some(&topic, 0, 600, 10, Codec::None).await;
        let trimming = {
            let topic = topic.clone();
            tokio::spawn(async move {
                for offset in (0..=600).step_by(7) {
                    topic.trim(offset).await.unwrap();
                    tokio::task::yield_now().await;
                }
            })
        };
        while !trimming.is_finished() {
            for offset in (0..600).step_by(50) {
                match topic.read(&request(offset, 20, 0)).await {
                    Ok(answer) => {
                        let expected: Vec<_> = (offset..answer.end_offset).map(record).collect();
                        assert!(records(&answer) == expected, "{}", place.name);
                    }
                    Err(ReadError::Deleted { first_offset, .. }) => assert!(first_offset > offset, "{}", place.name),
                    Err(error) => panic!("{}: {error}", place.name),
                }
                topic.offset_at(30_000_000).await.map_or_else(
                    |error| assert_eq!(error.kind(), Kind::TryAgain, "{}: {error}", place.name),
                    |offset| assert!(offset <= 600, "{}", place.name),
                );
            }
        }
        trimming.await.unwrap();
    }
}
