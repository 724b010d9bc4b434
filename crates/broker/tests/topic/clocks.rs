//! Brokers whose clock is wrong, for one commit or permanently: retention, searches by time and subscriptions
//! continue, and are right again when the clock is.

use crate::support::{append_some, assert_records, changes, eventually};
use rawline_batch::record_batch::RecordProducer;
use rawline_batch::{Codec, crc32c};
use rawline_broker::store::Storage;
use rawline_broker::{Broker, Clock, Config, TransactionError};
use rawline_testkit::batches::{received_record_batches, record_batch};
use rawline_testkit::stores::places;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HOUR_US: u64 = 3_600_000_000;

/// Hours since the epoch at which these tests begin.
const START: u64 = 480_000;

const TEN_YEARS: u64 = 10 * 365 * 24;

/// A clock that a test sets.
pub(crate) struct Set(AtomicU64);

impl Set {
    pub(crate) fn new() -> Arc<Set> {
        Arc::new(Set(AtomicU64::new(START * HOUR_US)))
    }

    /// So many hours after the start.
    pub(crate) fn hours(&self, hours: i64) {
        self.0.store(START.saturating_add_signed(hours) * HOUR_US, Ordering::SeqCst);
    }
}

impl Clock for Set {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn at(hours: u64) -> u64 {
    (START + hours) * HOUR_US
}

async fn open(store: Storage, clock: &Arc<Set>) -> Broker {
    let config = Config { retention_interval: Duration::from_millis(1), ..Config::new(1) };
    Broker::open(store, clock.clone(), config).await.unwrap()
}

/// Ten records an hour from hour 0 to 9, but those of hour 5 with the clock ahead by `ahead` hours.
async fn append_with_a_jump(broker: &Broker, clock: &Set, ahead: i64) {
    let topic = broker.topic_or_create("t").await.unwrap();
    for hour in 0..10 {
        clock.hours(if hour == 5 { 5 + ahead } else { hour });
        let first = hour as u64 * 10;
        append_some(&topic, first, first + 10, 10, Codec::None).await;
    }
    clock.hours(9);
}

#[tokio::test]
async fn a_commit_with_the_clock_ahead_moves_no_later_time() {
    for place in places().await {
        for ahead in [24, TEN_YEARS as i64] {
            let place_name = place.name;
            let clock = Set::new();
            let broker = open(place.open().await, &clock).await;
            append_with_a_jump(&broker, &clock, ahead).await;
            // The records with the wrong time are as old as the next ones.
            let expected = |hour: u64| if hour == 6 { 50 } else { hour * 10 };
            let topic = broker.topic("t").await.unwrap();
            for hour in (0..10).filter(|hour| *hour != 5) {
                let found = topic.offset_at(at(hour)).await.unwrap();
                assert_eq!(found, expected(hour), "{place_name}: {ahead} hours ahead, hour {hour}");
            }
            assert_eq!(topic.offset_at(at(9) + 1).await.unwrap(), 100, "{place_name}: now");
            assert_eq!(topic.status().latest_commit_us, Some(at(9)), "{place_name}");
            drop(topic);
            broker.close().await;
            // A new run.
            let broker = open(place.open().await, &clock).await;
            let topic = broker.topic("t").await.unwrap();
            assert_eq!(topic.offset_at(at(8)).await.unwrap(), 80, "{place_name}");
            drop(topic);
            broker.delete_topic("t").await.unwrap();
            broker.close().await;
        }
    }
}

#[tokio::test]
async fn retention_by_hours_goes_on_after_a_commit_with_the_clock_ahead() {
    for place in places().await {
        let clock = Set::new();
        let broker = open(place.open().await, &clock).await;
        append_with_a_jump(&broker, &clock, TEN_YEARS as i64).await;
        let topic = broker.topic("t").await.unwrap();
        topic.change_settings(changes(json!({ "retain_hours": 6.5 }))).await.unwrap();
        let first = async |expected| eventually(async || topic.status().first_offset == expected).await;
        first(30).await;
        // Nothing goes early: the records of the wrong hour stay as long as those of the next.
        clock.hours(12);
        first(50).await;
        assert_records(&topic, 50, 100, place.name).await;
        clock.hours(13);
        first(70).await;
        // A topic that begins after the jump.
        let fresh = broker.topic_or_create("fresh").await.unwrap();
        append_some(&fresh, 0, 10, 10, Codec::None).await;
        clock.hours(14);
        append_some(&fresh, 10, 20, 10, Codec::None).await;
        fresh.change_settings(changes(json!({ "retain_hours": 2 }))).await.unwrap();
        clock.hours(16);
        eventually(async || fresh.status().first_offset == 10).await;
    }
}

/// A clock that is late makes nothing old, and what it stamps is found from where it was appended on.
#[tokio::test]
async fn a_clock_that_is_late_deletes_and_hides_nothing() {
    for place in places().await {
        let clock = Set::new();
        let broker = open(place.open().await, &clock).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        topic.change_settings(changes(json!({ "retain_hours": 100 }))).await.unwrap();
        for hour in 0..10 {
            // Since 1970, in the middle.
            clock.hours(if (4..6).contains(&hour) { 1 - START as i64 } else { hour });
            let first = hour as u64 * 10;
            append_some(&topic, first, first + 10, 10, Codec::None).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        // Those of 1970 go when those before them do.
        assert_records(&topic, 0, 100, place.name).await;
        for hour in [0, 1, 2, 3, 6, 7, 8, 9] {
            assert_eq!(topic.offset_at(at(hour)).await.unwrap(), hour * 10, "{}: hour {hour}", place.name);
        }
        clock.hours(102);
        eventually(async || topic.status().first_offset == 20).await;
        clock.hours(104);
        eventually(async || topic.status().first_offset == 60).await;
    }
}

/// Its producer and a reader of committed records don't wait for ten years.
#[tokio::test]
async fn a_transaction_that_began_with_the_clock_ahead_times_out() {
    for place in places().await {
        for ahead in [TEN_YEARS as i64, -24] {
            let clock = Set::new();
            let broker = open(place.open().await, &clock).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            let opened = broker.open_transactional("p", "", Duration::from_millis(300), None).await.unwrap();
            clock.hours(ahead);
            let producer = RecordProducer { id: opened.id, epoch: opened.epoch, base_sequence: 0 };
            let first = topic.append(received_record_batches(&transactional(producer))).await.unwrap().first_offset;
            clock.hours(0);
            assert_eq!(topic.bounds().stable_offset, first, "{}", place.name);
            eventually(async || topic.bounds().stable_offset == topic.bounds().next_offset).await;
            let late = broker.end_transaction("p", opened, true).await;
            assert!(matches!(late, Err(TransactionError::Fenced)), "{}: {late:?}", place.name);
            drop(topic);
            broker.close().await;
        }
    }
}

/// A batch of a transaction.
fn transactional(producer: RecordProducer) -> Vec<u8> {
    let mut batch = record_batch(3, b"who reads this", Some(producer));
    batch[22] |= 1 << 4;
    let crc = crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    batch
}
