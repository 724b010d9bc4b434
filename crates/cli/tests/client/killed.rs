//! A broker with a journal on a directory that is killed under load: everything acknowledged is at its offset, once.

use crate::{client, read_partition, support};
use rawline_client::{Partitions, Producer, ProducerConfig, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const TOPICS: [&str; 3] = ["a", "b", "c"];
const PARTITIONS: u32 = 3;
/// The broker is killed after this many acknowledged records, fewer than one producer sends.
const KILLS_AT: [u64; 4] = [200, 700, 1_200, 1_700];
/// Records of each partition.
const RECORDS: u64 = 600;

const _: () = assert!(KILLS_AT[3] < RECORDS * PARTITIONS as u64);

/// Sends records to all partitions of a topic, and counts those that are acknowledged.
async fn produce(producer: Producer, topic: &'static str, acknowledged: Arc<AtomicU64>) {
    let mut receipts = Vec::new();
    for number in 0..RECORDS {
        for partition in 0..PARTITIONS {
            receipts.push((number, producer.send_to(partition, record(topic, partition, number)).await.unwrap()));
        }
        // Some wait for their receipts while others are in flight.
        if number % 20 == 19 {
            for (number, receipt) in receipts.drain(..) {
                assert_eq!(receipt.offset().await.unwrap(), number, "{topic}");
                acknowledged.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    assert!(receipts.is_empty());
    producer.close().await.unwrap();
}

fn record(topic: &str, partition: u32, number: u64) -> String {
    format!("{topic}/{partition}: {number}, {}", "x".repeat(number as usize % 300))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_loses_and_duplicates_nothing_in_a_directorys_journal() {
    let mut broker = support::broker(&[]);
    let acknowledged = Arc::new(AtomicU64::new(0));
    let mut producing = Vec::new();
    for topic in TOPICS {
        let settings = Settings { partitions: Partitions::new(PARTITIONS), ..Settings::default() };
        client(&broker).create_topic(topic, &settings).await.unwrap();
        let config = ProducerConfig {
            batch_bytes: 1_000,
            request_bytes_max: 4_000,
            linger: Some(Duration::ZERO),
            in_flight_max: 4,
            ..ProducerConfig::default()
        };
        let producer = Producer::new(client(&broker), topic, config).unwrap();
        producing.push(tokio::spawn(produce(producer, topic, acknowledged.clone())));
    }
    for kill_at in KILLS_AT {
        while acknowledged.load(Ordering::SeqCst) < kill_at {
            assert!(!producing.iter().any(tokio::task::JoinHandle::is_finished), "a producer has ended");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        broker.kill();
        broker.start_again();
    }
    for produced in producing {
        produced.await.unwrap();
    }
    // Once more, and read by the run that has only the directory.
    broker.kill();
    broker.start_again();
    for topic in TOPICS {
        for partition in 0..PARTITIONS {
            let all = read_partition(&client(&broker), (topic, partition), 0).await;
            let expected = (0..RECORDS).map(|number| record(topic, partition, number).into_bytes());
            assert!(all.iter().cloned().eq(expected), "{topic}/{partition}: {} records of {RECORDS}", all.len());
        }
    }
}
