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
        let parts = u64::from(time.subsec_nanos().div_ceil(1000));
        self.record(time.as_secs().saturating_mul(1_000_000).saturating_add(parts));
    }

    /// What was counted until now.
    pub fn values(&self) -> Values<N> {
        let mut count = 0;
        let cumulative = self.buckets.each_ref().map(|bucket| {
            count += bucket.get();
            count
        });
        Values { bounds: self.bounds, cumulative, count: count + self.above.get(), sum: self.sum.get() }
    }
}

/// The values of one histogram, or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values<const N: usize> {
    /// Inclusive upper bounds, ascending, in the unit of the values.
    pub bounds: &'static [u64; N],
    /// Number of values up to each bound.
    pub cumulative: [u64; N],
    /// Number of all values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
}

impl<const N: usize> Values<N> {
    /// Those of all these histograms, which have the same bounds.
    pub fn of<'a>(bounds: &'static [u64; N], histograms: impl IntoIterator<Item = &'a Histogram<N>>) -> Values<N> {
        let mut all = Values { bounds, cumulative: [0; N], count: 0, sum: 0 };
        for one in histograms {
            let one = one.values();
            assert_eq!(one.bounds, bounds, "histograms with other bounds are added up");
            all.cumulative.iter_mut().zip(one.cumulative).for_each(|(all, one)| *all += one);
            all.count += one.count;
            all.sum += one.sum;
        }
        all
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
        assert_eq!(histogram.values(), Values { bounds: &BOUNDS, cumulative: [2, 3, 4], count: 6, sum: 1122 });
        let two = Values { bounds: &BOUNDS, cumulative: [4, 6, 8], count: 12, sum: 2244 };
        assert_eq!(Values::of(&BOUNDS, [&histogram, &histogram]), two);
        histogram.record_time(Duration::from_nanos(10_001));
        let Values { cumulative, count, .. } = histogram.values();
        assert_eq!((cumulative, count), ([2, 4, 5], 7), "10.001 µs is more than 10");
    }
}
