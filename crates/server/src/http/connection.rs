//! One connection: the HTTP library serves all requests except small appends and reads that wait, which are served on
//! the commit thread.

use crate::http::api::Api;
use crate::http::auth::Session;
use crate::http::cluster::crossing;
use crate::http::limits::CONNECTION_BYTES;
use crate::http::respond::respond;
use crate::http::response::ApiResponse;
use crate::http::small::{self, Kind, Rest, Takes};
use crate::http::websocket::{Upgrade, WebSocket};
use crate::metrics::{self, OpenConnection};
use crate::net::activity::Activity;
use crate::net::commit_thread::{SmallDeliveries, there};
use crate::net::listen::{Accepted, Place};
use crate::net::pace::Paced;
use crate::net::peer::{Peer, SharedStream, network};
use crate::net::sendfile::FileSender;
use crate::net::stream;
use crate::net::tls::{Protocol, is_tls};
use bytes::{Buf, Bytes};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;

type Stream = Paced<stream::Stream>;

/// Serves a connection until its client or the broker closes it.
pub(super) async fn serve(api: Arc<Api>, Accepted { stream, address, place }: Accepted) {
    let counted = api.config.metrics.open(metrics::Protocol::Http);
    let (stream, mappings) = (SharedStream::new(stream), api.broker.mappings());
    let peer = Peer::new(stream.clone(), api.pool.holder(network(address.ip())), address.ip());
    let activity = place.open.activity.clone();
    let stream = match &api.config.tls {
        None => stream::Stream::Plain(FileSender::new(stream, mappings)),
        // On the heap: an open connection has no room for its handshake.
        Some(tls) => match Box::pin(tls.accept(Protocol::Http, stream, address, &activity, mappings)).await {
            Some(stream) => stream,
            None => return,
        },
    };
    let (pool, crowd, read_size) = (api.pool.clone(), api.crowd.clone(), api.large_reads.connection());
    let stream = Paced::new(stream, api.config.waits, activity.clone(), pool, crowd, Some(read_size));
    tokio::select! {
        () = take_turns(&api, &peer, &place, stream, counted) => {}
        () = activity.evicted() => tracing::debug!("closed an idle connection: another needs it, or the broker stops"),
    }
}

/// After a read that needs the library, it serves this many that wait.
const READS_OF_LIBRARY: u32 = 64;

async fn take_turns(api: &Arc<Api>, peer: &Peer, place: &Place, mut stream: Stream, counted: OpenConnection) {
    let (mut front, shared) = (Vec::new(), Arc::new(Shared::default()));
    loop {
        let (mut next, mut arrived) = match serve_library(api, peer, &shared, place, stream, front).await {
            Next::Small(stream, arrived) => (stream, arrived),
            Next::Upgrade(upgrade, stream, arrived) => {
                drop(counted);
                let _counted = api.config.metrics.open(metrics::Protocol::WebSocket);
                let socket = WebSocket::new(stream, &arrived, api.config.waits.refused_body);
                return upgrade.run(peer.clone(), socket).await;
            }
            Next::End => return,
        };
        let mut reader = None;
        (stream, front) = loop {
            let served = serve_small(api, peer, &shared, place, next, arrived, reader.take()).await;
            let Some((stream, rest)) = served else { return };
            match rest {
                Rest::Library(front) => break (stream, front),
                Rest::Reads(front) => {
                    shared.reads_of_library.store(READS_OF_LIBRARY, Ordering::Relaxed);
                    break (stream, front);
                }
                Rest::Moves(front, place) if place.is_some() || small::kind(api, &front).is_some() => {
                    (next, arrived, reader) = (stream, front, place);
                }
                Rest::Moves(front, _) => break (stream, front),
            }
        };
    }
}

/// The state of a connection, wherever it is served.
#[derive(Default)]
struct Shared {
    session: Session,
    deliveries: SmallDeliveries,
    /// Reads that wait, which the library still serves.
    reads_of_library: AtomicU32,
}

/// The protocol that takes over from the HTTP library, with the bytes already received.
enum Next {
    /// A small append, or a read that waits.
    Small(Stream, Vec<u8>),
    /// Another protocol.
    Upgrade(Upgrade, Stream, Vec<u8>),
    End,
}

/// Serves small appends and reads that wait until something else arrives. `None` when the connection has ended. A
/// reader with a place there waits on the commit thread.
async fn serve_small(
    api: &Arc<Api>,
    peer: &Peer,
    shared: &Arc<Shared>,
    place: &Place,
    mut stream: Stream,
    front: Vec<u8>,
    reader: Option<OwnedSemaphorePermit>,
) -> Option<(Stream, Rest)> {
    let (thread, activity) = (api.config.commit_thread.as_ref(), &place.open.activity);
    let polls = front.first() == Some(&b'G');
    let Some(thread) = thread.filter(|_| !polls || reader.is_some()) else {
        let takes = Takes { appends: thread.is_none(), polls: true, elsewhere: thread };
        let rest = small::serve(api, shared.connection(peer, activity), &mut stream, front, takes).await?;
        return Some((stream, rest));
    };
    let (api, peer_there, shared, activity) = (api.clone(), peer.clone(), shared.clone(), activity.clone());
    let serving = async move {
        let takes = Takes { appends: true, polls, elsewhere: None };
        let rest = small::serve(&api, shared.connection(&peer_there, &activity), &mut stream, front, takes).await?;
        drop(reader);
        Some((stream, rest))
    };
    there(thread, peer, serving).await?
}

impl Shared {
    fn connection<'a>(&'a self, peer: &'a Peer, activity: &'a Activity) -> small::Connection<'a> {
        small::Connection { peer, session: &self.session, activity, deliveries: &self.deliveries }
    }
}

/// Serves requests with the HTTP library until a small append arrives, or a read that waits and isn't the library's for
/// now, or another protocol begins.
async fn serve_library(
    api: &Arc<Api>,
    peer: &Peer,
    shared: &Shared,
    place: &Place,
    stream: Stream,
    front: Vec<u8>,
) -> Next {
    let Shared { session, reads_of_library, .. } = shared;
    let (activity, is_reserve) = (&place.open.activity, place.is_reserve);
    let is_for_other = |received: &[u8]| match small::kind(api, received) {
        _ if is_reserve => false,
        Some(Kind::Poll) => {
            let left = reads_of_library.load(Ordering::Relaxed);
            reads_of_library.store(left.saturating_sub(1), Ordering::Relaxed);
            left == 0
        }
        kind => kind.is_some(),
    };
    let stream = Handover::new(stream, activity.clone(), front, is_for_other);
    let upgrade = Mutex::new(None);
    let upgrade_of = |response: &mut ApiResponse| {
        let new = response.body_mut().take_upgrade();
        let is_upgrade = new.is_some();
        *upgrade.lock().unwrap_or_else(PoisonError::into_inner) = new;
        is_upgrade
    };
    let service = service_fn(|request| {
        // From here on the library reads no request, only the bytes after this one.
        let is_open = activity.begin();
        activity.crosses(crossing(api, session, &request));
        let upgrade_of = &upgrade_of;
        Box::pin(async move {
            if !is_open {
                // The connection is being closed.
                std::future::pending::<()>().await;
            }
            let mut response = respond(api, peer, session, is_reserve, request).await;
            // The other protocol, or a stream, is a request that is still running: its connection isn't idle.
            if !upgrade_of(&mut response) && !response.body_mut().streams_on(activity) {
                activity.end(response.body().holds_buffers());
            }
            Ok::<_, Infallible>(response)
        })
    });
    let mut connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        // `Paced` has the same limit. With this one, the library looks for the next request as soon as it has written a
        // response, by which the connection becomes idle.
        .header_read_timeout(api.config.waits.head)
        .max_buf_size(CONNECTION_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut closing = api.closing.clone();
    let ended = tokio::select! {
        ended = poll_fn(|context| connection.poll_without_shutdown(context)) => Some(ended),
        _ = closing.wait_for(|&is_closing| is_closing) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            Pin::new(&mut connection).graceful_shutdown();
            poll_fn(|context| connection.poll_without_shutdown(context)).await
        }
    };
    let is_whole = ended.is_ok();
    if let Err(error) = ended {
        // Also if a part of a head is left, and the next part looks like a small append.
        tracing::debug!(%error, "connection ended");
    }
    let parts = connection.into_parts();
    if !is_whole && api.config.tls.is_none() && is_tls(&parts.read_buf) {
        let address = peer.address;
        tracing::warn!(
            %address,
            "a client begins a TLS handshake, for which the broker needs tls-cert and tls-key; without them, its \
             address begins with http://"
        );
    }
    let stream = parts.io.into_inner();
    let upgrade = upgrade.lock().unwrap_or_else(PoisonError::into_inner).take();
    match upgrade {
        Some(upgrade) if is_whole => {
            let (stream, arrived) = stream.into_stream(&parts.read_buf);
            Next::Upgrade(upgrade, stream, arrived)
        }
        Some(_) => Next::End,
        None => stream.end(&parts.read_buf).map_or(Next::End, |(stream, arrived)| Next::Small(stream, arrived)),
    }
}

/// A connection that ends, to the library, before a request for another handler.
struct Handover<S, F> {
    stream: S,
    activity: Arc<Activity>,
    /// Bytes received before the library began.
    front: Bytes,
    /// Whether a request is for the other handler.
    is_for_other: F,
    /// The beginning of a request for the other handler.
    kept: Vec<u8>,
}

impl<S, F> Handover<S, F> {
    fn new(stream: S, activity: Arc<Activity>, front: Vec<u8>, is_for_other: F) -> Self {
        Handover { stream, activity, front: front.into(), is_for_other, kept: Vec::new() }
    }

    /// The connection and the beginning of the request for the other handler; `None` if the connection was closed.
    /// `unread` are the bytes that the library received and didn't use: the beginning of an incomplete head.
    fn end(self, unread: &[u8]) -> Option<(S, Vec<u8>)> {
        (!self.kept.is_empty()).then(|| (self.stream, [unread, &self.kept].concat()))
    }

    /// The connection and its unused received bytes. `unread` are the bytes passed to the library.
    fn into_stream(self, unread: &[u8]) -> (S, Vec<u8>) {
        (self.stream, [unread, &self.front, &self.kept].concat())
    }
}

impl<S: AsyncRead + Unpin, F: Fn(&[u8]) -> bool + Unpin> AsyncRead for Handover<S, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.front.has_remaining() {
            let count = self.front.len().min(buffer.remaining());
            buffer.put_slice(&self.front.split_to(count));
            return Poll::Ready(Ok(()));
        }
        if !self.kept.is_empty() {
            return Poll::Ready(Ok(()));
        }
        // While a request is handled, the library reads only the bytes after it.
        let is_between_requests = self.activity.idle_since().is_some();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let (_, arrived) = buffer.filled().split_at(before);
        if is_between_requests && (self.is_for_other)(arrived) {
            self.kept = arrived.to_vec();
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, F: Unpin> AsyncWrite for Handover<S, F> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
