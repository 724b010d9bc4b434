//! Counters, gauges and histograms: atomics that anything may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Begins at 0.
    pub const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// Adds to it.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The count since the start.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number of things that exist now.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Begins at 0.
    pub const fn new() -> Gauge {
        Gauge(AtomicU64::new(0))
    }

    /// One more.
    pub fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One less.
    pub fn decrement(&self) {
        let before = self.0.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "a gauge of 0 is decremented");
    }

    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often values were in which range.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    /// Inclusive upper bounds, ascending, in the unit of the values.
    bounds: &'static [u64; N],
    /// Values up to each bound and above the bound before it.
    buckets: [Counter; N],
    /// Values above the highest bound.
    above: Counter,
    sum: Counter,
}

impl<const N: usize> Histogram<N> {
    /// Without values.
    pub const fn new(bounds: &'static [u64; N]) -> Histogram<N> {
        Histogram { bounds, buckets: [const { Counter::new() }; N], above: Counter::new(), sum: Counter::new() }
    }

    /// Counts a value.
    pub fn record(&self, value: u64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        self.buckets.get(bucket).unwrap_or(&self.above).add(1);
        self.sum.add(value);
    }

    /// Counts a time in microseconds, rounded up: a bound is inclusive.
    pub fn record_time(&self, time: Duration) {
        self.record(time.as_nanos().div_ceil(1000).try_into().unwrap_or(u64::MAX));
    }

    /// The bounds.
    pub fn bounds(&self) -> &'static [u64; N] {
        self.bounds
    }

    /// Number of values up to each bound, and of all.
    pub fn cumulative(&self) -> ([u64; N], u64) {
        let mut count = 0;
        let buckets = self.buckets.each_ref().map(|bucket| {
            count += bucket.get();
            count
        });
        (buckets, count + self.above.get())
    }

    /// Sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_up_to_the_bounds_from_its_own_on() {
        static BOUNDS: [u64; 3] = [10, 20, 50];
        let histogram = Histogram::new(&BOUNDS);
        for value in [0, 10, 11, 50, 51, 1000] {
            histogram.record(value);
        }
        assert_eq!(histogram.cumulative(), ([2, 3, 4], 6));
        assert_eq!(histogram.sum(), 1122);
        histogram.record_time(Duration::from_nanos(10_001));
        assert_eq!(histogram.cumulative(), ([2, 4, 5], 7), "10.001 µs is more than 10");
    }
}
