//! One topic: its name, its index, and the handle through which everyone reads it and appends to it.

use crate::commit::Appender;
use crate::end::{End, InJournal};
use crate::index::TopicIndex;
use crate::journal::{Extent, Journal, JournalTopic};
use crate::life::Life;
use crate::limits::{APPEND_QUEUE_MAX, TOPIC_NAME_BYTES_MAX};
use crate::metrics::{TopicMetrics, TrimMetrics};
use crate::read::{Remembered, TopicChecksums};
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::supervise::Supervised;
use crate::{Clock, Config, Kind};
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use thiserror::Error;
use tokio::sync::{Mutex, Notify, mpsc, watch};

/// A topic. Dropping the last handle ends its task, once pending appends are stored.
pub struct Topic {
    pub(crate) name: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) index: Arc<RwLock<TopicIndex>>,
    pub(crate) next_offset: watch::Receiver<u64>,
    pub(crate) end: End,
    pub(crate) object_bytes_max: u64,
    /// Held while the settings or the first offset change: what is stored is read, changed and stored again.
    pub(crate) changing: Mutex<()>,
    pub(crate) life: Arc<Life>,
    /// Whether the store had objects at the start whose records are all deleted.
    pub(crate) leftover: AtomicBool,
    pub(crate) trim_metrics: TrimMetrics,
    /// Of batches that reads have cut.
    pub(crate) checksums: TopicChecksums,
    /// Held, so that they are shown as long as the topic exists, even if its task has panicked.
    pub(crate) metrics: TopicMetrics,
    settings: Arc<RwLock<Arc<Settings>>>,
    /// Notified when the settings change, or when there is something to delete.
    pub(crate) settings_changed: Arc<Notify>,
}

/// What the topics of a broker share.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    /// Notified when settings change, or when there is something to delete.
    pub settings_changed: Arc<Notify>,
    pub checksums: Arc<Remembered>,
}

/// A topic's extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The topic's name.
    pub name: String,
    /// Offset of the first record; equals `next_offset` in an empty topic.
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

/// Why a topic isn't available.
#[derive(Debug, Clone, Error)]
pub enum TopicError {
    /// The name breaks the rules.
    #[error(
        "{name:?} can't be a topic's name: use 1 to {TOPIC_NAME_BYTES_MAX} letters, digits, '.', '_' and '-', not \
         beginning with '.'"
    )]
    Name {
        /// The name asked for.
        name: String,
    },
    /// No topic has that name, and it wasn't to be created.
    #[error("topic {name:?} does not exist; appending to it creates it, if the broker is configured to create topics")]
    NotFound {
        /// The name asked for.
        name: String,
    },
    /// A topic of that name was to be created, and one exists.
    #[error("topic {name:?} exists already; use another name, or change the topic's settings")]
    Exists {
        /// The name asked for.
        name: String,
    },
    /// A topic of that name was deleted, and the store still has some of its objects.
    #[error(
        "topic {name:?} was deleted, and its objects are still being removed from the store; retry until its name is \
         free"
    )]
    Deleting {
        /// The name asked for.
        name: String,
    },
    /// The broker has its maximum number of topics.
    #[error("this broker has {limit} topics, its maximum; use fewer topics")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TopicError {
    /// What a caller can do.
    pub fn kind(&self) -> Kind {
        match self {
            TopicError::Name { .. } | TopicError::NotFound { .. } | TopicError::Exists { .. } => Kind::FixRequest,
            TopicError::Deleting { .. } => Kind::Wait,
            TopicError::TooMany { .. } => Kind::TellHuman,
            TopicError::Store(error) => error.kind,
        }
    }
}

/// Checks a topic's name: it becomes a file's name and a part of an S3 key.
pub fn check_name(name: &str) -> Result<(), TopicError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let valid =
        !name.is_empty() && name.len() <= TOPIC_NAME_BYTES_MAX && !name.starts_with('.') && name.bytes().all(plain);
    if valid { Ok(()) } else { Err(TopicError::Name { name: name.chars().take(TOPIC_NAME_BYTES_MAX).collect() }) }
}

/// Whether a topic that the store doesn't have may be opened, as an empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Refuse,
}

/// The topic's objects and settings as the store has them, and whether all records of some objects are deleted.
async fn recover(store: &dyn Store, name: &str, missing: Missing) -> Result<(TopicIndex, Settings, bool), TopicError> {
    // The settings first: another broker may append and then trim, and the list must have what it appended.
    let stored = store.settings(name).await?;
    if stored.as_ref().and_then(Settings::deleted_by).is_some() {
        return Err(TopicError::Deleting { name: name.to_owned() });
    }
    let mut settings = Settings::parse(name, stored.as_ref())?;
    let mut index = TopicIndex::default();
    let listed = store.list(name, 0).await?;
    if missing == Missing::Refuse && stored.is_none() && listed.is_empty() {
        return Err(TopicError::NotFound { name: name.to_owned() });
    }
    index.extend(&listed).map_err(|gap| StoreError::human(format!("topic {name}: {gap}")))?;
    let next_offset = index.next_offset();
    if settings.first_offset() > next_offset {
        // The machine went down before trimmed records were on disk, or objects were removed by hand. New records must
        // not be taken for deleted ones, now or after a restart.
        tracing::warn!(
            topic = name,
            first_offset = settings.first_offset(),
            next_offset,
            "the topic ends before its first offset: records that were trimmed are lost; it goes on at its end"
        );
        settings = settings.at(next_offset);
        store.put_settings(name, settings.encode()?).await?;
    }
    index.trim(settings.first_offset());
    let has_leftover = index.hidden() > 0;
    index.delete_hidden();
    Ok((index, settings, has_leftover))
}

impl Topic {
    /// Recovers the topic from the store and starts the task that owns its end.
    pub(crate) async fn open(
        name: String,
        missing: Missing,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: &Config,
        shared: Shared,
        task: mpsc::Sender<()>,
    ) -> Result<Arc<Topic>, TopicError> {
        let (index, settings, leftover) = recover(&*store, &name, missing).await?;
        let (sender, next_offset) = watch::channel(index.next_offset());
        let (inbox, waiting) = mpsc::channel(APPEND_QUEUE_MAX);
        let index = Arc::new(RwLock::new(index));
        let metrics = TopicMetrics::new(&name);
        let appender =
            Appender::new(name.clone(), store.clone(), clock, config, index.clone(), sender, metrics.clone());
        let topic = name.clone();
        let failed = move |reason: &str| {
            tracing::error!(
                topic,
                reason,
                "this topic has stopped after an internal error and takes no appends until a restart; please report it"
            );
            crate::metrics::topic_failed();
        };
        let task = Supervised::start(appender.run(waiting), failed, task);
        let object_bytes_max = config.object_bytes_max();
        Ok(Arc::new(Topic {
            trim_metrics: TrimMetrics::new(),
            checksums: shared.checksums.topic(),
            metrics,
            name,
            store,
            index,
            next_offset,
            end: End::Own { inbox, task },
            object_bytes_max,
            changing: Mutex::default(),
            life: Arc::new(Life::new()),
            leftover: AtomicBool::new(leftover),
            settings: Arc::new(RwLock::new(Arc::new(settings))),
            settings_changed: shared.settings_changed,
        }))
    }

    /// A handle of a topic in a journal.
    pub(crate) fn in_journal(
        journal: &Journal,
        topic: &Arc<JournalTopic>,
        store: Arc<dyn Store>,
        config: &Config,
        shared: &Shared,
    ) -> Arc<Topic> {
        const NUMBER: u32 = 0;
        let Some(Extent { index, end }) = topic.extent(NUMBER) else {
            unreachable!("topic {} has no partition {NUMBER}", topic.name)
        };
        Arc::new(Topic {
            trim_metrics: TrimMetrics::new(),
            checksums: shared.checksums.topic(),
            metrics: TopicMetrics::new(&topic.name),
            name: topic.name.to_string(),
            store,
            index,
            next_offset: end.subscribe(),
            end: End::Journal(InJournal::new(journal.clone(), topic.clone(), NUMBER)),
            object_bytes_max: config.object_bytes_max(),
            changing: Mutex::default(),
            life: topic.life.clone(),
            leftover: AtomicBool::new(false),
            settings: topic.settings.clone(),
            settings_changed: shared.settings_changed.clone(),
        })
    }

    /// Why the topic takes no appends any more, if its task has panicked: the panic's message. Its records can be read.
    pub fn failure(&self) -> Option<String> {
        self.end.failure()
    }

    /// The topic's settings.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes settings: a member that is null is removed, one that isn't mentioned stays as it is. They may have
    /// [`SETTINGS_BYTES_MAX`](crate::limits::SETTINGS_BYTES_MAX) bytes.
    pub async fn change_settings(&self, changes: Map<String, Value>) -> Result<(), TopicError> {
        let _one_at_a_time = self.changing.lock().await;
        if !self.life.is_live() {
            return Err(TopicError::NotFound { name: self.name.clone() });
        }
        self.store_settings(|settings| settings.changed(&self.name, changes)).await?;
        self.settings_changed.notify_one();
        Ok(())
    }

    /// Stores changed settings, and then uses them. The caller holds the lock.
    pub(crate) async fn store_settings(&self, change: impl FnOnce(Settings) -> Settings) -> Result<(), StoreError> {
        if let End::Journal(end) = &self.end {
            return end.put_settings(&change((*self.settings()).clone())).await;
        }
        // Another broker on the same bucket may have changed them.
        let stored = self.store.settings(&self.name).await?;
        if stored.as_ref().and_then(Settings::deleted_by).is_some() {
            return Err(StoreError::wait(format!(
                "topic {}: another broker is deleting it; restart this broker to use a new topic of that name",
                self.name
            )));
        }
        let settings = change(Settings::parse(&self.name, stored.as_ref())?);
        self.store.put_settings(&self.name, settings.encode()?).await?;
        let mut index = self.index_mut();
        let first_offset = settings.first_offset().min(index.next_offset());
        index.trim(first_offset);
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        Ok(())
    }

    /// The topic's extent now.
    pub fn status(&self) -> Status {
        let index = self.index();
        Status {
            name: self.name.clone(),
            first_offset: index.first_offset(),
            next_offset: index.next_offset(),
            objects: index.objects() as u64,
            bytes: index.bytes(),
            latest_commit_us: index.appended_us(),
        }
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, TopicIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, TopicIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}
