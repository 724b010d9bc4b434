//! Three brokers on a storage with three journals: each owns one, any of them takes every append, and when one is
//! killed its journal moves and no other.

use super::{Numbers, client, client_of, eventually, live, read_all, start_with};
use rawline_client::{BrokerInfo, CommitOffset, GroupConfig, GroupConsumer, Start};
use rawline_testkit::process::Broker;
use rawline_testkit::s3_server::{Bucket, bucket};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Names of topics in the journals 0, 1 and 2.
const TOPICS: [&str; 3] = ["b", "a", "c"];

/// The owners of the journals, by address, once this broker sees this many live ones that own all journals, each its
/// share.
async fn owners(broker: &Broker, count: usize) -> BTreeMap<u32, String> {
    let client = client(broker);
    eventually(&format!("{} sees owners", broker.url()), || async {
        let brokers = client.brokers().await.unwrap();
        let owned = |broker: &BrokerInfo| {
            broker.journals.len() == 3 / count || broker.journals.len() == 3_usize.div_ceil(count)
        };
        let is_shared = brokers.iter().filter(|broker| broker.state == rawline_client::BrokerState::Live).all(owned);
        let of = |broker: &BrokerInfo| {
            let url = broker.url.clone().unwrap();
            broker.journals.iter().map(|journal| (*journal, url.clone())).collect::<Vec<_>>()
        };
        let owners: BTreeMap<u32, String> = brokers.iter().flat_map(of).collect();
        (live(&brokers) == count && is_shared && owners.len() == 3).then_some(owners)
    })
    .await
}

/// The owners, once all of these brokers agree.
async fn agreed(brokers: &[&Broker]) -> BTreeMap<u32, String> {
    eventually("the brokers agree on the owners", || async {
        let mut seen = BTreeSet::new();
        for broker in brokers {
            seen.insert(owners(broker, brokers.len()).await);
        }
        if seen.len() == 1 { seen.pop_first() } else { None }
    })
    .await
}

fn three(bucket: &Bucket) -> Vec<Broker> {
    (0..3).map(|_| start_with(bucket, &["--journals", "3", "--kafka", "127.0.0.1:0"], bucket.variables())).collect()
}

fn all(brokers: &[Broker]) -> Vec<&Broker> {
    brokers.iter().collect()
}

/// The port for Kafka's clients.
pub(crate) fn kafka(broker: &Broker) -> String {
    let line = broker.printed.lines().find_map(|line| line.split_once("listening for Kafka's clients on "));
    line.unwrap().1.to_owned()
}

/// A request of Kafka's for metadata of these topics, of version 1: the ports of the topics' leaders, in this order.
fn leaders(broker: &Broker, topics: &[&str]) -> Vec<u32> {
    let mut request = [&[0, 3, 0, 1][..], &7_u32.to_be_bytes(), &[0xFF, 0xFF]].concat();
    request.extend((topics.len() as u32).to_be_bytes());
    for topic in topics {
        request.extend((topic.len() as u16).to_be_bytes());
        request.extend(topic.as_bytes());
    }
    let mut stream = TcpStream::connect(kafka(broker)).unwrap();
    stream.write_all(&(request.len() as u32).to_be_bytes()).unwrap();
    stream.write_all(&request).unwrap();
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).unwrap();
    let mut response = vec![0; u32::from_be_bytes(bytes) as usize];
    stream.read_exact(&mut response).unwrap();
    let mut rest = &response[4..];
    let mut ports = BTreeMap::new();
    for _ in 0..number(&mut rest) {
        let id = number(&mut rest);
        text(&mut rest);
        ports.insert(id, number(&mut rest));
        text(&mut rest);
    }
    number(&mut rest);
    let mut leaders = BTreeMap::new();
    for _ in 0..number(&mut rest) {
        take(&mut rest, 2);
        let topic = text(&mut rest);
        take(&mut rest, 1);
        for _ in 0..number(&mut rest) {
            take(&mut rest, 6);
            leaders.insert(topic.clone(), ports[&number(&mut rest)]);
            for _ in 0..2 {
                let count = number(&mut rest) as usize;
                take(&mut rest, 4 * count);
            }
        }
    }
    topics.iter().map(|topic| leaders[*topic]).collect()
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, after) = rest.split_at(count);
    *rest = after;
    taken
}

fn number(rest: &mut &[u8]) -> u32 {
    u32::from_be_bytes(take(rest, 4).try_into().unwrap())
}

/// A text that may be null.
fn text(rest: &mut &[u8]) -> String {
    let length = u16::from_be_bytes(take(rest, 2).try_into().unwrap());
    let bytes = if length == u16::MAX { &[][..] } else { take(rest, length.into()) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_three_brokers_owns_a_journal_and_any_takes_every_append() {
    let bucket = bucket().await;
    let brokers = three(&bucket);
    let owners = agreed(&all(&brokers)).await;
    assert_eq!(owners.values().collect::<BTreeSet<_>>().len(), 3, "{owners:?}");
    for (broker, topic) in brokers.iter().flat_map(|broker| TOPICS.map(|topic| (broker, topic))) {
        let url = broker.url();
        client(broker).append_records(topic, &[url.len() as u32], url.into()).await.unwrap();
    }
    let expected: Vec<Vec<u8>> = brokers.iter().map(|broker| broker.url().into_bytes()).collect();
    for broker in &brokers {
        for topic in TOPICS {
            assert_eq!(read_all(&client(broker), topic, 3).await, expected, "{topic} at {}", broker.url());
        }
        let topics = client(broker).topics().await.unwrap();
        assert_eq!(topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        // The owner of each topic's journal leads it.
        let ports: Vec<u32> = (0..3)
            .map(|journal| {
                let owner = brokers.iter().find(|broker| broker.url() == owners[&journal]).unwrap();
                kafka(owner).rsplit_once(':').unwrap().1.parse().unwrap()
            })
            .collect();
        assert_eq!(leaders(broker, &TOPICS), ports);
        let shown = String::from_utf8(broker.run(&["brokers"], b"").stdout).unwrap();
        let mut owned: Vec<&str> = shown.lines().skip(1).filter_map(|line| line.split(" live ").nth(1)).collect();
        owned.iter_mut().for_each(|rest| *rest = rest.split_whitespace().next().unwrap());
        owned.sort_unstable();
        assert_eq!(owned, ["0", "1", "2"], "{shown}");
    }
    // Each group is coordinated by the owner of its journal, and every broker lists all.
    for group in ["g", "workers", "group"] {
        let offsets = TOPICS.map(|topic| CommitOffset {
            topic: topic.to_owned(),
            partition: 0,
            offset: 2,
            metadata: String::new(),
        });
        client(&brokers[0]).set_group_offsets(group, offsets.to_vec()).await.unwrap();
    }
    for broker in &brokers {
        let groups = client(broker).groups().await.unwrap();
        assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["g", "group", "workers"]);
        let lag: u64 = client(broker).group("workers").await.unwrap().offsets.iter().map(|of| of.lag).sum();
        assert_eq!(lag, 3);
    }
    let refused = client(&brokers[1]).open_producer("p").await.unwrap_err().to_string();
    assert!(refused.contains("need a storage with one journal, and this one has 3"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_of_a_broker_that_is_killed_moves_and_no_other() {
    let bucket = bucket().await;
    let mut brokers = three(&bucket);
    let before = agreed(&all(&brokers)).await;
    let mut numbers = Vec::new();
    for topic in TOPICS {
        numbers.push((topic, Numbers::start(client_of(&all(&brokers)), topic)));
    }
    let (group, topics) = ("g", TOPICS);
    let config = GroupConfig { start: Start::Earliest, ..GroupConfig::default() };
    let mut consumer = GroupConsumer::new(client_of(&all(&brokers)), group, topics, config);
    for (_, numbers) in &numbers {
        numbers.more(100).await;
    }
    let killed = brokers.iter().position(|broker| broker.url() == before[&1]).unwrap();
    brokers[killed].kill();
    for (_, numbers) in &numbers {
        numbers.more(100).await;
    }
    let left: Vec<&Broker> = brokers.iter().enumerate().filter(|(n, _)| *n != killed).map(|(_, left)| left).collect();
    let after = agreed(&left).await;
    assert_eq!((&after[&0], &after[&2]), (&before[&0], &before[&2]), "only the journal 1 has moved");

    // It restarts as another broker, and gets its share again.
    brokers[killed].start_again();
    let again = agreed(&all(&brokers)).await;
    assert_eq!(again.values().collect::<BTreeSet<_>>().len(), 3, "{again:?}");
    let moved = after.iter().filter(|(journal, owner)| again[journal] != **owner).count();
    // One, unless the check of another broker timed out at first, and it took over that one's journals.
    assert!((1..3).contains(&moved), "{after:?}, then {again:?}");
    for (_, numbers) in &numbers {
        numbers.more(100).await;
    }
    // A group gets all topics' records, independent of which brokers are running.
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let reading = async {
        while seen.len() < 3 {
            let read = consumer.next().await.unwrap();
            seen.insert(read.topic().to_owned());
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.unwrap();
    consumer.close().await.unwrap();
    for (topic, numbers) in numbers {
        numbers.check(topic, &all(&brokers)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_journals_is_the_storages() {
    let bucket = bucket().await;
    let broker = start_with(&bucket, &["--journals", "2"], bucket.variables());
    let storage = format!("s3://{}/events", bucket.name);
    let refused = |storage: &str, journals: &str| {
        let mut command = std::process::Command::new(super::RAWLINE);
        command.args(["serve", "--listen", "127.0.0.1:0", "--storage", storage, "--journals", journals]);
        command.arg("--cache-dir").arg(bucket.cache_dir()).envs(bucket.variables());
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let other = refused(&storage, "3");
    assert!(other.contains("created with 2 journals") && other.contains("--journals"), "{other}");
    assert!(refused("memory:", "2").contains("only a bucket can have several; omit --journals"));
    assert!(refused(&storage, "65").contains("--journals"));
    // Without --journals, a broker takes the storage's number.
    let second = start_with(&bucket, &[], bucket.variables());
    let client = client(&second);
    let owned = eventually("two brokers own two journals", || async {
        let brokers = client.brokers().await.unwrap();
        let owned: Vec<usize> = brokers.iter().map(|broker| broker.journals.len()).collect();
        (owned.len() == 2).then_some(owned).filter(|owned| *owned == [1, 1])
    });
    owned.await;
    drop(broker);
}
