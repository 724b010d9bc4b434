//! A topic whose task panics stops; the process, the other topics and its readers go on.

use crate::support::{append_some, batch, open, received, record, records, request};
use rawline_batch::Codec;
use rawline_broker::store::memory::MemoryStore;
use rawline_broker::{AppendError, Broker, Kind, ReadRequest, Topic};
use rawline_testkit::faulty::{Faulty, OnBegin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A broker whose store panics at appends to the topic "bad" once the switch is on.
async fn broker() -> (Broker, Arc<AtomicBool>) {
    let switch = Arc::new(AtomicBool::new(false));
    let mut store = Faulty::new(Arc::new(MemoryStore::new()));
    let is_on = switch.clone();
    store.on_begin = Box::new(move |topic, _| {
        if topic == "bad" && is_on.load(Ordering::SeqCst) {
            OnBegin::Panic("an assertion about offset 5 failed")
        } else {
            OnBegin::Pass
        }
    });
    (open(Arc::new(store)).await, switch)
}

async fn append_error(topic: &Topic) -> AppendError {
    topic.append(received(&batch(&[record(5)], Codec::None))).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_a_topics_task_fails_that_topic_only_and_says_so() {
    let (broker, switch) = broker().await;
    let bad = broker.topic_or_create("bad").await.unwrap();
    let good = broker.topic_or_create("good").await.unwrap();
    append_some(&bad, 0, 5, 5, Codec::None).await;
    assert_eq!(broker.failed_topics(), []);
    switch.store(true, Ordering::SeqCst);

    // The append that met the panic, and later ones.
    for _ in 0..3 {
        let error = append_error(&bad).await;
        assert!(matches!(&error, AppendError::Failed { topic, .. } if topic == "bad"), "{error:?}");
        assert_eq!(error.kind(), Kind::TellHuman);
        assert!(error.to_string().contains("an assertion about offset 5 failed"), "{error}");
    }
    let failed = broker.failed_topics();
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].name.as_str(), failed[0].reason.as_str()), ("bad", "an assertion about offset 5 failed"));

    append_some(&good, 0, 20, 2, Codec::None).await;
    assert_eq!(good.failure(), None);
    let answer = bad.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(records(&answer), (0..5).map(record).collect::<Vec<_>>(), "its records can be read");
    assert_eq!(broker.topic("bad").await.unwrap().status().next_offset, 5);
}

#[tokio::test]
async fn every_append_that_waits_when_the_task_panics_gets_the_reason() {
    let (broker, switch) = broker().await;
    let bad = broker.topic_or_create("bad").await.unwrap();
    switch.store(true, Ordering::SeqCst);
    let appends: Vec<_> = (0..20)
        .map(|_| {
            let bad = bad.clone();
            tokio::spawn(async move { append_error(&bad).await })
        })
        .collect();
    for append in appends {
        assert!(matches!(append.await.unwrap(), AppendError::Failed { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_waits_at_the_end_of_a_failed_topic_does_not_poll_in_a_loop() {
    let (broker, switch) = broker().await;
    let bad = broker.topic_or_create("bad").await.unwrap();
    append_some(&bad, 0, 5, 5, Codec::None).await;
    switch.store(true, Ordering::SeqCst);
    append_error(&bad).await;
    let before = tokio::time::Instant::now();
    let wait = Duration::from_secs(30);
    let answer = bad.read(&ReadRequest { wait, ..request(5, 0, 0) }).await.unwrap();
    assert!(answer.pieces.is_empty());
    assert_eq!(before.elapsed(), wait, "the clock is paused, so this is exact");
}

#[tokio::test]
async fn a_broker_with_a_failed_topic_closes() {
    let (broker, switch) = broker().await;
    let bad = broker.topic_or_create("bad").await.unwrap();
    switch.store(true, Ordering::SeqCst);
    append_error(&bad).await;
    drop(bad);
    broker.close().await;
}

#[tokio::test]
async fn a_commit_whose_response_was_lost_is_stored_once() {
    // The store says that another writer was first, although it has stored the commit: a response was lost, and then
    // a request for the object failed in passing.
    let mut store = Faulty::new(Arc::new(MemoryStore::new()));
    store.on_begin = Box::new(|_, first_offset| if first_offset == 2 { OnBegin::LoseResponse } else { OnBegin::Pass });
    let broker = open(Arc::new(store)).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_some(&topic, 0, 6, 2, Codec::None).await;
    let answer = topic.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(records(&answer), (0..6).map(record).collect::<Vec<_>>());
}
