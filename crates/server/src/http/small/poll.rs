//! A read of batches at a partition's end, which waits for records: the state of a connection that waits is this,
//! without the HTTP library's buffers.
//!
//! Whatever needs more than a few batches as they are stored is left to the library, which sees the same request: other
//! kinds of batches, errors, and many records.

use super::Connection;
use super::encode::Responses;
use super::head::Poll;
use crate::access::{Caller, Operation};
use crate::http::api::Api;
use crate::http::auth::{self, Session};
use crate::http::error::ApiError;
use crate::http::{browser, long_poll, response};
use crate::metrics::{Protocol, Verb};
use crate::net::commit_thread::DELIVERY_BYTES_MAX;
use crate::net::peer::Peer;
use crate::net::pieces::write_pieces;
use bytes::Bytes;
use http::StatusCode;
use rawline_broker::metrics::Crossing;
use rawline_broker::{BatchKind, Partition, ReadRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::time::Instant;

/// How many records a request may be late by that is served here: those that arrived since the response before it.
const LATE_MAX: u64 = 64;

/// Whether this request is for the partition's end, as far as this broker knows: only then it leaves the library.
pub(super) fn waits(api: &Api, poll: &Poll<'_>) -> bool {
    let known = api.broker.known_partition(poll.topic, poll.partition);
    !poll.wait.is_zero() && known.is_some_and(|partition| is_at_end(&partition, poll.offset))
}

fn is_at_end(partition: &Partition, offset: u64) -> bool {
    partition.bounds().next_offset.checked_sub(offset).is_some_and(|late| late <= LATE_MAX)
}

/// What has become of a request.
pub(super) enum Polled {
    /// It has its response.
    Done {
        /// Whether the connection ends after it.
        is_closing: bool,
        /// Whether more records would fit into a response of the library.
        is_large: bool,
    },
    /// The library has to serve it.
    Left,
    /// The connection has ended.
    Closed,
}

/// A request that may be served here.
pub(super) struct Admitted {
    caller: Arc<Caller>,
    partition: Arc<Partition>,
    wanted: ReadRequest,
    wait: Duration,
    /// Length of the request in bytes.
    pub bytes: usize,
}

/// The request, if it is at the partition's end and may be sent here, as `respond.rs` decides it for all others.
pub(super) async fn admit(api: &Api, session: &Session, poll: &Poll<'_>) -> Option<Admitted> {
    let access = &api.config.access;
    let caller = if access.is_open() {
        if api.is_local && !browser::is_loopback(poll.host) {
            return None;
        }
        access.anyone()
    } else {
        let caller = session.caller(access, poll.authorization).ok()?;
        if !caller.grants().allows(Operation::Read, poll.topic) || !caller.read_wait().is_zero() {
            return None;
        }
        caller
    };
    let partition = api.broker.partition(poll.topic, poll.partition).await.ok()?;
    if !is_at_end(&partition, poll.offset) {
        return None;
    }
    let Poll { offset, records_max, bytes_max, wait, bytes, .. } = *poll;
    let bytes_max = if bytes_max == 0 { DELIVERY_BYTES_MAX } else { bytes_max.min(DELIVERY_BYTES_MAX) };
    let wanted = ReadRequest { offset, records_max, bytes_max, wait: Duration::ZERO, verify: false };
    Some(Admitted { caller, partition, wanted, wait, bytes })
}

impl Admitted {
    /// Waits for records, and sends them.
    pub async fn serve<S: AsyncWrite + Unpin>(
        self,
        api: &Api,
        Connection { peer, activity, deliveries, .. }: Connection<'_>,
        stream: &mut S,
        responses: &mut Responses,
    ) -> Polled {
        let Admitted { caller, partition, wanted, wait, .. } = self;
        let since = Instant::now();
        if !activity.begin() {
            return Polled::Closed;
        }
        activity.crosses(Crossing::between(&[], api.broker.zone()));
        let found = read(api, peer, &caller, &partition, &wanted, wait).await;
        activity.end(false);
        let Some(found) = found else { return Polled::Left };
        let is_closing = *api.closing.borrow();
        responses.begin(&*api.clock, is_closing, 1);
        let mut is_large = false;
        let (status, pieces) = match found {
            Ok(Found { first_offset, end_offset, next_offset, pieces }) => {
                let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
                api.metrics.returned(Protocol::Http, end_offset - first_offset, bytes);
                caller.read(bytes);
                deliveries.note(bytes);
                is_large = bytes >= DELIVERY_BYTES_MAX;
                responses.records(first_offset, next_offset, bytes);
                (if bytes > 0 { StatusCode::OK } else { StatusCode::NO_CONTENT }, pieces)
            }
            Err(error) => {
                let response = error.into_response();
                let status = response.status();
                responses.push(response);
                (status, Vec::new())
            }
        };
        api.metrics.responded(Verb::Read, status, since.elapsed());
        activity.begin_message(false);
        let head = Bytes::copy_from_slice(responses.bytes());
        if write_pieces(stream, std::iter::once(head).chain(pieces).collect()).await.is_err() {
            return Polled::Closed;
        }
        Polled::Done { is_closing, is_large }
    }
}

/// Records as they are stored.
struct Found {
    first_offset: u64,
    end_offset: u64,
    next_offset: u64,
    pieces: Vec<Bytes>,
}

/// Waits for records and reads them, or says why they can't be read; `None` if the library has to respond.
async fn read(
    api: &Api,
    peer: &Peer,
    caller: &Arc<Caller>,
    partition: &Partition,
    wanted: &ReadRequest,
    wait: Duration,
) -> Option<Result<Found, ApiError>> {
    long_poll::wait(api, peer, caller, partition, wanted.offset, wait).await.ok()?;
    let renewed = auth::renewed(api, caller).ok()?;
    renewed.grants().topic(Operation::Read, partition.topic_name()).ok()?;
    let read = match partition.read(wanted).await {
        Ok(read) => read,
        Err(error) => return Some(Err(error.into())),
    };
    if read.kind != BatchKind::Rawline {
        return None;
    }
    let (first_offset, end_offset, next_offset) = (read.first_offset, read.end_offset, read.next_offset);
    let pieces = response::batches(read).into_iter().filter(|piece| !piece.is_empty()).collect();
    Some(Ok(Found { first_offset, end_offset, next_offset, pieces }))
}
