//! Reads a topic ahead of those who decode, and decides where commits end.

use crate::MeasureError;
use crate::rollup::limits::{READ_BYTES, READ_WAIT};
use rawline_client::{Client, Fetched, ReadOptions};
use std::ops::Range;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// What comes next, in the order of offsets.
pub(crate) enum Came {
    /// Records; those whose offsets are in the range are wanted.
    Records(Fetched, Range<u64>),
    /// The records up to here become a commit.
    Cut(u64),
    /// Reading failed; a cut came before.
    Failed(MeasureError),
}

/// How a topic is read.
pub(crate) struct Fetch {
    pub client: Client,
    pub topic: String,
    /// Where the next commit begins.
    pub offset: u64,
    /// Ends before this offset; none follows the topic.
    pub end_offset: Option<u64>,
    /// Records of a commit. Where there are so many, commits end at the same offsets however fast they come.
    pub chunk_records: u64,
    /// How long the first record of a commit waits for others.
    pub flush_after: Duration,
}

impl Fetch {
    /// Reads until the end, or until told to stop: what was begun is then cut. `free` are the buffers to read to; no
    /// more are used.
    pub(crate) async fn run(
        mut self,
        mut free: mpsc::UnboundedReceiver<Fetched>,
        came: mpsc::Sender<Came>,
        mut stop: watch::Receiver<bool>,
    ) {
        // A receiver that is gone ends it all.
        let _ = self.read_chunks(&mut free, &came, &mut stop).await;
    }

    async fn read_chunks(
        &mut self,
        free: &mut mpsc::UnboundedReceiver<Fetched>,
        came: &mpsc::Sender<Came>,
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
                came.send(Came::Cut(self.offset)).await.ok()?;
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
                    came.send(Came::Records(fetched, wanted)).await.ok()?;
                }
                Err(error) => {
                    if self.offset > chunk_begin {
                        came.send(Came::Cut(self.offset)).await.ok()?;
                    }
                    came.send(Came::Failed(error.into())).await.ok()?;
                    return None;
                }
            }
        }
    }
}
