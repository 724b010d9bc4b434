//! A connection that hands stored bytes from the page cache to the socket by `sendfile`, without touching them.
//!
//! The HTTP library writes what it is given by `writev`, which copies it into the socket's buffers. Where a piece lies
//! in a mapped file this asks the kernel to take the file's pages instead: the same bytes, one copy less. Which file
//! that is, the store tells by the piece's address.

use rawline_broker::Broker;
use rawline_broker::store::FileRange;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Shorter pieces are copied: a call of their own would cost more.
const SENDFILE_BYTES_MIN: usize = 32 << 10;

pub(crate) struct FileSender {
    stream: TcpStream,
    broker: Arc<Broker>,
}

impl FileSender {
    pub fn new(stream: TcpStream, broker: Arc<Broker>) -> Self {
        FileSender { stream, broker }
    }

    fn file_of(&self, piece: &[u8]) -> Option<FileRange> {
        if piece.len() < SENDFILE_BYTES_MIN { None } else { self.broker.file_of(piece) }
    }

    /// Calls `write` when the socket takes bytes, until it does something or fails.
    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_io(Interest::WRITABLE, &mut write) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl AsyncWrite for FileSender {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let in_file = pieces.iter().enumerate().find_map(|(i, piece)| Some((i, piece.len(), self.file_of(piece)?)));
        match in_file {
            None => Pin::new(&mut self.stream).poll_write_vectored(context, pieces),
            Some((0, length, FileRange { file, position })) => self.poll_write_with(context, || {
                let mut position = position;
                match rustix::fs::sendfile(self.stream.as_fd(), &*file, Some(&mut position), length)? {
                    // Nobody shortens a file that is mapped; sending on would send other bytes than were promised.
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    sent => Ok(sent),
                }
            }),
            // An answer's head travels in the same packet as the front of its body.
            Some((in_front, ..)) => self.poll_write_with(context, || {
                let front = pieces.get(..in_front).unwrap_or_default();
                let none = &mut SendAncillaryBuffer::default();
                Ok(rustix::net::sendmsg(self.stream.as_fd(), front, none, SendFlags::MORE | SendFlags::NOSIGNAL)?)
            }),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl AsyncRead for FileSender {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}
