//! Commits to one offset: races between writers, lost responses, offsets that others deleted.

use crate::http::{Act, Proxy};
use crate::machine::{CACHE_BYTES, Machine, first, key};
use futures_util::future::join_all;
use rawline_broker::Kind;
use rawline_broker::store::{CommitError, Store};
use rawline_testkit::s3_server::{bucket, variables};
use rawline_testkit::stores::{assert_holds, bytes_of, commit_some, object, object_of};
use std::fs;
use std::time::Duration;

#[tokio::test]
async fn of_two_writers_at_one_offset_one_wins() {
    let bucket = bucket().await;
    let machines = [Machine::new(&bucket).await, Machine::new(&bucket).await];
    for round in 0..30 {
        let objects = [object_of(round, 1, 1, 50, 1), object_of(round, 1, 1, 60, 2)];
        let commits = machines.iter().zip(&objects).map(|(machine, object)| machine.store.commit("t", object.clone()));
        let ended = join_all(commits).await;
        let winner = ended.iter().position(Result::is_ok).expect("one wins");
        assert!(matches!(ended[1 - winner], Err(CommitError::Exists)), "{ended:?}");
        for machine in &machines {
            let listed = machine.store.list("t", round).await.unwrap();
            assert_eq!(listed.len(), 1);
            assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&objects[winner]));
        }
    }
}

#[tokio::test]
async fn a_put_whose_answer_was_lost_counts_once() {
    let bucket = bucket().await;
    let rule = first(1, |request| request.is_for_object("PUT"), Act::LoseAnswer);
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let objects = commit_some(&machine.store, "t", 2).await;
    assert_eq!(proxy.count("PUT"), 3, "the first was retried");
    assert_holds(&machine.store, "t", &objects, "s3").await;
}

#[tokio::test]
async fn an_object_of_another_is_not_taken_for_one_whose_answer_was_lost() {
    let bucket = bucket().await;
    let rule = first(1, |request| request.is_for_object("PUT"), Act::Hang);
    let proxy = Proxy::start(bucket.address, rule).await;
    let other = Machine::new(&bucket).await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| {
        config.variables = variables(proxy.address);
        config.request_timeout = Duration::from_millis(500);
    })
    .await;
    // Equal in all but the writer.
    let objects = [object_of(0, 1, 3, 20, 1), object_of(0, 1, 3, 20, 2)];
    let (mine, theirs) =
        tokio::join!(machine.store.commit("t", objects[0].clone()), other.store.commit("t", objects[1].clone()),);
    theirs.unwrap();
    assert!(matches!(mine, Err(CommitError::Exists)), "{mine:?}");
    assert_holds(&machine.store, "t", &objects[1..], "s3").await;
}

#[tokio::test]
async fn a_writer_whose_offset_was_deleted_meanwhile_learns_that_it_is_old() {
    let bucket = bucket().await;
    // The 412 comes from here, so that the object can be gone by then.
    let rule =
        first(1, |request| request.is_for_object("PUT"), Act::Refuse("412 Precondition Failed", "PreconditionFailed"));
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let ended = machine.store.commit("t", object(0, 1, 3)).await;
    assert!(matches!(ended, Err(CommitError::Exists)), "{ended:?}");
    assert!(!bucket.file(&key(0)).exists());
}

#[tokio::test]
async fn a_topic_that_is_deleted_in_the_bucket_under_a_broker_is_not_continued_at_its_old_end() {
    let bucket = bucket().await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| config.newest_check = Duration::ZERO).await;
    let objects = commit_some(&machine.store, "t", 3).await;
    fs::rename(bucket.file("some/prefix/t"), bucket.file("some/aside")).unwrap();
    let Err(CommitError::Store(error)) = machine.store.commit("t", object(9, 1, 3)).await else { panic!() };
    assert!(error.kind == Kind::TellHuman && error.message.contains("deleted the topic in the bucket"), "{error}");
    assert!(!bucket.file(&key(9)).exists());
    fs::rename(bucket.file("some/aside"), bucket.file("some/prefix/t")).unwrap();
    machine.store.commit("t", object(9, 1, 3)).await.unwrap();
    // Another broker writes more and deletes the front: this one is late, and nothing was deleted under it.
    let other = Machine::new(&bucket).await;
    other.store.commit("t", object(12, 1, 3)).await.unwrap();
    other.store.commit("t", object(15, 1, 3)).await.unwrap();
    other.store.delete_before("t", 15).await.unwrap();
    let late = machine.store.commit("t", object(12, 1, 3)).await;
    assert!(matches!(late, Err(CommitError::Exists)), "{late:?}");
    drop(objects);
}
