//! A topic: its partitions, opened when somebody first asks for them, and what is set for all of them.

use crate::Kind;
use crate::end::{End, InJournal};
use crate::index::TopicIndex;
use crate::journal::{Journal, JournalTopic};
use crate::life::Life;
use crate::limits::{PARTITIONS_MAX, TOPIC_NAME_BYTES_MAX};
use crate::metrics::TopicMetrics;
use crate::partition::{Common, Missing, Partition, Recovered, Shared, Status};
use crate::settings::{Retention, Settings};
use crate::store::{StoreError, log_name};
use rawline_journal::TopicId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use thiserror::Error;
use tokio::sync::Mutex;

/// A topic. Where no partition is named, it stands for partition 0, as in the API.
pub struct Topic {
    first: Arc<Partition>,
    /// The other partitions that somebody has asked for.
    others: RwLock<BTreeMap<u32, Arc<Partition>>>,
    /// Held while a partition with its own objects is opened.
    opening: Mutex<()>,
    /// How many of the broker's partitions these are, if they have their own objects.
    counted: AtomicUsize,
}

impl Deref for Topic {
    type Target = Partition;

    fn deref(&self) -> &Partition {
        &self.first
    }
}

/// Topics that Kafka keeps for itself. Here groups and transactions are in no topic, and tools would take one of these
/// names for Kafka's.
const RESERVED_NAMES: [&str; 4] =
    ["__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"];

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
    /// A new topic can't have the name.
    #[error(
        "{name:?} is the name of a topic that Kafka keeps for itself, where tools expect groups or transactions; use \
         another name"
    )]
    Reserved {
        /// The name asked for.
        name: String,
    },
    /// No topic has that name, and it wasn't to be created.
    #[error("topic {name:?} does not exist; appending to it creates it, if the broker is configured to create topics")]
    NotFound {
        /// The name asked for.
        name: String,
    },
    /// The topic has fewer partitions.
    #[error(
        "topic {name:?} has {partitions} partition(s), numbered from 0, and no partition {number}; use one of these, \
         or give the topic more partitions"
    )]
    NoPartition {
        /// The topic's name.
        name: String,
        /// The number asked for.
        number: u64,
        /// Number of the topic's partitions.
        partitions: u32,
    },
    /// The topic has more partitions already.
    #[error(
        "topic {name:?} has {partitions} partitions, and can't have {wanted}: their number can only grow; keep it, or \
         create another topic"
    )]
    FewerPartitions {
        /// The topic's name.
        name: String,
        /// Number of the topic's partitions.
        partitions: u32,
        /// The number asked for.
        wanted: u32,
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
    /// The broker has its maximum number of topics, or of partitions.
    #[error("this broker can't have more than {limit} {what}; use fewer")]
    TooMany {
        /// Topics or partitions.
        what: &'static str,
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
            TopicError::Name { .. }
            | TopicError::Reserved { .. }
            | TopicError::NotFound { .. }
            | TopicError::NoPartition { .. }
            | TopicError::FewerPartitions { .. }
            | TopicError::Exists { .. } => Kind::FixRequest,
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

/// Checks the name of a topic that is to be created. [`check_name`] is for those that may exist.
pub fn check_new_name(name: &str) -> Result<(), TopicError> {
    check_name(name)?;
    if RESERVED_NAMES.contains(&name) { Err(TopicError::Reserved { name: name.to_owned() }) } else { Ok(()) }
}

impl Topic {
    /// Recovers the topic from the store. Its partitions other than the first are recovered when they are asked for.
    pub(crate) async fn open(name: String, missing: Missing, shared: &Arc<Shared>) -> Result<Arc<Topic>, TopicError> {
        let recovered = Recovered::read(&*shared.store, &name, missing).await?;
        let settings = recovered.settings.clone();
        let partitions = settings.partitions();
        let common = Arc::new(Common {
            metrics: TopicMetrics::new(&name),
            subject: shared.subscriptions.subject(name.as_str(), None),
            name: name.clone(),
            life: Arc::new(Life::new()),
            settings: Arc::new(RwLock::new(Arc::new(settings))),
            shared: shared.clone(),
        });
        let topic = Topic::of(Partition::own(common, 0, name, recovered));
        topic.count(partitions)?;
        Ok(Arc::new(topic))
    }

    /// The handle of a topic in a journal.
    pub(crate) fn in_journal(journal: &Journal, topic: &Arc<JournalTopic>, shared: &Arc<Shared>) -> Arc<Topic> {
        let common = Arc::new(Common {
            metrics: TopicMetrics::new(&topic.name),
            name: topic.name.to_string(),
            life: topic.life.clone(),
            subject: topic.subject.clone(),
            settings: topic.settings.clone(),
            shared: shared.clone(),
        });
        Arc::new(Topic::of(Topic::partition_in(common, InJournal::new(journal.clone(), topic.clone(), 0))))
    }

    fn of(first: Arc<Partition>) -> Topic {
        Topic { first, others: RwLock::default(), opening: Mutex::default(), counted: AtomicUsize::new(0) }
    }

    fn partition_in(common: Arc<Common>, end: InJournal) -> Arc<Partition> {
        let number = end.number();
        let Some(extent) = end.topic().extent(number) else {
            unreachable!("topic {} has no partition {number}", common.name)
        };
        let log = log_name(&common.name, number);
        Partition::in_journal(common, log, extent, end)
    }

    /// Its id. A topic that gets the name of a deleted one has another, if the storage has a journal.
    pub fn topic_id(&self) -> TopicId {
        match &self.end {
            End::Own(_) => TopicId::derived(0, &self.topic.name),
            End::Journal(end) => end.topic().topic_id,
        }
    }

    /// Number of partitions.
    pub fn partitions(&self) -> u32 {
        match &self.end {
            End::Own(_) => self.settings().partitions(),
            End::Journal(end) => end.topic().partitions(),
        }
    }

    /// The partition with this number.
    pub async fn partition(&self, number: u64) -> Result<Arc<Partition>, TopicError> {
        if number == 0 {
            return Ok(self.first.clone());
        }
        let partitions = self.partitions();
        let Some(number) = u32::try_from(number).ok().filter(|number| *number < partitions) else {
            return Err(TopicError::NoPartition { name: self.topic.name.clone(), number, partitions });
        };
        if let Some(opened) = self.others().get(&number) {
            return Ok(opened.clone());
        }
        match &self.end {
            End::Journal(end) => {
                let make = || Topic::partition_in(self.topic.clone(), end.other(number));
                Ok(self.others_mut().entry(number).or_insert_with(make).clone())
            }
            End::Own(_) => self.open_own(number).await,
        }
    }

    /// Recovers a partition other than the first. It exists by the topic's settings, also if the store has nothing of
    /// it.
    async fn open_own(&self, number: u32) -> Result<Arc<Partition>, TopicError> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(opened) = self.others().get(&number) {
            return Ok(opened.clone());
        }
        if !self.is_live() {
            return Err(TopicError::NotFound { name: self.topic.name.clone() });
        }
        let log = log_name(&self.topic.name, number);
        let recovered = Recovered::read(&**self.store(), &log, Missing::Create).await?;
        let opened = Partition::own(self.topic.clone(), number, log, recovered);
        let before = self.others_mut().insert(number, opened.clone());
        assert!(before.is_none(), "partition {} was opened twice", opened.log);
        Ok(opened)
    }

    /// The partitions that can fail one by one. In a journal, they fail together.
    pub(crate) fn with_own_tasks(&self) -> Vec<Arc<Partition>> {
        match &self.end {
            End::Own(_) => self.opened(),
            End::Journal(_) => vec![self.first.clone()],
        }
    }

    /// The partitions that are open, in order.
    fn opened(&self) -> Vec<Arc<Partition>> {
        std::iter::once(&self.first).chain(self.others().values()).cloned().collect()
    }

    /// The partition with this number, if retention may have something to delete there.
    pub(crate) async fn to_retain(&self, number: u32) -> Result<Option<Arc<Partition>>, TopicError> {
        if number == 0 {
            return Ok(Some(self.first.clone()));
        }
        let has_limits = self.settings().expiry() != Retention::default();
        let is_wanted = has_limits
            && match &self.end {
                End::Own(_) => true,
                // The newest object is always kept.
                End::Journal(end) => end.topic().extent(number).is_some_and(|extent| extent.index().objects() > 1),
            };
        if is_wanted { self.partition(number.into()).await.map(Some) } else { Ok(self.others().get(&number).cloned()) }
    }

    /// The size of each partition's objects in bytes, of all that are open; in a journal, of all.
    pub(crate) fn partitions_bytes(&self) -> Vec<u64> {
        let mut bytes = vec![self.first.index().bytes()];
        match &self.end {
            End::Own(_) => bytes.extend(self.others().values().map(|partition| partition.index().bytes())),
            End::Journal(end) => end.topic().for_others(|extent| bytes.push(extent.index().bytes())),
        }
        bytes
    }

    /// Opens all partitions, so that [`Topic::summary`] counts them. The log reports those that can't be opened.
    pub async fn open_partitions(&self) {
        let partitions = self.partitions();
        let are_open = matches!(self.end, End::Journal(_)) || self.others().len() + 1 == partitions as usize;
        for number in 1..if are_open { 1 } else { partitions } {
            if let Err(error) = self.partition(number.into()).await {
                tracing::warn!(topic = self.topic.name, partition = number, %error, "a partition can't be used");
            }
        }
    }

    /// The extent of partition 0, with the number and the size of the objects of all open partitions, and the time of
    /// the newest.
    pub fn summary(&self) -> Status {
        let mut status = self.status();
        let mut add = |index: &TopicIndex| {
            status.objects += index.objects() as u64;
            status.bytes += index.bytes();
            status.latest_commit_us = status.latest_commit_us.max(index.appended_us());
        };
        match &self.end {
            End::Own(_) => self.others().values().for_each(|partition| add(&partition.index())),
            End::Journal(end) => end.topic().for_others(|extent| add(&extent.index())),
        }
        status
    }

    /// The offsets of each partition's records, in order.
    pub async fn all_offsets(&self) -> Result<Vec<Range<u64>>, TopicError> {
        let mut all = vec![self.offsets()];
        match &self.end {
            End::Own(_) => {
                for number in 1..self.partitions() {
                    all.push(self.partition(number.into()).await?.offsets());
                }
            }
            End::Journal(end) => end.topic().for_others(|extent| all.push(extent.index().offsets())),
        }
        Ok(all)
    }

    /// The size of each partition's objects in bytes, in order.
    pub async fn all_bytes(&self) -> Result<Vec<u64>, TopicError> {
        if let End::Own(_) = self.end {
            for number in 1..self.partitions() {
                self.partition(number.into()).await?;
            }
        }
        Ok(self.partitions_bytes())
    }

    /// Changes settings: a member that is null is removed, one that isn't mentioned stays as it is. They may have
    /// [`SETTINGS_BYTES_MAX`](crate::limits::SETTINGS_BYTES_MAX) bytes. The number of partitions can only grow.
    pub async fn change_settings(&self, changes: Map<String, Value>) -> Result<(), TopicError> {
        self.change_settings_by(|_| Ok(changes)).await
    }

    /// The same with changes that depend on the settings before: no other change comes in between.
    pub async fn change_settings_by<E: From<TopicError>>(
        &self,
        change: impl FnOnce(&Settings) -> Result<Map<String, Value>, E>,
    ) -> Result<(), E> {
        let _one_at_a_time = self.changing.lock().await;
        if !self.is_live() {
            return Err(TopicError::NotFound { name: self.topic.name.clone() }.into());
        }
        let mut changes = change(&self.settings())?;
        if changes.is_empty() {
            return Ok(());
        }
        let wanted = Settings::take_partitions(&mut changes);
        self.store_changes(wanted, changes).await?;
        self.topic.shared.settings_changed.notify_one();
        Ok(())
    }

    /// Stores changes of settings, and perhaps a number of partitions. The caller holds the lock.
    pub(crate) async fn store_changes(
        &self,
        wanted: Option<u32>,
        changes: Map<String, Value>,
    ) -> Result<(), TopicError> {
        let name = &self.topic.name;
        let partitions = self.partitions();
        if let Some(wanted) = wanted.filter(|&wanted| wanted < partitions) {
            return Err(TopicError::FewerPartitions { name: name.clone(), partitions, wanted });
        }
        if let End::Journal(end) = &self.end {
            return end.change_settings(&self.settings().changed(name, changes), wanted).await;
        }
        let partitions = wanted.unwrap_or(partitions);
        if partitions > 1 && !self.store().has_partitions() {
            let message = "this storage was written by an earlier version, in which a topic has one partition; start \
                           a broker on an empty prefix, and create the topic there";
            return Err(StoreError::new(Kind::FixRequest, message).into());
        }
        let before = self.count(partitions)?;
        let stored = self.store_settings(|stored| stored.changed(name, changes).with_partitions(partitions)).await;
        if stored.is_err() {
            self.uncount(before);
        }
        Ok(stored?)
    }

    /// Counts the topic's partitions above the first among the broker's, unless it would have too many. Returns how
    /// many were counted before.
    fn count(&self, partitions: u32) -> Result<usize, TopicError> {
        let (counted, before) = (partitions as usize - 1, self.counted.load(Ordering::Relaxed));
        assert!(before <= counted, "{counted} partitions above the first after {before}");
        let (all, added) = (&self.topic.shared.partitions, counted - before);
        if added > 0 && all.fetch_add(added, Ordering::Relaxed) + added > PARTITIONS_MAX {
            all.fetch_sub(added, Ordering::Relaxed);
            return Err(TopicError::TooMany { what: "partitions", limit: PARTITIONS_MAX });
        }
        self.counted.store(counted, Ordering::Relaxed);
        Ok(before)
    }

    fn uncount(&self, before: usize) {
        let counted = self.counted.swap(before, Ordering::Relaxed);
        let all = self.topic.shared.partitions.fetch_sub(counted - before, Ordering::Relaxed);
        assert!(counted <= all, "{counted} partitions of {all} were counted");
    }

    /// Ends the tasks of all partitions, after the appends that they have received: the topic's deletion begins. Later
    /// appends get an error.
    pub(crate) async fn stop(&self) {
        self.topic.life.stop();
        // From here on no partition is opened.
        drop(self.opening.lock().await);
        for partition in self.with_own_tasks() {
            partition.stop_task().await;
        }
    }

    fn others(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<Partition>>> {
        self.others.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn others_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u32, Arc<Partition>>> {
        self.others.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        self.uncount(0);
    }
}
