//! The addresses of the brokers that a client may use: one, or several that share a storage.

use crate::address::Address;
use crate::config::ClientConfig;
use crate::error::ClientError;
use crate::peer::Peer;
use crate::stream::Stream;
use http::header::HeaderValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The addresses of a client. All are equally good; a client keeps one until it can't connect there, or the broker
/// there doesn't respond to anything.
pub(crate) struct Addresses {
    all: Vec<Arc<Address>>,
    /// The place in `all` of the one that is tried first.
    current: AtomicUsize,
}

/// Settings that all brokers of a client share.
pub(crate) struct Common {
    /// Prefix of the API's paths without a trailing slash; usually empty.
    pub path: String,
    /// The value of the header `Host`: that of the first broker.
    pub host_header: HeaderValue,
}

impl Addresses {
    /// The brokers in a list of URLs, separated by commas. `others` are brokers to which requests can go instead, if
    /// there are any. A broker in both lists has one state, so that a failed one is waited for only once.
    pub(crate) fn parse(config: &ClientConfig, others: Option<&Addresses>) -> Result<(Addresses, Common), ClientError> {
        let is_replaceable = others.is_some() || config.broker.contains(',');
        let mut common: Option<Common> = None;
        let mut all = Vec::new();
        for url in config.broker.split(',').map(str::trim) {
            let address = Address::parse(url, &config.tls, is_replaceable);
            let mut address = address.map_err(|reason| ClientError::Config { reason })?;
            if let Some(same) = others.and_then(|others| others.at(&address.host, address.port)) {
                address.liveness = same.liveness.clone();
            }
            match &common {
                None => {
                    let (path, host_header) = (address.path.clone(), address.host_header.clone());
                    common = Some(Common { path, host_header });
                }
                Some(first) if first.path == address.path => {}
                Some(first) => {
                    let reason =
                        format!("the paths of the brokers' URLs differ: {:?} and {:?}", first.path, address.path);
                    return Err(ClientError::Config { reason });
                }
            }
            all.push(Arc::new(address));
        }
        let Some(common) = common else { unreachable!("a text without a part between commas") };
        Ok((Addresses { all, current: AtomicUsize::new(0) }, common))
    }

    /// Opens a stream to the broker that was used last, or to the next one that can be reached. Brokers that have not
    /// responded lately come last.
    pub(crate) async fn connect(&self, wait: Duration) -> Result<(Stream, Peer), ClientError> {
        let current = self.current.load(Ordering::Relaxed);
        let mut places: Vec<(usize, &Arc<Address>)> = self.all.iter().enumerate().collect();
        places.rotate_left(current);
        places.sort_by_key(|(_, address)| address.liveness.is_avoided());
        let mut failed = None;
        for (place, address) in places {
            match address.connect(wait).await {
                Ok(connected) => {
                    self.current.store(place, Ordering::Relaxed);
                    return Ok(connected);
                }
                // That of the broker that was used last says most.
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        let Some(error) = failed else { unreachable!("a client without an address") };
        Err(error)
    }

    fn at(&self, host: &str, port: u16) -> Option<&Arc<Address>> {
        self.all.iter().find(|address| address.host == host && address.port == port)
    }

    /// Whether all have not responded lately.
    pub(crate) fn are_avoided(&self) -> bool {
        self.all.iter().all(|address| address.liveness.is_avoided())
    }

    #[cfg(test)]
    pub(crate) fn hosts(&self) -> Vec<(&str, u16)> {
        self.all.iter().map(|address| (address.host.as_str(), address.port)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(urls: &str, others: Option<&Addresses>) -> Addresses {
        Addresses::parse(&ClientConfig::new(urls), others).unwrap().0
    }

    #[test]
    fn a_broker_in_two_lists_is_silent_once() {
        let given = parse("http://a:1,http://b:2", None);
        let known = |port, of: &Addresses| {
            let of = of.at("b", port).unwrap();
            given.all.iter().filter(|address| Arc::ptr_eq(&address.liveness, &of.liveness)).count()
        };
        assert_eq!(known(2, &parse("http://b:2", Some(&given))), 1);
        assert_eq!(known(1, &parse("http://b:1", Some(&given))), 0, "another broker");
        assert_eq!(known(2, &parse("http://b:2", None)), 0);
    }
}
