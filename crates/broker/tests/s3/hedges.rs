//! Slow requests that are sent a second time.

use crate::machine::{Machine, first};
use rawline_journal::PutResult;
use rawline_testkit::http::{Act, Proxy, Request};
use rawline_testkit::s3_server::bucket;
use rawline_testkit::stores::{assert_holds, object, object_of};
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
async fn a_put_that_does_not_end_is_overtaken() {
    let bucket = bucket().await;
    let proxy = Proxy::start(bucket.address, first(1, |request| request.is_for_object("PUT"), Act::Hang)).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let object = object(1, 1, 3);
    let put = machine.store.journal().create(object.source(), object.parts()).await;
    assert!(put.created().is_some(), "{put:?}");
    assert!(proxy.count("PUT") >= 2);
    assert_holds(&machine.store, &[object], "s3").await;
}

#[tokio::test]
async fn the_conflict_of_a_put_with_itself_is_no_lost_race() {
    let bucket = bucket().await;
    let rule = first(1, |request| request.is_for_object("PUT"), Act::HoldAnswer);
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let object = object(1, 1, 3);
    let put = machine.store.journal().create(object.source(), object.parts()).await;
    let PutResult::Found { created, date } = put else { panic!("{put:?}") };
    assert!(created <= date && date < created + 60, "stored at {created}, found at {date}");
    assert!(proxy.count("PUT") >= 2);
    assert_holds(&machine.store, &[object], "s3").await;
}

#[tokio::test]
async fn another_writers_object_is_a_lost_race_for_the_next_request() {
    let bucket = bucket().await;
    let proxy = Proxy::start(bucket.address, first(1, |request| request.is_for_object("PUT"), Act::Hang)).await;
    let (machine, other) = (Machine::through(&bucket, proxy.address).await, Machine::new(&bucket).await);
    let (ours, theirs) = (object(1, 1, 3), object_of(2, 1, 1, 3, 20));
    let put = other.store.journal().create(theirs.source(), theirs.parts()).await;
    assert!(put.created().is_some(), "{put:?}");
    let store = machine.store.journal();
    assert_eq!(store.create(ours.source(), ours.parts()).await, PutResult::Unknown, "one is in flight");
    assert_eq!(store.create(ours.source(), ours.parts()).await, PutResult::Exists);
    assert_holds(&machine.store, &[theirs], "s3").await;
}

#[tokio::test]
async fn a_get_that_does_not_end_is_overtaken() {
    let bucket = bucket().await;
    let object = object(1, 1, 3);
    let put = Machine::new(&bucket).await.store.journal().create(object.source(), object.parts()).await;
    assert!(put.created().is_some(), "{put:?}");
    // Not those of the start, which may spend what is saved up.
    let proxy = Proxy::start(bucket.address, first(1, |request| request.is_for_object("GET"), Act::Hang)).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    machine.read(&object).await.unwrap();
    assert!(proxy.count("GET") >= 2);
}

/// It would wait for the one that hangs.
#[tokio::test]
async fn a_second_request_that_is_refused_is_sent_again() {
    let bucket = bucket().await;
    let sent = AtomicUsize::new(0);
    let rule = move |request: &Request| match request.is_for_object("PUT").then(|| sent.fetch_add(1, Ordering::SeqCst))
    {
        Some(0) => Act::Hang,
        Some(1) => Act::Refuse("503 Slow Down", "SlowDown"),
        _ => Act::Forward,
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let object = object(1, 1, 3);
    let put = machine.store.journal().create(object.source(), object.parts()).await;
    assert!(put.created().is_some(), "{put:?}");
    assert!(proxy.count("PUT") >= 3);
    assert_holds(&machine.store, &[object], "s3").await;
}
