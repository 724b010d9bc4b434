//! One partition of a topic: its index, the journal that extends it, and the handle through which all callers read it
//! and append to it.

use crate::checksums::{Remembered, TopicChecksums};
use crate::clock::Clock;
use crate::config::Config;
use crate::index::TopicIndex;
use crate::journal::{Extent, Journal, JournalTopic};
use crate::listed::{ListedTopic, of_index};
use crate::metrics::TopicMetrics;
use crate::readers::Readers;
use crate::settings::Settings;
use crate::store::{Storage, Store};
use crate::store_error::StoreError;
use rawline_journal::PartitionId;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::{Mutex, Notify, mpsc};

/// A partition of a topic: a log with dense offsets.
pub struct Partition {
    pub(crate) topic: Arc<Common>,
    pub(crate) number: u32,
    /// Its name in the log of the program: the topic's name for partition 0, `TOPIC/NUMBER` for the others.
    pub(crate) log: String,
    pub(crate) extent: Extent,
    /// Held while the settings or the first offset change.
    pub(crate) changing: Mutex<()>,
    /// Of batches that reads have cut.
    pub(crate) checksums: TopicChecksums,
    /// Where readers have ended.
    pub(crate) readers: Readers,
}

/// The shared state of a topic's partitions.
pub(crate) struct Common {
    /// The journal that has the topic.
    pub journal: Journal,
    /// The topic as its journal knows it.
    pub stored: Arc<JournalTopic>,
    pub name: String,
    /// Held, so that they are shown as long as the topic exists.
    pub metrics: TopicMetrics,
    pub shared: Arc<Shared>,
}

/// The shared state of a broker's topics.
pub(crate) struct Shared {
    pub storage: Storage,
    pub clock: Arc<dyn Clock>,
    pub config: Config,
    /// Notified when settings change.
    pub settings_changed: Arc<Notify>,
    pub checksums: Arc<Remembered>,
    /// Number of topics that this run has created, or has tried to.
    pub topics_created: AtomicU64,
    /// Every journal's task holds a clone: the channel closes when the last of them has ended.
    pub tasks: mpsc::Sender<()>,
}

/// The extent of a partition, or of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The topic's name.
    pub name: String,
    /// Offset of the first record; equals `next_offset` in an empty partition.
    pub first_offset: u64,
    /// The offset the next record will get.
    pub next_offset: u64,
    /// Number of objects.
    pub objects: u64,
    /// Size of all objects in bytes.
    pub bytes: u64,
    /// Time of the newest append, microseconds since the Unix epoch.
    pub latest_commit_us: Option<u64>,
}

/// How far a partition's records go, at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Offset of the first record; equals `next_offset` in an empty partition.
    pub first_offset: u64,
    /// The last stable offset: transactions that have records before it have ended.
    pub stable_offset: u64,
    /// The offset that the next record gets.
    pub next_offset: u64,
}

impl Partition {
    pub(crate) fn new(topic: Arc<Common>, number: u32) -> Arc<Partition> {
        let Some(extent) = topic.stored.extent(number) else {
            unreachable!("topic {} has no partition {number}", topic.name)
        };
        Arc::new(Partition {
            number,
            log: if number == 0 { topic.name.clone() } else { format!("{}/{number}", topic.name) },
            extent,
            changing: Mutex::default(),
            checksums: topic.shared.checksums.topic(),
            readers: Readers::default(),
            topic,
        })
    }

    /// Why the partition takes no appends any more, if its journal's task has panicked: the panic's message. Its
    /// records can be read.
    pub fn failure(&self) -> Option<String> {
        self.journal().failure()
    }

    /// The topic as lists have it.
    pub fn listed(&self) -> ListedTopic {
        ListedTopic(self.topic.stored.clone())
    }

    /// The topic's settings.
    pub fn settings(&self) -> Arc<Settings> {
        self.topic.stored.settings()
    }

    /// Whether every record needs a key: the topic is compacted.
    pub fn needs_keys(&self) -> bool {
        self.settings().compaction().is_some()
    }

    /// The topic's name.
    pub fn topic_name(&self) -> &str {
        &self.topic.name
    }

    /// The partition's extent now.
    pub fn status(&self) -> Status {
        of_index(&self.topic.name, &self.index())
    }

    /// Notes that it has a reader, which reads or waits for records.
    pub(crate) fn note_reader(&self) {
        self.store().note_reader(self.id());
    }

    /// The journal's id for it.
    pub(crate) fn id(&self) -> PartitionId {
        PartitionId { topic: self.topic.stored.id, number: self.number }
    }

    /// The journal that extends it.
    pub(crate) fn journal(&self) -> &Journal {
        &self.topic.journal
    }

    /// Waits until this broker has seen everything that is stored now, by other brokers too.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        Ok(self.journal().catch_up().await?)
    }

    /// Whether the partition ends at this offset or after it. A client that finds that it doesn't begins elsewhere, so
    /// what other brokers have stored counts too.
    pub async fn reaches(&self, offset: u64) -> Result<bool, StoreError> {
        if offset > self.offsets().end {
            self.catch_up().await?;
        }
        Ok(offset <= self.offsets().end)
    }

    /// The offsets of the partition's records now.
    pub fn offsets(&self) -> Range<u64> {
        self.index().offsets()
    }

    /// How far the partition's records go now.
    pub fn bounds(&self) -> Bounds {
        let index = self.index();
        let (first_offset, next_offset) = (index.first_offset(), index.next_offset());
        Bounds { first_offset, stable_offset: index.stable_offset(), next_offset }
    }

    /// Where its objects are: in its journal's store.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.topic.journal.store()
    }

    /// Whether the topic takes appends. One that is deleted doesn't, and another may have its name.
    pub fn is_live(&self) -> bool {
        !self.topic.stored.life.is_deleted()
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, TopicIndex> {
        self.extent.index()
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, TopicIndex> {
        self.extent.index_mut()
    }
}
