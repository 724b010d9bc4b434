//! Retries transient failures with exponential backoff and jitter, for a limited time.

use crate::ClientError;
use std::time::Duration;
use tokio::time::Instant;

/// How transient failures of a request are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The first wait. Each further one is twice as long.
    pub wait_min: Duration,
    /// The longest wait.
    pub wait_max: Duration,
    /// How long after the first failure retries end and the caller gets the error; zero for no retries.
    pub give_up_after: Duration,
}

impl RetryPolicy {
    /// No retries: the caller gets every failure at once.
    pub const NONE: RetryPolicy =
        RetryPolicy { wait_min: Duration::ZERO, wait_max: Duration::ZERO, give_up_after: Duration::ZERO };

    /// The default waits, for this long.
    pub fn lasting(give_up_after: Duration) -> Self {
        RetryPolicy { give_up_after, ..RetryPolicy::default() }
    }

    /// Starts to count failures.
    pub(crate) fn begin(self) -> Attempts {
        Attempts { policy: self, wait: self.wait_min, first_failure_at: None }
    }
}

impl Default for RetryPolicy {
    /// Waits of 50 ms to 2 s, for 30 s: by then a broker that was restarted is back, and many clients have spread out.
    fn default() -> Self {
        RetryPolicy {
            wait_min: Duration::from_millis(50),
            wait_max: Duration::from_secs(2),
            give_up_after: Duration::from_secs(30),
        }
    }
}

/// The failures of one request so far.
#[derive(Debug)]
pub(crate) struct Attempts {
    policy: RetryPolicy,
    wait: Duration,
    first_failure_at: Option<Instant>,
}

impl Attempts {
    /// Waits until the request should be retried; returns the error if it should not be.
    pub(crate) async fn failed(&mut self, error: ClientError) -> Result<(), ClientError> {
        let Some(wait) = self.wait_after(&error, Instant::now()) else { return Err(error) };
        tokio::time::sleep(wait).await;
        Ok(())
    }

    fn wait_after(&mut self, error: &ClientError, now: Instant) -> Option<Duration> {
        if !error.is_retryable() || self.policy.give_up_after.is_zero() {
            return None;
        }
        let first_failure_at = *self.first_failure_at.get_or_insert(now);
        let left = self.policy.give_up_after.checked_sub(now.duration_since(first_failure_at))?;
        // Half the wait to all of it, at random, so that clients that failed together don't retry together.
        let wait = self.wait.mul_f64(0.5 + fastrand::f64() / 2.0).max(error.retry_after().unwrap_or_default());
        self.wait = self.wait.saturating_mul(2).min(self.policy.wait_max);
        (wait <= left).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> ClientError {
        ClientError::Broken { broker: "b".into(), reason: "r".into() }
    }

    fn busy(retry_after_s: u64) -> ClientError {
        let retry_after = Some(Duration::from_secs(retry_after_s));
        ClientError::Refused { status: 503, code: "busy".into(), message: "wait".into(), retry_after }
    }

    #[test]
    fn waits_grow_to_the_maximum_and_end() {
        let policy = RetryPolicy {
            wait_min: Duration::from_millis(100),
            wait_max: Duration::from_millis(400),
            give_up_after: Duration::from_secs(2),
        };
        let mut attempts = policy.begin();
        let mut now = Instant::now();
        let start = now;
        let mut waits = Vec::new();
        while let Some(wait) = attempts.wait_after(&broken(), now) {
            now += wait;
            waits.push(wait.as_millis() as u64);
        }
        assert!((50..=100).contains(&waits[0]) && (100..=200).contains(&waits[1]), "{waits:?}");
        assert!(waits[2..].iter().all(|wait| (200..=400).contains(wait)), "{waits:?}");
        assert!(now - start <= policy.give_up_after && now - start >= Duration::from_millis(1600), "{waits:?}");
    }

    #[test]
    fn the_brokers_own_wait_is_kept() {
        let mut attempts = RetryPolicy::default().begin();
        let wait = attempts.wait_after(&busy(3), Instant::now()).unwrap();
        assert_eq!(wait, Duration::from_secs(3));
        // A wait that would exceed the limit isn't begun.
        assert_eq!(attempts.wait_after(&busy(300), Instant::now()), None);
    }

    #[test]
    fn errors_that_no_retry_helps_are_returned_at_once() {
        let wrong = ClientError::Refused { status: 400, code: "c".into(), message: "m".into(), retry_after: None };
        assert_eq!(RetryPolicy::default().begin().wait_after(&wrong, Instant::now()), None);
        assert_eq!(RetryPolicy::NONE.begin().wait_after(&broken(), Instant::now()), None);
    }
}
