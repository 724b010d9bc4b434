//! The broker's metrics: atomics of the process, which `/metrics` and `/stats` read.

mod bucket;
mod cache;
pub mod families;
mod kinds;
mod sharded;
mod stalls;
mod text;
mod topics;
mod zones;

pub use kinds::{Counter, Gauge, Histogram, Values};
pub use sharded::Sharded;
pub(crate) use stalls::Housekeeping;
pub use text::Text;
pub use topics::{CommitCounts, commit_counts};
pub(crate) use topics::{TOPICS_LABELLED_MAX, TopicMetrics};
pub use zones::{Crossing, ZoneMetrics};

use bucket::BucketMetrics;
use cache::CacheMetrics;
use stalls::StallMetrics;
use std::time::Duration;

/// Bounds of histograms of times in microseconds: from a tenth of an append to a long poll.
pub static TIME_BOUNDS: [u64; TIMES] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000, 30_000_000,
];

/// Number of bounds of times.
pub const TIMES: usize = 17;

/// Divides microseconds into seconds.
pub const MICROSECONDS: f64 = 1e6;

static SIZE_BOUNDS: [u64; 10] = [256, 1024, 4096, 16384, 65536, 262_144, 1_048_576, 4_194_304, 10_485_760, 67_108_864];

/// The process' counts.
pub static METRICS: Metrics = Metrics {
    failed_topics: Gauge::new(),
    commits: CommitMetrics { bytes: Histogram::new(&SIZE_BOUNDS), seconds: Histogram::new(&TIME_BOUNDS) },
    stalls: StallMetrics::new(),
    trims: TrimMetrics { records: Counter::new(), bytes: Counter::new() },
    snapshots: Counter::new(),
    merges: MergeMetrics {
        merges: Counter::new(),
        bytes: Counter::new(),
        abandoned: Counter::new(),
        deleted: Counter::new(),
    },
    bucket: BucketMetrics::new(),
    cache: CacheMetrics::new(),
    zones: ZoneMetrics::new(),
};

/// The metrics of all brokers of a process together.
pub struct Metrics {
    /// Topics that take no appends until a restart, because of an internal error.
    pub(crate) failed_topics: Gauge,
    /// Commits of all topics.
    pub commits: CommitMetrics,
    pub(crate) stalls: StallMetrics,
    pub(crate) trims: TrimMetrics,
    /// Stored snapshots.
    pub(crate) snapshots: Counter,
    pub(crate) merges: MergeMetrics,
    /// Requests to a bucket.
    pub bucket: BucketMetrics,
    pub(crate) cache: CacheMetrics,
    /// What crosses zones.
    pub zones: ZoneMetrics,
}

/// Commits that topics share.
pub struct CommitMetrics {
    bytes: Histogram<10>,
    /// Their durations in microseconds.
    pub seconds: Histogram<TIMES>,
}

impl CommitMetrics {
    pub(crate) fn committed(&self, bytes: u64, took: Duration) {
        self.bytes.record(bytes);
        self.seconds.record_time(took);
    }
}

/// What trims and retention delete, of all topics.
pub(crate) struct TrimMetrics {
    /// Records below the first offset.
    pub records: Counter,
    /// Bytes of deleted objects.
    pub bytes: Counter,
}

/// Merges and deletions of a journal's objects.
pub(crate) struct MergeMetrics {
    merges: Counter,
    bytes: Counter,
    pub abandoned: Counter,
    /// Deleted journal objects and merged ones.
    pub deleted: Counter,
}

impl MergeMetrics {
    /// A merge has ended; its object has this size in bytes.
    pub fn merged(&self, bytes: u64) {
        self.merges.add(1);
        self.bytes.add(bytes);
    }
}

impl Metrics {
    /// Adds the broker's metrics.
    pub fn render(&self, text: &mut Text) {
        let Metrics { failed_topics, commits, stalls, trims, snapshots, merges, bucket, cache, zones } = self;
        text.gauge(&families::TOPICS_FAILED, failed_topics.get());
        topics::render(text);
        text.histograms(&families::COMMIT_BYTES, 1.0, [([""; 0], commits.bytes.values())]);
        text.histograms(&families::COMMIT_SECONDS, MICROSECONDS, [([""; 0], commits.seconds.values())]);
        stalls.render(text);
        text.counter(&families::DELETED_RECORDS, trims.records.get());
        text.counter(&families::DELETED_BYTES, trims.bytes.get());
        text.counter(&families::JOURNAL_SNAPSHOTS, snapshots.get());
        text.counter(&families::JOURNAL_MERGES, merges.merges.get());
        text.counter(&families::JOURNAL_MERGED_BYTES, merges.bytes.get());
        text.counter(&families::JOURNAL_MERGES_ABANDONED, merges.abandoned.get());
        text.counter(&families::JOURNAL_DELETED_OBJECTS, merges.deleted.get());
        bucket.render(text);
        cache.render(text);
        zones.render(text);
    }
}
