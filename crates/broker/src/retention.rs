//! Retention: one task of the broker deletes what topics no longer keep, at objects' borders, by way of `trim.rs`.

use crate::clock::Clock;
use crate::journal::Written;
use crate::limits::{RETENTION_PARTS, RETENTION_PAUSE, RETENTION_STEP_MIN, RETENTION_STOP_MAX, TOPICS_TRIMMING_MAX};
use crate::partition::Partition;
use crate::settings::Retention;
use crate::tasks;
use crate::topics::Topic;
use crate::trim::TrimError;
use futures_util::{FutureExt, StreamExt, stream};
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

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

/// Starts the task. It looks at all topics now, then every `interval`, when it is notified, and when a part of the
/// smallest limit in bytes was written.
pub(crate) fn start(
    topics: impl Fn() -> Vec<Arc<Topic>> + Send + 'static,
    clock: Arc<dyn Clock>,
    interval: Duration,
    changed: Arc<Notify>,
    written: Arc<Written>,
) -> RetentionTask {
    let (stop, mut stopped) = watch::channel(false);
    let task = tasks::spawn(async move {
        while !*stopped.borrow() {
            let (clock, is_stopped) = (&*clock, &stopped);
            let (began, begins_at, topics) = (Instant::now(), written.bytes(), topics());
            let smallest = topics.iter().filter_map(|topic| topic.settings().expiry().bytes).min();
            let pass = stream::iter(topics).for_each_concurrent(TOPICS_TRIMMING_MAX, |topic| async move {
                apply(&topic, clock, is_stopped).await;
            });
            pass.await;
            let pause = began.elapsed() * RETENTION_PAUSE;
            let fills = async {
                let Some(smallest) = smallest else { return pending().await };
                sleep(pause).await;
                written.reach(begins_at + (smallest / RETENTION_PARTS).max(RETENTION_STEP_MIN)).await;
            };
            tokio::select! {
                () = sleep(interval) => {}
                () = fills => {}
                () = changed.notified() => {}
                _ = stopped.wait_for(|&stop| stop) => {}
            }
        }
    });
    RetentionTask { stop, task }
}

/// One topic's part of a pass.
async fn apply(topic: &Topic, clock: &dyn Clock, is_stopped: &watch::Receiver<bool>) {
    let partitions: Vec<_> = (0..topic.partitions()).filter_map(|number| topic.to_retain(number)).collect();
    let bytes_max = topic.settings().expiry().bytes.map(|bytes| share(bytes, topic.listed().partitions_bytes()));
    for partition in partitions {
        if *is_stopped.borrow() {
            return;
        }
        attempt(topic, partition.number, partition.apply_retention(clock, bytes_max)).await;
    }
}

/// The maximum size of each partition so that all of them together have at most `bytes`: the largest ones are reduced
/// first.
fn share(bytes: u64, mut sizes: Vec<u64>) -> u64 {
    sizes.sort_unstable();
    let (mut bytes, mut others) = (bytes, sizes.len() as u64);
    for size in sizes {
        let share = bytes / others;
        if size > share {
            return share;
        }
        bytes -= size;
        others -= 1;
    }
    u64::MAX
}

/// A step of a partition's part. A failure is logged; the next pass retries it.
async fn attempt(topic: &Topic, number: u32, step: impl Future<Output = Result<(), TrimError>>) {
    let name = &*topic.topic.name;
    match AssertUnwindSafe(step).catch_unwind().await {
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

impl Partition {
    /// `bytes_max` is the partition's share of the topic's limit.
    async fn apply_retention(&self, clock: &dyn Clock, bytes_max: Option<u64>) -> Result<(), TrimError> {
        let retention = Retention { bytes: bytes_max, ..self.settings().expiry() };
        if retention != Retention::default() {
            let expired = self.expired(retention, clock).await;
            if expired > self.index().first_offset() {
                let before = self.offsets().start;
                let trimmed = self.trim(expired).await?;
                // Many times a second where much is appended. The metrics have the sums.
                tracing::debug!(
                    topic = self.log,
                    records = trimmed.first_offset - before,
                    first_offset = trimmed.first_offset,
                    "deleted old records"
                );
            }
        }
        Ok(())
    }

    /// The first offset that `retention` keeps. The newest object is always kept.
    async fn expired(&self, retention: Retention, clock: &dyn Clock) -> u64 {
        let mut first_offset = 0;
        if let Some(age) = retention.age {
            let since = u128::from(clock.now_us()).saturating_sub(age.as_micros());
            // The clock has 64 bits, and less than that is left.
            first_offset = self.offset_at_near_front(since as u64).await;
        }
        let index = self.index();
        if let Some(bytes) = retention.bytes {
            first_offset = first_offset.max(index.first_within(bytes));
        }
        first_offset.min(index.newest_first_offset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_partitions_give_first() {
        for (bytes, sizes, expected) in [
            (100, vec![100], u64::MAX),
            (99, vec![100], 99),
            (100, vec![10, 20, 70], u64::MAX),
            (90, vec![70, 10, 20], 60),
            (40, vec![70, 10, 20], 15),
            (3, vec![70, 10, 20], 1),
            (100, vec![40, 40, 40, 0], 33),
            (0, vec![], u64::MAX),
        ] {
            let share = share(bytes, sizes.clone());
            assert_eq!(share, expected, "{bytes} of {sizes:?}");
            assert!(sizes.iter().map(|&size| share.min(size)).sum::<u64>() <= bytes, "{bytes} of {sizes:?}");
        }
    }
}
