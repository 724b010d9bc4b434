//! Connects to another broker: TCP, TLS if its address has `https`, and the handshake by which both authenticate. No
//! part of a client's request is sent before that.

use super::handshake::{Asking, MESSAGE_BYTES_MAX, NotProven, Pair, PeerKey};
use super::requests::{Authority, PeerBody, body, host_of};
use crate::net::tls::{self, Tls};
use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rawline_broker::cluster::{BrokerId, Card};
use rawline_contract::{ErrorBody, path};
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a connection may take to be made: brokers of one service are near each other.
const CONNECT_WAIT: Duration = Duration::from_secs(1);

/// How long the handshakes may take: the other broker may have to read this one's card from the storage.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(2);

/// The library's buffer for a request or a response in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// It may be there in a moment, or is gone.
    #[error("{0}")]
    Unreachable(io::Error),
    /// Another program responds, or the brokers' settings don't fit.
    #[error("{0}")]
    Refused(String),
    /// This broker can't authenticate, since its card can't be stored.
    #[error("the other broker doesn't know this one, whose card can't be stored")]
    Unproven,
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        ConnectError::Unreachable(error)
    }
}

impl From<NotProven> for ConnectError {
    fn from(error: NotProven) -> Self {
        ConnectError::Refused(error.to_string())
    }
}

/// This broker, as others see it.
pub(super) struct Me {
    pub id: BrokerId,
    pub is_read_only: bool,
    pub key: Arc<PeerKey>,
    pub tls: Option<Tls>,
}

/// A new connection to the broker of this card, and the authority that this broker has there.
pub(super) async fn connect(me: &Me, card: &Card) -> Result<(SendRequest<PeerBody>, Option<Authority>), ConnectError> {
    let Address { host, port, is_encrypted } = address(card).map_err(ConnectError::Refused)?;
    let connecting = TcpStream::connect((host.as_str(), port));
    let stream = timeout(CONNECT_WAIT, connecting).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    let shaking = async {
        let mut sender = if is_encrypted {
            begin(tls::connect(stream, &host, card.certificates.clone(), me.tls.as_ref()).await.map_err(explain)?)
                .await?
        } else {
            begin(stream).await?
        };
        let authority = introduce(me, card, &mut sender).await?;
        sender.ready().await.map_err(io::Error::other)?;
        Ok((sender, authority))
    };
    timeout(HANDSHAKE_WAIT, shaking).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Authenticates the other broker by its card, and this one to it. A broker whose card can't be
/// stored has no authority.
async fn introduce(
    me: &Me,
    card: &Card,
    sender: &mut SendRequest<PeerBody>,
) -> Result<Option<Authority>, ConnectError> {
    let public = card.public_key.ok_or_else(|| ConnectError::Refused("its card has no public key".to_owned()))?;
    let (asking, hello) = Asking::begin(Pair { asking: me.id, answering: card.id })?;
    let (status, answer) = exchange(card, sender, path::BROKER_HELLO, &hello).await?;
    match status {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED => return Err(ConnectError::Refused(sentence(&answer))),
        StatusCode::NOT_FOUND => return Err(NotProven.into()),
        status => return Err(io::Error::other(format!("it responds with status {status}")).into()),
    }
    let answer = serde_json::from_slice(&answer).map_err(|_| NotProven)?;
    let (proof, key) = asking.finish(&me.key, &answer, &public)?;
    match exchange(card, sender, path::BROKER_PROOF, &proof).await? {
        (StatusCode::NO_CONTENT, _) => Ok(Some(Authority::new(key))),
        (StatusCode::UNAUTHORIZED, _) if me.is_read_only => Ok(None),
        (StatusCode::UNAUTHORIZED, _) => Err(io::Error::other("it hasn't found this broker's card yet").into()),
        (status, _) => Err(io::Error::other(format!("it responds with status {status}")).into()),
    }
}

/// Sends one message of the handshake.
async fn exchange<T: Serialize>(
    card: &Card,
    sender: &mut SendRequest<PeerBody>,
    path: &'static str,
    message: &T,
) -> Result<(StatusCode, Bytes), ConnectError> {
    let message = serde_json::to_vec(message).map_err(io::Error::from)?;
    let mut request = Request::new(body(message));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(path);
    request.headers_mut().extend(host_of(card));
    sender.ready().await.map_err(|error| refused(card, &error))?;
    // A certificate of ours that it refuses shows only now.
    let response = sender.send_request(request).await.map_err(|error| refused(card, &error))?;
    let status = response.status();
    let response = Limited::new(response.into_body(), MESSAGE_BYTES_MAX).collect().await;
    Ok((status, response.map_err(io::Error::other)?.to_bytes()))
}

/// The message of a response that refuses this broker.
fn sentence(response: &[u8]) -> String {
    serde_json::from_slice(response).map_or_else(|_| NotProven.to_string(), |body: ErrorBody<'_>| body.error.into())
}

/// The protocol on a new connection.
async fn begin<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S) -> io::Result<SendRequest<PeerBody>> {
    let handshake = http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(TokioIo::new(stream));
    let (sender, connection) = handshake.await.map_err(io::Error::other)?;
    #[expect(clippy::disallowed_methods, reason = "a task for each connection, which ends with it")]
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to another broker ended");
        }
    });
    Ok(sender)
}

/// The address of a broker.
struct Address {
    host: String,
    port: u16,
    is_encrypted: bool,
}

fn address(card: &Card) -> Result<Address, String> {
    let url = card.url.as_deref().ok_or("it has no address")?;
    let wrong = || format!("its address {url:?} is not a URL with http or https");
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let is_encrypted = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong()),
    };
    let host = uri.host().ok_or_else(wrong)?.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(Address { host, port: uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }), is_encrypted })
}

/// Why a TLS handshake with another broker failed.
fn explain(error: io::Error) -> ConnectError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => ConnectError::Refused(
            "it presents another certificate than its card on the storage names: is another program at its address, \
             or a proxy that terminates TLS?"
                .to_owned(),
        ),
        Some(error) => ConnectError::Refused(format!("the TLS handshake with it failed: {error}")),
        None => ConnectError::Unreachable(error),
    }
}

/// Why another broker ended a connection at its first request.
fn refused(card: &Card, error: &hyper::Error) -> ConnectError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = source {
        let io = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(error) = io.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return ConnectError::Refused(format!(
                "it doesn't accept this broker's certificate ({error}); it does once it has read this broker's card"
            ));
        }
        source = inner.source();
    }
    io::Error::other(format!("broker {} closed the connection: {error}", card.id)).into()
}
