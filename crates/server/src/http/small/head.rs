//! Recognizes a small append, or a read of batches, in the bytes of a connection.
//!
//! Only the plain form is recognized: batches, with the headers that every client sends. Whatever is unusual, wrong, or
//! needs decoding is left to the HTTP library, which sees the request as it was sent. So nothing here refuses a
//! request, and the two never disagree on where one ends.

use crate::http::read::{RECORDS_MAX_DEFAULT, TIMEOUT_DEFAULT};
use http::header;
use rawline_contract::{MediaType, parse_duration};
use std::time::Duration;

/// More headers than any client of ours sends; the library takes requests that have more.
const HEADERS_MAX: usize = 24;

/// The headers that change the meaning of a request. All headers that aren't here or read below are ignored.
const UNUSUAL: [header::HeaderName; 7] = [
    header::TRANSFER_ENCODING,
    header::EXPECT,
    header::CONTENT_ENCODING,
    header::UPGRADE,
    header::ORIGIN,
    header::HeaderName::from_static("sec-fetch-site"),
    rawline_contract::header::PEER,
];

/// The kind of request at the beginning of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// A small append, complete.
    Append(SmallAppend<'a>),
    /// A read of batches, complete.
    Poll(Poll<'a>),
    /// Maybe the beginning of one.
    Partial {
        /// Only a part of its body is missing.
        is_head_whole: bool,
    },
    /// A request for the library.
    Other,
}

/// An append whose batches lie in the connection's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SmallAppend<'a> {
    /// The topic's name, not checked.
    pub topic: &'a str,
    pub partition: u64,
    /// The producer's epoch of an exactly-once append.
    pub epoch: Option<u16>,
    pub host: &'a [u8],
    pub authorization: Option<&'a [u8]>,
    pub zone: Option<&'a [u8]>,
    pub body: &'a [u8],
    /// Length of the request in bytes.
    pub bytes: usize,
}

/// A read of batches, which waits for records if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Poll<'a> {
    /// The topic's name, not checked.
    pub topic: &'a str,
    pub partition: u64,
    pub offset: u64,
    /// 0 without a limit.
    pub records_max: u64,
    /// 0 without a limit.
    pub bytes_max: u64,
    pub wait: Duration,
    pub host: &'a [u8],
    pub authorization: Option<&'a [u8]>,
    /// Length of the request in bytes.
    pub bytes: usize,
}

/// Looks for a request of at most `bytes_max` bytes.
pub(super) fn find(received: &[u8], bytes_max: usize) -> Found<'_> {
    let is_begin = |begin: &str| received.iter().zip(begin.as_bytes()).all(|(one, other)| one == other);
    if !is_begin(APPEND) && !is_begin(POLL) {
        return Found::Other;
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head_bytes = match request.parse(received) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if received.len() < bytes_max => return Found::Partial { is_head_whole: false },
        Ok(httparse::Status::Partial) | Err(_) => return Found::Other,
    };
    if request.method == Some("GET") {
        return poll(&request).map_or(Found::Other, |poll| Found::Poll(Poll { bytes: head_bytes, ..poll }));
    }
    let Some((append, body_bytes)) = plain(&request) else { return Found::Other };
    match head_bytes.checked_add(body_bytes) {
        Some(bytes) if bytes <= bytes_max => match received.get(head_bytes..bytes) {
            Some(body) => Found::Append(SmallAppend { body, bytes, ..append }),
            None => Found::Partial { is_head_whole: true },
        },
        _ => Found::Other,
    }
}

/// How every append begins whose topic is named in the query.
const APPEND: &str = "POST /records?";
/// The same of a read.
const POLL: &str = "GET /records?";

/// The headers that count.
#[derive(Default)]
struct Headers<'a> {
    host: Option<&'a [u8]>,
    authorization: Option<&'a [u8]>,
    zone: Option<&'a [u8]>,
    length: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    accept: Option<&'a [u8]>,
}

impl<'a> Headers<'a> {
    /// `None` if some are unusual or duplicate.
    fn of(request: &httparse::Request<'_, 'a>) -> Option<Headers<'a>> {
        if request.version != Some(1) {
            return None;
        }
        let mut found = Headers::default();
        for header in request.headers.iter() {
            let is = |name: &header::HeaderName| header.name.eq_ignore_ascii_case(name.as_str());
            let place = if is(&header::CONTENT_LENGTH) {
                &mut found.length
            } else if is(&header::CONTENT_TYPE) {
                &mut found.content_type
            } else if is(&header::ACCEPT) {
                &mut found.accept
            } else if is(&header::HOST) {
                &mut found.host
            } else if is(&header::AUTHORIZATION) {
                &mut found.authorization
            } else if is(&rawline_contract::header::ZONE) {
                &mut found.zone
            } else if is(&header::CONNECTION) && !header.value.eq_ignore_ascii_case(b"keep-alive")
                || UNUSUAL.iter().any(is)
            {
                return None;
            } else {
                continue;
            };
            if place.replace(header.value).is_some() {
                return None;
            }
        }
        Some(found)
    }
}

/// The append with this head, without its body, and the length of its body in bytes.
fn plain<'a>(request: &httparse::Request<'_, 'a>) -> Option<(SmallAppend<'a>, usize)> {
    let (_, query) = request.path?.split_once('?')?;
    let [topic, partition, epoch] = parameters(query, ["topic-name", "partition", "producer-epoch"])?;
    let partition = partition.map_or(Some(0), number)?;
    let epoch = match epoch {
        Some(epoch) => Some(epoch.parse().ok()?),
        None => None,
    };
    let topic = topic.filter(|topic| !topic.is_empty())?;
    let Headers { host, authorization, zone, length, content_type, accept: _ } = Headers::of(request)?;
    if content_type? != MediaType::Batch.name().as_bytes() {
        return None;
    }
    let body_bytes = number(std::str::from_utf8(length?).ok()?)?;
    let append = SmallAppend { topic, partition, epoch, host: host?, authorization, zone, body: &[], bytes: 0 };
    Some((append, usize::try_from(body_bytes).ok()?))
}

/// The read with this head. Those in a zone may be another broker's.
fn poll<'a>(request: &httparse::Request<'_, 'a>) -> Option<Poll<'a>> {
    let (_, query) = request.path?.split_once('?')?;
    let names = ["topic-name", "partition", "offset", "max-records", "max-bytes", "timeout"];
    let [topic, partition, offset, records_max, bytes_max, wait] = parameters(query, names)?;
    let Headers { host, authorization, zone: None, length: None, accept, .. } = Headers::of(request)? else {
        return None;
    };
    if !is_batches(accept?) {
        return None;
    }
    Some(Poll {
        topic: topic.filter(|topic| !topic.is_empty())?,
        partition: partition.map_or(Some(0), number)?,
        offset: number(offset?)?,
        records_max: records_max.map_or(Some(RECORDS_MAX_DEFAULT), number)?,
        bytes_max: bytes_max.map_or(Some(0), number)?,
        wait: wait.map_or(Some(TIMEOUT_DEFAULT), parse_duration)?,
        host: host?,
        authorization,
        bytes: 0,
    })
}

/// Whether batches of ours are accepted, and nothing but batches.
fn is_batches(accept: &[u8]) -> bool {
    let Ok(accept) = std::str::from_utf8(accept) else { return false };
    let mut kinds = accept.split(',').map(MediaType::parse);
    kinds.next() == Some(Some(MediaType::Batch)) && kinds.all(|kind| kind == Some(MediaType::RecordBatch))
}

/// The values of these parameters, if none of the query is encoded, unknown or duplicate.
fn parameters<'a, const N: usize>(query: &'a str, names: [&str; N]) -> Option<[Option<&'a str>; N]> {
    if query.bytes().any(|byte| byte == b'%' || byte == b'+') {
        return None;
    }
    let mut values = [None; N];
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=')?;
        let (_, place) = names.iter().zip(&mut values).find(|(known, _)| **known == name)?;
        if place.replace(value).is_some() {
            return None;
        }
    }
    Some(values)
}

/// A number in digits only.
fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_contract::path;

    const MAX: usize = 1024;

    #[test]
    fn appends_and_reads_are_of_the_path_of_records() {
        assert_eq!([APPEND, POLL], ["POST", "GET"].map(|method| format!("{method} {}?", path::RECORDS)));
    }

    fn request(head: &str, body: &str) -> Vec<u8> {
        format!("{head}\r\n\r\n{body}").into_bytes()
    }

    const HEAD: &str = "POST /records?topic-name=t HTTP/1.1\r\nHost: localhost:1\r\nUser-Agent: x\r\n\
                        Content-Type: application/vnd.rawline.batch\r\nContent-Length: 4";

    #[test]
    fn a_plain_append_is_found_once_it_is_whole() {
        let bytes = request(HEAD, "bodyPOST /next");
        let end = bytes.len() - "POST /next".len();
        for received in 0..end {
            let is_head_whole = received >= end - 4;
            assert_eq!(find(&bytes[..received], MAX), Found::Partial { is_head_whole }, "{received} bytes");
        }
        let append = SmallAppend {
            topic: "t",
            partition: 0,
            epoch: None,
            host: b"localhost:1",
            authorization: None,
            zone: None,
            body: b"body",
            bytes: end,
        };
        assert_eq!(find(&bytes[..end], MAX), Found::Append(append));
        assert_eq!(find(&bytes, MAX), Found::Append(append));
        assert_eq!(find(&bytes, end - 1), Found::Other);
    }

    const POLL_HEAD: &str = "GET /records?topic-name=t&offset=7&max-records=0&timeout=2s HTTP/1.1\r\n\
                             Host: localhost\r\n\
                             Accept: application/vnd.rawline.batch, application/vnd.kafka.record-batch";

    #[test]
    fn a_plain_read_is_found_once_its_head_is_whole() {
        let bytes = request(POLL_HEAD, "GET /next");
        let end = bytes.len() - "GET /next".len();
        for received in 0..end {
            assert_eq!(find(&bytes[..received], MAX), Found::Partial { is_head_whole: false }, "{received} bytes");
        }
        let poll = Poll {
            topic: "t",
            partition: 0,
            offset: 7,
            records_max: 0,
            bytes_max: 0,
            wait: Duration::from_secs(2),
            host: b"localhost",
            authorization: None,
            bytes: end,
        };
        assert_eq!(find(&bytes[..end], MAX), Found::Poll(poll));
        assert_eq!(find(&bytes, MAX), Found::Poll(poll));
        let defaults = POLL_HEAD.replace("&max-records=0&timeout=2s", "");
        let bytes = request(&defaults, "");
        let Found::Poll(poll) = find(&bytes, MAX) else { panic!("{defaults}") };
        assert_eq!((poll.records_max, poll.wait), (RECORDS_MAX_DEFAULT, TIMEOUT_DEFAULT));
    }

    #[test]
    fn reads_that_are_not_plain_are_left_to_the_library() {
        for (from, to) in [
            ("offset=7", "offset=-7"),
            ("&offset=7", ""),
            ("timeout=2s", "timeout=2"),
            ("timeout=2s", "timeout=2s&timeout=2s"),
            ("timeout=2s", "format=x"),
            ("topic-name=t", "topic-name=%74"),
            ("Accept: application/vnd.rawline.batch, ", "Accept: "),
            ("vnd.kafka.record-batch", "json"),
            ("Accept:", "Content-Length: 0\r\nAccept:"),
            ("Accept:", "Rawline-Zone: a\r\nAccept:"),
            ("Accept:", "Origin: http://localhost\r\nAccept:"),
            ("Host:", "Accept:"),
        ] {
            assert!(POLL_HEAD.contains(from), "{from}");
            let bytes = request(&POLL_HEAD.replacen(from, to, 1), "");
            assert_eq!(find(&bytes, MAX), Found::Other, "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn everything_that_the_query_and_the_headers_may_say_is_read() {
        let head = HEAD.replace("topic-name=t", "producer-epoch=7&partition=12&topic-name=logs.a");
        let bytes =
            request(&format!("{head}\r\nauthorization: Bearer k\r\nRawline-Zone: a\r\nconnection: Keep-Alive"), "body");
        let Found::Append(append) = find(&bytes, MAX) else { panic!("{:?}", find(&bytes, MAX)) };
        assert_eq!((append.topic, append.partition, append.epoch), ("logs.a", 12, Some(7)));
        assert_eq!((append.authorization, append.zone), (Some(&b"Bearer k"[..]), Some(&b"a"[..])));
    }

    /// For any bytes, the parsed parts lie within them.
    #[test]
    fn damaged_requests_are_taken_apart_within_their_bounds() {
        use rand::{RngExt, SeedableRng};
        let whole = request(HEAD, "body");
        let mut random = rand::rngs::StdRng::seed_from_u64(1);
        let mut found = 0;
        for _ in 0..100_000 {
            let mut bytes = whole.clone();
            for _ in 0..random.random_range(0..4) {
                let position = random.random_range(0..bytes.len());
                bytes[position] = random.random();
            }
            bytes.truncate(random.random_range(whole.len() / 2..=whole.len()));
            if let Found::Append(append) = find(&bytes, MAX) {
                assert!(append.bytes <= bytes.len() && bytes[..append.bytes].ends_with(append.body), "{append:?}");
                found += 1;
            }
        }
        assert!(found > 100, "{found} of the requests were whole");
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_library() {
        let replaced = |from: &str, to: &str| {
            assert!(HEAD.contains(from), "{from}");
            HEAD.replacen(from, to, 1)
        };
        let cases = [
            replaced("POST", "PUT"),
            replaced("/records", "/record"),
            replaced("/records", "http://localhost/records"),
            replaced("topic-name=t", "topic-name=%74"),
            replaced("topic-name=t", "topic-name=t+"),
            replaced("topic-name=t", "topic-name=t&topic-name=u"),
            replaced("topic-name=t", "topic-name=t&format=x"),
            replaced("topic-name=t", "topic-name=t&partition="),
            replaced("topic-name=t", "topic-name=t&partition=-1"),
            replaced("topic-name=t", "topic-name=t&producer-epoch=65536"),
            replaced("topic-name=t", "partition=1"),
            replaced("topic-name=t", "topic-name="),
            replaced("HTTP/1.1", "HTTP/1.0"),
            replaced("User-Agent: x", "Host: localhost"),
            replaced("User-Agent: x", "Content-Length: 4"),
            replaced("User-Agent: x", "Content-Type: application/vnd.rawline.batch"),
            replaced("User-Agent: x", "Transfer-Encoding: chunked"),
            replaced("User-Agent: x", "Expect: 100-continue"),
            replaced("User-Agent: x", "Content-Encoding: gzip"),
            replaced("User-Agent: x", "Origin: http://evil.example"),
            replaced("User-Agent: x", "Sec-Fetch-Site: cross-site"),
            replaced("User-Agent: x", "Upgrade: websocket"),
            replaced("User-Agent: x", "Connection: close"),
            replaced("User-Agent: x", "User Agent: x"),
            replaced("Host: localhost:1\r\n", ""),
            replaced("Content-Type: application/vnd.rawline.batch\r\n", ""),
            replaced("vnd.rawline.batch", "x-ndjson"),
            replaced("Content-Length: 4", "Content-Length: +4"),
            replaced("Content-Length: 4", "Content-Length: 4, 4"),
            replaced("Content-Length: 4", "Content-Length: 18446744073709551615"),
            replaced("Content-Length: 4", "X: 4"),
            replaced("User-Agent: x", &(0..HEADERS_MAX).map(|n| format!("x-{n}: 0\r\n")).collect::<String>()),
        ];
        for head in cases {
            assert_eq!(find(&request(&head, "body"), 2 * MAX), Found::Other, "{head}");
        }
        assert_eq!(find(&[b"POST /records?", &[b'a'; MAX][..]].concat(), MAX), Found::Other, "an endless head");
    }
}
