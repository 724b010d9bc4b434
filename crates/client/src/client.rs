//! A client of one broker: sends requests over a pool of connections and receives responses.

use crate::body::Pieces;
use crate::connection::{Connection, SendFailed};
use crate::pool::Pool;
use crate::stream::{Stream, Tls, is_tls_error};
use crate::{ClientError, RetryPolicy};
use bytes::{BufMut, Bytes};
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode, Uri};
use http_body::Body;
use hyper::body::Incoming;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rawline_batch::Limits;
use rawline_contract::{ErrorBody, path};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// Size of the pieces in which a long body is received, in bytes: a piece's checksum is computed while it is in the
/// second-level cache.
const PIECE_BYTES: usize = 128 << 10;

/// All characters of a query value except those that RFC 3986 never escapes.
const QUERY_VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Maximum size of a response without batches in bytes: the list of about 100,000 topics.
const TEXT_BYTES_MAX: u64 = 32 << 20;

/// The settings of a client. Start with [`ClientConfig::new`] and change what differs.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The broker's address, such as `http://127.0.0.1:51313`; with `https` the connection uses TLS and the system's
    /// trusted certificates.
    pub broker: String,
    /// The broker's API key, if it has one.
    pub api_key: Option<String>,
    /// Maximum time to open a connection.
    pub connect_timeout: Duration,
    /// Maximum time from the first byte of a request to the last byte of its response, in addition to the time that a
    /// read lets the broker wait.
    pub request_timeout: Duration,
    /// How failed reads and look-ups are retried. Appends are not: see [`Client::append`].
    pub retries: RetryPolicy,
    /// Maximum number of idle connections. Further ones are closed after one second without use.
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
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(30),
            retries: RetryPolicy::default(),
            connections_idle_max: 64,
            // Twice the broker's limit, so that one batch beyond that limit still passes.
            answer_bytes_max: 128 << 20,
            limits: Limits::default(),
        }
    }
}

/// Sends requests to one broker. Clones are cheap and share connections. Any number of requests may be in flight, each
/// on its own connection. Use it within one tokio runtime.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    retries: RetryPolicy,
}

struct Inner {
    config: ClientConfig,
    host: String,
    port: u16,
    tls: Option<Tls>,
    /// Prefix of the API's paths without a slash at its end; usually empty.
    path: String,
    host_header: HeaderValue,
    authorization: Option<HeaderValue>,
    pool: Arc<Pool>,
}

/// The parts of a request, so that it can be sent more than once.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Pieces,
}

impl Call {
    pub(crate) fn get(target: String) -> Self {
        Call { method: Method::GET, target, headers: Vec::new(), body: Pieces::default() }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl Client {
    /// Checks the settings. Connects with the first request.
    pub fn new(config: ClientConfig) -> Result<Client, ClientError> {
        let wrong = |reason: String| ClientError::Config { reason };
        let url = &config.broker;
        let example = "give one such as http://127.0.0.1:51313";
        let uri: Uri =
            url.parse().map_err(|error| wrong(format!("{url:?} is not a broker's URL ({error}); {example}")))?;
        let is_encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong(format!("{url:?} is not a broker's URL; {example}"))),
        };
        if uri.query().is_some() {
            return Err(wrong(format!("the broker's URL {url:?} has a query; remove it")));
        }
        let authority = uri.authority().ok_or_else(|| wrong(format!("{url:?} has no host; {example}")))?;
        if authority.as_str().contains('@') {
            return Err(wrong("the broker's URL has a user; set the API key instead".to_owned()));
        }
        let host_header = HeaderValue::from_str(authority.as_str())
            .map_err(|error| wrong(format!("{url:?} is not a broker's URL ({error}); {example}")))?;
        let authorization = match &config.api_key {
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                    .map_err(|_| wrong("the API key has characters that a header can't carry".to_owned()))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let inner = Inner {
            port: authority.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
            tls: if is_encrypted { Some(Tls::new(&host).map_err(wrong)?) } else { None },
            host,
            path: uri.path().trim_end_matches('/').to_owned(),
            host_header,
            authorization,
            pool: Pool::new(config.connections_idle_max),
            config,
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
        let mut attempts = self.retries.begin();
        loop {
            match self.text_once(call).await {
                Ok(text) => return Ok(text),
                Err(error) => attempts.failed(error).await?,
            }
        }
    }

    /// As [`Client::text`], without retries.
    pub(crate) async fn text_once(&self, call: &Call) -> Result<Vec<u8>, ClientError> {
        self.within(Duration::ZERO, async {
            let mut exchange = self.send(call).await?;
            exchange.text(TEXT_BYTES_MAX, true).await
        })
        .await
    }

    pub(crate) fn retries(&self) -> RetryPolicy {
        self.retries
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

    /// Sends a request. A response with an error's status becomes that error.
    ///
    /// An idle connection that the broker has closed is replaced silently, if nothing was sent on it.
    pub(crate) async fn send(&self, call: &Call) -> Result<Exchange, ClientError> {
        let mut request = self.request(call)?;
        loop {
            let (mut connection, fresh) = match self.inner.pool.take() {
                Some(connection) => (connection, false),
                None => (self.connect().await?, true),
            };
            if !connection.ready().await && !fresh {
                continue;
            }
            match connection.send(request).await {
                Ok(answer) => {
                    let (head, body) = answer.into_parts();
                    let source = Source::Http(connection);
                    let exchange = Exchange {
                        client: self.inner.clone(),
                        source,
                        head,
                        announced_bytes: body.size_hint().exact(),
                        body,
                        received_bytes: 0,
                    };
                    return exchange.checked(call.method == Method::GET).await;
                }
                Err(SendFailed { unsent: Some(unsent), .. }) if !fresh => request = unsent,
                // No byte of a response arrived; a look-up can be repeated on a new connection.
                Err(_) if !fresh && call.method == Method::GET => request = self.request(call)?,
                Err(SendFailed { error, .. }) => return Err(self.inner.broken(&error)),
            }
        }
    }

    fn request(&self, call: &Call) -> Result<Request<Pieces>, ClientError> {
        let inner = &self.inner;
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
        for (name, value) in &call.headers {
            headers.insert(name, value.clone());
        }
        Ok(request)
    }

    async fn connect(&self) -> Result<Connection, ClientError> {
        let Inner { config, host, port, tls, .. } = &*self.inner;
        let broker = || config.broker.clone();
        let failed = |reason: String| ClientError::Connect { broker: broker(), reason };
        match tokio::time::timeout(config.connect_timeout, Connection::open(host, *port, tls.as_ref())).await {
            Ok(Err(error)) if is_tls_error(&error) => {
                Err(ClientError::Tls { broker: broker(), reason: error.to_string() })
            }
            Ok(opened) => opened.map_err(|error| failed(error.to_string())),
            Err(_) => Err(failed(format!("no connection within {:.1} s", config.connect_timeout.as_secs_f64()))),
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("broker", &self.inner.config.broker).finish_non_exhaustive()
    }
}

impl Inner {
    fn broken(&self, error: &hyper::Error) -> ClientError {
        // hyper's message says which step failed, its source says why.
        let reason = match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        self.truncated(reason)
    }

    fn truncated(&self, reason: String) -> ClientError {
        ClientError::Broken { broker: self.config.broker.clone(), reason }
    }
}

/// A response whose head has been received. Its connection returns to the pool when the body has been read to its end,
/// and is closed otherwise.
pub(crate) struct Exchange {
    client: Arc<Inner>,
    source: Source,
    head: http::response::Parts,
    body: Incoming,
    /// Announced length of the body in bytes, if there is one.
    announced_bytes: Option<u64>,
    /// Number of bytes received so far.
    received_bytes: u64,
}

/// The source of the rest of a response's body.
enum Source {
    Http(Connection),
    /// A long body, which is read without hyper.
    Stream(Stream),
    /// The end was reached, or the connection failed.
    Ended,
}

impl Exchange {
    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The number in a header.
    pub(crate) fn number(&self, name: &HeaderName) -> Result<u64, ClientError> {
        let value = self.head.headers.get(name).and_then(|value| value.to_str().ok());
        value
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| self.not_a_brokers(format!("the header {name} is missing or not a number")))
    }

    /// Announced length of the body in bytes; zero if none was announced.
    pub(crate) fn announced_bytes(&self) -> u64 {
        self.announced_bytes.unwrap_or(0)
    }

    pub(crate) fn not_a_brokers(&self, reason: String) -> ClientError {
        ClientError::Answer { broker: self.client.config.broker.clone(), reason }
    }

    /// The next chunk of the body; none at its end, where the connection returns to the pool if `reuse` is set.
    pub(crate) async fn chunk(&mut self, reuse: bool) -> Result<Option<Bytes>, ClientError> {
        let Source::Http(connection) = &mut self.source else { return Ok(None) };
        match connection.chunk(&mut self.body).await {
            Some(Ok(chunk)) => {
                self.received_bytes += chunk.len() as u64;
                Ok(Some(chunk))
            }
            Some(Err(error)) => {
                self.source = Source::Ended;
                Err(self.client.broken(&error))
            }
            None => {
                if let Source::Http(connection) = std::mem::replace(&mut self.source, Source::Ended)
                    && reuse
                {
                    self.client.pool.put(connection);
                }
                Ok(None)
            }
        }
    }

    /// Appends the next piece of the body to `buffer`; false at its end. Pieces are so short that they are still in the
    /// processor's cache when this returns.
    pub(crate) async fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, ClientError> {
        // hyper reads a body without a length, and the short rest of one.
        let left = self.announced_bytes.map_or(0, |bytes| bytes.saturating_sub(self.received_bytes));
        if matches!(self.source, Source::Http(_)) && left >= PIECE_BYTES as u64 {
            return self.take_stream(buffer);
        }
        let Source::Stream(stream) = &mut self.source else {
            let chunk = self.chunk(true).await?;
            buffer.extend_from_slice(chunk.as_deref().unwrap_or_default());
            return Ok(chunk.is_some());
        };
        if left == 0 {
            return self.give_stream_back().await.map(|()| false);
        }
        let piece = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        buffer.reserve(piece);
        match stream.read_buf(&mut buffer.limit(piece)).await {
            Ok(0) => Err(self.client.truncated("it was closed in the middle of a response".to_owned())),
            Ok(read) => {
                self.received_bytes += read as u64;
                Ok(true)
            }
            Err(error) => Err(self.client.truncated(error.to_string())),
        }
    }

    /// Continues without hyper.
    fn take_stream(&mut self, buffer: &mut Vec<u8>) -> Result<bool, ClientError> {
        let Source::Http(connection) = std::mem::replace(&mut self.source, Source::Ended) else { return Ok(false) };
        let Some((chunks, stream)) = connection.into_stream(&mut self.body) else {
            return Err(self.client.truncated("it was closed in the middle of a response".to_owned()));
        };
        for chunk in chunks {
            self.received_bytes += chunk.len() as u64;
            buffer.extend_from_slice(&chunk);
        }
        if self.announced_bytes.is_some_and(|bytes| bytes < self.received_bytes) {
            return Err(self.not_a_brokers("the response is longer than its Content-Length".to_owned()));
        }
        self.source = Source::Stream(stream);
        Ok(true)
    }

    /// Returns the stream to hyper for the next response.
    async fn give_stream_back(&mut self) -> Result<(), ClientError> {
        let closes =
            self.head.headers.get(CONNECTION).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
        if let Source::Stream(stream) = std::mem::replace(&mut self.source, Source::Ended)
            && !closes
        {
            let connection = Connection::over(stream).await.map_err(|error| self.client.broken(&error))?;
            self.client.pool.put(connection);
        }
        Ok(())
    }

    /// The whole body, if it has at most `bytes_max` bytes. The connection is kept if `reuse` is set.
    async fn text(&mut self, bytes_max: u64, reuse: bool) -> Result<Vec<u8>, ClientError> {
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk(reuse).await? {
            if text.len() as u64 + chunk.len() as u64 > bytes_max {
                self.source = Source::Ended;
                return Err(self.not_a_brokers(format!("more than {bytes_max} bytes")));
            }
            text.extend_from_slice(&chunk);
        }
        Ok(text)
    }

    /// Turns a response with an error's status into that error. If a part of the refused request may be unsent, its
    /// connection is closed: the broker need not read the rest.
    async fn checked(mut self, sent_whole: bool) -> Result<Exchange, ClientError> {
        let status = self.head.status;
        if status.is_success() {
            return Ok(self);
        }
        let retry_after = retry_after(&self.head.headers);
        // A broker may close the connection before the message is read: the status alone is enough.
        let text = self.text(64 << 10, sent_whole).await.unwrap_or_default();
        let (code, message) = refusal(status, &self.head.headers, &text);
        Err(ClientError::Refused { status: status.as_u16(), code, message, retry_after })
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The broker's code and message, or the status in words if there are none.
fn refusal(status: StatusCode, headers: &HeaderMap, text: &[u8]) -> (String, String) {
    if let Ok(ErrorBody { code, error }) = serde_json::from_slice(text) {
        return (code.into_owned(), error.into_owned());
    }
    let reason = status.canonical_reason().unwrap_or("unknown status");
    let is_plain = headers.get(CONTENT_TYPE).is_none_or(|value| value.as_bytes().starts_with(b"text/plain"));
    let message = match std::str::from_utf8(text) {
        Ok(words) if is_plain && !words.trim().is_empty() && words.len() <= 500 => words.trim().to_owned(),
        _ => reason.to_owned(),
    };
    (reason.to_lowercase().replace(' ', "_"), message)
}

/// A topic's name or another text as a value in a query.
pub(crate) fn query_value(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, QUERY_VALUE)
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
            assert_eq!((inner.host.as_str(), inner.port, inner.path.as_str()), (host, port, path), "{url}");
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
    fn query_values_are_escaped() {
        assert_eq!(query_value("a b&c=d/ü-._~").to_string(), "a%20b%26c%3Dd%2F%C3%BC-._~");
    }

    #[test]
    fn refusals_without_a_brokers_message_still_have_one() {
        let (code, message) = refusal(StatusCode::BAD_GATEWAY, &HeaderMap::new(), b"");
        assert_eq!((code.as_str(), message.as_str()), ("bad_gateway", "Bad Gateway"));
        let text = br#"{"code":"topic_not_found","error":"make it first"}"#;
        let (code, message) = refusal(StatusCode::NOT_FOUND, &HeaderMap::new(), text);
        assert_eq!((code.as_str(), message.as_str()), ("topic_not_found", "make it first"));
    }
}
