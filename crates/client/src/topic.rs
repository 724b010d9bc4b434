//! Describes topics, creates and deletes them, and changes their settings.

use crate::call::{Call, query_value};
use crate::client::Client;
use crate::error::ClientError;
use crate::partition::TopicPartition;
use http::Method;
use jiff::Timestamp;
use rawline_contract::code::TOPIC_NOT_FOUND;
use rawline_contract::{
    BrokerInfo, BrokerList, OffsetFound, Payload, Settings, TOPICS_PAGE_MAX, TopicInfo, TopicList, Trimmed, path,
};
use serde::de::DeserializeOwned;
use std::time::SystemTime;

impl Client {
    /// Describes one topic. Its own offsets are those of partition 0.
    pub async fn topic(&self, topic: &str) -> Result<TopicInfo, ClientError> {
        let text = self.text(&of_topic(Method::GET, topic)).await?;
        self.parse_json(&text)
    }

    /// Sets the type of a topic's records, and creates the topic if it doesn't exist. Returns the topic.
    pub async fn set_payload(&self, topic: &str, payload: Payload) -> Result<TopicInfo, ClientError> {
        self.set_topic(topic, &Settings { payload: Some(Some(payload)), ..Settings::default() }).await
    }

    /// Changes a topic's settings, and creates the topic if it doesn't exist. A setting that is `None` stays as it
    /// is. Returns the topic.
    pub async fn set_topic(&self, topic: &str, settings: &Settings) -> Result<TopicInfo, ClientError> {
        self.store_topic(Method::PUT, topic, settings).await
    }

    /// Creates a topic. Returns it, or an error with the code `topic_exists` if there is one of that name: also if a
    /// retry finds that an earlier try whose response was lost has created it.
    pub async fn create_topic(&self, topic: &str, settings: &Settings) -> Result<TopicInfo, ClientError> {
        self.store_topic(Method::POST, topic, settings).await
    }

    /// Deletes a topic with all its records, permanently. The deletion is durable when this returns. A topic that is
    /// created with the same name later begins at offset 0. Fails with the code `topic_not_found` if it
    /// doesn't exist.
    pub async fn delete_topic(&self, topic: &str) -> Result<(), ClientError> {
        self.delete(&of_topic(Method::DELETE, topic), TOPIC_NOT_FOUND).await
    }

    async fn store_topic(&self, method: Method, topic: &str, settings: &Settings) -> Result<TopicInfo, ClientError> {
        let text = self.text(&of_topic(method, topic).json(settings)?).await?;
        self.parse_json(&text)
    }

    /// Deletes the records below `before`, which becomes the partition's first offset. A lower one than the first
    /// changes nothing. Returns the partition's extent.
    pub async fn trim<'a>(
        &self,
        partition: impl Into<TopicPartition<'a>>,
        before: u64,
    ) -> Result<Trimmed, ClientError> {
        let target = format!("{}?{}&before={before}", path::TRIM, partition.into());
        let text = self.text(&Call::new(Method::POST, target)).await?;
        self.parse_json(&text)
    }

    /// All topics, by name. Where there are very many, [`Client::topics_page`] takes less memory.
    pub async fn topics(&self) -> Result<Vec<TopicInfo>, ClientError> {
        let mut page = self.topics_page("", None).await?;
        let mut all = page.topics;
        while let Some(after) = page.next {
            page = self.topics_page("", Some(&after)).await?;
            all.extend(page.topics);
        }
        Ok(all)
    }

    /// A page of the topics whose names begin with `prefix`, by name: the first, or the one after a page's
    /// [`TopicList::next`].
    pub async fn topics_page(&self, prefix: &str, after: Option<&str>) -> Result<TopicList, ClientError> {
        let mut target = format!("{}?limit={TOPICS_PAGE_MAX}", path::TOPICS);
        if !prefix.is_empty() {
            target = format!("{target}&prefix={}", query_value(prefix));
        }
        if let Some(after) = after {
            target = format!("{target}&after={}", query_value(after));
        }
        let text = self.text(&Call::get(target)).await?;
        self.parse_json(&text)
    }

    /// The brokers that share the storage, as the one that is asked sees them; none if only one can use it.
    pub async fn brokers(&self) -> Result<Vec<BrokerInfo>, ClientError> {
        let text = self.text(&Call::get(path::BROKERS.to_owned())).await?;
        self.parse_json(&text).map(|list: BrokerList| list.brokers)
    }

    /// Offset of the first record appended at or after `time`, by the broker's clock; the partition's next offset if
    /// there is no such record.
    pub async fn offset_at<'a>(
        &self,
        partition: impl Into<TopicPartition<'a>>,
        time: SystemTime,
    ) -> Result<u64, ClientError> {
        let time = Timestamp::try_from(time).map_err(|error| ClientError::Config { reason: error.to_string() })?;
        let time = time.to_string();
        let target = format!("{}?{}&time={}", path::OFFSET, partition.into(), query_value(&time));
        let text = self.text(&Call::get(target)).await?;
        self.parse_json(&text).map(|found: OffsetFound| found.offset)
    }

    /// The broker's metrics in Prometheus' text format.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let text = self.text(&Call::get(path::METRICS.to_owned())).await?;
        String::from_utf8(text).map_err(|error| self.not_a_brokers(error.to_string()))
    }

    pub(crate) fn parse_json<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, ClientError> {
        serde_json::from_slice(text).map_err(|error| self.not_a_brokers(error.to_string()))
    }

    pub(crate) fn not_a_brokers(&self, reason: String) -> ClientError {
        ClientError::Answer { broker: self.config().broker.clone(), reason }
    }
}

fn of_topic(method: Method, topic: &str) -> Call {
    Call::new(method, format!("{}?topic-name={}", path::TOPIC, query_value(topic)))
}
