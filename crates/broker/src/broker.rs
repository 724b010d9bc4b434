//! All topics of one store: recovered at start, opened and created on demand.

use crate::Clock;
use crate::limits::{COMMIT_BYTES, OBJECT_BYTES_MAX, RETENTION_INTERVAL, TOPICS_MAX, TOPICS_RECOVERING_MAX};
use crate::retention::{self, RetentionTask};
use crate::store::{Mappings, Store, StoreError};
use crate::topic::{Status, Topic, TopicError, check_name};
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Notify, OnceCell, mpsc};

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
}

impl Config {
    /// The defaults for a local directory.
    pub fn new(writer_id: u64) -> Self {
        Config {
            batch_wait: Duration::ZERO,
            commit_bytes: COMMIT_BYTES,
            request_bytes_max: 64 << 20,
            create_topics: true,
            retention_interval: RETENTION_INTERVAL,
            writer_id,
        }
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
    /// The topic's name.
    pub name: String,
    /// The panic's message.
    pub reason: String,
}

type Slot = Arc<OnceCell<Arc<Topic>>>;

/// All topics, by name.
#[derive(Default)]
pub(crate) struct Topics(RwLock<BTreeMap<String, Slot>>);

impl Topics {
    /// Those that are open.
    pub(crate) fn all(&self) -> Vec<Arc<Topic>> {
        let topics = self.0.read().unwrap_or_else(PoisonError::into_inner);
        topics.values().filter_map(|slot| slot.get()).cloned().collect()
    }
}

/// The broker: topics on a store.
pub struct Broker {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    config: Config,
    topics: Arc<Topics>,
    settings_changed: Arc<Notify>,
    /// Deletes old records; `None` until all topics are recovered.
    retention: Option<RetentionTask>,
    /// Every topic's task holds a clone: the channel closes when the last of them has ended.
    tasks: (mpsc::Sender<()>, mpsc::Receiver<()>),
}

impl Broker {
    /// Recovers every topic of the store. One that can't be recovered is reported in the log and to callers that ask
    /// for it; the others are served.
    pub async fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>, config: Config) -> Result<Broker, StoreError> {
        crate::metrics::register();
        let names = store.topics().await?;
        let mut broker = Broker {
            store,
            clock,
            config,
            topics: Arc::default(),
            settings_changed: Arc::default(),
            retention: None,
            tasks: mpsc::channel(1),
        };
        let open = &broker;
        stream::iter(&names)
            .for_each_concurrent(TOPICS_RECOVERING_MAX, |name| async move {
                let opened = match check_name(name) {
                    Ok(()) => open.open_topic(name).await.map(drop),
                    Err(error) => Err(error),
                };
                if let Err(error) = opened {
                    tracing::error!(topic = name, %error, "a topic can't be used");
                }
            })
            .await;
        let (topics, changed) = (broker.topics.clone(), broker.settings_changed.clone());
        broker.retention =
            Some(retention::start(topics, broker.clock.clone(), broker.config.retention_interval, changed));
        Ok(broker)
    }

    /// The topic of that name, if it exists: opened already, or in the store, where another broker may have created it.
    /// Nothing is created.
    pub async fn topic(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        match self.slot(name) {
            Some(slot) => match slot.get() {
                Some(topic) => Ok(topic.clone()),
                // It was found in the store but could not be opened before.
                None => self.open_topic(name).await,
            },
            None => {
                check_name(name)?;
                let is_stored =
                    self.store.settings(name).await?.is_some() || !self.store.list(name, 0).await?.is_empty();
                if is_stored {
                    self.open_topic(name).await
                } else {
                    Err(TopicError::NotFound { name: name.to_owned() })
                }
            }
        }
    }

    /// The topic of that name; creates it if it doesn't exist and the configuration allows that. For appends and for
    /// requests that create a topic.
    pub async fn topic_or_create(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        match self.topic(name).await {
            Err(TopicError::NotFound { .. }) if self.config.create_topics => self.open_topic(name).await,
            found => found,
        }
    }

    /// All topics, by name.
    pub fn topics(&self) -> Vec<Arc<Topic>> {
        self.topics.all()
    }

    /// Topics that take no appends because their task has panicked, by name. Their records can be read.
    pub fn failed_topics(&self) -> Vec<FailedTopic> {
        let failed = |topic: &Arc<Topic>| Some(FailedTopic { name: topic.name.clone(), reason: topic.failure()? });
        self.topics().iter().filter_map(failed).collect()
    }

    /// All topics' extents, by name.
    pub fn statuses(&self) -> Vec<Status> {
        self.topics().iter().map(|topic| topic.status()).collect()
    }

    /// Commits pending appends and releases the store. Waits until topic handles that are held elsewhere are dropped.
    pub async fn close(self) {
        let Broker { topics, retention, tasks: (sender, mut ended), .. } = self;
        if let Some(retention) = retention {
            retention.stop().await;
        }
        drop((topics, sender));
        // Nobody sends: this returns when the last task has ended.
        let _ = ended.recv().await;
    }

    /// The mapped files of which reads return parts, if the store maps files: they can be sent without being read.
    pub fn mappings(&self) -> Option<Arc<Mappings>> {
        self.store.mappings()
    }

    fn slot(&self, name: &str) -> Option<Slot> {
        self.topics.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    async fn open_topic(&self, name: &str) -> Result<Arc<Topic>, TopicError> {
        let slot = {
            let mut topics = self.topics.0.write().unwrap_or_else(PoisonError::into_inner);
            if topics.len() >= TOPICS_MAX && !topics.contains_key(name) {
                return Err(TopicError::TooMany { limit: TOPICS_MAX });
            }
            let slot = topics.entry(name.to_owned()).or_default().clone();
            assert!(topics.len() <= TOPICS_MAX, "{} topics of at most {TOPICS_MAX}", topics.len());
            slot
        };
        let (task, changed) = (self.tasks.0.clone(), self.settings_changed.clone());
        let open = || Topic::open(name.to_owned(), self.store.clone(), self.clock.clone(), &self.config, changed, task);
        Ok(slot.get_or_try_init(open).await?.clone())
    }
}
