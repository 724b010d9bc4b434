//! Follows a topic: while the caller works on what came, the next read is already on its way.

use crate::client::Client;
use crate::fetched::Fetched;
use crate::read::ReadOptions;
use crate::{ClientError, RetryPolicy};
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;

/// Where a consumer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At this offset.
    Offset(u64),
    /// At the oldest record that is there.
    Earliest,
    /// Behind the newest record: only what comes from now on.
    Latest,
    /// At the first record appended at or after this time, by the broker's clock.
    Time(SystemTime),
}

/// How a consumer reads.
#[derive(Debug, Clone)]
pub struct ConsumerConfig {
    /// Where it begins.
    pub start: Start,
    /// Ends before this offset; none follows the topic for ever.
    pub end_offset: Option<u64>,
    /// Most bytes of one read; two are held at a time.
    pub bytes_max: u64,
    /// How long the broker holds one read open when there is nothing to give. Only how often an idle consumer asks
    /// depends on it.
    pub wait: Duration,
    /// How long a failing read is tried again.
    pub retries: RetryPolicy,
}

impl Default for ConsumerConfig {
    /// From the oldest record on, for ever, 4 MiB at a time.
    fn default() -> Self {
        ConsumerConfig {
            start: Start::Earliest,
            end_offset: None,
            bytes_max: 4 << 20,
            wait: Duration::from_secs(20),
            retries: RetryPolicy::default(),
        }
    }
}

/// Reads a topic from front to back. Dropping it ends the read that is on its way.
#[derive(Debug)]
pub struct Consumer {
    client: Client,
    topic: String,
    config: ConsumerConfig,
    /// Where the next read begins.
    offset: u64,
    /// The read on its way, if any.
    coming: Option<JoinHandle<Result<Fetched, ClientError>>>,
    /// What the caller was handed last; the memory of the read after the next.
    current: Fetched,
}

impl Consumer {
    /// Finds out where to begin; reads nothing yet.
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
        Ok(Consumer { client, topic, config, offset, coming: None, current: Fetched::default() })
    }

    /// Offset of the next record that [`Consumer::next`] will give.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What comes next, at least one record; waits for it. None when `end_offset` is reached.
    ///
    /// The last batches may reach beyond `end_offset`: records at and behind it are the caller's to leave out. May be
    /// dropped while it waits and called again: nothing is lost. After an error it goes on where it was.
    pub async fn next(&mut self) -> Result<Option<&mut Fetched>, ClientError> {
        loop {
            if self.config.end_offset.is_some_and(|end| self.offset >= end) {
                return Ok(None);
            }
            let fetched = self.come().await?;
            if fetched.is_empty() {
                continue;
            }
            self.offset = fetched.next_offset();
            let free = std::mem::replace(&mut self.current, fetched);
            if self.config.end_offset.is_none_or(|end| self.offset < end) {
                self.coming = Some(self.start_read(free));
            }
            return Ok(Some(&mut self.current));
        }
    }

    async fn come(&mut self) -> Result<Fetched, ClientError> {
        if self.coming.is_none() {
            self.coming = Some(self.start_read(Fetched::default()));
        }
        let Some(coming) = &mut self.coming else { return Ok(Fetched::default()) };
        let came = coming.await;
        self.coming = None;
        // A read neither panics nor is aborted while its consumer lives, unless the runtime ends.
        came.unwrap_or_else(|ended| Err(ClientError::Stopped { reason: ended.to_string() }))
    }

    fn start_read(&self, buffer: Fetched) -> JoinHandle<Result<Fetched, ClientError>> {
        let (client, topic) = (self.client.clone(), self.topic.clone());
        let records_max = self.config.end_offset.map_or(0, |end| end.saturating_sub(self.offset));
        let options =
            ReadOptions { offset: self.offset, records_max, bytes_max: self.config.bytes_max, wait: self.config.wait };
        tokio::spawn(async move { client.read(&topic, &options, buffer).await })
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        if let Some(coming) = &self.coming {
            coming.abort();
        }
    }
}
