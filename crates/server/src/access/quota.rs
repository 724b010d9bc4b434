//! A key's quotas: bytes per second in and out as token buckets, and connections. Time is passed in.
//!
//! A request is admitted unless earlier ones have used up the bucket, whatever its own size: then its bytes are taken,
//! and the next ones wait until the bucket has refilled. So a request larger than a second's bytes is possible, and the
//! average holds.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How much of unused time a bucket keeps: requests come in bursts.
const BURST: Duration = Duration::from_secs(1);

/// The quotas of a key; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuotaLimits {
    /// Bytes of appends per second.
    pub bytes_in_per_second: Option<NonZeroU64>,
    /// Bytes of responses with records per second.
    pub bytes_out_per_second: Option<NonZeroU64>,
    /// Open connections, to each protocol's address together.
    pub connections: Option<u32>,
}

/// A token bucket, as the time up to which its bytes are used.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: u64,
    /// How much of unused time it keeps.
    burst: Duration,
    used_until: Duration,
}

impl Bucket {
    /// A full one.
    pub const fn new(per_second: NonZeroU64, burst: Duration) -> Bucket {
        Bucket { per_second: per_second.get(), burst, used_until: Duration::ZERO }
    }

    /// How long until a request is admitted; zero for now.
    pub fn wait(&self, now: Duration) -> Duration {
        self.used_until.saturating_sub(now.saturating_add(self.burst))
    }

    /// Takes bytes.
    pub fn take(&mut self, now: Duration, bytes: u64) {
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.per_second);
        let took = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.used_until = self.used_until.max(now).saturating_add(took);
    }
}

/// The state of a key's quotas.
#[derive(Debug, Default)]
pub(super) struct Quota {
    bytes_in: Option<Mutex<Bucket>>,
    bytes_out: Option<Mutex<Bucket>>,
    connections_max: Option<u32>,
    connections: AtomicU32,
}

/// Which bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

impl Quota {
    pub fn new(limits: QuotaLimits) -> Quota {
        let bucket = |per_second: Option<NonZeroU64>| per_second.map(|rate| Mutex::new(Bucket::new(rate, BURST)));
        Quota {
            bytes_in: bucket(limits.bytes_in_per_second),
            bytes_out: bucket(limits.bytes_out_per_second),
            connections_max: limits.connections,
            connections: AtomicU32::new(0),
        }
    }

    fn bucket(&self, direction: Direction) -> Option<&Mutex<Bucket>> {
        match direction {
            Direction::In => self.bytes_in.as_ref(),
            Direction::Out => self.bytes_out.as_ref(),
        }
    }

    /// Whether there is a limit. Without one, callers needn't read the clock.
    pub fn has(&self, direction: Direction) -> bool {
        self.bucket(direction).is_some()
    }

    /// How long until a request is admitted; zero for now.
    pub fn wait(&self, direction: Direction, now: Duration) -> Duration {
        let bucket = self.bucket(direction).map(|bucket| bucket.lock().unwrap_or_else(PoisonError::into_inner));
        bucket.map_or(Duration::ZERO, |bucket| bucket.wait(now))
    }

    /// Takes bytes.
    pub fn take(&self, direction: Direction, now: Duration, bytes: u64) {
        if let Some(bucket) = self.bucket(direction) {
            bucket.lock().unwrap_or_else(PoisonError::into_inner).take(now, bytes);
        }
    }

    /// Counts a connection, unless there are as many as there may be: then returns their maximum.
    pub fn connect(&self) -> Result<(), u32> {
        let max = self.connections_max.unwrap_or(u32::MAX);
        let count = |open: u32| open.checked_add(1).filter(|open| *open <= max);
        self.connections.fetch_update(Ordering::AcqRel, Ordering::Acquire, count).map(drop).map_err(|_| max)
    }

    pub fn disconnect(&self) {
        let before = self.connections.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "a connection ends that was not counted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn bucket(per_second: u64) -> Bucket {
        Bucket::new(NonZeroU64::new(per_second).unwrap(), BURST)
    }

    #[test]
    fn a_bucket_admits_a_burst_and_then_its_rate() {
        let mut bucket = bucket(1000);
        let start = Duration::from_secs(7);
        assert_eq!(bucket.wait(start), Duration::ZERO);
        bucket.take(start, 1000);
        assert_eq!(bucket.wait(start), Duration::ZERO, "a second's bytes are the burst");
        bucket.take(start, 500);
        assert_eq!(bucket.wait(start), ms(500));
        assert_eq!(bucket.wait(start + ms(499)), ms(1));
        assert_eq!(bucket.wait(start + ms(500)), Duration::ZERO);
    }

    #[test]
    fn a_request_larger_than_the_burst_is_admitted_and_waited_for() {
        let mut bucket = bucket(1000);
        bucket.take(ms(0), 10_000);
        assert_eq!(bucket.wait(ms(0)), Duration::from_secs(9));
        bucket.take(ms(9000), 0);
        assert_eq!(bucket.wait(ms(9000)), Duration::ZERO);
    }

    #[test]
    fn the_average_is_the_rate_whatever_the_sizes() {
        for (per_second, size) in [(1, 1), (1000, 1), (1000, 7), (1000, 999), (1000, 5000), (u64::MAX, 1 << 40)] {
            let mut bucket = bucket(per_second);
            let (mut now, mut taken) = (ms(0), 0_u128);
            for _ in 0..1000 {
                now += bucket.wait(now);
                bucket.take(now, size);
                taken += u128::from(size);
            }
            let most = u128::from(per_second) * (now + BURST).as_micros() / 1_000_000 + u128::from(size) + 1000;
            assert!(taken <= most, "{taken} bytes of {most} in {now:?} at {per_second}/s");
        }
    }

    #[test]
    fn extreme_sizes_and_times_neither_overflow_nor_admit_more() {
        let mut bucket = bucket(1);
        bucket.take(ms(0), u64::MAX);
        bucket.take(Duration::MAX, u64::MAX);
        assert_eq!(bucket.wait(Duration::MAX), Duration::ZERO, "the end of time");
        assert!(bucket.wait(ms(1)) > Duration::from_secs(1 << 32));
    }

    #[test]
    fn connections_are_counted_up_to_their_maximum() {
        let quota = Quota::new(QuotaLimits { connections: Some(2), ..QuotaLimits::default() });
        assert_eq!([quota.connect(), quota.connect(), quota.connect()], [Ok(()), Ok(()), Err(2)]);
        quota.disconnect();
        assert_eq!([quota.connect(), quota.connect()], [Ok(()), Err(2)]);
        let none = Quota::default();
        assert!((0..100).all(|_| none.connect().is_ok()) && !none.has(Direction::In) && !none.has(Direction::Out));
    }
}
