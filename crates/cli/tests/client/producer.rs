//! The producer: receipts, memory, failures, and order over restarts.

use crate::{client, read_all, support};
use rawline_client::{ClientError, Codec, Producer, ProducerConfig};
use std::time::Duration;

#[tokio::test]
async fn a_producer_may_linger_forever() {
    let broker = support::broker(&[]);
    let config = ProducerConfig { linger: Some(Duration::MAX), ..ProducerConfig::default() };
    let producer = Producer::new(client(&broker), "t", config).unwrap();
    producer.send(b"x").await.unwrap();
    // The sending task sees the record while it lingers.
    tokio::time::sleep(Duration::from_millis(20)).await;
    producer.close().await.unwrap();
    assert_eq!(client(&broker).topic("t").await.unwrap().next_offset, 1);
}

#[tokio::test]
async fn receipts_return_the_offsets() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let want: Vec<Vec<u8>> = (0..5000).map(|number| format!("record {number}").into_bytes()).collect();
    for (i, codec) in [Codec::None, Codec::Lz4, Codec::Zstd].into_iter().enumerate() {
        let topic = format!("t{i}");
        // Small batches, and a buffer for a few of them that is full most of the time.
        let config = ProducerConfig {
            batch_bytes: 1000,
            batch_records_max: 60,
            buffer_bytes: 5000,
            request_bytes_max: 3000,
            codec,
            ..ProducerConfig::default()
        };
        let producer = Producer::new(client.clone(), &topic, config).unwrap();
        let mut receipts = Vec::new();
        for record in &want {
            receipts.push(producer.send(record).await.unwrap());
        }
        producer.flush().await.unwrap();
        for (offset, receipt) in receipts.iter().enumerate() {
            assert_eq!(receipt.offset().await.unwrap(), offset as u64);
        }
        assert_eq!(read_all(&client, &topic, 0).await, want);
        // Without records, flush returns immediately.
        producer.flush().await.unwrap();
        producer.close().await.unwrap();
        assert_eq!(client.topic(&topic).await.unwrap().next_offset, 5000);
    }
}

#[tokio::test]
async fn a_record_longer_than_batch_and_buffer_gets_through() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let config = ProducerConfig { batch_bytes: 10, buffer_bytes: 10, ..ProducerConfig::default() };
    let producer = Producer::new(client.clone(), "t", config).unwrap();
    let records = [vec![], vec![b'a'; 5_000_000], b"b".to_vec(), vec![b'c'; 100], vec![]];
    for record in &records {
        producer.send(record).await.unwrap();
    }
    // A record that exceeds a batch fails alone.
    let limit = client.config().limits.batch_bytes_max as usize;
    assert!(producer.send(vec![0; limit]).await.is_err());
    producer.send("last").await.unwrap();
    producer.close().await.unwrap();
    let mut want = records.to_vec();
    want.push(b"last".to_vec());
    assert_eq!(read_all(&client, "t", 0).await, want);
}

#[tokio::test]
async fn a_record_is_sent_without_a_flush() {
    let broker = support::broker(&[]);
    for linger in [Some(0), Some(5), None] {
        let linger = linger.map(Duration::from_millis);
        let config = ProducerConfig { linger, ..ProducerConfig::default() };
        let producer = Producer::new(client(&broker), "t", config).unwrap();
        let first = producer.send("x").await.unwrap().offset().await.unwrap();
        let second = producer.send("x").await.unwrap().offset().await.unwrap();
        assert_eq!(second, first + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_senders_share_a_producer() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    for in_flight_max in [1, 4] {
        let topic = format!("t{in_flight_max}");
        let config =
            ProducerConfig { in_flight_max, batch_bytes: 500, buffer_bytes: 4000, ..ProducerConfig::default() };
        let producer = std::sync::Arc::new(Producer::new(client.clone(), &topic, config).unwrap());
        let mut senders = Vec::new();
        for sender in 0..8 {
            let producer = producer.clone();
            senders.push(tokio::spawn(async move {
                let mut receipts = Vec::new();
                for number in 0..500 {
                    let record = format!("{sender} {number}");
                    receipts.push((producer.send(&record).await.unwrap(), record));
                    if number % 100 == 99 {
                        producer.flush().await.unwrap();
                    }
                }
                receipts
            }));
        }
        let mut placed = Vec::new();
        for sender in senders {
            for (receipt, record) in sender.await.unwrap() {
                placed.push((receipt.offset().await.unwrap(), record.into_bytes()));
            }
        }
        placed.sort();
        let want: Vec<_> = read_all(&client, &topic, 0).await.into_iter().zip(0..).map(|(r, o)| (o, r)).collect();
        assert_eq!(placed, want, "{in_flight_max}");
    }
}

#[tokio::test]
async fn a_producer_that_failed_sends_nothing_more() {
    let broker = support::broker(&["--no-create-topics"]);
    let producer = Producer::new(client(&broker), "t", ProducerConfig::default()).unwrap();
    let receipt = producer.send("x").await.unwrap();
    assert_eq!(receipt.offset().await.unwrap_err().code(), Some("topic_not_found"));
    assert_eq!(producer.send("y").await.unwrap_err().code(), Some("topic_not_found"));
    assert_eq!(producer.flush().await.unwrap_err().code(), Some("topic_not_found"));
    assert_eq!(producer.close().await.unwrap_err().code(), Some("topic_not_found"));
}

#[tokio::test]
async fn a_dropped_producer_leaves_no_caller_waiting() {
    let broker = support::broker(&[]);
    let config =
        ProducerConfig { linger: Some(Duration::from_secs(3600)), batch_bytes: 4, ..ProducerConfig::default() };
    let producer = Producer::new(client(&broker), "t", config).unwrap();
    let receipts = [producer.send("sent").await.unwrap(), producer.send("x").await.unwrap()];
    drop(producer);
    for receipt in receipts {
        assert!(matches!(receipt.offset().await, Err(ClientError::Stopped { .. })));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_keeps_the_order_over_restarts_and_loses_nothing_acknowledged() {
    let mut broker = support::broker(&[]);
    let client = client(&broker);
    let config = ProducerConfig { batch_bytes: 400, linger: Some(Duration::ZERO), ..ProducerConfig::default() };
    let producer = std::sync::Arc::new(Producer::new(client.clone(), "t", config).unwrap());
    let (told, mut tell) = tokio::sync::mpsc::channel(100);
    let sender = tokio::spawn({
        let producer = producer.clone();
        async move {
            for number in 0..20_000u64 {
                let receipt = producer.send(number.to_string()).await.unwrap();
                told.send((number, receipt)).await.unwrap();
            }
        }
    });
    let mut placed = Vec::new();
    while let Some((number, receipt)) = tell.recv().await {
        placed.push((receipt.offset().await.unwrap(), number));
        if [3000, 9000, 15_000].contains(&number) {
            broker.kill();
            broker.start_again();
        }
    }
    sender.await.unwrap();
    let all: Vec<u64> = read_all(&client, "t", 0)
        .await
        .iter()
        .map(|record| std::str::from_utf8(record).unwrap().parse().unwrap())
        .collect();
    for (offset, number) in placed {
        assert_eq!(all[offset as usize], number);
    }
    // A batch whose response was lost may be duplicated: its copies are adjacent, and each record first follows the
    // previous one.
    let mut next = 0;
    for number in all {
        assert!(number <= next, "{number} came before {next}");
        next = next.max(number + 1);
    }
    assert_eq!(next, 20_000);
}
