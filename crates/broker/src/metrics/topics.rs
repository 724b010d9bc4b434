//! Commits by topic.

use super::families::{self, Family};
use super::kinds::Counter;
use super::text::Text;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Topics with their own series. The others share one name, so that topics can't flood a monitoring system.
pub(crate) const TOPICS_LABELLED_MAX: usize = 200;

/// The name that all other topics share. No topic can have it.
const OTHERS: &str = "(other)";

/// The counts of topics with their own series. A topic's end with it.
static TOPICS: Mutex<BTreeMap<String, Weak<Commits>>> = Mutex::new(BTreeMap::new());

/// The counts of all other topics.
static OTHER_TOPICS: OnceLock<Arc<Commits>> = OnceLock::new();

/// The metrics of a topic's commits.
#[derive(Debug, Default)]
struct Commits {
    records: Counter,
    bytes: Counter,
    failures: Counter,
}

/// A topic's commits since this process opened it.
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
        records: commits.records.get(),
        bytes: commits.bytes.get(),
        failures: commits.failures.get(),
    };
    let others = OTHER_TOPICS.get().map(|commits| counts(OTHERS, commits));
    let topics = TOPICS.lock().unwrap_or_else(PoisonError::into_inner);
    let topics = topics.iter().filter_map(|(topic, commits)| Some(counts(topic, &*commits.upgrade()?)));
    others.into_iter().chain(topics).collect()
}

/// The counts of a topic as long as a clone of this exists.
#[derive(Clone)]
pub(crate) struct TopicMetrics(Arc<Commits>);

impl TopicMetrics {
    pub fn new(topic: &str) -> Self {
        let mut topics = TOPICS.lock().unwrap_or_else(PoisonError::into_inner);
        topics.retain(|_, commits| commits.strong_count() > 0);
        if topics.len() >= TOPICS_LABELLED_MAX && !topics.contains_key(topic) {
            return TopicMetrics(OTHER_TOPICS.get_or_init(Arc::default).clone());
        }
        let commits = Arc::default();
        // A deleted topic of the same name may still be held by its readers.
        topics.insert(topic.to_owned(), Arc::downgrade(&commits));
        TopicMetrics(commits)
    }

    /// Records of the topic are stored.
    pub fn appended(&self, records: u64, bytes: u64) {
        self.0.records.add(records);
        self.0.bytes.add(bytes);
    }

    pub fn failed(&self) {
        self.0.failures.add(1);
    }

    /// Whether the topic has its own series.
    pub fn are_shown(&self) -> bool {
        OTHER_TOPICS.get().is_none_or(|others| !Arc::ptr_eq(others, &self.0))
    }
}

/// Adds the counters by topic.
pub(super) fn render(text: &mut Text) {
    type Count = fn(&CommitCounts) -> u64;
    let counters: [(&Family, Count); 3] = [
        (&families::COMMIT_RECORDS, |topic| topic.records),
        (&families::COMMIT_TOPIC_BYTES, |topic| topic.bytes),
        (&families::COMMIT_FAILURES, |topic| topic.failures),
    ];
    let topics = commit_counts();
    for (family, count) in counters {
        text.counters(family, topics.iter().map(|counts| ([counts.topic.as_str()], count(counts))));
    }
}
