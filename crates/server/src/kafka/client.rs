//! What the handlers of requests share: the broker, the settings, and the client of their connection.

use super::error::ConnectionError;
use super::fetch::Kept;
use super::sasl::Sasl;
use super::session::Session;
use crate::access::{Access, Caller};
use crate::net::pace::Waits;
use crate::net::peer::Peer;
use crate::net::tls::Tls;
use rawline_broker::pool::Pool;
use rawline_broker::{Broker, CommitThread};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

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
}

/// The shared state of request handlers.
pub(crate) struct Kafka {
    pub broker: Arc<Broker>,
    pub pool: Arc<Pool>,
    pub config: KafkaConfig,
    pub sasl: Option<Sasl>,
    /// Turns true when shutdown begins, so that waiting requests get their responses.
    pub stopping: watch::Receiver<bool>,
    /// Turns true when no connection is accepted any more.
    pub closing: watch::Receiver<bool>,
    pub converting: Semaphore,
    /// For requests, other than Produce, that are larger than a connection's buffer.
    pub large: Arc<Semaphore>,
    /// For searches by the times of records.
    pub searching: Semaphore,
    /// For partitions that connections watch.
    pub watching: Arc<Semaphore>,
    /// For responses with many partitions.
    pub building: Semaphore,
}

/// One connection's client.
pub(crate) struct Client {
    pub kafka: Arc<Kafka>,
    pub peer: Peer,
    /// The address that it has connected to.
    pub local: SocketAddr,
    pub session: Session,
    pub fetches: Kept,
}

impl Client {
    /// The caller; unknown until the client has authenticated, and after its key was removed.
    pub(super) fn caller(&self) -> Arc<Caller> {
        self.session.caller(&self.kafka.config.access)
    }

    /// Fails if the key that the client has authenticated with was removed.
    pub(super) fn check_key(&self) -> Result<(), ConnectionError> {
        let is_removed = self.session.has_logged_in() && self.caller().name().is_none();
        if is_removed { Err(ConnectionError::KeyRemoved) } else { Ok(()) }
    }
}
