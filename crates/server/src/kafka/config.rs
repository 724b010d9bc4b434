//! The settings of Kafka's protocol.

use crate::access::Access;
use crate::metrics::ServerMetrics;
use crate::net::pace::Waits;
use crate::net::tls::Tls;
use rawline_broker::CommitThread;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may be idle: longer than clients let theirs be.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(600);

/// The settings of the protocol.
#[derive(Debug, Clone)]
pub struct KafkaConfig {
    /// Maximum size of a Produce request in bytes.
    pub request_bytes_max: u64,
    /// Limits of a batch.
    pub batch_limits: rawline_batch::Limits,
    /// How long a request waits for buffers.
    pub pool_wait: Duration,
    /// Timeouts for clients.
    pub waits: Waits,
    /// Maximum number of open connections.
    pub connections_max: usize,
    /// How long requests in flight may still take after shutdown begins.
    pub shutdown_wait: Duration,
    /// Host and port in the metadata that clients get; if `None`, those that they have connected to.
    pub advertise: Option<(String, u16)>,
    /// Whether topics are created when clients request them.
    pub create_topics: bool,
    /// Serves small Produce requests, and commits them. Without one, they are served as others are.
    pub commit_thread: Option<CommitThread>,
    /// Maximum size of a small Produce request after its header, in bytes.
    pub small_bytes_max: u64,
    /// TLS of all connections; plain TCP if this is `None`.
    pub tls: Option<Tls>,
    /// Access control. The keys are the passwords of clients; without keys, clients don't authenticate.
    pub access: Access,
    /// What is counted, together with HTTP.
    pub metrics: Arc<ServerMetrics>,
}
