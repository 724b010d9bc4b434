//! Follows a topic: while the caller processes one read, the next is already in flight.

use crate::client::Client;
use crate::fetched::Fetched;
use crate::limits::CONSUMER_READ_BYTES;
use crate::read::ReadOptions;
use crate::{ClientError, RetryPolicy, tasks};
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;

/// The first record of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At this offset.
    Offset(u64),
    /// At the topic's oldest record.
    Earliest,
    /// After the newest record: only records that are appended from now on.
    Latest,
    /// At the first record appended at or after this time, by the broker's clock.
    Time(SystemTime),
}

/// The settings of a consumer.
#[derive(Debug, Clone)]
pub struct ConsumerConfig {
    /// The first record.
    pub start: Start,
    /// Ends before this offset. Without it, the consumer follows the topic forever.
    pub end_offset: Option<u64>,
    /// Maximum size of one read in bytes. Two reads are held in memory.
    pub bytes_max: u64,
    /// How long the broker waits if no record is available. This affects only how often an idle consumer sends
    /// requests.
    pub wait: Duration,
    /// How failed reads are retried.
    pub retries: RetryPolicy,
}

impl Default for ConsumerConfig {
    /// From the oldest record on, forever, 4 MiB at a time.
    fn default() -> Self {
        ConsumerConfig {
            start: Start::Earliest,
            end_offset: None,
            bytes_max: CONSUMER_READ_BYTES,
            wait: Duration::from_secs(20),
            retries: RetryPolicy::default(),
        }
    }
}

/// Reads a topic in order. Dropping it cancels the read in flight.
#[derive(Debug)]
pub struct Consumer {
    client: Client,
    topic: String,
    config: ConsumerConfig,
    /// Offset of the next read.
    offset: u64,
    /// The read in flight, if any.
    in_flight: Option<JoinHandle<Result<Fetched, ClientError>>>,
    /// The result that the caller holds now; its buffer is reused for the read after next.
    current: Fetched,
}

impl Consumer {
    /// Finds the first offset; reads nothing yet. Fails if the topic doesn't exist.
    pub async fn new(
        client: Client,
        topic: impl Into<String>,
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        let topic = topic.into();
        let client = client.with_retries(config.retries);
        let offset = match config.start {
            Start::Offset(offset) => offset,
            Start::Earliest => client.topic(&topic).await?.first_offset,
            Start::Latest => client.topic(&topic).await?.next_offset,
            Start::Time(time) => client.offset_at(&topic, time).await?,
        };
        Ok(Consumer { client, topic, config, offset, in_flight: None, current: Fetched::default() })
    }

    /// Offset of the next record that [`Consumer::next`] returns.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next records, at least one; waits for them. `None` when `end_offset` is reached.
    ///
    /// The last batches may reach beyond `end_offset`: the caller has to skip records from `end_offset` on. Cancel
    /// safe: if the future is dropped, the next call continues without a loss. After an error, the next call continues
    /// at the same offset.
    pub async fn next(&mut self) -> Result<Option<&mut Fetched>, ClientError> {
        loop {
            if self.config.end_offset.is_some_and(|end| self.offset >= end) {
                return Ok(None);
            }
            let fetched = self.arrival().await?;
            let (requested, next) = (fetched.requested_offset(), fetched.next_offset());
            assert_eq!(requested, self.offset, "the read in flight is not at the consumer's offset");
            if fetched.is_empty() {
                continue;
            }
            assert!(next > requested, "records up to {next} for a read at {requested}");
            self.offset = next;
            let free = std::mem::replace(&mut self.current, fetched);
            if self.config.end_offset.is_none_or(|end| self.offset < end) {
                self.in_flight = Some(self.start_read(free));
            }
            return Ok(Some(&mut self.current));
        }
    }

    async fn arrival(&mut self) -> Result<Fetched, ClientError> {
        // It stays in flight if the caller drops this future.
        let read = self.in_flight.take().unwrap_or_else(|| self.start_read(Fetched::default()));
        let fetched = self.in_flight.insert(read).await;
        self.in_flight = None;
        // While its consumer lives, a read is not aborted and doesn't panic, unless the runtime shuts down.
        fetched.unwrap_or_else(|ended| Err(ClientError::Stopped { reason: ended.to_string() }))
    }

    fn start_read(&self, buffer: Fetched) -> JoinHandle<Result<Fetched, ClientError>> {
        let (client, topic) = (self.client.clone(), self.topic.clone());
        let records_max = self.config.end_offset.map_or(0, |end| {
            assert!(self.offset < end, "a read at {} of a consumer that ends at {end}", self.offset);
            end - self.offset
        });
        let options =
            ReadOptions { offset: self.offset, records_max, bytes_max: self.config.bytes_max, wait: self.config.wait };
        tasks::spawn(async move { client.read(&topic, &options, buffer).await })
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        if let Some(read) = &self.in_flight {
            read.abort();
        }
    }
}
