//! `POST /records`: batches as they are, or records in a form that people and the original's clients send.

use crate::http::answer::{self, Answer};
use crate::http::body::{BodyReader, media_type};
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::{Api, form};
use http::{Request, StatusCode, header};
use hyper::body::Incoming;
use rawline_batch::Checker;
use rawline_broker::limits::OBJECT_BATCHES_MAX;
use rawline_broker::pool::Gathered;
use rawline_broker::{AppendError, Appended, Received, Topic};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// The media type of batches.
pub(crate) const BATCH: &str = "application/vnd.rawline.batch";

#[derive(Serialize)]
struct Accepted {
    first_offset: u64,
    next_offset: u64,
}

#[derive(Serialize)]
struct AcceptedForm {
    /// One a record, as the original answers.
    #[serde(serialize_with = "consecutive")]
    offsets: std::ops::Range<u64>,
}

fn consecutive<S: Serializer>(offsets: &std::ops::Range<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(offsets.clone())
}

pub(crate) async fn append(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    // From here on an error finds the body in the hands of one who knows how to refuse it.
    let (request, body) = BodyReader::split(api, request);
    let name = Query::of(&request).topic()?.into_owned();
    let topic = api.broker.topic_or_create(&name).await?;
    check_encoding(&request)?;
    body.check_length()?;
    match media_type(&request).as_str() {
        BATCH => {
            let received = receive_batches(api, body).await?;
            accepted(store(api, &topic, received).await?)
        }
        "application/octet-stream" => {
            let received = form::receive_record(api, body).await?;
            accepted(store(api, &topic, received).await?)
        }
        "application/x-ndjson" | "application/jsonl" => {
            let received = form::receive_lines(api, body).await?;
            accepted(store(api, &topic, received).await?)
        }
        "multipart/form-data" => {
            let boundary = boundary(&request)?;
            let received = form::receive_multipart(api, body, boundary).await?;
            let appended = store(api, &topic, received).await?;
            let offsets = appended.first_offset..appended.next_offset;
            Ok(answer::json(StatusCode::CREATED, &AcceptedForm { offsets }))
        }
        other => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "content_type",
            format!(
                "Content-Type {other:?} is not known here; send {BATCH} (batches), application/octet-stream (one \
                 record), application/x-ndjson (a record a line) or multipart/form-data (sizes and records)"
            ),
        )),
    }
}

fn accepted(appended: Appended) -> Result<Answer, ApiError> {
    let accepted = Accepted { first_offset: appended.first_offset, next_offset: appended.next_offset };
    Ok(answer::json(StatusCode::CREATED, &accepted))
}

async fn store(api: &Api, topic: &Arc<Topic>, received: Received) -> Result<Appended, ApiError> {
    api.metrics.received(received.records(), received.bytes());
    Ok(topic.append(received).await?)
}

/// Receives batches into buffers of the pool, checking them as they come, while they are in the processor's cache.
async fn receive_batches(api: &Api, mut body: BodyReader) -> Result<Received, ApiError> {
    let expected = body.bytes_expected();
    let reservation = api.pool.reserve(expected, api.config.pool_wait).await?;
    let mut gathered = Gathered::new(reservation);
    let mut checker = Checker::new(api.config.batch_limits);
    while let Some(piece) = body.next().await? {
        checker.push(&piece)?;
        let batches = checker.batches().len();
        if batches > OBJECT_BATCHES_MAX {
            // Before what is noted of each takes more memory than the batches themselves.
            return Err(AppendError::TooLarge { bytes: gathered.bytes(), batches }.into());
        }
        if !gathered.push(&piece) {
            return Err(ApiError::too_large(gathered.bytes() + piece.len() as u64, expected));
        }
    }
    Ok(Received::new(gathered.freeze(), checker)?)
}

/// Nothing is unpacked on its way in: records would be stored that nobody meant to send.
fn check_encoding<B>(request: &Request<B>) -> Result<(), ApiError> {
    match request.headers().get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let message =
                format!("Content-Encoding is not taken; send the body as it is, or compressed batches ({BATCH})");
            Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_encoding", message))
        }
        _ => Ok(()),
    }
}

fn boundary<B>(request: &Request<B>) -> Result<String, ApiError> {
    let value = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    multer::parse_boundary(value).map_err(|_| {
        ApiError::bad("multipart_boundary", "the Content-Type names no boundary; send multipart/form-data; boundary=…")
    })
}
