//! API keys over HTTP: the header that carries one.

use crate::api_keys::ApiKeys;
use crate::http::error::ApiError;
use http::{HeaderMap, HeaderValue, header};

/// What precedes a key; its case doesn't matter (RFC 9110).
const SCHEME: &[u8] = b"Bearer ";

/// A request may carry a key as `Authorization: Bearer KEY`.
impl ApiKeys {
    /// Checks that a request carries one of the keys.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let authorization = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        if self.allow(authorization) { Ok(()) } else { Err(ApiError::unauthorized()) }
    }

    /// Whether the value of an `Authorization` header carries one of the keys.
    pub(crate) fn allow(&self, authorization: Option<&[u8]>) -> bool {
        let given = match authorization.and_then(|value| value.split_at_checked(SCHEME.len())) {
            Some((scheme, key)) if scheme.eq_ignore_ascii_case(SCHEME) => key,
            _ => b"",
        };
        self.contains(given)
    }
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
}
