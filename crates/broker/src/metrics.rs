//! What the broker counts, under the names that `/metrics` shows.

use ::metrics::{Counter, Histogram, counter, gauge, histogram};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Topics with their own series. The others share one name, so that topics can't flood a monitoring system.
const TOPICS_LABELLED_MAX: usize = 200;

static TOPICS_LABELLED: AtomicUsize = AtomicUsize::new(0);

/// Shows the number of failed topics, what was deleted and requests to a bucket, as long as these are zero too.
pub(crate) fn register() {
    gauge!("rawline_topics_failed").increment(0.0);
    TrimMetrics::new();
    BucketMetrics::new();
}

/// Counts a topic whose task has panicked.
pub(crate) fn topic_failed() {
    gauge!("rawline_topics_failed").increment(1.0);
}

pub(crate) struct TopicMetrics {
    records: Counter,
    bytes: Counter,
    failures: Counter,
    commit_bytes: Histogram,
    commit_seconds: Histogram,
}

/// What trims and retention delete, of all topics.
pub(crate) struct TrimMetrics {
    records: Counter,
    bytes: Counter,
}

impl TrimMetrics {
    pub fn new() -> Self {
        TrimMetrics {
            records: counter!("rawline_deleted_records_total"),
            bytes: counter!("rawline_deleted_bytes_total"),
        }
    }

    /// Records are below the first offset now.
    pub fn trimmed(&self, records: u64) {
        self.records.increment(records);
    }

    /// Objects are deleted.
    pub fn deleted(&self, bytes: u64) {
        self.bytes.increment(bytes);
    }
}

/// Requests to a bucket.
#[derive(Debug)]
pub(crate) struct BucketMetrics {
    put: Counter,
    list: Counter,
    get: Counter,
    delete: Counter,
    sent: Counter,
    received: Counter,
}

impl BucketMetrics {
    pub fn new() -> Self {
        let requests = |operation: &'static str| counter!("rawline_bucket_requests_total", "operation" => operation);
        BucketMetrics {
            put: requests("put"),
            list: requests("list"),
            get: requests("get"),
            delete: requests("delete"),
            sent: counter!("rawline_bucket_sent_bytes_total"),
            received: counter!("rawline_bucket_received_bytes_total"),
        }
    }

    /// A request with this HTTP method and query is sent. The kinds are those with a price: HEAD is billed as GET,
    /// and the deletion of many objects, a POST, as DELETE.
    pub fn requested(&self, method: &str, query: &str) {
        let counter = match method {
            "GET" if query.contains("list-type=") => &self.list,
            "GET" | "HEAD" => &self.get,
            "DELETE" => &self.delete,
            "POST" if query.starts_with("delete") => &self.delete,
            _ => &self.put,
        };
        counter.increment(1);
    }

    pub fn sent(&self, bytes: u64) {
        self.sent.increment(bytes);
    }

    pub fn received(&self, bytes: u64) {
        self.received.increment(bytes);
    }
}

impl TopicMetrics {
    pub fn new(topic: &str) -> Self {
        let labelled = TOPICS_LABELLED.fetch_add(1, Ordering::Relaxed) < TOPICS_LABELLED_MAX;
        let topic = if labelled { topic.to_owned() } else { "(other)".to_owned() };
        TopicMetrics {
            records: counter!("rawline_commit_records_total", "topic" => topic.clone()),
            bytes: counter!("rawline_commit_bytes_total", "topic" => topic.clone()),
            failures: counter!("rawline_commit_failures_total", "topic" => topic),
            commit_bytes: histogram!("rawline_commit_bytes"),
            commit_seconds: histogram!("rawline_commit_seconds"),
        }
    }

    pub fn committed(&self, records: u64, bytes: u64, took: Duration) {
        self.records.increment(records);
        self.bytes.increment(bytes);
        self.commit_bytes.record(bytes as f64);
        self.commit_seconds.record(took.as_secs_f64());
    }

    pub fn failed(&self) {
        self.failures.increment(1);
    }
}
