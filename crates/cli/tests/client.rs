//! The client library against a real broker.

// Clippy knows tests by their attribute only; these are their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use bytes::Bytes;
use rawline_batch::{Builder, Codec, Limits};
use rawline_client::{
    Client, ClientConfig, ClientError, Consumer, ConsumerConfig, Fetched, Kind, Payload, Producer, ProducerConfig,
    ReadOptions, RetryPolicy, Start,
};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use support::Broker;

fn client(broker: &Broker) -> Client {
    Client::new(ClientConfig::new(broker.url())).unwrap()
}

/// Reads a topic from `offset` to its end.
async fn read_all(client: &Client, topic: &str, mut offset: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut fetched = Fetched::default();
    loop {
        fetched = client.read(topic, &ReadOptions { offset, ..ReadOptions::default() }, fetched).await.unwrap();
        if fetched.is_empty() {
            return all;
        }
        let mut records = fetched.records();
        while let Some(record) = records.next_record().unwrap() {
            assert_eq!(record.offset, offset);
            all.push(record.bytes.to_vec());
            offset += 1;
        }
        assert_eq!(fetched.next_offset(), offset);
    }
}

fn batch(codec: Codec, records: impl IntoIterator<Item = String>) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::default());
    for record in records {
        builder.push(record.as_bytes()).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish_into(1, 0, 0, &mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn batches_are_received_exactly_as_they_were_sent() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    client.health().await.unwrap();
    let mut sent = batch(Codec::Zstd, (0..100).map(|number| format!("record {number}")));
    sent.extend(batch(Codec::None, (100..105).map(|number| format!("record {number}"))));
    // Cut where no border is.
    let pieces = sent.chunks(100).map(Bytes::copy_from_slice).collect();
    let appended = client.append("t", pieces).await.unwrap();
    assert_eq!((appended.first_offset, appended.next_offset), (0, 105));

    let fetched = client.read("t", &ReadOptions::default(), Fetched::default()).await.unwrap();
    assert_eq!(fetched.as_bytes(), sent);
    assert_eq!((fetched.first_offset(), fetched.topic_next_offset(), fetched.records_count()), (0, 105, 105));

    // The same memory again; from inside the compressed batch, which comes whole.
    let place = fetched.as_bytes().as_ptr();
    let options = ReadOptions { offset: 42, ..ReadOptions::default() };
    let mut fetched = client.read("t", &options, fetched).await.unwrap();
    assert_eq!(fetched.as_bytes(), sent);
    assert_eq!(fetched.as_bytes().as_ptr(), place);
    assert_eq!((fetched.first_offset(), fetched.records_count()), (0, 63));
    let record = fetched.records().next_record().unwrap().unwrap().bytes.to_vec();
    assert_eq!(record, b"record 42");
}

#[tokio::test]
async fn records_are_appended_from_sizes_and_data() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let appended = client.append_records("t", &[3, 0, 2], Bytes::from_static(b"onemo")).await.unwrap();
    assert_eq!((appended.first_offset, appended.next_offset), (0, 3));
    assert_eq!(read_all(&client, "t", 0).await, [b"one".to_vec(), vec![], b"mo".to_vec()]);

    let wrong = client.append_records("t", &[3], Bytes::from_static(b"four")).await.unwrap_err();
    assert!(matches!(wrong, ClientError::Batch(_)), "{wrong}");
    let nothing = client.append("t", vec![Bytes::new()]).await.unwrap_err();
    assert!(matches!(nothing, ClientError::Batch(_)), "{nothing}");
}

#[tokio::test]
async fn a_read_waits_for_what_is_not_there_yet() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    client.set_payload("t", Payload::Bytes).await.unwrap();
    let mut options = ReadOptions { wait: Duration::from_millis(20), ..ReadOptions::default() };
    let fetched = client.read("t", &options, Fetched::default()).await.unwrap();
    assert!(fetched.is_empty());
    assert_eq!((fetched.topic_next_offset(), fetched.next_offset()), (0, 0));

    options.wait = Duration::from_secs(60);
    let read = tokio::spawn({
        let client = client.clone();
        async move { client.read("t", &options, fetched).await }
    });
    client.append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap();
    let fetched = read.await.unwrap().unwrap();
    assert_eq!((fetched.records_count(), fetched.next_offset()), (1, 1));
}

#[tokio::test]
async fn what_the_broker_refuses_says_why() {
    let strict = support::broker(&["--no-create-topics"]);
    let missing = client(&strict).topic("t").await.unwrap_err();
    assert_eq!(
        (missing.status(), missing.code(), missing.kind()),
        (Some(404), Some("topic_not_found"), Kind::FixRequest)
    );

    let broker = support::broker(&[]);
    let client = client(&broker);
    let mut damaged = batch(Codec::None, ["x".to_owned()]);
    damaged[70] ^= 1;
    let refused = client.append("t", vec![Bytes::from(damaged)]).await.unwrap_err();
    assert_eq!(refused.status(), Some(400), "{refused}");
    assert!(!refused.is_retryable());
    // The client goes on to work.
    client.topics().await.unwrap();
}

#[tokio::test]
async fn a_client_outlives_its_connections() {
    let mut broker = support::broker(&[]);
    let client = client(&broker).with_retries(RetryPolicy::NONE);
    client.append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap();
    client.topic("t").await.unwrap();
    broker.kill();
    let gone = client.topic("t").await.unwrap_err();
    assert!(gone.is_retryable() && gone.to_string().contains("rawline serve"), "{gone}");
    broker.start_again();
    assert_eq!(client.topic("t").await.unwrap().next_offset, 1);
}

#[tokio::test]
async fn many_tasks_take_turns_on_their_connections() {
    const TASKS: usize = 32;
    let broker = support::broker(&[]);
    client(&broker).append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap();
    let (opened, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = ClientConfig::new(format!("http://{}", proxy.local_addr().unwrap()));
    config.connections_idle_max = 4;
    tokio::spawn({
        let (opened, open) = (opened.clone(), open.clone());
        async move {
            loop {
                let (mut near, _) = proxy.accept().await.unwrap();
                let mut far = tokio::net::TcpStream::connect(broker.address).await.unwrap();
                opened.fetch_add(1, Relaxed);
                open.fetch_add(1, Relaxed);
                let open = open.clone();
                tokio::spawn(async move {
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    open.fetch_sub(1, Relaxed);
                });
            }
        }
    });
    let client = Client::new(config).unwrap();
    let together = Arc::new(tokio::sync::Barrier::new(TASKS));
    let tasks = (0..TASKS).map(|_| {
        let (client, together) = (client.clone(), together.clone());
        tokio::spawn(async move {
            for _ in 0..20 {
                together.wait().await;
                assert_eq!(client.topic("t").await.unwrap().next_offset, 1);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // Some open twice where the machine stands still for a second.
    let opened = opened.load(Relaxed);
    assert!(opened <= 2 * TASKS, "{opened} connections for {TASKS} tasks");
    while open.load(Relaxed) > 4 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    client.topic("t").await.unwrap();
}

#[tokio::test]
async fn an_answer_that_skips_records_is_refused() {
    let body = batch(Codec::None, ["x".to_owned()]);
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut connection, _) = server.accept().unwrap();
        let mut request = [0; 4096];
        assert!(connection.read(&mut request).unwrap() > 0);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nrawline-first-offset: 5\r\nrawline-next-offset: 6\r\n\r\n",
            body.len()
        );
        connection.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    });
    let client = Client::new(ClientConfig::new(url)).unwrap().with_retries(RetryPolicy::NONE);
    let options = ReadOptions { offset: 3, ..ReadOptions::default() };
    let error = client.read("t", &options, Fetched::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::Answer { .. }), "{error}");
    assert!(error.to_string().contains("records 5..6 for offset 3"), "{error}");
    served.join().unwrap();
}

#[tokio::test]
async fn a_producer_may_linger_for_ever() {
    let broker = support::broker(&[]);
    let config = ProducerConfig { linger: Duration::MAX, ..ProducerConfig::default() };
    let producer = Producer::new(client(&broker), "t", config).unwrap();
    producer.send(b"x").await.unwrap();
    // The sending task sees the record while it lingers.
    tokio::time::sleep(Duration::from_millis(20)).await;
    producer.close().await.unwrap();
    assert_eq!(client(&broker).topic("t").await.unwrap().next_offset, 1);
}

#[tokio::test]
async fn a_producers_receipts_tell_the_offsets() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let want: Vec<Vec<u8>> = (0..5000).map(|number| format!("record {number}").into_bytes()).collect();
    for (i, codec) in [Codec::None, Codec::Lz4, Codec::Zstd].into_iter().enumerate() {
        let topic = format!("t{i}");
        // Small batches and a buffer of a few of them: full most of the time.
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
        // Nothing to do, and nothing is done.
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
    // One that no batch can hold harms only itself.
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
    for linger in [0, 5] {
        let config = ProducerConfig { linger: Duration::from_millis(linger), ..ProducerConfig::default() };
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
async fn a_dropped_producer_leaves_nobody_waiting() {
    let broker = support::broker(&[]);
    let config = ProducerConfig { linger: Duration::from_secs(3600), batch_bytes: 4, ..ProducerConfig::default() };
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
    let config = ProducerConfig { batch_bytes: 400, linger: Duration::ZERO, ..ProducerConfig::default() };
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
    // A batch whose answer was lost may be there twice, side by side: each record comes first after the one before it.
    let mut next = 0;
    for number in all {
        assert!(number <= next, "{number} came before {next}");
        next = next.max(number + 1);
    }
    assert_eq!(next, 20_000);
}

#[tokio::test]
async fn a_consumer_begins_and_ends_where_it_is_told() {
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
async fn a_consumer_that_was_not_waited_for_loses_nothing() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let missing = Consumer::new(client.clone(), "t", ConsumerConfig::default()).await.unwrap_err();
    assert_eq!((missing.code(), missing.kind()), (Some("topic_not_found"), Kind::FixRequest));
    client.set_payload("t", Payload::Bytes).await.unwrap();
    let mut consumer = Consumer::new(client.clone(), "t", ConsumerConfig::default()).await.unwrap();
    for number in 0..5u64 {
        // Given up while it waits, each time somewhere else.
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
