//! The consumer: where it starts and ends, and that cancelled calls lose nothing.

use crate::{batch, client, support};
use bytes::Bytes;
use rawline_client::{Codec, Consumer, ConsumerConfig, Kind, Payload, Start};
use std::time::Duration;

#[tokio::test]
async fn a_consumer_starts_and_ends_at_the_given_offsets() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    for first in [0, 100, 200] {
        let records = (first..first + 100).map(|number| number.to_string());
        client.append("t", vec![Bytes::from(batch(Codec::None, records))]).await.unwrap();
    }
    let commit = client.topic("t").await.unwrap().latest_commit_at.unwrap();
    let later = commit + jiff::SignedDuration::from_secs(3600);
    let earlier = commit - jiff::SignedDuration::from_secs(3600);
    for (start, end_offset, want) in [
        (Start::Earliest, 300, 0..300),
        (Start::Offset(250), 300, 250..300),
        (Start::Offset(5), 6, 5..6),
        (Start::Latest, 300, 300..300),
        (Start::Time(earlier.into()), 300, 0..300),
        (Start::Time(later.into()), 300, 300..300),
    ] {
        for bytes_max in [1, 500, 1 << 20] {
            let config = ConsumerConfig { start, end_offset: Some(end_offset), bytes_max, ..ConsumerConfig::default() };
            let mut consumer = Consumer::new(client.clone(), "t", config).await.unwrap();
            let mut got = Vec::new();
            while let Some(fetched) = consumer.next().await.unwrap() {
                let mut records = fetched.records();
                while let Some(record) = records.next_record().unwrap() {
                    assert_eq!(record.bytes, record.offset.to_string().as_bytes());
                    got.push(record.offset);
                }
            }
            assert_eq!(got, want.clone().collect::<Vec<_>>(), "{start:?} {bytes_max}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let missing = Consumer::new(client.clone(), "t", ConsumerConfig::default()).await.unwrap_err();
    assert_eq!((missing.code(), missing.kind()), (Some("topic_not_found"), Kind::FixRequest));
    client.set_payload("t", Payload::Bytes).await.unwrap();
    let mut consumer = Consumer::new(client.clone(), "t", ConsumerConfig::default()).await.unwrap();
    for number in 0..5u64 {
        // Cancelled while it waits, each time at a different point.
        let given_up = tokio::time::timeout(Duration::from_millis(number), consumer.next()).await;
        assert!(given_up.is_err());
        client.append_records("t", &[1], Bytes::from(number.to_string())).await.unwrap();
        let fetched = consumer.next().await.unwrap().unwrap();
        let mut records = fetched.records();
        let record = records.next_record().unwrap().unwrap();
        assert_eq!((record.offset, record.bytes), (number, number.to_string().as_bytes()));
        assert!(records.next_record().unwrap().is_none());
        assert_eq!(consumer.offset(), number + 1);
    }
}
