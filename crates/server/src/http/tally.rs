//! Counts a few metrics in places where `stats.rs` can read them, next to Prometheus' recorder, which can only be asked
//! for the text of all.

use crate::http::metrics::SECONDS;
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters: what `/stats` calls them, and the metric's name with the value of its label, if it has one.
const COUNTERS: [(&str, &str, Option<&str>); COUNTERS_LEN] = [
    ("append_records", "rawline_append_records_total", None),
    ("append_bytes", "rawline_append_bytes_total", None),
    ("read_records", "rawline_read_records_total", None),
    ("read_bytes", "rawline_read_bytes_total", None),
    ("bucket_puts", "rawline_bucket_requests_total", Some("put")),
    ("bucket_lists", "rawline_bucket_requests_total", Some("list")),
    ("bucket_gets", "rawline_bucket_requests_total", Some("get")),
    ("bucket_deletes", "rawline_bucket_requests_total", Some("delete")),
];

/// Number of counters.
pub(crate) const COUNTERS_LEN: usize = 8;

/// Number of buckets of a time histogram: one per bound, and one for what is above them all.
pub(crate) const BUCKETS_LEN: usize = SECONDS.len() + 1;

/// What was counted since the process started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    /// In the order of [`names`].
    pub counters: [u64; COUNTERS_LEN],
    /// Commits by their duration, cumulative: those that took at most as long as the bound of the same index.
    pub commits: [u64; BUCKETS_LEN],
}

/// The process has one recorder, so one tally.
static COUNTS: [AtomicU64; COUNTERS_LEN] = [const { AtomicU64::new(0) }; COUNTERS_LEN];

/// By duration, not cumulative.
static COMMITS: [AtomicU64; BUCKETS_LEN] = [const { AtomicU64::new(0) }; BUCKETS_LEN];

/// What `/stats` calls the counters.
pub(crate) fn names() -> [&'static str; COUNTERS_LEN] {
    COUNTERS.map(|(name, ..)| name)
}

/// What is counted now.
pub(crate) fn read() -> Tally {
    let mut all = 0;
    let cumulative = |bucket: &AtomicU64| {
        all += bucket.load(Ordering::Relaxed);
        all
    };
    Tally {
        counters: COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed)),
        commits: COMMITS.each_ref().map(cumulative),
    }
}

/// A recorder that counts what the tally has there, too.
pub(crate) struct Tallying<R>(pub R);

/// A counter of a recorder, and its place in the tally.
struct Counted(Counter, &'static AtomicU64);

/// The recorder's histogram of commits.
struct Commits(Histogram);

impl<R: Recorder> Recorder for Tallying<R> {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_counter(key, unit, description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_gauge(key, unit, description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_histogram(key, unit, description);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        let counter = self.0.register_counter(key, metadata);
        let is_it = |(_, name, label): &(_, &str, Option<&str>)| {
            key.name() == *name && label.is_none_or(|label| key.labels().any(|found| found.value() == label))
        };
        match COUNTERS.iter().zip(&COUNTS).find(|(known, _)| is_it(known)) {
            Some((_, place)) => Counter::from_arc(Arc::new(Counted(counter, place))),
            None => counter,
        }
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.0.register_gauge(key, metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        let histogram = self.0.register_histogram(key, metadata);
        match key.name() {
            "rawline_commit_seconds" => Histogram::from_arc(Arc::new(Commits(histogram))),
            _ => histogram,
        }
    }
}

impl CounterFn for Counted {
    fn increment(&self, value: u64) {
        self.0.increment(value);
        self.1.fetch_add(value, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.0.absolute(value);
        self.1.fetch_max(value, Ordering::Relaxed);
    }
}

impl HistogramFn for Commits {
    fn record(&self, seconds: f64) {
        self.0.record(seconds);
        let bucket = SECONDS.partition_point(|&bound| bound < seconds);
        if let Some(bucket) = COMMITS.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::metrics;

    /// The value of a line of the metrics as text.
    fn shown(text: &str, name: &str) -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |value| value.parse().unwrap())
    }

    /// Other tests of this process count too, so what is shown before and after lies around what is tallied.
    #[test]
    fn the_tally_is_what_the_metrics_show() {
        metrics::install();
        let metrics = metrics::HttpMetrics::new();
        metrics.received(3, 40);
        metrics.returned(5, 60);
        for operation in ["put", "list", "get", "delete"] {
            ::metrics::counter!("rawline_bucket_requests_total", "operation" => operation).increment(7);
        }
        for seconds in [0.0, 0.0003, 0.0005, 29.0, 100.0] {
            ::metrics::histogram!("rawline_commit_seconds").record(seconds);
        }
        let before = metrics.text();
        let tally = read();
        let after = metrics.text();
        let check = |name: &str, tallied: u64| {
            let around = shown(&before, name)..=shown(&after, name);
            assert!(*around.start() > 0 && around.contains(&tallied), "{name}: {tallied}, shown are {around:?}");
        };
        for ((_, name, label), tallied) in COUNTERS.into_iter().zip(tally.counters) {
            match label {
                Some(label) => check(&format!("{name}{{operation=\"{label}\"}}"), tallied),
                None => check(name, tallied),
            }
        }
        let bounds = SECONDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, tallied) in bounds.zip(tally.commits) {
            check(&format!("rawline_commit_seconds_bucket{{le=\"{bound}\"}}"), tallied);
        }
        assert!(tally.commits.last() > tally.commits.iter().rev().nth(1), "{tally:?}");
    }
}
