//! `GET /topic`, `GET /topics`, `GET /offset`: what there is, and where a time lies.

use crate::http::Api;
use crate::http::answer::{self, Answer};
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::read::rfc3339;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use rawline_broker::Status;
use serde::Serialize;

#[derive(Serialize)]
struct TopicShape {
    name: String,
    first_offset: u64,
    next_offset: u64,
    objects: u64,
    bytes: u64,
    latest_commit_at: Option<String>,
}

impl From<Status> for TopicShape {
    fn from(status: Status) -> Self {
        TopicShape {
            name: status.name,
            first_offset: status.first_offset,
            next_offset: status.offset_next,
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
    let topic = api.broker.topic(&name).await?;
    Ok(answer::json(StatusCode::OK, &TopicShape::from(topic.status())))
}

/// All topics, by name.
pub(crate) fn topics(api: &Api) -> Answer {
    let topics = api.broker.statuses().into_iter().map(TopicShape::from).collect();
    answer::json(StatusCode::OK, &TopicsShape { topics })
}

/// The first offset at or after a time.
pub(crate) async fn offset(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    let query = Query::of(&request);
    let name = query.topic()?.into_owned();
    let time_us = query.time_us("time")?;
    let topic = api.broker.topic(&name).await?;
    let offset = topic.offset_at(time_us).await?;
    Ok(answer::json(StatusCode::OK, &OffsetShape { offset }))
}
