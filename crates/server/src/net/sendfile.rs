//! A connection that sends stored bytes from the page cache by `sendfile`, without copying them.
//!
//! The HTTP library writes by `writev`, which copies into the socket's buffers. Where a piece lies in a mapped file,
//! this asks the kernel to send the file's pages instead: the same bytes, one copy less. The store knows the file by
//! the address of the piece.

use crate::net::peer::SharedStream;
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

/// Shorter pieces are copied: a separate system call would cost more.
const SENDFILE_BYTES_MIN: usize = 32 << 10;

pub(crate) struct FileSender {
    stream: SharedStream,
    broker: Arc<Broker>,
}

impl FileSender {
    pub fn new(stream: SharedStream, broker: Arc<Broker>) -> Self {
        FileSender { stream, broker }
    }

    fn file_of(&self, piece: &[u8]) -> Option<FileRange> {
        if piece.len() < SENDFILE_BYTES_MIN { None } else { self.broker.file_of(piece) }
    }

    /// Calls `write` whenever the socket is writable, until it writes or fails.
    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = self.stream.lock();
        loop {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_io(Interest::WRITABLE, || write(&stream)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl AsyncWrite for FileSender {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream.lock()).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let in_file = pieces.iter().enumerate().find_map(|(i, piece)| Some((i, piece.len(), self.file_of(piece)?)));
        match in_file {
            None => Pin::new(&mut *self.stream.lock()).poll_write_vectored(context, pieces),
            Some((0, length, FileRange { file, position })) => self.poll_write_with(context, |stream| {
                let mut position = position;
                match rustix::fs::sendfile(stream.as_fd(), &*file, Some(&mut position), length)? {
                    // A mapped file is never shortened. What follows would be other bytes than those announced.
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    sent => {
                        assert!(sent <= length, "{sent} bytes sent of {length}");
                        Ok(sent)
                    }
                }
            }),
            // The head of a response travels in the same packet as the beginning of its body.
            Some((before, ..)) => self.poll_write_with(context, |stream| {
                let front = pieces.split_at(before).0;
                let none = &mut SendAncillaryBuffer::default();
                Ok(rustix::net::sendmsg(stream.as_fd(), front, none, SendFlags::MORE | SendFlags::NOSIGNAL)?)
            }),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.lock()).poll_shutdown(context)
    }
}

impl AsyncRead for FileSender {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.lock()).poll_read(context, buffer)
    }
}
