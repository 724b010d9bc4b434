//! Producers choose partitions, consumers read one, several or all of them.

use crate::{client, support};
use rawline_client::{
    Client, ClientError, Consumer, ConsumerConfig, Kind, Partitions, Position, Producer, ProducerConfig, Settings,
    Start, partition_of_key,
};
use std::collections::BTreeMap;
use std::time::Duration;
use support::{Broker, broker};

async fn create(client: &Client, partitions: u32) {
    let settings = Settings { partitions: Partitions::new(partitions), ..Settings::default() };
    let topic = client.create_topic("t", &settings).await.unwrap();
    assert_eq!((topic.partitions.get(), topic.offsets.len()), (partitions, partitions as usize));
}

/// Batches of few records, so that there are many.
fn small_batches() -> ProducerConfig {
    ProducerConfig { batch_records_max: 7, linger: Some(Duration::from_secs(3600)), ..ProducerConfig::default() }
}

/// All records of the partitions, each with its offset; of all partitions if none is named.
async fn consumed(client: &Client, partitions: &[u32]) -> BTreeMap<u32, Vec<String>> {
    let mut left: u64 = match partitions {
        [] => client.topic("t").await.unwrap().records(),
        some => {
            let extents = client.topic("t").await.unwrap().extents();
            some.iter().map(|partition| extents[*partition as usize].records()).sum()
        }
    };
    let config = ConsumerConfig { partitions: partitions.to_vec(), bytes_max: 200, ..ConsumerConfig::default() };
    let mut consumer = Consumer::new(client.clone(), "t", config).await.unwrap();
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    while left > 0 {
        let fetched = consumer.next().await.unwrap().unwrap();
        let partition = fetched.partition();
        let mut records = fetched.records();
        while let Some(record) = records.next_record().unwrap() {
            let before = found.entry(partition).or_default();
            assert_eq!((record.partition, record.offset), (partition, before.len() as u64));
            before.push(String::from_utf8(record.bytes.to_vec()).unwrap());
            left -= 1;
        }
    }
    for (partition, offset) in consumer.offsets() {
        assert_eq!(offset, found.get(&partition).map_or(0, Vec::len) as u64);
    }
    found
}

/// The producer has found no topic, and another client creates it before the producer's first append.
#[tokio::test]
async fn a_topic_that_is_created_late_has_all_its_partitions_after_the_first_append() {
    let broker = broker(&[]);
    let client = client(&broker);
    let producer = Producer::new(client.clone(), "t", small_batches()).unwrap();
    producer.send("a").await.unwrap();
    while producer.partitions().is_none() {
        tokio::task::yield_now().await;
    }
    create(&client, 4).await;
    producer.flush().await.unwrap();
    while producer.partitions() != Some(4) {
        tokio::task::yield_now().await;
    }
    assert_eq!(producer.send_to(3, "b").await.map(drop), Ok(()));
    producer.close().await.unwrap();
}

#[tokio::test]
async fn keys_lead_to_four_partitions_and_all_of_them_are_consumed() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, 4).await;
    let producer = Producer::new(client.clone(), "t", small_batches()).unwrap();
    let mut expected: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut receipts = Vec::new();
    for number in 0..1000 {
        let (key, record) = (format!("key {}", number % 37), format!("{number} of key {}", number % 37));
        let partition = partition_of_key(key.as_bytes(), 4);
        let records = expected.entry(partition).or_default();
        let position = Position { partition, offset: records.len() as u64 };
        receipts.push((producer.send_with_key(&key, &record).await.unwrap(), position));
        records.push(record);
    }
    producer.flush().await.unwrap();
    for (receipt, position) in receipts {
        assert_eq!(receipt.position().await.unwrap(), position);
        assert_eq!(receipt.offset().await.unwrap(), position.offset);
    }
    producer.close().await.unwrap();
    assert_eq!(expected.len(), 4);
    assert_eq!(consumed(&client, &[]).await, expected);
    expected.retain(|partition, _| [1, 3].contains(partition));
    assert_eq!(consumed(&client, &[3, 1]).await, expected);
    expected.remove(&1);
    assert_eq!(consumed(&client, &[3]).await, expected);
}

#[tokio::test]
async fn records_without_a_key_go_to_all_partitions_a_batch_at_a_time() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, 3).await;
    let producer = Producer::new(client.clone(), "t", small_batches()).unwrap();
    let mut partitions = Vec::new();
    for batch in 0..30 {
        let mut receipts = Vec::new();
        for record in 0..7 {
            receipts.push(producer.send(format!("{batch}/{record}")).await.unwrap());
        }
        let mut positions = Vec::new();
        for receipt in &receipts {
            positions.push(receipt.position().await.unwrap());
        }
        let Position { partition, offset } = positions[0];
        let together: Vec<_> = (0..7).map(|record| Position { partition, offset: offset + record }).collect();
        assert_eq!(positions, together);
        partitions.push(partition);
    }
    assert!(partitions.windows(2).all(|pair| pair[0] != pair[1]), "{partitions:?}");
    let found = consumed(&client, &[]).await;
    assert_eq!(found.values().map(Vec::len).collect::<Vec<_>>(), [70, 70, 70]);
}

#[tokio::test]
async fn a_partition_that_is_missing_fails_its_own_record_until_it_is_added() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, 2).await;
    let producer = Producer::new(client.clone(), "t", small_batches()).unwrap();
    let refused = producer.send_to(3, "x").await.unwrap_err();
    assert!(matches!(refused, ClientError::NoPartition { partition: 3, partitions: 2, .. }), "{refused}");
    assert_eq!((refused.kind(), refused.code()), (Kind::FixRequest, Some("partition_not_found")));
    let first = producer.send_to(1, "first").await.unwrap();
    producer.flush().await.unwrap();
    assert_eq!(first.position().await.unwrap(), Position { partition: 1, offset: 0 });
    // More partitions are found as soon as one of them is named.
    let more = Settings { partitions: Partitions::new(4), ..Settings::default() };
    client.set_topic("t", &more).await.unwrap();
    let added = producer.send_to(3, "added").await.unwrap();
    producer.close().await.unwrap();
    assert_eq!(added.position().await.unwrap(), Position { partition: 3, offset: 0 });
    let missing =
        Consumer::new(client.clone(), "t", ConsumerConfig { partitions: vec![4], ..ConsumerConfig::default() });
    assert_eq!(missing.await.unwrap_err().code(), Some("partition_not_found"));
    let fewer = Settings { partitions: Partitions::new(1), ..Settings::default() };
    assert_eq!(client.set_topic("t", &fewer).await.unwrap_err().code(), Some("partitions_fewer"));
}

/// The topic is deleted and created with fewer partitions: the producer stops instead of choosing another partition.
#[tokio::test]
async fn a_producer_stops_when_its_partition_is_gone() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, 4).await;
    let producer = Producer::new(client.clone(), "t", small_batches()).unwrap();
    drop(producer.send_to(3, "x").await.unwrap());
    producer.flush().await.unwrap();
    client.delete_topic("t").await.unwrap();
    create(&client, 2).await;
    let lost = producer.send_to(3, "y").await.unwrap();
    assert_eq!(producer.flush().await.unwrap_err().code(), Some("partition_not_found"));
    assert_eq!(lost.offset().await.unwrap_err().code(), Some("partition_not_found"));
    assert!(producer.send("z").await.is_err());
}

#[tokio::test]
async fn each_partition_has_its_own_start_end_and_extent() {
    let broker: Broker = broker(&[]);
    let client = client(&broker);
    create(&client, 3).await;
    for (partition, records) in [(0, 3), (1, 5)] {
        for number in 0..records {
            let data = bytes::Bytes::from(format!("{partition}{number}"));
            let appended = client.append_records(("t", partition), &[2], data).await.unwrap();
            assert_eq!(appended.first_offset, number);
        }
    }
    assert_eq!(client.trim(("t", 1), 2).await.unwrap().first_offset, 2);
    assert_eq!(client.trim(("t", 2), 1).await.unwrap_err().code(), Some("offset_out_of_bounds"));
    let topic = client.topic("t").await.unwrap();
    let extents: Vec<_> = topic.extents().iter().map(|extent| (extent.first_offset, extent.next_offset)).collect();
    assert_eq!((extents, topic.records()), (vec![(0, 3), (2, 5), (0, 0)], 6));
    assert_eq!(client.offset_at(("t", 1), std::time::SystemTime::UNIX_EPOCH).await.unwrap(), 2);
    for (start, offsets) in [
        (Start::Earliest, [(0, 0), (1, 2), (2, 0)]),
        (Start::Latest, [(0, 3), (1, 5), (2, 0)]),
        (Start::Offset(1), [(0, 1), (1, 1), (2, 1)]),
        (Start::Time(std::time::SystemTime::UNIX_EPOCH), [(0, 0), (1, 2), (2, 0)]),
    ] {
        let config = ConsumerConfig { start, ..ConsumerConfig::default() };
        let consumer = Consumer::new(client.clone(), "t", config).await.unwrap();
        assert_eq!(consumer.offsets().collect::<Vec<_>>(), offsets, "{start:?}");
    }
    // Ends are reached in each partition.
    let config = ConsumerConfig { partitions: vec![0, 1], end_offset: Some(3), ..ConsumerConfig::default() };
    let mut consumer = Consumer::new(client.clone(), "t", config).await.unwrap();
    let mut found = Vec::new();
    while let Some(fetched) = consumer.next().await.unwrap() {
        let mut records = fetched.records();
        while let Some(record) = records.next_record().unwrap() {
            found.push((record.partition, record.offset));
        }
    }
    found.sort_unstable();
    assert_eq!(found, [(0, 0), (0, 1), (0, 2), (1, 2)]);
}

/// More partitions than a consumer has reads in flight.
#[tokio::test]
async fn a_hundred_partitions_are_followed() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, 100).await;
    let mut consumer = Consumer::new(client.clone(), "t", ConsumerConfig::default()).await.unwrap();
    let producer = Producer::new(client.clone(), "t", ProducerConfig::default()).unwrap();
    for round in 0..2 {
        for partition in 0..100 {
            drop(producer.send_to(partition, partition.to_string()).await.unwrap());
        }
        producer.flush().await.unwrap();
        let mut found = Vec::new();
        while found.len() < 100 {
            let fetched = consumer.next().await.unwrap().unwrap();
            let mut records = fetched.records();
            while let Some(record) = records.next_record().unwrap() {
                assert_eq!((record.bytes, record.offset), (record.partition.to_string().as_bytes(), round));
                found.push(record.partition);
            }
        }
        found.sort_unstable();
        assert_eq!(found, (0..100).collect::<Vec<_>>());
    }
    producer.close().await.unwrap();
}
