//! Watches of partitions: what wakes them, which partitions they name, and that no change is lost.

use crate::support::{append_some, changes, open};
use rawline_batch::Codec;
use rawline_broker::subscriptions::Watch;
use rawline_broker::{Broker, Partition};
use rawline_testkit::stores::{in_memory, places};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

async fn partitions(broker: &Broker, name: &str, count: u64) -> Vec<Arc<Partition>> {
    let topic = broker.create_topic(name, changes(json!({ "partitions": count }))).await.unwrap();
    let mut partitions = Vec::new();
    for number in 0..count {
        partitions.push(topic.partition(number).unwrap());
    }
    partitions
}

/// A change that doesn't come fails a test instead of ending it never.
async fn changed(watch: &Watch) -> BTreeSet<u32> {
    let changed = tokio::time::timeout(Duration::from_secs(60), watch.changed()).await;
    assert!(changed.is_ok(), "no change was noted");
    watch.take()
}

#[tokio::test]
async fn a_watch_of_many_partitions_names_those_that_have_changed_on_every_store() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let (watched, others) = (partitions(&broker, "a", 20).await, partitions(&broker, "b", 2).await);
        let mut watch = Watch::default();
        let keys: Vec<u32> = watched.iter().skip(1).map(|partition| watch.add(partition)).collect();
        append_some(&watched[7], 0, 3, 1, Codec::None).await;
        append_some(&watched[19], 0, 1, 1, Codec::None).await;
        append_some(&watched[0], 0, 1, 1, Codec::None).await;
        append_some(&others[1], 0, 1, 1, Codec::None).await;
        assert_eq!(changed(&watch).await, [keys[6], keys[18]].into(), "{}", place.name);
        assert!(watch.take().is_empty(), "{}", place.name);
        watch.remove(keys[6]);
        append_some(&watched[7], 3, 4, 1, Codec::None).await;
        append_some(&watched[8], 0, 1, 1, Codec::None).await;
        assert_eq!(changed(&watch).await, [keys[7]].into(), "{}", place.name);

        broker.delete_topic("b").await.unwrap();
        assert!(watch.take().is_empty(), "{}", place.name);
        let other = watch.add(&watched[0]);
        broker.delete_topic("a").await.unwrap();
        let all = keys.iter().copied().filter(|key| *key != keys[6]).chain([other]);
        assert_eq!(changed(&watch).await, all.collect(), "{}", place.name);
        assert!(!watched[0].is_live() && watch.len() == 19, "{}", place.name);
        drop((watch, watched, others));
        broker.close().await;
    }
}

/// Between two looks, a partition is noted once, and nothing else is kept.
#[tokio::test]
async fn a_partition_that_changes_often_is_noted_once() {
    let broker = open(in_memory()).await;
    let watched = partitions(&broker, "t", 2).await;
    let mut watch = Watch::default();
    let keys = [watch.add(&watched[0]), watch.add(&watched[1])];
    append_some(&watched[1], 0, 100, 1, Codec::None).await;
    assert_eq!(changed(&watch).await, [keys[1]].into());
    assert!(tokio::time::timeout(Duration::from_millis(10), watch.changed()).await.is_err(), "a second wake-up");
}

/// Each record is appended while its reader begins to watch, looks or waits, and the next one only when the reader has
/// seen it: if nothing says that it is there, the reader waits forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_change_is_lost_between_looking_and_waiting() {
    const ROUNDS: u64 = 3_000;
    const PARTITIONS: u64 = 8;
    let broker = open(in_memory()).await;
    let watched = partitions(&broker, "t", PARTITIONS).await;
    let seen = Arc::new(AtomicU64::new(0));
    let appending = {
        let (watched, seen) = (watched.clone(), seen.clone());
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let partition = &watched[(round * 5 % PARTITIONS) as usize];
                append_some(partition, round / PARTITIONS, round / PARTITIONS + 1, 1, Codec::None).await;
                while seen.load(Ordering::Acquire) <= round {
                    tokio::task::yield_now().await;
                }
                // So that the next record is appended at another time of the reader's round.
                for _ in 0..round * 37 % 2_000 {
                    std::hint::spin_loop();
                }
            }
        })
    };
    let end = |partition: &Arc<Partition>| partition.bounds().next_offset;
    let (mut watch, mut keys, mut ends, mut rounds) = (Watch::default(), Vec::new(), vec![0; PARTITIONS as usize], 0);
    while ends.iter().sum::<u64>() < ROUNDS {
        if rounds % 3 == 0 {
            watch = Watch::default();
            keys = watched.iter().map(|partition| watch.add(partition)).collect();
            ends = watched.iter().map(end).collect();
        } else {
            // Only what is noted is looked at.
            for key in changed(&watch).await {
                let place = keys.iter().position(|known| *known == key).unwrap();
                ends[place] = end(&watched[place]);
            }
        }
        seen.store(ends.iter().sum(), Ordering::Release);
        rounds += 1;
    }
    appending.await.unwrap();
    assert_eq!(ends, vec![ROUNDS / PARTITIONS; PARTITIONS as usize]);
}
