//! A small append as bytes: the head that a broker recognizes in its buffer, and the body.

use crate::body::Pieces;
use crate::limits::SHARED_REQUEST_BYTES_MAX;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue};
use rawline_contract::MediaType;
use rawline_contract::header::ZONE;

/// The common parts of the heads of a client's small appends.
pub(crate) struct SmallHead {
    /// Prefix of the path.
    before_target: Vec<u8>,
    /// All that follows the query, up to the value of Content-Length.
    after_target: Vec<u8>,
}

impl SmallHead {
    pub(crate) fn new(
        path: &str,
        host: &HeaderValue,
        authorization: Option<&HeaderValue>,
        zone: Option<&HeaderValue>,
    ) -> SmallHead {
        let before_target = format!("POST {path}").into_bytes();
        let mut after_target = b" HTTP/1.1\r\n".to_vec();
        let media_type = MediaType::Batch.header_value();
        let fields =
            [(HOST, Some(host)), (AUTHORIZATION, authorization), (ZONE, zone), (CONTENT_TYPE, Some(&media_type))];
        for (name, value) in fields.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                after_target.extend_from_slice(part);
            }
        }
        after_target.extend_from_slice(format!("{CONTENT_LENGTH}: ").as_bytes());
        SmallHead { before_target, after_target }
    }

    /// The bytes of an append, if it is small. The broker recognizes no query with escaped characters.
    pub(crate) fn request(&self, target: &str, body: &Pieces) -> Option<Vec<u8>> {
        let length = body.bytes_left().to_string();
        let head = [&self.before_target, target.as_bytes(), &self.after_target, length.as_bytes(), b"\r\n\r\n"];
        let head_bytes: usize = head.iter().map(|part| part.len()).sum();
        let bytes = usize::try_from(body.bytes_left()).ok()?.checked_add(head_bytes)?;
        if bytes > SHARED_REQUEST_BYTES_MAX || target.contains('%') {
            return None;
        }
        let mut request = Vec::with_capacity(bytes);
        head.iter().for_each(|part| request.extend_from_slice(part));
        body.pieces().for_each(|piece| request.extend_from_slice(piece));
        assert_eq!(request.len(), bytes, "a request for {target} has another length");
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn head(key: Option<&'static str>) -> SmallHead {
        SmallHead::new("/gate", &HeaderValue::from_static("h:1"), key.map(HeaderValue::from_static).as_ref(), None)
    }

    #[test]
    fn a_request_has_the_headers_that_a_broker_needs() {
        let body = Pieces::new(vec![Bytes::from_static(b"bo"), Bytes::from_static(b"dy")]);
        let expected = "POST /gate/records?topic-name=t HTTP/1.1\r\nhost: h:1\r\nauthorization: Bearer k\r\n\
                        content-type: application/vnd.rawline.batch\r\ncontent-length: 4\r\n\r\nbody";
        let request = head(Some("Bearer k")).request("/records?topic-name=t", &body).unwrap();
        assert_eq!(String::from_utf8(request).unwrap(), expected);
        let request = head(None).request("/records?topic-name=t", &body).unwrap();
        assert_eq!(String::from_utf8(request).unwrap(), expected.replace("authorization: Bearer k\r\n", ""));
        assert!(head(None).request("/records?topic-name=%C3%BC", &body).is_none());
    }

    #[test]
    fn only_what_fits_the_brokers_buffer_is_small() {
        let with =
            |bytes: usize| head(None).request("/records?topic-name=t", &Pieces::new(vec![vec![0; bytes].into()]));
        let head_bytes = with(1000).unwrap().len() - 1000;
        assert_eq!(with(SHARED_REQUEST_BYTES_MAX - head_bytes).unwrap().len(), SHARED_REQUEST_BYTES_MAX);
        assert!(with(SHARED_REQUEST_BYTES_MAX - head_bytes + 1).is_none());
    }
}
