//! A client of one broker, or of several on one storage: sends requests over a pool of connections.

use crate::addresses::{Addresses, Common};
use crate::body::Pieces;
use crate::call::Call;
use crate::config::ClientConfig;
use crate::connection::{Connection, SendFailed, Upgraded};
use crate::environment::{Environment, SystemEnvironment};
use crate::error::ClientError;
use crate::exchange::Exchange;
use crate::limits::TEXT_BYTES_MAX;
use crate::owners::{Learned, Owner, Owners, is_unsent};
use crate::peer::Peer;
use crate::pipeline::{Pipelines, SmallHead};
use crate::pool::Pool;
use crate::retry::Attempts;
use crate::retry::RetryPolicy;
use crate::stream::Stream;
use crate::tls::explain;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderValue};
use http::{HeaderMap, Method, Request, Uri};
use rawline_contract::header::{NEARER, OWNER, ZONE};
use rawline_contract::{Code, path};
use std::sync::Arc;
use std::time::Duration;

/// Sends requests to one broker. Clones are cheap and share connections. Any number of requests may be in flight: small
/// appends share connections, each other request has a separate one. Use it within one tokio runtime.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
    retries: RetryPolicy,
}

/// The state that all clones of a client share.
pub(crate) struct Inner {
    pub(crate) config: ClientConfig,
    addresses: Addresses,
    /// Prefix of the API's paths without a trailing slash; usually empty.
    path: String,
    host_header: HeaderValue,
    authorization: Option<HeaderValue>,
    pub(crate) pool: Arc<Pool<Connection>>,
    zone: Option<HeaderValue>,
    /// For small appends.
    pub(crate) pipelines: Pipelines,
    pub(crate) small_head: SmallHead,
    environment: Arc<dyn Environment>,
    /// `None` for the client of an owner: its user reads the owner from the responses.
    pub(crate) owners: Option<Owners>,
    /// The brokers of the client's zone, for its reads; `None` also without a zone.
    pub(crate) nearer: Option<Owners>,
}

/// A connection that speaks another protocol from now on.
pub(crate) struct Switched {
    /// Of the response.
    pub(crate) head: http::response::Parts,
    /// The bytes that have arrived after it.
    pub(crate) arrived: Bytes,
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
}

impl Client {
    /// Checks the settings. Connects on the first request.
    pub fn new(config: ClientConfig) -> Result<Client, ClientError> {
        Client::with_environment(config, Arc::new(SystemEnvironment))
    }

    /// Like [`Client::new`], with the time and the randomness of `environment`.
    pub fn with_environment(config: ClientConfig, environment: Arc<dyn Environment>) -> Result<Client, ClientError> {
        Client::with_owners(config, environment, Some(Owners::default()), None)
    }

    /// A client of the broker that owns a journal, as a response to `self` has said.
    pub(crate) fn of_owner(&self, config: ClientConfig) -> Result<Client, ClientError> {
        Client::with_owners(config, self.inner.environment.clone(), None, Some(&self.inner.addresses))
    }

    fn with_owners(
        config: ClientConfig,
        environment: Arc<dyn Environment>,
        owners: Option<Owners>,
        others: Option<&Addresses>,
    ) -> Result<Client, ClientError> {
        let (addresses, Common { path, host_header }) = Addresses::parse(&config, others)?;
        let wrong = |reason: String| ClientError::Config { reason };
        let authorization = match &config.api_key {
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                    .map_err(|_| wrong("the API key has characters that a header can't carry".to_owned()))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        let zone = config.zone.as_deref().map(|zone| HeaderValue::from_bytes(zone.as_bytes())).transpose();
        let zone = zone.map_err(|_| wrong(format!("the zone {:?} has control characters", config.zone)))?;
        let inner = Inner {
            addresses,
            pool: Pool::new(config.connections_idle_max),
            pipelines: Pipelines::new(config.broker.clone(), config.request_timeout, config.connections_idle_max),
            small_head: SmallHead::new(&path, &host_header, authorization.as_ref(), zone.as_ref()),
            path,
            host_header,
            authorization,
            nearer: zone.as_ref().filter(|_| owners.is_some()).map(|_| Owners::default()),
            zone,
            config,
            environment,
            owners,
        };
        let retries = inner.config.retries;
        Ok(Client { inner: Arc::new(inner), retries })
    }

    /// A client with other retries that shares this one's connections.
    pub fn with_retries(&self, retries: RetryPolicy) -> Client {
        Client { inner: self.inner.clone(), retries }
    }

    /// The settings of this client.
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// Fails unless the broker responds.
    pub async fn health(&self) -> Result<(), ClientError> {
        self.text(&Call::get(path::HEALTH.to_owned())).await.map(|_| ())
    }

    /// Sends a request whose response is short text; retries transient failures.
    pub(crate) async fn text(&self, call: &Call) -> Result<Vec<u8>, ClientError> {
        let mut attempts = self.attempts();
        loop {
            match self.text_once(call).await {
                Ok(text) => return Ok(text),
                Err(error) => attempts.failed(error).await?,
            }
        }
    }

    /// Like [`Client::text`], without retries.
    pub(crate) async fn text_once(&self, call: &Call) -> Result<Vec<u8>, ClientError> {
        self.text_within(call, Duration::ZERO).await
    }

    /// Like [`Client::text_once`], for a request that the broker lets wait up to `wait`.
    pub(crate) async fn text_within(&self, call: &Call, wait: Duration) -> Result<Vec<u8>, ClientError> {
        self.text_and_owner(call, wait).await.map(|(text, _)| text)
    }

    /// Like [`Client::text_within`], with the URL of the journal's owner if the request was forwarded there.
    pub(crate) async fn text_and_owner(
        &self,
        call: &Call,
        wait: Duration,
    ) -> Result<(Vec<u8>, Option<String>), ClientError> {
        self.within(wait, async {
            let mut exchange = self.send(call, wait).await?;
            let owner = exchange.header(&OWNER);
            Ok((exchange.text(TEXT_BYTES_MAX, true).await?, owner))
        })
        .await
    }

    /// The broker of the client's zone that serves reads of this partition or subscription, if it is known.
    pub(crate) fn nearer_of(&self, read: &str) -> Option<Owner> {
        self.inner.nearer.as_ref()?.of(read)
    }

    /// Takes the broker that the response to a read has named.
    pub(crate) fn learn_nearer(&self, read: &str, response: &HeaderMap) -> Learned {
        let url = response.get(NEARER).and_then(|url| url.to_str().ok());
        match self.inner.nearer.as_ref().zip(url) {
            Some((nearer, url)) => nearer.learn(read, url, self),
            None => Learned::Known,
        }
    }

    /// A read at this broker of the client's zone has failed. Returns whether nothing was sent: then the read goes
    /// elsewhere at once.
    pub(crate) fn nearer_failed(&self, read: &str, nearer: &Owner, error: &ClientError) -> bool {
        if let Some(known) = &self.inner.nearer {
            known.failed(read, nearer, error);
        }
        is_unsent(error)
    }

    /// Deletes something, with retries. `missing` is the broker's code if it doesn't exist.
    pub(crate) async fn delete(&self, call: &Call, missing: Code) -> Result<(), ClientError> {
        let (mut attempts, mut may_be_deleted) = (self.attempts(), false);
        loop {
            match self.text_once(call).await {
                Ok(_) => return Ok(()),
                // An earlier try, whose response was lost, has deleted it.
                Err(error) if may_be_deleted && error.code() == Some(missing.name) => return Ok(()),
                Err(error) => {
                    may_be_deleted |= matches!(error, ClientError::Broken { .. } | ClientError::Timeout { .. });
                    attempts.failed(error).await?;
                }
            }
        }
    }

    /// Starts to count the failures of a request.
    pub(crate) fn attempts(&self) -> Attempts {
        self.retries.begin(self.inner.environment.clone())
    }

    pub(crate) fn environment(&self) -> &Arc<dyn Environment> {
        &self.inner.environment
    }

    /// Bounds the time of a request that lets the broker wait up to `wait`.
    pub(crate) async fn within<T>(
        &self,
        wait: Duration,
        request: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let limit = self.inner.config.request_timeout.saturating_add(wait);
        tokio::time::timeout(limit, request)
            .await
            .unwrap_or_else(|_| Err(ClientError::Timeout { broker: self.inner.config.broker.clone(), waited: limit }))
    }

    /// Sends a request that lets the broker wait up to `wait`. A response with an error status becomes that error.
    ///
    /// An idle connection that the broker has closed is replaced silently, if nothing was sent on it.
    pub(crate) async fn send(&self, call: &Call, wait: Duration) -> Result<Exchange, ClientError> {
        let mut request = self.request(call)?;
        loop {
            let (mut connection, fresh) = match self.inner.pool.take() {
                Some(connection) => (connection, false),
                None => (self.connection().await?, true),
            };
            if !connection.ready().await && !fresh {
                continue;
            }
            let peer = connection.peer().clone();
            match peer.unless_silent(wait, connection.send(request)).await? {
                Ok(response) => {
                    let exchange = Exchange::new(self.inner.clone(), connection, response);
                    return exchange.checked(call.method == Method::GET).await;
                }
                Err(SendFailed { unsent: Some(unsent), .. }) if !fresh => {
                    let (whole, left) = (call.body.bytes_left(), unsent.body().bytes_left());
                    assert_eq!(whole, left, "{left} bytes of a body of {whole} would be sent again as the whole");
                    request = unsent;
                }
                // No byte of a response arrived; a look-up can be repeated on a new connection.
                Err(_) if !fresh && call.method == Method::GET => request = self.request(call)?,
                Err(SendFailed { error, .. }) => return Err(self.inner.broken(&error)),
            }
        }
    }

    /// Sends a request for an upgrade to another protocol, on a new connection. A refusal becomes that error.
    pub(crate) async fn upgrade(&self, call: &Call) -> Result<Switched, ClientError> {
        let request = self.request(call)?;
        let connection = self.connection().await?;
        let peer = connection.peer().clone();
        let upgraded = peer.unless_silent(Duration::ZERO, connection.upgrade(request)).await?;
        match upgraded.map_err(|error| self.inner.broken(&error))? {
            Upgraded::Accepted(head, arrived, stream) => Ok(Switched { head, arrived, stream, peer }),
            Upgraded::Refused(connection, response) => {
                let exchange = Exchange::new(self.inner.clone(), connection, response).checked(true).await?;
                let status = exchange.status();
                Err(exchange.not_a_brokers(format!("status {status} for a request that opens a WebSocket")))
            }
        }
    }

    fn request(&self, call: &Call) -> Result<Request<Pieces>, ClientError> {
        let inner = &self.inner;
        assert!(call.target.starts_with('/'), "{:?} would become a part of the host's name", call.target);
        let target = format!("{}{}", inner.path, call.target);
        let uri: Uri = target.parse().map_err(|error| ClientError::Config {
            reason: format!("{target:?} is not a valid request target ({error})"),
        })?;
        let mut request = Request::new(call.body.clone());
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(HOST, inner.host_header.clone());
        if let Some(authorization) = &inner.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if let Some(zone) = &inner.zone {
            headers.insert(ZONE, zone.clone());
        }
        for (name, value) in &call.headers {
            headers.insert(name, value.clone());
        }
        Ok(request)
    }

    async fn connection(&self) -> Result<Connection, ClientError> {
        let (stream, peer) = self.inner.connect().await?;
        Connection::over(stream, peer).await.map_err(|error| self.inner.broken(&error))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("broker", &self.inner.config.broker).finish_non_exhaustive()
    }
}

impl Inner {
    /// Opens a stream to a broker.
    pub(crate) async fn connect(&self) -> Result<(Stream, Peer), ClientError> {
        self.addresses.connect(self.config.connect_timeout).await
    }

    /// Whether no broker of this client has responded lately.
    pub(crate) fn is_silent(&self) -> bool {
        self.addresses.are_avoided()
    }

    pub(crate) fn broken(&self, error: &hyper::Error) -> ClientError {
        let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
        // A broker refuses a client's certificate after the handshake of TLS 1.3.
        if let Some(reason) = cause.and_then(explain) {
            return ClientError::Tls { broker: self.config.broker.clone(), reason };
        }
        // hyper's message says which step failed, its source says why.
        let reason = match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        self.truncated(reason)
    }

    pub(crate) fn truncated(&self, reason: String) -> ClientError {
        ClientError::Broken { broker: self.config.broker.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> Result<Client, ClientError> {
        Client::new(ClientConfig::new(url))
    }

    #[test]
    fn addresses_are_parsed() {
        for (url, host, port, path) in [
            ("http://127.0.0.1:51313", "127.0.0.1", 51313, ""),
            ("http://[::1]:7/", "::1", 7, ""),
            ("http://broker.example", "broker.example", 80, ""),
            ("http://gate.example/rawline/", "gate.example", 80, "/rawline"),
        ] {
            let inner = client(url).unwrap().inner;
            assert_eq!((inner.addresses.hosts(), inner.path.as_str()), (vec![(host, port)], path), "{url}");
        }
    }

    #[test]
    fn a_client_can_have_several_brokers_with_one_path() {
        let inner = client("http://a:1/rawline, http://b:2/rawline/").unwrap().inner;
        assert_eq!((inner.addresses.hosts(), &*inner.path), (vec![("a", 1), ("b", 2)], "/rawline"));
        for urls in ["http://a:1,http://b:2/rawline", "http://a:1,", "http://a:1,b:2"] {
            assert!(matches!(client(urls), Err(ClientError::Config { .. })), "{urls}");
        }
    }

    #[test]
    fn wrong_addresses_are_named() {
        for url in
            ["", "127.0.0.1:51313", "localhost", "ftp://x", "https://", "http://x/?a=b", "http://u:p@x", "http://"]
        {
            let error = client(url).unwrap_err();
            assert!(matches!(error, ClientError::Config { .. }), "{url}: {error}");
        }
    }

    #[test]
    fn a_key_that_no_header_carries_is_refused_and_never_shown() {
        let mut config = ClientConfig::new("http://x");
        config.api_key = Some("secret\n".into());
        assert!(!Client::new(config).unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn a_zone_that_no_header_carries_is_refused() {
        let config = |zone: &str| ClientConfig { zone: Some(zone.to_owned()), ..ClientConfig::new("http://x") };
        assert!(matches!(Client::new(config("a\nb")), Err(ClientError::Config { .. })));
        Client::new(config("zürich 1")).unwrap();
    }
}
