//! Clients that name their zone read from a broker there, and from another one while none lives there.

use super::{PATIENCE, RAWLINE, client, eventually, read_all, sees, signal, start_with};
use rawline_client::{
    Client, ClientConfig, Consumer, ConsumerConfig, Delivered, Fetched, Partitions, ReadOptions, RetryPolicy, Settings,
    Subscription, SubscriptionConfig,
};
use rawline_testkit::process::{Broker, rawline, run};
use rawline_testkit::s3_server::{Bucket, bucket};
use std::time::Duration;

fn start(bucket: &Bucket, zone: &str) -> Broker {
    start_with(bucket, &["--zone", zone], bucket.variables())
}

/// Brokers in these zones that know each other.
async fn start_all<const N: usize>(bucket: &Bucket, zones: [&str; N]) -> [Broker; N] {
    let brokers = zones.map(|zone| start(bucket, zone));
    for broker in &brokers {
        sees(broker, N).await;
    }
    brokers
}

/// A client in this zone that is given one broker.
fn zoned(broker: &Broker, zone: &str) -> Client {
    let retries = RetryPolicy::lasting(PATIENCE);
    Client::new(ClientConfig { zone: Some(zone.to_owned()), retries, ..ClientConfig::new(broker.url()) }).unwrap()
}

/// The value of a metric.
async fn metric(client: &Client, name: &str) -> u64 {
    let text = client.metrics().await.unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// Bytes that a broker has received from clients and sent to them, in `same` zone, in `other` ones, and from `unknown`.
async fn crossed(broker: &Broker, zone: &str) -> [u64; 2] {
    let client = client(broker);
    let of =
        async |direction| metric(&client, &format!("rawline_zone_{direction}_bytes_total{{zone=\"{zone}\"}}")).await;
    [of("received").await, of("sent").await]
}

/// Number of records that a broker has returned.
async fn served(broker: &Broker) -> u64 {
    metric(&client(broker), "rawline_read_records_total{protocol=\"http\"}").await
}

async fn append(broker: &Broker, partition: u32, text: &str) {
    client(broker).append_records(("t", partition), &[text.len() as u32], text.to_owned().into()).await.unwrap();
}

/// The offset of the next record that a consumer returns.
async fn next(consumer: &mut Consumer) -> u64 {
    let fetched = consumer.next().await.unwrap().unwrap();
    assert_eq!(fetched.records_count(), 1);
    fetched.next_offset()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_reads_in_its_zone_and_elsewhere_while_no_broker_lives_there() {
    let bucket = bucket().await;
    let [home, mut near] = start_all(&bucket, ["a", "b"]).await;
    for number in 0..40 {
        append(&home, 0, &format!("record {number}")).await;
    }
    // Reads of one record each, of which the first says where the others go.
    let config = ConsumerConfig { bytes_max: 1, end_offset: Some(40), ..ConsumerConfig::default() };
    let mut consumer = Consumer::new(zoned(&home, "b"), "t", config).await.unwrap();
    for offset in 1..=10 {
        assert_eq!(next(&mut consumer).await, offset);
    }
    assert!(served(&home).await == 1 && served(&near).await >= 9);
    near.kill();
    for offset in 11..=20 {
        assert_eq!(next(&mut consumer).await, offset);
    }
    assert!(served(&home).await >= 8, "a read in flight at the broker that was killed is repeated");
    let again = start(&bucket, "b");
    sees(&home, 2).await;
    let before = served(&home).await;
    for offset in 21..=40 {
        assert_eq!(next(&mut consumer).await, offset);
    }
    assert!(served(&home).await <= before + 3 && served(&again).await >= 17, "it returns to its zone");
    assert!(consumer.next().await.unwrap().is_none());
    // A zone without a broker.
    let before = served(&home).await;
    let read = zoned(&home, "c").read("t", &ReadOptions::default(), Fetched::default()).await.unwrap();
    // One read takes what the broker finds at hand in time.
    assert!(read.records_count() > 0);
    assert_eq!(served(&home).await - before, read.records_count());
}

/// It keeps its connections.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_continues_elsewhere_when_the_broker_of_its_zone_is_paused() {
    let bucket = bucket().await;
    let [home, near] = start_all(&bucket, ["a", "b"]).await;
    for number in 0..20 {
        append(&home, 0, &format!("record {number}")).await;
    }
    let wait = Duration::from_millis(100);
    let config = ConsumerConfig { bytes_max: 1, wait, end_offset: Some(20), ..ConsumerConfig::default() };
    let mut consumer = Consumer::new(zoned(&home, "b"), "t", config).await.unwrap();
    for offset in 1..=10 {
        assert_eq!(next(&mut consumer).await, offset);
    }
    signal(&near, "STOP");
    for offset in 11..=20 {
        assert_eq!(next(&mut consumer).await, offset);
    }
    assert!(served(&home).await >= 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zones_brokers_share_the_partitions() {
    let bucket = bucket().await;
    let [home, one, other] = start_all(&bucket, ["a", "b", "b"]).await;
    let settings = Settings { partitions: Partitions::new(24), ..Settings::default() };
    client(&home).create_topic("t", &settings).await.unwrap();
    for partition in 0..24 {
        append(&home, partition, "record").await;
    }
    let read = async |client: &Client| {
        for partition in 0..24 {
            let options = ReadOptions::default();
            let read = client.read(("t", partition), &options, Fetched::default()).await.unwrap();
            assert_eq!(read.records_count(), 1);
        }
    };
    // Clients that were given different brokers, one of them in the zone, read each partition at the same one.
    let clients = [zoned(&home, "b"), zoned(&one, "b")];
    for client in &clients {
        read(client).await;
    }
    let counts = async || [served(&home).await, served(&one).await, served(&other).await];
    let before = counts().await;
    read(&clients[0]).await;
    let [at_home, at_one, at_other] = counts().await;
    let share = at_one - before[1];
    assert!(at_home == before[0] && (4..=20).contains(&share) && at_other - before[2] == 24 - share);
    read(&clients[1]).await;
    assert_eq!(counts().await, [at_home, at_one + share, at_other + 24 - share]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_is_served_in_its_zone_and_returns_to_it() {
    let bucket = bucket().await;
    let [home, mut near] = start_all(&bucket, ["a", "b"]).await;
    append(&home, 0, "record 0").await;
    for broker in [&home, &near] {
        read_all(&client(broker), "t", 1).await;
    }
    let mut subscription = Subscription::new(zoned(&home, "b"), SubscriptionConfig::new("t")).await.unwrap();
    let open = async |broker: &Broker| metric(&client(broker), "rawline_subscriptions").await;
    let receives = async |subscription: &mut Subscription, number: u64| {
        append(&home, 0, &format!("record {number}")).await;
        let Delivered::Records(fetched) = subscription.next().await.unwrap() else { panic!("no records") };
        assert_eq!((fetched.records_count(), fetched.next_offset()), (1, number + 1));
    };
    receives(&mut subscription, 1).await;
    assert_eq!(open(&near).await, 1);
    near.kill();
    receives(&mut subscription, 2).await;
    eventually("one is open", async || (open(&home).await == 1).then_some(())).await;
    let again = start(&bucket, "b");
    sees(&home, 2).await;
    receives(&mut subscription, 3).await;
    receives(&mut subscription, 4).await;
    assert_eq!(open(&again).await, 1);
    eventually("none is open", async || (open(&home).await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_only_read_a_topic_reads_it_in_its_zone() {
    let bucket = bucket().await;
    let keys = tempfile::NamedTempFile::new().unwrap();
    let path = keys.path().to_str().unwrap();
    let key = |args: &[&str]| {
        let mut command = rawline(RAWLINE, "", &[&["key", "add"], args].concat());
        command.env("RAWLINE_KEYS", path);
        String::from_utf8(run(command, b"").stdout).unwrap().trim().to_owned()
    };
    let (all, reader) = (key(&["me", "--all"]), key(&["reader", "--read", "t"]));
    let start = |zone| start_with(&bucket, &["--keys", path, "--zone", zone], bucket.variables());
    let (home, near) = (start("a"), start("b"));
    let rawline = |key: &str, args: &[&str], input: &[u8]| {
        let output = run(home.rawline(&[args, &["--api-key", key]].concat()), input);
        String::from_utf8(output.stdout).unwrap()
    };
    eventually("both live", async || (rawline(&all, &["brokers"], b"").matches(" live ").count() == 2).then_some(()))
        .await;
    rawline(&all, &["produce", "t"], b"one\ntwo\n");
    let consume = ["consume", "t", "--zone", "b", "--read-bytes", "1"];
    for _ in 0..2 {
        assert_eq!(rawline(&reader, &consume, b""), "one\ntwo\n");
    }
    let admin = ClientConfig { api_key: Some(all), ..ClientConfig::new(near.url()) };
    assert!(metric(&Client::new(admin).unwrap(), "rawline_read_records_total{protocol=\"http\"}").await > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_across_zones_are_counted_of_clients_and_brokers() {
    const BYTES: u64 = 3 << 20;
    let bucket = bucket().await;
    let brokers = start_all(&bucket, ["a", "b"]).await;
    let owner = sees(&brokers[0], 2).await;
    let (owner, other): (Vec<_>, Vec<_>) = brokers.iter().partition(|broker| broker.url() == owner);
    let (owner, other, zones) =
        (owner[0], other[0], if owner[0].url() == brokers[0].url() { ["a", "b"] } else { ["b", "a"] });
    let append = async |client: &Client, bytes: u64| {
        client.append_records("t", &[bytes as u32], vec![7; bytes as usize].into()).await.unwrap();
    };
    // Small appends and large ones, in the owner's zone and in the other one.
    append(&zoned(owner, zones[0]), 100).await;
    append(&zoned(owner, zones[0]), BYTES).await;
    let [received, _] = crossed(owner, "same").await;
    assert!((BYTES..BYTES + 4096).contains(&received), "{received}");
    let before = crossed(owner, "other").await;
    append(&zoned(owner, zones[1]), BYTES).await;
    let after = crossed(owner, "other").await;
    assert!(after[0] >= before[0] + BYTES && after[1] > before[1], "{before:?}, then {after:?}");
    // An append that the other broker forwards crosses zones between the two, of whatever client it is.
    let unknown = crossed(other, "unknown").await;
    append(&client(other), BYTES).await;
    assert!(crossed(other, "unknown").await[0] >= unknown[0] + BYTES);
    assert!(crossed(owner, "other").await[0] >= after[0] + BYTES);
    // Reads: the first crosses, the next ones don't.
    let (reader, before) = (zoned(owner, zones[1]), crossed(owner, "other").await);
    for _ in 0..3 {
        let options = ReadOptions { offset: 1, records_max: 1, ..ReadOptions::default() };
        reader.read("t", &options, Fetched::default()).await.unwrap();
    }
    let sent = crossed(owner, "other").await[1] - before[1];
    assert!((BYTES..2 * BYTES).contains(&sent), "{sent}");
    let sent = crossed(other, "same").await[1];
    assert!((2 * BYTES..3 * BYTES).contains(&sent), "{sent}");
    let cost = owner.run(&["cost", "--json", "--for", "1s"], b"");
    let cost: serde_json::Value = serde_json::from_slice(&cost.stdout).unwrap();
    assert!(cost["zone_bytes"]["unknown"].as_u64() > Some(0) && cost["zone_dollars_per_day"].is_number(), "{cost}");
}
