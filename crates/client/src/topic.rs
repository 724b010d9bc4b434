//! What there is to know about topics: their offsets, sizes and times.

use crate::client::{Call, query_value};
use crate::{Client, ClientError};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// A topic as the broker describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicInfo {
    /// Its name.
    pub name: String,
    /// Offset of the oldest record that is still there.
    pub first_offset: u64,
    /// Offset that the next record will get.
    pub next_offset: u64,
    /// Length of what is stored, in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Number of stored objects.
    #[serde(default)]
    pub objects: u64,
    /// When the newest records were committed, by the broker's clock; none if there are none.
    #[serde(default)]
    pub latest_commit_at: Option<Timestamp>,
}

impl TopicInfo {
    /// Number of records that are there.
    pub fn records(&self) -> u64 {
        self.next_offset.saturating_sub(self.first_offset)
    }
}

impl Client {
    /// One topic.
    pub async fn topic(&self, topic: &str) -> Result<TopicInfo, ClientError> {
        let text = self.text(&Call::get(format!("/topic?topic-name={}", query_value(topic)))).await?;
        self.parse_json(&text)
    }

    /// All topics, in the broker's order.
    pub async fn topics(&self) -> Result<Vec<TopicInfo>, ClientError> {
        #[derive(Deserialize)]
        struct Topics {
            topics: Vec<TopicInfo>,
        }
        let text = self.text(&Call::get("/topics".to_owned())).await?;
        self.parse_json(&text).map(|topics: Topics| topics.topics)
    }

    /// Offset of the first record appended at or after `time`, by the broker's clock; the topic's next offset if there
    /// is none.
    pub async fn offset_at(&self, topic: &str, time: SystemTime) -> Result<u64, ClientError> {
        #[derive(Deserialize)]
        struct Offset {
            offset: u64,
        }
        let time = Timestamp::try_from(time).map_err(|error| ClientError::Config { reason: error.to_string() })?;
        let time = time.to_string();
        let target = format!("/offset?topic-name={}&time={}", query_value(topic), query_value(&time));
        let text = self.text(&Call::get(target)).await?;
        self.parse_json(&text).map(|offset: Offset| offset.offset)
    }

    pub(crate) fn parse_json<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, ClientError> {
        serde_json::from_slice(text).map_err(|error| self.not_a_brokers(error.to_string()))
    }

    pub(crate) fn not_a_brokers(&self, reason: String) -> ClientError {
        ClientError::Answer { broker: self.config().broker.clone(), reason }
    }
}
