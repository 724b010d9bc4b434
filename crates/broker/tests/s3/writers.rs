//! Two writers of one object, and lost responses.

use crate::http::{Act, Proxy};
use crate::machine::{Machine, first};
use futures_util::future::join_all;
use rawline_journal::PutResult;
use rawline_testkit::s3_server::bucket;
use rawline_testkit::stores::{RUN, assert_holds, journal, object, object_of};

#[tokio::test]
async fn of_two_writers_of_one_object_one_wins() {
    let bucket = bucket().await;
    let machines = [Machine::new(&bucket).await, Machine::new(&bucket).await];
    for number in 1..=30 {
        let objects = [object_of(RUN, number, 1, 1, 50), object_of(RUN + 1, number, 1, 1, 60)];
        let creates = machines
            .iter()
            .zip(&objects)
            .map(|(machine, object)| journal(&machine.store).create(object.source(), object.parts()));
        let ended = join_all(creates).await;
        let winner = ended.iter().position(|ended| matches!(ended, PutResult::Created { .. })).expect("one wins");
        assert_eq!(ended[1 - winner], PutResult::Exists, "{ended:?}");
        for machine in &machines {
            assert_eq!(machine.read(&objects[winner]).await.unwrap(), objects[winner].batches);
        }
    }
}

#[tokio::test]
async fn a_put_whose_answer_was_lost_is_not_taken_for_one_that_failed() {
    let bucket = bucket().await;
    let rule = first(1, |request| request.is_for_object("PUT"), Act::LoseAnswer);
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let (store, object) = (journal(&machine.store), object(1, 1, 3));
    assert_eq!(store.create(object.source(), object.parts()).await, PutResult::Unknown);
    assert_eq!(store.create(object.source(), object.parts()).await, PutResult::Exists);
    assert_eq!(proxy.count("PUT"), 2, "each is one request");
    assert_holds(&machine.store, &[object], "s3").await;
}
