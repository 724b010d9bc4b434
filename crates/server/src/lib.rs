//! Serves a broker: connections in `net`, the HTTP API in `http`, Kafka's protocol in `kafka`.

mod convert;
pub mod http;
pub mod kafka;
pub mod net;
