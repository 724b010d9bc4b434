//! Reads a topic ahead of the decoders, and decides where commits end.

use crate::MeasureError;
use crate::rollup::limits::{READ_BYTES, READ_WAIT};
use rawline_client::{Client, Fetched, ReadOptions};
use std::ops::Range;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The next item, in the order of offsets.
pub(crate) enum Item {
    /// Records, and the range of offsets to decode.
    Records(Fetched, Range<u64>),
    /// The end of a commit.
    Cut(u64),
    /// Reading failed. Records before the failure were cut.
    Failed(MeasureError),
}

/// How a topic is read.
pub(crate) struct Fetch {
    pub client: Client,
    pub topic: String,
    /// Offset of the next commit.
    pub offset: u64,
    /// Offset after the last record to roll up; `None` to follow the topic.
    pub end_offset: Option<u64>,
    /// Maximum number of records of a commit. With enough records, commits end at the same offsets regardless of
    /// timing.
    pub chunk_records: u64,
    /// How long the first record of a commit waits for more records.
    pub flush_after: Duration,
}

impl Fetch {
    /// Reads until the end or until `stop`, then cuts. Uses only the buffers in `free`.
    pub(crate) async fn run(
        mut self,
        mut free: mpsc::UnboundedReceiver<Fetched>,
        items: mpsc::Sender<Item>,
        mut stop: watch::Receiver<bool>,
    ) {
        // Ends early if the receiver is dropped.
        let _ = self.read_chunks(&mut free, &items, &mut stop).await;
    }

    async fn read_chunks(
        &mut self,
        free: &mut mpsc::UnboundedReceiver<Fetched>,
        items: &mpsc::Sender<Item>,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<()> {
        let mut chunk_begin = self.offset;
        let mut flush_at: Option<Instant> = None;
        loop {
            let chunk_end = chunk_begin + self.chunk_records;
            let is_at_end = self.end_offset.is_some_and(|end| self.offset >= end);
            let is_late = flush_at.is_some_and(|at| Instant::now() >= at);
            let is_stopped = *stop.borrow();
            if self.offset > chunk_begin && (self.offset >= chunk_end || is_late || is_at_end || is_stopped) {
                items.send(Item::Cut(self.offset)).await.ok()?;
                chunk_begin = self.offset;
                flush_at = None;
            }
            if is_at_end || is_stopped {
                return Some(());
            }
            let end = self.end_offset.unwrap_or(u64::MAX).min(chunk_begin + self.chunk_records);
            let wait = flush_at.map_or(READ_WAIT, |at| at.saturating_duration_since(Instant::now()).min(READ_WAIT));
            let options = ReadOptions {
                offset: self.offset,
                records_max: end - self.offset,
                bytes_max: READ_BYTES,
                wait: if self.end_offset.is_some() { Duration::ZERO } else { wait },
                // Measurements are values, also those that one of Kafka's clients has sent.
                values_only: true,
            };
            let read = async {
                let buffer = free.recv().await?;
                Some(self.client.read(&self.topic, &options, buffer).await)
            };
            let fetched = tokio::select! {
                fetched = read => fetched?,
                changed = stop.changed() => {
                    changed.ok()?;
                    continue;
                }
            };
            match fetched {
                Ok(fetched) => {
                    let wanted = self.offset..fetched.next_offset().min(end);
                    if !wanted.is_empty() && flush_at.is_none() && self.end_offset.is_none() {
                        flush_at = Some(Instant::now() + self.flush_after);
                    }
                    self.offset = wanted.end.max(self.offset);
                    items.send(Item::Records(fetched, wanted)).await.ok()?;
                }
                Err(error) => {
                    if self.offset > chunk_begin {
                        items.send(Item::Cut(self.offset)).await.ok()?;
                    }
                    items.send(Item::Failed(error.into())).await.ok()?;
                    return None;
                }
            }
        }
    }
}
