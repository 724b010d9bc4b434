//! API keys: compared in constant time, and required for any address but loopback.

use crate::http::error::ApiError;
use http::{HeaderMap, HeaderValue, header};
use std::net::SocketAddr;
use subtle::{Choice, ConstantTimeEq};

/// What precedes a key; its case doesn't matter (RFC 9110).
const SCHEME: &[u8] = b"Bearer ";

/// The keys that a request may carry as `Authorization: Bearer KEY`.
#[derive(Clone, Default)]
pub struct ApiKeys(Vec<String>);

impl ApiKeys {
    /// These keys. If there are none, requests need no key.
    pub fn new(keys: Vec<String>) -> Self {
        ApiKeys(keys)
    }

    /// Whether requests need no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that a request carries one of the keys. Takes the same time for every wrong key of one length.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let authorization = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        if self.allow(authorization) { Ok(()) } else { Err(ApiError::unauthorized()) }
    }

    /// Whether the value of an `Authorization` header carries one of the keys.
    pub(crate) fn allow(&self, authorization: Option<&[u8]>) -> bool {
        assert!(!self.0.is_empty(), "a broker without keys has nothing to compare with");
        let given = match authorization.and_then(|value| value.split_at_checked(SCHEME.len())) {
            Some((scheme, key)) if scheme.eq_ignore_ascii_case(SCHEME) => key,
            _ => b"",
        };
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
    fn keys_are_needed_once_set() {
        let keys = ApiKeys::new(vec!["one".into(), "two".into()]);
        let headers =
            |value: &'static str| HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
        let check = |value: &'static str| keys.check(&headers(value)).is_ok();
        assert!(check("Bearer one") && check("bearer two"));
        for wrong in ["Bearer three", "Bearer on", "Bearer onetwo", "one", "Basic one", "Bearer "] {
            assert!(!check(wrong), "{wrong}");
        }
        assert!(keys.check(&HeaderMap::new()).is_err());
    }

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
