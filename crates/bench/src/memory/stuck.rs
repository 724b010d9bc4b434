//! A client that requests much and never reads it.

use super::raw::{connect, status};
use super::tally::{Tally, count};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How long it keeps its connection: longer than the broker waits for a reader.
const HOLD: Duration = Duration::from_secs(35);

/// Its receive buffer, so that the response stays with the broker.
const RECEIVE_BYTES: u32 = 4 << 10;

/// The topic that it requests.
pub const TOPIC: &str = "filled";

/// A reader that is stuck.
pub struct Stuck {
    pub from: Ipv4Addr,
    pub broker: SocketAddr,
    /// The form of the response: stored batches, which are sent from files, or lines, which take buffers of the pool.
    pub accept: &'static str,
    pub tally: Arc<Tally>,
}

impl Stuck {
    /// Sends one request after the other, forever.
    pub async fn run(self) {
        loop {
            match self.request().await {
                Ok(Some(200)) => count(&self.tally.stuck_200),
                Ok(Some(503)) => count(&self.tally.stuck_503),
                // A broker that has no place for the connection closes it.
                Ok(_) | Err(_) => count(&self.tally.stuck_other),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Sends a request, holds the connection without reading, and returns the status of the response.
    async fn request(&self) -> std::io::Result<Option<u16>> {
        let mut stream = connect(self.from, self.broker, Some(RECEIVE_BYTES)).await?;
        let request = format!(
            "GET /records?topic-name={TOPIC}&offset=0&max-records=0 HTTP/1.1\r\nhost: {}\r\naccept: {}\r\n\r\n",
            self.broker, self.accept
        );
        stream.write_all(request.as_bytes()).await?;
        tokio::time::sleep(HOLD).await;
        let mut head = [0; 64];
        let count = stream.read(&mut head).await?;
        Ok(status(head.split_at(count).0))
    }
}
