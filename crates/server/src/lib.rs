//! Serves a broker: connections in `net`, the HTTP API in `http`.

pub mod http;
pub mod net;
