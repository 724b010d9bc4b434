//! Appends the values that a client publishes: those that have arrived together, one batch for each topic.

use super::message::DataMessage;
use super::topic;
use crate::access::{Caller, Operation};
use crate::http::api::Api;
use crate::http::append::store;
use crate::http::body::Length;
use crate::http::draft::BatchDraft;
use crate::http::error::ApiError;
use crate::http::topics;
use crate::metrics::Protocol;
use crate::net::peer::Peer;
use rawline_broker::{Partition, TopicError};
use rawline_contract::{Payload, code};
use std::ops::Range;
use std::sync::Arc;

/// The messages of one topic, in order.
pub(super) struct Group {
    pub topic: String,
    /// The number of the first one.
    pub input: u64,
    values: Vec<Vec<u8>>,
}

/// Messages that are appended together.
#[derive(Default)]
pub(super) struct Groups {
    pub groups: Vec<Group>,
    pub bytes: usize,
    pub messages: usize,
}

impl Groups {
    pub fn push(&mut self, message: DataMessage, input: u64) {
        let DataMessage { topic, value } = message;
        self.bytes += value.len();
        self.messages += 1;
        // Clients publish to few topics.
        match self.groups.iter_mut().find(|group| group.topic == topic) {
            Some(group) => group.values.push(value),
            None => self.groups.push(Group { topic, input, values: vec![value] }),
        }
    }
}

impl Group {
    /// Appends the values; returns their topic's name and their offsets.
    pub async fn append(&self, api: &Api, peer: &Peer, caller: &Caller) -> Result<(String, Range<u64>), ApiError> {
        let name = topic::encode(&self.topic);
        caller.grants().topic(Operation::Write, &name)?;
        let partition = topic_of_values(api, &name).await?;
        let bytes = self.values.iter().map(|value| value.len() as u64).sum();
        caller.appended(bytes);
        let mut draft = BatchDraft::new(api, peer, Length::Whole(bytes), self.values.len() as u32).await?;
        for value in &self.values {
            draft.add_size(value.len() as u32).await?;
            draft.push_data(value)?;
        }
        let appended = store(api, Protocol::Zeek, &partition, draft.finish().await?).await?;
        Ok((name, appended.first_offset..appended.next_offset))
    }
}

/// The topic, which is created if it doesn't exist. One of bytes takes no values: its readers expect something else.
async fn topic_of_values(api: &Api, name: &str) -> Result<Arc<Partition>, ApiError> {
    let topic = match api.broker.topic(name).await {
        Err(TopicError::NotFound { .. }) if api.broker.creates_topics() => {
            let settings = serde_json::Map::from_iter([("payload".to_owned(), Payload::Value.to_string().into())]);
            match api.broker.create_topic(name, settings).await {
                Err(TopicError::Exists { .. }) => api.broker.topic(name).await?,
                created => created?,
            }
        }
        found => found?,
    };
    let partition = topic.partition(0)?;
    if topics::payload(&partition) != Payload::Value {
        let message = format!("topic {name} has the payload bytes; set it to value, or publish to another topic");
        return Err(ApiError::new(code::SETTINGS_INVALID, message));
    }
    Ok(partition)
}
