//! Small appends that are in flight together share a connection to a real broker.

use crate::proxy::Proxy;
use crate::{client, read_all, read_partition, support};
use bytes::Bytes;
use rawline_client::{Appended, Client, ClientConfig, ClientError, Partitions, Producer, ProducerConfig, Settings};
use rawline_server::http::HttpConfig;
use rawline_testkit::faulty::{Faulty, OnCreate, has_records};
use rawline_testkit::process::Broker;
use rawline_testkit::served::{PATIENT, Served};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinSet;

/// A broker that acknowledges before a sync: a slow disk would make clients open more connections.
fn broker() -> Broker {
    Broker::start(support::RAWLINE, &["--durability", "page-cache"])
}

fn through(proxy: &Proxy) -> Client {
    Client::new(ClientConfig::new(proxy.url())).unwrap()
}

async fn append(client: Client, partition: u32, record: String) -> Result<Appended, ClientError> {
    let sizes = [u32::try_from(record.len()).unwrap()];
    client.append_records(("t", partition), &sizes, Bytes::from(record)).await
}

type Appending = Pin<Box<dyn Future<Output = Result<Appended, ClientError>> + Send>>;

/// Appends of records with these numbers, each polled once: they are queued in this order.
fn begin(client: &Client, places: impl IntoIterator<Item = (u32, String)>) -> Vec<Appending> {
    let mut context = Context::from_waker(Waker::noop());
    let begun = places.into_iter().map(|(partition, record)| {
        let mut appending: Appending = Box::pin(append(client.clone(), partition, record));
        assert!(appending.as_mut().poll(&mut context).is_pending());
        appending
    });
    begun.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_of_many_tasks_share_few_connections() {
    const TASKS: usize = 64;
    const EACH: usize = 50;
    let broker = broker();
    let proxy = Proxy::start(broker.address).await;
    let client = through(&proxy);
    let tasks = (0..TASKS).map(|task| {
        let client = client.clone();
        tokio::spawn(async move {
            let mut stored = Vec::new();
            for number in 0..EACH {
                let record = format!("{task}/{number} {}", "x".repeat(number * 10));
                stored.push((append(client.clone(), 0, record.clone()).await.unwrap(), record));
            }
            stored
        })
    });
    let mut stored = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        stored.extend(task.await.unwrap());
    }
    stored.sort_by_key(|(appended, _)| appended.first_offset);
    let all = read_all(&crate::client(&broker), "t", 0).await;
    assert_eq!((all.len(), stored.len()), (TASKS * EACH, TASKS * EACH));
    for ((offset, record), (appended, sent)) in (0..).zip(all).zip(stored) {
        assert_eq!(appended, Appended { first_offset: offset, next_offset: offset + 1 });
        assert_eq!(String::from_utf8(record).unwrap(), sent, "at {offset}");
    }
    // One or two, unless the machine pauses.
    assert!(proxy.opened() <= TASKS / 4, "{} connections for {TASKS} tasks", proxy.opened());
}

#[tokio::test]
async fn an_error_is_the_result_of_its_append_only() {
    let broker = broker();
    let proxy = Proxy::start(broker.address).await;
    let client = through(&proxy);
    let is_refused = |number: u32| number % 3 == 1;
    let places = (0..30).map(|number| (if is_refused(number) { 7 } else { 0 }, number.to_string()));
    let mut stored = Vec::new();
    for (number, appending) in (0..).zip(begin(&client, places)) {
        match appending.await {
            Ok(appended) => stored.push((appended.first_offset, number.to_string())),
            Err(error) => assert!(is_refused(number) && error.code() == Some("partition_not_found"), "{error}"),
        }
    }
    // In the order of the calls.
    assert_eq!(stored.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    let all = read_all(&crate::client(&broker), "t", 0).await;
    assert!(all.iter().eq(stored.iter().map(|(_, record)| record.as_bytes())), "{all:?}");
    assert_eq!(proxy.opened(), 1);
}

#[tokio::test]
async fn callers_that_give_up_do_not_disturb_the_others() {
    let broker = broker();
    let proxy = Proxy::start(broker.address).await;
    let client = through(&proxy);
    append(client.clone(), 0, "first".to_owned()).await.unwrap();
    let all = begin(&client, (0..30).map(|number| (0, number.to_string())));
    let (given_up, waiting): (Vec<_>, Vec<_>) = (0..).zip(all).partition(|(number, _)| number % 3 == 0);
    drop(given_up);
    let mut offsets = Vec::new();
    for (number, appending) in waiting {
        let appended = appending.await.unwrap();
        let at = read_partition(&crate::client(&broker), ("t", 0), appended.first_offset).await;
        assert_eq!(at[0], number.to_string().into_bytes());
        offsets.push(appended.first_offset);
    }
    assert!(offsets.is_sorted(), "{offsets:?}");
    assert_eq!(append(client, 0, "next".to_owned()).await.unwrap().first_offset, 31);
    assert_eq!(proxy.opened(), 1);
}

/// A caller that gives up closes the connection if no other caller uses it.
#[tokio::test]
async fn a_caller_that_is_alone_takes_its_connection_along() {
    let broker = broker();
    let proxy = Proxy::start(broker.address).await;
    let client = through(&proxy);
    append(client.clone(), 0, "first".to_owned()).await.unwrap();
    drop(begin(&client, [(0, "second".to_owned())]));
    let appended = append(client, 0, "third".to_owned()).await.unwrap();
    assert!(appended.first_offset >= 1);
    assert_eq!(proxy.opened(), 2);
}

/// Results of appends that were in flight when the broker died: acknowledged ones are stored, at their offset.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_dies_leaves_no_append_without_a_result() {
    const TASKS: usize = 16;
    let mut broker = support::broker(&[]);
    let together = client(&broker);
    append(together.clone(), 0, "first".to_owned()).await.unwrap();
    let tasks = (0..TASKS).map(|task| {
        let client = together.clone();
        tokio::spawn(async move {
            let mut stored = vec![];
            for number in 0.. {
                let record = format!("{task}/{number}");
                match append(client.clone(), 0, record.clone()).await {
                    Ok(appended) => stored.push((appended.first_offset, record)),
                    Err(error) => return (stored, record, error),
                }
            }
            unreachable!()
        })
    });
    let tasks: Vec<_> = tasks.collect();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    broker.kill();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    broker.start_again();
    let all: Vec<_> =
        read_all(&client(&broker), "t", 0).await.into_iter().map(|it| String::from_utf8(it).unwrap()).collect();
    for (stored, record, error) in results {
        assert!(!stored.is_empty());
        for (offset, record) in stored {
            assert_eq!(all[usize::try_from(offset).unwrap()], record);
        }
        let times = all.iter().filter(|stored| **stored == record).count();
        match error {
            ClientError::Broken { .. } => assert!(times <= 1, "{record} is stored {times} times"),
            // It was not sent.
            ClientError::Connect { .. } => assert_eq!(times, 0, "{record}"),
            error => panic!("{error}"),
        }
    }
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "a record is stored twice");
}

/// Requests of a producer to one partition arrive in sequence, although several are in flight.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_a_producer_arrive_in_sequence() {
    const RECORDS: u32 = 2_000;
    let broker = broker();
    let proxy = Proxy::start(broker.address).await;
    let settings = Settings { partitions: Partitions::new(2), ..Settings::default() };
    client(&broker).create_topic("t", &settings).await.unwrap();
    let config =
        ProducerConfig { batch_records_max: 1, request_bytes_max: 1, in_flight_max: 4, ..ProducerConfig::default() };
    let producer = Arc::new(Producer::new(through(&proxy), "t", config).unwrap());
    for number in 0..RECORDS {
        drop(producer.send_to(number % 2, number.to_string()).await.unwrap());
    }
    producer.flush().await.unwrap();
    for partition in 0..2 {
        let all = read_partition(&client(&broker), ("t", partition), 0).await;
        let expected = (0..RECORDS).filter(|number| number % 2 == partition).map(|number| number.to_string());
        assert!(all.iter().cloned().eq(expected.map(String::into_bytes)), "{} records", all.len());
    }
    // A request that overtakes another one is refused and retried: that happens if the machine pauses.
    let metrics = client(&broker).metrics().await.unwrap();
    let refused = metrics.lines().filter(|line| line.starts_with("rawline_http_requests_total{verb=\"append\""));
    let refused = refused.filter(|line| !line.contains("status=\"2xx\""));
    let refused: u32 = refused.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u32>().unwrap()).sum();
    assert!(metrics.contains("rawline_http_requests_total{verb=\"append\",status=\"2xx\"}"), "{metrics}");
    assert!(refused < RECORDS / 20, "{refused} requests of {RECORDS} were refused");
    println!("{refused} refused, {} connections", proxy.opened());
}

/// A request that doesn't fit, and one for a topic whose name the broker would have to decode, go elsewhere.
#[tokio::test]
async fn large_appends_have_their_own_connections() {
    let broker = broker();
    let proxy = Proxy::start(broker.address).await;
    let client = through(&proxy);
    let large = "x".repeat(9_000);
    let places = (0..9).map(|number| (0, if number % 3 == 0 { large.clone() } else { number.to_string() }));
    let appending = begin(&client, places);
    let done = tokio::spawn(async move {
        let mut offsets = std::collections::BTreeSet::new();
        let mut waiting = appending;
        std::future::poll_fn(|context| {
            waiting.retain_mut(|appending| match appending.as_mut().poll(context) {
                Poll::Ready(appended) => {
                    offsets.insert(appended.unwrap().first_offset);
                    false
                }
                Poll::Pending => true,
            });
            if waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        offsets
    });
    assert_eq!(done.await.unwrap(), (0..9).collect());
    assert_eq!(proxy.opened(), 4);
}

/// All that tasks of a client append at the same time is in the next commits, not one buffer of requests per
/// connection and commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_do_not_wait_for_commits_of_earlier_ones() {
    const TASKS: u32 = 256;
    let mut store = Faulty::new();
    let commits = Arc::new(AtomicUsize::new(0));
    let begun = commits.clone();
    store.on_create = Box::new(move |index| {
        if !has_records(index) {
            return OnCreate::Pass;
        }
        begun.fetch_add(1, Ordering::Relaxed);
        OnCreate::Hold
    });
    let store = store.shared();
    let config = HttpConfig { waits: PATIENT, ..HttpConfig::default() };
    let server = Served::on(store.storage(), config, 64 << 20).await;
    let client = Client::new(ClientConfig::new(server.url())).unwrap();
    for number in 0..TASKS {
        client.create_topic(&format!("topic-{number}"), &Settings::default()).await.unwrap();
    }
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let client = client.clone();
        tasks.spawn(async move {
            let record = Bytes::from(vec![b'r'; 1024]);
            client.append_records((&*format!("topic-{number}"), 0), &[1024], record).await
        });
    }
    // Longer than a request takes: all wait for the first commit.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(tasks.try_join_next().is_none(), "nothing is confirmed yet");
    store.0.released.send_replace(true);
    while let Some(appended) = tasks.join_next().await {
        assert_eq!(appended.unwrap().unwrap(), Appended { first_offset: 0, next_offset: 1 });
    }
    let commits = commits.load(Ordering::Relaxed);
    assert!(commits <= 4, "{commits} commits for {TASKS} appends at once");
}
