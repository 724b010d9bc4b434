//! The small appends of a connection that have no response yet: begun in the order in which they arrive, answered in
//! the same order.
//!
//! ```text
//! begin ─► appends: stored by the broker, in any number of commits ─► respond: those at the front that are done
//! ```

use super::encode::Responses;
use super::head::SmallAppend;
use crate::http::api::Api;
use crate::http::append::store;
use crate::http::error::ApiError;
use crate::metrics::{Protocol, Verb};
use crate::net::peer::Peer;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, MaybeDone};
use http::StatusCode;
use rawline_batch::Checker;
use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::{Gathered, PoolError, Reservation};
use rawline_broker::{Partition, Received, stage};
use rawline_contract::Appended;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum number of appends in flight on a connection, beyond which no more are read: those in flight of a client that
/// shares the connection among its callers. Each holds at most one block of the pool.
const IN_FLIGHT_MAX: usize = 64;

/// The appends of a connection that have no response yet, in order.
pub(super) struct InFlight<'a> {
    api: &'a Api,
    peer: &'a Peer,
    appends: VecDeque<Pending<'a>>,
    /// A block for the next ones.
    room: Option<Reservation>,
}

struct Pending<'a> {
    since: Instant,
    storing: MaybeDone<BoxFuture<'a, Result<Appended, ApiError>>>,
}

impl<'a> InFlight<'a> {
    pub fn new(api: &'a Api, peer: &'a Peer) -> InFlight<'a> {
        InFlight { api, peer, appends: VecDeque::new(), room: None }
    }

    pub fn is_empty(&self) -> bool {
        self.appends.is_empty()
    }

    /// Whether appends can begin next to those in flight. If not, they wait until some of these have their responses:
    /// they wait in no other line, so that the responses of earlier ones don't wait for buffers.
    pub async fn has_room(&mut self) -> bool {
        if self.appends.len() >= IN_FLIGHT_MAX {
            return false;
        }
        if self.room.is_none() {
            self.room = self.peer.holder.reserve(BLOCK_BYTES as u64, Duration::ZERO).await.ok();
        }
        self.room.is_some()
    }

    /// Begins to store these appends, in order and after those that are in flight.
    pub async fn begin(&mut self, appends: &[SmallAppend<'_>]) {
        let since = Instant::now();
        let bodies = match self.gather(appends).await {
            Ok(bodies) => bodies,
            Err(error) => {
                let refused = || MaybeDone::Done(Err(ApiError::from(error.clone())));
                self.appends.extend(appends.iter().map(|_| Pending { since, storing: refused() }));
                return;
            }
        };
        for (append, body) in appends.iter().zip(bodies) {
            let mut storing = match check(self.api, append, body).await {
                Ok((partition, received)) => {
                    let api = self.api;
                    MaybeDone::Future(async move { store(api, Protocol::Http, &partition, received).await }.boxed())
                }
                Err(error) => MaybeDone::Done(Err(error)),
            };
            // The first poll hands it to the task that orders the appends.
            let _ = Pin::new(&mut storing).now_or_never();
            self.appends.push_back(Pending { since, storing });
        }
    }

    /// Copies the bodies into one buffer of the pool.
    async fn gather(&mut self, appends: &[SmallAppend<'_>]) -> Result<Vec<Bytes>, PoolError> {
        let bytes = appends.iter().map(|append| append.body.len()).sum::<usize>();
        assert!(bytes <= BLOCK_BYTES, "{} small appends have {bytes} bytes", appends.len());
        let reservation = match self.room.take() {
            Some(room) => room,
            None => self.peer.holder.reserve(bytes as u64, self.api.config.pool_wait).await?,
        };
        let mut gathered = Gathered::new(reservation);
        for append in appends {
            assert!(gathered.push(append.body), "{} of {bytes} bytes had room", gathered.bytes());
        }
        let mut all = gathered.freeze().pop().unwrap_or_default();
        Ok(appends.iter().map(|append| all.split_to(append.body.len())).collect())
    }

    /// Waits until the first append has its result. Cancel-safe.
    pub async fn first(&mut self) {
        if let Some(first) = self.appends.front_mut() {
            poll_fn(|context| Pin::new(&mut first.storing).poll_unpin(context)).await;
        }
    }

    /// Makes the responses to the first appends, as far as they are known. Returns whether the connection ends after
    /// them.
    pub fn respond(&mut self, responses: &mut Responses) -> bool {
        let mut results = Vec::with_capacity(self.appends.len());
        while let Some(first) = self.appends.front_mut() {
            let _ = Pin::new(&mut first.storing).now_or_never();
            let Some(result) = Pin::new(&mut first.storing).take_output() else { break };
            results.push((first.since, result));
            self.appends.pop_front();
        }
        stage!("stored");
        let api = self.api;
        let is_closing = self.appends.is_empty() && *api.closing.borrow();
        responses.begin(&*api.clock, is_closing, results.len());
        let now = Instant::now();
        for (since, result) in results {
            match result {
                Ok(appended) => {
                    api.metrics.responded(Verb::Append, StatusCode::CREATED, now - since);
                    responses.appended(&appended);
                }
                Err(error) => {
                    let response = error.into_response();
                    api.metrics.responded(Verb::Append, response.status(), now - since);
                    responses.push(response);
                }
            }
        }
        stage!("response made");
        is_closing
    }
}

/// Checks one append, and finds its partition.
async fn check(api: &Api, append: &SmallAppend<'_>, body: Bytes) -> Result<(Arc<Partition>, Received), ApiError> {
    let partition = api.broker.partition_or_create(append.topic, append.partition).await?;
    let mut checker = Checker::new(api.config.batch_limits);
    checker.push(&body)?;
    let received = Received::new(vec![body], checker)?;
    let received = match append.epoch {
        Some(epoch) => received.exactly_once(epoch)?,
        None => received,
    };
    stage!("checked");
    Ok((partition, received))
}
