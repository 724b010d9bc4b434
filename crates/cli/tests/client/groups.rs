//! Members of a group share the partitions of topics, and commit how far they have come.

use crate::{client, support};
use rawline_client::{
    Client, ClientError, CommitOffset, GroupConfig, GroupConsumer, GroupState, Partitions, Settings, Start,
};
use std::collections::BTreeMap;
use std::time::Duration;
use support::broker;
use tokio::time::timeout;

const PARTITIONS: u32 = 4;
const LONG: Duration = Duration::from_secs(30);

/// The shortest session: a heartbeat every 0.6 s.
fn lively() -> GroupConfig {
    GroupConfig { session: Duration::from_secs(6), ..GroupConfig::default() }
}

/// Commits only explicitly.
fn manual() -> GroupConfig {
    GroupConfig { commit_interval: None, ..lively() }
}

fn consumer(client: &Client, config: GroupConfig) -> GroupConsumer {
    GroupConsumer::new(client.clone(), "g", ["t"], config)
}

async fn create(client: &Client, topic: &str) {
    let settings = Settings { partitions: Partitions::new(PARTITIONS), ..Settings::default() };
    client.create_topic(topic, &settings).await.unwrap();
}

async fn append(client: &Client, topic: &str, partition: u32, records: u64) {
    for _ in 0..records {
        client.append_records((topic, partition), &[1], "x".into()).await.unwrap();
    }
}

/// Offsets by partition.
type Read = BTreeMap<u32, Vec<u64>>;

/// Reads this many records.
async fn read(consumer: &mut GroupConsumer, count: usize, found: &mut Read) {
    let mut left = count;
    while left > 0 {
        let fetched = timeout(LONG, consumer.next()).await.unwrap().unwrap();
        assert_eq!(fetched.topic(), "t");
        let offsets = fetched.requested_offset()..fetched.next_offset();
        left = left.checked_sub(offsets.clone().count()).unwrap();
        found.entry(fetched.partition()).or_default().extend(offsets);
    }
}

/// Continues until there is nothing to read.
async fn idle(consumer: &mut GroupConsumer, time: Duration) {
    let read = timeout(time, consumer.next()).await;
    assert!(read.is_err(), "{read:?}");
}

/// Waits until the group has this many members, each with a share.
async fn shared_by(client: &Client, consumers: &mut [&mut GroupConsumer]) {
    let count = consumers.len();
    for _ in 0..100 {
        for consumer in consumers.iter_mut() {
            idle(consumer, Duration::from_millis(50)).await;
        }
        let group = client.group("g").await.unwrap();
        let shares = group.members.iter().map(|member| member.partitions.len() as u32);
        if group.state == GroupState::Stable && shares.eq(vec![PARTITIONS / count as u32; count]) {
            return;
        }
    }
    unreachable!("{:?}", client.group("g").await);
}

async fn committed(client: &Client) -> Vec<(u32, u64, u64)> {
    let offsets = client.group("g").await.unwrap().offsets;
    offsets.into_iter().map(|offset| (offset.partition, offset.offset, offset.lag)).collect()
}

#[tokio::test]
async fn members_share_partitions_and_the_next_one_continues_where_the_last_one_was() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, "t").await;
    let mut one = consumer(&client, lively());
    idle(&mut one, Duration::from_secs(1)).await;
    assert_eq!(one.positions().count(), PARTITIONS as usize);
    let mut two = consumer(&client, lively());
    shared_by(&client, &mut [&mut one, &mut two]).await;
    for partition in 0..PARTITIONS {
        append(&client, "t", partition, 3).await;
    }
    let (mut of_one, mut of_two) = (Read::new(), Read::new());
    read(&mut one, 6, &mut of_one).await;
    read(&mut two, 6, &mut of_two).await;
    assert!(of_one.keys().all(|partition| !of_two.contains_key(partition)), "{of_one:?} {of_two:?}");
    assert!(of_one.values().chain(of_two.values()).all(|offsets| *offsets == [0, 1, 2]), "{of_one:?} {of_two:?}");
    two.close().await.unwrap();
    shared_by(&client, &mut [&mut one]).await;
    for partition in 0..PARTITIONS {
        append(&client, "t", partition, 1).await;
    }
    let mut rest = Read::new();
    read(&mut one, 4, &mut rest).await;
    assert!(rest.len() == 4 && rest.values().all(|offsets| *offsets == [3]), "{rest:?}");
    // The records returned last may not be processed.
    one.leave().await.unwrap();
    assert_eq!(committed(&client).await.iter().map(|(.., lag)| lag).sum::<u64>(), 1);
    let mut last = consumer(&client, lively());
    read(&mut last, 1, &mut rest).await;
    last.close().await.unwrap();
    assert_eq!(committed(&client).await, [(0, 4, 0), (1, 4, 0), (2, 4, 0), (3, 4, 0)]);
    assert_eq!(client.group("g").await.unwrap().members, []);
}

#[tokio::test]
async fn what_is_not_committed_is_read_again() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, "t").await;
    append(&client, "t", 1, 5).await;
    let fixed = || GroupConfig { instance: Some("one".to_owned()), ..manual() };
    let mut first = consumer(&client, fixed());
    let mut found = Read::new();
    read(&mut first, 5, &mut found).await;
    first.commit_offsets(vec![CommitOffset::new("t", 1, 2)]).await.unwrap();
    // As after a crash: another process is the same member.
    let mut second = consumer(&client, fixed());
    let mut again = Read::new();
    read(&mut second, 3, &mut again).await;
    assert_eq!((&found[&1], &again[&1]), (&vec![0, 1, 2, 3, 4], &vec![2, 3, 4]));
    // The one before can't commit, and learns why.
    assert_eq!(first.commit().await.unwrap_err().code(), Some("member_fenced"));
    for _ in 0..2 {
        let fenced = timeout(LONG, first.next()).await.unwrap().unwrap_err();
        assert_eq!(fenced.code(), Some("member_fenced"));
    }
    second.commit().await.unwrap();
    second.close().await.unwrap();
    assert_eq!(committed(&client).await, [(0, 0, 0), (1, 5, 0), (2, 0, 0), (3, 0, 0)]);
}

#[tokio::test]
async fn a_member_that_hangs_loses_its_partitions_and_comes_back() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, "t").await;
    let config = GroupConfig { poll_interval_max: Duration::from_millis(100), ..manual() };
    let mut hanging = consumer(&client, config);
    append(&client, "t", 0, 2).await;
    let mut found = Read::new();
    read(&mut hanging, 2, &mut found).await;
    let mut other = consumer(&client, lively());
    // Only when the first one isn't a member any more.
    let mut again = Read::new();
    read(&mut other, 2, &mut again).await;
    assert_eq!(found, again);
    assert_eq!(hanging.commit().await.unwrap_err().code(), Some("member_not_found"));
    shared_by(&client, &mut [&mut hanging, &mut other]).await;
}

#[tokio::test]
async fn members_continue_when_the_broker_is_back() {
    let mut broker = broker(&[]);
    let client = client(&broker);
    create(&client, "t").await;
    let mut one = consumer(&client, lively());
    append(&client, "t", 0, 2).await;
    let mut found = Read::new();
    read(&mut one, 2, &mut found).await;
    one.commit().await.unwrap();
    broker.kill();
    broker.start_again();
    let client = crate::client(&broker);
    // The broker knows its members after a restart: it continues.
    shared_by(&client, &mut [&mut one]).await;
    append(&client, "t", 0, 2).await;
    read(&mut one, 2, &mut found).await;
    assert_eq!(found[&0], [0, 1, 2, 3]);
    one.close().await.unwrap();
    assert_eq!(committed(&client).await[0], (0, 4, 0));
}

#[tokio::test]
async fn topics_may_be_created_later_and_deleted_records_are_skipped() {
    let broker = broker(&[]);
    let client = client(&broker);
    let mut one = GroupConsumer::new(client.clone(), "g", ["u", "t"], lively());
    idle(&mut one, Duration::from_millis(700)).await;
    create(&client, "t").await;
    append(&client, "t", 2, 3).await;
    let mut found = Read::new();
    read(&mut one, 3, &mut found).await;
    one.close().await.unwrap();
    append(&client, "t", 2, 4).await;
    client.trim(("t", 2), 5).await.unwrap();
    let mut one = GroupConsumer::new(client.clone(), "g", ["u", "t"], lively());
    read(&mut one, 2, &mut found).await;
    // It wants some again.
    one.seek("t", 2, 6).unwrap();
    assert!(one.seek("t", PARTITIONS, 0).is_err());
    read(&mut one, 1, &mut found).await;
    // While it waits for records of a topic, that topic is deleted, and there is another.
    client.delete_topic("t").await.unwrap();
    create(&client, "u").await;
    append(&client, "u", 3, 1).await;
    let fetched = timeout(LONG, one.next()).await.unwrap().unwrap();
    assert_eq!((fetched.topic(), fetched.partition(), fetched.records_count()), ("u", 3, 1));
    // Deleted and created again at once, it begins at offset 0.
    client.delete_topic("u").await.unwrap();
    create(&client, "u").await;
    append(&client, "u", 3, 1).await;
    let fetched = timeout(LONG, one.next()).await.unwrap().unwrap();
    assert_eq!((fetched.topic(), fetched.requested_offset(), fetched.records_count()), ("u", 0, 1));
    assert_eq!(found[&2], [0, 1, 2, 5, 6, 6]);
    one.close().await.unwrap();
    let offsets = client.group("g").await.unwrap().offsets;
    assert!(offsets.iter().all(|offset| offset.topic == "u"), "{offsets:?}");
}

/// A member's start is committed, so that the next member doesn't begin at a later end.
#[tokio::test]
async fn records_that_arrive_between_two_members_are_not_skipped() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, "t").await;
    append(&client, "t", 0, 2).await;
    let latest = || GroupConfig { start: Start::Latest, ..lively() };
    let mut one = consumer(&client, latest());
    idle(&mut one, Duration::from_secs(1)).await;
    one.close().await.unwrap();
    append(&client, "t", 0, 1).await;
    let mut two = consumer(&client, latest());
    let mut found = Read::new();
    read(&mut two, 1, &mut found).await;
    assert_eq!(found[&0], [2]);
}

/// A new member whose connection breaks while it joins doesn't keep partitions.
#[tokio::test]
async fn a_client_that_gives_up_joining_is_not_a_member() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, "t").await;
    let one = consumer(&client, lively());
    // The broker waits half a second for others.
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(one);
    let mut members = usize::MAX;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        members = client.groups().await.unwrap().first().map_or(0, |group| group.members as usize);
        if members == 0 {
            break;
        }
    }
    assert_eq!(members, 0);
}

#[tokio::test]
async fn groups_without_members_are_set_and_deleted() {
    let broker = broker(&[]);
    let client = client(&broker);
    create(&client, "t").await;
    append(&client, "t", 1, 3).await;
    let refused = |error: ClientError| error.code().map(str::to_owned);
    assert_eq!(client.group("g").await.map_err(refused), Err(Some("group_not_found".to_owned())));
    let at = |partition, offset| CommitOffset { topic: "t".to_owned(), partition, offset, metadata: "m".to_owned() };
    client.set_group_offsets("g", vec![at(0, 0), at(1, 1)]).await.unwrap();
    assert_eq!(committed(&client).await, [(0, 0, 0), (1, 1, 2)]);
    client.delete_group_offset("g", ("t", 0)).await.unwrap();
    assert_eq!(committed(&client).await, [(1, 1, 2)]);
    assert_eq!(client.groups().await.unwrap()[0].name, "g");
    let mut one = consumer(&client, lively());
    idle(&mut one, Duration::from_millis(0)).await;
    read(&mut one, 2, &mut Read::new()).await;
    let set = client.set_group_offsets("g", vec![at(0, 0)]).await.map_err(refused);
    let deleted = client.delete_group("g").await.map_err(refused);
    assert_eq!((set, deleted), (Err(Some("group_not_empty".to_owned())), Err(Some("group_not_empty".to_owned()))));
    one.close().await.unwrap();
    client.delete_group("g").await.unwrap();
    assert_eq!(client.groups().await.unwrap(), []);
    let unknown = client.delete_group("g").await.map_err(refused);
    assert_eq!(unknown, Err(Some("group_not_found".to_owned())));
}
