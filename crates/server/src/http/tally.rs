//! The metrics that `/stats` samples.

use crate::metrics::ServerMetrics;
use rawline_broker::metrics::{Counter, METRICS, TIMES, Values};

/// The counters of all protocols, as `/stats` calls them.
const TRAFFIC: [&str; 4] = ["append_records", "append_bytes", "read_records", "read_bytes"];

/// Those of a bucket.
const BUCKET: [(&str, &Counter); 4] = [
    ("bucket_puts", &METRICS.bucket.put),
    ("bucket_lists", &METRICS.bucket.list),
    ("bucket_gets", &METRICS.bucket.get),
    ("bucket_deletes", &METRICS.bucket.delete),
];

/// Number of counters.
pub(crate) const COUNTERS_LEN: usize = TRAFFIC.len() + BUCKET.len();

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
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TRAFFIC.into_iter().chain(BUCKET.map(|(name, _)| name))
}

/// The current counters.
pub(crate) fn read(metrics: &ServerMetrics) -> Tally {
    let Values { cumulative, count, .. } = METRICS.commits.seconds.values();
    let [appended, appended_bytes, returned, returned_bytes] = metrics.totals();
    let [puts, lists, gets, deletes] = BUCKET.map(|(_, counter)| counter.get());
    let counters = [appended, appended_bytes, returned, returned_bytes, puts, lists, gets, deletes];
    Tally { counters, commits: cumulative, commits_all: count }
}
