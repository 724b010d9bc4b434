//! Limits the bandwidth of one direction of a connection.

use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The timer's resolution: a shorter sleep takes as long.
const TICK: Duration = Duration::from_millis(1);

/// Time that a busy connection may catch up after it was late, from the timer or for want of CPU time. It is also what
/// a connection is ahead after a pause: 360 KB of 90 MB/s.
const LATE_MAX: Duration = Duration::from_millis(4);

/// Delays bytes so that no more pass than the bandwidth allows.
pub struct Pacer {
    /// `None` if nothing limits it.
    bytes_per_second: Option<f64>,
    /// When the bytes so far have passed.
    passed: Instant,
}

impl Pacer {
    pub fn new(bytes_per_second: Option<f64>) -> Pacer {
        Pacer { bytes_per_second, passed: Instant::now() }
    }

    /// Waits until so many more bytes have passed.
    pub async fn pass(&mut self, bytes: usize) {
        let Some(bytes_per_second) = self.bytes_per_second else { return };
        let now = Instant::now();
        let begin = now.checked_sub(LATE_MAX).map_or(self.passed, |earliest| self.passed.max(earliest));
        self.passed = begin + Duration::from_secs_f64(bytes as f64 / bytes_per_second);
        if self.passed >= now + TICK {
            sleep_until(self.passed).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 90e6;

    #[tokio::test(start_paused = true)]
    async fn bytes_pass_at_the_bandwidth_and_a_pause_saves_up_little() {
        let mut pacer = Pacer::new(Some(RATE));
        for _ in 0..2 {
            let began = Instant::now();
            for _ in 0..900 {
                pacer.pass(100_000).await;
            }
            let took = began.elapsed();
            assert!(
                took <= Duration::from_secs(1) + TICK && took + LATE_MAX + TICK >= Duration::from_secs(1),
                "{took:?}"
            );
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        let mut unlimited = Pacer::new(None);
        let began = Instant::now();
        unlimited.pass(usize::MAX).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
