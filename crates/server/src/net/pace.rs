//! How slow a client may be: the waits, and a connection that gives up on who takes an answer too slowly.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The slowest that a body may come or an answer be taken, in bytes a second, once it has had its wait.
const RATE_MIN: u64 = 64 << 10;

/// How long clients are waited for, so that none holds buffers or a connection for ever.
#[derive(Debug, Clone, Copy)]
pub struct Waits {
    /// Until a request's head is whole; also how long a connection may be idle.
    pub head: Duration,
    /// The longest that no byte of a body may come.
    pub body_piece: Duration,
    /// How long a body may take beside its bytes at 64 KiB a second.
    pub body: Duration,
    /// The longest that no byte of an answer may be taken.
    pub answer_piece: Duration,
    /// How long the taking of an answer may take beside its bytes at 64 KiB a second.
    pub answer: Duration,
    /// How long the rest of a refused body is read and dropped, so that its sender gets to see the answer.
    pub refused_body: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Waits {
            head: Duration::from_secs(30),
            body_piece: Duration::from_secs(10),
            body: Duration::from_secs(20),
            answer_piece: Duration::from_secs(30),
            answer: Duration::from_secs(30),
            refused_body: Duration::from_secs(2),
        }
    }
}

impl Waits {
    /// When the next piece of a body must be there, of which `bytes` have come since `started`.
    pub(crate) fn body_deadline(&self, started: Instant, bytes: u64) -> Instant {
        (Instant::now() + self.body_piece).min(started + self.body + earned(bytes))
    }

    /// When the next piece of an answer must be taken, of which `bytes` have been since `started`. The system's own
    /// buffers take some megabytes for a client that takes nothing; the first limit is for those.
    fn answer_deadline(&self, started: Instant, bytes: u64) -> Instant {
        (Instant::now() + self.answer_piece).min(started + self.answer + earned(bytes))
    }
}

fn earned(bytes: u64) -> Duration {
    Duration::from_secs(bytes / RATE_MIN)
}

/// A connection whose writes fail when its client takes an answer too slowly, however small its steps are.
pub(crate) struct Paced<S> {
    stream: S,
    waits: Waits,
    /// Since when the answer at hand is being written, and how much of it has been.
    answer: Option<(Instant, u64)>,
    /// Armed while the client's window is full.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    pub fn new(stream: S, waits: Waits) -> Self {
        Paced { stream, waits, answer: None, deadline: None }
    }

    fn written(&mut self, context: &mut Context<'_>, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let (started, bytes) = self.answer.get_or_insert_with(|| (Instant::now(), 0));
        if let Poll::Ready(result) = result {
            *bytes += result.as_ref().map_or(0, |&count| count as u64);
            self.deadline = None;
            return Poll::Ready(result);
        }
        let until = self.waits.answer_deadline(*started, *bytes);
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes its answer too slowly")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        // The HTTP library reads no further request while it writes an answer, so what comes begins a new exchange.
        if result.is_ready() && buffer.filled().len() > before {
            self.answer = None;
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.written(context, result)
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// A client that takes a byte now and then is making progress, but not enough of it.
    #[tokio::test(start_paused = true)]
    async fn a_trickling_reader_is_cut_off() {
        let (server, mut client) = tokio::io::duplex(1);
        let mut server = Paced::new(server, Waits::default());
        let started = Instant::now();
        let reading = tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let error = server.write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() <= Duration::from_secs(31));
        drop(server);
        reading.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_is_cut_off() {
        let (server, _client) = tokio::io::duplex(10 << 20);
        let mut server = Paced::new(server, Waits::default());
        let started = Instant::now();
        let error = server.write_all(&[0; 11 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() <= Duration::from_secs(31));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_fast_enough_gets_everything() {
        let (server, mut client) = tokio::io::duplex(64 << 10);
        let mut server = Paced::new(server, Waits::default());
        let reading = tokio::spawn(async move {
            let mut piece = [0; 64 << 10];
            let mut bytes = 0;
            while let Ok(count @ 1..) = client.read(&mut piece).await {
                bytes += count;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            bytes
        });
        // Two minutes at the slowest rate.
        server.write_all(&vec![0; 120 * (64 << 10)]).await.unwrap();
        drop(server);
        assert_eq!(reading.await.unwrap(), 120 * (64 << 10));
    }
}
