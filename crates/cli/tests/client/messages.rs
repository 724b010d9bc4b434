//! Records with keys, headers and their own times: sent, stored in Kafka's batches, and read.

use crate::{batch, client, support};
use bytes::Bytes;
use rawline_batch::Limits;
use rawline_client::{
    Client, Codec, Consumer, ConsumerConfig, Fetched, Message, Partitions, Position, Producer, ProducerConfig,
    ReadOptions, RecordBatchBuilder, RecordCodec, Settings, partition_of_key,
};
use std::collections::BTreeMap;

/// A record with all that it has.
#[derive(Debug, Clone, PartialEq)]
struct Whole {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    timestamp_ms: Option<i64>,
}

/// All records up to the current end, by partition and offset.
async fn read_whole(client: &Client, topic: &str, bytes_max: u64) -> BTreeMap<Position, Whole> {
    let ends: Vec<_> = client.topic(topic).await.unwrap().extents();
    let expected: u64 = ends.iter().map(|extent| extent.next_offset).sum();
    let mut consumer =
        Consumer::new(client.clone(), topic, ConsumerConfig { bytes_max, ..ConsumerConfig::default() }).await.unwrap();
    let mut all = BTreeMap::new();
    while (all.len() as u64) < expected {
        let fetched = consumer.next().await.unwrap().unwrap();
        let mut records = fetched.records();
        while let Some(record) = records.next_record().unwrap() {
            let headers = record.headers().map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec)));
            let whole = Whole {
                key: record.key().map(<[u8]>::to_vec),
                value: record.value().map(<[u8]>::to_vec),
                headers: headers.collect(),
                timestamp_ms: record.timestamp_ms(),
            };
            let position = Position { partition: record.partition, offset: record.offset };
            assert!(all.insert(position, whole).is_none(), "{position:?} was read twice");
        }
    }
    all
}

#[tokio::test]
async fn messages_and_plain_records_keep_their_order_and_everything_in_them() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    for (number, codec) in [Codec::None, Codec::Lz4, Codec::Zstd].into_iter().enumerate() {
        let topic = format!("t{number}");
        let settings = Settings { partitions: Partitions::new(4), ..Settings::default() };
        client.create_topic(&topic, &settings).await.unwrap();
        let config = ProducerConfig {
            batch_bytes: 2000,
            buffer_bytes: 10_000,
            request_bytes_max: 5000,
            codec,
            ..ProducerConfig::default()
        };
        let producer = Producer::new(client.clone(), &topic, config).unwrap();
        let mut sent = Vec::new();
        for number in 0..1000u32 {
            let key = format!("key {}", number % 7).into_bytes();
            let value = format!("value {number}").into_bytes();
            let headers = [("number", Some(&value[..])), ("none", None), ("", Some(&b""[..]))];
            let receipt = match number % 50 {
                // Plain records, and messages between them, in one partition.
                0..10 => producer.send_to(3, &value).await,
                40 => producer.send_message(Message { value: Some(&value), ..Message::default() }).await,
                41 => {
                    let message = Message { key: Some(&key), partition: Some(3), ..Message::default() };
                    producer.send_message(message).await
                }
                _ => {
                    let timestamp_ms = Some(i64::from(number));
                    let value = Some(&value[..]);
                    let headers = &headers[..(number % 4) as usize];
                    let message = Message { key: Some(&key), value, headers, timestamp_ms, partition: None };
                    producer.send_message(message).await
                }
            };
            sent.push((number, key, value, receipt.unwrap()));
        }
        producer.close().await.unwrap();
        let all = read_whole(&client, &topic, 3000).await;
        assert_eq!(all.len(), sent.len());
        let mut newest = BTreeMap::new();
        for (number, key, value, receipt) in sent {
            let position = receipt.position().await.unwrap();
            let before = newest.insert((position.partition, key.clone()), position.offset);
            let read = &all[&position];
            let now_ms = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
            let is_now = read.timestamp_ms.is_some_and(|time| (now_ms - 600_000..=now_ms).contains(&time));
            match number % 50 {
                0..10 => {
                    let timestamp_ms = read.timestamp_ms.filter(|_| is_now);
                    let plain = Whole { key: None, value: Some(value), headers: vec![], timestamp_ms };
                    assert_eq!((position.partition, read), (3, &plain));
                }
                40 => assert!(read.key.is_none() && read.value == Some(value) && is_now, "{read:?}"),
                41 => {
                    assert!(read.key == Some(key) && read.value.is_none() && is_now, "{read:?}");
                    assert_eq!(position.partition, 3);
                }
                _ => {
                    assert!(before.is_none_or(|before| before < position.offset), "{before:?} {position:?}");
                    assert_eq!(position.partition, partition_of_key(&key, 4));
                    let headers =
                        [(b"number".to_vec(), Some(value.clone())), (b"none".to_vec(), None), (vec![], Some(vec![]))];
                    let headers = headers[..(number % 4) as usize].to_vec();
                    let timestamp_ms = Some(i64::from(number));
                    assert_eq!(read, &Whole { key: Some(key), value: Some(value), headers, timestamp_ms });
                }
            }
        }
    }
}

#[tokio::test]
async fn batches_of_both_kinds_are_read_as_they_are_stored_or_converted() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let mut stored = Vec::new();
    for (codec, first) in [(RecordCodec::Gzip, 0), (RecordCodec::None, 100)] {
        let mut builder = RecordBatchBuilder::new(codec, Limits::default());
        for number in first..first + 100i64 {
            let value = number.to_string();
            builder.push(number, Some(b"key"), Some(value.as_bytes()), []).unwrap();
        }
        let bytes = builder.finish(None).unwrap().to_vec();
        stored.push((codec, bytes.clone()));
        let appended = client.append_record_batches("t", vec![Bytes::from(bytes)]).await.unwrap();
        assert_eq!((appended.first_offset, appended.next_offset), (first as u64, first as u64 + 100));
    }
    let ours = batch(Codec::None, (200..300).map(|number| number.to_string()));
    client.append("t", vec![Bytes::from(ours.clone())]).await.unwrap();

    for values_only in [false, true] {
        let mut fetched = Fetched::default();
        for offset in [0, 50, 99, 100, 150, 199, 200, 250] {
            let options = ReadOptions { offset, values_only, ..ReadOptions::default() };
            fetched = client.read("t", &options, fetched).await.unwrap();
            assert_eq!((fetched.requested_offset(), fetched.is_kafka()), (offset, offset < 200 && !values_only));
            let mut expected = offset;
            let mut records = fetched.records();
            while let Some(record) = records.next_record().unwrap() {
                let has_key = expected < 200 && !values_only;
                assert_eq!((record.offset, record.bytes), (expected, expected.to_string().as_bytes()));
                assert_eq!(record.key(), has_key.then_some(&b"key"[..]));
                expected += 1;
            }
            // A response has batches of one kind.
            assert_eq!((expected, fetched.next_offset()), (if offset < 200 { 200 } else { 300 }, expected));
            assert_eq!(fetched.topic_next_offset(), 300);
        }
    }
    let fetched = client.read("t", &ReadOptions::default(), Fetched::default()).await.unwrap();
    let read: Vec<_> =
        fetched.record_batches().map(|(_, header, bytes)| (header.codec, bytes[16..].to_vec())).collect();
    let sent = stored.iter().map(|(codec, bytes)| (*codec, bytes[16..].to_vec()));
    assert_eq!(read, sent.collect::<Vec<_>>());
    let (_, mut damaged) = stored.pop().unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    let refused = client.append_record_batches("t", vec![Bytes::from(damaged)]).await.unwrap_err();
    assert_eq!(refused.code(), Some("record_batch_damaged"), "{refused}");
}

#[tokio::test]
async fn keys_are_stored_in_memory() {
    let broker = support::broker(&["--storage", "memory:"]);
    let producer = Producer::new(client(&broker), "t", ProducerConfig::default()).unwrap();
    let message = Message { key: Some(b"k"), value: Some(b"v"), ..Message::default() };
    assert_eq!(producer.send_message(message).await.unwrap().offset().await.unwrap(), 0);
    producer.close().await.unwrap();
}
