//! Whether the first bytes of a connection have a complete request, which decides which connection is accepted next.

use http::header;

/// More headers than clients send. A request that has more is refused.
const HEADERS_MAX: usize = 100;

/// Whether these bytes begin with a whole request, or with one that is refused without the rest.
pub(super) fn is_whole(received: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(received) {
        Ok(httparse::Status::Complete(head_bytes)) => {
            body_bytes(request.headers).is_some_and(|body_bytes| received.len() - head_bytes >= body_bytes)
        }
        Ok(httparse::Status::Partial) => false,
        Err(_) => true,
    }
}

/// Maximum size of an announced body that clients send without waiting for 100 Continue.
fn body_bytes(headers: &[httparse::Header<'_>]) -> Option<usize> {
    let mut length = 0;
    for header in headers {
        let is = |name: &header::HeaderName| header.name.eq_ignore_ascii_case(name.as_str());
        if is(&header::TRANSFER_ENCODING) || is(&header::EXPECT) {
            return None;
        }
        if is(&header::CONTENT_LENGTH) {
            length = std::str::from_utf8(header.value).ok()?.trim().parse().ok()?;
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_with_its_body() {
        assert!(!is_whole(b""));
        assert!(!is_whole(b"GET /health HTTP/1.1\r\nhost: a\r\n"));
        assert!(is_whole(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n"));
        assert!(!is_whole(b"POST /records HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"));
        assert!(is_whole(b"POST /records HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"));
        assert!(!is_whole(b"POST /records HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
        assert!(!is_whole(b"POST /records HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 0\r\n\r\n"));
        assert!(is_whole(b"\x16\x03\x01"), "it is refused at once");
    }
}
