//! Creates a topic on request: it exists from then on, also without a record.

use crate::broker::Broker;
use crate::partition::Missing;
use crate::settings::Settings;
use crate::topic::{Topic, TopicError, check_new_name};
use serde_json::{Map, Value};
use std::sync::Arc;

impl Broker {
    /// Creates a topic with these settings, which are stored. Fails if the topic exists. Unlike an append, a request to
    /// create a topic needs no permission by [`Config::create_topics`](crate::Config::create_topics).
    pub async fn create_topic(&self, name: &str, settings: Map<String, Value>) -> Result<Arc<Topic>, TopicError> {
        check_new_name(name)?;
        if let Some(journal) = self.journals.of(name) {
            return self.create_in(journal, name, settings).await;
        }
        let topic = self.open_topic(name, Missing::Create).await?;
        topic.create(settings).await?;
        Ok(topic)
    }
}

impl Topic {
    /// Stores the first settings of a topic that the store doesn't have yet.
    async fn create(&self, mut settings: Map<String, Value>) -> Result<(), TopicError> {
        let _one_at_a_time = self.changing.lock().await;
        let name = || self.topic.name.clone();
        if !self.is_live() {
            return Err(TopicError::Deleting { name: name() });
        }
        // Another request, or another broker on the same bucket, may have been first.
        if self.offsets().end > 0 || self.store().settings(&self.log).await?.is_some() {
            return Err(TopicError::Exists { name: name() });
        }
        let partitions = Settings::take_partitions(&mut settings);
        self.store_changes(partitions, settings).await
    }
}
