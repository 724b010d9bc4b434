//! Old records are deleted by age and by size.

use crate::support::{append_some, assert_records, changes, eventually, request};
use rawline_batch::Codec;
use rawline_broker::store::Storage;
use rawline_broker::{Broker, Clock, Config, Topic};
use rawline_testkit::faulty::Faulty;
use rawline_testkit::stores::places;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const HOUR_US: u64 = 3_600_000_000;

/// A clock that a test sets.
#[derive(Default)]
struct Set(AtomicU64);

impl Set {
    fn hours(&self, hours: u64) {
        self.0.store(hours * HOUR_US, Ordering::SeqCst);
    }
}

impl Clock for Set {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

async fn open(store: Storage, clock: &Arc<Set>) -> Broker {
    let config = Config { retention_interval: Duration::from_millis(1), ..Config::new(1) };
    Broker::open(store, clock.clone(), config).await.unwrap()
}

/// An object of ten records an hour: at the hours `from / 10` to `to / 10 - 1`.
async fn append_hourly(topic: &Topic, clock: &Set, from: u64, to: u64) {
    for first_offset in (from..to).step_by(10) {
        clock.hours(first_offset / 10);
        append_some(topic, first_offset, first_offset + 10, 10, Codec::None).await;
    }
}

async fn assert_holds(topic: &Topic, first_offset: u64, next_offset: u64, what: &str) {
    assert_records(topic, first_offset, next_offset, what).await;
    assert!(topic.read(&request(first_offset - 1, 0, 0)).await.is_err(), "{what}");
}

#[tokio::test]
async fn records_are_deleted_by_age() {
    for place in places().await {
        let clock = Arc::new(Set::default());
        let broker = open(place.open().await, &clock).await;
        append_hourly(&broker.topic_or_create("t").await.unwrap(), &clock, 0, 600).await;
        broker.close().await;
        let broker = open(place.open().await, &clock).await;
        let topic = broker.topic("t").await.unwrap();
        let first = async |expected| eventually(async || topic.status().first_offset == expected).await;
        topic.change_settings(changes(json!({ "retain_hours": 20.5 }))).await.unwrap();
        // It is hour 59: the object of hour 39 is 20 hours old and stays.
        first(390).await;
        assert_holds(&topic, 390, 600, place.name).await;
        clock.hours(60);
        first(400).await;
        topic.change_settings(changes(json!({ "retain_hours": 7 }))).await.unwrap();
        first(530).await;
        assert_holds(&topic, 530, 600, place.name).await;
        // The newest object stays, however old it is.
        clock.hours(1000);
        first(590).await;
        drop(topic);
        broker.close().await;
    }
}

#[tokio::test]
async fn records_are_deleted_by_size() {
    for place in places().await {
        let clock = Arc::new(Set::default());
        let broker = open(place.open().await, &clock).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        append_hourly(&topic, &clock, 0, 600).await;
        let bytes = topic.status().bytes;
        topic.change_settings(changes(json!({ "retain_bytes": bytes / 3 }))).await.unwrap();
        eventually(async || topic.status().bytes <= bytes / 3).await;
        let first_offset = topic.status().first_offset;
        // One more object would exceed the limit.
        assert!((380..=410).contains(&first_offset) && first_offset % 10 == 0, "{}: {first_offset}", place.name);
        assert_holds(&topic, first_offset, 600, place.name).await;
        append_hourly(&topic, &clock, 600, 700).await;
        eventually(async || topic.status().bytes <= bytes / 3).await;
        assert_holds(&topic, topic.status().first_offset, 700, place.name).await;
        topic.change_settings(changes(json!({ "retain_bytes": 1 }))).await.unwrap();
        eventually(async || topic.status().first_offset == 690).await;
        assert_holds(&topic, 690, 700, place.name).await;
        // Without limits nothing more is deleted.
        topic.change_settings(changes(json!({ "retain_bytes": null }))).await.unwrap();
        append_hourly(&topic, &clock, 700, 800).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_holds(&topic, 690, 800, place.name).await;
    }
}

#[tokio::test]
async fn limits_and_what_they_deleted_outlive_a_restart() {
    for place in places().await {
        let clock = Arc::new(Set::default());
        let broker = open(place.open().await, &clock).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        append_hourly(&topic, &clock, 0, 100).await;
        topic.change_settings(changes(json!({ "retain_hours": 5 }))).await.unwrap();
        eventually(async || topic.status().first_offset == 40).await;
        drop(topic);
        broker.close().await;
        let broker = open(place.open().await, &clock).await;
        let topic = broker.topic("t").await.unwrap();
        assert_holds(&topic, 40, 100, place.name).await;
        clock.hours(12);
        eventually(async || topic.status().first_offset == 70).await;
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_cannot_be_deleted_are_deleted_later_and_stop_nothing() {
    let mut store = Faulty::new();
    let is_down = Arc::new(AtomicBool::new(true));
    let down = is_down.clone();
    store.fails_delete = Box::new(move || down.load(Ordering::SeqCst));
    let journal = store.journal.clone();
    let clock = Arc::new(Set::default());
    let broker = open(store.storage(), &clock).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_hourly(&topic, &clock, 0, 100).await;
    topic.change_settings(changes(json!({ "retain_hours": 5 }))).await.unwrap();
    eventually(async || topic.status().first_offset == 40).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(journal.objects() >= 10, "nothing is deleted");
    append_hourly(&topic, &clock, 100, 110).await;
    is_down.store(false, Ordering::SeqCst);
    eventually(async || journal.objects() < 10).await;
    eventually(async || topic.status().first_offset == 50).await;
    assert_holds(&topic, 50, 110, "t").await;
}
