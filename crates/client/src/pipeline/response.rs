//! Takes responses out of the bytes of a connection, in order, wherever the bytes are split.

use crate::limits::{HEAD_BYTES, REFUSAL_BYTES_MAX};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{StatusCode, Version};
use rawline_contract::header::OWNER;

/// More headers than a broker and the proxies before it send.
const HEADERS_MAX: usize = 64;

/// A whole response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    /// Empty if the status is a success: nothing else reads them.
    pub(crate) headers: HeaderMap,
    /// The owner to which the request was forwarded.
    pub(crate) owner: Option<String>,
    pub(crate) text: Vec<u8>,
    /// Whether the other side closes the connection after it.
    pub(super) is_closing: bool,
}

/// The bytes of a connection that were received and are not taken yet.
#[derive(Debug, Default)]
pub(super) struct Responses {
    received: Vec<u8>,
    /// Position of the next response in them.
    position: usize,
    /// Whether the other side sends nothing more.
    is_ended: bool,
}

/// A response's head.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
    owner: Option<String>,
    is_closing: bool,
    framing: Framing,
}

/// The end of a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// At the end of the connection.
    End,
}

/// A body, and its encoded length in bytes.
type Body = (Vec<u8>, usize);

impl Responses {
    /// The buffer for the next bytes.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        self.received.drain(..self.position);
        self.position = 0;
        self.received.reserve(HEAD_BYTES);
        &mut self.received
    }

    /// The other side sends nothing more.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }

    /// Whether the bytes end where a response does.
    pub(super) fn is_between(&self) -> bool {
        self.rest().is_empty()
    }

    /// The next response, if all of it has arrived. An error is the reason why the bytes aren't one; nothing that
    /// follows can be understood then.
    pub(super) fn next(&mut self) -> Result<Option<Response>, String> {
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return Ok(None);
            }
            let Some((head, head_bytes)) = head(rest)? else { return Ok(None) };
            if head.status.is_informational() {
                // It precedes the response.
                self.position += head_bytes;
                continue;
            }
            let (_, body) = rest.split_at(head_bytes);
            let Some((text, body_bytes)) = body_of(body, head.framing, self.is_ended)? else { return Ok(None) };
            self.position += head_bytes + body_bytes;
            assert!(self.position <= self.received.len(), "{} of {} bytes", self.position, self.received.len());
            let Head { status, headers, owner, is_closing, .. } = head;
            return Ok(Some(Response { status, headers, owner, text, is_closing }));
        }
    }

    fn rest(&self) -> &[u8] {
        self.received.split_at(self.position).1
    }
}

/// The head at the beginning of these bytes, and its length in bytes; `None` if a part is missing.
fn head(bytes: &[u8]) -> Result<Option<(Head, usize)>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Response::new(&mut headers);
    let head_bytes = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES => return Ok(None),
        Ok(httparse::Status::Partial) => return Err(format!("a head of more than {HEAD_BYTES} bytes")),
        Err(error) => return Err(format!("no HTTP response: {error}")),
    };
    let code = parsed.code.unwrap_or_default();
    let status = StatusCode::from_u16(code).map_err(|_| format!("the status {code}"))?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err("the status 101, which wasn't requested".to_owned());
    }
    let version = if parsed.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 };
    let is_closing = closes(version, parsed.headers);
    let framing = framing(status, parsed.headers)?;
    let headers = if status.is_success() { HeaderMap::new() } else { map(parsed.headers) };
    let owner = values(parsed.headers, OWNER).next().and_then(|url| String::from_utf8(url.to_vec()).ok());
    let is_closing = is_closing || framing == Framing::End;
    Ok(Some((Head { status, headers, owner, is_closing, framing }, head_bytes)))
}

fn values<'a>(headers: &'a [httparse::Header<'_>], name: HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name.as_str())).map(|header| header.value)
}

/// Whether the connection ends after the response.
fn closes(version: Version, headers: &[httparse::Header<'_>]) -> bool {
    let has = |wanted: &[u8]| {
        let options = values(headers, CONNECTION).flat_map(|value| value.split(|byte| *byte == b','));
        options.into_iter().any(|option| option.trim_ascii().eq_ignore_ascii_case(wanted))
    };
    has(b"close") || version == Version::HTTP_10 && !has(b"keep-alive")
}

/// The end of the body. A response to an append isn't one to `HEAD`.
fn framing(status: StatusCode, headers: &[httparse::Header<'_>]) -> Result<Framing, String> {
    if status.is_informational() || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status) {
        return Ok(Framing::Length(0));
    }
    let mut lengths = values(headers, CONTENT_LENGTH);
    let mut encodings = values(headers, TRANSFER_ENCODING);
    match (lengths.next(), encodings.next()) {
        (Some(_), Some(_)) => Err("both Content-Length and Transfer-Encoding".to_owned()),
        (None, None) => Ok(Framing::End),
        (None, Some(encoding)) if encoding.eq_ignore_ascii_case(b"chunked") && encodings.next().is_none() => {
            Ok(Framing::Chunked)
        }
        (None, Some(encoding)) => Err(format!("Transfer-Encoding {}", String::from_utf8_lossy(encoding))),
        (Some(length), None) if lengths.all(|other| other == length) => length_of(length).map(Framing::Length),
        (Some(_), None) => Err("several values of Content-Length".to_owned()),
    }
}

fn length_of(value: &[u8]) -> Result<usize, String> {
    let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let length = digits.and_then(|digits| digits.parse().ok());
    let length: usize = length.ok_or_else(|| format!("Content-Length {}", String::from_utf8_lossy(value)))?;
    within_limit(length)
}

fn within_limit(body_bytes: usize) -> Result<usize, String> {
    if body_bytes as u64 > REFUSAL_BYTES_MAX {
        return Err(format!("more than {REFUSAL_BYTES_MAX} bytes"));
    }
    Ok(body_bytes)
}

fn map(headers: &[httparse::Header<'_>]) -> HeaderMap {
    let fields = headers.iter().filter_map(|header| {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(header.value).ok()?))
    });
    fields.collect()
}

/// The body at the beginning of these bytes; `None` if a part is missing.
fn body_of(bytes: &[u8], framing: Framing, is_ended: bool) -> Result<Option<Body>, String> {
    match framing {
        Framing::Length(length) => Ok(bytes.get(..length).map(|body| (body.to_vec(), length))),
        Framing::Chunked => chunked(bytes),
        Framing::End => {
            within_limit(bytes.len())?;
            Ok(is_ended.then(|| (bytes.to_vec(), bytes.len())))
        }
    }
}

/// A body in chunks. Its trailers mean nothing.
fn chunked(bytes: &[u8]) -> Result<Option<Body>, String> {
    let damaged = || "a damaged chunk".to_owned();
    let (mut text, mut rest) = (Vec::new(), bytes);
    loop {
        // Extensions of chunks and trailers count too.
        within_limit(bytes.len() - rest.len())?;
        let (head_bytes, length) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete((head_bytes, length))) => (head_bytes, length),
            Ok(httparse::Status::Partial) => return within_limit(rest.len()).map(|_| None),
            Err(_) => return Err(damaged()),
        };
        let length = within_limit(usize::try_from(length).unwrap_or(usize::MAX))?;
        let (_, after_head) = rest.split_at(head_bytes);
        if length == 0 {
            return Ok(trailers(after_head)?.map(|trailer_bytes| {
                let taken = bytes.len() - after_head.len() + trailer_bytes;
                (text, taken)
            }));
        }
        let Some((chunk, after)) = after_head.split_at_checked(length) else { return Ok(None) };
        let Some((end, after)) = after.split_at_checked(2) else { return Ok(None) };
        if end != b"\r\n" {
            return Err(damaged());
        }
        text.extend_from_slice(chunk);
        rest = after;
    }
}

/// Length of the trailers, and the empty line after them, in bytes.
fn trailers(bytes: &[u8]) -> Result<Option<usize>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    match httparse::parse_headers(bytes, &mut headers) {
        Ok(httparse::Status::Complete((trailer_bytes, _))) => Ok(Some(trailer_bytes)),
        Ok(httparse::Status::Partial) => within_limit(bytes.len()).map(|_| None),
        Err(error) => Err(format!("damaged trailers: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The responses: status, text, whether the connection ends; and why the bytes after them aren't a response.
    type Said = (Vec<(u16, String, bool)>, Option<String>);

    /// Receives these pieces in order, and then the end.
    fn receive<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Said, bool) {
        let mut responses = Responses::default();
        let (mut said, mut reason) = (Vec::new(), None);
        let mut take = |responses: &mut Responses| {
            while reason.is_none() {
                match responses.next() {
                    Ok(Some(Response { status, text, is_closing, .. })) => {
                        said.push((status.as_u16(), String::from_utf8_lossy(&text).into_owned(), is_closing));
                    }
                    Ok(None) => break,
                    Err(error) => reason = Some(error),
                }
            }
        };
        for piece in pieces {
            responses.room().extend_from_slice(piece);
            take(&mut responses);
        }
        responses.end();
        take(&mut responses);
        ((said, reason), responses.is_between())
    }

    const MANY: &str = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\nfour\
                        HTTP/1.1 100 Continue\r\n\r\n\
                        HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nretry-after: 7\r\n\r\n\
                        HTTP/1.1 204 No Content\r\n\r\n\
                        HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n\
                        3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nx: y\r\n\r\n\
                        HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 1\r\n\r\nx\
                        HTTP/1.1 400 Bad Request\r\nconnection: x, Close\r\ncontent-length: 2\r\n\r\nno\
                        HTTP/1.1 200 OK\r\n\r\nuntil the end";

    #[test]
    fn responses_are_the_same_wherever_they_are_split() {
        let expected = [
            (201, "four", false),
            (503, "", false),
            (204, "", false),
            (200, "abcde", false),
            (200, "x", false),
            (400, "no", true),
            (200, "until the end", true),
        ];
        let expected = expected.map(|(status, text, is_closing)| (status, text.to_owned(), is_closing)).to_vec();
        let bytes = MANY.as_bytes();
        assert_eq!(receive([bytes]), ((expected.clone(), None), true));
        assert_eq!(receive(bytes.chunks(1)), ((expected.clone(), None), true));
        for first in 0..bytes.len() {
            let (front, rest) = bytes.split_at(first);
            let (middle, rest) = rest.split_at(rest.len() / 3);
            assert_eq!(receive([front, middle, rest]), ((expected.clone(), None), true), "split at {first}");
        }
    }

    #[test]
    fn an_error_has_its_headers() {
        let mut responses = Responses::default();
        responses.room().extend_from_slice(MANY.as_bytes());
        assert!(responses.next().unwrap().unwrap().headers.is_empty());
        let refused = responses.next().unwrap().unwrap();
        assert_eq!(crate::refusal::retry_after(&refused.headers), Some(std::time::Duration::from_secs(7)));
    }

    #[test]
    fn a_response_that_ends_early_is_no_response() {
        for whole in [
            "HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\nfour",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        ] {
            for end in 1..whole.len() {
                assert_eq!(
                    receive([&whole.as_bytes()[..end]]),
                    ((Vec::new(), None), false),
                    "{end} bytes of {whole:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_response_is_named() {
        let long = format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(HEAD_BYTES));
        let long_chunks = "1\r\nx\r\n".repeat(REFUSAL_BYTES_MAX as usize / 6 + 1);
        let cases = [
            ("SSH-2.0-x\r\n", "no HTTP response"),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101"),
            ("HTTP/1.1 099 What\r\n\r\n", "99"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 65537\r\n\r\n", "more than 65536 bytes"),
            ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "Content-Length -1"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx", "several values"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", "both"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", "gzip, chunked"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nz\r\n", "damaged chunk"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxyz", "damaged chunk"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10001\r\n", "more than 65536 bytes"),
            (&format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{long_chunks}"), "more than 65536 bytes"),
            (&format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(65_537)), "more than 65536 bytes"),
            (&long, "a head of more than 16384 bytes"),
        ];
        let good = "HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\nfour";
        for (bad, reason) in cases {
            let ((said, error), _) = receive([good.as_bytes(), bad.as_bytes()]);
            assert_eq!(said.len(), 1, "{bad:.60}");
            assert!(error.as_ref().is_some_and(|error| error.contains(reason)), "{bad:.60}: {error:?}");
        }
    }

    /// Whatever arrives, in whatever pieces, the same is taken out of it.
    #[test]
    fn damaged_responses_are_the_same_in_all_pieces() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut damaged = 0;
        for _ in 0..20_000 {
            let mut bytes = MANY.as_bytes().to_vec();
            for _ in 0..random.usize(0..3) {
                let position = random.usize(..bytes.len());
                bytes[position] = random.u8(..);
            }
            let (said, _) = receive([&bytes[..]]);
            damaged += usize::from(said.1.is_some());
            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(random.usize(1..=rest.len().min(60)));
                pieces.push(piece);
                rest = after;
            }
            assert_eq!(receive(pieces).0, said, "{}", String::from_utf8_lossy(&bytes));
        }
        assert!((1_000..19_000).contains(&damaged), "{damaged} of 20000 were damaged");
    }
}
