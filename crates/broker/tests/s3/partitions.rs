//! A journal with as many partitions as one broker should have.

use crate::journal::{of, open};
use futures_util::future::join_all;
use rawline_broker::Broker;
use rawline_testkit::batches::received;
use rawline_testkit::s3_server::bucket;

/// An idle partition has no task, no file and no handle.
#[tokio::test]
async fn a_hundred_thousand_partitions_are_served_and_found_again() {
    const TOPICS: usize = 98;
    const PARTITIONS: u64 = 1024;
    let bucket = bucket().await;
    let settings = || serde_json::from_value(serde_json::json!({ "partitions": PARTITIONS })).unwrap();
    let (broker, _) = open(&bucket, bucket.address, 1).await;
    let names: Vec<String> = (0..TOPICS).map(|topic| format!("topic-{topic}")).collect();
    for name in &names {
        broker.create_topic(name, settings()).await.unwrap();
    }
    let chosen: Vec<(usize, u64)> = (0..TOPICS).map(|topic| (topic, topic as u64 * 577 % PARTITIONS)).collect();
    let append = async |broker: &Broker, next_offset| {
        let appends = chosen.iter().map(|&(topic, number)| {
            let name = &names[topic];
            async move {
                let partition = broker.partition(name, number).await.unwrap();
                partition.append(received(&of(topic, number as usize))).await.unwrap().next_offset
            }
        });
        assert!(join_all(appends).await.iter().all(|end| *end == next_offset));
    };
    append(&broker, 1).await;
    broker.close().await;
    let (broker, _) = open(&bucket, bucket.address, 2).await;
    append(&broker, 2).await;
    let all = broker.topics();
    assert_eq!(all.iter().map(|topic| u64::from(topic.partitions())).sum::<u64>(), TOPICS as u64 * PARTITIONS);
    for (topic, number) in &chosen {
        let offsets = broker.topic(&names[*topic]).await.unwrap().listed().all_offsets();
        let used = |at: usize| if at as u64 == *number { 0..2 } else { 0..0 };
        assert!(offsets.iter().enumerate().all(|(at, found)| *found == used(at)), "{topic}: {offsets:?}");
    }
}
