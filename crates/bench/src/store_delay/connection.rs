//! One connection through the proxy.
//!
//! Bytes are forwarded as they are, so that signatures, which cover the header `Host`, stay valid. Requests are parsed
//! only as far as to know where they end. A connection's requests take turns, as HTTP/1.1 clients of S3 do: the first
//! bytes that return after a request began are the beginning of its response. These are held back; everything else
//! flows at the connection's bandwidth. A request takes as long as the server needs, plus its delay. The server never
//! gets a refused request.

use super::delay::{Drawn, Draws};
use super::head::{HEAD_BYTES_MAX, Head};
use super::pacer::Pacer;
use bytes::{Buf, BytesMut};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use rawline_broker::{Clock, SystemClock};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;

/// Maximum number of bytes forwarded by one call. Both directions of eight busy connections fit in the CPU's cache.
const BUFFER_BYTES: usize = 128 << 10;
const _: () = assert!(BUFFER_BYTES >= HEAD_BYTES_MAX, "a whole head fits");

/// What a refused request gets, as S3 sends it.
const REFUSAL: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>Please reduce \
                       your request rate.</Message><RequestId>0000000000000000</RequestId></Error>";

/// What all connections share.
pub struct Link {
    /// Host and port of the S3 server.
    pub server: String,
    /// Of each connection and direction; `None` if nothing limits it.
    pub bytes_per_second: Option<f64>,
    pub draws: Mutex<Draws>,
    pub requests: AtomicU64,
    /// Number of requests that got 503.
    pub refused: AtomicU64,
}

impl Link {
    fn draw(&self, head: &Head) -> Drawn {
        let mut drawn = self.draws.lock().unwrap_or_else(PoisonError::into_inner).next();
        // The proxy can't know whether a client that waits would send the body after a refusal.
        drawn.is_refused &= !head.waits;
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.refused.fetch_add(u64::from(drawn.is_refused), Ordering::Relaxed);
        drawn
    }
}

/// A request that the server doesn't get.
struct Refusal {
    delay: Duration,
    wants_head_only: bool,
}

/// Forwards a connection until both directions have ended, or one is broken.
pub async fn forward(mut client: TcpStream, link: &Link) -> io::Result<()> {
    let mut server = TcpStream::connect(&link.server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    // The delay of a request that was sent and whose response hasn't begun.
    let held = Mutex::new(None);
    let (refuse, refusals) = mpsc::channel(1);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = requests(from_client, to_server, link, &held, refuse);
    let responses = responses(from_server, to_client, link, &held, refusals);
    tokio::try_join!(requests, responses)?;
    Ok(())
}

async fn requests(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    link: &Link,
    held: &Mutex<Option<Duration>>,
    refuse: mpsc::Sender<Refusal>,
) -> io::Result<()> {
    let mut pacer = Pacer::new(link.bytes_per_second);
    let mut buffer = BytesMut::with_capacity(BUFFER_BYTES);
    loop {
        let head = loop {
            if let Some(head) = Head::parse(&buffer)? {
                break head;
            }
            if read(&mut from, &mut buffer).await? == 0 {
                return to.shutdown().await;
            }
        };
        let Drawn { delay, is_refused } = link.draw(&head);
        if !is_refused {
            *held.lock().unwrap_or_else(PoisonError::into_inner) = Some(delay);
        }
        let mut left = head.bytes as u64 + head.body_bytes;
        loop {
            let part = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            pacer.pass(part).await;
            if !is_refused {
                to.write_all(buffer.get(..part).unwrap_or_default()).await?;
            }
            buffer.advance(part);
            left -= part as u64;
            if left == 0 {
                break;
            }
            if read(&mut from, &mut buffer).await? == 0 {
                return to.shutdown().await;
            }
        }
        if is_refused {
            let refusal = Refusal { delay, wants_head_only: head.wants_head_only };
            refuse.send(refusal).await.map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
    }
}

async fn responses(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    link: &Link,
    held: &Mutex<Option<Duration>>,
    mut refusals: mpsc::Receiver<Refusal>,
) -> io::Result<()> {
    let mut pacer = Pacer::new(link.bytes_per_second);
    let mut buffer = BytesMut::with_capacity(BUFFER_BYTES);
    loop {
        tokio::select! {
            count = read(&mut from, &mut buffer) => {
                if count? == 0 {
                    return to.shutdown().await;
                }
                let delay = held.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(delay) = delay {
                    tokio::time::sleep(delay).await;
                }
                pacer.pass(buffer.len()).await;
                to.write_all(&buffer).await?;
                buffer.clear();
            }
            Some(refusal) = refusals.recv() => {
                tokio::time::sleep(refusal.delay).await;
                to.write_all(refusal.response().as_bytes()).await?;
            }
        }
    }
}

/// Reads into the buffer, which has room for more than what it holds. Cancel-safe.
async fn read(from: &mut ReadHalf<'_>, buffer: &mut BytesMut) -> io::Result<usize> {
    // Without a copy if the buffer is empty.
    buffer.reserve(BUFFER_BYTES - buffer.len());
    from.read_buf(buffer).await
}

impl Refusal {
    fn response(&self) -> String {
        let now = i64::try_from(SystemClock.now_us()).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
        let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now.unwrap_or_default());
        format!(
            "HTTP/1.1 503 Slow Down\r\nDate: {}\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{}",
            date.unwrap_or_default(),
            REFUSAL.len(),
            if self.wants_head_only { "" } else { REFUSAL }
        )
    }
}
