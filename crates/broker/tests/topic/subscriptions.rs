//! Subscriptions over every store: what joins, where it begins, and what continues after a restart.

use crate::clocks::Set;
use crate::support::{append_some, open, record, records, request};
use rawline_batch::Codec;
use rawline_broker::subscriptions::{Event, Position, Slow, Subscribe, Subscription};
use rawline_broker::{Broker, Config};
use rawline_testkit::stores::{in_memory, places};
use std::collections::BTreeMap;
use std::sync::Arc;

fn to_prefix(prefix: &str, after_us: Option<u64>, positions: BTreeMap<(String, u32), Position>) -> Subscribe {
    Subscribe {
        names: Vec::new(),
        prefixes: vec![prefix.to_owned()],
        partition: None,
        after_us,
        positions,
        slow: Slow::Disconnect,
        lag_max: None,
    }
}

/// Where a subscription is, as one begins that resumes it.
fn positions(subscription: &Subscription) -> BTreeMap<(String, u32), Position> {
    let position = |(topic, id, number, next_offset): (&Arc<str>, u32, u32, u64)| {
        ((topic.to_string(), number), Position { topic: Some(id), next_offset })
    };
    subscription.positions().map(position).collect()
}

/// The next records: the topic and their offsets, after they were compared with those of [`append_some`].
async fn next(broker: &Broker, subscription: &mut Subscription) -> (String, std::ops::Range<u64>) {
    let Event::Records(found) = subscription.next(broker).await.unwrap() else { panic!("no records") };
    let read = found.partition.read(&request(found.offset, 0, 0)).await.unwrap();
    let expected: Vec<_> = (read.first_offset..read.end_offset).map(record).collect();
    assert_eq!(records(&read), expected);
    subscription.delivered(&found, read.end_offset, read.next_offset);
    (found.topic.to_string(), found.offset..read.end_offset)
}

/// What was delivered of the topics until these are the ends.
async fn until(
    broker: &Broker,
    subscription: &mut Subscription,
    mut begins: BTreeMap<&str, u64>,
    ends: &[(&str, u64)],
) {
    while ends.iter().any(|(topic, end)| begins.get(topic).copied().unwrap_or(0) < *end) {
        let (topic, offsets) = next(broker, subscription).await;
        let Some((topic, _)) = ends.iter().find(|(known, _)| *known == topic) else { panic!("{topic} is delivered") };
        let begin = begins.entry(topic).or_default();
        assert_eq!(offsets.start, *begin, "{topic}");
        *begin = offsets.end;
    }
    assert!(subscription.is_idle(), "{ends:?}");
}

#[tokio::test]
async fn a_subscription_goes_on_from_its_time_and_positions_on_every_store() {
    for place in places().await {
        let broker = open(place.open().await).await;
        for name in ["a.old", "b"] {
            append_some(&broker.topic_or_create(name).await.unwrap(), 0, 10, 3, Codec::None).await;
        }
        let mut subscription = broker.subscribe(to_prefix("a.", None, BTreeMap::new())).await.unwrap();
        assert!(subscription.is_idle(), "{}", place.name);
        let old = broker.topic("a.old").await.unwrap();
        append_some(&old, 10, 15, 2, Codec::None).await;
        let new = broker.topic_or_create("a.new").await.unwrap();
        append_some(&new, 0, 4, 2, Codec::Zstd).await;
        let begins = BTreeMap::from([("a.old", 10)]);
        until(&broker, &mut subscription, begins, &[("a.old", 15), ("a.new", 4)]).await;
        // What the cursor says.
        let after_us = subscription.after_us();
        let positions = positions(&subscription);
        assert_eq!(
            positions.get(&("a.new".to_owned(), 0)).map(|position| position.next_offset),
            Some(4),
            "{}",
            place.name
        );
        drop(subscription);
        append_some(&old, 15, 20, 2, Codec::None).await;
        append_some(&broker.topic_or_create("a.third").await.unwrap(), 0, 3, 1, Codec::None).await;
        drop((old, new));
        broker.close().await;
        // By another run.
        let broker = open(place.open().await).await;
        let mut subscription = broker.subscribe(to_prefix("a.", Some(after_us), positions)).await.unwrap();
        let begins = BTreeMap::from([("a.old", 15), ("a.new", 4)]);
        until(&broker, &mut subscription, begins, &[("a.old", 20), ("a.new", 4), ("a.third", 3)]).await;
        let mut first = broker.subscribe(to_prefix("a.", Some(0), BTreeMap::new())).await.unwrap();
        until(&broker, &mut first, BTreeMap::new(), &[("a.old", 20), ("a.new", 4), ("a.third", 3)]).await;
        broker.delete_topic("a.new").await.unwrap();
        for subscription in [&mut subscription, &mut first] {
            let event = subscription.next(&broker).await.unwrap();
            assert!(matches!(&event, Event::Deleted { topic } if &**topic == "a.new"), "{}: {event:?}", place.name);
        }
        drop((subscription, first));
        broker.close().await;
    }
}

/// A subscription that isn't served for long notes so many partitions only, and looks at all afterwards.
#[tokio::test]
async fn more_news_than_are_noted_are_found_all_the_same() {
    let broker = open(in_memory()).await;
    let mut settings = serde_json::Map::new();
    settings.insert("partitions".to_owned(), 1024.into());
    let mut subscription = broker.subscribe(to_prefix("t", None, BTreeMap::new())).await.unwrap();
    for name in ["t0", "t1", "t2", "t3", "t4"] {
        let topic = broker.create_topic(name, settings.clone()).await.unwrap();
        for number in 0..1024 {
            append_some(&topic.partition(number).unwrap(), 0, 1, 1, Codec::None).await;
        }
    }
    let mut seen = 0;
    while seen < 5 * 1024 {
        assert_eq!(next(&broker, &mut subscription).await.1, 0..1);
        seen += 1;
    }
    assert!(subscription.is_idle());
}

/// The newest record's time is in the future when they begin. What is appended later has an earlier one.
#[tokio::test]
async fn subscriptions_go_on_after_a_commit_with_the_clock_ahead() {
    for place in places().await {
        let clock = Set::new();
        let open = async || Broker::open(place.open().await, clock.clone(), Config::new(1)).await.unwrap();
        let broker = open().await;
        clock.hours(1_000_000);
        append_some(&broker.topic_or_create("a.old").await.unwrap(), 0, 10, 3, Codec::None).await;
        clock.hours(1);
        let mut subscription = broker.subscribe(to_prefix("a.", None, BTreeMap::new())).await.unwrap();
        append_some(&broker.topic_or_create("a.new").await.unwrap(), 0, 4, 2, Codec::None).await;
        until(&broker, &mut subscription, BTreeMap::new(), &[("a.new", 4)]).await;
        let after_us = subscription.after_us();
        let positions = positions(&subscription);
        drop(subscription);
        clock.hours(2);
        append_some(&broker.topic_or_create("a.third").await.unwrap(), 0, 3, 1, Codec::None).await;
        broker.close().await;
        let broker = open().await;
        let mut subscription = broker.subscribe(to_prefix("a.", Some(after_us), positions)).await.unwrap();
        let begins = BTreeMap::from([("a.old", 10), ("a.new", 4)]);
        until(&broker, &mut subscription, begins, &[("a.old", 10), ("a.new", 4), ("a.third", 3)]).await;
        drop(subscription);
        broker.close().await;
    }
}
