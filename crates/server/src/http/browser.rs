//! Protects a broker without a key from web pages that run in a browser on the same machine.
//!
//! Such a broker listens on loopback, so only programs of this machine reach it, and a browser is one of them. Any page
//! of the web can make it send requests here. Three headers, which a page can't change, give it away:
//!
//! - `Origin` names the page that posts a form;
//! - `Sec-Fetch-Site` says that another site is the cause, also of an image or a link;
//! - `Host` is the name that the page used. Under DNS rebinding, a name of the attacker's resolves to this machine; the
//!   browser then takes the broker for a part of the page's own site, and sends neither of the other two.

use crate::http::error::ApiError;
use http::{HeaderMap, HeaderValue, Request, Version, header};
use rawline_contract::code;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Refuses an HTTP/1.1 request that doesn't have exactly one `Host`, as RFC 9112 requires.
pub(crate) fn check_host_is_there<B>(request: &Request<B>) -> Result<(), ApiError> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), None) => Ok(()),
        (None, _) if request.version() < Version::HTTP_11 => Ok(()),
        _ => Err(ApiError::new(code::HOST_MISSING, "send exactly one Host header with the broker's name or address")),
    }
}

/// Refuses requests that a web page caused. `needs_loopback_name` is false where the broker is open to other machines,
/// which know it by any name.
pub(crate) fn check<B>(request: &Request<B>, needs_loopback_name: bool) -> Result<(), ApiError> {
    let headers = request.headers();
    if headers.contains_key(header::ORIGIN) || is_from_another_site(headers) {
        let message = "a broker without an API key accepts no requests from web pages; configure a key, and send it";
        return Err(ApiError::new(code::ORIGIN_REFUSED, message));
    }
    if !needs_loopback_name {
        return Ok(());
    }
    // A target in absolute form counts instead of `Host`, so neither may name another host.
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    if [host, authority].into_iter().flatten().all(is_loopback) {
        return Ok(());
    }
    let message = "a broker without an API key accepts only requests for localhost, 127.0.0.1 or [::1]; send the \
                   request to one of these, or configure a key";
    Err(ApiError::new(code::HOST_REFUSED, message))
}

/// What a browser says of a page that is neither the broker's own nor the user's own input.
fn is_from_another_site(headers: &HeaderMap) -> bool {
    headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site" || site == "same-site")
}

/// Whether a host, with or without a port, can only be this machine.
pub(crate) fn is_loopback(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    if let Some((address, _port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    let name = host.split_once(':').map_or(host, |(name, _port)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    // RFC 6761: `localhost` and all names below it are loopback's, and no browser asks a server for them.
    let suffix = name.len().checked_sub("localhost".len()).and_then(|start| name.split_at_checked(start));
    let is_localhost = suffix.is_some_and(|(before, last)| {
        last.eq_ignore_ascii_case("localhost") && (before.is_empty() || before.ends_with('.'))
    });
    is_localhost || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&'static str, &'static str)]) -> Request<()> {
        let mut request = Request::new(());
        for (name, value) in headers {
            request.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        request
    }

    #[test]
    fn only_this_machines_own_names_are_loopback() {
        for ours in ["localhost", "LocalHost:51313", "broker.localhost.", "127.0.0.1", "127.1.2.3:80", "[::1]:51313"] {
            assert!(is_loopback(ours.as_bytes()), "{ours}");
        }
        for other in [
            "",
            "evil.example:51313",
            "notlocalhost",
            "localhost.evil.example",
            "10.0.0.1",
            "[::2]",
            "[::1",
            "127.0.0.1.evil.example",
            "0.0.0.0",
            "ü",
        ] {
            assert!(!is_loopback(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_name_of_another_site_is_refused_unless_others_may_reach_the_broker() {
        let rebound = request(&[("host", "evil.example:51313")]);
        assert!(check(&rebound, true).is_err());
        assert!(check(&rebound, false).is_ok());
        assert!(check(&request(&[("host", "localhost:51313")]), true).is_ok());
        let mut absolute = request(&[("host", "localhost")]);
        *absolute.uri_mut() = "http://evil.example/topics".parse().unwrap();
        assert!(check(&absolute, true).is_err());
    }

    #[test]
    fn requests_that_a_page_causes_are_refused_everywhere() {
        for header in
            [("origin", "https://example.com"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")]
        {
            assert!(check(&request(&[("host", "localhost"), header]), true).is_err(), "{header:?}");
            assert!(check(&request(&[("host", "broker.example"), header]), false).is_err(), "{header:?}");
        }
        for site in ["none", "same-origin"] {
            assert!(check(&request(&[("host", "localhost"), ("sec-fetch-site", site)]), true).is_ok(), "{site}");
        }
    }

    #[test]
    fn http_1_1_needs_one_host() {
        assert!(check_host_is_there(&request(&[("host", "localhost")])).is_ok());
        assert!(check_host_is_there(&request(&[])).is_err());
        assert!(check_host_is_there(&request(&[("host", "localhost"), ("host", "localhost")])).is_err());
        let mut old = request(&[]);
        *old.version_mut() = Version::HTTP_10;
        assert!(check_host_is_there(&old).is_ok());
    }
}
