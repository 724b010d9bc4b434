//! A subscriber's connection as the benchmark reads it: a blocking socket, frames of a WebSocket, chunks of a body.
//!
//! The broker's side is measured, so this side costs as little as it can.

use crate::error::BenchError;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// The size of one read in bytes.
const READ_BYTES: usize = 256 << 10;

/// A connection, and its received bytes.
pub(super) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    start: usize,
    end: usize,
}

/// A message.
#[derive(Debug)]
pub(super) enum Message<'a> {
    Text,
    Binary(&'a [u8]),
    Other,
}

impl Connection {
    /// Sends a request for `target` with these headers, and reads the head of its response.
    pub fn open(address: &str, target: &str, headers: &str, status: &str) -> Result<Connection, BenchError> {
        let mut stream = TcpStream::connect(address).map_err(wrong)?;
        let request = format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).map_err(wrong)?;
        let mut connection = Connection { stream, received: vec![0; READ_BYTES], start: 0, end: 0 };
        let head_end = loop {
            let head = connection.rest().windows(4).position(|four| four == b"\r\n\r\n");
            match head {
                Some(end) => break end + 4,
                None => connection.read()?,
            }
        };
        let head = String::from_utf8_lossy(connection.take(head_end)?).into_owned();
        match head.starts_with(&format!("HTTP/1.1 {status}")) {
            true => Ok(connection),
            false => Err(BenchError::Failed(format!("a subscription was refused: {head}"))),
        }
    }

    /// Opens a WebSocket.
    pub fn websocket(address: &str, target: &str) -> Result<Connection, BenchError> {
        let headers = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                       sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        Connection::open(address, target, headers, "101")
    }

    /// The next message of a WebSocket.
    pub fn message(&mut self) -> Result<Message<'_>, BenchError> {
        let [first, length] = self.array::<2>()?;
        let length = match length {
            126 => u64::from(u16::from_be_bytes(self.array()?)),
            127 => u64::from_be_bytes(self.array()?),
            short => short.into(),
        };
        let bytes = self.take(length as usize)?;
        Ok(match first {
            0x81 => Message::Text,
            0x82 => Message::Binary(bytes),
            _ => Message::Other,
        })
    }

    /// The next chunk of a body.
    pub fn chunk(&mut self) -> Result<&[u8], BenchError> {
        let end = loop {
            match self.rest().windows(2).position(|two| two == b"\r\n") {
                Some(end) => break end,
                None => self.read()?,
            }
        };
        let line = self.take(end + 2)?.split_at(end).0;
        let length = std::str::from_utf8(line).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let length = length.ok_or_else(|| BenchError::Failed("a chunk has no length".to_owned()))?;
        let chunk = self.take(length + 2)?;
        Ok(chunk.split_at(length).0)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BenchError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| BenchError::Failed("the connection has ended".to_owned()))
    }

    fn rest(&self) -> &[u8] {
        self.received.get(self.start..self.end).unwrap_or_default()
    }

    /// The next bytes.
    fn take(&mut self, count: usize) -> Result<&[u8], BenchError> {
        while self.end - self.start < count {
            if self.received.len() - self.start < count || self.start == self.end {
                self.received.copy_within(self.start..self.end, 0);
                (self.end, self.start) = (self.end - self.start, 0);
                if self.received.len() < count {
                    self.received.resize(count + READ_BYTES, 0);
                }
            }
            self.read()?;
        }
        let start = self.start;
        self.start += count;
        Ok(self.received.get(start..start + count).unwrap_or_default())
    }

    fn read(&mut self) -> Result<(), BenchError> {
        if self.end == self.received.len() {
            self.received.copy_within(self.start..self.end, 0);
            (self.end, self.start) = (self.end - self.start, 0);
        }
        let room = self.received.get_mut(self.end..).unwrap_or_default();
        match self.stream.read(room).map_err(wrong)? {
            0 => Err(wrong(ErrorKind::UnexpectedEof.into())),
            count => {
                self.end += count;
                Ok(())
            }
        }
    }
}

fn wrong(error: std::io::Error) -> BenchError {
    BenchError::Failed(format!("a subscriber's connection failed: {error}"))
}

/// The fields of a binary message that the benchmark needs, and its content.
pub(crate) fn parse(message: &[u8]) -> Option<(u64, u64, &[u8])> {
    let number = |at: usize| Some(u64::from_le_bytes(*message.get(at..)?.first_chunk()?));
    let name_bytes = usize::from(u16::from_le_bytes(*message.get(2..)?.first_chunk()?));
    Some((number(8)?, number(16)?, message.get((32 + name_bytes).next_multiple_of(8)..)?))
}
