//! Collects records in batches and sends them in order, with bounded memory.
//!
//! ```text
//! send ─► open batch ─► sealed batches ─► one request at a time ─► offsets
//!         (full, or waited long enough)     (of all sealed batches)
//! ```
//!
//! Each partition has its open batch, its sealed batches and its request.
//!
//! Callers and the one sending task share a [`State`](state::State) under a lock, which is held while a record is
//! copied (or a batch is compressed) and never across an await.

mod config;
mod lane;
mod linger;
mod open;
mod outgoing;
mod receipt;
mod requests;
mod state;

pub use config::ProducerConfig;
pub use outgoing::Message;
pub use receipt::{Position, Receipt};

use crate::client::Client;
use crate::error::ClientError;
use crate::retry::RetryPolicy;
use crate::tasks;
use outgoing::Outgoing;
use requests::send_all;
use state::{Refused, Shared, State, Target};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Appends records to one topic.
///
/// **Partitions.** A record goes to the partition of its key ([`Producer::send_with_key`]), to a given one
/// ([`Producer::send_to`]), or to any: all records of a batch go to one partition, the next batch to another.
/// Each partition stores its records in the order of sending. The number of partitions is read before the first
/// request, and every five minutes.
///
/// **Exactly once.** If a connection breaks after a request was sent, the client doesn't know whether the broker stored
/// its records, and retries it. The broker recognizes the batches by the producer's id and their sequence, and stores
/// them once, even if it was killed in between.
///
/// **Named producers** ([`ProducerConfig::name`]). When a process restarts, it can't know what its predecessor had in
/// flight. A producer with the same name fences the previous one: records that it had in flight are stored before the
/// first record of the new one, or never, in every partition. The older producer stops with [`ClientError::Fenced`].
///
/// **At least once** without [`ProducerConfig::exactly_once`]. If only the response was lost, a retry stores the
/// records again, directly after the first copy.
///
/// **Failure.** If a request is rejected, or its retries are exhausted, the producer stops. Its buffered
/// records are not sent, so that no later record is stored after a missing one. From then on, every receipt, `send`,
/// `flush` and `close` returns the error.
///
/// Dropping a producer discards its buffered records; [`Producer::close`] sends them first.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    sender: JoinHandle<()>,
}

impl Producer {
    /// Starts a producer in the current tokio runtime. Sends no record yet.
    pub fn new(client: Client, topic: impl Into<String>, config: ProducerConfig) -> Result<Producer, ClientError> {
        let limits = client.config().limits;
        config.check(&limits)?;
        let shared = Arc::new(Shared::new(topic.into(), config, limits, client.environment().clone()));
        let sender = tasks::spawn(send_all(client.with_retries(RetryPolicy::NONE), shared.clone()));
        Ok(Producer { shared, sender })
    }

    /// Waits until a named producer has fenced the older ones; others are ready at once. Fails if the name can't be
    /// opened, for example because the storage has several journals.
    pub async fn ready(&self) -> Result<(), ClientError> {
        self.until(|state| {
            state.healthy()?;
            Ok(self.shared.to_open().is_none().then_some(()))
        })
        .await
    }

    /// Adds a record, for any partition; waits while the buffer is full. The record is stored when its receipt
    /// resolves, or when [`Producer::flush`] has returned.
    pub async fn send(&self, record: impl AsRef<[u8]>) -> Result<Receipt, ClientError> {
        self.add(Target::Any, Outgoing::Plain(record.as_ref())).await
    }

    /// Like [`Producer::send`], for a record with a key, headers or a time, all of which are stored: in one of Kafka's
    /// batches, which Kafka's clients read as they are. Without a partition, the record goes to that of its key, as
    /// with [`Producer::send_with_key`].
    ///
    /// Records without these fields are smaller and cheaper with [`Producer::send`]. A partition
    /// keeps the order of both; a record of `send` joins a Kafka batch if one is open in its partition.
    pub async fn send_message(&self, message: Message<'_>) -> Result<Receipt, ClientError> {
        let target = match (message.partition, message.key) {
            (Some(partition), _) => Target::Partition(partition),
            (None, Some(key)) => Target::Key(key),
            (None, None) => Target::Any,
        };
        let timestamp_ms = message.timestamp_ms.unwrap_or_else(|| self.shared.now_ms());
        self.add(target, Outgoing::Message { message: &message, timestamp_ms }).await
    }

    /// Like [`Producer::send`], for the partition of a key, which is not stored: all records of a key are in one
    /// partition, in order, as long as the topic gets no more partitions. Kafka's Java client chooses the same. To
    /// store the key with the record, use [`Producer::send_message`].
    pub async fn send_with_key(&self, key: impl AsRef<[u8]>, record: impl AsRef<[u8]>) -> Result<Receipt, ClientError> {
        self.add(Target::Key(key.as_ref()), Outgoing::Plain(record.as_ref())).await
    }

    /// Like [`Producer::send`], for this partition. Fails, and continues with other records, if the topic has fewer
    /// partitions.
    pub async fn send_to(&self, partition: u32, record: impl AsRef<[u8]>) -> Result<Receipt, ClientError> {
        self.add(Target::Partition(partition), Outgoing::Plain(record.as_ref())).await
    }

    /// Number of the topic's partitions; `None` before it is known. It is known after [`Producer::flush`] if a record
    /// was sent.
    pub fn partitions(&self) -> Option<u32> {
        self.shared.lock().partitions()
    }

    async fn add(&self, target: Target<'_>, record: Outgoing<'_>) -> Result<Receipt, ClientError> {
        // When the number of partitions was read that lacks the record's.
        let mut lacking: Option<Option<Instant>> = None;
        self.until(|state| match self.shared.take(state, target, record) {
            Ok(receipt) => Ok(Some(receipt)),
            Err(Refused::Full) => Ok(None),
            Err(Refused::Failed(error)) => Err(error),
            Err(Refused::Unknown) => self.ask_for_partitions(state),
            Err(Refused::Partition { partition, partitions }) => {
                let read_at = state.partitions_read_at();
                if *lacking.get_or_insert(read_at) == read_at {
                    return self.ask_for_partitions(state);
                }
                Err(ClientError::NoPartition { topic: self.shared.topic.clone(), partition, partitions })
            }
        })
        .await
    }

    /// Lets the sending task read the number of partitions.
    fn ask_for_partitions<T>(&self, state: &mut State) -> Result<Option<T>, ClientError> {
        state.wants_partitions = true;
        self.shared.work.notify_one();
        Ok(None)
    }

    /// Tries until it succeeds or fails, after each change of the state that could help.
    async fn until<T>(
        &self,
        mut attempt: impl FnMut(&mut State) -> Result<Option<T>, ClientError>,
    ) -> Result<T, ClientError> {
        loop {
            if let Some(done) = attempt(&mut self.shared.lock())? {
                return Ok(done);
            }
            let mut changed = std::pin::pin!(self.shared.room.notified());
            changed.as_mut().enable();
            // Again, in case it changed before the notification was enabled.
            if let Some(done) = attempt(&mut self.shared.lock())? {
                return Ok(done);
            }
            changed.await;
        }
    }

    /// Waits until every record sent so far is stored.
    pub async fn flush(&self) -> Result<(), ClientError> {
        let sealed = self.until(|state| {
            state.healthy()?;
            if state.is_empty() {
                return Ok(Some(Vec::new()));
            }
            if state.partitions().is_none() {
                return self.ask_for_partitions(state);
            }
            self.shared.seal_all(state)?;
            Ok(Some(state.unresolved.clone()))
        });
        for delivery in sealed.await? {
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
#[allow(clippy::disallowed_methods)] // Tests start tasks and threads where they like.
mod tests;
