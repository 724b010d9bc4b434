//! Retries of a request to a bucket.

use super::bucket::Bucket;
use super::failed::{Failed, Reply};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Retries of a request to a bucket, with pauses that double and are shortened at random.
pub(super) struct Tries<'a> {
    bucket: &'a Bucket,
    began: Instant,
    until: Instant,
    pause: Duration,
}

impl<'a> Tries<'a> {
    /// Retries for as long as the bucket's settings say.
    pub(super) fn at(bucket: &'a Bucket) -> Tries<'a> {
        Tries::within(bucket, bucket.retry_budget)
    }

    /// Retries a request of a start for twice as long: no client waits for it, and a broker that ends starts again with
    /// even more requests, to a bucket that may refuse them because they are too many.
    pub(super) fn at_start(bucket: &'a Bucket) -> Tries<'a> {
        Tries::within(bucket, 2 * bucket.retry_budget)
    }

    fn within(bucket: &'a Bucket, budget: Duration) -> Tries<'a> {
        let began = Instant::now();
        Tries { bucket, began, until: began + budget, pause: PAUSE_MIN }
    }

    /// Waits for the next try. Returns the failure if it would not pass or the time is over.
    pub(super) async fn again(&mut self, failed: Failed) -> Result<(), Failed> {
        let pause = self.pause.mul_f64(rand::random_range(0.5..1.0));
        if !failed.is_passing() {
            return Err(failed);
        }
        if Instant::now() + pause > self.until {
            return Err(Failed::Passing(Reply { retried: Some(self.began.elapsed()), ..failed.reply() }));
        }
        let now = Instant::now();
        if self.bucket.outage.report(self.began, now) {
            tracing::warn!(
                endpoint = self.bucket.endpoint,
                reason = failed.reply().short(),
                "requests to {} fail; this one is retried for {} s more",
                self.bucket.address,
                (self.until - now).as_secs()
            );
        } else {
            tracing::debug!(reason = failed.reply().text, ?pause, "retrying a request to the bucket");
        }
        sleep(pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}
