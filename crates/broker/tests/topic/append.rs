//! Appends share commits, wait for more if configured to, and race with another broker's.

use crate::support::{batch, open, open_with, received, record, records, request};
use rawline_batch::Codec;
use rawline_broker::Config;
use rawline_testkit::faulty::{Faulty, OnCreate, has_records};
use rawline_testkit::stores::{places, places_and_clouds};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_appends_are_dense_and_share_commits() {
    for place in places_and_clouds().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let tasks: Vec<_> = (0..200u64)
            .map(|task| {
                let topic = topic.clone();
                tokio::spawn(async move {
                    let bytes = batch(&[record(task), record(task + 1000)], Codec::None);
                    (topic.append(received(&bytes)).await.unwrap(), task)
                })
            })
            .collect();
        let mut appended = Vec::new();
        for task in tasks {
            appended.push(task.await.unwrap());
        }
        appended.sort_by_key(|(appended, _)| appended.first_offset);
        let all = records(&topic.read(&request(0, 0, 0)).await.unwrap());
        let mut expected = Vec::new();
        for (number, (appended, task)) in appended.iter().enumerate() {
            assert_eq!(appended.first_offset, number as u64 * 2, "{}", place.name);
            assert_eq!(appended.next_offset, number as u64 * 2 + 2);
            expected.extend([record(*task), record(*task + 1000)]);
        }
        assert_eq!(all, expected, "{}", place.name);
        assert!(topic.status().objects <= 200);
    }
}

#[tokio::test]
async fn a_commit_waits_for_more_appends_if_configured_to() {
    for place in places().await {
        let config = Config { batch_wait: Duration::from_millis(300), ..Config::new(1) };
        let broker = open_with(place.open().await, config).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let append = |number| {
            let topic = topic.clone();
            tokio::spawn(async move { topic.append(received(&batch(&[record(number)], Codec::None))).await.unwrap() })
        };
        let tasks: Vec<_> = (0..10).map(append).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(topic.status().objects, 1, "{}", place.name);
        assert_eq!(topic.status().next_offset, 10);
    }
}

/// The paused clock advances only when every task sleeps: a task that spins instead would hold it forever.
#[test]
fn a_group_that_waits_for_a_confirmation_sleeps() {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let config = Config { batch_wait: Duration::from_secs(1), ..Config::new(1) };
            // A store whose every commit takes an hour to be confirmed.
            let mut store = Faulty::new();
            let hour = OnCreate::ConfirmAfter(Duration::from_secs(3600));
            store.on_create = Box::new(move |index| if has_records(index) { hour } else { OnCreate::Pass });
            let broker = open_with(store.storage(), config).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            let append = |number| {
                let (topic, bytes) = (topic.clone(), batch(&[record(number)], Codec::None));
                tokio::spawn(async move { topic.append(received(&bytes)).await.unwrap() })
            };
            let first = append(0);
            // The second comes while the first is being confirmed, and is due long before that has ended.
            tokio::time::sleep(Duration::from_secs(10)).await;
            let second = append(1);
            assert_eq!(first.await.unwrap().first_offset, 0);
            assert_eq!(second.await.unwrap().first_offset, 1);
        });
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(60)).expect("the journal's task spins");
}

#[tokio::test]
async fn a_full_commit_does_not_wait() {
    for place in places().await {
        let config = Config { batch_wait: Duration::from_secs(3600), commit_bytes: 100, ..Config::new(1) };
        let broker = open_with(place.open().await, config).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let bytes = batch(&[vec![b'r'; 200]], Codec::None);
        topic.append(received(&bytes)).await.unwrap();
        assert_eq!(topic.status().next_offset, 1, "{}", place.name);
    }
}

/// On a store that several brokers may use at once, the one that loses a race continues after the other's object.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_brokers_on_one_store_lose_nothing() {
    for place in places_and_clouds().await.into_iter().filter(|place| place.is_shared()) {
        let mut tasks = Vec::new();
        for writer in 0..2u64 {
            let broker = Arc::new(open_with(place.open().await, Config::new(writer + 1)).await);
            tasks.push(tokio::spawn(async move {
                let topic = broker.topic_or_create("t").await.unwrap();
                let mut mine = Vec::new();
                for number in 0..15 {
                    let record = record(writer * 1000 + number);
                    let appended =
                        topic.append(received(&batch(std::slice::from_ref(&record), Codec::None))).await.unwrap();
                    mine.push((appended.first_offset, record));
                }
                mine
            }));
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        all.sort();
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_eq!(topic.status().next_offset, 30, "{}", place.name);
        // A read of a bucket may return fewer than there are.
        let mut found = Vec::new();
        while found.len() < 30 {
            let more = records(&topic.read(&request(found.len() as u64, 0, 0)).await.unwrap());
            assert!(!more.is_empty(), "{}: nothing at {}", place.name, found.len());
            found.extend(more);
        }
        assert_eq!(all.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
        assert_eq!(found, all.into_iter().map(|(_, record)| record).collect::<Vec<_>>(), "{}", place.name);
    }
}
