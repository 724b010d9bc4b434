//! Small appends, without the HTTP library: they are recognized in the connection's buffer, those that have arrived
//! together are stored together, and their responses are written with one call.
//!
//! A request of one record costs the broker as much as one of a megabyte, apart from its bytes. Most of it was not the
//! log but the general case of HTTP: a map of headers, a channel for the body, timers, and one request after the other.
//! Whatever isn't a small append goes to the library, with the bytes that have arrived (`head.rs`), and the connection
//! comes back when the next small append arrives (`crate::net::handover`).

mod encode;
mod exchange;
mod head;

use crate::access::Operation;
use crate::http::auth::Session;
use crate::http::{Api, browser};
use crate::net::activity::Activity;
use crate::net::peer::Peer;
use crate::net::read_size::SMALL;
use encode::Responses;
use head::{Found, SmallAppend};
use rawline_broker::stage;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// Size of a connection's buffer in bytes, and the limit of a small append, its head included: what is read at once.
const BUFFER_BYTES: usize = SMALL;

/// How long the rest of a body is waited for: many clients send it after the head. The library waits for slower ones,
/// and for how long depends on what else the broker does.
const BODY_WAIT: Duration = Duration::from_millis(20);

/// Whether these bytes begin with a small append, of which not more than the body may be missing.
pub(crate) fn begins(received: &[u8]) -> bool {
    matches!(head::find(received, BUFFER_BYTES), Found::Append(_) | Found::Partial { is_head_whole: true })
}

/// Serves small appends until something else arrives. Returns what has arrived of that, or `None` when the connection
/// is to be closed. `front` has arrived already.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    api: &Api,
    peer: &Peer,
    session: &Session,
    activity: &Activity,
    stream: &mut S,
    front: Vec<u8>,
) -> Option<Vec<u8>> {
    let mut responses = Responses::default();
    let mut received = front;
    received.reserve(BUFFER_BYTES.saturating_sub(received.len()));
    loop {
        let (appends, next) = arrived(api, session, &received);
        if !appends.is_empty() {
            if !activity.begin() {
                return None;
            }
            stage!("received");
            let done = appends.iter().map(|append| append.bytes).sum::<usize>();
            exchange::exchange(api, peer, &appends, &mut responses).await;
            drop(appends);
            activity.end(false);
            stage!("response made");
            stream.write_all(responses.bytes()).await.ok()?;
            stream.flush().await.ok()?;
            received.drain(..done);
            if *api.closing.borrow() {
                return None;
            }
            continue;
        }
        let is_head_whole = match next {
            Next::Other => return Some(received),
            Next::Partial { is_head_whole } => is_head_whole,
        };
        let room = BUFFER_BYTES - received.len();
        let mut rest = (&mut *stream).take(room as u64);
        let reading = rest.read_buf(&mut received);
        let read = if is_head_whole { timeout(BODY_WAIT, reading).await.ok() } else { Some(reading.await) };
        match read {
            Some(Ok(0)) if received.is_empty() => return None,
            // The library has a response to a request that is cut off.
            Some(Ok(0)) | None => return Some(received),
            Some(Ok(_)) => {}
            Some(Err(_)) => return None,
        }
    }
}

/// What follows the small appends that have arrived.
enum Next {
    /// A request for the library.
    Other,
    /// Nothing, or a part of an append.
    Partial { is_head_whole: bool },
}

/// The small appends at the beginning of what has arrived, and what follows them.
fn arrived<'a>(api: &Api, session: &Session, received: &'a [u8]) -> (Vec<SmallAppend<'a>>, Next) {
    let mut appends = Vec::new();
    let mut rest = received;
    loop {
        match head::find(rest, BUFFER_BYTES) {
            _ if rest.is_empty() => return (appends, Next::Partial { is_head_whole: false }),
            Found::Append(append) if is_admitted(api, session, &append) => {
                let Some((_, after)) = rest.split_at_checked(append.bytes) else {
                    unreachable!("{append:?} in {} bytes", rest.len())
                };
                rest = after;
                appends.push(append);
            }
            Found::Append(_) | Found::Other => return (appends, Next::Other),
            Found::Partial { is_head_whole } => return (appends, Next::Partial { is_head_whole }),
        }
    }
}

/// Whether the request may be sent here, as `crate::http::admit` decides it for all others. What isn't admitted goes to
/// the library, which says why.
fn is_admitted(api: &Api, session: &Session, append: &SmallAppend<'_>) -> bool {
    let journal = || api.broker.journal_of(append.topic);
    let is_forwarded = api.broker.cluster().is_some_and(|cluster| cluster.is_owned_by_other(journal()));
    if is_forwarded || api.broker.is_read_only() || append.body.len() as u64 > api.config.request_bytes_max {
        return false;
    }
    let access = &api.config.access;
    if access.is_open() {
        return !api.is_local || browser::is_loopback(append.host);
    }
    let Ok(caller) = session.caller(access, append.authorization) else { return false };
    let is_admitted = caller.grants().allows(Operation::Write, append.topic) && caller.append_wait().is_zero();
    if is_admitted {
        caller.appended(append.body.len() as u64);
    }
    is_admitted
}
