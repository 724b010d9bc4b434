//! Slow requests that are sent a second time.

use crate::machine::{Machine, first};
use rawline_journal::PutResult;
use rawline_testkit::http::{Act, Proxy, Request};
use rawline_testkit::s3_server::bucket;
use rawline_testkit::stores::{assert_holds, object, object_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

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

/// It would wait for the one that hangs.
#[tokio::test]
async fn a_read_of_the_id_that_is_refused_is_sent_again() {
    let bucket = bucket().await;
    let held = first(1, |request| request.is_for_object("PUT"), Act::HoldAnswer);
    let refused = first(4, |request| request.is_for_object("GET"), Act::Refuse("503 Slow Down", "SlowDown"));
    let rule = move |request: &Request| match held(request) {
        Act::Forward => refused(request),
        act => act,
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let object = object(1, 1, 3);
    let put = machine.store.journal().create(object.source(), object.parts()).await;
    assert!(matches!(put, PutResult::Found { .. }), "{put:?}");
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

/// How many more are sent is limited by the number of requests, except where a journal has sent fewer.
#[tokio::test]
async fn a_put_may_take_the_place_of_one_that_was_spared() {
    let bucket = bucket().await;
    let hangs = Arc::new(AtomicBool::new(false));
    let hanging = hangs.clone();
    let rule = move |request: &Request| match request.is_for_object("PUT") && hanging.load(Ordering::SeqCst) {
        true => Act::Hang,
        false => Act::Forward,
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let store = machine.store.journal();
    let mut objects = (1..).map(|number| object(number, 1, 3));
    // With fewer, a request isn't slow within a second.
    for object in objects.by_ref().take(20) {
        assert!(store.create(object.source(), object.parts()).await.created().is_some());
    }
    hangs.store(true, Ordering::SeqCst);
    let mut requests_for = async |least: usize| {
        let (object, before) = (objects.next().unwrap(), proxy.count("PUT"));
        let sent = async {
            while proxy.count("PUT") - before < least {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            put = store.create(object.source(), object.parts()) => panic!("it hangs: {put:?}"),
            _ = timeout(Duration::from_secs(1), sent) => proxy.count("PUT") - before,
        }
    };
    let mut left = 40;
    while requests_for(3).await > 1 {
        left -= 1;
        assert!(left > 0, "there is no limit");
    }
    store.spared(1);
    assert_eq!(requests_for(2).await, 2);
    assert_eq!(requests_for(2).await, 1, "only one was spared");
}
