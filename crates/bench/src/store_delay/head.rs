//! The head of an HTTP/1.1 request, as far as it says where the request ends.

use std::io;

/// Heads are shorter than 2 KiB; a server accepts few times as much.
pub const HEAD_BYTES_MAX: usize = 64 << 10;

/// A request's head.
#[derive(Debug, PartialEq)]
pub struct Head {
    /// Length of the head and its empty line.
    pub bytes: usize,
    /// Length of the body that follows.
    pub body_bytes: u64,
    /// Whether the client waits for a word before it sends the body.
    pub waits: bool,
    /// Whether a response has no body.
    pub wants_head_only: bool,
}

impl Head {
    /// Parses the beginning of a request; `None` if the head isn't complete.
    pub fn parse(bytes: &[u8]) -> io::Result<Option<Head>> {
        let invalid = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidData, reason.to_owned()));
        let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
            return if bytes.len() < HEAD_BYTES_MAX { Ok(None) } else { invalid("the head is too long") };
        };
        let Some(Ok(text)) = bytes.get(..end).map(std::str::from_utf8) else { return invalid("the head isn't text") };
        let mut lines = text.split("\r\n");
        let wants_head_only = lines.next().is_some_and(|line| line.starts_with("HEAD "));
        let mut head = Head { bytes: end + 4, body_bytes: 0, waits: false, wants_head_only };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let Ok(length) = value.parse() else { return invalid("its length isn't a number") };
                head.body_bytes = length;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                // Clients of S3 know the length, also of bodies with signed chunks.
                return invalid("a request without Content-Length can't be delayed");
            } else if name.eq_ignore_ascii_case("expect") {
                head.waits = true;
            }
        }
        Ok(Some(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_where_the_request_ends() {
        let put = b"PUT /b/k HTTP/1.1\r\nHost: x\r\ncontent-LENGTH: 5\r\nExpect: 100-continue\r\n\r\nhello";
        let expected = Head { bytes: put.len() - 5, body_bytes: 5, waits: true, wants_head_only: false };
        assert_eq!(Head::parse(put).unwrap(), Some(expected));
        for cut in 0..put.len() - 5 {
            assert_eq!(Head::parse(&put[..cut]).unwrap(), None, "{cut}");
        }
        let head = Head::parse(b"HEAD / HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert_eq!((head.body_bytes, head.wants_head_only), (0, true));
        for wrong in ["content-length: five", "content-length: -1", "Transfer-Encoding: chunked", "x: \u{fffd}"] {
            let request = format!("PUT / HTTP/1.1\r\n{wrong}\r\n\r\n");
            let bytes =
                if wrong.starts_with('x') { &b"PUT / HTTP/1.1\r\nx: \xff\r\n\r\n"[..] } else { request.as_bytes() };
            assert_eq!(Head::parse(bytes).unwrap_err().kind(), io::ErrorKind::InvalidData, "{wrong}");
        }
        Head::parse(&vec![b'a'; HEAD_BYTES_MAX]).unwrap_err();
    }
}
