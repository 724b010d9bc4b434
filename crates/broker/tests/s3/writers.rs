//! Lost responses.

use crate::machine::{Machine, first};
use rawline_journal::PutResult;
use rawline_testkit::http::{Act, Proxy};
use rawline_testkit::s3_server::bucket;
use rawline_testkit::stores::{assert_holds, object};

#[tokio::test]
async fn a_put_whose_answer_was_lost_is_not_taken_for_one_that_failed() {
    let bucket = bucket().await;
    let rule = first(1, |request| request.is_for_object("PUT"), Act::LoseAnswer);
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let (store, object) = (machine.store.journal(), object(1, 1, 3));
    assert_eq!(store.create(object.source(), object.parts()).await, PutResult::Unknown);
    assert_eq!(store.create(object.source(), object.parts()).await, PutResult::Exists);
    assert_eq!(proxy.count("PUT"), 2, "each is one request");
    assert_holds(&machine.store, &[object], "s3").await;
}
