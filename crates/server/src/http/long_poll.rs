//! Waits for records on behalf of a read, as long as that harms no other client.

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::net::peer::Peer;
use futures_util::FutureExt;
use rawline_broker::Partition;
use rawline_contract::code;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// A wait is never longer. A client that wants to wait longer sends the next request; one that is gone without a trace
/// is noticed then.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(300);

/// How many of the connections may hold a wait: an eighth of them, at least one, is left for other requests.
pub(crate) fn waits_max(connections_max: usize) -> usize {
    let reserved = (connections_max / 8).max(1);
    connections_max.saturating_sub(reserved).max(1)
}

/// Waits until the record at `offset` exists, `wait` is over, the caller's key is changed, the client is gone or the
/// broker shuts down. In each case the handler returns the available records, if the caller may still read them: see
/// [`renewed`](crate::http::auth::renewed).
pub(crate) async fn wait(
    api: &Api,
    peer: &Peer,
    caller: &Caller,
    partition: &Partition,
    offset: u64,
    wait: Duration,
) -> Result<(), ApiError> {
    let mut arrival = pin!(partition.wait(offset, wait.min(WAIT_MAX)));
    if (&mut arrival).now_or_never().is_some() {
        return Ok(());
    }
    let _permit = api.waits.try_acquire().map_err(|_| {
        let message = "too many requests wait for records; retry, with a shorter timeout or fewer connections";
        ApiError::new(code::WAITS_TOO_MANY, message)
    })?;
    let mut stopping = api.stopping.clone();
    tokio::select! {
        () = arrival => {}
        () = caller.ended() => {}
        () = peer.gone() => {}
        () = stopped(&mut stopping) => {}
    }
    Ok(())
}

/// The permission of a connection that waits for records until it ends: it counts like a request that waits.
pub(crate) fn connection_permit(api: &Api) -> Result<OwnedSemaphorePermit, ApiError> {
    api.waits.clone().try_acquire_owned().map_err(|_| {
        let message = "too many connections wait for records; retry, or use fewer connections";
        ApiError::new(code::WAITS_TOO_MANY, message)
    })
}

/// Waits until the broker shuts down.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A dropped sender means shutdown too.
    let _ = stopping.wait_for(|&stop| stop).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_connections_are_left_for_requests_that_do_not_wait() {
        assert_eq!([1, 2, 8, 9, 1024].map(waits_max), [1, 1, 7, 8, 896]);
    }
}
