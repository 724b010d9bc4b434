//! `GET /records` and `GET /record`: records by offset, as batches or in forms for people.

use crate::http::Api;
use crate::http::accept::{Form, form};
use crate::http::answer::{self, Answer, JSON};
use crate::http::append::BATCH;
use crate::http::edge::{self, GatherWriter, Part, TEXT_BYTES_MAX, TEXT_RECORDS_MAX, Wanted};
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::topics::Payload;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::{Gathered, PoolError, Reservation};
use rawline_broker::{ReadAnswer, ReadRequest, Topic};
use rawline_value::json::plain;
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

/// Offset of the first record in the body.
const FIRST_OFFSET: HeaderName = HeaderName::from_static("rawline-first-offset");
/// The topic's `next_offset`.
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
        verify: form != Form::Batch,
    };
    // An answer in JSON or lines is made in buffers; one in multipart holds a text a record.
    if matches!(form, Form::Json | Form::Lines) {
        wanted.bytes_max = at_most(wanted.bytes_max, TEXT_BYTES_MAX);
    }
    if form != Form::Batch {
        wanted.records_max = at_most(wanted.records_max, TEXT_RECORDS_MAX);
    }
    let topic = api.broker.topic_or_create(&name).await?;
    let read = read_or_stop(api, &topic, &wanted).await?;
    let next_offset = HeaderValue::from(read.next_offset);
    let (mut answer, first_offset) = match form {
        Form::Batch => {
            let (first_offset, end_offset) = (read.first_offset, read.end_offset);
            let answer = batches(read)?;
            api.metrics.given(end_offset - first_offset, answer.body().bytes());
            (answer, first_offset)
        }
        _ => {
            let parts = edge::parts(read, &for_form(&wanted))?;
            let records: u64 = parts.iter().map(|part| part.records.len() as u64).sum();
            let answer = match form {
                Form::Lines => lines(api, parts).await?,
                Form::Json => json(api, parts, Payload::of(&topic)).await?,
                Form::Multipart | Form::Batch => multipart(api, parts).await?,
            };
            api.metrics.given(records, answer.body().bytes());
            (answer, wanted.offset)
        }
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
    let topic = api.broker.topic_or_create(&name).await?;
    let wanted = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: true };
    let read = topic.read(&wanted).await?;
    let next_offset = read.next_offset;
    let parts = edge::parts(read, &for_form(&wanted))?;
    let Some(part) = parts.first() else {
        let message = format!("offset {offset} is not written yet; the topic's next offset is {next_offset}");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "offset_out_of_bounds", message));
    };
    let record = records_of(api, part, None).await?;
    let answer = answer::pieces(StatusCode::OK, HeaderValue::from_static("application/octet-stream"), record);
    api.metrics.given(1, answer.body().bytes());
    Ok(answer)
}

/// What a form takes of what was read for `request`.
fn for_form(request: &ReadRequest) -> Wanted {
    Wanted {
        offset: request.offset,
        records_max: request.records_max,
        bytes_max: if request.bytes_max == 0 { u64::MAX } else { request.bytes_max },
        unpacked_bytes_max: TEXT_BYTES_MAX,
    }
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

/// Batches as they are stored; 204 if nothing came in time.
fn batches(read: ReadAnswer) -> Result<Answer, ApiError> {
    if read.pieces.is_empty() {
        return Ok(no_content());
    }
    Ok(answer::pieces(StatusCode::OK, HeaderValue::from_static(BATCH), edge::batches(read)?))
}

/// Sizes and records as the original gives them; 206 and no part if nothing came in time.
async fn multipart(api: &Api, parts: Vec<Part>) -> Result<Answer, ApiError> {
    let boundary = edge::boundary();
    let content_type =
        HeaderValue::from_str(&format!("multipart/form-data; boundary={boundary}")).map_err(edge::text_too_large)?;
    if parts.is_empty() {
        let end = Bytes::from(format!("--{boundary}--\r\n"));
        return Ok(answer::pieces(StatusCode::PARTIAL_CONTENT, content_type, [end]));
    }
    let records: u64 = parts.iter().map(|part| part.records.len() as u64).sum();
    // A size has at most ten digits and a comma; 1 KiB is for what stands around them.
    let text_bytes = records * 11 + 1024;
    let unpacked_bytes: u64 = parts.iter().filter(|part| part.is_packed()).map(whole_blocks).sum();
    // Everything at once: who waits for buffers must hold none.
    let mut reservation = reserve(api, text_bytes.next_multiple_of(BLOCK_BYTES as u64) + unpacked_bytes).await?;
    let mut text = GatherWriter(Gathered::new(reservation.split(text_bytes)));
    let part_head = |name| format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n");
    write!(text, "{}Content-Type: application/json\r\n\r\n[", part_head("sizes")).map_err(edge::text_too_large)?;
    let mut separator = "";
    for size in parts.iter().flat_map(|part| &part.records) {
        write!(text, "{separator}{}", size.len()).map_err(edge::text_too_large)?;
        separator = ",";
    }
    write!(text, "]\r\n{}Content-Type: application/octet-stream\r\n\r\n", part_head("records"))
        .map_err(edge::text_too_large)?;
    let mut body = text.0.freeze();
    for part in &parts {
        let reserved = part.is_packed().then(|| reservation.split(whole_blocks(part)));
        body.extend(records_of(api, part, reserved).await?);
    }
    body.push(Bytes::from(format!("\r\n--{boundary}--\r\n")));
    Ok(answer::pieces(StatusCode::OK, content_type, body))
}

/// Length of a part's wanted records in bytes, rounded up to whole buffers.
fn whole_blocks(part: &Part) -> u64 {
    (part.range().len() as u64).next_multiple_of(BLOCK_BYTES as u64)
}

/// A part's wanted records back to back: as stored, or unpacked into buffers that were reserved or now are.
async fn records_of(api: &Api, part: &Part, reserved: Option<Reservation>) -> Result<Vec<Bytes>, ApiError> {
    if !part.is_packed() {
        return Ok(vec![part.stored()]);
    }
    let reserved = match reserved {
        Some(reserved) => reserved,
        None => reserve(api, whole_blocks(part)).await?,
    };
    let mut unpacked = GatherWriter(Gathered::new(reserved));
    let data = part.data(api).await?;
    unpacked.write_all(data.record(&part.range())).map_err(edge::text_too_large)?;
    Ok(unpacked.0.freeze())
}

/// A record a line; 204 if nothing came in time.
async fn lines(api: &Api, parts: Vec<Part>) -> Result<Answer, ApiError> {
    if parts.is_empty() {
        return Ok(no_content());
    }
    let bytes: u64 = parts.iter().flat_map(|part| &part.records).map(|range| range.len() as u64 + 1).sum();
    let mut text = GatherWriter(Gathered::new(reserve(api, bytes).await?));
    for part in &parts {
        let data = part.data(api).await?;
        for range in &part.records {
            text.write_all(data.record(range)).and_then(|()| text.write_all(b"\n")).map_err(edge::text_too_large)?;
        }
    }
    Ok(answer::pieces(StatusCode::OK, HeaderValue::from_static("application/x-ndjson"), text.0.freeze()))
}

/// A record as JSON: its text, or base64 where it is not UTF-8.
#[derive(Serialize)]
struct JsonRecord<'a> {
    offset: u64,
    /// When its batch was made.
    time: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_base64: Option<String>,
}

async fn json(api: &Api, parts: Vec<Part>, payload: Payload) -> Result<Answer, ApiError> {
    // A control character takes six bytes in JSON; 128 bytes are for what stands around a record.
    let bytes: u64 = parts.iter().flat_map(|part| &part.records).map(|range| range.len() as u64 * 6 + 128).sum();
    let mut text = GatherWriter(Gathered::new(reserve(api, bytes + 16).await?));
    let mut separator: &[u8] = b"[";
    for part in &parts {
        let time = rfc3339(part.created_us());
        let data = part.data(api).await?;
        for (offset, range) in (part.first_offset..).zip(&part.records) {
            let bytes = data.record(range);
            text.write_all(separator).map_err(edge::text_too_large)?;
            separator = b",\n";
            // A record that is no value after all is shown as any other.
            if payload == Payload::Value && plain::write(bytes, &mut std::io::sink()).is_ok() {
                write!(text, "{{\"offset\":{offset},\"time\":\"{time}\",\"record\":").map_err(edge::text_too_large)?;
                plain::write(bytes, &mut text).map_err(edge::text_too_large)?;
                text.write_all(b"}").map_err(edge::text_too_large)?;
                continue;
            }
            let record = std::str::from_utf8(bytes).ok();
            let record_base64 = record.is_none().then(|| base64(bytes));
            let line = JsonRecord { offset, time: &time, record, record_base64 };
            serde_json::to_writer(&mut text, &line).map_err(edge::text_too_large)?;
        }
    }
    text.write_all(if parts.is_empty() { b"[]\n" } else { b"]\n" }).map_err(edge::text_too_large)?;
    Ok(answer::pieces(StatusCode::OK, JSON, text.0.freeze()))
}

async fn reserve(api: &Api, bytes: u64) -> Result<Reservation, ApiError> {
    api.pool.reserve(bytes, api.config.pool_wait).await.map_err(|error| match error {
        PoolError::Exhausted => error.into(),
        PoolError::TooLarge { .. } => edge::text_too_large(error),
    })
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
