//! The appends that have arrived together on a connection: stored together, answered together.

use super::encode::{self, DateText};
use super::head::SmallAppend;
use crate::http::Api;
use crate::http::append::store;
use crate::http::error::ApiError;
use crate::http::response::{self, ApiResponse};
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

/// Stores the appends in order, and returns the responses.
pub(super) async fn exchange(api: &Api, peer: &Peer, appends: &[SmallAppend<'_>], date: &mut DateText) -> Vec<u8> {
    let began = Instant::now();
    let responses = match gather(api, peer, appends).await {
        Ok(bodies) => store_all(api, appends, bodies).await,
        Err(error) => {
            let refuse = |_| ApiError::from(error.clone()).into_response();
            appends.iter().map(refuse).collect()
        }
    };
    stage!("stored");
    let is_closing = *api.closing.borrow();
    let date = date.now(&*api.clock);
    let mut bytes = Vec::with_capacity(256 * responses.len());
    for response in responses {
        api.metrics.responded(LABEL_APPEND, response.status(), began.elapsed());
        encode::response(response, date, is_closing, &mut bytes);
    }
    bytes
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

/// The response to each append. All are handed to the broker before the first is waited for.
async fn store_all(api: &Api, appends: &[SmallAppend<'_>], bodies: Vec<Bytes>) -> Vec<ApiResponse> {
    if let ([append], [body]) = (appends, &bodies[..]) {
        let appended = match begin(api, append, body.clone()).await {
            Ok(storing) => storing.await,
            Err(error) => Err(error),
        };
        return vec![answer(appended)];
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
    let mut responses = Vec::with_capacity(storing.len());
    for mut one in storing {
        one.as_mut().await;
        let Some(appended) = one.as_mut().take_output() else { unreachable!("an append without a result") };
        responses.push(answer(appended));
    }
    responses
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

fn answer(appended: Result<Appended, ApiError>) -> ApiResponse {
    match appended {
        Ok(appended) => response::json(StatusCode::CREATED, &appended),
        Err(error) => error.into_response(),
    }
}
