//! Topics are created, found, named, and recovered after a restart.

use crate::support::{append_some, body, changes, open, open_with, request};
use rawline_batch::Codec;
use rawline_broker::{Config, Retention, Topic, TopicError, check_name};
use rawline_testkit::stores::places;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    for place in places().await {
        let mut sent = Vec::new();
        for run in 0..4u64 {
            let broker = open(place.open().await).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            assert_eq!(topic.status().next_offset, run * 30, "{}", place.name);
            sent.extend(append_some(&topic, run * 30, run * 30 + 30, 4, Codec::None).await);
            // A read of a bucket may return fewer records than there are.
            let (mut found, mut offset) = (Vec::new(), 0);
            while offset < (run + 1) * 30 {
                let answer = topic.read(&request(offset, 0, 0)).await.unwrap();
                found.extend(body(&answer));
                assert!(answer.end_offset > offset, "{}: run {run}, nothing at {offset}", place.name);
                offset = answer.end_offset;
            }
            assert_eq!(found, sent.concat(), "{}: run {run}", place.name);
            drop(topic);
            broker.close().await;
        }
        let broker = open(place.open().await).await;
        let statuses = broker.statuses();
        assert_eq!(statuses.len(), 1, "{}", place.name);
        assert_eq!((statuses[0].name.as_str(), statuses[0].next_offset), ("t", 120));
    }
}

/// Nothing is set by the next test.
fn assert_unset(topic: &Topic) {
    let settings = topic.settings();
    assert_eq!((settings.get("number"), settings.retention()), (None, Retention::default()));
}

#[tokio::test]
async fn settings_outlive_the_broker() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_unset(&topic);
        for number in 1..=2 {
            topic.change_settings(changes(json!({ "number": number, "retain_bytes": 1000 }))).await.unwrap();
            assert_eq!(topic.settings().get("number"), Some(&number.into()));
        }
        topic.change_settings(changes(json!({ "retain_hours": 2, "retain_bytes": null }))).await.unwrap();
        append_some(&topic, 0, 10, 5, Codec::None).await;
        drop(topic);
        broker.close().await;
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_eq!(topic.settings().get("number"), Some(&2.into()), "{}", place.name);
        let retention = Retention { age: Some(Duration::from_secs(7200)), bytes: None };
        assert_eq!(topic.settings().retention(), retention, "{}", place.name);
        assert_eq!(topic.status().next_offset, 10);
        assert_unset(&broker.topic_or_create("other").await.unwrap());
    }
}

#[tokio::test]
async fn topics_are_created_by_appends_unless_configured_otherwise() {
    for place in places().await {
        let config = Config { create_topics: false, ..Config::new(1) };
        let broker = open_with(place.open().await, config).await;
        let missing = broker.topic_or_create("t").await.err();
        assert!(matches!(missing, Some(TopicError::NotFound { .. })), "{}", place.name);
    }
}

#[tokio::test]
async fn looking_for_a_topic_does_not_create_it() {
    for place in places().await {
        let broker = open(place.open().await).await;
        for number in 0..3 {
            let missing = broker.topic(&format!("t{number}")).await.err();
            assert!(matches!(missing, Some(TopicError::NotFound { .. })), "{}: {missing:?}", place.name);
        }
        assert_eq!(broker.statuses(), [], "{}", place.name);
        append_some(&broker.topic_or_create("t1").await.unwrap(), 0, 1, 1, Codec::None).await;
        assert_eq!(broker.topic("t1").await.unwrap().status().next_offset, 1, "{}", place.name);
        // With settings only, it exists too.
        broker.topic_or_create("t2").await.unwrap().change_settings(changes(json!({ "a": 1 }))).await.unwrap();
        broker.close().await;
        let broker = open(place.open().await).await;
        assert_eq!(broker.topic("t2").await.unwrap().settings().get("a"), Some(&1.into()), "{}", place.name);
        assert!(broker.topic("t0").await.is_err(), "{}", place.name);
    }
}

#[tokio::test]
async fn a_topic_that_another_broker_created_is_found() {
    for place in places().await.into_iter().filter(|place| place.is_shared()) {
        let broker = open(place.open().await).await;
        let other = open_with(place.open().await, Config::new(2)).await;
        append_some(&other.topic_or_create("t").await.unwrap(), 0, 5, 5, Codec::None).await;
        assert_eq!(broker.topic("t").await.unwrap().status().next_offset, 5, "{}", place.name);
    }
}

#[test]
fn names_are_plain() {
    for name in ["a", "A-b_c.d", "0", &"x".repeat(200)] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    for name in ["", ".", "..", ".a", "a/b", "a b", "ä", "a\0", "a\\b", &"x".repeat(201)] {
        assert!(check_name(name).is_err(), "{name}");
    }
}
