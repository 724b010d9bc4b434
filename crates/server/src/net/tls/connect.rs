//! Handshakes of this broker with others.

use super::Tls;
use super::brokers::Pinned;
use rawline_broker::cluster::Fingerprint;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Encrypts a connection to the broker at `host` that presents one of these certificates. It gets this broker's, if it
/// wants one and there is one.
pub(crate) async fn connect(
    socket: TcpStream,
    host: &str,
    certificates: Vec<Fingerprint>,
    own: Option<&Tls>,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let config = config(certificates, own).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, socket).await
}

/// Settings for one connection. They are made anew for each: connections are kept, so there are few handshakes.
fn config(certificates: Vec<Fingerprint>, own: Option<&Tls>) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(Pinned { certificates, provider }));
    let mut config = match own.map(Tls::current) {
        Some(own) => config.with_client_auth_cert(own.pair.chain.clone(), own.pair.private.clone_key())?,
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A session that is resumed would not show the certificate.
    config.resumption = Resumption::disabled();
    Ok(config)
}
