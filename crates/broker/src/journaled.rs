//! A broker's topics in a journal: they exist by what the journal says, and a handle of one costs nothing to make.

use crate::broker::{Broker, Topics};
use crate::end::{check_partitions, in_store};
use crate::journal::{Journal, JournalError, JournalTopic};
use crate::journals::Journals;
use crate::limits::JOURNAL_TOPICS_MAX;
use crate::partition::Shared;
use crate::settings::Settings;
use crate::topic::{Topic, TopicError, check_name};
use futures_util::future::try_join_all;
use rawline_journal::{Control, Refused, TopicId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Broker {
    /// The topic of that name, if it exists. Another broker may have created it a moment ago.
    pub(crate) async fn topic_in(&self, journal: &Journal, name: &str) -> Result<Arc<Topic>, TopicError> {
        if let Ok(topic) = self.known_in(journal, name) {
            return Ok(topic);
        }
        check_name(name)?;
        self.catch_up(journal).await?;
        self.known_in(journal, name)
    }

    /// Waits until this broker has seen what other brokers have stored.
    pub(crate) async fn catch_up(&self, journal: &Journal) -> Result<(), TopicError> {
        Ok(journal.catch_up().await.map_err(|error| in_store(&error))?)
    }

    /// The topic of that name, if it exists as far as this broker has seen.
    fn known_in(&self, journal: &Journal, name: &str) -> Result<Arc<Topic>, TopicError> {
        if let Some(topic) = self.topics.live(name) {
            return Ok(topic);
        }
        match journal.named(name) {
            Some(topic) => Ok(self.handle(&mut self.topics.write(), journal, &topic)),
            None => {
                self.topics.write().remove(name);
                Err(TopicError::NotFound { name: name.to_owned() })
            }
        }
    }

    /// The topic with this id, if it exists. Another broker may have created it a moment ago.
    pub(crate) async fn identified(&self, id: TopicId) -> Result<Option<Arc<Topic>>, TopicError> {
        if let Some(topic) = self.known_by(id) {
            return Ok(Some(topic));
        }
        try_join_all(self.journals.all().iter().map(|journal| self.catch_up(journal))).await?;
        Ok(self.known_by(id))
    }

    /// The topic with this id, if it exists as far as this broker has seen.
    fn known_by(&self, id: TopicId) -> Option<Arc<Topic>> {
        let (journal, topic) = self.journals.identified(id)?;
        let known = self.topics.live(&topic.name);
        let handle = known.unwrap_or_else(|| self.handle(&mut self.topics.write(), journal, &topic));
        // A topic that was deleted meanwhile has lost its name to another.
        Some(handle).filter(|handle| handle.topic_id() == id)
    }

    /// An id that no topic has.
    fn new_topic_id(&self) -> TopicId {
        // Grows by at least one with each topic of this run, also if another run has the same number.
        let created = self.shared.topics_created.fetch_add(1, Ordering::Relaxed);
        TopicId::new(self.shared.config.writer_id, self.shared.clock.now_us() + created)
    }

    /// Creates a topic with these settings.
    pub(crate) async fn create_in(
        &self,
        journal: &Journal,
        name: &str,
        mut settings: Map<String, Value>,
    ) -> Result<Arc<Topic>, TopicError> {
        let partitions = Settings::take_partitions(&mut settings).unwrap_or(1);
        if journal.topics_count() >= JOURNAL_TOPICS_MAX {
            return Err(TopicError::TooMany { what: "topics", limit: JOURNAL_TOPICS_MAX });
        }
        check_partitions(journal, partitions)?;
        let settings = Settings::default().changed(name, settings).with_topic_id(self.new_topic_id()).encode()?;
        let control = Control::Create { topic: 0, name: name.into(), partitions, settings: settings[..].into() };
        match journal.change(control).await {
            Ok(_) => self.known_in(journal, name),
            Err(JournalError::Refused(Refused::Exists { .. })) => Err(TopicError::Exists { name: name.to_owned() }),
            Err(error) => Err(in_store(&error).into()),
        }
    }

    /// Deletes a topic. When this returns, the deletion is durable, and no read returns anything of the topic.
    pub(crate) async fn delete_in(&self, journal: &Journal, name: &str) -> Result<(), TopicError> {
        let not_found = || TopicError::NotFound { name: name.to_owned() };
        let topic = journal.named(name).ok_or_else(not_found)?;
        self.delete_this(journal, &topic).await
    }

    /// As [`Broker::delete_in`], of this topic, whatever has its name by now.
    pub(crate) async fn delete_this(&self, journal: &Journal, topic: &JournalTopic) -> Result<(), TopicError> {
        let name = &*topic.name;
        match journal.change(Control::Delete { topic: topic.id }).await {
            Ok(_) => {
                // Its metrics end with its handle. A new topic may have the name by now.
                let mut slots = self.topics.write();
                if slots.get(name).is_some_and(|topic| !topic.is_live()) {
                    slots.remove(name);
                }
                drop(slots);
                tracing::info!(topic = name, "deleted the topic");
                Ok(())
            }
            Err(JournalError::Refused(_)) => Err(TopicError::NotFound { name: name.to_owned() }),
            Err(error) => Err(in_store(&error).into()),
        }
    }

    /// Makes the handles those of the topics that exist now.
    pub(crate) fn follow(&self) {
        follow(&self.topics, &self.journals, &self.shared);
    }

    /// The handle of a topic; a new one unless there is one already.
    fn handle(
        &self,
        slots: &mut BTreeMap<String, Arc<Topic>>,
        journal: &Journal,
        topic: &Arc<JournalTopic>,
    ) -> Arc<Topic> {
        handle(slots, journal, topic, &self.shared)
    }
}

/// Makes the handles those of the topics that exist now, whichever broker has created them.
pub(crate) fn follow(handles: &Topics, journals: &Journals, shared: &Arc<Shared>) {
    let topics: Vec<_> = journals.all().iter().map(|journal| (journal, journal.topics())).collect();
    let mut slots = handles.write();
    slots.retain(|_, topic| topic.is_live());
    for (journal, topics) in &topics {
        topics.iter().for_each(|topic| drop(handle(&mut slots, journal, topic, shared)));
    }
}

fn handle(
    slots: &mut BTreeMap<String, Arc<Topic>>,
    journal: &Journal,
    topic: &Arc<JournalTopic>,
    shared: &Arc<Shared>,
) -> Arc<Topic> {
    if let Some(known) = slots.get(&*topic.name).filter(|topic| topic.is_live()) {
        return known.clone();
    }
    let opened = Topic::new(journal, topic, shared);
    slots.insert(topic.name.to_string(), opened.clone());
    opened
}
