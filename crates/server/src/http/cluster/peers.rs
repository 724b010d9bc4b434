//! Connections to other brokers: made when a request needs one, kept for the next.

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rawline_broker::cluster::{BrokerId, Card};
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a connection may take to be made: brokers of one service are near each other.
const CONNECT_WAIT: Duration = Duration::from_secs(1);

/// Idle connections that are kept to one broker.
const IDLE_MAX: usize = 64;

/// What the library may buffer of a request or a response in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// The body of a request: a client's, which is forwarded, or our own.
pub(crate) type PeerBody = Either<Incoming, Full<Bytes>>;

/// Why a request has no response.
pub(crate) enum SendError {
    /// Nothing of it was sent.
    NotSent(Box<Request<PeerBody>>, io::Error),
    /// It may have had an effect.
    Lost(hyper::Error),
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
#[derive(Default)]
pub(crate) struct Peers {
    idle: Mutex<HashMap<BrokerId, Vec<SendRequest<PeerBody>>>>,
}

impl Peers {
    /// Sends a request to a broker; its URI is a path and a query.
    pub async fn send(&self, card: &Card, mut request: Request<PeerBody>) -> Result<Exchanged, SendError> {
        loop {
            let (mut sender, is_new) = match self.take(card.id) {
                Some(sender) => (sender, false),
                None => match connect(card).await {
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
                        return Err(SendError::NotSent(Box::new(unsent), io::Error::other(error.into_error())));
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

async fn connect(card: &Card) -> io::Result<SendRequest<PeerBody>> {
    let (host, port) = address(card)?;
    let connecting = TcpStream::connect((host.as_str(), port));
    let stream = timeout(CONNECT_WAIT, connecting).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
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

/// The host and port of a broker's address.
fn address(card: &Card) -> io::Result<(String, u16)> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{what}: broker {}", card.id));
    let url = card.url.as_deref().ok_or_else(|| wrong("no address"))?;
    let uri: Uri = url.parse().map_err(|_| wrong("the address is no URL"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http"), Some(host)) => {
            Ok((host.trim_start_matches('[').trim_end_matches(']').to_owned(), uri.port_u16().unwrap_or(80)))
        }
        _ => Err(wrong("the address is no http URL")),
    }
}

/// A body of our own.
pub(crate) fn body(bytes: impl Into<Bytes>) -> PeerBody {
    Either::Right(Full::new(bytes.into()))
}
