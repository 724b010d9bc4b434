//! NATS with JetStream: requests that are sent once, and the bytes of the appends.

use super::reply::split_line;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Maximum time until a response arrives.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The first bytes of a client. A request that no stream takes gets a message with a status.
const CONNECT: &str =
    "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1}\r\n";
/// The server's reply when it has handled all earlier messages.
pub const WELCOME: &[u8] = b"PONG\r\n";

/// A connection for single requests.
pub struct Nats {
    stream: TcpStream,
    received: Vec<u8>,
    version: String,
}

impl Nats {
    /// Connects.
    pub fn connect(server: SocketAddr) -> io::Result<Nats> {
        let mut stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(&greeting(&inbox("control")))?;
        let mut nats = Nats { stream, received: Vec::new(), version: "of unknown version".to_owned() };
        loop {
            let line = nats.line()?;
            if let Some(info) = line.strip_prefix("INFO ")
                && let Ok(info) = serde_json::from_str::<Value>(info)
                && let Some(version) = info.get("version").and_then(Value::as_str)
            {
                nats.version = version.to_owned();
            }
            if line.starts_with("-ERR") {
                return Err(io::Error::other(line));
            }
            if line == "PONG" {
                return Ok(nats);
            }
        }
    }

    /// The server's version. A client can't query `sync_interval`.
    pub fn about(&self) -> String {
        format!("NATS {}, JetStream, file storage", self.version)
    }

    /// Creates a stream for the subject of the same name, in files.
    pub fn create(&mut self, stream: &str) -> io::Result<()> {
        let settings = json!({
            "name": stream, "subjects": [stream], "storage": "file", "retention": "limits", "discard": "old",
            "num_replicas": 1, "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0,
        });
        self.request(&format!("$JS.API.STREAM.CREATE.{stream}"), &settings.to_string()).map(drop)
    }

    /// Number of messages of a stream.
    pub fn length(&mut self, stream: &str) -> io::Result<u64> {
        let info = self.request(&format!("$JS.API.STREAM.INFO.{stream}"), "")?;
        let length = info.pointer("/state/messages").and_then(Value::as_u64);
        length.ok_or_else(|| io::Error::other(format!("the stream's state has no number of messages: {info}")))
    }

    /// Deletes a stream.
    pub fn delete(&mut self, stream: &str) -> io::Result<()> {
        self.request(&format!("$JS.API.STREAM.DELETE.{stream}"), "").map(drop)
    }

    /// Sends a request and returns its response. Fails if that is an error.
    fn request(&mut self, subject: &str, payload: &str) -> io::Result<Value> {
        self.stream.write_all(&publish(subject, &inbox("control"), payload.as_bytes()))?;
        loop {
            let line = self.line()?;
            if line == "PING" {
                self.stream.write_all(WELCOME)?;
            }
            if line.starts_with("-ERR") {
                return Err(io::Error::other(line));
            }
            if line.starts_with("MSG ") || line.starts_with("HMSG ") {
                let length = line.rsplit(' ').next().and_then(|length| length.parse::<usize>().ok());
                let payload = self.bytes(length.ok_or_else(|| io::Error::other(line.clone()))?)?;
                let response = serde_json::from_slice::<Value>(&payload);
                let response = response.ok().filter(|response| response.get("error").is_none());
                let text = String::from_utf8_lossy(&payload);
                return response.ok_or_else(|| io::Error::other(format!("{subject}: {}", text.trim())));
            }
        }
    }

    /// The next line, without its end.
    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some((line, rest)) = split_line(&self.received).map_err(io::Error::other)? {
                let text = String::from_utf8_lossy(line).into_owned();
                self.received = rest.to_vec();
                return Ok(text);
            }
            self.more()?;
        }
    }

    /// The next bytes; the end of the line after them is removed.
    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.received.len() < length + 2 {
            self.more()?;
        }
        let rest = self.received.split_off(length + 2);
        let mut bytes = std::mem::replace(&mut self.received, rest);
        bytes.truncate(length);
        Ok(bytes)
    }

    fn more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        Ok(())
    }
}

/// The subject of the acknowledgements of one connection.
pub fn inbox(connection: impl std::fmt::Display) -> String {
    format!("_INBOX.rawline-bench.{}.{connection}", std::process::id())
}

/// Connects, and subscribes to an inbox. The server sends [`WELCOME`] when it has done both.
pub fn greeting(inbox: &str) -> Vec<u8> {
    format!("{CONNECT}SUB {inbox} 1\r\nPING\r\n").into_bytes()
}

/// The appends of these records, one message each, sent together. Each is acknowledged in the inbox.
pub fn appends<'r>(stream: &str, inbox: &str, records: impl Iterator<Item = &'r [u8]>) -> Vec<u8> {
    records.flat_map(|record| publish(stream, inbox, record)).collect()
}

fn publish(subject: &str, inbox: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("PUB {subject} {inbox} {}\r\n", payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_are_messages_with_an_inbox() {
        let records: [&[u8]; 2] = [b"a\r\n", b"bc"];
        let bytes = appends("s", "i.1", records.into_iter());
        assert_eq!(bytes, b"PUB s i.1 3\r\na\r\n\r\nPUB s i.1 2\r\nbc\r\n");
        assert_ne!(inbox(1), inbox(2));
        assert!(greeting("i.1").ends_with(b"}\r\nSUB i.1 1\r\nPING\r\n"));
    }
}
