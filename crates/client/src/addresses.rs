//! The addresses of the brokers that a client may use: one, or several that share a storage.

use crate::config::ClientConfig;
use crate::stream::Stream;
use crate::tls::{Tls, explain};
use crate::{ClientError, TlsConfig};
use http::Uri;
use http::header::HeaderValue;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const EXAMPLE: &str = "give one such as http://127.0.0.1:51313";

/// Where connections go. All are equally good; a client stays where it is until it can't connect there.
pub(crate) struct Addresses {
    all: Vec<Address>,
    /// The place in `all` of the one that is tried first.
    current: AtomicUsize,
}

/// Where one broker is.
struct Address {
    url: String,
    host: String,
    port: u16,
    tls: Option<Tls>,
}

/// What is the same for all brokers of a client.
pub(crate) struct Common {
    /// Prefix of the API's paths without a trailing slash; usually empty.
    pub path: String,
    /// The value of the header `Host`: that of the first broker.
    pub host_header: HeaderValue,
}

impl Addresses {
    /// The brokers in a list of URLs, separated by commas.
    pub(crate) fn parse(config: &ClientConfig) -> Result<(Addresses, Common), ClientError> {
        let mut common: Option<Common> = None;
        let mut all = Vec::new();
        for url in config.broker.split(',').map(str::trim) {
            let (address, found) = parse(url, &config.tls).map_err(|reason| ClientError::Config { reason })?;
            match &common {
                None => common = Some(found),
                Some(first) if first.path == found.path => {}
                Some(first) => {
                    let reason =
                        format!("the paths of the brokers' URLs differ: {:?} and {:?}", first.path, found.path);
                    return Err(ClientError::Config { reason });
                }
            }
            all.push(address);
        }
        let Some(common) = common else { unreachable!("a text without a part between commas") };
        Ok((Addresses { all, current: AtomicUsize::new(0) }, common))
    }

    /// Opens a stream to the broker that was used last, or to the next one that can be reached.
    pub(crate) async fn connect(&self, wait: Duration) -> Result<Stream, ClientError> {
        let current = self.current.load(Ordering::Relaxed);
        let mut failed = None;
        for place in (current..self.all.len()).chain(0..current) {
            let Some(address) = self.all.get(place) else { unreachable!("place {place} of {}", self.all.len()) };
            match address.connect(wait).await {
                Ok(stream) => {
                    self.current.store(place, Ordering::Relaxed);
                    return Ok(stream);
                }
                // That of the broker that was used last says most.
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        let Some(error) = failed else { unreachable!("a client without an address") };
        Err(error)
    }

    #[cfg(test)]
    pub(crate) fn hosts(&self) -> Vec<(&str, u16)> {
        self.all.iter().map(|address| (address.host.as_str(), address.port)).collect()
    }
}

impl Address {
    async fn connect(&self, wait: Duration) -> Result<Stream, ClientError> {
        let failed = |reason: String| ClientError::Connect { broker: self.url.clone(), reason };
        let opening = Stream::open(&self.host, self.port, self.tls.as_ref());
        match tokio::time::timeout(wait, opening).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(match explain(&error) {
                Some(reason) => ClientError::Tls { broker: self.url.clone(), reason },
                None => failed(error.to_string()),
            }),
            Err(_) => Err(failed(format!("no connection within {:.1} s", wait.as_secs_f64()))),
        }
    }
}

/// A broker's address, and what it has in common with others.
fn parse(url: &str, tls: &TlsConfig) -> Result<(Address, Common), String> {
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
    let address = Address {
        port: authority.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
        tls: if is_encrypted { Some(Tls::new(&host, tls)?) } else { None },
        host,
        url: url.to_owned(),
    };
    Ok((address, Common { path: uri.path().trim_end_matches('/').to_owned(), host_header }))
}
