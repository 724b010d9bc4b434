//! One partition of a topic: its index, and the handle through which everyone reads it and appends to it.

use crate::end::{End, InJournal, in_store};
use crate::index::TopicIndex;
use crate::journal::Extent;
use crate::life::Life;
use crate::metrics::TopicMetrics;
use crate::own::Own;
use crate::read::{Remembered, TopicChecksums};
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::subscriptions::{Registry, Subject};
use crate::topic::TopicError;
use crate::{Clock, Config};
use rawline_journal::PartitionId;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::{Mutex, Notify, mpsc, watch};

/// A partition of a topic: a log with dense offsets. Dropping the last handle ends its task, once pending appends are
/// stored.
pub struct Partition {
    pub(crate) topic: Arc<Common>,
    pub(crate) number: u32,
    /// Its name in the store and in the log of the program; see [`log_name`](crate::store::log_name).
    pub(crate) log: String,
    pub(crate) index: Arc<RwLock<TopicIndex>>,
    pub(crate) next_offset: watch::Receiver<u64>,
    pub(crate) end: End,
    /// Held while the settings or the first offset change: what is stored is read, changed and stored again.
    pub(crate) changing: Mutex<()>,
    /// Whether the store had objects at the start whose records are all deleted.
    pub(crate) leftover: AtomicBool,
    /// Of batches that reads have cut.
    pub(crate) checksums: TopicChecksums,
}

/// What the partitions of a topic share.
pub(crate) struct Common {
    pub name: String,
    pub life: Arc<Life>,
    pub subject: Arc<Subject>,
    pub settings: Arc<RwLock<Arc<Settings>>>,
    /// Held, so that they are shown as long as the topic exists, even if its task has panicked.
    pub metrics: TopicMetrics,
    pub shared: Arc<Shared>,
}

/// What the topics of a broker share.
pub(crate) struct Shared {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub config: Config,
    /// Notified when settings change, or when there is something to delete.
    pub settings_changed: Arc<Notify>,
    pub checksums: Arc<Remembered>,
    /// Whom commits are reported to, without a journal.
    pub subscriptions: Arc<Registry>,
    /// Number of partitions that have their own objects, without the first of each topic.
    pub partitions: AtomicUsize,
    /// Number of topics that this run has created in a journal, or has tried to.
    pub topics_created: AtomicU64,
    /// Every task of a topic and every deletion holds a clone: the channel closes when the last of them has ended.
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

/// Whether a topic that the store doesn't have may be opened, as an empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Refuse,
}

/// A partition as the store has it.
pub(crate) struct Recovered {
    index: TopicIndex,
    /// Of a partition other than the first, only the first offset is stored with it.
    pub settings: Settings,
    /// Whether all records of some objects are deleted.
    has_leftover: bool,
}

impl Recovered {
    /// Asks the store for a log's objects and settings.
    pub async fn read(store: &dyn Store, log: &str, missing: Missing) -> Result<Recovered, TopicError> {
        // The settings first: another broker may append and then trim, and the list must have what it appended.
        let stored = store.settings(log).await?;
        if stored.as_ref().and_then(Settings::deleted_by).is_some() {
            return Err(TopicError::Deleting { name: log.to_owned() });
        }
        let mut settings = Settings::parse(log, stored.as_ref())?;
        let mut index = TopicIndex::default();
        let listed = store.list(log, 0).await?;
        if missing == Missing::Refuse && stored.is_none() && listed.is_empty() {
            return Err(TopicError::NotFound { name: log.to_owned() });
        }
        index.extend(&listed).map_err(|gap| StoreError::human(format!("topic {log}: {gap}")))?;
        let next_offset = index.next_offset();
        if settings.first_offset() > next_offset {
            // The machine went down before trimmed records were on disk, or objects were removed by hand. New records
            // must not be taken for deleted ones, now or after a restart.
            tracing::warn!(
                topic = log,
                first_offset = settings.first_offset(),
                next_offset,
                "the topic ends before its first offset: records that were trimmed are lost; it goes on at its end"
            );
            settings = settings.at(next_offset);
            store.put_settings(log, settings.encode()?).await?;
        }
        index.trim(settings.first_offset());
        let has_leftover = index.hidden() > 0;
        index.delete_hidden();
        Ok(Recovered { index, settings, has_leftover })
    }
}

impl Partition {
    /// A partition that has its own objects.
    pub(crate) fn own(topic: Arc<Common>, number: u32, log: String, recovered: Recovered) -> Arc<Partition> {
        let Recovered { index, has_leftover, .. } = recovered;
        let own = Own::new(index.next_offset());
        Arc::new(Partition {
            number,
            log,
            index: Arc::new(RwLock::new(index)),
            next_offset: own.next_offset(),
            end: End::Own(own),
            changing: Mutex::default(),
            leftover: AtomicBool::new(has_leftover),
            checksums: topic.shared.checksums.topic(),
            topic,
        })
    }

    /// A partition in a journal.
    pub(crate) fn in_journal(topic: Arc<Common>, log: String, extent: Extent, end: InJournal) -> Arc<Partition> {
        let Extent { index, end: next_offset } = extent;
        Arc::new(Partition {
            number: end.number(),
            log,
            index,
            next_offset: next_offset.subscribe(),
            end: End::Journal(end),
            changing: Mutex::default(),
            leftover: AtomicBool::new(false),
            checksums: topic.shared.checksums.topic(),
            topic,
        })
    }

    /// Why the partition takes no appends any more, if its task has panicked: the panic's message. Its records can be
    /// read.
    pub fn failure(&self) -> Option<String> {
        self.end.failure()
    }

    /// The topic's settings.
    pub fn settings(&self) -> Arc<Settings> {
        self.topic.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores changed settings, and then uses them. The caller holds the lock. With a partition other than the first,
    /// only its first offset is stored.
    pub(crate) async fn store_settings(&self, change: impl FnOnce(Settings) -> Settings) -> Result<(), StoreError> {
        let store = self.store();
        // Another broker on the same bucket may have changed them.
        let stored = store.settings(&self.log).await?;
        if stored.as_ref().and_then(Settings::deleted_by).is_some() {
            return Err(StoreError::wait(format!(
                "topic {}: another broker is deleting it; restart this broker to use a new topic of that name",
                self.topic.name
            )));
        }
        let settings = change(Settings::parse(&self.log, stored.as_ref())?);
        store.put_settings(&self.log, settings.encode()?).await?;
        let mut index = self.index_mut();
        let first_offset = settings.first_offset().min(index.next_offset());
        index.trim(first_offset);
        if self.number == 0 {
            *self.topic.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        }
        Ok(())
    }

    /// The topic's name.
    pub fn topic_name(&self) -> &str {
        &self.topic.name
    }

    /// The partition's extent now.
    pub fn status(&self) -> Status {
        let index = self.index();
        Status {
            name: self.topic.name.clone(),
            first_offset: index.first_offset(),
            next_offset: index.next_offset(),
            objects: index.objects() as u64,
            bytes: index.bytes(),
            latest_commit_us: index.appended_us(),
        }
    }

    /// What the journal calls it, if it is in one.
    pub(crate) fn id(&self) -> Option<PartitionId> {
        match &self.end {
            End::Own(_) => None,
            End::Journal(end) => Some(end.id()),
        }
    }

    /// Waits until this broker has seen everything that is stored now, by other brokers too.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        match &self.end {
            End::Own(_) => Ok(()),
            End::Journal(end) => end.journal().catch_up().await.map_err(|error| in_store(&error)),
        }
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

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.topic.shared.store
    }

    /// Whether the topic takes appends. One that is deleted doesn't, and another may have its name.
    pub fn is_live(&self) -> bool {
        self.topic.life.is_live()
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, TopicIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, TopicIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}
