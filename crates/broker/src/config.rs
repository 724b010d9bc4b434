//! A broker's settings.

use crate::commit_thread::CommitThread;
use crate::journal_config::JournalConfig;
use crate::limits::{COMMIT_BYTES, OBJECT_BYTES_MAX, RETENTION_INTERVAL};
use crate::producer_ids::ProducerIds;
use crate::store::Store;
use rawline_groups::CONSUMER_SESSION;
use rawline_journal::Limits;
use std::time::Duration;

/// A broker's settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// How long a commit waits for more appends. Zero: appends that arrive during a commit are the next one.
    pub batch_wait: Duration,
    /// Soft limit of one commit in bytes.
    pub commit_bytes: u64,
    /// Maximum size of one request's batches in bytes.
    pub request_bytes_max: u64,
    /// Whether the first append to a topic creates it.
    pub create_topics: bool,
    /// How often old records are deleted.
    pub retention_interval: Duration,
    /// Random: distinguishes the objects of this run from those of other runs and brokers.
    pub writer_id: u64,
    /// Draws the ids of named producers.
    pub producer_ids: ProducerIds,
    /// The time after which a silent member of a consumer group is gone.
    pub consumer_session: Duration,
    /// Where a journal commits; in the current runtime if this is `None`.
    pub commit_thread: Option<CommitThread>,
    /// Whether it stores nothing, and follows what other brokers on the storage store.
    pub is_read_only: bool,
    /// The zone that it runs in, if there are several: clients in the zone read from it.
    pub zone: Option<String>,
}

impl Config {
    /// The defaults for a local directory. The ids of named producers follow from `writer_id`.
    pub fn new(writer_id: u64) -> Self {
        Config {
            batch_wait: Duration::ZERO,
            commit_bytes: COMMIT_BYTES,
            request_bytes_max: 64 << 20,
            create_topics: true,
            retention_interval: RETENTION_INTERVAL,
            writer_id,
            producer_ids: ProducerIds::of_seed(writer_id),
            consumer_session: CONSUMER_SESSION,
            commit_thread: None,
            is_read_only: false,
            zone: None,
        }
    }

    /// The settings of a journal on this store.
    pub(crate) fn journal(&self, store: &dyn Store) -> JournalConfig {
        let producer_ids = self.producer_ids.clone();
        let config = JournalConfig { producer_ids, ..JournalConfig::new(self.writer_id) };
        let limits = Limits { batch_wait: self.batch_wait, object_bytes: self.commit_bytes, ..config.limits };
        let settings = store.settings(JournalConfig { limits, ..config });
        if self.is_read_only { settings.read_only() } else { settings }
    }

    /// Maximum size of the batches in one object: a nearly full commit and one more request.
    pub(crate) fn object_bytes_max(&self) -> u64 {
        // An eighth is left for the index; `limits.rs` asserts that the largest one fits.
        self.commit_bytes.saturating_add(self.request_bytes_max).min(OBJECT_BYTES_MAX / 8 * 7)
    }
}
