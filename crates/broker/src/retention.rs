//! Retention: one task of the broker deletes what topics no longer keep, at objects' borders, by way of `trim.rs`.

use crate::broker::Topics;
use crate::limits::{RETENTION_STOP_MAX, TOPICS_TRIMMING_MAX};
use crate::partition::Partition;
use crate::read::ReadError;
use crate::settings::Retention;
use crate::topic::{Topic, TopicError};
use crate::trim::TrimError;
use crate::{Clock, tasks};
use futures_util::{FutureExt, StreamExt, stream};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The task. It ends when this is dropped, wherever it is.
pub(crate) struct RetentionTask {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RetentionTask {
    /// Ends the task after the deletions in flight, unless they take too long. The next start continues them.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let _ = timeout(RETENTION_STOP_MAX, &mut self.task).await;
    }
}

impl Drop for RetentionTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts the task. It looks at all topics now, then every `interval`, and when it is notified.
pub(crate) fn start(
    topics: Arc<Topics>,
    clock: Arc<dyn Clock>,
    interval: Duration,
    changed: Arc<Notify>,
) -> RetentionTask {
    let (stop, mut stopped) = watch::channel(false);
    let task = tasks::spawn(async move {
        while !*stopped.borrow() {
            let (clock, is_stopped) = (&*clock, &stopped);
            let pass = stream::iter(topics.all()).for_each_concurrent(TOPICS_TRIMMING_MAX, |topic| async move {
                for number in 0..topic.partitions() {
                    if !*is_stopped.borrow() {
                        apply(&topic, number, clock).await;
                    }
                }
            });
            pass.await;
            tokio::select! {
                () = sleep(interval) => {}
                () = changed.notified() => {}
                _ = stopped.wait_for(|&stop| stop) => {}
            }
        }
    });
    RetentionTask { stop, task }
}

/// One partition's part of a pass. A failure is for the log; the next pass tries it once more.
async fn apply(topic: &Topic, number: u32, clock: &dyn Clock) {
    let retain = async {
        match topic.to_retain(number).await? {
            Some(partition) => partition.apply_retention(clock).await,
            None => Ok(()),
        }
    };
    let name = &*topic.topic.name;
    match AssertUnwindSafe(retain).catch_unwind().await {
        Ok(Ok(())) => {}
        // Whatever fails in a topic that is being deleted doesn't matter.
        Ok(Err(_)) if !topic.is_live() => {}
        Ok(Err(error)) => {
            tracing::warn!(topic = name, partition = number, %error, "old records can't be deleted now; retried later");
        }
        Err(_) => tracing::error!(
            topic = name,
            partition = number,
            "deleting old records failed an internal check, the log has the details; please report it"
        ),
    }
}

#[derive(Debug, Error)]
enum RetentionError {
    #[error(transparent)]
    Open(#[from] TopicError),
    #[error(transparent)]
    Search(#[from] ReadError),
    #[error(transparent)]
    Trim(#[from] TrimError),
}

impl Partition {
    async fn apply_retention(&self, clock: &dyn Clock) -> Result<(), RetentionError> {
        let retention = self.settings().retention();
        if retention != Retention::default() {
            let expired = self.expired(retention, clock).await?;
            if expired > self.index().first_offset() {
                let before = self.offsets().start;
                let trimmed = self.trim(expired).await?;
                tracing::info!(
                    topic = self.log,
                    records = trimmed.first_offset - before,
                    first_offset = trimmed.first_offset,
                    "deleted old records"
                );
            }
        }
        if self.has_hidden() {
            self.delete_leftover().await?;
        }
        Ok(())
    }

    /// The first offset that `retention` keeps. The newest object is always kept.
    async fn expired(&self, retention: Retention, clock: &dyn Clock) -> Result<u64, ReadError> {
        let mut first_offset = 0;
        if let Some(age) = retention.age {
            let since = u128::from(clock.now_us()).saturating_sub(age.as_micros());
            // The clock has 64 bits, and less than that is left.
            first_offset = self.offset_at_near_front(since as u64).await?;
        }
        let index = self.index();
        if let Some(bytes) = retention.bytes {
            first_offset = first_offset.max(index.first_within(bytes));
        }
        Ok(first_offset.min(index.newest_first_offset()))
    }
}
