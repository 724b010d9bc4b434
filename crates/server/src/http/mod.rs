//! The HTTP API over a broker: accepts connections, hands requests to their handlers, shuts down gracefully.
//!
//! `routes.rs` is the table of all routes, `error.rs` alone turns errors into responses, and names and shapes that
//! clients share are in `rawline-contract`. `docs/http.md` describes the API to its users, `openapi.json` to their
//! tools.

mod accept;
mod append;
mod auth;
mod body;
mod browser;
mod cluster;
mod connection;
mod console;
mod cors;
#[cfg(feature = "profiling")]
pub mod debug;
mod draft;
mod error;
mod groups;
mod long_poll;
mod measurements;
mod metrics;
mod multipart;
mod offsets;
mod parameters;
mod producer;
mod query;
mod read;
mod receive;
mod render;
mod response;
mod routes;
mod select;
mod small;
mod stats;
mod subscribe;
mod tally;
mod ticket;
mod topics;
mod websocket;
mod whole;
mod zeek;

pub use crate::net::pace::Waits;
pub use cluster::PeerKey;
pub use cors::{AllowedOrigin, OriginInvalid};
pub use draft::request_buffers_max;
pub use response::ResponseBody;

use crate::access::audit::Event;
use crate::access::{Access, Caller};
use crate::http::auth::Session;
use crate::http::body::BodyReader;
use crate::http::cluster::{ByOwner, Sender, Via};
use crate::http::error::ApiError;
use crate::http::response::ApiResponse;
use crate::http::routes::{Endpoint, LABEL_OTHER, Need, Route};
use crate::http::stats::Stats;
use crate::http::ticket::Tickets;
use crate::measurements::Measurements;
use crate::net;
use crate::net::listen::{Accepted, Crowd, Listener};
use crate::net::lobby::Manners;
use crate::net::pace::Paced;
use crate::net::peer::{Peer, SharedStream, network};
use crate::net::read_size::LargeReads;
use crate::net::sendfile::FileSender;
use crate::net::stream::Stream;
use crate::net::tls::{self, Protocol, Tls};
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Request, Uri, header};
use hyper::body::Incoming;
use rawline_broker::cluster::Forwarded;
use rawline_broker::pool::Pool;
use rawline_broker::{Broker, Clock, CommitThread};
use rawline_contract::{Code, code};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// The settings of the API.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Access control. By default, every client may do everything.
    pub access: Access,
    /// Web apps that may use the API.
    pub allowed_origins: Vec<AllowedOrigin>,
    /// Maximum size of a request's body in bytes.
    pub request_bytes_max: u64,
    /// Limits of a batch.
    pub batch_limits: rawline_batch::Limits,
    /// How long a request waits for buffers before it gets 503.
    pub pool_wait: Duration,
    /// Timeouts for clients.
    pub waits: Waits,
    /// The broker's memory in bytes, for the metrics: the pool, and the share for connections.
    pub memory_bytes: u64,
    /// Maximum number of open connections; each may use [`CONNECTION_BYTES`] besides the pool.
    pub connections_max: usize,
    /// How long requests in flight may still take after shutdown begins.
    pub shutdown_wait: Duration,
    /// TLS of all connections; plain HTTP if this is `None`.
    pub tls: Option<Tls>,
    /// The runtime of small appends; `None` for the current one.
    pub commit_thread: Option<CommitThread>,
    /// The measurements in the broker's storage, if the binary can query them.
    pub measurements: Option<Arc<dyn Measurements>>,
    /// How long a query of them may run.
    pub query_time: Duration,
    /// The private key with which this broker authenticates; its card has the public key.
    pub peer_key: Arc<PeerKey>,
}

impl Default for HttpConfig {
    /// No keys, and the limits that `rawline serve` has by default.
    fn default() -> Self {
        let batch_limits = rawline_batch::Limits::default();
        HttpConfig {
            access: Access::default(),
            allowed_origins: Vec::new(),
            request_bytes_max: u64::from(batch_limits.batch_bytes_max) * 2,
            batch_limits,
            pool_wait: Duration::from_secs(5),
            waits: Waits::default(),
            memory_bytes: 512 << 20,
            connections_max: 1024,
            shutdown_wait: Duration::from_secs(20),
            tls: None,
            commit_thread: None,
            measurements: None,
            query_time: Duration::from_secs(10),
            peer_key: Arc::new(PeerKey::generate()),
        }
    }
}

/// Maximum size of a connection's own read buffer in bytes. The beginning of a body that waits for buffers of the pool
/// may lie in a second one.
pub const CONNECTION_BYTES: usize = 128 << 10;

/// The memory of an idle connection, in bytes: the library's smallest buffers, and our own state.
pub const IDLE_CONNECTION_BYTES: u64 = 24 << 10;

/// Compressed batches that are decompressed at once, each of at most `raw_bytes_max` bytes outside the pool.
const UNPACKING_MAX: usize = 2;

/// Responses of `/metrics` that clients have not read yet. Each can have some megabytes, which lie outside the pool so
/// that metrics are available when the pool is exhausted.
const METRICS_UNREAD_MAX: usize = 8;

/// The shared state of request handlers.
pub(crate) struct Api {
    pub broker: Arc<Broker>,
    pub pool: Arc<Pool>,
    pub clock: Arc<dyn Clock>,
    pub config: HttpConfig,
    /// Turns true when shutdown begins, so that waiting requests get their responses.
    pub stopping: watch::Receiver<bool>,
    /// Turns true when no connection is accepted any more, so that connections close after the current request.
    pub closing: watch::Receiver<bool>,
    pub metrics: metrics::HttpMetrics,
    /// Whether connections are refused.
    pub crowd: Arc<Crowd>,
    pub unpacking: Semaphore,
    /// Responses in other forms than batches that may be made at once.
    pub selecting: Semaphore,
    /// Queries of measurements that may run.
    pub queries: Arc<Semaphore>,
    /// Requests that may wait for records at once, and WebSockets.
    pub waits: Arc<Semaphore>,
    /// The permits of `waits`.
    waits_max: usize,
    metrics_unread: Arc<Semaphore>,
    pub tickets: Tickets,
    /// Connections to other brokers.
    pub peers: cluster::Peers,
    stats: Stats,
    /// When the broker began to serve, in microseconds since the Unix epoch.
    started_us: u64,
    /// Whether only this machine reaches the broker.
    is_local: bool,
}

/// Serves the API until `stop` turns true; then completes the requests in flight and returns. Boxed, so that the code
/// of all requests is compiled in this crate, not in each binary that serves.
pub fn serve(
    listener: TcpListener,
    broker: Arc<Broker>,
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    config: HttpConfig,
    stop: watch::Receiver<bool>,
) -> BoxFuture<'static, ()> {
    Box::pin(run(listener, broker, pool, clock, config, stop))
}

async fn run(
    listener: TcpListener,
    broker: Arc<Broker>,
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    config: HttpConfig,
    stop: watch::Receiver<bool>,
) {
    let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    // Of an encrypted request, nothing can be said.
    let is_whole = if config.tls.is_some() { |_: &[u8]| true } else { whole::is_whole };
    let manners = Manners { is_whole, wait: config.waits.head };
    let listener = Listener::new(listener, config.connections_max, manners);
    let large_reads = LargeReads::new();
    let (close, closing) = watch::channel(false);
    let shutdown_wait = config.shutdown_wait;
    let started_us = clock.now_us();
    let metrics = metrics::HttpMetrics::new(started_us);
    let waits_max = long_poll::waits_max(config.connections_max);
    let cluster = broker.cluster().map(|cluster| &**cluster);
    let peers = cluster::Peers::new(cluster, config.peer_key.clone(), config.tls.clone());
    let api = Arc::new(Api {
        broker,
        pool,
        clock,
        stopping: stop.clone(),
        closing,
        metrics,
        crowd: listener.crowd(),
        unpacking: Semaphore::new(UNPACKING_MAX),
        selecting: Semaphore::new(select::SELECTING_MAX),
        queries: Arc::new(Semaphore::new(measurements::QUERIES_MAX)),
        waits: Arc::new(Semaphore::new(waits_max)),
        waits_max,
        metrics_unread: Arc::new(Semaphore::new(METRICS_UNREAD_MAX)),
        tickets: Tickets::of_this_run(),
        peers,
        stats: Stats::new(),
        started_us,
        is_local,
        config,
    });
    let connect = |Accepted { stream, address, place }| {
        let stream = SharedStream::new(stream);
        let peer = Peer::new(stream.clone(), api.pool.holder(network(address.ip())), address.ip());
        let (read_size, activity) = (Some(large_reads.connection()), place.open.activity.clone());
        let (api, mappings, crowd) = (api.clone(), api.broker.mappings(), api.crowd.clone());
        async move {
            let stream = match &api.config.tls {
                None => Stream::Plain(FileSender::new(stream, mappings)),
                // On the heap: an open connection has no room for its handshake.
                Some(tls) => match Box::pin(tls.accept(Protocol::Http, stream, address, &activity, mappings)).await {
                    Some(stream) => stream,
                    None => return,
                },
            };
            let stream = Paced::new(stream, api.config.waits, activity, api.pool.clone(), crowd, read_size);
            connection::serve(api, peer, place, stream).await;
        }
    };
    let present = |certificates| cluster::present(api.clone(), certificates);
    tokio::select! {
        () = net::serve::serve(listener, stop, close, shutdown_wait, connect) => {}
        () = tls::reload(api.config.tls.as_ref(), present) => {
            unreachable!("looking for new certificates ends with the server")
        }
        () = stats::sample(&api) => unreachable!("sampling ends with the server"),
        () = follow_others(&api) => unreachable!("the broker follows the others until the server ends"),
    }
}

/// Requests changes from the other brokers, if there can be any.
async fn follow_others(api: &Arc<Api>) {
    if let Some(cluster) = api.broker.cluster() {
        let certificates = async {
            match &api.config.tls {
                Some(tls) => cluster::follow_certificates(tls, cluster).await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(cluster.exchange(&api.peers), certificates);
    }
    std::future::pending().await
}

/// The response to one request, counted.
async fn respond(
    api: &Arc<Api>,
    peer: &Peer,
    session: &Session,
    is_reserve: bool,
    mut request: Request<Incoming>,
) -> ApiResponse {
    let started = tokio::time::Instant::now();
    let route = routes::find(request.method(), request.uri().path());
    let origin = cors::allowed(&api.config.allowed_origins, request.headers()).cloned();
    let asked = Asked { method: request.method().clone(), uri: request.uri().clone(), route };
    let (sender, admitted) = admit(api, session, route, origin.is_some(), &request);
    let (caller, via) = sender.map_or((None, None), |sender| (Some(sender.caller), sender.via));
    let client = via.and_then(|via| via.client).map(|address| peer.forwarding(address));
    let peer = client.as_ref().unwrap_or(peer);
    if let Some(via) = via {
        request.extensions_mut().insert(via);
    }
    let response = match (&caller, admitted) {
        (_, Ok(_)) if is_reserve && route.is_none_or(|route| route.need != Need::Nothing) => {
            drop(BodyReader::split(api, request));
            Err(ApiError::connections_too_many())
        }
        (Some(caller), Ok(endpoint)) => {
            if caller.counts_appends() {
                request.extensions_mut().insert(caller.clone());
            }
            forward_or_handle(api, peer, session, caller, endpoint, request).await
        }
        (None, Ok(endpoint)) => unreachable!("{endpoint:?} is admitted without a caller"),
        (_, Err(_)) if origin.is_some() && cors::is_preflight(&request) => {
            drop(BodyReader::split(api, request));
            Ok(cors::preflight())
        }
        (_, Err(error)) => {
            drop(BodyReader::split(api, request));
            Err(error)
        }
    };
    asked.audit(api, peer, caller.as_deref(), via, &response);
    let mut response = response.unwrap_or_else(ApiError::into_response);
    if let Some(caller) = caller.filter(|_| route.is_some_and(|route| route.endpoint.returns_records())) {
        caller.read(response.body().bytes());
    }
    if let Some(origin) = origin {
        cors::expose(&mut response, origin);
    }
    if is_reserve {
        // The next connection may get a regular place.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let label = route.map_or(LABEL_OTHER, |route| route.label);
    api.metrics.responded(label, response.status(), started.elapsed());
    response
}

/// The sender of a request, and its route. Refuses requests that are malformed, that may not be sent here, for which
/// the caller's key has no grant, or that have no route.
fn admit(
    api: &Api,
    session: &Session,
    route: Option<&Route>,
    is_allowed_origin: bool,
    request: &Request<Incoming>,
) -> (Option<Sender>, Result<Endpoint, ApiError>) {
    let sender = match identify(api, session, route, is_allowed_origin, request) {
        Ok(sender) => sender,
        Err(error) => return (None, Err(error)),
    };
    let endpoint = match route {
        Some(route) => {
            let allowed = route.need.check(&sender.caller, request);
            let checked = allowed.and_then(|()| parameters::check(route, request.uri().query().unwrap_or_default()));
            checked.map(|()| route.endpoint)
        }
        None => Err(routes::refusal(request.uri().path())),
    };
    (Some(sender), endpoint)
}

/// The sender of a request.
fn identify(
    api: &Api,
    session: &Session,
    route: Option<&Route>,
    is_allowed_origin: bool,
    request: &Request<Incoming>,
) -> Result<Sender, ApiError> {
    browser::check_host_is_there(request)?;
    let access = &api.config.access;
    if request.headers().contains_key(rawline_contract::header::PEER) {
        return cluster::sender(api, session, route, request);
    }
    match route.map(|route| route.need) {
        Some(Need::Nothing) => return Ok(Caller::unknown().into()),
        Some(Need::Broker) if api.broker.cluster().is_some() => return Err(ApiError::peer_unknown()),
        Some(Need::Broker) => return Err(ApiError::path(request.uri().path())),
        _ => {}
    }
    if access.is_open() {
        browser::check(request, is_allowed_origin, api.is_local)?;
        return Ok(access.anyone().into());
    }
    if route.is_some_and(|route| route.endpoint.is_subscription())
        && let Some(identity) = api.tickets.admit(request)?
    {
        return session.of_ticket(access, &identity).map(Sender::from);
    }
    let authorization = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    session.caller(access, authorization).map(Sender::from)
}

/// Sends a request on to the broker that is to handle it, or handles it.
async fn forward_or_handle(
    api: &Arc<Api>,
    peer: &Peer,
    session: &Session,
    caller: &Arc<Caller>,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let Some(cluster) = api.broker.cluster().filter(|_| endpoint.is_the_owners()) else {
        return handle(api, peer, session, caller, endpoint, request).await;
    };
    let journal = journal_of(api, endpoint, &request);
    if cluster.is_read_only() && !cluster.is_owned_by_other(journal) {
        drop(BodyReader::split(api, request));
        return Err(ApiError::read_only());
    }
    if endpoint.is_of_groups() && !cluster.is_owned_by_other(journal) && !cluster.acts(journal).await {
        return Err(ApiError::taking_over());
    }
    // A request that another broker has forwarded is handled here, even if the owner has changed since.
    let request = if request.extensions().get::<Via>().is_some() {
        request
    } else {
        let authorization = request.headers().get(header::AUTHORIZATION).cloned();
        let client = cluster::Client { caller: caller.clone(), address: peer.address, authorization };
        // On the heap: a connection has no room for its state. The owner counts the client's bytes.
        match Box::pin(cluster::forward(api, cluster, journal, endpoint, client, request)).await? {
            Forwarded::Response(response, _) => return Ok(response),
            Forwarded::Here(request) => request,
        }
    };
    if cluster.is_read_only() {
        // The owner can't be reached, or a broker takes this one for it.
        drop(BodyReader::split(api, request));
        return Err(ApiError::read_only());
    }
    handle(api, peer, session, caller, endpoint, request).await
}

/// The journal that a request is about. Its handler refuses a request without a name.
fn journal_of(api: &Api, endpoint: Endpoint, request: &Request<Incoming>) -> u32 {
    let query = query::Query::of(request);
    let name = match endpoint {
        Endpoint::OpenProducer => query.producer_name(),
        endpoint if endpoint.is_of_groups() => query.group(),
        _ => query.topic(),
    };
    name.map_or(0, |name| api.broker.journal_of(&name))
}

/// A request, for the audit log.
struct Asked<'a> {
    method: Method,
    uri: Uri,
    route: Option<&'a Route>,
}

impl Asked<'_> {
    /// Notes an administrative change, or that the caller may not do this.
    fn audit(
        &self,
        api: &Api,
        peer: &Peer,
        caller: Option<&Caller>,
        via: Option<Via>,
        response: &Result<ApiResponse, ApiError>,
    ) {
        if response.as_ref().is_ok_and(|response| response.extensions().get::<ByOwner>().is_some()) {
            return;
        }
        let code = response.as_ref().err().map(ApiError::code);
        let is_refused = code.is_some_and(|code| AUDITED.contains(&code));
        let change = self.route.and_then(|route| route.endpoint.change());
        if change.is_none() && !is_refused {
            return;
        }
        let request = || format!("{} {}", self.method, self.route.map_or("other", |route| route.path));
        let (action, resource) = (change.map_or_else(request, str::to_owned), query::resource(&self.uri));
        let through = via.map(|via| via.broker.to_string());
        let event = Event {
            protocol: "http",
            key: caller.and_then(Caller::name),
            peer: Some(peer.address),
            through: through.as_deref(),
            action: &action,
            resource: &resource,
            outcome: code.map_or("ok", |code| code.name),
            left_out: 0,
        };
        let audit = api.config.access.audit();
        if is_refused { audit.refused(event) } else { audit.note(&event) }
    }
}

/// The refusals that are audited.
const AUDITED: [Code; 4] = [code::UNAUTHORIZED, code::PEER_UNKNOWN, code::GRANT_MISSING, code::QUOTA_EXCEEDED];

async fn handle(
    api: &Arc<Api>,
    peer: &Peer,
    session: &Session,
    caller: &Arc<Caller>,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    match endpoint {
        Endpoint::Append => append::append(api, peer, caller, request).await,
        Endpoint::Read => read::records(api, peer, caller, request).await,
        Endpoint::ReadOne => read::record(api, peer, request).await,
        Endpoint::Topic => topics::topic(api, request).await,
        Endpoint::SetTopic => topics::set_topic(api, request).await,
        Endpoint::CreateTopic => topics::create_topic(api, request).await,
        Endpoint::DeleteTopic => topics::delete_topic(api, request).await,
        Endpoint::Trim => topics::trim(api, request).await,
        Endpoint::OpenProducer => producer::open(api, caller, request).await,
        Endpoint::Groups => groups::groups(api, peer, caller, request).await,
        Endpoint::Group => groups::group(api, peer, caller, request).await,
        Endpoint::CommitOffsets => groups::commit(api, caller, request).await,
        Endpoint::DeleteOffsets => groups::delete(api, request).await,
        Endpoint::Join => groups::member::join(api, peer, caller, request).await,
        Endpoint::Heartbeat => groups::member::heartbeat(api, request).await,
        Endpoint::Leave => groups::member::leave(api, request).await,
        Endpoint::Topics => topics::topics(api, peer, caller, &request).await,
        Endpoint::Subscribe => subscribe::subscribe(api, peer, caller, &request).await,
        Endpoint::Zeek => zeek::connect(api, caller, &request),
        Endpoint::CreateTicket => Ok(ticket::create(api, caller, request)),
        Endpoint::Offset => topics::offset(api, request).await,
        Endpoint::Stats => stats::stats(api, peer).await,
        // On the heap: a connection has no room for their state.
        Endpoint::Measurements => Box::pin(measurements::topics(api, peer, caller)).await,
        Endpoint::MeasurementMetrics => Box::pin(measurements::metrics(api, peer, &request)).await,
        Endpoint::MeasurementTags => Box::pin(measurements::tags(api, peer, &request)).await,
        Endpoint::MeasurementQuery => Box::pin(measurements::query(api, peer, &request)).await,
        Endpoint::Brokers => Ok(cluster::brokers(api)),
        Endpoint::BrokerHello | Endpoint::BrokerProof | Endpoint::BrokerChanges => {
            Box::pin(between_brokers(api, session, endpoint, request)).await
        }
        Endpoint::Metrics => render_metrics(api).await,
        Endpoint::Health => Ok(response::text(health(api))),
        Endpoint::OpenApi => Ok(response::json_document(include_str!("openapi.json"))),
        Endpoint::Welcome if console::wants_page(request.headers()) => console::file(&request),
        Endpoint::Console => console::file(&request),
        Endpoint::Welcome => Ok(response::text(routes::welcome())),
    }
}

/// Requests that brokers send on their own behalf.
async fn between_brokers(
    api: &Api,
    session: &Session,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let via = request.extensions().get::<Via>().copied();
    match (api.broker.cluster(), endpoint, via) {
        (Some(cluster), Endpoint::BrokerHello, _) => cluster::hello(api, cluster, session, request).await,
        (Some(cluster), Endpoint::BrokerProof, _) => cluster::proof(cluster, session, request).await,
        (Some(cluster), _, Some(via)) => cluster::changes(cluster, via, request).await,
        _ => Err(ApiError::path(request.uri().path())),
    }
}

async fn render_metrics(api: &Api) -> Result<ApiResponse, ApiError> {
    let permit = tokio::time::timeout(api.config.pool_wait, api.metrics_unread.clone().acquire_owned()).await;
    let Ok(Ok(permit)) = permit else {
        let message = format!("{METRICS_UNREAD_MAX} clients have not read their metrics yet; retry");
        return Err(ApiError::new(code::BUFFERS_EXHAUSTED, message));
    };
    Ok(response::metrics(api.metrics.render(&api.pool, api.config.memory_bytes), permit))
}

/// `ok`, also if topics have failed: the others are served, and restarting the broker again and again would not help.
fn health(api: &Api) -> String {
    match api.broker.failed_topics().len() {
        0 => "ok\n".to_owned(),
        failed => format!("ok, but {failed} topics have failed: restart the broker; its log has the details\n"),
    }
}
