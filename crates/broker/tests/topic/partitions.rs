//! A topic's partitions: each has its own records and offsets, and all share the topic's settings and its life.

use crate::support::{append_some, assert_records, batch, changes, eventually, open, open_with, record, request};
use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::metrics::commit_counts;
use rawline_broker::{
    AppendError, Broker, Config, Kind, Partition, ReadError, ReadRequest, Topic, TopicError, TrimError, Trimmed,
};
use rawline_testkit::batches::received;
use rawline_testkit::stores::{Home, in_memory, places};
use serde_json::json;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

async fn created(broker: &Broker, partitions: u32) -> Arc<Topic> {
    broker.create_topic("t", changes(json!({ "partitions": partitions }))).await.unwrap()
}

async fn partition(broker: &Broker, number: u64) -> Arc<Partition> {
    broker.partition("t", number).await.unwrap()
}

/// Appends `10 * (number + 1)` records to each partition.
async fn fill(broker: &Broker, partitions: u64) {
    for number in 0..partitions {
        append_some(&*partition(broker, number).await, 0, 10 * (number + 1), 5, Codec::None).await;
    }
}

async fn offsets(broker: &Broker) -> Vec<Range<u64>> {
    broker.topic("t").await.unwrap().listed().all_offsets()
}

#[tokio::test]
async fn every_partition_has_its_own_records_after_a_restart_too() {
    for place in places().await {
        let broker = open(place.open().await).await;
        assert_eq!(created(&broker, 4).await.partitions(), 4, "{}", place.name);
        assert_eq!(offsets(&broker).await, [0..0, 0..0, 0..0, 0..0], "{}", place.name);
        fill(&broker, 3).await;
        broker.close().await;
        for _ in 0..2 {
            let broker = open(place.open().await).await;
            let topic = broker.topic("t").await.unwrap();
            assert_eq!(topic.partitions(), 4, "{}", place.name);
            assert_eq!(offsets(&broker).await, [0..10, 0..20, 0..30, 0..0], "{}", place.name);
            for number in 0..3 {
                let records = 10 * (number + 1);
                assert_records(&*partition(&broker, number).await, 0, records, place.name).await;
            }
            let sum = topic.listed().summary();
            assert_eq!((sum.first_offset, sum.next_offset, sum.objects), (0, 10, 2 + 4 + 6), "{}", place.name);
            let mut bytes = 0;
            for number in 0..4 {
                bytes += partition(&broker, number).await.status().bytes;
            }
            assert_eq!(sum.bytes, bytes, "{}", place.name);
            assert_eq!(broker.statuses().len(), 1, "{}", place.name);
            drop(topic);
            broker.close().await;
        }
    }
}

#[tokio::test]
async fn a_partition_that_a_topic_does_not_have_is_refused() {
    for place in places().await {
        let broker = open(place.open().await).await;
        broker.topic_or_create("t").await.unwrap();
        for number in [1, 1024, u64::MAX] {
            let refused = broker.partition("t", number).await.err().unwrap();
            let text = refused.to_string();
            let is_one = matches!(refused, TopicError::NoPartition { partitions: 1, .. });
            assert!(is_one && text.contains("\"t\"") && text.contains(&number.to_string()), "{}: {text}", place.name);
            assert!(broker.partition_or_create("t", number).await.is_err(), "{}", place.name);
        }
        // An append to another partition than the first creates no topic.
        let missing = broker.partition_or_create("other", 1).await.err();
        assert!(matches!(missing, Some(TopicError::NotFound { .. })), "{}: {missing:?}", place.name);
        assert_eq!(broker.statuses().len(), 1, "{}", place.name);
    }
}

#[tokio::test]
async fn a_topic_gets_more_partitions_and_never_fewer() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        append_some(&topic, 0, 10, 5, Codec::None).await;
        topic.change_settings(changes(json!({ "partitions": 3, "payload": "value" }))).await.unwrap();
        fill_from(&broker, 1..3).await;
        for wanted in [1, 2] {
            let refused = topic.change_settings(changes(json!({ "partitions": wanted }))).await.unwrap_err();
            let is_named =
                matches!(&refused, TopicError::FewerPartitions { partitions: 3, wanted: w, .. } if *w == wanted);
            assert!(is_named && refused.kind() == Kind::FixRequest, "{}: {refused}", place.name);
        }
        // Other settings leave their number as it is, and the same number is no change.
        topic.change_settings(changes(json!({ "retain_bytes": 1_000_000_000 }))).await.unwrap();
        topic.change_settings(changes(json!({ "partitions": 3 }))).await.unwrap();
        assert_eq!(topic.partitions(), 3, "{}", place.name);
        topic.change_settings(changes(json!({ "partitions": 1024 }))).await.unwrap();
        let last = partition(&broker, 1023).await;
        append_some(&last, 0, 5, 5, Codec::None).await;
        drop((topic, last));
        broker.close().await;

        let broker = open(place.open().await).await;
        let topic = broker.topic("t").await.unwrap();
        assert_eq!((topic.partitions(), topic.settings().get("payload")), (1024, Some(&"value".into())));
        let all = offsets(&broker).await;
        assert_eq!((all.len(), &all[..4], &all[1023]), (1024, &[0..10, 0..10, 0..10, 0..0][..], &(0..5)));
        // A topic that exists isn't created again, whatever its partitions hold.
        let exists = broker.create_topic("t", changes(json!({ "partitions": 2 }))).await.err();
        assert!(matches!(exists, Some(TopicError::Exists { .. })), "{}: {exists:?}", place.name);
    }
}

async fn fill_from(broker: &Broker, numbers: Range<u64>) {
    for number in numbers {
        append_some(&*partition(broker, number).await, 0, 10, 5, Codec::None).await;
    }
}

#[tokio::test]
async fn one_partition_is_trimmed() {
    for place in places().await {
        let broker = open(place.open().await).await;
        created(&broker, 3).await;
        fill(&broker, 3).await;
        let one = partition(&broker, 1).await;
        assert_eq!(one.trim(12).await.unwrap(), Trimmed { first_offset: 12, next_offset: 20 }, "{}", place.name);
        let above = one.trim(21).await;
        assert!(matches!(above, Err(TrimError::AboveEnd { next_offset: 20, .. })), "{}: {above:?}", place.name);
        assert_eq!(partition(&broker, 2).await.trim(30).await.unwrap().first_offset, 30, "{}", place.name);
        drop(one);
        broker.close().await;
        for run in 0..2 {
            let broker = open(place.open().await).await;
            let next = 30 + run * 5;
            assert_eq!(offsets(&broker).await, [0..10, 12..20, 30..next], "{}", place.name);
            assert_records(&*partition(&broker, 1).await, 12, 20, place.name).await;
            let deleted = partition(&broker, 1).await.read(&request(11, 0, 0)).await;
            let is_named = matches!(deleted, Err(ReadError::Deleted { offset: 11, first_offset: 12 }));
            assert!(is_named, "{}: {deleted:?}", place.name);
            append_some(&*partition(&broker, 2).await, next, next + 5, 5, Codec::None).await;
            // Neither the settings of the topic nor its partition 0 know of it.
            assert_eq!(broker.topic("t").await.unwrap().partitions(), 3, "{}", place.name);
            broker.close().await;
        }
    }
}

#[tokio::test]
async fn the_partitions_together_keep_what_retention_allows() {
    for place in places().await {
        let config = || Config { retention_interval: Duration::from_millis(1), ..Config::new(1) };
        let broker = open_with(place.open().await, config()).await;
        let topic = created(&broker, 3).await;
        for number in 0..2 {
            append_some(&*partition(&broker, number).await, 0, 200, 10, Codec::None).await;
        }
        let bytes = topic.listed().summary().bytes;
        drop(topic);
        broker.close().await;
        // The partitions aren't open when the limit is set.
        let broker = open_with(place.open().await, config()).await;
        let topic = broker.topic("t").await.unwrap();
        topic.change_settings(changes(json!({ "retain_bytes": bytes / 2 }))).await.unwrap();
        for number in 0..2 {
            let partition = partition(&broker, number).await;
            eventually(async || partition.status().bytes <= bytes / 4).await;
            let first = partition.offsets().start;
            assert!((80..=120).contains(&first), "{}: partition {number} begins at {first}", place.name);
            assert_records(&partition, first, 200, place.name).await;
        }
        assert_eq!(partition(&broker, 2).await.offsets(), 0..0, "{}", place.name);
    }
}

#[tokio::test]
async fn all_partitions_are_deleted_with_their_topic() {
    for place in places().await {
        let broker = open(place.open().await).await;
        created(&broker, 3).await;
        fill(&broker, 2).await;
        let (old, idle) = (partition(&broker, 1).await, partition(&broker, 2).await);
        let waiting = tokio::spawn({
            let old = old.clone();
            async move { old.read(&ReadRequest { wait: Duration::from_secs(3600), ..request(20, 0, 0) }).await }
        });
        broker.delete_topic("t").await.unwrap();
        let waited = waiting.await.unwrap();
        assert!(matches!(waited, Err(ReadError::TopicDeleted { .. })), "{}: {waited:?}", place.name);
        for partition in [&old, &idle] {
            let read = partition.read(&request(0, 0, 0)).await;
            assert!(
                matches!(&read, Err(ReadError::TopicDeleted { topic }) if topic == "t"),
                "{}: {read:?}",
                place.name
            );
            let appended = partition.append(received(&batch(&[record(0)], Codec::None))).await;
            let is_deleted = matches!(&appended, Err(AppendError::TopicDeleted { topic }) if topic == "t");
            assert!(is_deleted, "{}: {appended:?}", place.name);
            let trimmed = partition.trim(1).await;
            assert!(matches!(trimmed, Err(TrimError::TopicDeleted { .. })), "{}: {trimmed:?}", place.name);
        }
        // A new topic of the name has nothing of it, and fewer partitions.
        let new = created(&broker, 2).await;
        assert_eq!(offsets(&broker).await, [0..0, 0..0], "{}", place.name);
        assert!(broker.partition("t", 2).await.is_err(), "{}", place.name);
        append_some(&*partition(&broker, 1).await, 0, 5, 5, Codec::None).await;
        drop((old, idle, new));
        broker.close().await;
        let broker = open(place.open().await).await;
        assert_eq!(offsets(&broker).await, [0..0, 0..5], "{}", place.name);
        // Also one whose partitions were never opened.
        broker.delete_topic("t").await.unwrap();
        broker.close().await;
        let broker = open(place.open().await).await;
        assert!(broker.topic("t").await.is_err(), "{}", place.name);
        created(&broker, 2).await;
        assert_eq!(offsets(&broker).await, [0..0, 0..0], "{}", place.name);
    }
}

/// Another broker on the same bucket adds partitions and appends to them.
#[tokio::test]
async fn partitions_that_another_broker_added_are_found() {
    for place in places().await.into_iter().filter(Home::is_shared) {
        let broker = open(place.open().await).await;
        let topic = created(&broker, 1).await;
        let other = open_with(place.open().await, Config::new(2)).await;
        other.topic("t").await.unwrap().change_settings(changes(json!({ "partitions": 4 }))).await.unwrap();
        append_some(&other.partition("t", 3).await.unwrap(), 0, 10, 5, Codec::None).await;
        assert_records(&*partition(&broker, 3).await, 0, 10, place.name).await;
        other.topic("t").await.unwrap().change_settings(changes(json!({ "partitions": 6 }))).await.unwrap();
        // A change by a broker that hasn't seen them takes none away.
        topic.change_settings(changes(json!({ "payload": "value" }))).await.unwrap();
        assert_eq!(topic.partitions(), 6);
    }
}

#[tokio::test]
async fn sequences_of_a_producer_are_per_partition() {
    for place in places().await {
        let broker = open(place.open().await).await;
        created(&broker, 2).await;
        let numbered = |sequence: u64, records: u32| {
            let mut builder = Builder::new(Codec::None, Limits::default());
            (0..records).for_each(|record| builder.push(&record.to_le_bytes()).unwrap());
            let mut bytes = Vec::new();
            builder.finish_into(1, 9, sequence, &mut bytes).unwrap();
            received(&bytes).exactly_once(0).unwrap()
        };
        let append = async |number, sequence, records| {
            let appended = partition(&broker, number).await.append(numbered(sequence, records)).await;
            appended.map(|appended| appended.first_offset..appended.next_offset)
        };
        assert_eq!(append(0, 0, 3).await.unwrap(), 0..3, "{}", place.name);
        assert_eq!(append(1, 0, 5).await.unwrap(), 0..5, "{}", place.name);
        assert_eq!(append(0, 3, 2).await.unwrap(), 3..5, "{}", place.name);
        for _ in 0..2 {
            assert_eq!(append(1, 0, 5).await.unwrap(), 0..5, "{}: stored once", place.name);
        }
        let gap = append(1, 9, 1).await;
        assert!(matches!(gap, Err(AppendError::Gap { expected: 5, found: 9 })), "{}: {gap:?}", place.name);
        assert_eq!(offsets(&broker).await, [0..5, 0..5], "{}", place.name);
        broker.close().await;
        let broker = open(place.open().await).await;
        let again = partition(&broker, 1).await.append(numbered(0, 5)).await.unwrap();
        assert_eq!((again.first_offset, again.next_offset), (0, 5), "{}", place.name);
    }
}

/// A topic's counts are those of all its partitions.
#[tokio::test]
async fn metrics_have_no_partitions() {
    let broker = open(in_memory()).await;
    broker.create_topic("metered", changes(json!({ "partitions": 3 }))).await.unwrap();
    for number in 0..3 {
        let partition = broker.partition("metered", number).await.unwrap();
        append_some(&partition, 0, 10, 5, Codec::None).await;
    }
    let counts: Vec<_> = commit_counts().into_iter().filter(|counts| counts.topic.starts_with("metered")).collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
    assert_eq!(counts[0].records, 30);
}
