//! TLS of accepted connections: settings from files (`files.rs`), which are reloaded when they change (`reload.rs`),
//! handshakes (`handshake.rs`), and encrypted writes (`sender.rs`). TLS of connections to other brokers
//! (`connect.rs`), and the certificates that brokers trust (`brokers.rs`).

mod brokers;
mod connect;
mod files;
mod handshake;
mod hello;
mod reload;
mod sender;

pub(crate) use connect::connect;
pub use files::{TlsError, TlsFiles};
pub(crate) use hello::is_tls;
pub(crate) use reload::reload;
pub(crate) use sender::TlsSender;

use brokers::{Known, fingerprint};
use files::{Loaded, Pair};
use handshake::Handshakes;
use rawline_broker::cluster::Fingerprint;
use rustls::ServerConfig;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

/// The additional memory of an idle connection over TLS, in bytes: the session's
/// state and its smallest buffer, measured as 4.4 KiB while it is idle, and a part of a record.
pub const TLS_CONNECTION_BYTES: u64 = 16 << 10;

/// TLS of a broker's listeners, which share certificates and the limit of handshakes.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    files: TlsFiles,
    /// The newest that could be used. Connections keep the one that they have begun with.
    current: RwLock<Arc<Current>>,
    brokers: Arc<Known>,
    handshakes: Handshakes,
}

struct Current {
    loaded: Loaded,
    pair: Pair,
    http: Arc<ServerConfig>,
    kafka: Arc<ServerConfig>,
}

/// The protocol within TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Kafka,
}

impl Tls {
    /// Loads the files.
    pub fn open(files: TlsFiles) -> Result<Tls, TlsError> {
        let brokers = Arc::new(Known::default());
        let current = RwLock::new(Arc::new(Current::new(files.load()?, &brokers)?));
        Ok(Tls(Arc::new(Shared { files, current, brokers, handshakes: Handshakes::new() })))
    }

    /// The certificate that new connections use.
    pub fn certificate(&self) -> Fingerprint {
        self.current().certificate()
    }

    /// These are the certificates of the other brokers from now on.
    pub(crate) fn know(&self, certificates: HashSet<Fingerprint>) {
        self.0.brokers.replace(certificates);
    }

    /// Waits until a client presents a certificate that isn't known. It may be a new broker's.
    pub(crate) async fn stranger(&self) {
        self.0.brokers.stranger.notified().await;
    }

    fn current(&self) -> Arc<Current> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn config(&self, protocol: Protocol) -> Arc<ServerConfig> {
        let current = self.current();
        match protocol {
            Protocol::Http => current.http.clone(),
            Protocol::Kafka => current.kafka.clone(),
        }
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tls").field(&self.0.files).finish()
    }
}

impl Current {
    fn new(loaded: Loaded, brokers: &Arc<Known>) -> Result<Current, TlsError> {
        let pair = loaded.pair()?;
        // Other brokers speak HTTP only. With a separate ticketer, they can't resume a session over Kafka's protocol.
        let kafka = loaded.config(&pair, None)?;
        let mut http = loaded.config(&pair, Some(brokers))?;
        http.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Current { loaded, pair, http: Arc::new(http), kafka: Arc::new(kafka) })
    }

    fn certificate(&self) -> Fingerprint {
        match self.pair.chain.first() {
            Some(certificate) => fingerprint(certificate),
            None => unreachable!("a file without a certificate was refused"),
        }
    }
}
