//! One request to the broker, and the encoding of values in its query.

use crate::body::Pieces;
use crate::error::ClientError;
use bytes::Bytes;
use http::Method;
use http::header::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

/// All characters of a query value except those that RFC 3986 never escapes.
const QUERY_VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parts of a request, so that it can be sent more than once.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Pieces,
}

impl Call {
    pub(crate) fn new(method: Method, target: String) -> Self {
        Call { method, target, headers: Vec::new(), body: Pieces::default() }
    }

    pub(crate) fn get(target: String) -> Self {
        Call::new(Method::GET, target)
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// With a JSON body.
    pub(crate) fn json(mut self, value: &impl Serialize) -> Result<Self, ClientError> {
        let text = serde_json::to_vec(value).map_err(|error| ClientError::Config { reason: error.to_string() })?;
        self.body = Pieces::new(vec![Bytes::from(text)]);
        Ok(self)
    }
}

/// Encodes a topic's name or another text as a value in a query.
pub(crate) fn query_value(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, QUERY_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_are_escaped() {
        assert_eq!(query_value("a b&c=d/ü-._~").to_string(), "a%20b%26c%3Dd%2F%C3%BC-._~");
    }
}
