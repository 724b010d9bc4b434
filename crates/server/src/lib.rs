//! Serves a broker: connections in `net`, who may do what in `access`, the HTTP API in `http`, Kafka's protocol in
//! `kafka`.

pub mod access;
mod convert;
mod groups;
pub mod http;
pub mod kafka;
pub mod net;

pub use access::{Access, ListenRefused, check_listen};
pub use net::tls::{TLS_CONNECTION_BYTES, Tls, TlsError, TlsFiles};
