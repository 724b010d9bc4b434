//! What the broker counts, under the names that `/metrics` shows.

use ::metrics::{Counter, Histogram, counter, gauge, histogram};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Topics with their own series. The others share one name, so that topics can't flood a monitoring system.
const TOPICS_LABELLED_MAX: usize = 200;

/// The name that all other topics share. No topic can have it.
const OTHERS: &str = "(other)";

/// The counts of topics with their own series. A topic's end with it: the recorder of `/metrics` forgets no series.
static TOPICS: Mutex<BTreeMap<String, Weak<Commits>>> = Mutex::new(BTreeMap::new());

/// The counts of all other topics.
static OTHER_TOPICS: OnceLock<Arc<Commits>> = OnceLock::new();

/// Shows the number of failed topics, what was deleted and requests to a bucket, as long as these are zero too.
pub(crate) fn register() {
    gauge!("rawline_topics_failed").increment(0.0);
    TrimMetrics::new();
    MergeMetrics::new();
    BucketMetrics::new();
}

/// Counts a topic whose task has panicked.
pub(crate) fn topic_failed() {
    gauge!("rawline_topics_failed").increment(1.0);
}

/// A topic whose task has panicked is not among the broker's topics any more.
pub(crate) fn failed_topic_gone() {
    gauge!("rawline_topics_failed").decrement(1.0);
}

/// What is counted of a topic's commits.
#[derive(Debug, Default)]
struct Commits {
    records: AtomicU64,
    bytes: AtomicU64,
    failures: AtomicU64,
}

/// What a topic has committed since this process opened it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCounts {
    /// The topic's name, or `(other)` for the sum of those without their own counts.
    pub topic: String,
    /// Records stored.
    pub records: u64,
    /// Bytes of objects stored.
    pub bytes: u64,
    /// Commits that failed in the store.
    pub failures: u64,
}

/// The counts of the topics that are open, by name.
pub fn commit_counts() -> Vec<CommitCounts> {
    let counts = |topic: &str, commits: &Commits| CommitCounts {
        topic: topic.to_owned(),
        records: commits.records.load(Ordering::Relaxed),
        bytes: commits.bytes.load(Ordering::Relaxed),
        failures: commits.failures.load(Ordering::Relaxed),
    };
    let others = OTHER_TOPICS.get().map(|commits| counts(OTHERS, commits));
    let topics = TOPICS.lock().unwrap_or_else(PoisonError::into_inner);
    let topics = topics.iter().filter_map(|(topic, commits)| Some(counts(topic, &*commits.upgrade()?)));
    others.into_iter().chain(topics).collect()
}

/// The counts of a topic as long as a clone of this exists, and the histograms of all topics.
#[derive(Clone)]
pub(crate) struct TopicMetrics {
    commits: Arc<Commits>,
    all: CommitMetrics,
}

/// Commits that topics share.
#[derive(Clone)]
pub(crate) struct CommitMetrics {
    bytes: Histogram,
    seconds: Histogram,
}

impl CommitMetrics {
    pub fn new() -> Self {
        CommitMetrics { bytes: histogram!("rawline_commit_bytes"), seconds: histogram!("rawline_commit_seconds") }
    }

    pub fn committed(&self, bytes: u64, took: Duration) {
        self.bytes.record(bytes as f64);
        self.seconds.record(took.as_secs_f64());
    }
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

/// What becomes of a journal's objects.
#[derive(Clone)]
pub(crate) struct MergeMetrics {
    merges: Counter,
    bytes: Counter,
    abandoned: Counter,
    deleted: Counter,
}

impl MergeMetrics {
    pub fn new() -> Self {
        MergeMetrics {
            merges: counter!("rawline_journal_merges_total"),
            bytes: counter!("rawline_journal_merged_bytes_total"),
            abandoned: counter!("rawline_journal_merges_abandoned_total"),
            deleted: counter!("rawline_journal_deleted_objects_total"),
        }
    }

    /// A merge has ended, whose object has so many bytes.
    pub fn merged(&self, bytes: u64) {
        self.merges.increment(1);
        self.bytes.increment(bytes);
    }

    /// A merge was abandoned.
    pub fn abandoned(&self) {
        self.abandoned.increment(1);
    }

    /// Journal objects and merged ones are deleted.
    pub fn deleted(&self, objects: u64) {
        self.deleted.increment(objects);
    }
}

/// A kind of request to a bucket that has its own price.
#[derive(Debug, PartialEq, Eq)]
enum Operation {
    Put,
    List,
    Get,
    Delete,
}

impl Operation {
    /// What a request is billed as: HEAD as GET, the deletion of many objects, a POST, as DELETE.
    fn of(method: &str, query: &str) -> Operation {
        let has = |parameter: &str| query.split('&').any(|found| found == parameter);
        match method {
            // S3's and Google's, then Azure's.
            "GET" if query.contains("list-type=") || has("comp=list") => Operation::List,
            "GET" | "HEAD" => Operation::Get,
            "DELETE" => Operation::Delete,
            "POST" if query.starts_with("delete") || has("comp=batch") => Operation::Delete,
            _ => Operation::Put,
        }
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

    /// A request with this HTTP method and query is sent.
    pub fn requested(&self, method: &str, query: &str) {
        let counter = match Operation::of(method, query) {
            Operation::Put => &self.put,
            Operation::List => &self.list,
            Operation::Get => &self.get,
            Operation::Delete => &self.delete,
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
        TopicMetrics { commits: TopicMetrics::commits(topic), all: CommitMetrics::new() }
    }

    fn commits(topic: &str) -> Arc<Commits> {
        let mut topics = TOPICS.lock().unwrap_or_else(PoisonError::into_inner);
        topics.retain(|_, commits| commits.strong_count() > 0);
        if topics.len() >= TOPICS_LABELLED_MAX && !topics.contains_key(topic) {
            return OTHER_TOPICS.get_or_init(Arc::default).clone();
        }
        let commits = Arc::default();
        // A deleted topic of the same name may still be held by its readers.
        topics.insert(topic.to_owned(), Arc::downgrade(&commits));
        commits
    }

    pub fn committed(&self, records: u64, bytes: u64, took: Duration) {
        self.appended(records, bytes);
        self.all.committed(bytes, took);
    }

    /// Records of the topic are in a commit that other topics share.
    pub fn appended(&self, records: u64, bytes: u64) {
        self.commits.records.fetch_add(records, Ordering::Relaxed);
        self.commits.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn failed(&self) {
        self.commits.failures.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_as_each_service_bills_them() {
        let expected = [
            ("PUT", "", Operation::Put),
            ("GET", "", Operation::Get),
            ("HEAD", "", Operation::Get),
            ("GET", "list-type=2&delimiter=%2F", Operation::List),
            ("GET", "restype=container&comp=list&prefix=comp%3Dbatch", Operation::List),
            ("DELETE", "", Operation::Delete),
            ("POST", "delete=", Operation::Delete),
            ("POST", "restype=container&comp=batch", Operation::Delete),
        ];
        for (method, query, operation) in expected {
            assert_eq!(Operation::of(method, query), operation, "{method} ?{query}");
        }
    }
}
