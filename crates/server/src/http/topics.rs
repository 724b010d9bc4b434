//! `GET /topic`, `PUT /topic`, `GET /topics`, `GET /offset`: what there is, what its records are, where a time lies.

use crate::http::Api;
use crate::http::answer::{self, Answer};
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::read::rfc3339;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use rawline_broker::limits::SETTINGS_BYTES_MAX;
use rawline_broker::{Topic, TopicError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize)]
struct TopicShape {
    name: String,
    first_offset: u64,
    next_offset: u64,
    objects: u64,
    bytes: u64,
    latest_commit_at: Option<String>,
    payload: Payload,
}

/// What a topic's records are, for those who show them; the broker treats all alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Payload {
    /// Any bytes.
    #[default]
    Bytes,
    /// Structured values.
    Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    payload: Payload,
}

impl Payload {
    /// As set for the topic. Settings of a later version that this one does not know count as none.
    pub fn of(topic: &Topic) -> Payload {
        let settings = topic.settings().and_then(|bytes| serde_json::from_slice::<Settings>(&bytes).ok());
        settings.map(|settings| settings.payload).unwrap_or_default()
    }
}

impl From<&Arc<Topic>> for TopicShape {
    fn from(topic: &Arc<Topic>) -> Self {
        let status = topic.status();
        TopicShape {
            payload: Payload::of(topic),
            name: status.name,
            first_offset: status.first_offset,
            next_offset: status.next_offset,
            objects: status.objects,
            bytes: status.bytes,
            latest_commit_at: status.latest_commit_us.map(rfc3339),
        }
    }
}

#[derive(Serialize)]
struct TopicsShape {
    topics: Vec<TopicShape>,
}

#[derive(Serialize)]
struct OffsetShape {
    offset: u64,
}

/// One topic.
pub(crate) async fn topic(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    let name = Query::of(&request).topic()?.into_owned();
    let topic = api.broker.topic_or_create(&name).await?;
    Ok(answer::json(StatusCode::OK, &TopicShape::from(&topic)))
}

/// Sets what a topic's records are.
pub(crate) async fn set_topic(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    let (request, mut body) = BodyReader::split(api, request);
    let name = Query::of(&request).topic()?.into_owned();
    let mut text = Vec::new();
    while let Some(piece) = body.next().await? {
        if text.len() + piece.len() > SETTINGS_BYTES_MAX {
            return Err(ApiError::too_large((text.len() + piece.len()) as u64, SETTINGS_BYTES_MAX as u64));
        }
        text.extend_from_slice(&piece);
    }
    let settings: Settings = serde_json::from_slice(&text).map_err(|error| {
        let message = format!("send {{\"payload\": \"bytes\"}} or {{\"payload\": \"value\"}}: {error}");
        ApiError::bad("settings_invalid", message)
    })?;
    let topic = api.broker.topic_or_create(&name).await?;
    let stored = serde_json::to_vec(&settings).unwrap_or_default();
    topic.set_settings(stored.into()).await.map_err(TopicError::from)?;
    Ok(answer::json(StatusCode::OK, &TopicShape::from(&topic)))
}

/// All topics, by name.
pub(crate) fn topics(api: &Api) -> Answer {
    let topics = api.broker.topics().iter().map(TopicShape::from).collect();
    answer::json(StatusCode::OK, &TopicsShape { topics })
}

/// The first offset at or after a time.
pub(crate) async fn offset(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    let query = Query::of(&request);
    let name = query.topic()?.into_owned();
    let time_us = query.time_us("time")?;
    let topic = api.broker.topic_or_create(&name).await?;
    let offset = topic.offset_at(time_us).await?;
    Ok(answer::json(StatusCode::OK, &OffsetShape { offset }))
}
