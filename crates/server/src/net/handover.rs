//! A connection that the HTTP library serves until a request for another handler arrives.

use crate::net::activity::Activity;
use bytes::{Buf, Bytes};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// To the library, the connection ends before such a request.
pub(crate) struct Handover<S> {
    stream: S,
    activity: Arc<Activity>,
    /// Bytes received before the library began.
    front: Bytes,
    /// Whether a request is for the other handler.
    is_for_other: fn(&[u8]) -> bool,
    /// The beginning of a request for the other handler.
    kept: Vec<u8>,
}

impl<S> Handover<S> {
    pub fn new(stream: S, activity: Arc<Activity>, front: Vec<u8>, is_for_other: fn(&[u8]) -> bool) -> Self {
        Handover { stream, activity, front: front.into(), is_for_other, kept: Vec::new() }
    }

    /// The connection and the beginning of the request for the other handler; `None` if the connection was closed.
    /// `unread` are the bytes that the library received and didn't use: the beginning of an incomplete head.
    pub fn end(self, unread: &[u8]) -> Option<(S, Vec<u8>)> {
        (!self.kept.is_empty()).then(|| (self.stream, [unread, &self.kept].concat()))
    }

    /// The connection and its unused received bytes. `unread` are the bytes passed to the library.
    pub fn into_stream(self, unread: &[u8]) -> (S, Vec<u8>) {
        (self.stream, [unread, &self.front, &self.kept].concat())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Handover<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.front.has_remaining() {
            let count = self.front.len().min(buffer.remaining());
            buffer.put_slice(&self.front.split_to(count));
            return Poll::Ready(Ok(()));
        }
        if !self.kept.is_empty() {
            return Poll::Ready(Ok(()));
        }
        // While a request is handled, the library reads only the bytes after it.
        let is_between_requests = self.activity.idle_since().is_some();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let (_, arrived) = buffer.filled().split_at(before);
        if is_between_requests && (self.is_for_other)(arrived) {
            self.kept = arrived.to_vec();
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Handover<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
