//! Brokers whose connections stay open although they don't respond: requests are retried at others. A broker that is
//! slow is not one of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // A test.

mod fake;

use bytes::Bytes;
use fake::{Fake, Log, broker, names};
use rawline_client::{Client, ClientConfig, ClientError, Producer, ProducerConfig, RetryPolicy};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Longer than a client waits before it asks whether a broker lives.
const SLOW: Duration = Duration::from_secs(4);

/// A client of these brokers whose requests don't time out during a test, without retries.
fn client(brokers: &[&Fake]) -> Client {
    let urls: Vec<&str> = brokers.iter().map(|broker| broker.url.as_str()).collect();
    let request_timeout = Duration::from_secs(600);
    let config = ClientConfig { retries: RetryPolicy::NONE, request_timeout, ..ClientConfig::new(urls.join(",")) };
    Client::new(config).unwrap()
}

/// Appends a record of this size.
async fn append(client: &Client, bytes: usize) -> Result<u64, ClientError> {
    let appended = client.append_records("t", &[bytes as u32], Bytes::from(vec![b'x'; bytes])).await?;
    Ok(appended.first_offset)
}

fn pause(broker: &Fake, is_paused: bool) {
    broker.is_paused.store(is_paused, Ordering::SeqCst);
}

fn questions(broker: &Fake) -> usize {
    broker.questions.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_a_silent_broker_has_an_unknown_outcome_and_the_next_goes_elsewhere() {
    let test = |bytes| async move {
        let log = Log::default();
        let (first, second) = (broker('a', &log, "", Duration::ZERO), broker('b', &log, "", Duration::ZERO));
        let client = client(&[&first, &second]);
        append(&client, bytes).await.unwrap();
        pause(&first, true);
        let (one, other) = tokio::join!(append(&client, bytes), append(&client, bytes));
        for error in [one.unwrap_err(), other.unwrap_err()] {
            assert!(matches!(&error, ClientError::Broken { broker, .. } if *broker == first.url), "{error}");
        }
        // It stays there and doesn't wait for the silent one again.
        append(&client, bytes).await.unwrap();
        assert_eq!(names(&log), "ab");
        assert_eq!(questions(&second), 0);
    };
    tokio::join!(test(1), test(100_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_and_other_requests_continue_elsewhere_too() {
    let log = Log::default();
    let (first, second) = (broker('a', &log, "", Duration::ZERO), broker('b', &log, "", Duration::ZERO));
    let client = client(&[&first, &second]);
    pause(&first, true);
    let error = client.topic("t").await.unwrap_err();
    assert!(matches!(error, ClientError::Broken { .. }), "{error}");
    let error = client.with_retries(RetryPolicy::default()).topic("t").await.unwrap_err();
    assert_eq!(error.code(), Some("topic_not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_silent_is_left_for_the_given_broker() {
    let log = Log::default();
    let owner = broker('B', &log, "", Duration::ZERO);
    let given = broker('a', &log, &owner.url, Duration::ZERO);
    let client = client(&[&given]);
    append(&client, 1).await.unwrap();
    append(&client, 1).await.unwrap();
    pause(&owner, true);
    append(&client, 1).await.unwrap_err();
    // The response still names it.
    append(&client, 1).await.unwrap();
    append(&client, 100_000).await.unwrap();
    assert_eq!(names(&log), "aBaa");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_continues_elsewhere_and_sends_what_was_in_flight_again() {
    let log = Log::default();
    let (first, second) = (broker('a', &log, "", Duration::ZERO), broker('b', &log, "", Duration::ZERO));
    let config = ProducerConfig { batch_records_max: 1, linger: Some(Duration::ZERO), ..ProducerConfig::default() };
    let producer = Producer::new(client(&[&first, &second]), "t", config).unwrap();
    producer.send("0").await.unwrap().offset().await.unwrap();
    pause(&first, true);
    producer.send("1").await.unwrap().offset().await.unwrap();
    producer.send("2").await.unwrap().offset().await.unwrap();
    producer.close().await.unwrap();
    assert_eq!(*log.lock().unwrap(), [('a', b'0'), ('b', b'1'), ('b', b'2')]);
}

/// A bucket that takes long, or a broker with too much to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_slow_is_asked_and_keeps_its_requests() {
    let test = |bytes| async move {
        let log = Log::default();
        let owner = broker('B', &log, "", SLOW);
        let (first, second) = (broker('a', &log, &owner.url, SLOW), broker('b', &log, "", Duration::ZERO));
        let client = client(&[&first, &second]);
        append(&client, bytes).await.unwrap();
        append(&client, bytes).await.unwrap();
        assert_eq!(names(&log), "aB");
        assert!(questions(&first) > 0 && questions(&owner) > 0 && questions(&second) == 0);
    };
    tokio::join!(test(1), test(100_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_is_not_asked_if_it_responds_or_no_other_can_replace_it() {
    let log = Log::default();
    let (first, second) = (broker('a', &log, "", Duration::ZERO), broker('b', &log, "", Duration::ZERO));
    let several = client(&[&first, &second]);
    for bytes in [1, 100_000, 1] {
        append(&several, bytes).await.unwrap();
    }
    let alone = broker('c', &log, "", SLOW);
    append(&client(&[&alone]), 1).await.unwrap();
    assert_eq!(names(&log), "aaac");
    assert_eq!([questions(&first), questions(&second), questions(&alone)], [0, 0, 0]);
}
