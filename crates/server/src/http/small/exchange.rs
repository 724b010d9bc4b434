//! The appends that have arrived together on a connection: stored together, answered together.

use super::encode::Responses;
use super::head::SmallAppend;
use crate::http::Api;
use crate::http::append::store;
use crate::http::error::ApiError;
use crate::http::routes::LABEL_APPEND;
use crate::net::peer::Peer;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{Either, MaybeDone, maybe_done, ready};
use http::StatusCode;
use rawline_batch::Checker;
use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::Gathered;
use rawline_broker::{Received, stage};
use rawline_contract::Appended;
use std::pin::Pin;
use tokio::time::Instant;

/// Stores the appends in order, and makes the responses.
pub(super) async fn exchange(api: &Api, peer: &Peer, appends: &[SmallAppend<'_>], responses: &mut Responses) {
    let began = Instant::now();
    let results = match gather(api, peer, appends).await {
        Ok(bodies) => store_all(api, appends, bodies).await,
        Err(error) => appends.iter().map(|_| Err(ApiError::from(error.clone()))).collect(),
    };
    stage!("stored");
    responses.begin(&*api.clock, *api.closing.borrow(), results.len());
    let took = began.elapsed();
    for result in results {
        match result {
            Ok(appended) => {
                api.metrics.responded(LABEL_APPEND, StatusCode::CREATED, took);
                responses.appended(&appended);
            }
            Err(error) => {
                let response = error.into_response();
                api.metrics.responded(LABEL_APPEND, response.status(), took);
                responses.push(response);
            }
        }
    }
}

/// Copies the bodies into one buffer of the pool.
async fn gather(
    api: &Api,
    peer: &Peer,
    appends: &[SmallAppend<'_>],
) -> Result<Vec<Bytes>, rawline_broker::pool::PoolError> {
    let bytes = appends.iter().map(|append| append.body.len()).sum::<usize>();
    assert!(bytes <= BLOCK_BYTES, "{} small appends have {bytes} bytes", appends.len());
    let mut gathered = Gathered::new(peer.holder.reserve(bytes as u64, api.config.pool_wait).await?);
    for append in appends {
        assert!(gathered.push(append.body), "{} of {bytes} bytes had room", gathered.bytes());
    }
    let mut all = gathered.freeze().pop().unwrap_or_default();
    Ok(appends.iter().map(|append| all.split_to(append.body.len())).collect())
}

/// The result of each append. All are handed to the broker before the first is waited for.
async fn store_all(api: &Api, appends: &[SmallAppend<'_>], bodies: Vec<Bytes>) -> Vec<Result<Appended, ApiError>> {
    // The usual case, for which a list of futures would cost too much.
    if let ([append], [body]) = (appends, &bodies[..]) {
        return vec![match begin(api, append, body.clone()).await {
            Ok(storing) => storing.await,
            Err(error) => Err(error),
        }];
    }
    let mut storing: Vec<Pin<Box<MaybeDone<_>>>> = Vec::with_capacity(appends.len());
    for (append, body) in appends.iter().zip(bodies) {
        let mut one = Box::pin(maybe_done(match begin(api, append, body).await {
            Ok(storing) => Either::Left(storing),
            Err(error) => Either::Right(ready(Err(error))),
        }));
        // The first poll hands it to the task that orders the appends.
        let _ = one.as_mut().now_or_never();
        storing.push(one);
    }
    let mut results = Vec::with_capacity(storing.len());
    for mut one in storing {
        one.as_mut().await;
        let Some(result) = one.as_mut().take_output() else { unreachable!("an append without a result") };
        results.push(result);
    }
    results
}

/// Checks one append; its future stores it.
async fn begin(
    api: &Api,
    append: &SmallAppend<'_>,
    body: Bytes,
) -> Result<impl Future<Output = Result<Appended, ApiError>>, ApiError> {
    let partition = api.broker.partition_or_create(append.topic, append.partition).await?;
    let mut checker = Checker::new(api.config.batch_limits);
    checker.push(&body)?;
    let received = Received::new(vec![body], checker)?;
    let received = match append.epoch {
        Some(epoch) => received.exactly_once(epoch)?,
        None => received,
    };
    stage!("checked");
    Ok(async move { store(api, &partition, received).await })
}
