//! Small appends and reads that wait, without the HTTP library: they are recognized in the connection's buffer. Appends
//! are handed to the broker while earlier ones are being stored, and responses that are known together are written with
//! one call.
//!
//! A request of one record costs the broker as much as one of a megabyte, apart from its bytes. Most of it was not the
//! log but the general case of HTTP: a map of headers, a channel for the body, timers, and one request after the other.
//! Whatever else arrives goes to the library, with the bytes that have arrived (`head.rs`), and the connection comes
//! back when the next such request arrives (`crate::http::connection`).

mod encode;
mod head;
mod in_flight;
mod poll;

use crate::access::{Caller, Operation};
use crate::http::api::Api;
use crate::http::auth::Session;
use crate::http::browser;
use crate::net::activity::Activity;
use crate::net::commit_thread::SmallDeliveries;
use crate::net::peer::Peer;
use crate::net::read_size::SMALL;
use encode::Responses;
use head::{Found, SmallAppend};
use in_flight::InFlight;
use poll::Polled;
use rawline_batch::{Header, Limits};
use rawline_broker::metrics::Crossing;
use rawline_broker::{CommitThread, is_named_id, stage};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// Size of a connection's buffer in bytes, which is read at once, and the limit of a small append with its head.
const BUFFER_BYTES: usize = SMALL;

/// How long the rest of a body is waited for: many clients send it after the head. The library waits for slower ones,
/// and for how long depends on the broker's other work.
const BODY_WAIT: Duration = Duration::from_millis(20);

/// A connection, apart from its stream.
#[derive(Clone, Copy)]
pub(crate) struct Connection<'a> {
    pub peer: &'a Peer,
    pub session: &'a Session,
    pub activity: &'a Activity,
    /// To reads that wait.
    pub deliveries: &'a SmallDeliveries,
}

/// The kind of a request that is served here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Append,
    /// A read that waits.
    Poll,
}

/// The kind of request with which these bytes begin, if it is served here. Of an append, not more than the body may be
/// missing.
pub(crate) fn kind(api: &Api, received: &[u8]) -> Option<Kind> {
    match head::find(received, BUFFER_BYTES) {
        Found::Append(_) | Found::Partial { is_head_whole: true } => Some(Kind::Append),
        Found::Poll(poll) => poll::waits(api, &poll).then_some(Kind::Poll),
        Found::Partial { is_head_whole: false } | Found::Other => None,
    }
}

/// Where the connection is served next, with its received bytes.
pub(crate) enum Rest {
    /// By the library.
    Library(Vec<u8>),
    /// By the library, for a while also reads that wait: this one has many records, or needs more than is done here.
    Reads(Vec<u8>),
    /// Here, on the other runtime; on the commit thread if these begin with an append, or with a place there.
    Moves(Vec<u8>, Option<OwnedSemaphorePermit>),
}

/// The requests that are served where the connection is.
pub(crate) struct Takes<'a> {
    pub appends: bool,
    pub polls: bool,
    /// The commit thread, unless this is it.
    pub elsewhere: Option<&'a CommitThread>,
}

/// Serves small appends and reads that wait until another request arrives. Returns the received bytes of that, or
/// `None` when the connection is to be closed. `front` has arrived already. Appends are read and begun while earlier
/// ones are being stored: on a bucket, a connection that many callers share would otherwise give each commit one buffer
/// of requests.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    api: &Api,
    connection: Connection<'_>,
    stream: &mut S,
    front: Vec<u8>,
    takes: Takes<'_>,
) -> Option<Rest> {
    let Connection { peer, session, activity, deliveries } = connection;
    let mut responses = Responses::default();
    let mut in_flight = InFlight::new(api, peer);
    let (mut received, mut is_at_end, mut are_large) = (front, false, false);
    loop {
        if in_flight.is_empty() && received.first() == Some(&b'G') {
            let found = head::find(&received, BUFFER_BYTES);
            let Found::Poll(poll) = found else { return Some(Rest::Library(received)) };
            match takes.elsewhere {
                _ if !takes.polls => return Some(Rest::Library(received)),
                _ if are_large => return Some(Rest::Reads(received)),
                Some(thread) if deliveries.are_usual() => {
                    if let Some(place) = thread.reader() {
                        return Some(Rest::Moves(received, Some(place)));
                    }
                }
                _ => {}
            }
            let Some(admitted) = poll::admit(api, session, &poll).await else { return Some(Rest::Reads(received)) };
            let bytes = admitted.bytes;
            // A connection that waits for a long time keeps no more than its request.
            received.shrink_to_fit();
            match admitted.serve(api, connection, stream, &mut responses).await {
                Polled::Done { is_closing: false, is_large } => {
                    received.drain(..bytes);
                    are_large = is_large;
                }
                Polled::Left => return Some(Rest::Reads(received)),
                Polled::Done { is_closing: true, .. } | Polled::Closed => return None,
            }
            continue;
        }
        if !takes.appends && received.first() == Some(&b'P') {
            return Some(Rest::Moves(received, None));
        }
        let next = begin(api, session, activity, &mut in_flight, &mut received).await?;
        let (reads, wait) = match next {
            Next::Partial { is_head_whole } => {
                (!is_at_end, (is_head_whole && in_flight.is_empty()).then_some(BODY_WAIT))
            }
            Next::Other | Next::Later => (false, None),
        };
        tokio::select! {
            biased;
            () = in_flight.first(), if !in_flight.is_empty() => {
                let is_closing = in_flight.respond(&mut responses);
                if in_flight.is_empty() {
                    activity.end(false);
                }
                activity.begin_message(false);
                stream.write_all(responses.bytes()).await.ok()?;
                stream.flush().await.ok()?;
                if is_closing {
                    return None;
                }
            }
            read = read(stream, &mut received, wait), if reads => match read {
                Some(Ok(0)) => is_at_end = true,
                Some(Ok(_)) => {}
                Some(Err(_)) => return None,
                None => return Some(Rest::Library(received)),
            },
            // The library responds to a truncated request.
            else => return (!received.is_empty()).then_some(Rest::Library(received)),
        }
    }
}

/// Begins the received appends. Returns the rest of the bytes; `None` if the connection is being closed.
async fn begin(
    api: &Api,
    session: &Session,
    activity: &Activity,
    in_flight: &mut InFlight<'_>,
    received: &mut Vec<u8>,
) -> Option<Next> {
    if !in_flight.is_empty() {
        // A connection that ends carries out nothing that it doesn't answer.
        let has_whole = matches!(head::find(received, BUFFER_BYTES), Found::Append(_));
        if *api.closing.borrow() || has_whole && !in_flight.has_room().await {
            return Some(Next::Later);
        }
    }
    let (appends, next) = arrived(api, session, received);
    if appends.is_empty() {
        return Some(next);
    }
    if in_flight.is_empty() && !activity.begin() {
        return None;
    }
    let zone = appends.last().and_then(|append| append.zone);
    activity.crosses(Crossing::between(zone.unwrap_or_default(), api.broker.zone()));
    stage!("received");
    let done = appends.iter().map(|append| append.bytes).sum::<usize>();
    in_flight.begin(&appends).await;
    drop(appends);
    received.drain(..done);
    Some(next)
}

/// Reads what fits into the buffer, and returns the number of bytes; `None` if nothing has arrived within `wait`.
/// Cancel-safe.
async fn read<S: AsyncRead + Unpin>(
    stream: &mut S,
    received: &mut Vec<u8>,
    wait: Option<Duration>,
) -> Option<io::Result<usize>> {
    let room = BUFFER_BYTES - received.len();
    received.reserve(room);
    let mut rest = stream.take(room as u64);
    let reading = rest.read_buf(received);
    match wait {
        Some(wait) => timeout(wait, reading).await.ok(),
        None => Some(reading.await),
    }
}

/// The kind of bytes after the received small appends.
enum Next {
    /// A request for the library.
    Other,
    /// Nothing, or a part of an append.
    Partial { is_head_whole: bool },
    /// Appends whose turn comes when some of those in flight have their responses.
    Later,
}

/// The small appends at the beginning of the received bytes, and the kind of the rest.
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
            Found::Append(_) | Found::Poll(_) | Found::Other => return (appends, Next::Other),
            Found::Partial { is_head_whole } => return (appends, Next::Partial { is_head_whole }),
        }
    }
}

/// Whether the request may be sent here, as `respond.rs` decides it for all others. What isn't admitted goes to
/// the library, which responds with the reason.
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
    let is_admitted = caller.grants().allows(Operation::Write, append.topic)
        && caller.append_wait().is_zero()
        && may_be_producer(api, &caller, append);
    if is_admitted {
        caller.appended(append.body.len() as u64);
    }
    is_admitted
}

/// Whether the caller may append in the name of the producer, if this broker knows the name.
fn may_be_producer(api: &Api, caller: &Caller, append: &SmallAppend<'_>) -> bool {
    if append.epoch.is_none() || caller.grants().is_every_producer() {
        return true;
    }
    // All batches of an exactly-once append have the same producer.
    let Some(header) = append.body.first_chunk() else { return false };
    let Ok(Header { producer_id, .. }) = Header::parse(header, &Limits::FORMAT) else { return false };
    let name = || api.broker.known_producer_name(producer_id);
    !is_named_id(producer_id) || name().is_some_and(|name| caller.grants().producer(&name).is_ok())
}
