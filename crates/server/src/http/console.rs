//! The console: a page in the browser that shows the broker's contents through the API.
//!
//! Its files need no key and say nothing about the broker. The page asks for the key, and sends it with its requests.

use crate::http::error::ApiError;
use crate::http::response::{self, ApiResponse};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use rawline_console::{File, INDEX};
use rawline_contract::path;
use std::hash::{DefaultHasher, Hasher};

/// The page loads its own files and sends requests to its own broker; nothing else, whatever it shows. No other page
/// may frame it, which prevents clickjacking.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The headers of all files.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::VARY, "accept, accept-encoding"),
];

/// Whether a client is a browser that shows pages: others get text.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    list(headers, header::ACCEPT).any(|accepted| accepted.eq_ignore_ascii_case("text/html"))
}

/// A file, or the page where the path names none.
pub(crate) fn file<B>(request: &Request<B>) -> Result<ApiResponse, ApiError> {
    let path = request.uri().path();
    let name = path.strip_prefix(path::CONSOLE).filter(|name| !name.is_empty()).unwrap_or(INDEX);
    let file = rawline_console::find(name).ok_or_else(|| ApiError::path(path))?;
    Ok(respond(file, request.headers()))
}

fn respond(file: &'static File, headers: &HeaderMap) -> ApiResponse {
    let tag = entity_tag(file);
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == tag);
    let gzip = file.gzip.filter(|_| list(headers, header::ACCEPT_ENCODING).any(|accepted| accepted == "gzip"));
    let body = [Bytes::from_static(gzip.unwrap_or(file.plain))];
    let content_type = HeaderValue::from_static(file.content_type);
    let mut response = if is_known {
        response::pieces(StatusCode::NOT_MODIFIED, content_type, [])
    } else {
        response::pieces(StatusCode::OK, content_type, body)
    };
    let headers = response.headers_mut();
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.insert(header::ETAG, tag);
    // The name of a script changes with its content; the page's name doesn't.
    let caching = if file.name == INDEX { "no-cache" } else { "public, max-age=31536000, immutable" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    if gzip.is_some() && !is_known {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Weak: the same for both encodings.
fn entity_tag(file: &File) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    hasher.write(file.plain);
    match HeaderValue::from_str(&format!("W/\"{:016x}\"", hasher.finish())) {
        Ok(tag) => tag,
        Err(error) => unreachable!("a number is no header: {error}"),
    }
}

/// The members of a header that lists values, without their parameters.
fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|member| member.split(';').next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str, headers: &[(HeaderName, &'static str)]) -> Result<ApiResponse, ApiError> {
        let mut request = Request::builder().uri(path).body(()).unwrap();
        request
            .headers_mut()
            .extend(headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))));
        file(&request)
    }

    #[test]
    fn the_page_is_for_browsers() {
        let headers = |accept: &'static str| HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        assert!(wants_page(&headers("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")));
        assert!(wants_page(&headers("application/json, Text/HTML;q=0.1")));
        for other in ["*/*", "application/json", "text/*", "text/htmlx"] {
            assert!(!wants_page(&headers(other)), "{other}");
        }
        assert!(!wants_page(&HeaderMap::new()));
    }

    #[test]
    fn every_file_is_served_with_the_policy_and_once() {
        for File { name, plain, gzip, .. } in rawline_console::FILES {
            for path in
                [format!("/console/{name}"), if *name == INDEX { "/".into() } else { format!("/console/{name}") }]
            {
                let response = get(&path, &[]).unwrap();
                let headers = response.headers().clone();
                assert_eq!(headers[header::CONTENT_SECURITY_POLICY], POLICY);
                assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
                assert_eq!(headers[header::CACHE_CONTROL] == "no-cache", *name == INDEX, "{path}");
                assert_eq!(response.body().bytes(), plain.len() as u64);
                let compressed = get(&path, &[(header::ACCEPT_ENCODING, "br, gzip;q=0.5")]).unwrap();
                assert_eq!(compressed.headers().contains_key(header::CONTENT_ENCODING), gzip.is_some());
                assert_eq!(compressed.body().bytes(), gzip.unwrap_or(plain).len() as u64);
                let tag = Box::leak(headers[header::ETAG].to_str().unwrap().to_owned().into_boxed_str());
                let known = get(&path, &[(header::IF_NONE_MATCH, tag)]).unwrap();
                assert_eq!((known.status(), known.body().bytes()), (StatusCode::NOT_MODIFIED, 0));
            }
        }
    }

    #[test]
    fn other_paths_are_not_found() {
        for path in ["/console/none.js", "/console/../Cargo.toml", "/console//index.html", "/console/index.html/"] {
            assert_eq!(get(path, &[]).unwrap_err().into_response().status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
}
