//! What there is to know about topics: their offsets, sizes and times.

use crate::body::Pieces;
use crate::client::{Call, query_value};
use crate::{Client, ClientError};
use bytes::Bytes;
use http::Method;
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
    /// What its records are.
    #[serde(default)]
    pub payload: Payload,
}

/// What a topic's records are, for those who show them; the broker treats all alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Payload {
    /// Any bytes.
    #[default]
    Bytes,
    /// Structured values.
    Value,
}

impl std::fmt::Display for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Payload::Bytes => "bytes",
            Payload::Value => "value",
        })
    }
}

impl std::str::FromStr for Payload {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "bytes" => Ok(Payload::Bytes),
            "value" => Ok(Payload::Value),
            _ => Err(format!("no payload {name:?}; there are bytes and value")),
        }
    }
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

    /// Sets what a topic's records are; gives the topic as it then is.
    pub async fn set_payload(&self, topic: &str, payload: Payload) -> Result<TopicInfo, ClientError> {
        let mut call = Call::get(format!("/topic?topic-name={}", query_value(topic)));
        call.method = Method::PUT;
        call.body = Pieces::new(vec![Bytes::from(format!("{{\"payload\":\"{payload}\"}}"))]);
        let text = self.text(&call).await?;
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
