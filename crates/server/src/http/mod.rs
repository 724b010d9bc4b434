//! The HTTP API over a broker: accepts connections, finds the verb, ends gracefully.
//!
//! One file a verb; `error.rs` alone turns errors into answers. `docs/http.md` describes the API for those who call it,
//! `openapi.json` for their tools.

mod accept;
mod answer;
mod append;
mod auth;
mod body;
#[cfg(feature = "profiling")]
pub mod debug;
mod edge;
mod error;
mod form;
mod metrics;
mod query;
mod read;
mod topics;

pub use crate::net::pace::Waits;
pub use answer::AnswerBody;
pub use auth::{ApiKeys, check_listen};
pub use form::request_buffers_max;
pub use metrics::install as install_metrics;
pub use query::parse_go_duration;

use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::net::listen::Listener;
use crate::net::{pace, sendfile};
use answer::Answer;
use http::{Method, Request};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rawline_broker::pool::Pool;
use rawline_broker::{Broker, Clock};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// What the API decides by setting.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Keys that requests may carry; empty for an open door.
    pub api_keys: ApiKeys,
    /// Largest body in bytes.
    pub request_bytes_max: u64,
    /// What a batch may be.
    pub batch_limits: rawline_batch::Limits,
    /// How long a request waits for buffers before it gets 503.
    pub pool_wait: Duration,
    /// How long clients are waited for.
    pub waits: Waits,
    /// Connections at once; each may hold [`CONNECTION_BYTES`] beside the pool.
    pub connections_max: usize,
    /// How long requests under way may still take when the broker is told to stop.
    pub shutdown_wait: Duration,
}

impl Default for HttpConfig {
    /// No keys, and the limits that `rawline serve` has without flags.
    fn default() -> Self {
        let batch_limits = rawline_batch::Limits::default();
        HttpConfig {
            api_keys: ApiKeys::default(),
            request_bytes_max: u64::from(batch_limits.batch_bytes_max) * 2,
            batch_limits,
            pool_wait: Duration::from_secs(5),
            waits: Waits::default(),
            connections_max: 1024,
            shutdown_wait: Duration::from_secs(20),
        }
    }
}

/// Bytes that a connection's own read buffer grows to.
pub const CONNECTION_BYTES: usize = 128 << 10;

/// What every verb needs.
pub(crate) struct Api {
    pub broker: Arc<Broker>,
    pub pool: Arc<Pool>,
    pub clock: Arc<dyn Clock>,
    pub config: HttpConfig,
    /// Turns true when the broker is told to stop, so that those who wait for data are answered.
    pub stopping: watch::Receiver<bool>,
    pub metrics: metrics::HttpMetrics,
    /// Compressed batches that are unpacked for a person, two at once, each of at most `raw_bytes_max`.
    pub unpacking: Semaphore,
}

/// Serves the API until `stop` turns true; then answers what is under way and returns.
pub async fn serve(
    listener: TcpListener,
    broker: Arc<Broker>,
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    config: HttpConfig,
    stop: watch::Receiver<bool>,
) {
    let listener = Listener::new(listener, config.connections_max);
    let graceful = GracefulShutdown::new();
    let shutdown_wait = config.shutdown_wait;
    let metrics = metrics::HttpMetrics::new();
    let tidying = metrics.tidy();
    let api =
        Arc::new(Api { broker, pool, clock, config, stopping: stop.clone(), metrics, unpacking: Semaphore::new(2) });
    let mut stopped = stop;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|&stop| stop) => break,
        };
        let Some((stream, permit)) = accepted else { continue };
        let stream = pace::Paced::new(sendfile::FileSender::new(stream, api.broker.clone()), api.config.waits);
        let api = api.clone();
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(api.config.waits.head)
            .max_buf_size(CONNECTION_BYTES)
            .serve_connection(
                TokioIo::new(stream),
                service_fn(move |request| {
                    let api = api.clone();
                    async move { Ok::<_, Infallible>(answer(&api, request).await) }
                }),
            );
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
            drop(permit);
        });
    }
    drop(listener);
    tidying.abort();
    if tokio::time::timeout(shutdown_wait, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were still under way after {shutdown_wait:?}; ended them");
    }
}

/// One request's answer, counted.
async fn answer(api: &Api, request: Request<Incoming>) -> Answer {
    let started = tokio::time::Instant::now();
    let verb = metrics::verb(request.method(), request.uri().path());
    let answer = route(api, request).await.unwrap_or_else(|error| error.into_answer());
    api.metrics.answered(verb, answer.status(), started.elapsed());
    answer
}

async fn route(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    let path = request.uri().path();
    let method = request.method();
    let get = method == Method::GET || method == Method::HEAD;
    match path {
        "/health" if get => return Ok(answer::text("ok\n")),
        "/openapi.json" if get => return Ok(answer::json_text(include_str!("openapi.json"))),
        "/" if get => return Ok(answer::text(WELCOME)),
        _ => {}
    }
    let refused = match (path, api.config.api_keys.check(request.headers())) {
        (_, Err(error)) => error,
        ("/records", _) if method == Method::POST => return append::append(api, request).await,
        ("/records", _) if get => return read::records(api, request).await,
        ("/record", _) if get => return read::record(api, request).await,
        ("/offset", _) if get => return topics::offset(api, request).await,
        ("/topic", _) if get => return topics::topic(api, request).await,
        ("/topic", _) if method == Method::PUT => return topics::set_topic(api, request).await,
        ("/topics", _) if get => return Ok(topics::topics(api)),
        ("/metrics", _) if get => return Ok(answer::metrics(api.metrics.render(&api.pool))),
        ("/records", _) => ApiError::method("GET, HEAD, POST"),
        ("/topic", _) => ApiError::method("GET, HEAD, PUT"),
        ("/record" | "/offset" | "/topics" | "/metrics" | "/health" | "/openapi.json" | "/", _) => {
            ApiError::method("GET, HEAD")
        }
        (path, _) => ApiError::path(path),
    };
    drop(BodyReader::split(api, request));
    Err(refused)
}

const WELCOME: &str = concat!(
    "rawline ",
    env!("CARGO_PKG_VERSION"),
    "\n\nPOST /records?topic-name=T  GET /records?topic-name=T&offset=0  GET /topics  GET /health  GET /metrics\n",
    "The API: GET /openapi.json\n"
);
