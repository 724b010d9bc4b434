//! Client timeouts, and a connection that drops clients that read too slowly. Its bytes are counted.

use crate::net::activity::Activity;
use crate::net::listen::Crowd;
use crate::net::read_size::ReadSize;
use rawline_broker::metrics::METRICS;
use rawline_broker::pool::Pool;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Minimum rate at which a body must arrive or a response be read, in bytes per second, once the grace period is over.
const RATE_MIN: u64 = 64 << 10;

/// The same of a body while others wait for buffers or for a connection. A slow body holds its buffers for minutes, in
/// which a hundred fast ones would be stored: without this, clients that are slow, and many, starve all others.
const RATE_MIN_IF_SCARCE: u64 = 4 * RATE_MIN;

/// How often a body or a response that pauses checks whether others wait for its buffers, or for its connection.
pub(crate) const SCARCE_CHECK: Duration = Duration::from_millis(250);

/// Timeouts for clients, so that none holds buffers or a connection forever.
#[derive(Debug, Clone, Copy)]
pub struct Waits {
    /// Until the head of a request is complete; also how long a connection may be idle.
    pub head: Duration,
    /// Longest pause within a body, also of a client that was faster than 64 KiB per second before.
    pub body_piece: Duration,
    /// Longest pause within a body from its beginning, and while others wait for buffers or for a connection; of a
    /// response, while others wait for its connection, or for buffers that it holds.
    pub body: Duration,
    /// Longest pause within the reading of a response.
    pub answer_piece: Duration,
    /// Grace period of a response: reading it may take this long, and the time of its bytes at 64 KiB per second.
    pub answer: Duration,
    /// How long the rest of a refused body is read and discarded, so that its sender sees the response.
    pub refused_body: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Waits {
            head: Duration::from_secs(30),
            body_piece: Duration::from_secs(10),
            // The minimum rate counts from the second second on: a slower client holds buffers that others need.
            body: Duration::from_secs(1),
            answer_piece: Duration::from_secs(30),
            answer: Duration::from_secs(30),
            refused_body: Duration::from_secs(2),
        }
    }
}

/// How long a body may let its receiver wait. Its bytes earn time at the minimum rate; what they earned is used up by
/// pauses, and limited, so that a client that was fast can't be slow for long.
#[derive(Debug)]
pub(crate) struct BodyPace {
    /// The deadline of the next piece, and an earlier one while others wait for buffers or for a connection.
    next: Instant,
    next_if_scarce: Instant,
    waits: Waits,
}

impl BodyPace {
    pub fn new(waits: Waits) -> Self {
        let next = Instant::now() + waits.body;
        BodyPace { next: next.min(Instant::now() + waits.body_piece), next_if_scarce: next, waits }
    }

    /// When the next piece must have arrived.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// The same while others wait for buffers or for a connection.
    pub fn deadline_if_scarce(&self) -> Instant {
        self.next_if_scarce.min(self.next)
    }

    /// Bytes have arrived.
    pub fn arrived(&mut self, bytes: u64) {
        let now = Instant::now();
        self.next = (self.next + earned(bytes, RATE_MIN)).min(now + self.waits.body_piece);
        self.next_if_scarce = (self.next_if_scarce + earned(bytes, RATE_MIN_IF_SCARCE)).min(now + self.waits.body);
    }

    /// The body was not read for this long.
    pub fn paused(&mut self, pause: Duration) {
        self.next += pause;
        self.next_if_scarce += pause;
    }
}

impl Waits {
    /// When the next piece of a response must have been read, if `bytes` have been since `started`. The system's own
    /// buffers accept some megabytes for a client that reads nothing; the first limit is for those.
    fn response_deadline(&self, started: Instant, bytes: u64) -> Instant {
        (Instant::now() + self.answer_piece).min(started + self.answer + earned(bytes, RATE_MIN))
    }
}

/// The time of these bytes at this rate.
fn earned(bytes: u64, rate: u64) -> Duration {
    Duration::from_micros(bytes * 1_000_000 / rate)
}

/// A connection whose writes fail when its client reads a response too slowly, however small its steps are.
pub(crate) struct Paced<S> {
    stream: S,
    waits: Waits,
    activity: Arc<Activity>,
    pool: Arc<Pool>,
    crowd: Arc<Crowd>,
    /// `None` if the reader limits its buffer itself.
    read_size: Option<ReadSize>,
    /// Since when the current response is being written, and how many of its bytes have been.
    response: Option<(Instant, u64)>,
    /// While the client's window is full.
    stalled: Option<Stalled>,
    /// Received bytes of which it isn't known yet whether they have crossed zones.
    uncounted: u64,
    /// Ends, at the earliest, when the head that is waited for must be complete.
    head: Option<Pin<Box<Sleep>>>,
}

/// A response that makes no progress.
struct Stalled {
    since: Instant,
    /// When it must have made some.
    until: Instant,
    /// When to check next whether it may continue.
    check: Pin<Box<Sleep>>,
}

impl<S> Paced<S> {
    pub fn new(
        stream: S,
        waits: Waits,
        activity: Arc<Activity>,
        pool: Arc<Pool>,
        crowd: Arc<Crowd>,
        read_size: Option<ReadSize>,
    ) -> Self {
        Paced {
            stream,
            waits,
            activity,
            pool,
            crowd,
            read_size,
            response: None,
            stalled: None,
            uncounted: 0,
            head: None,
        }
    }

    /// Begins the next message of a connection that sends several: each message has its own deadline.
    pub fn begin_message(&mut self, holds_buffers: bool) {
        self.response = None;
        self.activity.responds(holds_buffers);
    }

    /// Fails when the head of a request takes too long. A request only moves the time that the timer looks at when it
    /// ends: setting a timer for each one would cost more than reading its head.
    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(since) = self.activity.idle_since() else { return Poll::Pending };
        let until = since + self.waits.head;
        let timer = self.head.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        loop {
            ready!(timer.as_mut().poll(context));
            if Instant::now() >= until {
                let message = "no request arrived in time";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)));
            }
            timer.as_mut().reset(until);
        }
    }

    /// Counts the bytes of the last read: by the next one, and by the response, their request has been read.
    fn count_received(&mut self) {
        // A large response has many writes, and one request.
        if self.uncounted > 0 {
            METRICS.zones.received(self.activity.crossing(), std::mem::take(&mut self.uncounted));
        }
    }

    fn written(&mut self, context: &mut Context<'_>, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if self.stalled.is_none() && self.activity.take_begun() {
            self.response = None;
        }
        let (started, bytes) = self.response.get_or_insert_with(|| (Instant::now(), 0));
        if let Poll::Ready(result) = result {
            let written = result.as_ref().map_or(0, |&count| count as u64);
            *bytes += written;
            METRICS.zones.sent(self.activity.crossing(), written);
            self.count_received();
            self.stalled = None;
            return Poll::Ready(result);
        }
        let holds_buffers = self.activity.holds_buffers();
        let stalled = self.stalled.get_or_insert_with(|| {
            let (since, until) = (Instant::now(), self.waits.response_deadline(*started, *bytes));
            Stalled { since, until, check: Box::pin(tokio::time::sleep_until(since)) }
        });
        loop {
            ready!(stalled.check.as_mut().poll(context));
            let now = Instant::now();
            // Other requests wait for its buffers, and it has made no progress for a while.
            let is_wanted = || holds_buffers && self.pool.is_scarce() || self.crowd.is_crowded();
            let must_yield = now >= stalled.since + self.waits.body && is_wanted();
            if now >= stalled.until || must_yield {
                let message = "the client reads its response too slowly";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)));
            }
            stalled.check.as_mut().reset(stalled.until.min(now + SCARCE_CHECK));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
        let limit = self.read_size.as_ref().map_or(room, |size| size.limit(room));
        let (result, received) = if limit < room {
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(limit));
            let result = Pin::new(&mut self.stream).poll_read(context, &mut part);
            let received = part.filled().len();
            buffer.advance(received);
            (result, received)
        } else {
            let before = buffer.filled().len();
            let result = Pin::new(&mut self.stream).poll_read(context, buffer);
            (result, buffer.filled().len() - before)
        };
        if result.is_ready() {
            if let Some(size) = &mut self.read_size {
                size.returned(received, limit);
            }
            // The HTTP library reads no request while it writes a response, so these bytes begin a new exchange.
            if received > 0 {
                self.response = None;
                self.count_received();
                self.uncounted = received as u64;
            }
        }
        if result.is_pending() && self.stalled.is_none() {
            self.activity.idle();
            return self.poll_head(context);
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
        match Pin::new(&mut self.stream).poll_flush(context) {
            // Encrypted bytes wait for the client like all written bytes.
            Poll::Pending => self.written(context, Poll::Pending).map_ok(|_| ()),
            flushed => {
                self.stalled = None;
                flushed
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // Tests start tasks and threads where they like.
mod tests {
    use super::*;
    use crate::net::activity::{Connections, Open};
    use crate::net::read_size::LargeReads;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn paced<S>(stream: S, open: &Open, pool: Arc<Pool>) -> Paced<S> {
        Paced::new(
            stream,
            Waits::default(),
            open.activity.clone(),
            pool,
            Crowd::of(0),
            Some(LargeReads::new().connection()),
        )
    }

    /// A body at the minimum rate continues while no other request needs its buffers.
    #[tokio::test(start_paused = true)]
    async fn a_body_at_the_minimum_rate_is_too_slow_while_others_wait() {
        let mut pace = BodyPace::new(Waits::default());
        let mut was_too_slow = false;
        for _ in 0..600 {
            tokio::time::advance(Duration::from_millis(250)).await;
            assert!(Instant::now() <= pace.deadline());
            was_too_slow |= Instant::now() > pace.deadline_if_scarce();
            pace.arrived(RATE_MIN / 4);
        }
        assert!(was_too_slow);
        let mut pace = BodyPace::new(Waits::default());
        for _ in 0..600 {
            tokio::time::advance(Duration::from_millis(250)).await;
            assert!(Instant::now() <= pace.deadline_if_scarce());
            pace.arrived(RATE_MIN_IF_SCARCE / 4);
        }
    }

    /// A client that reads a byte per second makes progress, but too little.
    #[tokio::test(start_paused = true)]
    async fn a_trickling_reader_is_dropped() {
        let (server, mut client) = tokio::io::duplex(1);
        let mut server = paced(server, &Connections::new().open(), Pool::new(1));
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
    async fn a_reader_that_reads_nothing_is_dropped() {
        let (server, _client) = tokio::io::duplex(10 << 20);
        let mut server = paced(server, &Connections::new().open(), Pool::new(1));
        let started = Instant::now();
        let error = server.write_all(&[0; 11 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() <= Duration::from_secs(31));
    }

    /// Issue 12: a hundred readers that read nothing held all buffers for half a minute.
    #[tokio::test(start_paused = true)]
    async fn a_response_that_holds_buffers_yields_them_to_those_who_wait() {
        let pool = Pool::new(1);
        let holder = pool.holder(std::net::Ipv4Addr::LOCALHOST.into());
        for holds_buffers in [false, true] {
            let held = holder.reserve(1, Duration::ZERO).await.unwrap();
            let open = Connections::new().open();
            assert!(open.activity.begin());
            open.activity.end(holds_buffers);
            let (server, _client) = tokio::io::duplex(1);
            let mut server = paced(server, &open, pool.clone());
            let waiting = tokio::spawn({
                let holder = holder.clone();
                async move { holder.reserve(1, Duration::from_secs(3600)).await.map(drop) }
            });
            let started = Instant::now();
            assert!(server.write_all(&[0; 4096]).await.is_err());
            let limit = if holds_buffers { Duration::from_secs(2) } else { Duration::from_secs(29) };
            assert_eq!(started.elapsed() <= limit, holds_buffers, "{:?}", started.elapsed());
            drop(held);
            waiting.await.unwrap().unwrap();
        }
    }

    /// Clients that read nothing held all connections for half a minute.
    #[tokio::test(start_paused = true)]
    async fn a_response_that_makes_no_progress_yields_its_connection_to_those_who_wait() {
        for waiting in [0, 1] {
            let open = Connections::new().open();
            let (server, _client) = tokio::io::duplex(1);
            let crowd = Crowd::of(waiting);
            let mut server = Paced::new(server, Waits::default(), open.activity.clone(), Pool::new(1), crowd, None);
            let started = Instant::now();
            assert!(server.write_all(&[0; 4096]).await.is_err());
            let limit = if waiting > 0 { Duration::from_secs(2) } else { Duration::from_secs(29) };
            assert_eq!(started.elapsed() <= limit, waiting > 0, "{:?}", started.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_fast_enough_gets_everything() {
        let (server, mut client) = tokio::io::duplex(64 << 10);
        let mut server = paced(server, &Connections::new().open(), Pool::new(1));
        let reading = tokio::spawn(async move {
            let mut piece = [0; 64 << 10];
            let mut bytes = 0;
            while let Ok(count @ 1..) = client.read(&mut piece).await {
                bytes += count;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            bytes
        });
        // Two minutes at the minimum rate.
        server.write_all(&vec![0; 120 * (64 << 10)]).await.unwrap();
        drop(server);
        assert_eq!(reading.await.unwrap(), 120 * (64 << 10));
    }
}
