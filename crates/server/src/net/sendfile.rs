//! A connection that sends stored bytes from the page cache by `sendfile`, without copying them.
//!
//! The HTTP library writes by `writev`, which copies into the socket's buffers. Where a piece lies in a mapped file,
//! this asks the kernel to send the file's pages instead: the same bytes, one copy less. The address of the
//! piece has its file.

use crate::net::peer::SharedStream;
use rawline_broker::limits::SENDFILE_BYTES_MIN;
use rawline_broker::store::{FileRange, Mappings};
#[cfg(target_os = "linux")]
use rustix::net::{SendAncillaryBuffer, SendFlags};
use std::io::{self, IoSlice};
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

pub(crate) struct FileSender {
    stream: SharedStream,
    mappings: Option<Arc<Mappings>>,
}

impl FileSender {
    /// Sends pieces of these mapped files without copying them.
    pub fn new(stream: SharedStream, mappings: Option<Arc<Mappings>>) -> Self {
        FileSender { stream, mappings }
    }

    /// Writes to the socket without waiting, as much as it accepts.
    pub fn now(&self) -> Now<'_> {
        Now(&self.stream)
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

/// A writer that never waits.
pub(crate) struct Now<'a>(&'a SharedStream);

impl io::Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        let in_file = self.mappings.as_ref().and_then(|mappings| {
            let mut long = pieces.iter().enumerate().filter(|(_, piece)| piece.len() >= SENDFILE_BYTES_MIN);
            long.find_map(|(number, piece)| Some((number, &**piece, mappings.find(piece)?)))
        });
        match in_file {
            None => Pin::new(&mut *self.stream.lock()).poll_write_vectored(context, pieces),
            Some((0, piece, range)) => self.poll_write_with(context, |stream| {
                match send_part(stream, piece, &range)? {
                    // A mapped file is never truncated. Continuing would send other bytes than announced.
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    sent => {
                        assert!(sent <= piece.len(), "{sent} bytes sent of {}", piece.len());
                        Ok(sent)
                    }
                }
            }),
            // The head of a response travels in the same packet as the beginning of its body.
            Some((before, ..)) => self.poll_write_with(context, |stream| send_head(stream, pieces.split_at(before).0)),
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

/// Sends a piece of a mapped file, as much of it as the socket takes.
#[cfg(target_os = "linux")]
fn send_part(stream: &TcpStream, piece: &[u8], range: &FileRange) -> io::Result<usize> {
    let mut position = range.position;
    Ok(rustix::fs::sendfile(stream.as_fd(), &*range.file, Some(&mut position), piece.len())?)
}

/// Other systems copy.
#[cfg(not(target_os = "linux"))]
fn send_part(stream: &TcpStream, piece: &[u8], _: &FileRange) -> io::Result<usize> {
    stream.try_write(piece)
}

/// Sends bytes that others follow at once.
#[cfg(target_os = "linux")]
fn send_head(stream: &TcpStream, head: &[IoSlice<'_>]) -> io::Result<usize> {
    let none = &mut SendAncillaryBuffer::default();
    Ok(rustix::net::sendmsg(stream.as_fd(), head, none, SendFlags::MORE | SendFlags::NOSIGNAL)?)
}

#[cfg(not(target_os = "linux"))]
fn send_head(stream: &TcpStream, head: &[IoSlice<'_>]) -> io::Result<usize> {
    stream.try_write_vectored(head)
}

impl AsyncRead for FileSender {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.lock()).poll_read(context, buffer)
    }
}
