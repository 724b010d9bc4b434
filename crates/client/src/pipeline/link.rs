//! The socket of a shared connection, and the bytes that move through it. No function here blocks.

use super::response::Responses;
use crate::error::ClientError;
use crate::peer::Peer;
use crate::stream::Stream;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncReadExt, AsyncWrite};

/// A socket that is being opened.
pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<(Stream, Peer), ClientError>> + Send>>;

pub(super) struct Link {
    socket: Socket,
    pub(super) responses: Responses,
    /// Requests that are being written.
    writing: Vec<u8>,
    /// Number of bytes of `writing` that were written.
    written: usize,
    /// Whether a layer above the socket holds nothing back.
    is_flushed: bool,
}

enum Socket {
    Opening(Opening),
    Open(Stream),
    Closed,
}

impl Link {
    pub(super) fn new(opening: Opening) -> Link {
        let socket = Socket::Opening(opening);
        Link { socket, responses: Responses::default(), writing: Vec::new(), written: 0, is_flushed: true }
    }

    /// Opens the socket. Returns the broker that it leads to, once.
    pub(super) fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Peer>, ClientError>> {
        let Socket::Opening(opening) = &mut self.socket else { return Poll::Ready(Ok(None)) };
        let (stream, peer) = ready!(opening.as_mut().poll(context))?;
        self.socket = Socket::Open(stream);
        Poll::Ready(Ok(Some(peer)))
    }

    pub(super) fn close(&mut self) {
        self.socket = Socket::Closed;
        self.stop_writing();
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.socket, Socket::Closed)
    }

    /// Whether requests are being written.
    pub(super) fn is_writing(&self) -> bool {
        self.written < self.writing.len()
    }

    /// Whether the next requests can be written now.
    pub(super) fn takes_requests(&self) -> bool {
        matches!(self.socket, Socket::Open(_)) && !self.is_writing()
    }

    /// Forgets what isn't written yet.
    pub(super) fn stop_writing(&mut self) {
        self.writing.clear();
        self.written = 0;
    }

    /// The buffer for the next requests, when nothing is being written.
    pub(super) fn next_to_write(&mut self) -> &mut Vec<u8> {
        assert!(!self.is_writing(), "{} of {} bytes are written", self.written, self.writing.len());
        self.stop_writing();
        &mut self.writing
    }

    /// Writes requests. Returns the number of bytes written, 0 if there is nothing to write.
    pub(super) fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Socket::Open(stream) = &mut self.socket else { return Poll::Ready(Ok(0)) };
        let (_, rest) = self.writing.split_at(self.written);
        if rest.is_empty() {
            if !self.is_flushed {
                ready!(Pin::new(stream).poll_flush(context))?;
                self.is_flushed = true;
            }
            return Poll::Ready(Ok(0));
        }
        let bytes = ready!(Pin::new(stream).poll_write(context, rest))?;
        if bytes == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.is_flushed = false;
        self.written += bytes;
        Poll::Ready(Ok(bytes))
    }

    /// Receives bytes; false at their end.
    pub(super) fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Socket::Open(stream) = &mut self.socket else { return Poll::Ready(Ok(false)) };
        // Holds nothing between two calls.
        let reading = pin!(stream.read_buf(self.responses.room()));
        let bytes = ready!(reading.poll(context))?;
        if bytes == 0 {
            self.responses.end();
        }
        Poll::Ready(Ok(bytes > 0))
    }
}
