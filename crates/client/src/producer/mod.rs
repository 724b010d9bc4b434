//! Collects records in batches and sends them in order, with bounded memory.
//!
//! ```text
//! send ─► open batch ─► sealed batches ─► one request at a time ─► offsets
//!         (full, or lingered long enough)   (of all sealed batches)
//! ```
//!
//! Callers and the one sending task share a [`State`](state::State) under a lock, which is held while a record is
//! copied (or a batch is compressed) and never across an await.

mod config;
mod open;
mod receipt;
mod requests;
mod state;

pub use config::ProducerConfig;
pub use receipt::Receipt;

use crate::{Client, ClientError, RetryPolicy, tasks};
use requests::send_all;
use state::Shared;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Appends records to one topic, in the order of sending.
///
/// **Exactly once in a bucket.** If a connection breaks after a request was sent, the client doesn't know whether the
/// request was carried out, and retries it. A broker on a bucket with a journal recognizes its batches by the
/// producer's id and their sequence, and stores them once, also if the broker was killed in between.
///
/// **At least once elsewhere.** If only the response was lost, its records are then duplicated in the topic, one copy
/// directly after the other.
///
/// **Failure.** If a request is rejected, or fails for longer than it is retried, the producer stops. Its buffered
/// records are not sent, so that no later record takes the place of a missing one. From then on, every receipt, `send`,
/// `flush` and `close` returns the error.
///
/// Dropping a producer discards its buffered records; [`Producer::close`] sends them first.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    sender: JoinHandle<()>,
}

impl Producer {
    /// Starts a producer in the current tokio runtime. Sends nothing yet.
    pub fn new(client: Client, topic: impl Into<String>, config: ProducerConfig) -> Result<Producer, ClientError> {
        let limits = client.config().limits;
        config.check(&limits)?;
        let shared = Arc::new(Shared::new(topic.into(), config, limits, client.environment().clone()));
        let sender = tasks::spawn(send_all(client.with_retries(RetryPolicy::NONE), shared.clone()));
        Ok(Producer { shared, sender })
    }

    /// Adds a record; waits while the buffer is full. The record is stored when its receipt resolves, or when
    /// [`Producer::flush`] has returned.
    pub async fn send(&self, record: impl AsRef<[u8]>) -> Result<Receipt, ClientError> {
        let record = record.as_ref();
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(receipt) = self.shared.take(&mut state, record)? {
                    return Ok(receipt);
                }
            }
            let mut room = std::pin::pin!(self.shared.room.notified());
            room.as_mut().enable();
            // Again, in case room appeared before the notification was enabled.
            {
                let mut state = self.shared.lock();
                if let Some(receipt) = self.shared.take(&mut state, record)? {
                    return Ok(receipt);
                }
            }
            room.await;
        }
    }

    /// Waits until every record sent so far is stored.
    pub async fn flush(&self) -> Result<(), ClientError> {
        let unresolved = {
            let mut state = self.shared.lock();
            state.healthy()?;
            self.shared.seal(&mut state)?;
            state.unresolved.clone()
        };
        for delivery in unresolved {
            Receipt { delivery, index: 0 }.offset().await?;
        }
        Ok(())
    }

    /// Like [`Producer::flush`], and ends the producer.
    pub async fn close(mut self) -> Result<(), ClientError> {
        let flushed = self.flush().await;
        {
            let mut state = self.shared.lock();
            assert!(flushed.is_err() || state.is_empty(), "flushed, but {state:?} holds records");
            state.closing = true;
        }
        self.shared.work.notify_one();
        // The task has nothing left to do.
        let _ended = (&mut self.sender).await;
        flushed
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.sender.abort();
        // The aborted task resolves no receipts.
        let dropped = ClientError::Stopped { reason: "it was dropped before it was closed".to_owned() };
        self.shared.lock().abandon(dropped);
    }
}

#[cfg(test)]
mod tests;
