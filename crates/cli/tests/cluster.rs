//! Several brokers on one bucket, as processes: they find each other, any of them takes appends, any of them may end.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)] // Tests.

#[path = "cluster/addresses.rs"]
mod addresses;
#[path = "cluster/ends.rs"]
mod ends;
#[path = "cluster/journals.rs"]
mod journals;
mod support;
#[path = "cluster/zones.rs"]
mod zones;

use rawline_client::{
    BrokerInfo, BrokerState, Client, ClientConfig, ClientError, Delivered, Fetched, Producer, ProducerConfig,
    ReadOptions, RetryPolicy, Settings, Subscription, SubscriptionConfig,
};
use rawline_testkit::process::{Broker, serve_command};
use rawline_testkit::s3_server::{Bucket, bucket};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use support::RAWLINE;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How long something may take that takes a moment on a machine with nothing else to do.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(bucket: &Bucket) -> Broker {
    start_with(bucket, &[], bucket.variables())
}

fn start_with(bucket: &Bucket, flags: &[&str], variables: Vec<(String, String)>) -> Broker {
    let (storage, cache) = (format!("s3://{}/events", bucket.name), bucket.cache_dir());
    let place = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap(), "--batch-wait", "5ms"];
    Broker::start_with(RAWLINE, &[&place, flags].concat(), variables)
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

/// Waits until a broker sees this many live ones; returns the address of the owner.
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

    /// Waits until this many more are acknowledged.
    async fn more(&self, count: u64) {
        let before = self.acknowledged.load(Ordering::Relaxed);
        eventually(&format!("{count} more appends after {before}"), || async {
            (self.acknowledged.load(Ordering::Relaxed) >= before + count).then_some(())
        })
        .await;
    }

    /// Each of these brokers returns all sent records, in order and without duplicates.
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
    // A change at one broker is visible at the next one at once.
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

/// Number of appends that a broker has taken, those included that it has forwarded.
async fn appends(broker: &Broker) -> u64 {
    let mut connection = tokio::net::TcpStream::connect(broker.address).await.unwrap();
    connection.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).await.unwrap();
    let line = text.lines().find(|line| {
        line.starts_with("rawline_http_requests_total") && line.contains("\"append\"") && line.contains("\"2xx\"")
    });
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_go_to_the_owner_once_a_response_has_named_it() {
    let bucket = bucket().await;
    let brokers = cluster(&bucket, 2).await;
    let client = client(&brokers[1]);
    for bytes in [1, 100_000, 1, 100_000] {
        client.append_records("t", &[bytes], vec![b'x'; bytes as usize].into()).await.unwrap();
    }
    assert_eq!((appends(&brokers[0]).await, appends(&brokers[1]).await), (4, 1), "the first one was forwarded");
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
    // It restarts as another broker, and reads the records stored meanwhile.
    brokers[0].start_again();
    sees(&brokers[0], 3).await;
    numbers.more(200).await;
    numbers.check("t", &brokers.iter().collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_was_paused_is_replaced_and_follows_when_it_continues() {
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

/// A broker that is paused keeps its connections: without a look at whether it lives, requests there would wait for
/// their timeout.
#[tokio::test(flavor = "multi_thread")]
async fn appends_to_an_owner_that_is_paused_continue_elsewhere_and_every_record_is_there_once() {
    let bucket = bucket().await;
    let brokers = cluster(&bucket, 3).await;
    let patient = |brokers: &[&Broker]| {
        let given = client_of(brokers).config().clone();
        Client::new(ClientConfig { request_timeout: 10 * PATIENCE, ..given }).unwrap()
    };
    // One uses the owner as one of several that it was given, the other one as the one that a response has named.
    let given = Numbers::start(patient(&brokers.iter().collect::<Vec<_>>()), "t");
    let named = Numbers::start(patient(&[&brokers[1]]), "u");
    given.more(100).await;
    named.more(100).await;
    signal(&brokers[0], "STOP");
    given.more(100).await;
    named.more(100).await;
    // Requests in flight there may take effect now.
    signal(&brokers[0], "CONT");
    sees(&brokers[1], 3).await;
    given.more(100).await;
    named.more(100).await;
    given.check("t", &brokers.iter().collect::<Vec<_>>()).await;
    named.check("u", &brokers.iter().collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_at_a_broker_that_is_paused_continues_elsewhere() {
    let bucket = bucket().await;
    let brokers = cluster(&bucket, 2).await;
    client(&brokers[1]).create_topic("t", &Settings::default()).await.unwrap();
    let client = client_of(&[&brokers[0], &brokers[1]]);
    let mut subscription = Subscription::new(client, SubscriptionConfig::new("t")).await.unwrap();
    let numbers = Numbers::start(self::client(&brokers[1]), "t");
    let mut received = 0;
    let mut receive_until = async |until: u64| {
        while received < until {
            let Delivered::Records(delivered) = subscription.next().await.unwrap() else { panic!("no records") };
            let mut records = delivered.records();
            while let Some(record) = records.next_record().unwrap() {
                assert_eq!(String::from_utf8_lossy(record.bytes), received.to_string());
                received += 1;
            }
        }
    };
    receive_until(100).await;
    signal(&brokers[0], "STOP");
    // It may have sent the acknowledged batches, and one more.
    let sent = numbers.acknowledged.load(Ordering::Relaxed);
    numbers.more(100).await;
    tokio::time::timeout(PATIENCE, receive_until(sent + 100)).await.unwrap();
    signal(&brokers[0], "CONT");
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

/// The keys of the bucket but for cards, and their bytes.
fn stored(bucket: &Bucket) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![bucket.file("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".brokers") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                files.insert(path, bytes);
            }
        }
    }
    files
}

/// Expects that an append is refused, since no broker is running that can store it.
async fn expect_read_only(broker: &Broker) {
    let client = Client::new(ClientConfig { retries: RetryPolicy::NONE, ..ClientConfig::new(broker.url()) }).unwrap();
    let settings = Settings::default();
    for error in [
        client.append_records("t", &[1], vec![7].into()).await.unwrap_err(),
        client.set_topic("t", &settings).await.unwrap_err(),
        client.groups().await.unwrap_err(),
    ] {
        let ClientError::Refused { status, code, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*status, code.as_str()), (503, "read_only"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_broker_follows_and_forwards_and_never_stores_anything() {
    let bucket = bucket().await;
    let mut writer = start(&bucket);
    let follower = start_with(&bucket, &["--read-only"], bucket.variables());
    assert_eq!(sees(&follower, 2).await, writer.url());
    assert_eq!(sees(&writer, 2).await, writer.url());
    for number in 0_u8..10 {
        client(&follower).append_records("t", &[1], vec![number].into()).await.unwrap();
    }
    let all: Vec<Vec<u8>> = (0_u8..10).map(|number| vec![number]).collect();
    assert_eq!(read_all(&client(&follower), "t", 10).await, all);
    let shown = follower.run(&["brokers"], b"").stdout;
    assert!(String::from_utf8(shown).unwrap().contains("never"));

    writer.kill();
    let before = stored(&bucket);
    expect_read_only(&follower).await;
    assert_eq!(read_all(&client(&follower), "t", 10).await, all, "reads continue");
    assert_eq!(stored(&bucket), before);
    writer.start_again();
    assert_eq!(sees(&follower, 2).await, writer.url());
    client(&follower).append_records("t", &[1], vec![10].into()).await.unwrap();
    assert_eq!(read_all(&client(&writer), "t", 11).await.len(), 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_broker_needs_no_credentials_that_can_write() {
    let bucket = bucket().await;
    let writer = start(&bucket);
    client(&writer).append_records("t", &[1], vec![7].into()).await.unwrap();
    let (address, proxy) = refusing_writes(bucket.address).await;
    let variables = bucket.variables().into_iter().map(|(name, value)| match name.as_str() {
        "AWS_ENDPOINT_URL" => (name, format!("http://{address}")),
        _ => (name, value),
    });
    // Other brokers can't reach it. It reaches only the bucket and, for appends, the owner.
    let follower = start_with(&bucket, &["--read-only"], variables.collect());
    assert!(follower.printed.contains("this broker's card can't be stored"), "{}", follower.printed);
    assert_eq!(read_all(&client(&follower), "t", 1).await, [vec![7]]);
    client(&follower).append_records("t", &[1], vec![8].into()).await.unwrap();
    assert_eq!(read_all(&client(&follower), "t", 2).await, [vec![7], vec![8]]);
    assert_eq!(std::fs::read_dir(bucket.file("events/.brokers")).unwrap().count(), 1);
    // A program that stores no card can't prove that it is a broker: the others don't know it.
    sees(&writer, 1).await;
    sees(&follower, 2).await;
    drop(proxy);
}

/// A proxy before the S3 server that lets reads through, and answers all else as the server does without permission.
async fn refusing_writes(server: SocketAddr) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let proxy = tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            tokio::spawn(relay(client, server));
        }
    });
    (address, proxy)
}

/// One connection, for one request.
async fn relay(mut client: TcpStream, server: SocketAddr) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let (request, headers) = head.split_once("\r\n").unwrap();
    if request.starts_with("GET ") || request.starts_with("HEAD ") {
        let mut server = TcpStream::connect(server).await.unwrap();
        let head = format!("{request}\r\nconnection: close\r\n{headers}");
        server.write_all(head.as_bytes()).await.unwrap();
        let _ = tokio::io::copy(&mut server, &mut client).await;
        return;
    }
    let body = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
    let response = format!(
        "HTTP/1.1 403 Forbidden\r\ncontent-type: application/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n\
         {body}",
        body.len()
    );
    let _ = client.write_all(response.as_bytes()).await;
    // Closed with unread bytes, it would be reset before the response is read.
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(Duration::from_millis(200), client.read_to_end(&mut rest)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_broker_needs_a_storage_that_others_write_to() {
    let bucket = bucket().await;
    let refused = |flags: &[&str]| {
        let mut command = serve_command(RAWLINE, flags);
        let output = command.envs(bucket.variables()).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let directory = tempfile::tempdir().unwrap();
    let printed = refused(&["--read-only", "--listen", "127.0.0.1:0", "--storage", directory.path().to_str().unwrap()]);
    assert!(printed.contains("--read-only is for a bucket") && printed.contains("a directory"), "{printed}");
    let (storage, cache) = (format!("s3://{}/nothing", bucket.name), bucket.cache_dir());
    let place = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let printed = refused(&[&["--read-only"], &place[..]].concat());
    assert!(printed.contains("start one that isn't read-only first"), "{printed}");
    assert_eq!(stored(&bucket), BTreeMap::new());
}
