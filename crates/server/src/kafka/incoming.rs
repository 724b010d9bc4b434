//! Reads requests from a connection.

use super::error::ConnectionError;
use crate::net::pace::{BodyPace, Waits};
use crate::net::tls::is_tls;
use bytes::{Buf, Bytes, BytesMut};
use rawline_kafka::frame::{LENGTH_BYTES, RequestHeader};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout_at;

/// Size of the buffer that a connection reads into, in bytes.
pub(super) const BUFFER_BYTES: usize = 16 << 10;

/// Maximum size of a request other than Produce in bytes. Those of clients have some kilobytes.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// Whether the first bytes of a connection have a whole request.
pub(super) fn is_whole(received: &[u8]) -> bool {
    received
        .split_first_chunk()
        .is_some_and(|(length, rest)| rest.len() as u64 >= u64::from(u32::from_be_bytes(*length)))
}

/// A connection's bytes, as far as they have arrived and are not used yet.
pub(super) struct Incoming<S> {
    stream: S,
    buffer: BytesMut,
    waits: Waits,
    /// Of the request that is being received.
    pace: BodyPace,
}

/// The beginning of a request.
pub(super) struct Frame {
    pub header: RequestHeader,
    /// Size of the request after its header in bytes.
    pub left: u64,
}

impl<S: AsyncRead + Unpin> Incoming<S> {
    pub fn new(stream: S, waits: Waits) -> Incoming<S> {
        Incoming { stream, buffer: BytesMut::new(), waits, pace: BodyPace::new(waits) }
    }

    /// The beginning of the next request; `None` if the client closes the connection before it. No request may be
    /// larger than `bytes_max`.
    pub async fn frame(&mut self, bytes_max: u64) -> Result<Option<Frame>, ConnectionError> {
        if self.buffer.is_empty() && !self.read().await? {
            return Ok(None);
        }
        self.pace = BodyPace::new(self.waits);
        self.fill(LENGTH_BYTES).await?;
        if is_tls(&self.buffer) {
            return Err(ConnectionError::Tls);
        }
        let length = self.buffer.get_i32();
        let length = u64::try_from(length).ok().filter(|length| *length <= bytes_max);
        let length = length.ok_or(ConnectionError::Length { bytes_max })?;
        loop {
            let arrived = self.buffer.len().min(length as usize);
            if let Some(header) = RequestHeader::read(self.buffer.split_at(arrived).0, length)? {
                self.buffer.advance(header.bytes);
                let left = length - header.bytes as u64;
                return Ok(Some(Frame { header, left }));
            }
            self.fill(arrived + 1).await?;
        }
    }

    /// The rest of a short request.
    pub async fn whole(&mut self, left: u64) -> Result<Bytes, ConnectionError> {
        if left > REQUEST_BYTES_MAX {
            return Err(ConnectionError::Length { bytes_max: REQUEST_BYTES_MAX });
        }
        self.fill(left as usize).await?;
        let request = self.buffer.split_to(left as usize).freeze();
        if request.len() > BUFFER_BYTES {
            // The next request may be small, and the connection idle for hours.
            self.buffer = BytesMut::from(self.buffer.as_ref());
        }
        Ok(request)
    }

    /// The next received bytes, at most `bytes_max`, at least one.
    pub async fn piece(&mut self, bytes_max: u64) -> Result<Bytes, ConnectionError> {
        assert!(bytes_max > 0, "a piece of a request that is whole");
        self.fill(1).await?;
        let bytes = self.buffer.len().min(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        Ok(self.buffer.split_to(bytes).freeze())
    }

    /// The request was not read for this long, for reasons that are not the client's.
    pub fn paused(&mut self, pause: std::time::Duration) {
        self.pace.paused(pause);
    }

    /// Reads until `bytes` bytes have arrived.
    async fn fill(&mut self, bytes: usize) -> Result<(), ConnectionError> {
        while self.buffer.len() < bytes {
            let deadline = self.pace.deadline();
            match timeout_at(deadline, self.read()).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "a request arrives too slowly").into()),
            }
        }
        Ok(())
    }

    /// Reads once; `false` at the end.
    async fn read(&mut self) -> io::Result<bool> {
        if self.buffer.capacity() - self.buffer.len() < BUFFER_BYTES / 2 {
            self.buffer.reserve(BUFFER_BYTES);
        }
        let read = self.stream.read_buf(&mut self.buffer).await?;
        self.pace.arrived(read as u64);
        Ok(read > 0)
    }
}
