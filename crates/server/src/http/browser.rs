//! Protects a broker without a key from web pages in a browser on the same machine, except the broker's own page (the
//! console) and pages of allowed origins (`cors.rs`).
//!
//! Such a broker listens on loopback, so only programs of this machine reach it, and a browser is one of them. Any page
//! of the web can make it send requests here. Three headers, which a page can't change, give it away:
//!
//! - `Origin` names the page that posts a form, opens a WebSocket, or wants to read a response;
//! - `Sec-Fetch-Site` says that another site is the cause, also of an image or a link;
//! - `Host` is the name that the page used. Under DNS rebinding, a name of the attacker's resolves to this machine; the
//!   browser then takes the broker for a part of the page's own site, so `Origin` and `Host` agree. They do so also in
//!   requests of the broker's own page, but there the name is none that DNS could resolve to another machine.

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

/// Refuses requests that a web page caused, unless its origin is allowed or it is the broker's own page.
/// `needs_loopback_name` is false where the broker is open to other machines, which know it by any name.
pub(crate) fn check<B>(
    request: &Request<B>,
    is_allowed_origin: bool,
    needs_loopback_name: bool,
) -> Result<(), ApiError> {
    if !is_allowed_origin && (is_from_another_page(request) || is_from_another_site(request.headers())) {
        let message = "a broker without an API key accepts no requests from web pages of other origins, nor from its \
                       own page under a name: open that by the broker's address, allow the page's origin, or configure \
                       a key and send it";
        return Err(ApiError::new(code::ORIGIN_REFUSED, message));
    }
    if !needs_loopback_name || hosts(request).all(is_loopback) {
        return Ok(());
    }
    let message = "a broker without an API key accepts only requests for localhost, 127.0.0.1 or [::1]; send the \
                   request to one of these, or configure a key";
    Err(ApiError::new(code::HOST_REFUSED, message))
}

/// The names by which a request calls the broker. A target in absolute form counts instead of `Host`, so neither may
/// name another host.
fn hosts<B>(request: &Request<B>) -> impl Iterator<Item = &[u8]> {
    let host = request.headers().get(header::HOST).map(HeaderValue::as_bytes);
    let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    [host, authority].into_iter().flatten()
}

/// Whether `Origin` names a page other than the broker's own.
fn is_from_another_page<B>(request: &Request<B>) -> bool {
    let mut origins = request.headers().get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => false,
        (Some(origin), None) => !is_own_page(origin.as_bytes(), request),
        (Some(_), Some(_)) => true,
    }
}

/// Whether this is the origin of the broker's own page, under a name that can't be an attacker's.
fn is_own_page<B>(origin: &[u8], request: &Request<B>) -> bool {
    let host = [b"http://".as_slice(), b"https://"].into_iter().find_map(|scheme| origin.strip_prefix(scheme));
    let Some(host) = host else { return false };
    let is_host = |other: &[u8]| other.eq_ignore_ascii_case(host);
    (is_loopback(host) || is_address(host)) && hosts(request).next().is_some() && hosts(request).all(is_host)
}

/// The value with which a browser marks requests of other sites' pages.
fn is_from_another_site(headers: &HeaderMap) -> bool {
    headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site" || site == "same-site")
}

/// Whether a host, with or without a port, is an IP address. A name isn't: an attacker could make it resolve to another
/// address.
fn is_address(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').is_some_and(|(address, _port)| address.parse::<Ipv6Addr>().is_ok()),
        None => host.split(':').next().is_some_and(|address| address.parse::<Ipv4Addr>().is_ok()),
    }
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
        assert!(check(&rebound, false, true).is_err());
        assert!(check(&rebound, true, true).is_err());
        assert!(check(&rebound, false, false).is_ok());
        assert!(check(&request(&[("host", "localhost:51313")]), false, true).is_ok());
        let mut absolute = request(&[("host", "localhost")]);
        *absolute.uri_mut() = "http://evil.example/topics".parse().unwrap();
        assert!(check(&absolute, false, true).is_err());
    }

    #[test]
    fn requests_that_a_page_causes_are_refused_everywhere() {
        for header in [
            ("origin", "https://example.com"),
            ("origin", "null"),
            ("origin", ""),
            ("origin", "http://localhost:3000"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert!(check(&request(&[("host", "localhost"), header]), false, true).is_err(), "{header:?}");
            assert!(check(&request(&[("host", "broker.example"), header]), false, false).is_err(), "{header:?}");
            assert!(check(&request(&[("host", "localhost"), header]), true, true).is_ok(), "{header:?}, allowed");
        }
        for site in ["none", "same-origin"] {
            let request = request(&[("host", "localhost"), ("sec-fetch-site", site)]);
            assert!(check(&request, false, true).is_ok(), "{site}");
        }
    }

    /// The broker's address, an origin, whether the broker is for other machines too, and whether the request is
    /// accepted.
    #[test]
    fn the_brokers_own_page_is_accepted_under_names_that_cannot_be_an_attackers() {
        for (host, origin, is_remote, is_accepted) in [
            ("localhost:51313", "http://localhost:51313", false, true),
            ("LOCALHOST:51313", "http://localhost:51313", false, true),
            ("localhost", "https://localhost", false, true),
            ("rawline.localhost:1", "http://rawline.localhost:1", false, true),
            ("127.0.0.1:51313", "http://127.0.0.1:51313", false, true),
            ("[::1]:51313", "http://[::1]:51313", false, true),
            // Another port, another scheme's page, another loopback name: other origins.
            ("localhost:51313", "http://localhost:51314", false, false),
            ("localhost:51313", "http://localhost", false, false),
            ("localhost:51313", "http://127.0.0.1:51313", false, false),
            ("localhost:51313", "ftp://localhost:51313", false, false),
            ("localhost:51313", "localhost:51313", false, false),
            ("localhost:51313", "http://localhost:51313/", false, false),
            ("localhost:51313", "http://localhost:51313.evil.example", false, false),
            // DNS rebinding: `Origin` and `Host` agree.
            ("evil.example:51313", "http://evil.example:51313", false, false),
            ("evil.example:51313", "http://evil.example:51313", true, false),
            ("localhost.evil.example", "http://localhost.evil.example", true, false),
            ("127.0.0.1.evil.example", "http://127.0.0.1.evil.example", true, false),
            ("broker.lan:51313", "http://broker.lan:51313", true, false),
            // An address that isn't this machine's own.
            ("192.0.2.7:51313", "http://192.0.2.7:51313", true, true),
            ("[2001:db8::7]:51313", "http://[2001:db8::7]:51313", true, true),
            ("192.0.2.7:51313", "http://192.0.2.7:51313", false, false),
            ("192.0.2.7:51313", "http://192.0.2.8:51313", true, false),
        ] {
            let own = request(&[("host", host), ("origin", origin), ("sec-fetch-site", "same-origin")]);
            assert_eq!(check(&own, false, !is_remote).is_ok(), is_accepted, "{host} {origin} {is_remote}");
            let other = request(&[("host", host), ("origin", origin), ("sec-fetch-site", "cross-site")]);
            assert!(check(&other, false, !is_remote).is_err(), "{host} {origin} cross-site");
        }
        let own = ("origin", "http://localhost");
        assert!(check(&request(&[("host", "localhost"), own, own]), false, true).is_err(), "two origins");
        let mut no_host = request(&[own]);
        *no_host.version_mut() = Version::HTTP_10;
        assert!(check(&no_host, false, true).is_err(), "no host");
        let mut absolute = request(&[("host", "localhost"), own]);
        *absolute.uri_mut() = "http://127.0.0.1/topics".parse().unwrap();
        assert!(check(&absolute, false, true).is_err(), "two names");
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
