//! A client that sends large bodies as slowly as the broker allows.

use super::raw::{Answer, connect, receive};
use super::tally::{Stored, Tally, count};
use bytes::Bytes;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

/// Time between two pieces of a body.
const STEP: Duration = Duration::from_millis(250);

/// Size of the first write: the broker reserves no buffer for a body before.
const FIRST_BYTES: usize = 33 << 10;

/// Time after a response until the next body, by the broker's `Retry-After`.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The topic that slow senders append to.
pub const TOPIC: &str = "slow";

/// A slow sender.
pub struct Slow {
    pub number: u32,
    pub from: Ipv4Addr,
    pub broker: SocketAddr,
    /// The body of every sender, without its stamp.
    pub body: Bytes,
    /// In bytes per second.
    pub rate: usize,
    pub tally: Arc<Tally>,
}

/// The record of a sender: the same bytes for all, with the sender's number at the front.
pub fn stamped(body: &Bytes, number: u32) -> [Bytes; 2] {
    let stamp = number.to_le_bytes();
    [Bytes::copy_from_slice(&stamp), body.slice(stamp.len().min(body.len())..)]
}

impl Slow {
    /// Sends one body after the other, forever.
    pub async fn run(self) {
        loop {
            self.send().await;
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    /// Sends a body and counts how it ends.
    async fn send(&self) {
        let Ok(stream) = connect(self.from, self.broker, None).await else { return count(&self.tally.slow_cut) };
        let (mut read, write) = stream.into_split();
        let answer = {
            let _sending = Sending::begin(&self.tally.sending);
            tokio::select! {
                answer = receive(&mut read) => answer,
                () = self.drip(write) => None,
            }
        };
        match answer {
            Some(Answer { status: 201, body }) => match offset(&body) {
                Some(offset) => self.tally.store(Stored { sender: self.number, offset }),
                None => count(&self.tally.slow_other),
            },
            Some(Answer { status: 503, .. }) => count(&self.tally.slow_503),
            Some(Answer { status: 408, .. }) => count(&self.tally.slow_408),
            Some(_) => count(&self.tally.slow_other),
            None => count(&self.tally.slow_cut),
        }
    }

    /// Sends the body piece by piece; then waits for as long as the response takes. A failure is for the reader to see.
    async fn drip(&self, mut write: OwnedWriteHalf) {
        let head = format!(
            "POST /records?topic-name={TOPIC} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/octet-stream\r\n\
             content-length: {}\r\n\r\n",
            self.broker,
            self.body.len()
        );
        let [stamp, rest] = stamped(&self.body, self.number);
        let pieces = async {
            write.write_all(head.as_bytes()).await?;
            write.write_all(&stamp).await?;
            let (first, rest) = rest.split_at(FIRST_BYTES.min(rest.len()));
            write.write_all(first).await?;
            let mut step = tokio::time::interval(STEP);
            step.tick().await;
            for piece in rest.chunks((self.rate / 4).max(1)) {
                step.tick().await;
                write.write_all(piece).await?;
            }
            std::io::Result::Ok(())
        };
        let _ = pieces.await;
        std::future::pending::<()>().await;
    }
}

fn offset(body: &[u8]) -> Option<u64> {
    serde_json::from_slice::<serde_json::Value>(body).ok()?.get("first_offset")?.as_u64()
}

/// Counts a body while it is sent.
struct Sending<'a>(&'a AtomicU64);

impl Sending<'_> {
    fn begin(counter: &AtomicU64) -> Sending<'_> {
        count(counter);
        Sending(counter)
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
