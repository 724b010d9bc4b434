//! A topic: its partitions, opened when they are first asked for, and what is set for all of them.

use crate::Kind;
use crate::end::End;
use crate::journal::{Journal, JournalTopic};
use crate::limits::TOPIC_NAME_BYTES_MAX;
use crate::metrics::TopicMetrics;
use crate::partition::{Common, Partition, Shared, Status};
use crate::settings::{Retention, Settings};
use crate::store::log_name;
use crate::store_error::StoreError;
use rawline_journal::TopicId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use thiserror::Error;

/// A topic. Where no partition is named, it stands for partition 0, as in the API.
pub struct Topic {
    first: Arc<Partition>,
    /// The other partitions that were asked for.
    others: RwLock<BTreeMap<u32, Arc<Partition>>>,
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
    /// The handle of a topic.
    pub(crate) fn new(journal: &Journal, topic: &Arc<JournalTopic>, shared: &Arc<Shared>) -> Arc<Topic> {
        let common = Arc::new(Common {
            metrics: TopicMetrics::new(&topic.name),
            name: topic.name.to_string(),
            life: topic.life.clone(),
            subject: topic.subject.clone(),
            settings: topic.settings.clone(),
            shared: shared.clone(),
        });
        let first = Topic::partition_of(common, End::new(journal.clone(), topic.clone(), 0));
        Arc::new(Topic { first, others: RwLock::default() })
    }

    fn partition_of(common: Arc<Common>, end: End) -> Arc<Partition> {
        let number = end.number();
        let Some(extent) = end.topic().extent(number) else {
            unreachable!("topic {} has no partition {number}", common.name)
        };
        let log = log_name(&common.name, number);
        Partition::new(common, log, extent, end)
    }

    /// Its id. A topic that gets the name of a deleted one has another.
    pub fn topic_id(&self) -> TopicId {
        self.end.topic().topic_id
    }

    /// Number of partitions.
    pub fn partitions(&self) -> u32 {
        self.end.topic().partitions()
    }

    /// The partition with this number.
    pub async fn partition(&self, number: u64) -> Result<Arc<Partition>, TopicError> {
        let partitions = self.partitions();
        match u32::try_from(number).ok().filter(|number| *number < partitions) {
            Some(number) => Ok(self.existing(number)),
            None => Err(TopicError::NoPartition { name: self.topic.name.clone(), number, partitions }),
        }
    }

    fn existing(&self, number: u32) -> Arc<Partition> {
        if number == 0 {
            return self.first.clone();
        }
        if let Some(known) = self.others().get(&number) {
            return known.clone();
        }
        let make = || Topic::partition_of(self.topic.clone(), self.end.other(number));
        self.others_mut().entry(number).or_insert_with(make).clone()
    }

    /// The partition with this number, if retention may have something to delete there.
    pub(crate) fn to_retain(&self, number: u32) -> Option<Arc<Partition>> {
        // The newest object is always kept.
        let has_several = || self.end.topic().extent(number).is_some_and(|extent| extent.index().objects() > 1);
        let is_wanted = self.settings().expiry() != Retention::default() && has_several();
        is_wanted.then(|| self.existing(number))
    }

    /// The size of each partition's objects in bytes.
    pub fn partitions_bytes(&self) -> Vec<u64> {
        let mut bytes = vec![self.first.index().bytes()];
        self.end.topic().for_others(|extent| bytes.push(extent.index().bytes()));
        bytes
    }

    /// The extent of partition 0, with the number and the size of the objects of all partitions, and the time of the
    /// newest.
    pub fn summary(&self) -> Status {
        let mut status = self.status();
        self.end.topic().for_others(|extent| {
            let index = extent.index();
            status.objects += index.objects() as u64;
            status.bytes += index.bytes();
            status.latest_commit_us = status.latest_commit_us.max(index.appended_us());
        });
        status
    }

    /// The offsets of each partition's records, in order.
    pub fn all_offsets(&self) -> Vec<Range<u64>> {
        let mut all = vec![self.offsets()];
        self.end.topic().for_others(|extent| all.push(extent.index().offsets()));
        all
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
        let (name, partitions) = (&self.topic.name, self.partitions());
        if let Some(wanted) = wanted.filter(|&wanted| wanted < partitions) {
            return Err(TopicError::FewerPartitions { name: name.clone(), partitions, wanted }.into());
        }
        self.end.change_settings(&self.settings().changed(name, changes), wanted).await?;
        self.topic.shared.settings_changed.notify_one();
        Ok(())
    }

    fn others(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<Partition>>> {
        self.others.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn others_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u32, Arc<Partition>>> {
        self.others.write().unwrap_or_else(PoisonError::into_inner)
    }
}
