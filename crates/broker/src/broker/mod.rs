//! The broker: all topics of one store, by name and by id.
//!
//! It opens the journals and the tasks next to them, and closes them. `producers.rs` and `transactions.rs` are what
//! producers with a name ask for, `transactions_status.rs` what administrators see of them. Groups of consumers are the
//! coordinator's.

mod producers;
mod transactions;
mod transactions_status;

pub use producers::{OpenProducerError, is_named_id};
pub use transactions_status::NamedPartitions;

use crate::clock::{Clock, StorageClock};
use crate::cluster::{BrokerId, Card, Cluster};
use crate::config::Config;
use crate::coordinator::Coordinator;
use crate::forget_deleted::ForgettingTask;
use crate::journal::{Journal, JournalError, JournalTopic, Together};
use crate::journals::Journals;
use crate::limits::JOURNAL_TOPICS_MAX;
use crate::listed::{ListedTopic, TopicsByName};
use crate::notify::{Registered, Wanted};
use crate::partition::{Partition, Shared, Status};
use crate::retention::{self, RetentionTask};
use crate::settings::Settings;
use crate::storage_id::StorageId;
use crate::store::{Mappings, Storage, Store};
use crate::store_error::StoreError;
use crate::topic_error::{TopicError, check_name, check_new_name};
use crate::topics::{Topic, Topics, check_partitions};
use futures_util::future::{BoxFuture, try_join_all};
use rawline_journal::{Control, Refused, TopicId};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;

/// A topic whose journal's task has panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTopic {
    /// The topic's name.
    pub name: String,
    /// The panic's message.
    pub reason: String,
}

/// A journal as operators see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalStatus {
    /// Time of its newest object, whichever broker stored it, in microseconds since the Unix epoch. `None` without one.
    pub newest_us: Option<u64>,
    /// Whether none of its topics takes appends until a restart.
    pub has_failed: bool,
}

/// The broker: topics on a store.
pub struct Broker {
    shared: Arc<Shared>,
    topics: Arc<Topics>,
    /// The journals that have all topics.
    journals: Journals,
    /// The groups of consumers that have members.
    coordinator: Coordinator,
    /// The other brokers on the storage, once this one has joined them.
    cluster: OnceLock<Arc<Cluster>>,
    /// Forgets offsets in deleted topics, where the deletion doesn't.
    forgetting: Option<ForgettingTask>,
    /// Deletes old records.
    retention: RetentionTask,
    /// Closes when the tasks of all journals have ended.
    tasks: mpsc::Receiver<()>,
}

impl Broker {
    /// Opens the storage's journals, and waits until everything is known that was stored. Boxed, so that the code of a
    /// start is compiled in this crate only.
    pub fn open(
        storage: Storage,
        clock: Arc<dyn Clock>,
        config: Config,
    ) -> BoxFuture<'static, Result<Broker, StoreError>> {
        Box::pin(Broker::recover(storage, clock, config))
    }

    async fn recover(storage: Storage, clock: Arc<dyn Clock>, config: Config) -> Result<Broker, StoreError> {
        let (tasks, tasks_ended) = mpsc::channel(1);
        let shared = Arc::new(Shared {
            storage,
            clock: Arc::new(StorageClock::new(clock)),
            config,
            settings_changed: Arc::default(),
            checksums: Arc::default(),
            topics_created: AtomicU64::new(0),
            tasks,
        });
        let together = Together::default();
        let journals = open_journals(&shared, &together).await?;
        let topics = Arc::new(Topics::new(journals.clone(), shared.clone()));
        // What is counted of topics is shown from now on.
        topics.show();
        let (config, interval) = (&shared.config, shared.config.retention_interval);
        let forgetting = (journals.all().len() > 1).then(|| ForgettingTask::start(journals.downgrade(), interval));
        // The task must not keep the store open when the broker is gone.
        let weak = Arc::downgrade(&topics);
        let retained = move || weak.upgrade().map(|topics| topics.with_limits()).unwrap_or_default();
        let (clock, changed) = (shared.clock.clone(), shared.settings_changed.clone());
        let retention = retention::start(retained, clock, interval, changed, together.written);
        Ok(Broker {
            coordinator: Coordinator::new(
                journals.clone(),
                config.consumer_session,
                config.writer_id,
                config.is_read_only,
            ),
            shared,
            topics,
            journals,
            cluster: OnceLock::new(),
            forgetting,
            retention,
            tasks: tasks_ended,
        })
    }

    /// Joins the other brokers on the storage, with what `describe` adds to this broker's card. Does nothing if the
    /// storage has one broker.
    pub async fn join(&self, describe: impl FnOnce(Card) -> Card) -> Result<(), StoreError> {
        let Some(members) = self.shared.storage.members.clone() else { return Ok(()) };
        let card = Card::new(BrokerId(self.shared.config.writer_id));
        let Config { is_read_only, ref zone, .. } = self.shared.config;
        let card = describe(Card { is_read_only, zone: zone.clone(), ..card });
        let cluster = Cluster::join(members, self.journals.clone(), card).await?;
        self.coordinator.join(&cluster);
        assert!(self.cluster.set(cluster).is_ok(), "a broker joins the others once");
        Ok(())
    }

    /// The brokers on the storage, if it can have several and this one has joined them.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.get()
    }

    /// Waits until this broker has seen what was acknowledged in these topics before this call, by any broker. Whatever
    /// reports where a partition begins or ends, or what is at an offset, calls it first: an end below an acknowledged
    /// record makes clients go back.
    pub async fn see_ends<'a>(&self, topics: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
        let Some(cluster) = self.cluster() else { return Ok(()) };
        let journals: BTreeSet<u32> = topics.into_iter().map(|topic| self.journal_of(topic)).collect();
        try_join_all(journals.into_iter().map(|journal| cluster.see_end(journal))).await.map(drop)
    }

    /// The groups of consumers.
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// The topic of that name, if it exists. Another broker may have created it a moment ago. Nothing is created.
    pub async fn topic(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        if let Some(topic) = self.topics.named(name) {
            return Ok(topic);
        }
        self.journals.named(name).await?;
        self.topics.named(name).ok_or_else(|| TopicError::NotFound { name: name.to_owned() })
    }

    /// The topic with this id, if it exists. Another broker may have created it a moment ago.
    pub async fn topic_with_id(&self, id: TopicId) -> Result<Option<Arc<Topic>>, TopicError> {
        if let Some(topic) = self.topics.identified(id) {
            return Ok(Some(topic));
        }
        try_join_all(self.journals.all().iter().map(Journal::catch_up)).await?;
        Ok(self.topics.identified(id))
    }

    /// The topic of that name; creates it if it doesn't exist and the configuration allows that. For appends and for
    /// requests that create a topic.
    pub async fn topic_or_create(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        match self.topic(name).await {
            Err(TopicError::NotFound { .. }) if self.shared.config.create_topics => {
                match self.create_topic(name, Map::new()).await {
                    // Another request was first.
                    Err(TopicError::Exists { .. }) => self.topic(name).await,
                    created => created,
                }
            }
            found => found,
        }
    }

    /// As [`Broker::create_listed`]; returns the topic's handle.
    pub async fn create_topic(&self, name: &str, settings: Map<String, Value>) -> Result<Arc<Topic>, TopicError> {
        self.create_listed(name, settings).await?;
        self.topics.named(name).ok_or_else(|| TopicError::NotFound { name: name.to_owned() })
    }

    /// Creates a topic with these settings, which are stored. Fails if the topic exists. Unlike an append, a request to
    /// create a topic needs no permission by [`Config::create_topics`]. A topic without a handle takes less memory.
    pub async fn create_listed(&self, name: &str, mut settings: Map<String, Value>) -> Result<ListedTopic, TopicError> {
        check_new_name(name)?;
        let journal = self.journals.one(name);
        let partitions = Settings::take_partitions(&mut settings).unwrap_or(1);
        if journal.topics_count() >= JOURNAL_TOPICS_MAX {
            return Err(TopicError::TooMany { what: "topics", limit: JOURNAL_TOPICS_MAX });
        }
        check_partitions(journal, partitions)?;
        let settings = Settings::default().changed(name, settings);
        let is_limited = settings.expiry().bytes.is_some();
        let settings = settings.encode(self.new_topic_id())?;
        let control = Control::Create { topic: 0, name: name.into(), partitions, settings: settings[..].into() };
        match journal.change(control).await {
            Ok(_) => {
                if is_limited {
                    self.shared.settings_changed.notify_one();
                }
                let created = journal.named(name).map(ListedTopic);
                created.ok_or_else(|| TopicError::NotFound { name: name.to_owned() })
            }
            Err(JournalError::Refused(Refused::Exists { .. })) => Err(TopicError::Exists { name: name.to_owned() }),
            Err(error) => Err(error.into()),
        }
    }

    /// An id that no topic has.
    fn new_topic_id(&self) -> TopicId {
        // Grows by at least one with each topic of this run, also if another run has the same number.
        let created = self.shared.topics_created.fetch_add(1, Ordering::Relaxed);
        TopicId::new(self.shared.config.writer_id, self.shared.clock.now_us() + created)
    }

    /// Deletes a topic, permanently. When this returns, the deletion is durable, and no read returns anything of the
    /// topic.
    pub async fn delete_topic(&self, name: &str) -> Result<(), TopicError> {
        check_name(name)?;
        let journal = self.journals.one(name);
        let topic = journal.named(name).ok_or_else(|| TopicError::NotFound { name: name.to_owned() })?;
        self.delete(journal, &topic).await
    }

    /// Deletes the topic with this id, as [`Broker::delete_topic`] does. Returns its name; `None` if there was no such
    /// topic.
    pub async fn delete_topic_with_id(&self, id: TopicId) -> Result<Option<String>, TopicError> {
        let Some(topic) = self.topic_with_id(id).await? else { return Ok(None) };
        self.delete(topic.journal(), &topic.topic.stored).await?;
        Ok(Some(topic.topic_name().to_owned()))
    }

    /// Deletes this topic, whatever has its name by now.
    async fn delete(&self, journal: &Journal, topic: &JournalTopic) -> Result<(), TopicError> {
        let name = &*topic.name;
        match journal.change(Control::Delete { topic: topic.id }).await {
            Ok(_) => {
                self.topics.drop_deleted(name);
                tracing::info!(topic = name, "deleted the topic");
                Ok(())
            }
            Err(JournalError::Refused(_)) => Err(TopicError::NotFound { name: name.to_owned() }),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether this broker stores nothing.
    pub fn is_read_only(&self) -> bool {
        self.shared.config.is_read_only
    }

    /// The zone that it runs in.
    pub fn zone(&self) -> Option<&str> {
        self.shared.config.zone.as_deref()
    }

    /// Whether an append may create its topic.
    pub fn creates_topics(&self) -> bool {
        self.shared.config.create_topics
    }

    /// A partition of an existing topic. Nothing is created.
    pub async fn partition(&self, name: &str, number: u64) -> Result<Arc<Partition>, TopicError> {
        match self.topic(name).await?.partition(number) {
            // Another broker may have given the topic more partitions.
            Err(TopicError::NoPartition { .. }) => {
                self.journals.one(name).catch_up().await?;
                self.topic(name).await?.partition(number)
            }
            found => found,
        }
    }

    /// The partition, if it exists as far as this broker has seen.
    pub fn known_partition(&self, name: &str, number: u64) -> Option<Arc<Partition>> {
        self.known(name)?.partition(number).ok()
    }

    /// As [`Broker::partition`], of the topic with this id; `None` if it doesn't exist.
    pub async fn partition_with_id(&self, id: TopicId, number: u64) -> Result<Option<Arc<Partition>>, TopicError> {
        let Some(topic) = self.topic_with_id(id).await? else { return Ok(None) };
        let found = match topic.partition(number) {
            Err(TopicError::NoPartition { .. }) => {
                topic.catch_up().await?;
                topic.partition(number)
            }
            found => found,
        };
        found.map(Some)
    }

    /// As [`Broker::partition`], for appends: partition 0 creates the topic, as [`Broker::topic_or_create`] does.
    pub async fn partition_or_create(&self, name: &str, number: u64) -> Result<Arc<Partition>, TopicError> {
        match number {
            0 => self.topic_or_create(name).await?.partition(0),
            // A topic that doesn't exist has no such partition.
            number => self.partition(name, number).await,
        }
    }

    /// All topics, by name.
    pub fn topics(&self) -> Vec<ListedTopic> {
        self.list().range("", Bound::Unbounded).collect()
    }

    /// The same, which share the maps of the journals.
    pub(crate) fn list(&self) -> TopicsByName {
        self.topics.list()
    }

    /// The topic of that name, if it exists as far as this broker has seen.
    pub(crate) fn known(&self, name: &str) -> Option<Arc<Topic>> {
        self.topics.named(name)
    }

    /// Up to `limit` topics by name that are `seen`, whose names begin with a prefix, and whether there are more. Costs
    /// as much as what it looks at, however many topics there are.
    pub fn topics_page(
        &self,
        prefix: &str,
        begin: Bound<&str>,
        limit: usize,
        seen: impl Fn(&str) -> bool,
    ) -> (Vec<ListedTopic>, bool) {
        let list = self.list();
        let mut found = list.range(prefix, begin).filter(|topic| seen(topic.topic_name()));
        let page = found.by_ref().take(limit).collect();
        (page, found.next().is_some())
    }

    /// Number of topics.
    pub fn topics_count(&self) -> usize {
        self.journals.all().first().map_or(0, Journal::topics_count)
    }

    /// Number of the storage's journals.
    pub fn journals(&self) -> u32 {
        self.journals.all().len() as u32
    }

    /// The number of the storage's journal that has the topic or the group with this name.
    pub fn journal_of(&self, name: &str) -> u32 {
        self.journals.number_of(name)
    }

    /// Topics that take no appends because their journal's task has panicked, by name. Their records can be read.
    pub fn failed_topics(&self) -> Vec<FailedTopic> {
        if self.journals.all().iter().all(|journal| journal.failure().is_none()) {
            return Vec::new();
        }
        let failed = |topic: ListedTopic| {
            let name = topic.topic_name();
            Some(FailedTopic { name: name.to_owned(), reason: self.journals.one(name).failure()? })
        };
        self.topics().into_iter().filter_map(failed).collect()
    }

    /// The journals, by number.
    pub fn journal_statuses(&self) -> Vec<JournalStatus> {
        let status = |journal: &Journal| JournalStatus {
            newest_us: Some(journal.with_newest_us(|newest_us| newest_us)).filter(|newest_us| *newest_us > 0),
            has_failed: journal.failure().is_some(),
        };
        self.journals.all().iter().map(status).collect()
    }

    /// All topics' extents, by name.
    pub fn statuses(&self) -> Vec<Status> {
        self.topics().iter().map(|topic| topic.summary()).collect()
    }

    /// Commits pending appends and releases the storage. Waits until topic handles that are held elsewhere are dropped.
    pub async fn close(self) {
        let Broker { shared, topics, journals, coordinator, retention, forgetting, tasks: mut ended, cluster } = self;
        if let Some(cluster) = cluster.into_inner() {
            cluster.stop().await;
        }
        if let Some(forgetting) = forgetting {
            forgetting.stop().await;
        }
        retention.stop().await;
        drop((topics, journals, coordinator, shared));
        // Nothing is ever sent: this returns when the last task has ended.
        let _ = ended.recv().await;
    }

    /// What tells the storage from others: drawn when it was created. Memory gets another with each run.
    pub fn storage_id(&self) -> StorageId {
        self.shared.storage.id
    }

    /// The mapped files of which reads return parts, if the storage maps files: they can be sent without being read.
    pub fn mappings(&self) -> Option<Arc<Mappings>> {
        self.shared.storage.journal().mappings()
    }

    /// Adds a subscription: from now on commits to topics that match are noted in its inbox. Returns the time of the
    /// newest commit that isn't.
    pub(crate) fn register(&self, wanted: Wanted) -> (Registered, u64) {
        self.journals.register(wanted)
    }

    /// The storage's time, in microseconds since the Unix epoch.
    pub(crate) fn now_us(&self) -> u64 {
        self.shared.clock.now_us()
    }
}

/// Opens the storage's journals, and waits until everything is known that was stored.
async fn open_journals(shared: &Arc<Shared>, together: &Together) -> Result<Journals, StoreError> {
    let open = |(number, store): (u32, &Arc<dyn Store>)| {
        // The storage is open while the journal stores what is pending. After the tasks, it is closed.
        let (clock, guard) = (shared.clock.clone(), (shared.storage.clone(), shared.tasks.clone()));
        let config = shared.config.journal(&**store);
        let thread = shared.config.commit_thread.as_ref();
        let journal = Journal::open_guarded(store.clone(), clock, config, together.numbered(number), guard, thread);
        if shared.config.is_read_only { journal.refusing_changes() } else { journal }
    };
    let journals: Vec<Journal> = (0..).zip(&shared.storage.journals).map(open).collect();
    let is_usable = shared.storage.journal().ready();
    tokio::try_join!(try_join_all(journals.iter().map(Journal::ready)), is_usable)?;
    Ok(Journals::new(journals))
}
