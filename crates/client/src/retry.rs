//! Retries transient failures with exponential backoff and jitter, for a limited time.

use crate::environment::Environment;
use crate::error::ClientError;
use crate::limits::{RETRY_FOR, RETRY_WAIT_MAX, RETRY_WAIT_MIN};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How transient failures of a request are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The first wait. Each further wait doubles it.
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

    /// The default waits, with retries for this long.
    pub fn lasting(give_up_after: Duration) -> Self {
        RetryPolicy { give_up_after, ..RetryPolicy::default() }
    }

    /// Starts to count failures.
    pub(crate) fn begin(self, environment: Arc<dyn Environment>) -> Attempts {
        Attempts { policy: self, wait: self.wait_min, first_failure_at: None, environment }
    }
}

impl Default for RetryPolicy {
    /// Waits of 50 ms to 2 s, for 30 s.
    fn default() -> Self {
        RetryPolicy { wait_min: RETRY_WAIT_MIN, wait_max: RETRY_WAIT_MAX, give_up_after: RETRY_FOR }
    }
}

/// The failures of one request so far.
pub(crate) struct Attempts {
    policy: RetryPolicy,
    wait: Duration,
    first_failure_at: Option<Instant>,
    environment: Arc<dyn Environment>,
}

impl Attempts {
    /// Waits until the request should be retried; returns the error if it should not be retried.
    pub(crate) async fn failed(&mut self, error: ClientError) -> Result<(), ClientError> {
        let Some(wait) = self.wait_after(&error, Instant::now()) else { return Err(error) };
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// How long to wait until the request should be retried; `None` if it should not be retried.
    pub(crate) fn wait_after(&mut self, error: &ClientError, now: Instant) -> Option<Duration> {
        if !error.is_retryable() || self.policy.give_up_after.is_zero() {
            return None;
        }
        let first_failure_at = *self.first_failure_at.get_or_insert(now);
        assert!(first_failure_at <= now, "the first failure is {:?} in the future", first_failure_at - now);
        let left = self.policy.give_up_after.checked_sub(now - first_failure_at)?;
        let fraction = self.environment.fraction();
        assert!((0.0..1.0).contains(&fraction), "{fraction} is not from 0 to below 1");
        // Waits at random from half to all of the time, so that clients that failed together don't retry together.
        let wait = self.wait.mul_f64(0.5 + fraction / 2.0).max(error.retry_after().unwrap_or_default());
        self.wait = self.wait.saturating_mul(2).min(self.policy.wait_max);
        (wait <= left).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Always returns the same fraction.
    struct Fixed(f64);

    impl Environment for Fixed {
        fn now_us(&self) -> u64 {
            0
        }

        fn fraction(&self) -> f64 {
            self.0
        }
    }

    fn begin(policy: RetryPolicy) -> Attempts {
        policy.begin(Arc::new(Fixed(0.5)))
    }

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
        let mut attempts = begin(policy);
        let mut now = Instant::now();
        let start = now;
        let mut waits = Vec::new();
        while let Some(wait) = attempts.wait_after(&broken(), now) {
            now += wait;
            waits.push(wait.as_millis() as u64);
        }
        // Three quarters of each wait: half of it, plus half of the random half.
        assert_eq!(waits, [75, 150, 300, 300, 300, 300, 300]);
        assert_eq!(now - start, Duration::from_millis(1725), "the next one would end after {:?}", policy.give_up_after);
    }

    #[test]
    fn a_wait_is_half_of_it_to_all_of_it_at_random() {
        let policy = RetryPolicy { wait_min: Duration::from_millis(100), ..RetryPolicy::default() };
        for (fraction, wait_ms) in [(0.0, 50), (0.5, 75), (0.998, 99)] {
            let mut attempts = policy.begin(Arc::new(Fixed(fraction)));
            let wait = attempts.wait_after(&broken(), Instant::now()).unwrap();
            assert_eq!(wait.as_micros() / 1000, wait_ms, "{fraction}");
        }
    }

    #[test]
    fn the_brokers_own_wait_is_kept() {
        let mut attempts = begin(RetryPolicy::default());
        let wait = attempts.wait_after(&busy(3), Instant::now()).unwrap();
        assert_eq!(wait, Duration::from_secs(3));
        // A wait that would exceed the limit isn't started.
        assert_eq!(attempts.wait_after(&busy(300), Instant::now()), None);
    }

    #[test]
    fn errors_that_no_retry_helps_are_returned_at_once() {
        let wrong = ClientError::Refused { status: 400, code: "c".into(), message: "m".into(), retry_after: None };
        assert_eq!(begin(RetryPolicy::default()).wait_after(&wrong, Instant::now()), None);
        assert_eq!(begin(RetryPolicy::NONE).wait_after(&broken(), Instant::now()), None);
    }
}
