//! Connections to other brokers: opened when a request needs one, and kept for the next. Each request names its
//! client.

use super::caller;
use super::connect::{ConnectError, Me, connect};
use super::handshake::{Claim, ConnectionKey, PeerKey};
use crate::access::Caller;
use crate::net::tls::Tls;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use rawline_broker::cluster::{BrokerId, Card, Cluster};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Idle connections that are kept to one broker.
const IDLE_MAX: usize = 64;

/// The body of a request: a client's, which is forwarded, or our own.
pub(crate) type PeerBody = Either<Incoming, Full<Bytes>>;

/// Why a request has no response.
pub(crate) enum SendError {
    /// Nothing of it was sent.
    NotSent(Box<Request<PeerBody>>, ConnectError),
    /// It may have had an effect.
    Lost(hyper::Error),
}

/// The client for which a request is sent.
pub(crate) enum Asker {
    /// This broker.
    Broker,
    /// No client in particular: it needs no key.
    Anyone,
    Client(Client),
}

/// A client whose request is forwarded.
pub(crate) struct Client {
    pub caller: Arc<Caller>,
    /// The client's address.
    pub address: IpAddr,
    /// The key that it has sent, for a broker that can't authenticate.
    pub authorization: Option<HeaderValue>,
}

/// A response on its connection, which can be used again when the response has been read.
pub(crate) struct Exchanged {
    pub response: Response<Incoming>,
    pub connection: Connection,
}

/// A connection to a broker, which has proven that it is the one of its card.
pub(crate) struct Connection {
    broker: BrokerId,
    sender: SendRequest<PeerBody>,
    /// `None` if this broker couldn't authenticate: then it has only the grants of its clients.
    authority: Option<Authority>,
}

/// The key that authenticates this broker's requests on a connection.
pub(super) struct Authority {
    key: ConnectionKey,
    /// The number of the newest request.
    newest: u64,
}

impl Authority {
    pub fn new(key: ConnectionKey) -> Authority {
        Authority { key, newest: 0 }
    }

    /// Adds the sender of a request.
    fn sign(&mut self, request: &mut Request<PeerBody>, client: Option<&Client>) {
        let caller = client.map(|client| caller::text(&client.caller, client.address, &self.key));
        self.newest += 1;
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let (number, method) = (self.newest, request.method().as_str());
        let claim = Claim { number, method, target, caller: caller.as_deref().unwrap_or_default() };
        let peer = format!("{number} {}", self.key.code(&claim));
        let texts = [(rawline_contract::header::PEER, Some(peer)), (rawline_contract::header::CALLER, caller)];
        for (name, text) in texts {
            let Some(text) = text else { continue };
            let Ok(value) = HeaderValue::from_str(&text) else { unreachable!("{text:?} has visible characters") };
            request.headers_mut().insert(name, value);
        }
    }
}

impl Connection {
    /// Adds the client to a request; false if this connection can't be used for it.
    fn sign(&mut self, request: &mut Request<PeerBody>, asker: &Asker) -> bool {
        // Of an attempt before this one.
        for name in [rawline_contract::header::PEER, rawline_contract::header::CALLER, header::AUTHORIZATION] {
            request.headers_mut().remove(name);
        }
        match (&mut self.authority, asker) {
            (_, Asker::Anyone) => {}
            (Some(authority), Asker::Broker) => authority.sign(request, None),
            (Some(authority), Asker::Client(client)) => authority.sign(request, Some(client)),
            (None, Asker::Broker) => return false,
            (None, Asker::Client(client)) => {
                if let Some(authorization) = &client.authorization {
                    request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
                }
            }
        }
        true
    }
}

/// Connections to the brokers on the storage.
pub(crate) struct Peers {
    /// This broker, if it shares its storage with others.
    me: Option<Me>,
    idle: Mutex<HashMap<BrokerId, Vec<Connection>>>,
}

impl Peers {
    /// `key` is that of this broker's card, and `tls` has its certificate, for brokers that want those of clients.
    pub fn new(cluster: Option<&Cluster>, key: Arc<PeerKey>, tls: Option<Tls>) -> Peers {
        let me = |cluster: &Cluster| Me { id: cluster.brokers().me, is_read_only: cluster.is_read_only(), key, tls };
        Peers { me: cluster.map(me), idle: Mutex::default() }
    }

    /// Sends a request to a broker; its URI is a path and a query.
    pub async fn send(
        &self,
        card: &Card,
        mut request: Request<PeerBody>,
        asker: &Asker,
    ) -> Result<Exchanged, SendError> {
        request.headers_mut().extend(host_of(card));
        loop {
            let (mut connection, is_new) = match self.take(card.id) {
                Some(connection) => (connection, false),
                None => match self.connect(card).await {
                    Ok(connection) => (connection, true),
                    Err(error) => return Err(SendError::NotSent(Box::new(request), error)),
                },
            };
            if !connection.sign(&mut request, asker) {
                self.keep(connection);
                return Err(SendError::NotSent(Box::new(request), ConnectError::Unproven));
            }
            match connection.sender.try_send_request(request).await {
                Ok(response) => return Ok(Exchanged { response, connection }),
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

    async fn connect(&self, card: &Card) -> Result<Connection, ConnectError> {
        let Some(me) = &self.me else { unreachable!("a broker that shares no storage connects to {}", card.id) };
        let (sender, authority) = connect(me, card).await?;
        Ok(Connection { broker: card.id, sender, authority })
    }

    /// Keeps a connection whose response has been read.
    pub fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = idle.entry(connection.broker).or_default();
        if idle.len() < IDLE_MAX && !connection.sender.is_closed() {
            idle.push(connection);
        }
    }

    /// Closes the idle connections to a broker.
    pub fn forget(&self, broker: BrokerId) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).remove(&broker);
    }

    fn take(&self, broker: BrokerId) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = idle.get_mut(&broker)?;
        loop {
            let connection = idle.pop()?;
            if connection.sender.is_ready() {
                return Some(connection);
            }
        }
    }
}

/// The name by which a broker is called.
pub(super) fn host_of(card: &Card) -> Option<(header::HeaderName, HeaderValue)> {
    let (_, host) = card.url.as_deref()?.split_once("://")?;
    // A card with other characters is refused by the broker that it names.
    HeaderValue::from_str(host.trim_end_matches('/')).ok().map(|host| (header::HOST, host))
}

/// A body of our own.
pub(crate) fn body(bytes: impl Into<Bytes>) -> PeerBody {
    Either::Right(Full::new(bytes.into()))
}
