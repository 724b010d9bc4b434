//! One connection: requests are read and begun while those before them are being served, and answered in order.
//!
//! Small Produce requests are served on the commit thread, and Fetch requests that wait for small records; all others
//! on the runtime's: see [`Spot`].

use super::building::Building;
use super::client::{Client, Kafka, Session};
use super::config::IDLE_MAX;
use super::error::ConnectionError;
use super::incoming::{BUFFER_BYTES, Frame, Incoming};
use super::reply::{Begun, Outcome, Pending, Reply};
use super::sasl::{LOGIN_BYTES_MAX, LOGIN_WAIT, Login};
use super::watched::Kept;
use super::{admin, api_versions, fetch, groups, list_offsets, metadata, produce, producer_id, transactions};
use crate::access::Caller;
use crate::metrics::{self, ServerMetrics};
use crate::net::activity::Activity;
use crate::net::commit_thread::{SmallDeliveries, there};
use crate::net::listen::Accepted;
use crate::net::pace::{Paced, Waits};
use crate::net::peer::{Peer, SharedStream, network};
use crate::net::sendfile::FileSender;
use crate::net::stream::Stream;
use crate::net::tls::Protocol;
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::messages::{Request, Response};
use rawline_kafka::{Api, ErrorCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;

/// Requests of one connection that have no response yet. Clients send five before they wait.
const IN_FLIGHT_MAX: usize = 32;

/// How long the last responses may take when the client has closed its side.
const LAST_RESPONSES_WAIT: Duration = Duration::from_secs(1);

/// So many small Produce requests follow the last large one before the connection moves to the commit thread: a client
/// that sends both stays where it is.
const SMALL_BEFORE_MOVE: u32 = 4;

/// Maximum size of a Fetch request on the commit thread in bytes: it names few partitions.
const FETCH_BYTES_MAX: u64 = 4 << 10;

/// The runtime that serves requests. Each move waits until no request is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    /// On the runtime's threads.
    Runtime,
    /// On the commit thread: see [`CommitThread`](rawline_broker::CommitThread).
    CommitThread,
}

/// Serves a connection until its client or the broker closes it.
pub(super) async fn serve(kafka: Arc<Kafka>, Accepted { stream, address, place }: Accepted) {
    let _counted = kafka.config.metrics.open(metrics::Protocol::Kafka);
    let local = match stream.local_addr() {
        Ok(local) => local,
        // It has been closed since.
        Err(error) => return tracing::debug!(%error, "a connection without an address"),
    };
    let (stream, mappings) = (SharedStream::new(stream), kafka.broker.mappings());
    let peer = Peer::new(stream.clone(), kafka.pool.holder(network(address.ip())), address.ip());
    let activity = place.open.activity.clone();
    let stream = match &kafka.config.tls {
        None => Stream::Plain(FileSender::new(stream, mappings)),
        // On the heap: an open connection has no room for its handshake.
        Some(tls) => match Box::pin(tls.accept(Protocol::Kafka, stream, address, &activity, mappings)).await {
            Some(stream) => stream,
            None => return,
        },
    };
    if place.is_reserve {
        // The protocol has no words for it. Clients connect again after a while.
        return;
    }
    let waits = Waits { head: IDLE_MAX, ..kafka.config.waits };
    let stream = Paced::new(stream, waits, activity.clone(), kafka.pool.clone(), kafka.crowd.clone(), None);
    let (reader, writer) = tokio::io::split(stream);
    let access = &kafka.config.access;
    let session = Session::new(if access.is_open() { access.anyone() } else { Caller::unknown() });
    let (activity, fetches, deliveries) = (activity.clone(), Kept::default(), SmallDeliveries::default());
    let client = Arc::new(Client { kafka, peer, activity: activity.clone(), local, session, fetches, deliveries });
    let requests = Requests {
        client: client.clone(),
        incoming: Incoming::new(reader, client.kafka.config.waits),
        next: None,
        small: SMALL_BEFORE_MOVE,
        reader: None,
        activity: activity.clone(),
        in_flight: Arc::default(),
        login: Login::new(client.kafka.sasl.as_ref()),
    };
    tokio::select! {
        ended = take_turns(&client, Connection { requests, writer }) => match ended {
            Ok(()) => tracing::debug!(%address, "a connection ended"),
            Err(ConnectionError::Io(error)) => tracing::debug!(%address, %error, "a connection ended"),
            Err(error @ ConnectionError::Unacknowledged { .. }) => {
                tracing::info!(%address, %error, "closed a Kafka client's connection: it looks up the leaders again");
            }
            Err(error) => tracing::warn!(%address, %error, "closed a Kafka client's connection"),
        },
        () = activity.evicted() => tracing::debug!(%address, "closed an idle connection: another needs it"),
    }
}

async fn take_turns(client: &Client, mut connection: Connection) -> Result<(), ConnectionError> {
    loop {
        let Some(elsewhere) = connection.serve(Spot::Runtime).await? else { return Ok(()) };
        let Some(thread) = &client.kafka.config.commit_thread else {
            unreachable!("a connection moves to a commit thread that doesn't exist")
        };
        let served = there(thread, &client.peer, elsewhere.serve(Spot::CommitThread)).await;
        let Some(back) = served.transpose()?.flatten() else { return Ok(()) };
        connection = back;
    }
}

/// An open connection.
struct Connection {
    requests: Requests<ReadHalf<Paced<Stream>>>,
    writer: WriteHalf<Paced<Stream>>,
}

impl Connection {
    /// Serves requests until one must be served elsewhere. `None` when the connection has ended.
    async fn serve(mut self, spot: Spot) -> Result<Option<Connection>, ConnectionError> {
        let client = self.requests.client.clone();
        let (activity, in_flight) = (self.requests.activity.clone(), self.requests.in_flight.clone());
        let (pending, responses) = mpsc::channel(IN_FLIGHT_MAX);
        let mut closing = client.kafka.closing.clone();
        let both = async {
            let metrics = &client.kafka.config.metrics;
            let mut writing = std::pin::pin!(write(responses, &mut self.writer, &activity, &in_flight, metrics));
            let (mut wait, mut refused, mut moves) = (LAST_RESPONSES_WAIT, Ok(()), false);
            tokio::select! {
                read = self.requests.read(spot, pending) => match read {
                    Ok(Read::Elsewhere) => moves = true,
                    Ok(Read::Closed) => {}
                    Err(error @ ConnectionError::Login { .. }) => refused = Err(error),
                    Err(error) => return Err(error),
                },
                written = &mut writing => return written.map(|()| false),
                _ = closing.wait_for(|&is_closing| is_closing) => wait = client.kafka.config.shutdown_wait,
            }
            if moves {
                return writing.await.map(|()| true);
            }
            // No request is read any more; those in flight get their responses.
            tokio::time::timeout(wait, writing).await.unwrap_or(Ok(())).and(refused).map(|()| false)
        };
        let moves = both.await?;
        Ok(moves.then_some(self))
    }
}

/// Writes responses in order, as soon as they are known. Those that are known at the same time are written together: a
/// client that gets them one by one sends its next requests one by one. Ends with the first request that closes the
/// connection, once the responses before it are written.
async fn write(
    mut responses: mpsc::Receiver<Begun>,
    mut writer: impl AsyncWrite + Unpin,
    activity: &Activity,
    in_flight: &AtomicUsize,
    metrics: &ServerMetrics,
) -> Result<(), ConnectionError> {
    let mut waiting = None;
    while let Some(first) = next(&mut waiting, &mut responses).await {
        let Begun { api, since, pending } = first;
        let outcome = pending.outcome().await;
        let now = Instant::now();
        let counted = |api, since: Instant, outcome: Outcome| {
            metrics.responded_kafka(api, error_of(&outcome), now - since);
            outcome
        };
        let (mut all, mut served, mut ended) = (counted(api, since, outcome)?, 1, Ok(()));
        while all.as_ref().is_none_or(Reply::has_room)
            && let Ok(Begun { api, since, pending }) = responses.try_recv()
        {
            match pending.now().map(|outcome| counted(api, since.min(now), outcome)) {
                Ok(Ok(reply)) => {
                    all = match (all, reply) {
                        (Some(all), Some(reply)) => Some(all.and(reply)),
                        (all, reply) => all.or(reply),
                    };
                    served += 1;
                }
                Ok(Err(error)) => {
                    ended = Err(error);
                    break;
                }
                Err(pending) => {
                    waiting = Some(Begun { api, since, pending });
                    break;
                }
            }
        }
        if let Some(all) = all {
            activity.responds(all.holds_buffers);
            all.write(&mut writer).await?;
        }
        if in_flight.fetch_sub(served, Ordering::AcqRel) == served {
            activity.end(false);
            activity.idle();
        }
        ended?;
    }
    Ok(())
}

/// The error that an outcome counts as; 0 for none.
fn error_of(outcome: &Outcome) -> i16 {
    match outcome {
        Ok(reply) => reply.as_ref().map_or(0, |reply| reply.error),
        Err(ConnectionError::Unacknowledged { code, .. }) => *code,
        // The client gets no response.
        Err(_) => ErrorCode::NetworkException.into(),
    }
}

/// The request that was received but is not used yet, or the next one that is received.
async fn next(waiting: &mut Option<Begun>, responses: &mut mpsc::Receiver<Begun>) -> Option<Begun> {
    match waiting.take() {
        Some(begun) => Some(begun),
        None => responses.recv().await,
    }
}

/// The API of a request, if this broker serves it.
fn served(header: &RequestHeader) -> Result<Api, ConnectionError> {
    let api = Api::from_key(header.api).filter(|api| api_versions::is_served(*api));
    api.ok_or(ConnectionError::NotServed { api: header.api, version: header.version })
}

/// The requests of a connection.
struct Requests<S> {
    client: Arc<Client>,
    incoming: Incoming<S>,
    /// The beginning of a request that is to be served elsewhere.
    next: Option<Frame>,
    /// Number of small Produce requests since the last large one, up to [`SMALL_BEFORE_MOVE`].
    small: u32,
    /// The place on the commit thread of a connection that fetches there.
    reader: Option<OwnedSemaphorePermit>,
    activity: Arc<Activity>,
    /// Requests without a response yet. Without any, the connection is idle.
    in_flight: Arc<AtomicUsize>,
    login: Login,
}

/// Why the reading of requests ended.
enum Read {
    /// The client sends no more.
    Closed,
    /// The next one is to be served elsewhere.
    Elsewhere,
}

impl<S: AsyncRead + Unpin> Requests<S> {
    /// Reads requests and begins them, until one is to be served elsewhere or the client closes the connection.
    async fn read(&mut self, spot: Spot, pending: mpsc::Sender<Begun>) -> Result<Read, ConnectionError> {
        if !self.login.is_done() {
            let wait = LOGIN_WAIT.min(self.client.kafka.config.waits.head);
            let login = tokio::time::timeout(wait, async {
                while !self.login.is_done() {
                    let Some(frame) = self.incoming.frame(LOGIN_BYTES_MAX).await? else { break };
                    if !self.take(frame, &pending).await? {
                        break;
                    }
                }
                Ok(())
            });
            login.await.unwrap_or(Err(ConnectionError::LoginTime { wait }))?;
        }
        let bytes_max = self.client.kafka.config.request_bytes_max;
        loop {
            let frame = match self.next.take() {
                Some(frame) => frame,
                None => match self.incoming.frame(bytes_max).await? {
                    Some(frame) => frame,
                    None => return Ok(Read::Closed),
                },
            };
            let muted = self.client.session.unmuted().await;
            self.incoming.paused(muted);
            if self.spot_of(&frame) != spot {
                self.next = Some(frame);
                return Ok(Read::Elsewhere);
            }
            if !self.take(frame, &pending).await? {
                return Ok(Read::Closed);
            }
        }
    }

    fn spot_of(&mut self, frame: &Frame) -> Spot {
        let config = &self.client.kafka.config;
        let Some(thread) = &config.commit_thread else { return Spot::Runtime };
        if frame.header.api == Api::Fetch.key() && frame.left <= FETCH_BYTES_MAX && self.client.deliveries.are_usual() {
            self.reader = self.reader.take().or_else(|| thread.reader());
            return if self.reader.is_some() { Spot::CommitThread } else { Spot::Runtime };
        }
        self.reader = None;
        if frame.header.api != Api::Produce.key() {
            return Spot::Runtime;
        }
        if frame.left > config.small_bytes_max {
            self.small = 0;
            return Spot::Runtime;
        }
        self.small = SMALL_BEFORE_MOVE.min(self.small + 1);
        if self.small == SMALL_BEFORE_MOVE { Spot::CommitThread } else { Spot::Runtime }
    }

    /// Begins a request; false if the connection is ending.
    async fn take(&mut self, frame: Frame, pending: &mpsc::Sender<Begun>) -> Result<bool, ConnectionError> {
        if self.in_flight.fetch_add(1, Ordering::AcqRel) == 0 && !self.activity.begin() {
            // The connection is being closed.
            std::future::pending::<()>().await;
        }
        self.client.check_key()?;
        let since = Instant::now();
        let api = served(&frame.header)?;
        self.login.allow(api)?;
        let begun = Begun { api, since, pending: self.begin(api, frame).await? };
        let is_sent = pending.send(begun).await.is_ok();
        self.login.check()?;
        Ok(is_sent)
    }

    async fn begin(&mut self, api: Api, Frame { header, left }: Frame) -> Result<Pending, ConnectionError> {
        if api == Api::ApiVersions && !api.versions().contains(&header.version) {
            self.incoming.whole(left).await?;
            return Ok(Pending::Ready(Ok(Some(api_versions::unsupported(&header)))));
        }
        if api == Api::Produce {
            return produce::receive(&self.client, &mut self.incoming, header, left).await;
        }
        let since = Instant::now();
        let permit = match left > BUFFER_BYTES as u64 {
            true => self.client.kafka.large.clone().acquire_owned().await.ok(),
            false => None,
        };
        self.incoming.paused(since.elapsed());
        let body = self.incoming.whole(left).await?;
        if api == Api::Fetch {
            return fetch::begin(&self.client, header, &body, permit, self.reader.is_some());
        }
        let request = Request::read(api, header.version, &body)?;
        if groups::APIS.contains(&api) {
            // On the heap: an idle connection has no room for its state.
            return Ok(Box::pin(groups::respond(&self.client, &header, request)).await);
        }
        let client = &*self.client;
        let sasl = client.kafka.sasl.as_ref();
        let mut building = Building::new(&client.kafka);
        let response: Response = match request {
            Request::ApiVersions(_) => api_versions::respond(header.version).into(),
            Request::SaslHandshake(request) => self.login.handshake(sasl, header.version, &request).into(),
            Request::SaslAuthenticate(request) => self.login.authenticate(client, &request).into(),
            Request::Metadata(request) => {
                let (body, error) = metadata::respond(client, header.version, request, &mut building).await;
                let reply = building.finish_written(client, &header, api, body).await?.with_error(error);
                return Ok(Pending::Ready(Ok(Some(reply))));
            }
            // On the heap: an idle connection has no room for its state.
            Request::ListOffsets(request) => Box::pin(list_offsets::respond(client, request)).await.into(),
            Request::InitProducerId(request) => {
                Box::pin(producer_id::respond(client, header.version, &request)).await.into()
            }
            Request::EndTxn(request) => Box::pin(transactions::end(client, header.version, &request)).await.into(),
            // On the heap: an idle connection has no room for its state.
            request => match Box::pin(admin::respond(client, header.version, request, &mut building)).await? {
                Some(response) => response,
                None => return Err(ConnectionError::NotServed { api: header.api, version: header.version }),
            },
        };
        Ok(Pending::Ready(Ok(Some(building.finish(client, &header, response).await?))))
    }
}
