//! TLS of accepted connections: its settings from files (`files.rs`), which are loaded again when they change
//! (`reload.rs`), handshakes (`handshake.rs`), and encrypted writes (`sender.rs`).

mod files;
mod handshake;
mod hello;
mod reload;
mod sender;

pub use files::{TlsError, TlsFiles};
pub(crate) use hello::is_tls;
pub(crate) use reload::reload;
pub(crate) use sender::TlsSender;

use files::Loaded;
use handshake::Handshakes;
use rustls::ServerConfig;
use std::sync::{Arc, PoisonError, RwLock};

/// What a connection over TLS takes in addition to a plain one while little arrives on it, in bytes: the session's
/// state and its smallest buffer, measured as 4.4 KiB while it is idle, and a part of a record.
pub const TLS_CONNECTION_BYTES: u64 = 16 << 10;

/// TLS of a broker's listeners, which share certificates and the limit of handshakes.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    files: TlsFiles,
    /// The newest that could be used. Connections keep the one that they have begun with.
    current: RwLock<Current>,
    handshakes: Handshakes,
}

struct Current {
    loaded: Loaded,
    http: Arc<ServerConfig>,
    kafka: Arc<ServerConfig>,
}

/// What is spoken within TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Kafka,
}

impl Tls {
    /// Loads the files.
    pub fn open(files: TlsFiles) -> Result<Tls, TlsError> {
        let current = RwLock::new(Current::new(files.load()?)?);
        Ok(Tls(Arc::new(Shared { files, current, handshakes: Handshakes::new() })))
    }

    fn config(&self, protocol: Protocol) -> Arc<ServerConfig> {
        let current = self.0.current.read().unwrap_or_else(PoisonError::into_inner);
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
    fn new(loaded: Loaded) -> Result<Current, TlsError> {
        let kafka = loaded.config()?;
        let mut http = kafka.clone();
        http.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Current { loaded, http: Arc::new(http), kafka: Arc::new(kafka) })
    }
}
