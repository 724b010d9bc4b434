//! Parses the first reply in a server's bytes, in the protocol of each side.

/// The protocol of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, of a Rawline broker.
    Http,
    /// RESP2, of Redis.
    Redis,
    /// The text protocol of NATS, with JetStream's acknowledgements.
    Nats,
    /// Kafka's, of Produce requests of version 3 for one partition.
    Kafka,
}

/// The beginning of the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// More bytes are needed.
    Partial,
    /// An acknowledgement.
    Done {
        /// Its length.
        bytes: usize,
    },
    /// An error.
    Refused {
        /// Its length.
        bytes: usize,
        /// Its message.
        text: String,
    },
    /// The server asks whether the client is alive.
    Ping {
        /// Its length.
        bytes: usize,
    },
    /// Something that needs no response.
    Other {
        /// Its length.
        bytes: usize,
    },
}

/// Maximum size of a reply's head in bytes: no server of these sends more.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Maximum length of an error's text that is kept.
const TEXT_CHARS_MAX: usize = 500;

impl Protocol {
    /// Reads the first reply of `received`. Fails if it isn't one, or if the server ends the connection with it.
    pub fn parse(self, received: &[u8]) -> Result<Reply, String> {
        if received.is_empty() {
            return Ok(Reply::Partial);
        }
        match self {
            Protocol::Http => parse_http(received),
            Protocol::Redis => parse_redis(received),
            Protocol::Nats => parse_nats(received),
            Protocol::Kafka => parse_kafka(received),
        }
    }
}

/// The head of an HTTP response.
#[derive(Debug)]
pub struct Head<'a> {
    /// The status code.
    pub status: u16,
    /// The headers, a line each.
    lines: &'a [u8],
}

/// The first head. It ends with an empty line.
pub fn head(received: &[u8]) -> First<'_, Head<'_>> {
    let Some((line, lines)) = split_line(received)? else { return Ok(None) };
    let status = status_of(line)?;
    let mut rest = lines;
    while let Some((line, after)) = split_line(rest)? {
        if line.is_empty() {
            let (lines, _) = lines.split_at(lines.len() - rest.len());
            return Ok(Some((Head { status, lines }, after)));
        }
        rest = after;
    }
    Ok(None)
}

impl<'a> Head<'a> {
    /// The value of the first header with this name in lower case.
    pub fn value(&self, name: &[u8]) -> Option<&'a [u8]> {
        let lines = self.lines.split(|&byte| byte == b'\n');
        lines.filter_map(|line| value_of(line, name)).next()
    }

    /// The value of a header that is a number.
    pub fn number(&self, name: &[u8]) -> Result<Option<usize>, String> {
        self.value(name).map(number).transpose()
    }
}

fn parse_http(received: &[u8]) -> Result<Reply, String> {
    let Some((head, rest)) = head(received)? else { return Ok(Reply::Partial) };
    let body_bytes = head.number(b"content-length")?.ok_or("the response has no Content-Length")?;
    let Some((body, after)) = rest.split_at_checked(body_bytes) else { return Ok(Reply::Partial) };
    let bytes = received.len() - after.len();
    Ok(match head.status {
        200..=299 => Reply::Done { bytes },
        status => Reply::Refused { bytes, text: format!("status {status}: {}", text(body)) },
    })
}

fn status_of(line: &[u8]) -> Result<u16, String> {
    let digits = line.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.first_chunk::<3>());
    let status = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    status.ok_or_else(|| format!("the response is not HTTP/1.1: {:?}", text(line)))
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    if !found.eq_ignore_ascii_case(name) {
        return None;
    }
    rest.strip_prefix(b":")
}

fn parse_redis(received: &[u8]) -> Result<Reply, String> {
    let Some((line, after)) = split_line(received)? else { return Ok(Reply::Partial) };
    let bytes = received.len() - after.len();
    match line.split_first() {
        Some((b'-', error)) => Ok(Reply::Refused { bytes, text: text(error) }),
        Some((b'+' | b':', _)) => Ok(Reply::Done { bytes }),
        Some((b'$', b"-1")) => Ok(Reply::Refused { bytes, text: "no value".to_owned() }),
        Some((b'$', length)) => {
            let whole = bytes + number(length)? + 2;
            Ok(if received.len() < whole { Reply::Partial } else { Reply::Done { bytes: whole } })
        }
        _ => Err(format!("not a reply of Redis: {:?}", text(line))),
    }
}

fn parse_nats(received: &[u8]) -> Result<Reply, String> {
    let Some((line, after)) = split_line(received)? else { return Ok(Reply::Partial) };
    let bytes = received.len() - after.len();
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    match words.next() {
        Some(b"PING") => Ok(Reply::Ping { bytes }),
        Some(b"PONG" | b"+OK" | b"INFO") => Ok(Reply::Other { bytes }),
        Some(b"-ERR") => Err(format!("the server reports {}", text(line))),
        Some(kind @ (b"MSG" | b"HMSG")) => {
            let length = number(words.next_back().unwrap_or_default())?;
            let Some((payload, _)) = after.split_at_checked(length) else { return Ok(Reply::Partial) };
            let bytes = bytes + length + 2;
            if received.len() < bytes {
                return Ok(Reply::Partial);
            }
            // An acknowledgement names the stream and the sequence. Headers come only with a status: no stream took it.
            let has = |name: &[u8]| payload.windows(name.len()).any(|part| part == name);
            let is_done = kind == b"MSG" && has(b"\"seq\"") && !has(b"\"error\"");
            Ok(if is_done { Reply::Done { bytes } } else { Reply::Refused { bytes, text: text(payload) } })
        }
        _ => Err(format!("not a message of NATS: {:?}", text(line))),
    }
}

/// The error code of the partition is after the topic's name.
fn parse_kafka(received: &[u8]) -> Result<Reply, String> {
    let Some((response, bytes)) = kafka_response(received)? else { return Ok(Reply::Partial) };
    let code = || {
        let (_, rest) = response.split_at_checked(4)?;
        let (name_bytes, rest) = rest.split_first_chunk()?;
        let (_, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*name_bytes)) + 4 + 4)?;
        Some(i16::from_be_bytes(*rest.first_chunk()?))
    };
    Ok(match code().ok_or("a Produce response is too short")? {
        0 => Reply::Done { bytes },
        code => Reply::Refused { bytes, text: format!("Kafka's error code {code}") },
    })
}

/// The first response of Kafka's protocol without its length and correlation id, and its length.
pub fn kafka_response(received: &[u8]) -> Result<Option<(&[u8], usize)>, String> {
    let Some((length, rest)) = received.split_first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    let Some((response, _)) = rest.split_at_checked(length) else { return Ok(None) };
    let (_, response) = response.split_at_checked(4).ok_or("a response without a correlation id")?;
    Ok(Some((response, size_of::<u32>() + length)))
}

/// The first part of the received bytes, and the rest. `None` if the part isn't whole yet.
pub type First<'a, T> = Result<Option<(T, &'a [u8])>, String>;

/// The first line without its end.
pub fn split_line(received: &[u8]) -> First<'_, &[u8]> {
    let Some(end) = received.iter().take(HEAD_BYTES_MAX).position(|&byte| byte == b'\n') else {
        let is_long = received.len() > HEAD_BYTES_MAX;
        return if is_long { Err(format!("a line of more than {HEAD_BYTES_MAX} bytes")) } else { Ok(None) };
    };
    let Some((line, rest)) = received.split_at_checked(end + 1) else { unreachable!("a line ends at {end}") };
    let Some(line) = line.strip_suffix(b"\r\n") else { return Err("a line doesn't end with CR LF".to_owned()) };
    Ok(Some((line, rest)))
}

/// A length in decimal digits.
fn number(digits: &[u8]) -> Result<usize, String> {
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.trim().parse::<u32>().ok());
    number.map(|number| number as usize).ok_or_else(|| format!("{:?} is not a length", text(digits)))
}

/// Bytes as the text of an error.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `stream` whole, and after every cut: what was whole without the last bytes stays the same.
    fn replies(protocol: Protocol, stream: &[u8]) -> Vec<Reply> {
        let all = |received: &[u8]| {
            let mut rest = received;
            let mut found = Vec::new();
            loop {
                let reply = protocol.parse(rest).unwrap();
                let (Reply::Done { bytes }
                | Reply::Refused { bytes, .. }
                | Reply::Ping { bytes }
                | Reply::Other { bytes }) = reply
                else {
                    return (found, rest.len());
                };
                rest = &rest[bytes..];
                found.push(reply);
            }
        };
        let (whole, left) = all(stream);
        assert_eq!(left, 0, "{stream:?} has a rest");
        for end in 0..stream.len() {
            let (part, left) = all(&stream[..end]);
            assert!(part.len() < whole.len() && whole.starts_with(&part), "cut at {end}: {part:?}");
            assert!(left <= end);
        }
        whole
    }

    #[test]
    fn http_responses_are_whole_or_partial_wherever_they_are_cut() {
        let stream = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\ncontent-LENGTH: 4\r\n\r\n{\"\"}\
            HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length:5\r\n\r\nfull\n\
            HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
        let found = replies(Protocol::Http, stream);
        assert!(matches!(found[..], [Reply::Done { .. }, Reply::Refused { .. }, Reply::Done { .. }]), "{found:?}");
        let Reply::Refused { text, .. } = &found[1] else { panic!("{found:?}") };
        assert_eq!(text, "status 503: full");
    }

    #[test]
    fn redis_replies_are_whole_or_partial_wherever_they_are_cut() {
        let stream = b"$15\r\n1700000000000-0\r\n$4\r\n\r\n\r\n\r\n+OK\r\n:12\r\n-OOM command not allowed\r\n$-1\r\n";
        let found = replies(Protocol::Redis, stream);
        assert_eq!(found[0], Reply::Done { bytes: 22 });
        assert_eq!(found[1], Reply::Done { bytes: 10 }, "a value may hold the end of a line");
        assert!(found[2..4].iter().all(|reply| matches!(reply, Reply::Done { .. })), "{found:?}");
        assert!(matches!(&found[4], Reply::Refused { text, .. } if text == "OOM command not allowed"));
        assert!(matches!(found[5], Reply::Refused { .. }));
    }

    #[test]
    fn nats_messages_are_whole_or_partial_wherever_they_are_cut() {
        let message = |payload: &str| format!("MSG _INBOX.a 1 {}\r\n{payload}\r\n", payload.len());
        let stream = [
            "INFO {\"version\":\"2\"}\r\n+OK\r\nPING\r\n",
            &message("{\"stream\":\"S\", \"seq\":12345}"),
            &message("{\"error\":{\"code\":503},\"stream\":\"S\",\"seq\":0}"),
            "HMSG _INBOX.a 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\nPONG\r\n",
        ]
        .concat();
        let found = replies(Protocol::Nats, stream.as_bytes());
        assert!(
            matches!(found[..3], [Reply::Other { .. }, Reply::Other { .. }, Reply::Ping { bytes: 6 }]),
            "{found:?}"
        );
        assert!(matches!(found[3], Reply::Done { .. }), "{found:?}");
        assert!(matches!(&found[4], Reply::Refused { text, .. } if text.contains("503")), "{found:?}");
        assert!(matches!(&found[5], Reply::Refused { text, .. } if text == "NATS/1.0 503"), "{found:?}");
        assert!(matches!(found[6], Reply::Other { .. }));
        let error = Protocol::Nats.parse(b"-ERR 'Maximum Payload Violation'\r\n").unwrap_err();
        assert!(error.contains("Maximum Payload"), "{error}");
    }

    #[test]
    fn kafka_responses_are_whole_or_partial_wherever_they_are_cut() {
        let response = |code: i16| {
            let mut response = vec![0, 0, 0, 33, 0, 0, 0, 7, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0];
            response.extend(code.to_be_bytes());
            response.extend([0; 12]);
            response
        };
        let found = replies(Protocol::Kafka, &[response(0), response(3)].concat());
        let refused = Reply::Refused { bytes: 37, text: "Kafka's error code 3".to_owned() };
        assert_eq!(found, [Reply::Done { bytes: 37 }, refused]);
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        for (protocol, wrong) in [
            (Protocol::Http, &b"HTTP/1.0 200 OK\r\n"[..]),
            (Protocol::Http, b"HTTP/1.1 abc\r\n"),
            (Protocol::Http, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
            (Protocol::Http, b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"),
            (Protocol::Http, b"HTTP/1.1 200 OK\n"),
            (Protocol::Redis, b"$x\r\n"),
            (Protocol::Redis, b"HTTP/1.1 400 Bad Request\r\n"),
            (Protocol::Redis, b"\r\n"),
            (Protocol::Kafka, &[0, 0, 0, 3, 0, 0, 0]),
            (Protocol::Kafka, &[0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1]),
            (Protocol::Nats, b"MSG a 1 x\r\n"),
            (Protocol::Nats, b"HELLO\r\n"),
            (Protocol::Nats, &[b'a'; HEAD_BYTES_MAX + 1]),
        ] {
            assert!(protocol.parse(wrong).is_err(), "{protocol:?}: {:?}", String::from_utf8_lossy(wrong));
        }
    }
}
