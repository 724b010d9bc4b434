//! The settings of the API.

use crate::access::Access;
use crate::http::cors::AllowedOrigin;
use crate::http::peers::PeerKey;
use crate::measurements::Measurements;
use crate::metrics::{Build, ServerMetrics};
use crate::net::pace::Waits;
use crate::net::tls::Tls;
use rawline_broker::CommitThread;
use std::sync::Arc;
use std::time::Duration;

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
    /// What is counted, together with Kafka's protocol.
    pub metrics: Arc<ServerMetrics>,
    /// What was built.
    pub build: Build,
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
            metrics: Arc::default(),
            build: Build::default(),
            query_time: Duration::from_secs(10),
            peer_key: Arc::new(PeerKey::generate()),
        }
    }
}
