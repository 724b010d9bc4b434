//! The handles of a broker's topics. Topics exist by what the journals say, and a handle costs nothing to make.

use crate::journal::{Journal, JournalTopic};
use crate::journals::Journals;
use crate::partition::Shared;
use crate::topic::Topic;
use rawline_journal::TopicId;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The handles by name, as far as this broker has seen what the journals say.
pub(crate) struct Topics {
    handles: RwLock<BTreeMap<String, Arc<Topic>>>,
    journals: Journals,
    shared: Arc<Shared>,
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
            self.write().remove(name);
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

    /// All topics, by name, whichever broker has created them.
    pub fn all(&self) -> Vec<Arc<Topic>> {
        let topics: Vec<_> = self.journals.all().iter().map(|journal| (journal, journal.topics())).collect();
        let mut handles = self.write();
        handles.retain(|_, topic| topic.is_live());
        for (journal, topics) in &topics {
            topics.iter().for_each(|topic| drop(self.handle(&mut handles, journal, topic)));
        }
        handles.values().cloned().collect()
    }

    /// All topics of the journals for which this broker does what one broker is enough for.
    pub fn tidied(&self) -> Vec<Arc<Topic>> {
        self.all().into_iter().filter(|topic| self.journals.tidies(topic.topic_name())).collect()
    }

    /// Drops the handle of a topic that is deleted: its metrics end with it. A new topic may have the name by now.
    pub fn drop_deleted(&self, name: &str) {
        let mut handles = self.write();
        if handles.get(name).is_some_and(|topic| !topic.is_live()) {
            handles.remove(name);
        }
    }

    fn live(&self, name: &str) -> Option<Arc<Topic>> {
        self.read().get(name).filter(|topic| topic.is_live()).cloned()
    }

    /// The handle of a topic; a new one unless there is one already.
    fn handle(
        &self,
        handles: &mut BTreeMap<String, Arc<Topic>>,
        journal: &Journal,
        topic: &Arc<JournalTopic>,
    ) -> Arc<Topic> {
        if let Some(known) = handles.get(&*topic.name).filter(|topic| topic.is_live()) {
            return known.clone();
        }
        let opened = Topic::new(journal, topic, &self.shared);
        handles.insert(topic.name.to_string(), opened.clone());
        opened
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<Topic>>> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Arc<Topic>>> {
        self.handles.write().unwrap_or_else(PoisonError::into_inner)
    }
}
