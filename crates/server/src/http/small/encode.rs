//! Responses as bytes, for requests that the HTTP library doesn't see.

use crate::http::response::ApiResponse;
use rawline_broker::Clock;
use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// The value of the `Date` header, which changes once per second.
#[derive(Debug, Default)]
pub(super) struct DateText {
    second: Option<u64>,
    text: String,
}

impl DateText {
    pub fn now(&mut self, clock: &dyn Clock) -> &str {
        let second = clock.now_us() / 1_000_000;
        if self.second != Some(second) {
            self.second = Some(second);
            self.text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        }
        &self.text
    }
}

/// Appends a response to `bytes`, as the library would write it. After the last one of a connection that
/// `is_closing`, the client must not send another request.
pub(super) fn response(response: ApiResponse, date: &str, is_closing: bool, bytes: &mut Vec<u8>) {
    let (head, body) = response.into_parts();
    // Writing to memory doesn't fail.
    let _ = write!(bytes, "HTTP/1.1 {} {}\r\n", head.status.as_str(), head.status.canonical_reason().unwrap_or(""));
    for (name, value) in &head.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            bytes.extend_from_slice(part);
        }
    }
    if is_closing {
        bytes.extend_from_slice(b"connection: close\r\n");
    }
    let _ = write!(bytes, "content-length: {}\r\ndate: {date}\r\n\r\n", body.bytes());
    body.into_pieces().for_each(|piece| bytes.extend_from_slice(&piece));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::error::ApiError;
    use rawline_contract::code;

    struct At(u64);

    impl Clock for At {
        fn now_us(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn a_response_has_all_its_headers() {
        let mut date = DateText::default();
        let mut bytes = Vec::new();
        let error = || ApiError::new(code::TOPIC_BUSY, "wait").into_response();
        response(error(), date.now(&At(784_111_777_999_999)), true, &mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let expected = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
                        connection: close\r\ncontent-length: 36\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.len() - expected.len(), 36, "{text}");
        assert_eq!(date.now(&At(784_111_778_000_000)), "Sun, 06 Nov 1994 08:49:38 GMT");
    }
}
