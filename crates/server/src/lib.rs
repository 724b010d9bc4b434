//! Serves a broker: connections in `net`, the HTTP API in `http`, Kafka's protocol in `kafka`.

mod api_keys;
mod convert;
mod groups;
pub mod http;
pub mod kafka;
pub mod net;

pub use api_keys::{ApiKeys, ListenRefused, check_listen};
pub use net::tls::{TLS_CONNECTION_BYTES, Tls, TlsError, TlsFiles};
