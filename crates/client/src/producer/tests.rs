//! Tests a producer in which an internal check fails.

use super::requests::StopOnPanic;
use super::state::Shared;
use super::{ProducerConfig, Receipt};
use crate::{ClientError, SystemEnvironment};
use rawline_batch::Limits;
use std::sync::Arc;

fn shared() -> Arc<Shared> {
    let environment = Arc::new(SystemEnvironment);
    Arc::new(Shared::new("t".to_owned(), ProducerConfig::default(), Limits::default(), environment))
}

fn take(shared: &Shared, record: &[u8]) -> Result<Receipt, ClientError> {
    shared.take(&mut shared.lock(), record).map(|receipt| receipt.unwrap())
}

#[tokio::test]
async fn a_task_that_panics_leaves_nobody_waiting() {
    let shared = shared();
    let in_flight = take(&shared, b"in flight").unwrap();
    shared.seal(&mut shared.lock()).unwrap();
    shared.lock().sealed.clear();
    let sealed = take(&shared, b"sealed").unwrap();
    shared.seal(&mut shared.lock()).unwrap();
    let open = take(&shared, b"open").unwrap();
    let stops = StopOnPanic(shared.clone());
    let task = tokio::spawn(async move {
        let _stops = stops;
        panic!("a check failed");
    });
    assert!(task.await.unwrap_err().is_panic());
    for receipt in [in_flight, sealed, open] {
        let error = receipt.offset().await.unwrap_err();
        assert!(matches!(&error, ClientError::Stopped { reason } if reason.contains("internal check")), "{error}");
    }
    assert!(take(&shared, b"later").is_err());
}

#[tokio::test]
async fn a_request_that_outlives_its_producer_changes_no_result() {
    let shared = shared();
    let receipt = take(&shared, b"record").unwrap();
    shared.seal(&mut shared.lock()).unwrap();
    let batch = shared.lock().sealed.pop_front().unwrap();
    shared.lock().abandon(ClientError::Stopped { reason: "dropped".to_owned() });
    shared.lock().resolve(&batch.delivery, Ok(7));
    assert_eq!(receipt.offset().await, Err(ClientError::Stopped { reason: "dropped".to_owned() }));
}

#[test]
#[should_panic(expected = "a batch got a second result")]
fn a_batch_gets_one_result() {
    let shared = shared();
    take(&shared, b"record").unwrap();
    shared.seal(&mut shared.lock()).unwrap();
    let batch = shared.lock().sealed.pop_front().unwrap();
    shared.lock().resolve(&batch.delivery, Ok(0));
    shared.lock().resolve(&batch.delivery, Ok(1));
}
