//! A connection over TLS: its bytes are encrypted in user space.

use crate::net::sendfile::FileSender;
use rawline_broker::limits::SENDFILE_BYTES_MIN;
use rawline_broker::store::Mappings;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

/// Encrypts written bytes. Reports pages of mapped files to the mappings, because unlike `sendfile` it reads them.
pub(crate) struct TlsSender {
    stream: Box<TlsStream<FileSender>>,
    mappings: Option<Arc<Mappings>>,
}

impl TlsSender {
    pub(super) fn new(stream: TlsStream<FileSender>, mappings: Option<Arc<Mappings>>) -> Self {
        TlsSender { stream: Box::new(stream), mappings }
    }

    /// The first `bytes` of these pieces were read. Short pieces count as read when they are taken of a mapping.
    fn touched(&self, pieces: &[IoSlice<'_>], mut bytes: usize) {
        let Some(mappings) = &self.mappings else { return };
        for piece in pieces {
            let (read, _) = piece.split_at(bytes.min(piece.len()));
            bytes -= read.len();
            if piece.len() >= SENDFILE_BYTES_MIN && !read.is_empty() {
                mappings.touched(read);
            }
        }
    }
}

impl AsyncRead for TlsSender {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TlsSender {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut *self.stream).poll_write_vectored(context, pieces))?;
        self.touched(pieces, written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(context)
    }
}

impl Drop for TlsSender {
    /// Sends `close_notify`, so that the client can distinguish this end from a truncation by an attacker. Best effort:
    /// doesn't wait for a client that doesn't read.
    fn drop(&mut self) {
        let (socket, session) = self.stream.get_mut();
        session.send_close_notify();
        let _ = session.write_tls(&mut socket.now());
    }
}
