//! The settings of a client.

use crate::limits::{CONNECT_TIMEOUT, CONNECTIONS_IDLE_MAX, READ_RESPONSE_BYTES_MAX, REQUEST_TIMEOUT};
use crate::retry::RetryPolicy;
use crate::tls::TlsConfig;
use rawline_batch::Limits;
use std::time::Duration;

/// The settings of a client. Start with [`ClientConfig::new`] and change the fields that differ.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The broker's address, such as `http://127.0.0.1:51313`; with `https` the connection uses TLS.
    /// Several brokers that share a storage are separated by commas: while one can't be reached, or doesn't respond to
    /// anything, the next one is used.
    pub broker: String,
    /// The broker's API key, if it has one.
    pub api_key: Option<String>,
    /// The zone that this client runs in, such as `eu-central-1a`. Reads and subscriptions go to a broker of this zone
    /// while one lives, and brokers count what crosses zones.
    pub zone: Option<String>,
    /// Certificates for `https`.
    pub tls: TlsConfig,
    /// Maximum time to open a connection.
    pub connect_timeout: Duration,
    /// Maximum time from the first byte of a request to the last byte of its response, in addition to the time that a
    /// read lets the broker wait.
    pub request_timeout: Duration,
    /// How failed reads and look-ups are retried. Appends are not: see [`Client::append`](crate::Client::append).
    pub retries: RetryPolicy,
    /// Maximum number of idle connections, and of idle connections that small appends share. Additional ones are closed
    /// after one second without use.
    pub connections_idle_max: usize,
    /// Maximum size of the response to a read in bytes.
    pub answer_bytes_max: u64,
    /// Limits of a batch, received or sent.
    pub limits: Limits,
}

impl ClientConfig {
    /// The default settings for a broker at this address.
    pub fn new(broker: impl Into<String>) -> Self {
        ClientConfig {
            broker: broker.into(),
            api_key: None,
            zone: None,
            tls: TlsConfig::default(),
            connect_timeout: CONNECT_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            retries: RetryPolicy::default(),
            connections_idle_max: CONNECTIONS_IDLE_MAX,
            answer_bytes_max: READ_RESPONSE_BYTES_MAX,
            limits: Limits::default(),
        }
    }
}
