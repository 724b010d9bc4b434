//! A plain HTTP client: it sends a test's bytes unchanged, even invalid ones.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The media type of batches.
pub const BATCH: &str = "application/vnd.rawline.batch";
pub const LINES: &str = "application/x-ndjson";
pub const RECORD: &str = "application/octet-stream";
pub const JSON: &str = "application/json";
pub const MULTIPART: &str = "multipart/form-data; boundary=XX";

/// A connection. Fails the test if the broker is silent for too long.
pub struct Connection {
    pub stream: TcpStream,
    received: Vec<u8>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { stream, received: Vec::new() }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next response; `None` if the broker closes the connection instead.
    pub fn try_receive(&mut self, has_body: bool) -> Option<Answer> {
        let head_bytes = loop {
            if let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            self.receive_more()?;
        };
        let head = String::from_utf8(self.received.drain(..head_bytes).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status_line = lines.next().unwrap();
        assert!(status_line.starts_with("HTTP/1."), "{status_line}");
        let status = status_line.split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?} is not a header"));
            (name.to_ascii_lowercase(), value.to_owned())
        });
        let mut answer = Answer { status, headers: headers.collect(), body: Vec::new() };
        // The broker always announces a response's length.
        let body_bytes = answer.header("content-length").map_or(0, |value| value.parse().unwrap());
        assert_eq!(answer.header("transfer-encoding"), None);
        if has_body {
            while self.received.len() < body_bytes {
                self.receive_more().expect("the body was truncated");
            }
            answer.body = self.received.drain(..body_bytes).collect();
        }
        Some(answer)
    }

    pub fn receive(&mut self) -> Answer {
        self.try_receive(true).expect("the broker closed the connection without a response")
    }

    /// Whether the broker has closed its side, after the bytes that it still sends.
    pub fn is_closed(&mut self) -> bool {
        while self.receive_more().is_some() {}
        true
    }

    /// Whether nothing is received for a short while.
    pub fn is_silent(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut byte = [0];
        let peeked = self.stream.peek(&mut byte);
        self.stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        self.received.is_empty()
            && peeked.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    fn receive_more(&mut self) -> Option<()> {
        let mut piece = [0; 64 << 10];
        match self.stream.read(&mut piece) {
            Ok(0) => None,
            Ok(count) => {
                self.received.extend_from_slice(&piece[..count]);
                Some(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => None,
            Err(error) => panic!("no response: {error}"),
        }
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.header("content-type"), Some(JSON));
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn number(&self, header: &str) -> u64 {
        self.header(header).unwrap_or_else(|| panic!("no {header}: {self:?}")).parse().unwrap()
    }

    /// The code of an error, which must have the complete format.
    pub fn code(&self) -> String {
        let shape = self.json();
        assert!(shape["error"].as_str().is_some_and(|sentence| sentence.len() > 10), "{shape}");
        shape["code"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn assert_error(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{}", self.text());
    }

    #[track_caller]
    pub fn assert_status(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// A request's bytes.
pub fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if matches!(method, "POST" | "PUT") {
        bytes.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// The same with a chunked body, in chunks of this many bytes, and no length in the head.
pub fn chunked(target: &str, content_type: &str, body: &[u8], chunk_bytes: usize) -> Vec<u8> {
    let mut bytes = format!(
        "POST {target} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {content_type}\r\n\
         transfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for chunk in body.chunks(chunk_bytes) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// A topic's description as a list of topics has it: without the offsets of each partition.
pub fn as_listed(mut topic: serde_json::Value) -> serde_json::Value {
    assert!(topic["offsets"].is_array(), "{topic}");
    topic.as_object_mut().unwrap().remove("offsets");
    topic
}

/// One exchange on a new connection.
pub fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut connection = Connection::open(address);
    connection.send(request);
    connection.receive()
}

/// The original's format, with boundary `XX`.
pub fn multipart(sizes: &str, records: &[u8]) -> Vec<u8> {
    let mut body = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"sizes\"\r\n\r\n{sizes}\r\n\
         --XX\r\nContent-Disposition: form-data; name=\"records\"\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(records);
    body.extend_from_slice(b"\r\n--XX--\r\n");
    body
}

/// Records in the original's format.
pub fn multipart_of(records: &[Vec<u8>]) -> Vec<u8> {
    let sizes: Vec<usize> = records.iter().map(Vec::len).collect();
    multipart(&format!("{sizes:?}"), &records.concat())
}

/// The expected response in the original's format, byte for byte except for the boundary.
pub fn multipart_answer(answer: &Answer, records: &[Vec<u8>]) -> Vec<u8> {
    let content_type = answer.header("content-type").unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    if records.is_empty() {
        return format!("--{boundary}--\r\n").into_bytes();
    }
    let sizes: Vec<String> = records.iter().map(|record| record.len().to_string()).collect();
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"sizes\"\r\n\
         Content-Type: application/json\r\n\r\n[{}]\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"records\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n",
        sizes.join(",")
    )
    .into_bytes();
    body.extend_from_slice(&records.concat());
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    body
}
