//! The end of a topic at a broker that doesn't own its journal: never below the owner's acknowledged records.

use super::{client, sees, start_with};
use rawline_testkit::process::Broker;
use rawline_testkit::s3_server::bucket;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

/// The fields that all requests about one partition have: one topic with one partition.
fn one_partition(topic: &str, fields: &[u8]) -> Vec<u8> {
    let name = [&(topic.len() as u16).to_be_bytes()[..], topic.as_bytes()].concat();
    [&1_u32.to_be_bytes()[..], &name, &1_u32.to_be_bytes(), &0_u32.to_be_bytes(), fields].concat()
}

/// Sends a request to a broker's port for Kafka's clients, and returns the part of the response after the topic's name.
fn ask(stream: &mut TcpStream, (api, version): (u16, u16), topic: &str, body: &[u8]) -> Vec<u8> {
    let head = [&api.to_be_bytes()[..], &version.to_be_bytes(), &7_u32.to_be_bytes(), &[0xFF, 0xFF]].concat();
    stream.write_all(&((head.len() + body.len()) as u32).to_be_bytes()).unwrap();
    stream.write_all(&[&head, body].concat()).unwrap();
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).unwrap();
    let mut response = vec![0; u32::from_be_bytes(bytes) as usize];
    stream.read_exact(&mut response).unwrap();
    let name = response.windows(topic.len()).position(|part| part == topic.as_bytes()).unwrap();
    // After the number of partitions.
    response[name + topic.len() + 4..].to_vec()
}

fn last_number(partition: &[u8]) -> u64 {
    u64::from_be_bytes(partition[partition.len() - 8..].try_into().unwrap())
}

/// The ends by ListOffsets and by OffsetForLeaderEpoch.
fn kafka_ends(stream: &mut TcpStream, topic: &str) -> [u64; 2] {
    let replica = u32::MAX.to_be_bytes();
    let latest = [&replica[..], &one_partition(topic, &(-1_i64).to_be_bytes())].concat();
    let listed = ask(stream, (2, 1), topic, &latest);
    // No leader's epoch is known; the end of epoch 0.
    let epochs = [&u32::MAX.to_be_bytes()[..], &[0; 4]].concat();
    let of_epoch = ask(stream, (23, 2), topic, &one_partition(topic, &epochs));
    [last_number(&listed), last_number(&of_epoch)]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_broker_reports_an_end_below_an_acknowledged_record() {
    const TOPIC: &str = "acknowledged";
    let bucket = bucket().await;
    let start = || start_with(&bucket, &["--kafka", "127.0.0.1:0"], bucket.variables());
    let brokers: Vec<Broker> = (0..2).map(|_| start()).collect();
    let owner = sees(&brokers[0], 2).await;
    assert_eq!(sees(&brokers[1], 2).await, owner);
    let (owner, other) = match brokers[0].url() == owner {
        true => (&brokers[0], &brokers[1]),
        false => (&brokers[1], &brokers[0]),
    };
    let mut stream = TcpStream::connect(super::journals::kafka(other)).unwrap();
    let began = SystemTime::now() - Duration::from_secs(1);
    for number in 1..=50_u64 {
        client(owner).append_records(TOPIC, &[1], "x".into()).await.unwrap();
        // Each in turn is the first to ask.
        let next_offset = async || client(other).topic(TOPIC).await.unwrap().next_offset;
        match number % 3 {
            0 => assert!(next_offset().await >= number, "GET /topic after {number} records"),
            1 => {
                let end = client(other).offset_at(TOPIC, SystemTime::now() + Duration::from_secs(60)).await.unwrap();
                assert!(end >= number, "GET /offset after {number} records: {end}");
            }
            _ => {}
        }
        let ends = kafka_ends(&mut stream, TOPIC);
        assert!(ends.iter().all(|end| *end >= number), "after {number} records: {ends:?}");
    }
    assert_eq!(client(other).offset_at(TOPIC, began).await.unwrap(), 0);
}
