//! Serves a broker: connections in `net`, access control in `access`, the HTTP API in `http`, Kafka's protocol in
//! `kafka`, the interface to measurements in `measurements`, counters in `metrics`.

pub mod access;
mod convert;
mod groups;
pub mod http;
pub mod kafka;
mod measurements;
mod metrics;
pub mod net;

pub use access::{Access, ListenRefused, check_listen};
pub use measurements::{Answering, Measurements, MeasurementsError, Question};
pub use metrics::{Build, ServerMetrics};
pub use net::tls::{TLS_CONNECTION_BYTES, Tls, TlsError, TlsFiles};
pub use rawline_contract::Kind;
