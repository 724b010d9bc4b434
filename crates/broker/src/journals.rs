//! The journals that have a broker's topics. Each name is in one of them.

use crate::journal::{Journal, JournalTopic};
use crate::notify::{Registered, Wanted};
use crate::store_error::StoreError;
use crate::topic_error::{TopicError, check_name, check_partition};
use rawline_batch::Kind;
use rawline_journal::{PartitionId, TopicId, journal_of, journal_of_topic};
use std::sync::{Arc, Weak};

/// The journals of a storage, by number.
#[derive(Clone, Default)]
pub(crate) struct Journals(Arc<[Journal]>);

/// The journals of a broker as long as it runs.
pub(crate) struct WeakJournals(Weak<[Journal]>);

impl WeakJournals {
    /// None once the broker has ended.
    pub fn upgrade(&self) -> Journals {
        self.0.upgrade().map(Journals).unwrap_or_default()
    }
}

impl Journals {
    /// These, by number.
    pub fn new(journals: Vec<Journal>) -> Journals {
        Journals(journals.into())
    }

    /// The same, without keeping them open.
    pub fn downgrade(&self) -> WeakJournals {
        WeakJournals(Arc::downgrade(&self.0))
    }

    /// All, by number.
    pub fn all(&self) -> &[Journal] {
        &self.0
    }

    /// The number of the journal that has the topic or the group with this name.
    pub fn number_of(&self, name: &str) -> u32 {
        match self.0.len() {
            0 | 1 => 0,
            count => journal_of(name, count as u32),
        }
    }

    /// The journal that has the topic or the group with this name.
    pub fn of(&self, name: &str) -> Option<&Journal> {
        self.0.get(self.number_of(name) as usize)
    }

    /// As [`Journals::of`] while the broker is open.
    pub fn one(&self, name: &str) -> &Journal {
        let Some(journal) = self.of(name) else { unreachable!("no journal is open for {name:?}") };
        journal
    }

    /// The journal that gives ids to topics such as this.
    pub fn with_topic(&self, id: u64) -> Option<&Journal> {
        self.0.get(journal_of_topic(id) as usize)
    }

    /// The topic with this id, if it exists as far as this broker has seen.
    pub fn topic(&self, id: u64) -> Option<Arc<JournalTopic>> {
        self.with_topic(id)?.topic(id)
    }

    /// The topic that is known by this id outside the storage, with its journal, if it exists as far as this broker has
    /// seen.
    pub fn identified(&self, id: TopicId) -> Option<(&Journal, Arc<JournalTopic>)> {
        self.0.iter().find_map(|journal| Some((journal, journal.identified(id)?)))
    }

    /// Another number if there are other topics or partitions than before.
    pub fn topics_version(&self) -> u64 {
        self.0.iter().map(Journal::topics_version).sum()
    }

    /// A partition of an existing topic. Another broker may have created the topic a moment ago.
    pub async fn partition(&self, topic: &str, number: u64) -> Result<(Arc<JournalTopic>, PartitionId), TopicError> {
        let found = self.named(topic).await?;
        let id = PartitionId { topic: found.id, number: check_partition(topic, number, found.partitions())? };
        Ok((found, id))
    }

    /// An existing topic. Another broker may have created it a moment ago.
    pub async fn named(&self, topic: &str) -> Result<Arc<JournalTopic>, TopicError> {
        let journal = self.one(topic);
        if let Some(found) = journal.named(topic) {
            return Ok(found);
        }
        check_name(topic)?;
        journal.catch_up().await?;
        journal.named(topic).ok_or_else(|| TopicError::NotFound { name: topic.to_owned() })
    }

    /// Adds a subscription: from now on commits to topics that match are noted in its inbox. Returns the time of the
    /// newest commit that isn't, in microseconds since the Unix epoch.
    pub fn register(&self, wanted: Wanted) -> (Registered, u64) {
        let Some((first, others)) = self.all().split_first() else { unreachable!("a broker without a journal") };
        // No commit of the first becomes visible between the two. Times of different journals aren't ordered: whatever
        // comes is later than the oldest of them.
        let newest_us = others.iter().map(|journal| journal.with_newest_us(|newest_us| newest_us)).min();
        let registry = first.subscriptions();
        first.with_newest_us(|first_us| (registry.register(wanted), newest_us.unwrap_or(first_us).min(first_us)))
    }

    /// The journal that knows named producers. Several can't: an instance is replaced in one of them, and would
    /// continue in the others.
    pub fn of_producers(&self, what: &str) -> Result<&Journal, StoreError> {
        match self.all() {
            [only] => Ok(only),
            several => Err(StoreError::new(
                Kind::FixRequest,
                format!(
                    "{what} need a storage with one journal, and this one has {}: use an unnamed producer, or a \
                     storage that was created with one journal",
                    several.len()
                ),
            )),
        }
    }
}
