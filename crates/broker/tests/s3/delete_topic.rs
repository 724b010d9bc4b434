//! Deletion of topics in a bucket that several brokers use.

use crate::http::{Act, Proxy};
use crate::machine::{CACHE_BYTES, Machine, key};
use bytes::Bytes;
use rawline_broker::Kind;
use rawline_broker::object::Object;
use rawline_broker::store::{CommitError, Store};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use rawline_testkit::stores::{assert_holds, at, bytes_of, commit_some, object_of};
use std::fs;
use std::time::Duration;

const SETTINGS: &str = "some/prefix/t/settings.json";

async fn patient_for(bucket: &Bucket, request_timeout: Duration) -> Machine {
    Machine::with(bucket, CACHE_BYTES, |config| config.request_timeout = request_timeout).await
}

/// Commits objects of the same keys and sizes as those of [`commit_some`], with other bytes.
async fn commit_others(machine: &Machine, count: u64) -> Vec<Object> {
    let objects: Vec<_> = (0..count).map(|number| object_of(number * 3, 1, 3, 20, 7)).collect();
    for object in &objects {
        machine.store.commit("t", object.clone()).await.unwrap();
    }
    objects
}

#[tokio::test]
async fn objects_of_a_new_topic_are_not_taken_for_those_of_a_deleted_one() {
    let bucket = bucket().await;
    let (one, two) = (Machine::new(&bucket).await, Machine::new(&bucket).await);
    let old = commit_some(&one.store, "t", 4).await;
    let listed = two.list().await;
    assert_eq!(two.read(&listed[0]).await.unwrap(), bytes_of(&old[0]));
    one.store.mark_deleted("t").await.unwrap();
    one.store.delete_topic("t").await.unwrap();
    while !one.copies_or_none().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Without the objects, the other broker has what is in its cache.
    assert_eq!(two.read(&listed[1]).await.unwrap_err().kind, Kind::TryAgain);

    let new = commit_others(&one, 4).await;
    assert!(old.iter().zip(&new).all(|(old, new)| old.header.object_bytes == new.header.object_bytes));
    for listed in &listed[1..] {
        for range in [0..64, 0..listed.bytes] {
            let error = two.store.get("t", at(listed), range).await.unwrap_err();
            assert!(error.kind == Kind::TellHuman && error.message.contains("restart this broker"), "{error}");
        }
    }
    assert_eq!(two.read(&listed[0]).await.unwrap(), bytes_of(&old[0]), "its own copy, not another topic's object");
    assert_holds(&two.store, "t", &new, "as a broker that has restarted lists it").await;
    assert_holds(&one.store, "t", &new, "the broker that deleted").await;
    // Its cache has copies of both.
    let two = two.again(&bucket, bucket.address).await;
    assert_holds(&two.store, "t", &new, "after a restart").await;
}

#[tokio::test]
async fn a_broker_does_not_continue_a_topic_at_an_object_of_another() {
    let bucket = bucket().await;
    let one = Machine::new(&bucket).await;
    let two = Machine::with(&bucket, CACHE_BYTES, |config| config.newest_check = Duration::ZERO).await;
    commit_some(&one.store, "t", 3).await;
    two.list().await;
    one.store.mark_deleted("t").await.unwrap();
    one.store.delete_topic("t").await.unwrap();
    commit_others(&one, 3).await;
    let Err(CommitError::Store(error)) = two.store.commit("t", object_of(9, 1, 3, 20, 8)).await else { panic!() };
    assert!(error.kind == Kind::TellHuman && error.message.contains("restart this broker"), "{error}");
    assert!(!bucket.file(&key(9)).exists());
}

#[tokio::test]
async fn another_broker_takes_over_a_deletion_and_the_first_leaves_the_next_topic_alone() {
    let bucket = bucket().await;
    let one = Machine::new(&bucket).await;
    let two = patient_for(&bucket, Duration::from_secs(3)).await;
    commit_some(&one.store, "t", 5).await;
    one.store.mark_deleted("t").await.unwrap();
    // One that is asked to delete it leaves the marker to the one that wrote it, until it deletes.
    two.store.mark_deleted("t").await.unwrap();
    two.store.delete_topic("t").await.unwrap();
    assert!(!bucket.file(SETTINGS).exists() && two.list().await.is_empty());
    let new = commit_others(&two, 5).await;
    one.store.delete_topic("t").await.unwrap();
    assert_holds(&two.store, "t", &new, "a new topic").await;
}

#[tokio::test]
async fn a_broker_whose_deletion_was_taken_over_meanwhile_deletes_nothing_more() {
    let bucket = bucket().await;
    let settings = bucket.file(SETTINGS);
    // Another broker puts its marker there while this one lists the objects.
    let rule = move |request: &crate::http::Request| {
        if request.method == "GET" && request.target.contains("list-type=2") && settings.exists() {
            fs::write(&settings, r#"{"deleted":"another"}"#).unwrap();
        }
        Act::Forward
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 5).await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| config.variables = variables(proxy.address)).await;
    machine.store.mark_deleted("t").await.unwrap();
    let error = machine.store.delete_topic("t").await.unwrap_err();
    assert!(error.kind == Kind::Wait && error.message.contains("taken over"), "{error}");
    for object in &objects {
        assert!(bucket.file(&key(object.header.first_offset)).exists());
    }
}

#[tokio::test]
async fn a_deletion_that_ends_before_it_is_taken_over_is_not_taken_over() {
    let bucket = bucket().await;
    let settings = bucket.file(SETTINGS);
    // The other broker removes its marker after this one has read it; the objects are those of a new topic then.
    let rule = move |request: &crate::http::Request| {
        if request.method == "PUT" && request.target.contains("settings.json") {
            assert!(request.header("if-match").is_some(), "{}", request.head);
            fs::remove_file(&settings).unwrap();
        }
        Act::Forward
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let one = Machine::new(&bucket).await;
    let objects = commit_some(&one.store, "t", 5).await;
    one.store.mark_deleted("t").await.unwrap();
    let two = Machine::through(&bucket, proxy.address).await;
    two.store.delete_topic("t").await.unwrap();
    assert!(!bucket.file(SETTINGS).exists());
    assert_holds(&one.store, "t", &objects, "the new topic's objects").await;
}

#[tokio::test]
async fn keys_of_others_stay_when_a_topic_is_deleted() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    commit_some(&machine.store, "t", 5).await;
    machine.store.put_settings("t", Bytes::from_static(b"{}")).await.unwrap();
    fs::write(bucket.file("some/prefix/t/notes.txt"), "mine").unwrap();
    machine.store.mark_deleted("t").await.unwrap();
    machine.store.delete_topic("t").await.unwrap();
    assert_eq!(fs::read(bucket.file("some/prefix/t/notes.txt")).unwrap(), b"mine");
    assert!(machine.list().await.is_empty() && !bucket.file(SETTINGS).exists());
}
