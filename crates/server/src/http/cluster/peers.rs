//! Connections to other brokers: made when a request needs one, kept for the next.

use super::forward::peer_headers;
use crate::net::tls::{self, Tls};
use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rawline_broker::cluster::{BrokerId, Card};
use rawline_contract::path;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a connection may take to be made: brokers of one service are near each other.
const CONNECT_WAIT: Duration = Duration::from_secs(1);

/// How long a TLS handshake may take, with the first response.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(2);

/// Idle connections that are kept to one broker.
const IDLE_MAX: usize = 64;

/// What the library may buffer of a request or a response in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// The body of a request: a client's, which is forwarded, or our own.
pub(crate) type PeerBody = Either<Incoming, Full<Bytes>>;

/// Why a request has no response.
pub(crate) enum SendError {
    /// Nothing of it was sent.
    NotSent(Box<Request<PeerBody>>, ConnectError),
    /// It may have had an effect.
    Lost(hyper::Error),
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// It may be there in a moment, or is gone.
    #[error("{0}")]
    Unreachable(io::Error),
    /// Somebody else responds, or the brokers' settings don't fit.
    #[error("{0}")]
    Refused(String),
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        ConnectError::Unreachable(error)
    }
}

/// A response on its connection, which can be used again when the response has been read.
pub(crate) struct Exchanged {
    pub response: Response<Incoming>,
    pub connection: Connection,
}

/// A connection to a broker.
pub(crate) struct Connection {
    broker: BrokerId,
    sender: SendRequest<PeerBody>,
}

/// Connections to the brokers on the storage.
pub(crate) struct Peers {
    /// This broker's certificate, for brokers that want those of clients.
    own: Option<Tls>,
    idle: Mutex<HashMap<BrokerId, Vec<SendRequest<PeerBody>>>>,
}

impl Peers {
    pub fn new(own: Option<Tls>) -> Peers {
        Peers { own, idle: Mutex::default() }
    }

    /// Sends a request to a broker; its URI is a path and a query.
    pub async fn send(&self, card: &Card, mut request: Request<PeerBody>) -> Result<Exchanged, SendError> {
        loop {
            let (mut sender, is_new) = match self.take(card.id) {
                Some(sender) => (sender, false),
                None => match connect(card, self.own.as_ref()).await {
                    Ok(sender) => (sender, true),
                    Err(error) => return Err(SendError::NotSent(Box::new(request), error)),
                },
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    return Ok(Exchanged { response, connection: Connection { broker: card.id, sender } });
                }
                Err(mut error) => match error.take_message() {
                    // It was idle, and the other broker has closed it.
                    Some(unsent) if !is_new => request = unsent,
                    Some(unsent) => {
                        let error = io::Error::other(error.into_error());
                        return Err(SendError::NotSent(Box::new(unsent), error.into()));
                    }
                    None => return Err(SendError::Lost(error.into_error())),
                },
            }
        }
    }

    /// Keeps a connection whose response has been read.
    pub fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = idle.entry(connection.broker).or_default();
        if idle.len() < IDLE_MAX && !connection.sender.is_closed() {
            idle.push(connection.sender);
        }
    }

    /// Closes the idle connections to a broker.
    pub fn forget(&self, broker: BrokerId) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).remove(&broker);
    }

    fn take(&self, broker: BrokerId) -> Option<SendRequest<PeerBody>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = idle.get_mut(&broker)?;
        loop {
            let sender = idle.pop()?;
            if sender.is_ready() {
                return Some(sender);
            }
        }
    }
}

async fn connect(card: &Card, own: Option<&Tls>) -> Result<SendRequest<PeerBody>, ConnectError> {
    let Address { host, port, is_encrypted } = address(card).map_err(ConnectError::Refused)?;
    let connecting = TcpStream::connect((host.as_str(), port));
    let stream = timeout(CONNECT_WAIT, connecting).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    if is_encrypted {
        let encrypting = encrypt(card, &host, stream, own);
        return timeout(HANDSHAKE_WAIT, encrypting).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
    }
    Ok(begin(stream).await?)
}

/// The same over TLS.
async fn encrypt(
    card: &Card,
    host: &str,
    stream: TcpStream,
    own: Option<&Tls>,
) -> Result<SendRequest<PeerBody>, ConnectError> {
    let stream = tls::connect(stream, host, card.certificates.clone(), own).await.map_err(explain)?;
    let mut sender = begin(stream).await?;
    // A certificate of ours that it refuses shows only now, and nothing of a client's request must be sent before.
    let mut request = Request::new(body(Bytes::new()));
    *request.uri_mut() = Uri::from_static(path::HEALTH);
    request.headers_mut().extend(peer_headers(card));
    let response = sender.send_request(request).await.map_err(|error| refused(card, &error))?;
    let status = response.status();
    response.into_body().collect().await.map_err(|error| refused(card, &error))?;
    if status != StatusCode::OK {
        return Err(io::Error::other(format!("it responds with status {status}")).into());
    }
    sender.ready().await.map_err(io::Error::other)?;
    Ok(sender)
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

/// Where a broker is.
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

/// A body of our own.
pub(crate) fn body(bytes: impl Into<Bytes>) -> PeerBody {
    Either::Right(Full::new(bytes.into()))
}
