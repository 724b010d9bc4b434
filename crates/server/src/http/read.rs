//! `GET /records` and `GET /record`: records by offset, as batches or in forms for people.

use crate::http::accept::{Form, form};
use crate::http::answer::{self, Answer, JSON};
use crate::http::append::BATCH;
use crate::http::edge::{self, GatherWriter, Part, TEXT_BYTES_MAX, TEXT_RECORDS_MAX};
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::Api;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use rawline_broker::pool::Gathered;
use rawline_broker::{ReadAnswer, ReadRequest, Topic};
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

/// Offset of the first record in the body.
const FIRST_OFFSET: HeaderName = HeaderName::from_static("rawline-first-offset");
/// The topic's `offset_next`.
const NEXT_OFFSET: HeaderName = HeaderName::from_static("rawline-next-offset");

/// The original's defaults.
const RECORDS_MAX_DEFAULT: u64 = 10;
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

pub(crate) async fn records(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    let form = form(request.headers())?;
    let query = Query::of(&request);
    let name = query.topic()?.into_owned();
    let mut wanted = ReadRequest {
        offset: query.number("offset", None)?,
        records_max: query.number("max-records", Some(RECORDS_MAX_DEFAULT))?,
        bytes_max: query.number("max-bytes", Some(0))?,
        wait: query.duration("timeout", TIMEOUT_DEFAULT)?,
    };
    // An answer in JSON or lines is made in buffers; one in multipart holds a text a record.
    if matches!(form, Form::Json | Form::Lines) {
        wanted.bytes_max = at_most(wanted.bytes_max, TEXT_BYTES_MAX);
    }
    if form != Form::Batch {
        wanted.records_max = at_most(wanted.records_max, TEXT_RECORDS_MAX);
    }
    let topic = api.broker.topic(&name).await?;
    let read = read_or_stop(api, &topic, &wanted).await?;
    api.metrics.given(read.end_offset - read.first_offset);
    let next_offset = HeaderValue::from(read.offset_next);
    let first_offset = match form {
        Form::Batch => read.first_offset,
        _ => wanted.offset,
    };
    let mut answer = match form {
        Form::Batch if read.pieces.is_empty() => no_content(),
        Form::Batch => answer::pieces(StatusCode::OK, HeaderValue::from_static(BATCH), edge::batches(read)?),
        Form::Multipart => multipart(api, edge::parts(api, read, wanted.offset, wanted.records_max).await?).await?,
        Form::Lines if read.pieces.is_empty() => no_content(),
        Form::Lines => lines(api, edge::parts(api, read, wanted.offset, wanted.records_max).await?).await?,
        Form::Json => json(api, edge::parts(api, read, wanted.offset, wanted.records_max).await?).await?,
    };
    answer.headers_mut().insert(FIRST_OFFSET, HeaderValue::from(first_offset));
    answer.headers_mut().insert(NEXT_OFFSET, next_offset);
    Ok(answer)
}

/// One record as it is.
pub(crate) async fn record(api: &Api, request: Request<Incoming>) -> Result<Answer, ApiError> {
    let query = Query::of(&request);
    let name = query.topic()?.into_owned();
    let offset = query.number("offset", None)?;
    let topic = api.broker.topic(&name).await?;
    let wanted = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO };
    let read = topic.read(&wanted).await?;
    let offset_next = read.offset_next;
    let parts = edge::parts(api, read, offset, 1).await?;
    let Some(part) = parts.first() else {
        let message = format!("offset {offset} is not written yet; the topic's next offset is {offset_next}");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "offset_out_of_bounds", message));
    };
    api.metrics.given(1);
    let record = part.data(&part.sizes()?);
    Ok(answer::pieces(StatusCode::OK, HeaderValue::from_static("application/octet-stream"), [record]))
}

/// Reads, but does not wait for data when the broker is told to stop.
async fn read_or_stop(api: &Api, topic: &Topic, wanted: &ReadRequest) -> Result<ReadAnswer, ApiError> {
    let mut stopping = api.stopping.clone();
    tokio::select! {
        () = topic.wait(wanted.offset, wanted.wait) => {}
        _ = stopping.wait_for(|&stop| stop) => {}
    }
    Ok(topic.read(&ReadRequest { wait: Duration::ZERO, ..*wanted }).await?)
}

fn at_most(asked: u64, limit: u64) -> u64 {
    if asked == 0 { limit } else { asked.min(limit) }
}

fn no_content() -> Answer {
    let mut answer = Answer::default();
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

/// Sizes and records as the original gives them; 206 and no part if nothing came in time.
async fn multipart(api: &Api, parts: Vec<Part>) -> Result<Answer, ApiError> {
    let boundary = edge::boundary();
    let content_type = HeaderValue::from_str(&format!("multipart/form-data; boundary={boundary}"))
        .map_err(edge::text_too_large)?;
    if parts.is_empty() {
        let end = Bytes::from(format!("--{boundary}--\r\n"));
        return Ok(answer::pieces(StatusCode::PARTIAL_CONTENT, content_type, [end]));
    }
    let sizes: Vec<_> = parts.iter().map(Part::sizes).collect::<Result<_, _>>()?;
    let records: u64 = sizes.iter().map(|sizes| sizes.len() as u64).sum();
    // A size has at most ten digits and a comma; 1 KiB is for what stands around them.
    let mut text = writer(api, records * 11 + 1024).await?;
    let part_head = |name| format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n");
    write!(text, "{}Content-Type: application/json\r\n\r\n[", part_head("sizes")).map_err(edge::text_too_large)?;
    let mut separator = "";
    for size in sizes.iter().flatten() {
        write!(text, "{separator}{}", size.len()).map_err(edge::text_too_large)?;
        separator = ",";
    }
    write!(text, "]\r\n{}Content-Type: application/octet-stream\r\n\r\n", part_head("records"))
        .map_err(edge::text_too_large)?;
    let mut body = text.0.freeze();
    body.extend(parts.iter().zip(&sizes).map(|(part, sizes)| part.data(sizes)));
    body.push(Bytes::from(format!("\r\n--{boundary}--\r\n")));
    Ok(answer::pieces(StatusCode::OK, content_type, body))
}

/// A record a line.
async fn lines(api: &Api, parts: Vec<Part>) -> Result<Answer, ApiError> {
    let sizes: Vec<_> = parts.iter().map(Part::sizes).collect::<Result<_, _>>()?;
    let bytes: u64 = sizes.iter().flatten().map(|size| size.len() as u64 + 1).sum();
    let mut text = writer(api, bytes).await?;
    for (part, sizes) in parts.iter().zip(&sizes) {
        for size in sizes {
            text.write_all(part.record(size)).and_then(|()| text.write_all(b"\n")).map_err(edge::text_too_large)?;
        }
    }
    Ok(answer::pieces(StatusCode::OK, HeaderValue::from_static("application/x-ndjson"), text.0.freeze()))
}

/// A record as JSON: its text, or base64 where it is not UTF-8.
#[derive(Serialize)]
struct JsonRecord<'a> {
    offset: u64,
    /// When its batch was made.
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_base64: Option<String>,
}

async fn json(api: &Api, parts: Vec<Part>) -> Result<Answer, ApiError> {
    let sizes: Vec<_> = parts.iter().map(Part::sizes).collect::<Result<_, _>>()?;
    // A control character takes six bytes in JSON; 128 bytes are for what stands around a record.
    let bytes: u64 = sizes.iter().flatten().map(|size| size.len() as u64 * 6 + 128).sum();
    let mut text = writer(api, bytes + 16).await?;
    let mut separator: &[u8] = b"[";
    for (part, sizes) in parts.iter().zip(&sizes) {
        let time = rfc3339(part.created_us()?);
        for (offset, size) in (part.first_offset..).zip(sizes) {
            let bytes = part.record(size);
            let record = std::str::from_utf8(bytes).ok();
            let record_base64 = record.is_none().then(|| base64(bytes));
            let line = JsonRecord { offset, time: time.clone(), record, record_base64 };
            text.write_all(separator).map_err(edge::text_too_large)?;
            serde_json::to_writer(&mut text, &line).map_err(edge::text_too_large)?;
            separator = b",\n";
        }
    }
    text.write_all(if parts.is_empty() { b"[]\n" } else { b"]\n" }).map_err(edge::text_too_large)?;
    Ok(answer::pieces(StatusCode::OK, JSON, text.0.freeze()))
}

async fn writer(api: &Api, bytes: u64) -> Result<GatherWriter, ApiError> {
    let reservation = api.pool.reserve(bytes, api.config.pool_wait).await?;
    Ok(GatherWriter(Gathered::new(reservation)))
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A time in microseconds since the Unix epoch as RFC 3339.
pub(crate) fn rfc3339(time_us: u64) -> String {
    let time = i64::try_from(time_us).ok().and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
    // A producer may send any number as a time; one beyond the year 9999 has no RFC 3339 form.
    time.unwrap_or(jiff::Timestamp::MAX).to_string()
}
