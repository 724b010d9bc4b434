//! The connection of a waiting reader, which never blocks.

use super::waiter::Waiter;
use mio::net::TcpStream;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// Size of the first buffer in bytes. It grows for a reader that was slow.
const RECEIVE_BYTES: usize = 4 << 10;
/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A reader that waits.
pub struct Reader {
    /// The socket.
    pub stream: TcpStream,
    waiter: Waiter,
    /// Bytes of its request that aren't sent yet.
    unsent: Vec<u8>,
    received: Vec<u8>,
    received_bytes: usize,
}

impl Reader {
    /// Connects and sends the first request.
    pub fn open(server: SocketAddr, waiter: Waiter) -> io::Result<Reader> {
        let stream = std::net::TcpStream::connect_timeout(&server, CONNECT_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let (stream, unsent) = (TcpStream::from_std(stream), waiter.request());
        let mut reader = Reader { stream, waiter, unsent, received: vec![0; RECEIVE_BYTES], received_bytes: 0 };
        reader.flush()?;
        Ok(reader)
    }

    /// Receives the available bytes, sends the next request after a response, and returns the number of records.
    pub fn receive(&mut self) -> io::Result<u64> {
        self.flush()?;
        let mut records = 0;
        loop {
            if self.received_bytes == self.received.len() {
                self.received.resize(2 * self.received_bytes, 0);
            }
            let free = self.received.get_mut(self.received_bytes..).unwrap_or_default();
            let room = free.len();
            match self.stream.read(free) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.received_bytes += count;
                    records += self.parse()?;
                    // Later bytes are a new event of the poll.
                    if count < room {
                        return Ok(records);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(records),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes whole messages out of the buffer.
    fn parse(&mut self) -> io::Result<u64> {
        let (mut start, mut records) = (0, 0);
        loop {
            let rest = self.received.get(start..self.received_bytes).unwrap_or_default();
            let parsed = if rest.is_empty() { Ok(None) } else { self.waiter.parse(rest) };
            let parsed = parsed.map_err(|reason| io::Error::new(ErrorKind::InvalidData, reason))?;
            let Some(message) = parsed else { break };
            start += message.bytes;
            records += message.records;
            if message.is_response {
                self.unsent = self.waiter.request();
                self.flush()?;
            }
        }
        self.received.copy_within(start..self.received_bytes, 0);
        self.received_bytes -= start;
        Ok(records)
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
