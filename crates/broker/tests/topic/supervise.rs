//! A journal whose task panics takes no appends; the process and the readers of its topics continue.

use crate::support::{append_some, batch, open, received, record, records, request};
use rawline_batch::Codec;
use rawline_broker::{AppendError, Broker, Kind, ReadRequest, Topic};
use rawline_testkit::faulty::{Faulty, OnCreate, has_records};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A broker whose store panics at records once the switch is on.
async fn broker() -> (Broker, Arc<AtomicBool>) {
    let switch = Arc::new(AtomicBool::new(false));
    let mut store = Faulty::new();
    let is_on = switch.clone();
    store.on_create = Box::new(move |index| {
        if has_records(index) && is_on.load(Ordering::SeqCst) {
            OnCreate::Panic("an assertion about offset 5 failed")
        } else {
            OnCreate::Pass
        }
    });
    (open(store.storage()).await, switch)
}

async fn append_error(topic: &Topic) -> AppendError {
    topic.append(received(&batch(&[record(5)], Codec::None))).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_a_journals_task_fails_its_topics_and_says_so() {
    let (broker, switch) = broker().await;
    let bad = broker.topic_or_create("bad").await.unwrap();
    let other = broker.topic_or_create("other").await.unwrap();
    append_some(&bad, 0, 5, 5, Codec::None).await;
    append_some(&other, 0, 5, 5, Codec::None).await;
    assert_eq!(broker.failed_topics(), []);
    switch.store(true, Ordering::SeqCst);

    // The append that met the panic, and later ones.
    for (topic, name) in [(&bad, "bad"), (&bad, "bad"), (&other, "other"), (&bad, "bad")] {
        let error = append_error(topic).await;
        assert!(matches!(&error, AppendError::Failed { topic, .. } if topic == name), "{error:?}");
        assert_eq!(error.kind(), Kind::TellHuman);
        assert!(error.to_string().contains("an assertion about offset 5 failed"), "{error}");
    }
    let failed: Vec<_> = broker.failed_topics().into_iter().map(|failed| (failed.name, failed.reason)).collect();
    let reason = "an assertion about offset 5 failed".to_owned();
    assert_eq!(failed, [("bad".to_owned(), reason.clone()), ("other".to_owned(), reason)]);
    for topic in [bad, other] {
        let answer = topic.read(&request(0, 0, 0)).await.unwrap();
        assert_eq!(records(&answer), (0..5).map(record).collect::<Vec<_>>(), "its records can be read");
    }
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
    let mut store = Faulty::new();
    let lost = AtomicBool::new(false);
    store.on_create = Box::new(move |index| {
        let is_first = has_records(index) && !lost.swap(true, Ordering::SeqCst);
        if is_first { OnCreate::LoseResponse } else { OnCreate::Pass }
    });
    let broker = open(store.storage()).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_some(&topic, 0, 6, 2, Codec::None).await;
    let answer = topic.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(records(&answer), (0..6).map(record).collect::<Vec<_>>());
}
