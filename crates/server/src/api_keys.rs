//! API keys: compared in constant time, and required for any address but loopback.

use std::net::SocketAddr;
use subtle::{Choice, ConstantTimeEq};

/// The keys that clients may have.
#[derive(Clone, Default)]
pub struct ApiKeys(Vec<String>);

impl ApiKeys {
    /// These keys. If there are none, clients need no key.
    pub fn new(keys: Vec<String>) -> Self {
        ApiKeys(keys)
    }

    /// Whether clients need no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether this is one of the keys. Takes the same time for every wrong one of one length.
    pub(crate) fn contains(&self, given: &[u8]) -> bool {
        assert!(!self.0.is_empty(), "a broker without keys has nothing to compare with");
        self.0.iter().fold(Choice::from(0), |known, key| known | key.as_bytes().ct_eq(given)).into()
    }
}

impl std::fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

/// Why a broker must not listen on an address: it has no keys, and other machines can reach the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a broker without API keys listens on loopback only, and other machines can reach {address}")]
pub struct ListenRefused {
    /// The address.
    pub address: SocketAddr,
}

/// Refuses an address that other machines can reach, unless there are keys or `insecure` allows it.
pub fn check_listen(address: &SocketAddr, keys: &ApiKeys, insecure: bool) -> Result<(), ListenRefused> {
    if keys.is_empty() && !insecure && !address.ip().is_loopback() {
        return Err(ListenRefused { address: *address });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_keys_only_loopback_is_listened_on() {
        let keys = ApiKeys::new(vec!["key".into()]);
        let open = "0.0.0.0:51313".parse().unwrap();
        assert!(check_listen(&open, &ApiKeys::default(), false).is_err());
        assert!(check_listen(&open, &ApiKeys::default(), true).is_ok());
        assert!(check_listen(&open, &keys, false).is_ok());
        for loopback in ["127.0.0.1:1", "[::1]:1"] {
            assert!(check_listen(&loopback.parse().unwrap(), &ApiKeys::default(), false).is_ok());
        }
    }
}
