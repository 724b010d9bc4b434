//! All topics of one store: recovered at start, opened and created on demand.

use crate::Clock;
use crate::CommitThread;
use crate::clock::StorageClock;
use crate::cluster::{BrokerId, Card, Cluster};
use crate::coordinator::Coordinator;
use crate::delete::{Deletions, Progress};
use crate::forget_deleted::ForgettingTask;
use crate::journal::{Journal, JournalConfig, JournalStore, ProducerIds, Together};
use crate::journaled::follow;
use crate::journals::Journals;
use crate::limits::{COMMIT_BYTES, OBJECT_BYTES_MAX, RETENTION_INTERVAL, TOPICS_MAX, TOPICS_RECOVERING_MAX};
use crate::partition::{Missing, Partition, Shared, Status};
use crate::retention::{self, RetentionTask};
use crate::storage_id::StorageId;
use crate::store::{Mappings, Store, StoreError};
use crate::subscriptions::Registry;
use crate::topic::{Topic, TopicError, check_name, check_new_name};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, stream};
use rawline_groups::CONSUMER_SESSION;
use rawline_journal::Limits;
use rawline_journal::TopicId;
use serde_json::Map;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tokio::sync::{OnceCell, mpsc, watch};

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

/// A topic whose task has panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTopic {
    /// The topic's name; of a partition other than the first, followed by `/` and its number.
    pub name: String,
    /// The panic's message.
    pub reason: String,
}

/// What a topic's name stands for.
#[derive(Clone)]
pub(crate) enum Slot {
    /// A topic, as soon as it is open.
    Topic(Arc<OnceCell<Opened>>),
    /// A topic that is being deleted. Its name is free when the deletion is done.
    Deleting(watch::Receiver<Progress>),
}

/// What became of a topic that was to be opened.
#[derive(Clone)]
pub(crate) enum Opened {
    Topic(Arc<Topic>),
    /// Its deletion began first.
    Deleting,
}

impl Slot {
    /// The topic, if it is open.
    pub(crate) fn opened(&self) -> Option<&Arc<Topic>> {
        match self {
            Slot::Topic(cell) => match cell.get() {
                Some(Opened::Topic(topic)) => Some(topic),
                Some(Opened::Deleting) | None => None,
            },
            Slot::Deleting(_) => None,
        }
    }

    /// The topic, if it is open and takes appends.
    pub(crate) fn live(&self) -> Option<&Arc<Topic>> {
        self.opened().filter(|topic| topic.is_live())
    }
}

/// All topics, by name.
#[derive(Default)]
pub(crate) struct Topics(RwLock<BTreeMap<String, Slot>>);

impl Topics {
    /// Those that are open.
    pub(crate) fn all(&self) -> Vec<Arc<Topic>> {
        self.read().values().filter_map(Slot::opened).cloned().collect()
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Slot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Slot>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a name whose topic does not exist, unless somebody else is opening it.
    fn forget(&self, name: &str, cell: Arc<OnceCell<Opened>>) {
        drop(cell);
        let mut topics = self.write();
        // Clones are made under the lock: nobody gets one now.
        if let Some(Slot::Topic(cell)) = topics.get(name)
            && Arc::strong_count(cell) == 1
            && cell.get().is_none()
        {
            topics.remove(name);
        }
    }
}

/// The handles of topics, and what new ones are made of.
type Sources = (Arc<Topics>, Journals, Arc<Shared>);

/// The broker: topics on a store.
pub struct Broker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) topics: Arc<Topics>,
    /// The journals that have all topics, if the store has any.
    pub(crate) journals: Journals,
    /// The groups of consumers that have members.
    pub(crate) coordinator: Coordinator,
    /// The other brokers on the storage, once this one has joined them.
    cluster: OnceLock<Arc<Cluster>>,
    /// What the task that deletes old records looks at.
    sources: Option<Arc<Sources>>,
    /// Forgets offsets in deleted topics, where the deletion doesn't.
    forgetting: Option<ForgettingTask>,
    /// Deletes old records; `None` until all topics are recovered.
    retention: Option<RetentionTask>,
    pub(crate) deletions: Deletions,
    /// Closes when all tasks of topics and all deletions have ended.
    tasks: mpsc::Receiver<()>,
}

impl Broker {
    /// Recovers every topic of the store. One that can't be recovered is reported in the log and to callers that ask
    /// for it; the others are served.
    pub async fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>, config: Config) -> Result<Broker, StoreError> {
        let (tasks, tasks_ended) = mpsc::channel(1);
        let clock = Arc::new(StorageClock::new(clock));
        let shared = Arc::new(Shared {
            store,
            clock,
            config,
            settings_changed: Arc::default(),
            checksums: Arc::default(),
            subscriptions: Arc::default(),
            partitions: AtomicUsize::new(0),
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
            deletions: Deletions::default(),
            tasks: tasks_ended,
        };
        let stores = shared.store.journals();
        if stores.is_empty() {
            shared.store.ready().await?;
            broker.recover().await?;
        } else {
            let together = Together::default();
            let open = |(number, store): (u32, Arc<dyn JournalStore>)| {
                // The store is open while the journal stores what is pending. Whoever waits for the tasks finds it
                // closed.
                let (clock, guard) = (shared.clock.clone(), (shared.store.clone(), shared.tasks.clone()));
                let config = shared.config.journal(&*store);
                let thread = shared.config.commit_thread.as_ref();
                let journal = Journal::open_guarded(store, clock, config, together.numbered(number), guard, thread);
                if shared.config.is_read_only { journal.refusing_changes() } else { journal }
            };
            let journals: Vec<Journal> = (0..).zip(stores).map(open).collect();
            tokio::try_join!(try_join_all(journals.iter().map(Journal::ready)), shared.store.ready())?;
            broker.journals = Journals::new(journals);
            broker.coordinator.keep_in(&broker.journals);
            broker.follow();
        }
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

    /// Opens the topics that have their own objects.
    async fn recover(&self) -> Result<(), StoreError> {
        let (open, names) = (self, self.shared.store.topics().await?);
        stream::iter(&names)
            .for_each_concurrent(TOPICS_RECOVERING_MAX, |name| async move {
                let opened = match check_name(name) {
                    Ok(()) => open.open_topic(name, Missing::Refuse).await.map(drop),
                    Err(error) => Err(error),
                };
                match opened {
                    // A prefix of a bucket may hold no object of ours.
                    Ok(()) | Err(TopicError::NotFound { .. }) => {}
                    Err(TopicError::Deleting { .. }) => open.continue_deletion(name),
                    Err(error) => tracing::error!(topic = name, %error, "a topic can't be used"),
                }
            })
            .await;
        Ok(())
    }

    /// The topic of that name, if it exists: opened already, or in the store, where another broker may have created it.
    /// Nothing is created.
    pub async fn topic(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        if let Some(journal) = self.journals.of(name) {
            return self.topic_in(journal, name).await;
        }
        let slot = self.slot(name);
        if let Some(topic) = slot.as_ref().and_then(Slot::opened) {
            return Ok(topic.clone());
        }
        check_name(name)?;
        // A name that is known was found in the store, but its topic could not be opened before.
        let is_known = slot.map(drop).is_some();
        if is_known || self.is_stored(name).await? {
            match self.open_topic(name, Missing::Refuse).await {
                Err(TopicError::Deleting { .. }) => {}
                opened => return opened,
            }
        }
        Err(TopicError::NotFound { name: name.to_owned() })
    }

    /// The topic with this id, if it exists. Another broker may have created it a moment ago.
    pub async fn topic_with_id(&self, id: TopicId) -> Result<Option<Arc<Topic>>, TopicError> {
        match self.journals.all() {
            [] => Ok(self.topics.all().into_iter().find(|topic| topic.is_live() && topic.topic_id() == id)),
            _ => self.identified(id).await,
        }
    }

    /// Whether the store has anything of that topic.
    pub(crate) async fn is_stored(&self, name: &str) -> Result<bool, StoreError> {
        let store = &self.shared.store;
        Ok(store.settings(name).await?.is_some() || !store.list(name, 0).await?.is_empty())
    }

    /// The topic of that name; creates it if it doesn't exist and the configuration allows that. For appends and for
    /// requests that create a topic.
    pub async fn topic_or_create(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        match self.topic(name).await {
            Err(TopicError::NotFound { .. }) if self.shared.config.create_topics => match self.journals.of(name) {
                _ if check_new_name(name).is_err() => Err(TopicError::Reserved { name: name.to_owned() }),
                None => self.open_topic(name, Missing::Create).await,
                Some(journal) => match self.create_in(journal, name, Map::new()).await {
                    // Another request was first.
                    Err(TopicError::Exists { .. }) => self.topic_in(journal, name).await,
                    created => created,
                },
            },
            found => found,
        }
    }

    /// Whether this broker stores nothing.
    pub fn is_read_only(&self) -> bool {
        self.shared.config.is_read_only
    }

    /// Whether a topic may be created by whoever only wants to append to it.
    pub fn creates_topics(&self) -> bool {
        self.shared.config.create_topics
    }

    /// A partition of an existing topic. Nothing is created.
    pub async fn partition(&self, name: &str, number: u64) -> Result<Arc<Partition>, TopicError> {
        match (self.topic(name).await?.partition(number).await, self.journals.of(name)) {
            // Another broker may have given the topic more partitions.
            (Err(TopicError::NoPartition { .. }), Some(journal)) => {
                self.catch_up(journal).await?;
                self.topic(name).await?.partition(number).await
            }
            (found, _) => found,
        }
    }

    /// As [`Broker::partition`], of the topic with this id; `None` if there is no such topic.
    pub async fn partition_with_id(&self, id: TopicId, number: u64) -> Result<Option<Arc<Partition>>, TopicError> {
        let Some(topic) = self.topic_with_id(id).await? else { return Ok(None) };
        let found = match (topic.partition(number).await, self.journals.of(topic.topic_name())) {
            (Err(TopicError::NoPartition { .. }), Some(journal)) => {
                self.catch_up(journal).await?;
                topic.partition(number).await
            }
            (found, _) => found,
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

    /// Number of the storage's journals; 1 where topics have their own objects.
    pub fn journals(&self) -> u32 {
        self.journals.all().len().max(1) as u32
    }

    /// The number of the storage's journal that has the topic or the group with this name.
    pub fn journal_of(&self, name: &str) -> u32 {
        self.journals.number_of(name)
    }

    /// Topics that take no appends because their task has panicked, by name. Their records can be read.
    pub fn failed_topics(&self) -> Vec<FailedTopic> {
        let failed = |part: Arc<Partition>| Some(FailedTopic { name: part.log.clone(), reason: part.failure()? });
        self.topics().iter().flat_map(|topic| topic.with_own_tasks()).filter_map(failed).collect()
    }

    /// All topics' extents, by name.
    pub fn statuses(&self) -> Vec<Status> {
        self.topics().iter().map(|topic| topic.summary()).collect()
    }

    /// Commits pending appends and releases the store. Waits until topic handles that are held elsewhere are dropped.
    pub async fn close(self) {
        let Broker {
            shared,
            topics,
            journals,
            retention,
            forgetting,
            deletions,
            tasks: mut ended,
            cluster,
            sources,
            ..
        } = self;
        if let Some(cluster) = cluster.into_inner() {
            cluster.stop().await;
        }
        if let Some(forgetting) = forgetting {
            forgetting.stop().await;
        }
        deletions.stop();
        if let Some(retention) = retention {
            retention.stop().await;
        }
        drop((topics, journals, shared, sources));
        // Nobody sends: this returns when the last task has ended.
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
        match self.journals.all().first() {
            Some(journal) => journal.subscriptions(),
            None => self.shared.subscriptions.clone(),
        }
    }

    pub(crate) fn slot(&self, name: &str) -> Option<Slot> {
        self.topics.read().get(name).cloned()
    }

    pub(crate) async fn open_topic(&self, name: &str, missing: Missing) -> Result<Arc<Topic>, TopicError> {
        let deleting = || TopicError::Deleting { name: name.to_owned() };
        let cell = {
            let mut topics = self.topics.write();
            match topics.get(name) {
                Some(Slot::Topic(cell)) => cell.clone(),
                Some(Slot::Deleting(_)) => return Err(deleting()),
                None if topics.len() >= TOPICS_MAX => {
                    return Err(TopicError::TooMany { what: "topics", limit: TOPICS_MAX });
                }
                None => {
                    let cell = Arc::default();
                    topics.insert(name.to_owned(), Slot::Topic(Arc::clone(&cell)));
                    cell
                }
            }
        };
        let open = || async {
            let opened = Topic::open(name.to_owned(), missing, &self.shared).await;
            Ok::<_, TopicError>(Opened::Topic(opened?))
        };
        match cell.get_or_try_init(open).await.cloned() {
            Ok(Opened::Topic(topic)) => Ok(topic),
            Ok(Opened::Deleting) => Err(deleting()),
            Err(error) => {
                if matches!(error, TopicError::NotFound { .. } | TopicError::Deleting { .. }) {
                    self.topics.forget(name, cell);
                }
                Err(error)
            }
        }
    }
}
