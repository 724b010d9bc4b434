//! The address of one broker: connections to it, and the check whether it responds.

use crate::body::Pieces;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::limits::QUESTION_WAIT;
use crate::liveness::{Answer, Liveness};
use crate::peer::Peer;
use crate::stream::Stream;
use crate::tls::TlsConfig;
use crate::tls::{Tls, explain};
use http::header::{HOST, HeaderValue};
use http::{Request, Uri};
use rawline_contract::path;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const EXAMPLE: &str = "give one such as http://127.0.0.1:51313";

/// The address of one broker.
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    tls: Option<Tls>,
    /// Prefix of the API's paths without a trailing slash; usually empty.
    pub(crate) path: String,
    /// The value of the header `Host`.
    pub(crate) host_header: HeaderValue,
    /// Whether another broker can take over its requests. If not, its liveness isn't checked.
    pub(crate) is_replaceable: bool,
    pub(crate) liveness: Arc<Liveness>,
}

impl Address {
    /// Opens a connection.
    pub(crate) async fn connect(self: &Arc<Self>, wait: Duration) -> Result<(Stream, Peer), ClientError> {
        let failed = |reason: String| ClientError::Connect { broker: self.url.clone(), reason };
        let peer = Peer::new(self.clone());
        match timeout(wait, self.open()).await {
            Ok(Ok(stream)) => Ok((stream, peer)),
            Ok(Err(error)) => Err(match explain(&error) {
                Some(reason) => ClientError::Tls { broker: self.url.clone(), reason },
                None => failed(error.to_string()),
            }),
            Err(_) => Err(failed(format!("no connection within {:.1} s", wait.as_secs_f64()))),
        }
    }

    async fn open(&self) -> io::Result<Stream> {
        Stream::open(&self.host, self.port, self.tls.as_ref()).await
    }

    /// Asks the broker whether it lives, on a new connection.
    pub(crate) async fn ask(self: Arc<Self>) -> Answer {
        timeout(QUESTION_WAIT, self.ask_unlimited()).await.unwrap_or(Answer::Silent)
    }

    async fn ask_unlimited(self: &Arc<Self>) -> Answer {
        let peer = Peer::new(self.clone());
        let stream = match self.open().await {
            Ok(stream) => stream,
            Err(error) => return answer_of_failure(&error),
        };
        let Ok(uri) = self.health_path().parse::<Uri>() else { return Answer::Unknown };
        let mut request = Request::new(Pieces::default());
        *request.uri_mut() = uri;
        request.headers_mut().insert(HOST, self.host_header.clone());
        let Ok(mut connection) = Connection::over(stream, peer).await else { return Answer::Unknown };
        // Whatever it responds. Without a response, the connection was closed, by a server that has too many perhaps.
        connection.send(request).await.map_or(Answer::Unknown, |_response| Answer::Lives)
    }

    /// A path to which brokers respond without slow operations.
    pub(crate) fn health_path(&self) -> String {
        format!("{}{}", self.path, path::HEALTH)
    }

    /// A broker's address.
    pub(crate) fn parse(url: &str, tls: &TlsConfig, is_replaceable: bool) -> Result<Address, String> {
        let not_a_url = |error: &dyn std::fmt::Display| format!("{url:?} is not a broker's URL ({error}); {EXAMPLE}");
        let uri: Uri = url.parse().map_err(|error| not_a_url(&error))?;
        let is_encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(format!("{url:?} is not a broker's URL; {EXAMPLE}")),
        };
        if uri.query().is_some() {
            return Err(format!("the broker's URL {url:?} has a query; remove it"));
        }
        let authority = uri.authority().ok_or_else(|| format!("{url:?} has no host; {EXAMPLE}"))?;
        if authority.as_str().contains('@') {
            return Err("the broker's URL has a user; set the API key instead".to_owned());
        }
        let host_header = HeaderValue::from_str(authority.as_str()).map_err(|error| not_a_url(&error))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Address {
            port: authority.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
            tls: if is_encrypted { Some(Tls::new(&host, tls)?) } else { None },
            host,
            url: url.to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
            host_header,
            is_replaceable,
            liveness: Arc::default(),
        })
    }
}

/// Whether a failed connection shows that the broker is unreachable. Other failures may be local, such as too
/// many open files.
fn answer_of_failure(error: &io::Error) -> Answer {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable | io::ErrorKind::TimedOut => Answer::Silent,
        _ => Answer::Unknown,
    }
}
