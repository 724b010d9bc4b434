//! Clients read from a broker of their zone: Kafka's consumers, and whatever sends `Rawline-Zone`.

use crate::support::http;
use crate::support::kafka::{Client, batch, produce_body, produced};
use crate::support::kafka_fetch::{Fetch, Fetched, Partition};
use rawline_batch::record_batch::RecordCodec;
use rawline_kafka::messages::{
    DescribeClusterRequest, DescribeTopicPartitionsRequest, DescribeTopicPartitionsTopic, MetadataRequest,
};
use rawline_kafka::{Api, Response};
use rawline_server::http::HttpConfig;
use rawline_testkit::s3_server::bucket;
use rawline_testkit::served::Served;
use std::collections::BTreeMap;
use std::time::Duration;

/// The ids of two brokers with different numbers for Kafka's clients. The first owns the only journal.
const IDS: [u64; 2] = [1 << 32, 2 << 32];

/// The zones, numbers and topics' replicas that a client sees.
async fn seen(client: &mut Client) -> (BTreeMap<Option<String>, i32>, Vec<i32>) {
    let Response::Metadata(found) = client.call(12, MetadataRequest { topics: None, ..Default::default() }).await
    else {
        panic!("another response")
    };
    let zones = found.brokers.iter().map(|broker| (broker.rack.clone(), broker.node_id)).collect();
    let partition = found.topics.first().and_then(|topic| topic.partitions.first());
    (zones, partition.map(|partition| partition.replica_nodes.clone()).unwrap_or_default())
}

/// Fetches the first partition of `t`, from the beginning.
async fn fetch(client: &mut Client, rack: &str) -> Partition {
    // It would wait for as long as a test may take.
    let fetch = Fetch { wait_ms: 60_000, rack, topics: &[("t", &[(0, 0)])], ..Fetch::default() };
    let body = client.exchange(Api::Fetch, 11, &fetch.body()).await;
    Fetched::read(&body).partitions.remove(0)
}

#[tokio::test]
async fn a_consumer_is_sent_to_a_broker_of_its_zone_which_serves_it() {
    let bucket = bucket().await;
    let leader = Served::in_zone(&bucket, HttpConfig::default(), IDS[0], Some("a")).await;
    let other = Served::in_zone(&bucket, HttpConfig::default(), IDS[1], Some("b")).await;
    let (mut at_leader, mut at_other) = (Client::connect(&leader).await, Client::connect(&other).await);
    at_leader.create("t").await;
    let ends = loop {
        let (zones, replicas) = seen(&mut at_leader).await;
        if zones.len() == 2 && seen(&mut at_other).await.0.len() == 2 {
            break (zones, replicas);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let (a, b) = (ends.0[&Some("a".to_owned())], ends.0[&Some("b".to_owned())]);
    assert_eq!(ends.1, [a, b], "clients read only from what they know to be replicas, and the first leads");
    let Response::DescribeCluster(found) = at_other.call(0, DescribeClusterRequest::default()).await else { panic!() };
    assert_eq!(found.brokers.iter().find(|broker| broker.broker_id == b).unwrap().rack.as_deref(), Some("b"));
    let topics = vec![DescribeTopicPartitionsTopic { name: "t".to_owned() }];
    let asked = DescribeTopicPartitionsRequest { topics, response_partition_limit: 1, ..Default::default() };
    let Response::DescribeTopicPartitions(found) = at_leader.call(0, asked).await else { panic!() };
    assert_eq!(
        (&found.topics[0].partitions[0].replica_nodes, found.topics[0].partitions[0].leader_id),
        (&vec![a, b], a)
    );

    let body = at_leader.exchange(Api::Produce, 3, &produce_body("t", -1, &batch(RecordCodec::None, 3, None))).await;
    assert_eq!(produced(&body, "t"), (0, 0));
    // The leader says where to fetch, at once, and without records.
    let found = fetch(&mut at_leader, "b").await;
    assert_eq!((found.error, found.preferred, found.records_bytes), (0, b, 0));
    let found = fetch(&mut at_other, "b").await;
    assert_eq!((found.error, found.preferred, found.next_offset), (0, -1, 3));
    assert!(found.records_bytes > 0, "the other broker reads the records itself");
    // In the leader's zone, in a zone without a broker, and in none.
    for rack in ["a", "c", ""] {
        let found = fetch(&mut at_leader, rack).await;
        assert!((found.error, found.preferred) == (0, -1) && found.records_bytes > 0, "{rack:?}: {found:?}");
    }
    // A consumer in the leader's zone that another broker has served goes back.
    assert_eq!(fetch(&mut at_other, "a").await.preferred, a);
    other.stop().await;
    leader.stop().await;
}

#[tokio::test]
async fn without_zones_a_partition_has_one_replica() {
    let bucket = bucket().await;
    let leader = Served::member(&bucket, HttpConfig::default(), IDS[0]).await;
    let other = Served::member(&bucket, HttpConfig::default(), IDS[1]).await;
    let mut client = Client::connect(&leader).await;
    client.create("t").await;
    let (zones, replicas) = seen(&mut client).await;
    assert_eq!((zones.keys().collect::<Vec<_>>(), replicas.len()), (vec![&None], 1));
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &batch(RecordCodec::None, 3, None))).await;
    assert_eq!(produced(&body, "t"), (0, 0));
    let found = fetch(&mut client, "b").await;
    assert!(found.preferred == -1 && found.records_bytes > 0, "{found:?}");
    other.stop().await;
    leader.stop().await;
}

#[tokio::test]
async fn the_response_to_a_read_names_the_broker_of_the_clients_zone() {
    let bucket = bucket().await;
    let home = Served::in_zone(&bucket, HttpConfig::default(), IDS[0], Some("a")).await;
    let near = Served::in_zone(&bucket, HttpConfig::default(), IDS[1], Some("b")).await;
    let nearer = async |server: &Served, target: &str, zone: &str| {
        let (status, head, _) = http(server, "GET", target, &format!("rawline-zone: {zone}"), b"").await;
        let url = head.lines().find_map(|line| line.strip_prefix("rawline-nearer: ")).map(str::to_owned);
        (status, url)
    };
    let (status, ..) = http(&home, "POST", "/records?topic-name=t", "content-type: application/x-ndjson", b"1\n").await;
    assert_eq!(status, 201);
    let read = "/records?topic-name=t&offset=0";
    while nearer(&home, read, "b").await != (200, Some(near.url())) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(nearer(&home, "/record?topic-name=t&offset=0", "b").await, (200, Some(near.url())));
    assert_eq!(nearer(&near, read, "b").await, (200, None));
    assert_eq!(nearer(&near, read, "a").await, (200, Some(home.url())));
    assert_eq!(nearer(&home, read, "c").await, (200, None));
    // What no other broker serves better, and errors.
    assert_eq!(nearer(&home, "/topic?topic-name=t", "b").await, (200, None));
    assert_eq!(nearer(&home, "/records?topic-name=none&offset=0", "b").await, (404, None));
    near.stop().await;
    home.stop().await;
}
