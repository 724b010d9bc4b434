//! Subscriptions of a real broker.

use crate::{batch, client, support};
use rawline_client::{
    Client, ClientConfig, ClientError, Codec, Delivered, Kind, Message, Partitions, Payload, Producer, ProducerConfig,
    RetryPolicy, Settings, Slow, Start, Subscription, SubscriptionConfig,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything of a subscription that was delivered, by topic and partition: offsets and records.
type Received = BTreeMap<(String, u32), Vec<(u64, String)>>;

/// Receives this many more records, and those that come with them. Offsets grow.
async fn receive(subscription: &mut Subscription, count: usize, received: &mut Received) {
    let mut left = count;
    while left > 0 {
        match subscription.next().await.unwrap() {
            Delivered::Records(fetched) => {
                let all = received.entry((fetched.topic().to_owned(), fetched.partition())).or_default();
                let mut records = fetched.records();
                while let Some(record) = records.next_record().unwrap() {
                    let previous = all.last().map(|(offset, _)| *offset);
                    assert!(previous.is_none_or(|previous| previous < record.offset), "{previous:?}, then {record:?}");
                    all.push((record.offset, String::from_utf8(record.bytes.to_vec()).unwrap()));
                    left = left.saturating_sub(1);
                }
            }
            other => unreachable!("{other:?}"),
        }
    }
}

async fn append(client: &Client, topic: &str, records: &[&str]) {
    let batch = batch(Codec::None, records.iter().map(|record| (*record).to_owned()));
    client.append(topic, vec![batch.into()]).await.unwrap();
}

async fn create(client: &Client, topic: &str, partitions: u32) {
    let settings = Settings { partitions: Partitions::new(partitions), ..Settings::default() };
    client.create_topic(topic, &settings).await.unwrap();
}

#[tokio::test]
async fn topics_and_prefixes_are_received_also_those_that_are_created_later() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    for topic in ["dns", "zeek.http", "other"] {
        create(&client, topic, 1).await;
        append(&client, topic, &["before"]).await;
    }
    let config = SubscriptionConfig { prefixes: vec!["zeek.".into()], ..SubscriptionConfig::new("dns") };
    let mut subscription = Subscription::new(client.clone(), config).await.unwrap();
    append(&client, "other", &["not this"]).await;
    append(&client, "dns", &["1", "2"]).await;
    append(&client, "zeek.http", &["3"]).await;
    create(&client, "zeek.new", 1).await;
    append(&client, "zeek.new", &["4", "5"]).await;
    let mut received = Received::new();
    receive(&mut subscription, 5, &mut received).await;
    let of = |topic: &str| received[&(topic.to_owned(), 0)].clone();
    let record = |offset, text: &str| (offset, text.to_owned());
    assert_eq!(of("dns"), [record(1, "1"), record(2, "2")]);
    assert_eq!(of("zeek.http"), [record(1, "3")]);
    assert_eq!(of("zeek.new"), [record(0, "4"), record(1, "5")]);
    assert_eq!(received.len(), 3);

    // Another process continues there, from the text.
    let cursor = subscription.cursor();
    drop(subscription);
    append(&client, "zeek.new", &["6"]).await;
    create(&client, "zeek.newer", 1).await;
    append(&client, "zeek.newer", &["7"]).await;
    let config = SubscriptionConfig {
        topics: vec!["dns".into()],
        cursor: Some(cursor),
        ..SubscriptionConfig::with_prefix("zeek.")
    };
    let mut subscription = Subscription::new(client.clone(), config).await.unwrap();
    append(&client, "dns", &["8"]).await;
    let mut received = Received::new();
    receive(&mut subscription, 3, &mut received).await;
    let all: Vec<_> = received.into_iter().map(|((topic, _), records)| (topic, records)).collect();
    let expected = [("dns", 3, "8"), ("zeek.new", 2, "6"), ("zeek.newer", 0, "7")];
    let expected = expected.map(|(topic, offset, text)| (topic.to_owned(), vec![record(offset, text)]));
    assert_eq!(all, expected);
}

#[tokio::test]
async fn a_subscription_starts_where_requested() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    create(&client, "dns", 2).await;
    let numbers = |range: std::ops::Range<u32>| range.map(|number| number.to_string());
    for (codec, range) in [(Codec::None, 0..10), (Codec::Zstd, 10..20), (Codec::Lz4, 20..30)] {
        for partition in 0..2 {
            client.append(("dns", partition), vec![batch(codec, numbers(range.clone())).into()]).await.unwrap();
        }
    }
    for (start, partition, first, count) in [
        (Start::Earliest, None, 0, 60),
        (Start::Offset(13), Some(1), 13, 17),
        (Start::Offset(5), Some(0), 5, 25),
        (Start::Time(std::time::UNIX_EPOCH), Some(0), 0, 30),
    ] {
        let config = SubscriptionConfig { start, partition, ..SubscriptionConfig::new("dns") };
        let mut subscription = Subscription::new(client.clone(), config).await.unwrap();
        let mut received = Received::new();
        receive(&mut subscription, count, &mut received).await;
        for ((_, number), records) in &received {
            assert!(partition.is_none_or(|partition| partition == *number));
            let expected = (first..30).map(|number: u64| (number, number.to_string()));
            assert!(records.iter().cloned().eq(expected), "{start:?}: {records:?}");
        }
        assert_eq!(received.len(), if partition.is_some() { 1 } else { 2 });
    }
}

#[tokio::test]
async fn records_of_kafkas_batches_have_keys_headers_and_times() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    create(&client, "dns", 1).await;
    let mut subscription = Subscription::new(client.clone(), SubscriptionConfig::new("dns")).await.unwrap();
    let producer = Producer::new(client.clone(), "dns", ProducerConfig::default()).unwrap();
    let headers = [("a", Some(&b"1"[..]))];
    let message = Message { key: Some(b"key"), value: Some(b"value"), headers: &headers, ..Message::default() };
    producer.send_message(message).await.unwrap();
    producer.close().await.unwrap();
    let Delivered::Records(fetched) = subscription.next().await.unwrap() else { panic!("no records") };
    assert!(fetched.is_kafka());
    let mut records = fetched.records();
    let record = records.next_record().unwrap().unwrap();
    assert_eq!((record.key(), record.bytes), (Some(&b"key"[..]), &b"value"[..]));
    assert!(record.headers().eq([(&b"a"[..], Some(&b"1"[..]))]));
}

#[tokio::test]
async fn a_filter_selects_records() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    client.set_payload("zeek.dns", Payload::Value).await.unwrap();
    let records = (0..100_u64).map(|number| encode(if number % 10 == 3 { 53 } else { 80 }, number));
    let mut builder = rawline_batch::Builder::new(Codec::None, rawline_batch::Limits::default());
    records.for_each(|record| builder.push(&record).unwrap());
    let mut bytes = Vec::new();
    builder.finish_into(1, 0, 0, &mut bytes).unwrap();
    client.append("zeek.dns", vec![bytes.into()]).await.unwrap();
    let config = SubscriptionConfig {
        start: Start::Earliest,
        filter: Some("id.resp_p=53/udp".into()),
        ..SubscriptionConfig::new("zeek.dns")
    };
    let mut subscription = Subscription::new(client.clone(), config).await.unwrap();
    let mut offsets = Vec::new();
    while offsets.len() < 10 {
        let Delivered::Records(fetched) = subscription.next().await.unwrap() else { panic!("no records") };
        let mut records = fetched.records();
        while let Some(record) = records.next_record().unwrap() {
            assert_eq!(record.bytes, encode(53, record.offset), "as they were appended");
            offsets.push(record.offset);
        }
    }
    assert_eq!(offsets, [3, 13, 23, 33, 43, 53, 63, 73, 83, 93]);
    let config = SubscriptionConfig { filter: Some("id.resp_p=53/udp".into()), ..SubscriptionConfig::new("plain") };
    create(&client, "plain", 1).await;
    let error = Subscription::new(client, config).await.unwrap_err();
    assert_eq!(error.kind(), Kind::FixRequest, "{error}");
}

/// A structured value: `id.resp_p` and a number.
fn encode(port: u16, number: u64) -> Vec<u8> {
    let string = |text: &str| format!(r#"{{"@data-type":"string","data":"{text}"}}"#);
    let table = |pairs: &[(&str, String)]| {
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| format!(r#"{{"key":{},"value":{value}}}"#, string(key))).collect();
        format!(r#"{{"@data-type":"table","data":[{}]}}"#, pairs.join(","))
    };
    let id = table(&[("resp_p", format!(r#"{{"@data-type":"port","data":"{port}/udp"}}"#))]);
    let json = table(&[("id", id), ("number", format!(r#"{{"@data-type":"count","data":{number}}}"#))]);
    let mut bytes = Vec::new();
    rawline_value::json::typed::read(json.as_bytes(), &mut bytes).unwrap();
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_a_producer_loses_and_duplicates_nothing() {
    const RECORDS: u64 = 2_000;
    let mut broker = support::broker(&[]);
    create(&client(&broker), "dns", 2).await;
    let retries = RetryPolicy { wait_min: Duration::from_millis(5), ..RetryPolicy::default() };
    let config = SubscriptionConfig { retries, ..SubscriptionConfig::new("dns") };
    let mut subscription = Subscription::new(client(&broker), config).await.unwrap();
    let producer_config =
        ProducerConfig { batch_bytes: 500, linger: Some(Duration::ZERO), retries, ..ProducerConfig::default() };
    let producer = Producer::new(client(&broker), "dns", producer_config).unwrap();
    let producing = tokio::spawn(async move {
        for number in 0..RECORDS {
            let receipt = producer.send_to((number % 2) as u32, number.to_string()).await.unwrap();
            if number % 50 == 0 {
                receipt.offset().await.unwrap();
            }
        }
        producer.close().await.unwrap();
    });
    let mut received = Received::new();
    for kills in 0..4 {
        receive(&mut subscription, 200, &mut received).await;
        broker.kill();
        broker.start_again();
        // A new connection each time, by another cursor too.
        assert!(subscription.cursor().contains(";dns~"), "{kills}: {}", subscription.cursor());
    }
    let so_far: usize = received.values().map(Vec::len).sum();
    receive(&mut subscription, RECORDS as usize - so_far, &mut received).await;
    producing.await.unwrap();
    for partition in 0..2 {
        let all = &received[&("dns".to_owned(), partition)];
        let expected = (0..RECORDS / 2).map(|offset| (offset, (2 * offset + u64::from(partition)).to_string()));
        assert!(all.iter().cloned().eq(expected), "partition {partition}: {} records", all.len());
    }
    let nothing = tokio::time::timeout(Duration::from_millis(200), subscription.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
}

#[tokio::test]
async fn a_slow_subscriber_skips_or_ends_as_it_chose() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    create(&client, "dns", 1).await;
    let skips = SubscriptionConfig {
        slow: Slow::Skip,
        lag_max: Some(10),
        start: Start::Earliest,
        ..SubscriptionConfig::new("dns")
    };
    // It lags from the beginning.
    let many: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    append(&client, "dns", &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut subscription = Subscription::new(client.clone(), skips).await.unwrap();
    let (mut skipped, mut got) = (0, 0);
    while skipped + got < 100 {
        match subscription.next().await.unwrap() {
            Delivered::Skipped { topic, partition, records, next_offset } => {
                assert_eq!((topic.as_str(), partition), ("dns", 0));
                skipped += records;
                assert_eq!(next_offset, skipped + got);
            }
            Delivered::Records(fetched) => got += fetched.records_count(),
            other => panic!("{other:?}"),
        }
    }
    assert!(skipped > 0 && got > 0, "{skipped} skipped, {got} delivered");
    // One that has caught up.
    let ends = SubscriptionConfig { lag_max: Some(10), ..SubscriptionConfig::new("dns") };
    let mut subscription = Subscription::new(client.clone(), ends).await.unwrap();
    append(&client, "dns", &["100"]).await;
    let mut received = Received::new();
    receive(&mut subscription, 1, &mut received).await;
    append(&client, "dns", &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let error = subscription.next().await.unwrap_err();
    assert_eq!(error.code(), Some("subscriber_slow"), "{error}");
    // The next call continues there.
    receive(&mut subscription, 100, &mut received).await;
    let offsets = received.values().flatten().map(|(offset, _)| *offset);
    assert!(offsets.eq(100..201));
}

#[tokio::test]
async fn deleted_topics_are_reported_and_the_others_continue() {
    let mut broker = support::broker(&[]);
    let client = client(&broker);
    for topic in ["a", "b", "c"] {
        create(&client, topic, 1).await;
    }
    let retries = RetryPolicy { wait_min: Duration::from_millis(5), ..RetryPolicy::default() };
    let config = SubscriptionConfig {
        topics: vec!["a".into(), "b".into(), "c".into()],
        retries,
        ..SubscriptionConfig::default()
    };
    let mut subscription = Subscription::new(client.clone(), config).await.unwrap();
    client.delete_topic("a").await.unwrap();
    let deleted = |delivered: Delivered<'_>| match delivered {
        Delivered::Deleted { topic } => topic,
        other => panic!("{other:?}"),
    };
    assert_eq!(deleted(subscription.next().await.unwrap()), "a");
    append(&client, "b", &["1"]).await;
    receive(&mut subscription, 1, &mut Received::new()).await;
    // While it isn't connected.
    broker.kill();
    broker.start_again();
    client.delete_topic("b").await.unwrap();
    append(&client, "c", &["2"]).await;
    let mut reported = false;
    let mut received = false;
    while !(reported && received) {
        match subscription.next().await.unwrap() {
            Delivered::Deleted { topic } => reported |= topic == "b",
            Delivered::Records(fetched) => received |= fetched.topic() == "c",
            other => panic!("{other:?}"),
        }
    }
    client.delete_topic("c").await.unwrap();
    assert_eq!(deleted(subscription.next().await.unwrap()), "c");
    let error = subscription.next().await.unwrap_err();
    assert_eq!(error.code(), Some("topic_not_found"), "{error}");
}

#[tokio::test]
async fn the_key_is_sent_and_wrong_settings_are_refused_at_once() {
    let broker = support::broker(&["--api-key", "0123456789abcdef0123456789abcdef"]);
    let with_key = |key: Option<&str>| {
        let mut config = ClientConfig::new(broker.url());
        config.api_key = key.map(str::to_owned);
        Client::new(config).unwrap()
    };
    let right = with_key(Some("0123456789abcdef0123456789abcdef"));
    create(&right, "dns", 1).await;
    for key in [None, Some("wrong")] {
        let error = Subscription::new(with_key(key), SubscriptionConfig::new("dns")).await.unwrap_err();
        assert_eq!(error.code(), Some("unauthorized"), "{error}");
    }
    let mut subscription = Subscription::new(right.clone(), SubscriptionConfig::new("dns")).await.unwrap();
    append(&right, "dns", &["1"]).await;
    receive(&mut subscription, 1, &mut Received::new()).await;
    let missing = SubscriptionConfig { topics: vec!["dns".into(), "none".into()], ..SubscriptionConfig::default() };
    assert_eq!(Subscription::new(right.clone(), missing).await.unwrap_err().code(), Some("topic_not_found"));
    let partition = SubscriptionConfig { partition: Some(7), ..SubscriptionConfig::new("dns") };
    assert_eq!(Subscription::new(right.clone(), partition).await.unwrap_err().code(), Some("partition_not_found"));
    let nothing = Subscription::new(right.clone(), SubscriptionConfig::default()).await.unwrap_err();
    assert_eq!(nothing.kind(), Kind::FixRequest, "{nothing}");
    let cursor = SubscriptionConfig { cursor: Some("x".into()), ..SubscriptionConfig::new("dns") };
    let error = Subscription::new(right, cursor).await.unwrap_err();
    assert!(matches!(error, ClientError::Config { .. }), "{error}");
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing_and_a_late_reader_gets_everything() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    create(&client, "dns", 1).await;
    let mut subscription = Subscription::new(client.clone(), SubscriptionConfig::new("dns")).await.unwrap();
    let mut got = 0;
    for number in 0..50 {
        append(&client, "dns", &[&format!("{number} {}", "x".repeat(number * 1000))]).await;
        for micros in [0, 1, 10, 100, 1000] {
            let wait = tokio::time::timeout(Duration::from_micros(micros), subscription.next());
            if let Ok(delivered) = wait.await {
                let Delivered::Records(fetched) = delivered.unwrap() else { panic!("no records") };
                assert_eq!(fetched.requested_offset(), got);
                got = fetched.next_offset();
            }
        }
    }
    // More than the system's buffers hold waits in the broker while nothing is read.
    let large = "y".repeat(1 << 20);
    for _ in 0..32 {
        append(&client, "dns", &[&large]).await;
    }
    while got < 82 {
        let Delivered::Records(fetched) = subscription.next().await.unwrap() else { panic!("no records") };
        assert_eq!(fetched.requested_offset(), got);
        got = fetched.next_offset();
    }
    assert_eq!(got, 82);
}
