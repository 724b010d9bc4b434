//! What the handlers of requests share.

use crate::http::config::HttpConfig;
use crate::http::peers::Peers;
use crate::http::steps::Stats;
use crate::http::tickets::Tickets;
use crate::metrics::ServerMetrics;
use crate::net::listen::Crowd;
use crate::net::read_size::LargeReads;
use rawline_broker::pool::Pool;
use rawline_broker::{Broker, Clock};
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

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
    pub metrics: Arc<ServerMetrics>,
    /// Whether connections are refused.
    pub crowd: Arc<Crowd>,
    pub large_reads: LargeReads,
    pub unpacking: Semaphore,
    /// Responses in other forms than batches that may be made at once.
    pub selecting: Semaphore,
    /// Searches that may run, and those that may scan at once.
    pub searches: Arc<Semaphore>,
    pub scans: Semaphore,
    /// Queries of measurements that may run.
    pub queries: Arc<Semaphore>,
    /// Requests that may wait for records at once, and WebSockets.
    pub waits: Arc<Semaphore>,
    /// The permits of `waits`.
    pub waits_max: usize,
    pub metrics_unread: Arc<Semaphore>,
    pub tickets: Tickets,
    /// Connections to other brokers.
    pub peers: Peers,
    pub stats: Stats,
    /// When the broker began to serve, in microseconds since the Unix epoch.
    pub started_us: u64,
    /// Whether only this machine reaches the broker.
    pub is_local: bool,
}
