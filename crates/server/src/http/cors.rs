//! Web apps of other origins that may use the API (`serve --allow-origin`): the headers of CORS that let a browser hand
//! them the broker's responses.

use crate::http::response::{self, ApiResponse};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use rawline_contract::header::{FIRST_OFFSET, NEXT_OFFSET, RESUME_OFFSET};
use std::str::FromStr;

/// The origin of a web app, as browsers write it in `Origin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin(HeaderValue);

/// Why a text is not the origin of a web app.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the origin of a web app, such as https://app.example.com or http://localhost:3000")]
pub struct OriginInvalid(String);

impl FromStr for AllowedOrigin {
    type Err = OriginInvalid;

    /// Reads `http://` or `https://`, a host, and maybe a port. Browsers write all of it in lower case and omit the
    /// scheme's own port, and so does this.
    fn from_str(text: &str) -> Result<Self, OriginInvalid> {
        let invalid = || OriginInvalid(text.to_owned());
        let lower = text.to_ascii_lowercase();
        let (scheme, host) = lower.split_once("://").ok_or_else(invalid)?;
        let own_port = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => return Err(invalid()),
        };
        let host = host.strip_suffix(own_port).unwrap_or(host);
        let authority: http::uri::Authority = host.parse().map_err(|_| invalid())?;
        if authority.host().is_empty() || authority.as_str().contains(['@', '*']) {
            return Err(invalid());
        }
        HeaderValue::from_str(&format!("{scheme}://{host}")).map(AllowedOrigin).map_err(|_| invalid())
    }
}

/// Request headers that an app may send in addition to those that are always allowed.
const REQUEST_HEADERS: &str = "authorization, content-type, last-event-id";

/// Response headers that an app may read in addition to those that are always exposed.
const RESPONSE_HEADERS: [HeaderName; 4] = [FIRST_OFFSET, NEXT_OFFSET, RESUME_OFFSET, header::RETRY_AFTER];

/// How long a browser caches a preflight, in seconds: two hours, the longest that browsers accept.
const MAX_AGE: &str = "7200";

/// The request's origin, if it is one of these.
pub(crate) fn allowed<'a>(origins: &'a [AllowedOrigin], headers: &HeaderMap) -> Option<&'a HeaderValue> {
    let mut found = headers.get_all(header::ORIGIN).iter();
    match (found.next(), found.next()) {
        (Some(origin), None) => origins.iter().map(|AllowedOrigin(allowed)| allowed).find(|allowed| *allowed == origin),
        _ => None,
    }
}

/// Whether a browser asks if it may send a request (a preflight). Such a request carries no key.
pub(crate) fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to a preflight of an allowed origin. The methods of all paths: the request itself is checked.
pub(crate) fn preflight() -> ApiResponse {
    let mut response = response::no_content();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    response
}

/// Lets the browser hand a response to the app.
pub(crate) fn expose(response: &mut ApiResponse, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_name(header::ORIGIN));
    for name in RESPONSE_HEADERS {
        headers.append(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_name(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_as_browsers_write_them() {
        for (text, origin) in [
            ("https://app.example.com", "https://app.example.com"),
            ("HTTPS://App.Example.com:443", "https://app.example.com"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://localhost:80", "http://localhost"),
            ("https://localhost:80", "https://localhost:80"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(text.parse(), Ok(AllowedOrigin(HeaderValue::from_static(origin))), "{text}");
        }
        for text in [
            "",
            "*",
            "null",
            "localhost",
            "ftp://a.example",
            "https://",
            "https://*",
            "https://*.example",
            "https://a.example/",
            "https://a.example/path",
            "https://user@a.example",
            "https://a.example?b",
            "https://a b",
            "https://ü.example",
        ] {
            assert!(text.parse::<AllowedOrigin>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_one_known_origin_is_allowed() {
        let origins = ["https://a.example".parse().unwrap(), "http://b.example:1".parse().unwrap()];
        let headers = |values: &[&'static str]| {
            let values = values.iter().map(|value| (header::ORIGIN, HeaderValue::from_static(value)));
            HeaderMap::from_iter(values)
        };
        for known in ["https://a.example", "http://b.example:1"] {
            assert_eq!(allowed(&origins, &headers(&[known])).unwrap(), known);
        }
        for other in ["http://a.example", "https://a.example:444", "https://a.example.evil.example", "null", ""] {
            assert_eq!(allowed(&origins, &headers(&[other])), None, "{other}");
        }
        let mut both = headers(&["https://a.example"]);
        both.append(header::ORIGIN, HeaderValue::from_static("https://a.example"));
        assert_eq!(allowed(&origins, &both), None);
        assert_eq!(allowed(&origins, &HeaderMap::new()), None);
        assert_eq!(allowed(&[], &headers(&["https://a.example"])), None);
    }
}
