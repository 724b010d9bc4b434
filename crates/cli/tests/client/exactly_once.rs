//! A producer's records are stored once on a bucket, whatever dies between the client and the bucket.

use crate::{client, read_all, read_partition, support};
use rawline_batch::{Builder, Codec, Limits};
use rawline_client::{
    Client, ClientConfig, ClientError, Message, Partitions, Producer, ProducerConfig, Settings, partition_of_key,
};
use rawline_testkit::process::Broker;
use rawline_testkit::s3_server;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const RECORDS: u64 = 3_000;

/// Forwards clients' bytes, and closes the connection instead of every third response. Returns its address, and
/// counts the cuts.
async fn cutting_proxy(broker: SocketAddr) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let cuts = Arc::new(AtomicU64::new(0));
    let counted = cuts.clone();
    tokio::spawn(async move {
        let mut responses = 0u64;
        let (told, mut tell) = tokio::sync::mpsc::unbounded_channel::<tokio::sync::oneshot::Sender<bool>>();
        tokio::spawn(async move {
            while let Some(ask) = tell.recv().await {
                responses += 1;
                let is_cut = responses.is_multiple_of(3);
                counted.fetch_add(u64::from(is_cut), Ordering::SeqCst);
                let _ = ask.send(is_cut);
            }
        });
        loop {
            let (near, _) = listener.accept().await.unwrap();
            tokio::spawn(pass_on(near, broker, told.clone()));
        }
    });
    (address, cuts)
}

async fn pass_on(
    near: TcpStream,
    broker: SocketAddr,
    is_cut: tokio::sync::mpsc::UnboundedSender<tokio::sync::oneshot::Sender<bool>>,
) {
    // The broker may be down.
    let Ok(far) = TcpStream::connect(broker).await else { return };
    let ((mut near_in, mut near_out), (mut far_in, mut far_out)) = (near.into_split(), far.into_split());
    let sent = tokio::spawn(async move { tokio::io::copy(&mut near_in, &mut far_out).await });
    let mut response = vec![0; 64 << 10];
    // A response of the broker to an append arrives in one piece.
    while let Ok(bytes @ 1..) = far_in.read(&mut response).await {
        let (ask, answer) = tokio::sync::oneshot::channel();
        is_cut.send(ask).unwrap();
        if answer.await.unwrap() || near_out.write_all(&response[..bytes]).await.is_err() {
            break;
        }
    }
    sent.abort();
}

/// Every second hundred of the records is in Kafka's batches if one request is in flight at a time.
async fn produce(url: String, in_flight_max: usize, on_record: impl Fn(u64) + Send + 'static) {
    let config = ProducerConfig {
        batch_bytes: 200,
        request_bytes_max: 2_000,
        linger: Some(Duration::ZERO),
        in_flight_max,
        ..ProducerConfig::default()
    };
    let producer = Producer::new(Client::new(ClientConfig::new(url)).unwrap(), "t", config).unwrap();
    for number in 0..RECORDS {
        let record = number.to_string();
        if in_flight_max == 1 && number / 100 % 2 == 1 {
            let message = Message { key: Some(b"k"), value: Some(record.as_bytes()), ..Message::default() };
            drop(producer.send_message(message).await.unwrap());
        } else {
            drop(producer.send(record).await.unwrap());
        }
        on_record(number);
        if number % 100 == 0 {
            // Otherwise all that is left would be a few requests.
            producer.flush().await.unwrap();
        }
    }
    producer.close().await.unwrap();
}

async fn assert_once(broker: &Broker) {
    let all = read_all(&client(broker), "t", 0).await;
    let all: Vec<String> = all.into_iter().map(|record| String::from_utf8(record).unwrap()).collect();
    let expected: Vec<String> = (0..RECORDS).map(|number| number.to_string()).collect();
    assert!(all == expected, "{} records, the first other one at {:?}", all.len(), other(&all, &expected));
}

fn other(all: &[String], expected: &[String]) -> Option<(String, String)> {
    all.iter().zip(expected).find(|(one, other)| one != other).map(|(one, other)| (one.clone(), other.clone()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_responses_and_killed_brokers_duplicate_nothing() {
    let bucket = s3_server::bucket().await;
    let mut broker = support::broker_on(&bucket, &["--batch-wait", "1ms"]);
    let (proxy, cuts) = cutting_proxy(broker.address).await;
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let producing = tokio::spawn(produce(format!("http://{proxy}"), 1, move |number| {
        if [700, 1500, 2300].contains(&number) {
            told.send(()).unwrap();
        }
    }));
    while tell.recv().await.is_some() {
        broker.kill();
        broker.start_again();
    }
    producing.await.unwrap();
    assert!(cuts.load(Ordering::SeqCst) > 5, "{cuts:?} responses were lost");
    assert_once(&broker).await;
}

/// Requests overtake each other on their connections; their sequences put them in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_requests_in_flight_are_stored_in_order() {
    let bucket = s3_server::bucket().await;
    let broker = support::broker_on(&bucket, &["--batch-wait", "1ms"]);
    produce(broker.url(), 4, |_| {}).await;
    assert_once(&broker).await;
}

/// Sequences are per partition: each has the records of its keys once, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_responses_of_several_partitions_duplicate_nothing() {
    const PARTITIONS: u32 = 3;
    let bucket = s3_server::bucket().await;
    let broker = support::broker_on(&bucket, &["--batch-wait", "1ms"]);
    let settings = Settings { partitions: Partitions::new(PARTITIONS), ..Settings::default() };
    client(&broker).create_topic("t", &settings).await.unwrap();
    let (proxy, cuts) = cutting_proxy(broker.address).await;
    let config = ProducerConfig { batch_bytes: 200, linger: Some(Duration::ZERO), ..ProducerConfig::default() };
    let far = Client::new(ClientConfig::new(format!("http://{proxy}"))).unwrap();
    let producer = Producer::new(far, "t", config).unwrap();
    let mut expected = vec![Vec::new(); PARTITIONS as usize];
    for number in 0..RECORDS / 3 {
        let (key, record) = (format!("{}", number % 11), format!("{number}"));
        drop(producer.send_with_key(&key, &record).await.unwrap());
        expected[partition_of_key(key.as_bytes(), PARTITIONS) as usize].push(record.into_bytes());
        if number % 50 == 0 {
            producer.flush().await.unwrap();
        }
    }
    producer.close().await.unwrap();
    assert!(cuts.load(Ordering::SeqCst) > 5, "{cuts:?} responses were lost");
    for (partition, expected) in (0..).zip(&expected) {
        let all = read_partition(&client(&broker), ("t", partition), 0).await;
        assert!(all == *expected, "partition {partition} has {} records of {}", all.len(), expected.len());
    }
}

/// A batch with numbers of its producer.
fn numbered(producer_id: u64, sequence: u64, records: u32) -> Vec<u8> {
    numbered_from(0, producer_id, sequence, records)
}

/// Another batch for each `first`.
fn numbered_from(first: u32, producer_id: u64, sequence: u64, records: u32) -> Vec<u8> {
    let mut builder = Builder::new(Codec::None, Limits::default());
    (first..first + records).for_each(|record| builder.push(&record.to_le_bytes()).unwrap());
    let mut bytes = Vec::new();
    builder.finish_into(1, producer_id, sequence, &mut bytes).unwrap();
    bytes
}

/// The response to a request.
async fn post(broker: SocketAddr, path: &str, body: Vec<u8>) -> String {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/vnd.rawline.batch\r\nconnection: \
         close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(broker).await.unwrap();
    stream.write_all(&[head.into_bytes(), body].concat()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[track_caller]
fn is(response: &str, status: &str, text: &str) {
    assert!(response.starts_with(&format!("HTTP/1.1 {status} ")) && response.contains(text), "{response}");
}

#[tokio::test]
async fn a_new_instance_of_a_named_producer_fences_the_older_ones_everywhere() {
    let bucket = s3_server::bucket().await;
    let mut broker = support::broker_on(&bucket, &["--batch-wait", "1ms"]);
    let settings = Settings { partitions: Partitions::new(2), ..Settings::default() };
    client(&broker).create_topic("t", &settings).await.unwrap();
    let address = broker.address;
    let open = |name: &str| {
        let path = format!("/producer?producer-name={name}");
        async move { post(address, &path, Vec::new()).await }
    };
    let append = |partition: u32, epoch: u64, body: Vec<u8>| {
        let path = format!("/records?topic-name=t&partition={partition}&producer-epoch={epoch}");
        async move { post(address, &path, body).await }
    };
    let opened = |epoch: u64, response: &str| -> u64 {
        is(response, "201", &format!(r#""producer_epoch":{epoch}}}"#));
        let (_, id) = response.split_once(r#""producer_id":"#).unwrap();
        id.split(',').next().unwrap().parse().unwrap()
    };
    let id = opened(0, &open("orders%201").await);
    let other = opened(0, &open("other").await);
    let ids = 1u64 << 52..1 << 53;
    assert!(ids.contains(&id) && ids.contains(&other) && id.abs_diff(other) > 1_000, "{id} and {other}");
    is(&append(0, 0, numbered(id, 0, 1)).await, "201", r#""first_offset":0"#);
    is(&append(1, 0, numbered(id, 0, 1)).await, "201", r#""first_offset":0"#);
    is(&append(1, 1, numbered(id, 0, 1)).await, "409", "producer_fenced");
    assert_eq!(opened(1, &open("orders%201").await), id);
    // The new instance has not appended yet.
    is(&append(0, 0, numbered(id, 1, 1)).await, "409", "producer_fenced");
    is(&append(1, 0, numbered(id, 0, 1)).await, "409", "producer_fenced");
    broker.kill();
    broker.start_again();
    is(&append(1, 0, numbered(id, 1, 1)).await, "409", "producer_fenced");
    is(&append(0, 1, numbered(id, 0, 1)).await, "201", r#""first_offset":1"#);
    is(&append(1, 0, numbered(other, 0, 1)).await, "201", r#""first_offset":1"#);
    assert_eq!(opened(2, &open("orders%201").await), id);
    // An id can't be guessed, and a producer that chooses its id must not choose this one.
    is(&append(1, 0, numbered(id ^ 1, 0, 1)).await, "409", "producer_fenced");
    is(&open("").await, "400", "producer_name");
    is(&open(&"x".repeat(201)).await, "400", "producer_name");
}

/// Appends that the first instance had in flight are stored before the second one's first record, or never.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_takes_over_from_an_earlier_instance_of_its_name() {
    let bucket = s3_server::bucket().await;
    let broker = support::broker_on(&bucket, &["--batch-wait", "1ms"]);
    let settings = Settings { partitions: Partitions::new(2), ..Settings::default() };
    client(&broker).create_topic("t", &settings).await.unwrap();
    let start = || {
        let config = ProducerConfig {
            batch_records_max: 3,
            buffer_bytes: 1_000,
            request_bytes_max: 100,
            linger: Some(Duration::ZERO),
            in_flight_max: 4,
            name: Some("orders 1".to_owned()),
            ..ProducerConfig::default()
        };
        Producer::new(client(&broker), "t", config).unwrap()
    };
    let first = start();
    first.ready().await.unwrap();
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let sending = tokio::spawn(async move {
        for number in 0u32.. {
            let sent = first.send_to(number % 2, format!("first {}", number / 2)).await;
            if let Err(error) = sent {
                return (error, first.flush().await);
            }
            if number == 100 {
                told.send(()).unwrap();
            }
        }
        unreachable!("all numbers were sent");
    });
    assert!(tell.recv().await.is_some(), "{:?}", sending.await);
    let second = start();
    second.ready().await.unwrap();
    for number in 0..100 {
        drop(second.send_to(number % 2, format!("second {}", number / 2)).await.unwrap());
    }
    second.close().await.unwrap();
    let (error, flushed) = sending.await.unwrap();
    for error in [error, flushed.unwrap_err()] {
        assert!(matches!(error, ClientError::Fenced { .. }), "{error}");
        assert_eq!((error.code(), error.status(), error.is_retryable()), (Some("producer_fenced"), Some(409), false));
    }
    for partition in 0..2 {
        let all = read_partition(&client(&broker), ("t", partition), 0).await;
        let before = all.len() - 50;
        let first = (0..before).map(|number| format!("first {number}"));
        let expected: Vec<String> = first.chain((0..50).map(|number| format!("second {number}"))).collect();
        let all: Vec<String> = all.into_iter().map(|record| String::from_utf8(record).unwrap()).collect();
        assert!(all == expected, "partition {partition}: {:?}", other(&all, &expected));
    }
}

#[tokio::test]
async fn a_named_producer_has_a_name_and_is_exactly_once() {
    let broker = support::broker(&["--storage", "memory:"]);
    let named = |name: &str, exactly_once| {
        let config = ProducerConfig { name: Some(name.to_owned()), exactly_once, ..ProducerConfig::default() };
        Producer::new(client(&broker), "t", config)
    };
    assert_eq!(named("", true).unwrap().ready().await.unwrap_err().code(), Some("producer_name"));
    assert!(matches!(named("p", false), Err(ClientError::Config { .. })));
    let producer = named("p", true).unwrap();
    producer.ready().await.unwrap();
    producer.send("x").await.unwrap();
    producer.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rawline_produce_fences_an_earlier_one_with_its_name() {
    let bucket = s3_server::bucket().await;
    let broker = support::broker_on(&bucket, &["--batch-wait", "1ms"]);
    let config = ProducerConfig { name: Some("p".to_owned()), ..ProducerConfig::default() };
    let earlier = Producer::new(client(&broker), "t", config).unwrap();
    earlier.ready().await.unwrap();
    broker.run(&["produce", "t", "--producer-name", "p"], b"a\nb\n");
    let receipt = earlier.send("late").await.unwrap();
    assert!(matches!(receipt.offset().await, Err(ClientError::Fenced { .. })));
    assert_eq!(read_all(&client(&broker), "t", 0).await, [b"a", b"b"]);
}

#[tokio::test]
async fn an_append_that_breaks_the_order_is_refused() {
    let bucket = s3_server::bucket().await;
    let broker = support::broker_on(&bucket, &["--batch-wait", "1ms"]);
    let append = |epoch: u64, body: Vec<u8>| {
        let path = format!("/records?topic-name=t&producer-epoch={epoch}");
        async move { post(broker.address, &path, body).await }
    };
    let first = r#"{"first_offset":0,"next_offset":3}"#;
    is(&append(0, numbered(9, 0, 3)).await, "201", first);
    is(&append(0, numbered(9, 0, 3)).await, "201", first);
    is(&append(0, numbered(9, 0, 2)).await, "409", "sequence_conflict");
    is(&append(0, numbered(9, 2, 2)).await, "409", "sequence_conflict");
    is(&append(0, numbered_from(1, 9, 0, 3)).await, "409", "sequence_conflict");
    is(&append(0, numbered(9, 5, 1)).await, "408", "sequence_gap");
    is(&append(0, [numbered(9, 3, 2), numbered(9, 5, 1)].concat()).await, "201", r#""first_offset":3"#);
    is(&append(1, numbered(9, 0, 1)).await, "201", r#""first_offset":6"#);
    is(&append(0, numbered(9, 6, 1)).await, "409", "producer_fenced");
    is(&append(0, numbered(0, 6, 1)).await, "400", "producer_invalid");
    is(&append(0, [numbered(9, 3, 2), numbered(9, 6, 1)].concat()).await, "400", "producer_invalid");
    is(&append(0, [numbered(9, 3, 2), numbered(8, 5, 1)].concat()).await, "400", "producer_invalid");
    is(&append(0, numbered(9, u64::MAX, 1)).await, "400", "producer_invalid");
    is(&append(70_000, numbered(9, 7, 1)).await, "400", "query_number");
}
