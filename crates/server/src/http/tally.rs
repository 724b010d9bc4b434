//! The metrics that `/stats` samples.

use crate::http::metrics::HttpMetrics;
use rawline_broker::metrics::{Counter, METRICS, TIMES};

/// A counter of a server or its broker.
type Place = fn(&HttpMetrics) -> &Counter;

/// The counters, as `/stats` calls them.
const COUNTERS: [(&str, Place); COUNTERS_LEN] = [
    ("append_records", |metrics| &metrics.records_in),
    ("append_bytes", |metrics| &metrics.bytes_in),
    ("read_records", |metrics| &metrics.records_out),
    ("read_bytes", |metrics| &metrics.bytes_out),
    ("bucket_puts", |_| &METRICS.bucket.put),
    ("bucket_lists", |_| &METRICS.bucket.list),
    ("bucket_gets", |_| &METRICS.bucket.get),
    ("bucket_deletes", |_| &METRICS.bucket.delete),
];

/// Number of counters.
pub(crate) const COUNTERS_LEN: usize = 8;

/// The counters since the process started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    /// In the order of [`names`].
    pub counters: [u64; COUNTERS_LEN],
    /// Commits by their duration, cumulative: those that took at most as long as the bound of the same index.
    pub commits: [u64; TIMES],
    /// All commits.
    pub commits_all: u64,
}

/// What `/stats` calls the counters.
pub(crate) fn names() -> [&'static str; COUNTERS_LEN] {
    COUNTERS.map(|(name, _)| name)
}

/// The current counters.
pub(crate) fn read(metrics: &HttpMetrics) -> Tally {
    let (commits, commits_all) = METRICS.commits.seconds.cumulative();
    Tally { counters: COUNTERS.map(|(_, place)| place(metrics).get()), commits, commits_all }
}
