//! All topics of one store, and its journals.

use crate::Clock;
use crate::CommitThread;
use crate::clock::StorageClock;
use crate::cluster::{BrokerId, Card, Cluster};
use crate::coordinator::Coordinator;
use crate::forget_deleted::ForgettingTask;
use crate::journal::{Journal, JournalConfig, JournalStore, ProducerIds, Together};
use crate::journaled::follow;
use crate::journals::Journals;
use crate::limits::{COMMIT_BYTES, OBJECT_BYTES_MAX, RETENTION_INTERVAL};
use crate::partition::{Partition, Shared, Status};
use crate::retention::{self, RetentionTask};
use crate::storage_id::StorageId;
use crate::store::{Mappings, Store};
use crate::store_error::StoreError;
use crate::subscriptions::Registry;
use crate::topic::{Topic, TopicError, check_name, check_new_name};
use futures_util::future::{BoxFuture, try_join_all};
use rawline_groups::CONSUMER_SESSION;
use rawline_journal::{Limits, TopicId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tokio::sync::mpsc;

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
        }
    }

    /// The settings of a journal on this store.
    fn journal(&self, store: &dyn JournalStore) -> JournalConfig {
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

/// A topic whose journal's task has panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTopic {
    /// The topic's name.
    pub name: String,
    /// The panic's message.
    pub reason: String,
}

/// The handles of topics, by name.
#[derive(Default)]
pub(crate) struct Topics(RwLock<BTreeMap<String, Arc<Topic>>>);

impl Topics {
    /// The one with this name, unless it is deleted.
    pub(crate) fn live(&self, name: &str) -> Option<Arc<Topic>> {
        self.read().get(name).filter(|topic| topic.is_live()).cloned()
    }

    fn all(&self) -> Vec<Arc<Topic>> {
        self.read().values().cloned().collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<Topic>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Arc<Topic>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handles of topics, and what new ones are made of.
type Sources = (Arc<Topics>, Journals, Arc<Shared>);

/// The broker: topics on a store.
pub struct Broker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) topics: Arc<Topics>,
    /// The journals that have all topics.
    pub(crate) journals: Journals,
    /// The groups of consumers that have members.
    pub(crate) coordinator: Coordinator,
    /// The other brokers on the storage, once this one has joined them.
    cluster: OnceLock<Arc<Cluster>>,
    /// What the task that deletes old records looks at.
    sources: Option<Arc<Sources>>,
    /// Forgets offsets in deleted topics, where the deletion doesn't.
    forgetting: Option<ForgettingTask>,
    /// Deletes old records; `None` until the broker is open.
    retention: Option<RetentionTask>,
    /// Closes when the tasks of all journals have ended.
    tasks: mpsc::Receiver<()>,
}

impl Broker {
    /// Opens the store's journals, and waits until everything is known that was stored. Boxed, so that the code of a
    /// start is compiled in this crate only.
    pub fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: Config,
    ) -> BoxFuture<'static, Result<Broker, StoreError>> {
        Box::pin(Broker::recover(store, clock, config))
    }

    async fn recover(store: Arc<dyn Store>, clock: Arc<dyn Clock>, config: Config) -> Result<Broker, StoreError> {
        let (tasks, tasks_ended) = mpsc::channel(1);
        let clock = Arc::new(StorageClock::new(clock));
        let shared = Arc::new(Shared {
            store,
            clock,
            config,
            settings_changed: Arc::default(),
            checksums: Arc::default(),
            topics_created: AtomicU64::new(0),
            tasks,
        });
        let mut broker = Broker {
            shared: shared.clone(),
            topics: Arc::default(),
            journals: Journals::default(),
            coordinator: Coordinator::new(
                shared.config.consumer_session,
                shared.config.writer_id,
                shared.config.is_read_only,
            ),
            cluster: OnceLock::new(),
            sources: None,
            forgetting: None,
            retention: None,
            tasks: tasks_ended,
        };
        let together = Together::default();
        let open = |(number, store): (u32, Arc<dyn JournalStore>)| {
            // The store is open while the journal stores what is pending. After the tasks, it is closed.
            let (clock, guard) = (shared.clock.clone(), (shared.store.clone(), shared.tasks.clone()));
            let config = shared.config.journal(&*store);
            let thread = shared.config.commit_thread.as_ref();
            let journal = Journal::open_guarded(store, clock, config, together.numbered(number), guard, thread);
            if shared.config.is_read_only { journal.refusing_changes() } else { journal }
        };
        let journals: Vec<Journal> = (0..).zip(shared.store.journals()).map(open).collect();
        assert!(!journals.is_empty(), "a store without a journal");
        tokio::try_join!(try_join_all(journals.iter().map(Journal::ready)), shared.store.ready())?;
        broker.journals = Journals::new(journals);
        broker.coordinator.keep_in(&broker.journals);
        broker.follow();
        // The task must not keep the store open when the broker is gone.
        let sources = Arc::new((broker.topics.clone(), broker.journals.clone(), shared.clone()));
        let weak = Arc::downgrade(&sources);
        if broker.journals.all().len() > 1 {
            let (weak, interval) = (weak.clone(), shared.config.retention_interval);
            let journals = move || weak.upgrade().map(|sources| sources.1.clone());
            broker.forgetting = Some(ForgettingTask::start(journals, interval));
        }
        broker.sources = Some(sources);
        let retained = move || {
            let Some(sources) = weak.upgrade() else { return Vec::new() };
            let (topics, journals, shared) = &*sources;
            follow(topics, journals, shared);
            // Another broker does it for the topics of its journals.
            topics.all().into_iter().filter(|topic| journals.tidies(topic.topic_name())).collect()
        };
        let (clock, interval) = (shared.clock.clone(), shared.config.retention_interval);
        broker.retention = Some(retention::start(retained, clock, interval, shared.settings_changed.clone()));
        Ok(broker)
    }

    /// Joins the other brokers on the storage, with what `describe` adds to this broker's card. Does nothing if the
    /// storage has one broker.
    pub async fn join(&self, describe: impl FnOnce(Card) -> Card) -> Result<(), StoreError> {
        let Some(members) = self.shared.store.members() else { return Ok(()) };
        let card = Card::new(BrokerId(self.shared.config.writer_id));
        let card = describe(Card { is_read_only: self.shared.config.is_read_only, ..card });
        let cluster = Cluster::join(members, self.journals.clone(), card).await?;
        self.coordinator.join(&cluster);
        assert!(self.cluster.set(cluster).is_ok(), "a broker joins the others once");
        Ok(())
    }

    /// The brokers on the storage, if it can have several and this one has joined them.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.get()
    }

    /// The topic of that name, if it exists. Another broker may have created it a moment ago. Nothing is created.
    pub async fn topic(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        self.topic_in(self.journals.one(name), name).await
    }

    /// The topic with this id, if it exists. Another broker may have created it a moment ago.
    pub async fn topic_with_id(&self, id: TopicId) -> Result<Option<Arc<Topic>>, TopicError> {
        self.identified(id).await
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

    /// Creates a topic with these settings, which are stored. Fails if the topic exists. Unlike an append, a request to
    /// create a topic needs no permission by [`Config::create_topics`].
    pub async fn create_topic(&self, name: &str, settings: Map<String, Value>) -> Result<Arc<Topic>, TopicError> {
        check_new_name(name)?;
        self.create_in(self.journals.one(name), name, settings).await
    }

    /// Deletes a topic, for good. When this returns, the deletion is durable, and no read returns anything of the
    /// topic.
    pub async fn delete_topic(&self, name: &str) -> Result<(), TopicError> {
        check_name(name)?;
        self.delete_in(self.journals.one(name), name).await
    }

    /// Deletes the topic with this id, as [`Broker::delete_topic`] does. Returns its name; `None` if there was no such
    /// topic.
    pub async fn delete_topic_with_id(&self, id: TopicId) -> Result<Option<String>, TopicError> {
        let Some(topic) = self.topic_with_id(id).await? else { return Ok(None) };
        self.delete_this(topic.end.journal(), topic.end.topic()).await?;
        Ok(Some(topic.topic.name.clone()))
    }

    /// Whether this broker stores nothing.
    pub fn is_read_only(&self) -> bool {
        self.shared.config.is_read_only
    }

    /// Whether an append may create its topic.
    pub fn creates_topics(&self) -> bool {
        self.shared.config.create_topics
    }

    /// A partition of an existing topic. Nothing is created.
    pub async fn partition(&self, name: &str, number: u64) -> Result<Arc<Partition>, TopicError> {
        match self.topic(name).await?.partition(number).await {
            // Another broker may have given the topic more partitions.
            Err(TopicError::NoPartition { .. }) => {
                self.catch_up(self.journals.one(name)).await?;
                self.topic(name).await?.partition(number).await
            }
            found => found,
        }
    }

    /// As [`Broker::partition`], of the topic with this id; `None` if there is no such topic.
    pub async fn partition_with_id(&self, id: TopicId, number: u64) -> Result<Option<Arc<Partition>>, TopicError> {
        let Some(topic) = self.topic_with_id(id).await? else { return Ok(None) };
        let found = match topic.partition(number).await {
            Err(TopicError::NoPartition { .. }) => {
                self.catch_up(topic.end.journal()).await?;
                topic.partition(number).await
            }
            found => found,
        };
        found.map(Some)
    }

    /// As [`Broker::partition`], for appends: partition 0 creates the topic, as [`Broker::topic_or_create`] does.
    pub async fn partition_or_create(&self, name: &str, number: u64) -> Result<Arc<Partition>, TopicError> {
        match number {
            0 => self.topic_or_create(name).await?.partition(0).await,
            // A topic that doesn't exist has no such partition.
            number => self.partition(name, number).await,
        }
    }

    /// All topics, by name.
    pub fn topics(&self) -> Vec<Arc<Topic>> {
        self.follow();
        self.topics.all()
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
        let failed =
            |topic: &Arc<Topic>| Some(FailedTopic { name: topic.topic.name.clone(), reason: topic.failure()? });
        self.topics().iter().filter_map(failed).collect()
    }

    /// All topics' extents, by name.
    pub fn statuses(&self) -> Vec<Status> {
        self.topics().iter().map(|topic| topic.summary()).collect()
    }

    /// Commits pending appends and releases the store. Waits until topic handles that are held elsewhere are dropped.
    pub async fn close(self) {
        let Broker { shared, topics, journals, retention, forgetting, tasks: mut ended, cluster, sources, .. } = self;
        if let Some(cluster) = cluster.into_inner() {
            cluster.stop().await;
        }
        if let Some(forgetting) = forgetting {
            forgetting.stop().await;
        }
        if let Some(retention) = retention {
            retention.stop().await;
        }
        drop((topics, journals, shared, sources));
        // Nothing is ever sent: this returns when the last task has ended.
        let _ = ended.recv().await;
    }

    /// What tells the storage from others: drawn when it was created. Memory gets another with each run.
    pub fn storage_id(&self) -> StorageId {
        let of_run = || StorageId::of_run(self.shared.config.writer_id);
        self.shared.store.id().unwrap_or_else(of_run)
    }

    /// The mapped files of which reads return parts, if the store maps files: they can be sent without being read.
    pub fn mappings(&self) -> Option<Arc<Mappings>> {
        self.shared.store.mappings()
    }

    /// Whom commits are reported to.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        let Some(first) = self.journals.all().first() else { unreachable!("a broker without a journal") };
        first.subscriptions()
    }
}
