//! Several brokers on one bucket, as processes: they find each other, any of them takes appends, any of them may end.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)] // Tests.

#[path = "cluster/journals.rs"]
mod journals;
mod support;

use rawline_client::{
    BrokerInfo, BrokerState, Client, ClientConfig, Fetched, Producer, ProducerConfig, ReadOptions, RetryPolicy,
    Settings,
};
use rawline_testkit::process::Broker;
use rawline_testkit::s3_server::{Bucket, bucket};
use std::num::NonZeroU64;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use support::RAWLINE;

/// How long something may take that takes a moment on a machine with nothing else to do.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(bucket: &Bucket) -> Broker {
    start_with(bucket, &[])
}

fn start_with(bucket: &Bucket, more: &[&str]) -> Broker {
    let (storage, cache) = (format!("s3://{}/events", bucket.name), bucket.cache_dir());
    let flags = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap(), "--batch-wait", "5ms"];
    Broker::start_with(RAWLINE, &[&flags[..], more].concat(), bucket.variables())
}

fn client(broker: &Broker) -> Client {
    client_of(&[broker])
}

/// A client that uses any of these brokers, the first one as long as it can be reached.
fn client_of(brokers: &[&Broker]) -> Client {
    let urls: Vec<String> = brokers.iter().map(|broker| broker.url()).collect();
    let retries = RetryPolicy::lasting(PATIENCE);
    Client::new(ClientConfig { retries, ..ClientConfig::new(urls.join(",")) }).unwrap()
}

/// Looks again and again until there is something to see.
async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let looking = async {
        loop {
            match look().await {
                Some(found) => return found,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("{what} doesn't happen"))
}

fn live(brokers: &[BrokerInfo]) -> usize {
    brokers.iter().filter(|broker| broker.state == BrokerState::Live).count()
}

/// Waits until a broker sees so many live ones; returns the address of the owner.
async fn sees(broker: &Broker, count: usize) -> String {
    let client = client(broker);
    eventually(&format!("{} sees {count} brokers", broker.url()), || async {
        let brokers = client.brokers().await.unwrap();
        let owner = brokers.iter().find(|broker| broker.is_owner).and_then(|owner| owner.url.clone());
        owner.filter(|_| live(&brokers) == count)
    })
    .await
}

/// Starts brokers that know each other; the owner is the first.
async fn cluster(bucket: &Bucket, count: usize) -> Vec<Broker> {
    let mut brokers: Vec<Broker> = (0..count).map(|_| start(bucket)).collect();
    let mut owners = Vec::new();
    for broker in &brokers {
        owners.push(sees(broker, count).await);
    }
    assert!(owners.iter().all(|owner| *owner == owners[0]), "the brokers disagree: {owners:?}");
    let owner = brokers.iter().position(|broker| broker.url() == owners[0]).unwrap();
    brokers.swap(0, owner);
    brokers
}

async fn read_all(client: &Client, topic: &str, count: usize) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while records.len() < count {
        let (offset, wait) = (records.len() as u64, Duration::from_secs(30));
        let options = ReadOptions { offset, wait, ..ReadOptions::default() };
        let mut read = client.read(topic, &options, Fetched::default()).await.unwrap();
        assert!(read.records_count() > 0, "{offset} of {count} records at {client:?}");
        let mut found = read.records();
        while let Some(record) = found.next_record().unwrap() {
            records.push(record.bytes.to_vec());
        }
    }
    records
}

/// A producer that sends numbers until it is stopped.
struct Numbers {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<u64>,
}

impl Numbers {
    fn start(client: Client, topic: &'static str) -> Numbers {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (stop.clone(), acknowledged.clone());
        let task = tokio::spawn(async move {
            let config = ProducerConfig {
                exactly_once: true,
                batch_records_max: 10,
                linger: Some(Duration::ZERO),
                retries: RetryPolicy::lasting(PATIENCE),
                ..ProducerConfig::default()
            };
            let producer = Producer::new(client, topic, config).unwrap();
            let mut sent = 0;
            while !stopped.load(Ordering::Relaxed) {
                producer.send(sent.to_string()).await.unwrap();
                sent += 1;
                if sent % 10 == 0 {
                    producer.flush().await.unwrap();
                    counted.store(sent, Ordering::Relaxed);
                }
            }
            producer.close().await.unwrap();
            sent
        });
        Numbers { stop, acknowledged, task }
    }

    /// Waits until so many more are acknowledged.
    async fn more(&self, count: u64) {
        let before = self.acknowledged.load(Ordering::Relaxed);
        eventually(&format!("{count} more appends after {before}"), || async {
            (self.acknowledged.load(Ordering::Relaxed) >= before + count).then_some(())
        })
        .await;
    }

    /// All that were sent are there once, in order, at each of these brokers.
    async fn check(self, topic: &str, brokers: &[&Broker]) {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.task.await.unwrap();
        for broker in brokers {
            let found = read_all(&client(broker), topic, sent as usize).await;
            let expected: Vec<Vec<u8>> = (0..sent).map(|number| number.to_string().into_bytes()).collect();
            assert!(found == expected, "{} of {sent} numbers at {}, or in another order", found.len(), broker.url());
        }
    }
}

fn signal(broker: &Broker, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), broker.pid().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn any_broker_takes_appends_and_changes_and_every_broker_shows_them() {
    let bucket = bucket().await;
    let brokers = cluster(&bucket, 3).await;
    for broker in &brokers {
        let url = broker.url();
        client(broker).append_records("t", &[url.len() as u32], url.into()).await.unwrap();
    }
    let all: Vec<Vec<u8>> = brokers.iter().map(|broker| broker.url().into_bytes()).collect();
    for broker in &brokers {
        assert_eq!(read_all(&client(broker), "t", 3).await, all, "at {}", broker.url());
    }
    // What one changes, the next one shows at once.
    for (number, pair) in brokers.windows(2).enumerate() {
        let bytes = 1 << (20 + number);
        let settings = Settings { retain_bytes: Some(NonZeroU64::new(bytes)), ..Settings::default() };
        client(&pair[1]).set_topic("t", &settings).await.unwrap();
        assert_eq!(client(&pair[1]).topic("t").await.unwrap().retain_bytes, Some(bytes));
    }
    let rawline = |broker: &Broker, args: &[&str]| String::from_utf8(broker.run(args, b"").stdout).unwrap();
    let shown = rawline(&brokers[1], &["brokers"]);
    assert_eq!(shown.lines().count(), 4, "{shown}");
    assert!(brokers.iter().all(|broker| shown.contains(&broker.url())), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_killed_is_followed_by_another_and_every_record_is_there_once() {
    let bucket = bucket().await;
    let mut brokers = cluster(&bucket, 3).await;
    // It sends to the broker that will be killed.
    let numbers = Numbers::start(client_of(&brokers.iter().collect::<Vec<_>>()), "t");
    numbers.more(200).await;
    brokers[0].kill();
    numbers.more(200).await;
    let owner = sees(&brokers[1], 2).await;
    assert_eq!(sees(&brokers[2], 2).await, owner, "the two that are left agree");
    // It comes back as another broker, and reads what was stored meanwhile.
    brokers[0].start_again();
    sees(&brokers[0], 3).await;
    numbers.more(200).await;
    numbers.check("t", &brokers.iter().collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_was_paused_is_replaced_and_follows_when_it_goes_on() {
    let bucket = bucket().await;
    let brokers = cluster(&bucket, 2).await;
    let numbers = Numbers::start(client(&brokers[1]), "t");
    numbers.more(100).await;
    signal(&brokers[0], "STOP");
    assert_eq!(sees(&brokers[1], 1).await, brokers[1].url(), "the other one owns the journal");
    numbers.more(100).await;
    signal(&brokers[0], "CONT");
    assert_eq!(sees(&brokers[1], 2).await, brokers[0].url(), "it is the owner again");
    numbers.more(100).await;
    numbers.check("t", &[&brokers[0], &brokers[1]]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stops_hands_over_first_and_leaves_no_card() {
    let bucket = bucket().await;
    let mut brokers = cluster(&bucket, 2).await;
    let cards = || std::fs::read_dir(bucket.file("events/.brokers")).unwrap().count();
    assert_eq!(cards(), 2);
    let numbers = Numbers::start(client(&brokers[1]), "t");
    numbers.more(100).await;
    signal(&brokers[0], "TERM");
    assert!(brokers[0].wait().success());
    numbers.more(100).await;
    assert_eq!(sees(&brokers[1], 1).await, brokers[1].url());
    eventually("the card of the broker that stopped is gone", || async { (cards() == 1).then_some(()) }).await;
    numbers.check("t", &[&brokers[1]]).await;
}
