//! TLS: of the broker itself, and of a proxy before it.

// Clippy recognizes tests only by their attribute; these are their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::disallowed_methods)]

mod brokers;
mod certificates;
mod documented;
mod garbage;
mod handshakes;
mod proxy;
mod records;
mod refused;
mod reload;
#[path = "../support/mod.rs"]
mod support;
mod wire;

use certificates::{Authority, Pair};
use rawline_client::{Client, ClientConfig, RetryPolicy, TlsConfig};
use support::Broker;

/// A broker with a certificate of this authority.
fn broker(authority: &Authority, flags: &[&str]) -> Broker {
    broker_with(&authority.broker(), flags)
}

/// A broker with this certificate.
fn broker_with(pair: &Pair, flags: &[&str]) -> Broker {
    let files = [pair.certificate.to_str().unwrap(), pair.key.to_str().unwrap()];
    support::broker(&[&["--tls-cert", files[0], "--tls-key", files[1]], flags].concat())
}

/// A client that trusts this authority, and retries nothing.
fn client(url: &str, authority: &Authority) -> Client {
    client_with(url, authority, None)
}

/// The same, which presents a certificate.
fn client_with(url: &str, authority: &Authority, pair: Option<&Pair>) -> Client {
    let tls = TlsConfig {
        ca_file: Some(authority.file.clone()),
        certificate_file: pair.map(|pair| pair.certificate.clone()),
        key_file: pair.map(|pair| pair.key.clone()),
    };
    Client::new(ClientConfig { tls, retries: RetryPolicy::NONE, ..ClientConfig::new(url) }).unwrap()
}
