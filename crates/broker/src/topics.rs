//! The topics of a broker: a handle for each, with its partitions, opened when they are first asked for. Topics exist
//! by what the journals say, and a handle costs nothing to make: of very many, those that aren't used are dropped.

use crate::journal::{Journal, JournalError, JournalTopic};
use crate::journals::Journals;
use crate::limits::{HANDLES_KEPT, HANDLES_LOOKED_AT, JOURNAL_PARTITIONS_MAX};
use crate::listed::TopicsByName;
use crate::metrics::{TOPICS_LABELLED_MAX, TopicMetrics};
use crate::partition::{Common, Partition, Shared};
use crate::settings::{Retention, Settings};
use crate::topic_error::{TopicError, check_partition};
use rawline_journal::{Control, Refused, TopicId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::{Bound, Deref};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The handles by name, as far as this broker has seen what the journals say.
pub(crate) struct Topics {
    handles: RwLock<Handles>,
    journals: Journals,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Handles {
    by_name: BTreeMap<Arc<str>, Arc<Topic>>,
    /// The last one that was looked at to see whether it is used.
    looked_at: Option<Arc<str>>,
}

impl Handles {
    /// Adds one. If there are many, looks at the next few, and drops those that weren't used since the last look.
    fn add(&mut self, topic: Arc<Topic>, kept: usize) {
        self.by_name.insert(topic.topic.stored.name.clone(), topic);
        if self.by_name.len() <= kept {
            return;
        }
        let from = self.looked_at.take().map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.by_name.range::<Arc<str>, _>((from, Bound::Unbounded)).take(HANDLES_LOOKED_AT);
        let next: Vec<Arc<str>> = next.map(|(name, _)| name.clone()).collect();
        for name in &next {
            if self.by_name.get(name).is_some_and(|topic| !topic.is_used()) {
                self.by_name.remove(name);
            }
        }
        // After the last one, the first is next.
        self.looked_at = next.into_iter().nth(HANDLES_LOOKED_AT - 1);
    }
}

impl Topics {
    /// Without a handle yet.
    pub fn new(journals: Journals, shared: Arc<Shared>) -> Topics {
        Topics { handles: RwLock::default(), journals, shared }
    }

    /// The topic of that name, if it exists.
    pub fn named(&self, name: &str) -> Option<Arc<Topic>> {
        if let Some(topic) = self.live(name) {
            return Some(topic);
        }
        let journal = self.journals.one(name);
        let found = journal.named(name).map(|topic| self.handle(&mut self.write(), journal, &topic));
        if found.is_none() {
            self.write().by_name.remove(name);
        }
        found
    }

    /// The topic with this id, if it exists.
    pub fn identified(&self, id: TopicId) -> Option<Arc<Topic>> {
        let (journal, topic) = self.journals.identified(id)?;
        let known = self.live(&topic.name);
        let handle = known.unwrap_or_else(|| self.handle(&mut self.write(), journal, &topic));
        // A topic that was deleted meanwhile has lost its name to another.
        Some(handle).filter(|handle| handle.topic_id() == id)
    }

    /// All topics by name, whichever broker has created them.
    pub fn list(&self) -> TopicsByName {
        TopicsByName::new(&self.journals)
    }

    /// Drops the handles of topics that other brokers have deleted, if there are more than so many that aren't.
    fn drop_dead(&self, live: usize) {
        if self.read().by_name.len() > live {
            self.write().by_name.retain(|_, topic| topic.is_live());
        }
    }

    /// The topics with a limit for their records, of the journals for which this broker does what one broker is enough
    /// for.
    pub fn with_limits(&self) -> Vec<Arc<Topic>> {
        self.drop_dead(self.journals.all().first().map_or(0, Journal::topics_count));
        let mut found = Vec::new();
        for journal in self.journals.all().iter().filter(|journal| journal.tidies().load(Ordering::Relaxed)) {
            let tidied = journal.tidied_topics();
            let limited = tidied.iter().filter(|topic| topic.has_limits() && !topic.life.is_deleted());
            found.extend(limited.map(|topic| self.handle(&mut self.write(), journal, topic)));
        }
        found
    }

    /// Opens as many topics as have separate counts, and one more, so that all counts are shown.
    pub fn show(&self) {
        let some = self.journals.all().iter().flat_map(|journal| {
            let topics: Vec<_> = journal.topics().values().take(TOPICS_LABELLED_MAX + 1).cloned().collect();
            topics.into_iter().map(move |topic| (journal, topic))
        });
        some.take(TOPICS_LABELLED_MAX + 1)
            .for_each(|(journal, topic)| drop(self.handle(&mut self.write(), journal, &topic)));
    }

    /// Drops the handle of a topic that is deleted: its metrics end with it. A new topic may have the name by now.
    pub fn drop_deleted(&self, name: &str) {
        let mut handles = self.write();
        if handles.by_name.get(name).is_some_and(|topic| !topic.is_live()) {
            handles.by_name.remove(name);
        }
    }

    fn live(&self, name: &str) -> Option<Arc<Topic>> {
        let handles = self.read();
        let topic = handles.by_name.get(name).filter(|topic| topic.is_live())?;
        // Most are noted already. A store each time would be shared by all processors.
        if !topic.was_used.load(Ordering::Relaxed) {
            topic.was_used.store(true, Ordering::Relaxed);
        }
        Some(topic.clone())
    }

    /// The handle of a topic; a new one unless there is one already.
    fn handle(&self, handles: &mut Handles, journal: &Journal, topic: &Arc<JournalTopic>) -> Arc<Topic> {
        if let Some(known) = handles.by_name.get(&topic.name).filter(|topic| topic.is_live()) {
            return known.clone();
        }
        let opened = Topic::new(journal, topic, &self.shared);
        handles.add(opened.clone(), HANDLES_KEPT);
        opened
    }

    fn read(&self) -> RwLockReadGuard<'_, Handles> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Handles> {
        self.handles.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A topic. Where no partition is named, it stands for partition 0, as in the API.
pub struct Topic {
    first: Arc<Partition>,
    /// The other partitions that were asked for.
    others: RwLock<BTreeMap<u32, Arc<Partition>>>,
    /// Whether it was asked for since it was last looked at.
    was_used: AtomicBool,
}

impl Deref for Topic {
    type Target = Partition;

    fn deref(&self) -> &Partition {
        &self.first
    }
}

impl Topic {
    /// The handle of a topic.
    pub(crate) fn new(journal: &Journal, topic: &Arc<JournalTopic>, shared: &Arc<Shared>) -> Arc<Topic> {
        let common = Arc::new(Common {
            metrics: TopicMetrics::new(&topic.name),
            name: topic.name.to_string(),
            shared: shared.clone(),
            journal: journal.clone(),
            stored: topic.clone(),
        });
        Arc::new(Topic { first: Partition::new(common, 0), others: RwLock::default(), was_used: AtomicBool::new(true) })
    }

    /// Whether the handle was asked for since the last such look, is held, or has separate counts. Otherwise another
    /// one can take its place at any time.
    fn is_used(self: &Arc<Self>) -> bool {
        let are_held = || self.others().values().any(|partition| Arc::strong_count(partition) > 1);
        self.was_used.swap(false, Ordering::Relaxed)
            || self.topic.metrics.are_shown()
            || Arc::strong_count(self) > 1
            || Arc::strong_count(&self.first) > 1
            || are_held()
    }

    /// Its id. A topic that gets the name of a deleted one has another.
    pub fn topic_id(&self) -> TopicId {
        self.topic.stored.topic_id
    }

    /// Number of partitions.
    pub fn partitions(&self) -> u32 {
        self.topic.stored.partitions()
    }

    /// The partition with this number.
    pub fn partition(&self, number: u64) -> Result<Arc<Partition>, TopicError> {
        check_partition(&self.topic.name, number, self.partitions()).map(|number| self.existing(number))
    }

    fn existing(&self, number: u32) -> Arc<Partition> {
        if number == 0 {
            return self.first.clone();
        }
        if let Some(known) = self.others().get(&number) {
            return known.clone();
        }
        let make = || Partition::new(self.topic.clone(), number);
        self.others_mut().entry(number).or_insert_with(make).clone()
    }

    /// The partition with this number, if retention may have something to delete there.
    pub(crate) fn to_retain(&self, number: u32) -> Option<Arc<Partition>> {
        // The newest object is always kept.
        let has_several = || self.topic.stored.extent(number).is_some_and(|extent| extent.index().objects() > 1);
        let is_wanted = self.settings().expiry() != Retention::default() && has_several();
        is_wanted.then(|| self.existing(number))
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
        self.store_settings(&self.settings().changed(name, changes), wanted).await?;
        self.topic.shared.settings_changed.notify_one();
        Ok(())
    }

    /// Replaces the settings, and perhaps the number of partitions.
    async fn store_settings(&self, settings: &Settings, wanted: Option<u32>) -> Result<(), TopicError> {
        let (journal, topic, encoded) = (self.journal(), self.topic.stored.id, settings.encode(self.topic_id())?);
        let before = self.partitions();
        if let Some(added) = wanted.and_then(|wanted| wanted.checked_sub(before)) {
            check_partitions(journal, added)?;
        }
        let mut partitions = wanted.unwrap_or(before);
        loop {
            let change = Control::Alter { topic, partitions, settings: encoded[..].into() };
            let name = || self.topic.name.clone();
            match journal.change(change).await {
                Ok(_) => return Ok(()),
                // Another broker has given it more meanwhile, and no request asks for fewer.
                Err(JournalError::Refused(Refused::Partitions { least, .. })) if wanted.is_none() => {
                    assert!(least > partitions, "{partitions} partitions were refused, though {least} are possible");
                    partitions = least;
                }
                Err(JournalError::Refused(Refused::Partitions { least, found, .. })) => {
                    return Err(TopicError::FewerPartitions { name: name(), partitions: least, wanted: found });
                }
                Err(JournalError::Refused(_)) => return Err(TopicError::NotFound { name: name() }),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn others(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<Partition>>> {
        self.others.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn others_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u32, Arc<Partition>>> {
        self.others.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails if a journal would have too many partitions.
pub(crate) fn check_partitions(journal: &Journal, added: u32) -> Result<(), TopicError> {
    if journal.partitions_count() + added as usize <= JOURNAL_PARTITIONS_MAX {
        return Ok(());
    }
    Err(TopicError::TooMany { what: "partitions", limit: JOURNAL_PARTITIONS_MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Broker;
    use crate::clock::SystemClock;
    use crate::config::Config;
    use crate::store::Storage;

    #[tokio::test]
    async fn of_many_handles_those_stay_that_are_used_or_held() {
        let broker = Broker::open(Storage::in_memory(1 << 20), Arc::new(SystemClock), Config::new(1)).await.unwrap();
        let mut topics = Vec::new();
        for number in 0..TOPICS_LABELLED_MAX + 200 {
            topics.push(broker.create_topic(&format!("topic-{number:05}"), Map::new()).await.unwrap());
        }
        // The first ones have separate counts, which end with their handles.
        let others = topics.split_off(TOPICS_LABELLED_MAX);
        let mut handles = Handles::default();
        let mut held = None;
        for topic in &others {
            let handle = Topic::new(&topic.topic.journal, &topic.topic.stored, &topic.topic.shared);
            assert!(!handle.topic.metrics.are_shown());
            held.get_or_insert_with(|| handle.partition(0).unwrap());
            handles.add(handle, 10);
            if let Some(used) = handles.by_name.get("topic-00201") {
                used.was_used.store(true, Ordering::Relaxed);
            }
        }
        let names: Vec<&str> = handles.by_name.keys().map(|name| &**name).collect();
        assert!((10..14).contains(&names.len()), "{names:?}");
        assert!(names.starts_with(&["topic-00200", "topic-00201"]), "{names:?}");
    }
}
