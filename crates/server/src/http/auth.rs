//! API keys: compared in constant time, and required for any address but loopback.

use crate::http::error::ApiError;
use http::{HeaderMap, header};
use std::net::SocketAddr;
use subtle::{Choice, ConstantTimeEq};

/// What stands in front of a key; in any case, as RFC 9110 has it.
const SCHEME: &[u8] = b"Bearer ";

/// The keys that a request may carry as `Authorization: Bearer KEY`.
#[derive(Clone, Default)]
pub struct ApiKeys(Vec<String>);

impl ApiKeys {
    /// Keys as set; without any, every request is let in.
    pub fn new(keys: Vec<String>) -> Self {
        ApiKeys(keys)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lets a request in, or not. Takes the same time for every wrong key of a length.
    ///
    /// An open door is for programs: browsers let any page of the web post forms to this machine, and name that page in
    /// `Origin`.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.0.is_empty() {
            return if headers.contains_key(header::ORIGIN) { Err(ApiError::origin()) } else { Ok(()) };
        }
        let authorization = headers.get(header::AUTHORIZATION);
        let given = match authorization.and_then(|value| value.as_bytes().split_at_checked(SCHEME.len())) {
            Some((scheme, key)) if scheme.eq_ignore_ascii_case(SCHEME) => key,
            _ => b"",
        };
        let known = self.0.iter().fold(Choice::from(0), |known, key| known | key.as_bytes().ct_eq(given));
        if bool::from(known) { Ok(()) } else { Err(ApiError::unauthorized()) }
    }
}

impl std::fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

/// Refuses an open door on an address that others can reach.
pub fn check_listen(address: &SocketAddr, keys: &ApiKeys, insecure: bool) -> Result<(), String> {
    if keys.is_empty() && !insecure && !address.ip().is_loopback() {
        return Err(format!(
            "without a key the broker listens on loopback only, and {address} can be reached from elsewhere; \
             give it --api-key KEY, or --insecure if anyone there may read and write"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

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
        assert!(ApiKeys::default().check(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn a_page_of_the_web_does_not_get_in_by_an_open_door() {
        let page = HeaderMap::from_iter([(header::ORIGIN, HeaderValue::from_static("https://example.com"))]);
        assert!(ApiKeys::default().check(&page).is_err());
    }

    #[test]
    fn an_open_door_is_for_loopback() {
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
