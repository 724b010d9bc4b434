//! Responses as bytes, for requests that the HTTP library doesn't see.

use crate::http::response::ApiResponse;
use http::StatusCode;
use rawline_broker::Clock;
use rawline_contract::{Appended, MediaType, header};
use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// Size of a response to an append, and some room, in bytes.
const RESPONSE_BYTES: usize = 256;

/// Size of the response buffer that a connection with few concurrent requests keeps, in bytes.
const KEPT_BYTES: usize = 2048;

/// The value of the `Date` header, which changes once per second.
#[derive(Default)]
struct DateText {
    second: Option<u64>,
    text: String,
}

impl DateText {
    fn update(&mut self, clock: &dyn Clock) {
        let second = clock.now_us() / 1_000_000;
        if self.second != Some(second) {
            self.second = Some(second);
            self.text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        }
    }
}

/// Responses in order, as the library would write them. A connection keeps their memory.
#[derive(Default)]
pub(super) struct Responses {
    bytes: Vec<u8>,
    date: DateText,
    /// Whether the connection ends after the last one. Only that one says so: clients send what is not carried out
    /// elsewhere.
    is_closing: bool,
    /// Number of responses to be added.
    left: usize,
    /// The body of the current one.
    body: Vec<u8>,
}

impl Responses {
    /// Begins anew, with room for this many responses.
    pub fn begin(&mut self, clock: &dyn Clock, is_closing: bool, count: usize) {
        self.bytes.clear();
        if count * RESPONSE_BYTES <= KEPT_BYTES {
            self.bytes.shrink_to(KEPT_BYTES);
        }
        self.bytes.reserve(count * RESPONSE_BYTES);
        self.date.update(clock);
        (self.is_closing, self.left) = (is_closing, count);
    }

    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        assert_eq!(self.left, 0, "responses that were not added");
        &self.bytes
    }

    /// Adds the response to an append that is stored: what [`Responses::push`] adds for it, without its detours.
    pub fn appended(&mut self, appended: &Appended) {
        self.body.clear();
        if let Err(error) = serde_json::to_writer(&mut self.body, appended) {
            unreachable!("a value of the API has no JSON form: {error}");
        }
        self.bytes.extend_from_slice(b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n");
        self.end_head(Some(self.body.len() as u64));
        self.bytes.extend_from_slice(&self.body);
    }

    /// Adds any other response.
    pub fn push(&mut self, response: ApiResponse) {
        let (head, body) = response.into_parts();
        // Writing to memory doesn't fail.
        let reason = head.status.canonical_reason().unwrap_or("");
        let _ = write!(self.bytes, "HTTP/1.1 {} {reason}\r\n", head.status.as_str());
        for (name, value) in &head.headers {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                self.bytes.extend_from_slice(part);
            }
        }
        self.end_head((head.status != StatusCode::NO_CONTENT).then_some(body.bytes()));
        body.into_pieces().for_each(|piece| self.bytes.extend_from_slice(&piece));
    }

    /// Adds the head of a response with records, or with none within the time: what [`Responses::push`] adds for it.
    /// Its body follows on the connection.
    pub fn records(&mut self, first_offset: u64, next_offset: u64, body_bytes: u64) {
        match body_bytes {
            0 => self.bytes.extend_from_slice(b"HTTP/1.1 204 No Content\r\n"),
            _ => {
                let kind = MediaType::Batch.name();
                let _ = write!(self.bytes, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n");
            }
        }
        let (first, next) = (header::FIRST_OFFSET, header::NEXT_OFFSET);
        let _ = write!(self.bytes, "{first}: {first_offset}\r\n{next}: {next_offset}\r\n");
        // 204 has no length (RFC 9110).
        self.end_head((body_bytes > 0).then_some(body_bytes));
    }

    fn end_head(&mut self, body_bytes: Option<u64>) {
        assert!(self.left > 0, "a response too many");
        self.left -= 1;
        if self.is_closing && self.left == 0 {
            self.bytes.extend_from_slice(b"connection: close\r\n");
        }
        if let Some(body_bytes) = body_bytes {
            let _ = write!(self.bytes, "content-length: {body_bytes}\r\n");
        }
        let _ = write!(self.bytes, "date: {}\r\n\r\n", self.date.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::error::ApiError;
    use crate::http::response;
    use rawline_contract::code;

    struct At(u64);

    impl Clock for At {
        fn now_us(&self) -> u64 {
            self.0
        }
    }

    const NOW_US: u64 = 784_111_777_999_999;

    fn begun(is_closing: bool, count: usize) -> Responses {
        let mut responses = Responses::default();
        responses.begin(&At(NOW_US), is_closing, count);
        responses
    }

    fn text(responses: &Responses) -> String {
        String::from_utf8(responses.bytes().to_vec()).unwrap()
    }

    #[test]
    fn only_the_last_response_announces_the_end() {
        for (is_closing, expected) in [(true, [false, false, true]), (false, [false; 3])] {
            let mut responses = begun(is_closing, 3);
            (0..3).for_each(|_| responses.push(ApiError::new(code::TOPIC_BUSY, "wait").into_response()));
            let text = text(&responses);
            let closes: Vec<_> =
                text.split("HTTP/1.1 ").skip(1).map(|response| response.contains("connection: close")).collect();
            assert_eq!(closes, expected, "{text}");
        }
    }

    #[test]
    fn a_response_has_all_its_headers() {
        let mut responses = begun(true, 1);
        let error = || ApiError::new(code::TOPIC_BUSY, "wait").into_response();
        responses.push(error());
        let text = text(&responses);
        let expected = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
                        connection: close\r\ncontent-length: 36\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.len() - expected.len(), 36, "{text}");
        responses.begin(&At(NOW_US + 1), false, 1);
        responses.push(error());
        let later = self::text(&responses);
        assert!(
            later.starts_with("HTTP/1.1 503") && later.contains("date: Sun, 06 Nov 1994 08:49:38 GMT\r\n"),
            "{later}"
        );
        assert!(!later.contains("connection"), "{later}");
    }

    #[test]
    fn the_head_of_a_response_with_records_is_written_as_any_other() {
        for is_closing in [false, true] {
            let with_offsets = |mut response: ApiResponse| {
                response.headers_mut().insert(header::FIRST_OFFSET, 7.into());
                response.headers_mut().insert(header::NEXT_OFFSET, u64::MAX.into());
                let mut responses = begun(is_closing, 1);
                responses.push(response);
                text(&responses)
            };
            let written = |body: &str| {
                let mut responses = begun(is_closing, 1);
                responses.records(7, u64::MAX, body.len() as u64);
                text(&responses) + body
            };
            let batches = response::pieces(StatusCode::OK, MediaType::Batch.header_value(), ["body".into()]);
            assert_eq!(written("body"), with_offsets(batches));
            assert_eq!(written(""), with_offsets(response::no_content()));
        }
    }

    #[test]
    fn the_response_to_a_stored_append_is_written_as_any_other() {
        for (first_offset, next_offset, is_closing) in [(0, 1, false), (9_999, 10_000, true), (7, u64::MAX, false)] {
            let appended = Appended { first_offset, next_offset };
            let written = |write: &dyn Fn(&mut Responses)| {
                let mut responses = begun(is_closing, 1);
                write(&mut responses);
                text(&responses)
            };
            let expected = written(&|responses| responses.push(response::json(StatusCode::CREATED, &appended)));
            assert_eq!(written(&|responses| responses.appended(&appended)), expected);
        }
    }
}
