//! `GET /records` and `GET /record`: reads records by offset.

use crate::access::{Caller, Operation};
use crate::convert::{Converted, to_batches, to_record_batches, without_records};
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use crate::http::select::{self, Part, Wanted};
use crate::http::{auth, long_poll, render, topics};
use crate::metrics::Protocol;
use crate::net::join::{self, Joined};
use crate::net::peer::Peer;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use rawline_broker::pool::Gathered;
use rawline_broker::{BatchKind, Partition, ReadAnswer, ReadRequest};
use rawline_contract::{MediaType, code, header};
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

/// Defaults of the original API.
pub(crate) const RECORDS_MAX_DEFAULT: u64 = 10;
pub(crate) const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// Maximum size of the records in one response in JSON or lines, or out of compressed batches in one in multipart. The
/// first record is always included. Such responses are made in buffers of the pool.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Maximum number of records in one response in JSON, lines or multipart, for the same reason.
const TEXT_RECORDS_MAX: u64 = 64 << 10;

pub(crate) async fn records(
    api: &Api,
    peer: &Peer,
    caller: &Arc<Caller>,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let form = ResponseForm::of(request.headers())?;
    let query = Query::of(&request);
    let (name, partition) = (query.topic()?.into_owned(), query.partition()?);
    let mut wanted = ReadRequest {
        offset: query.number("offset", None)?,
        records_max: query.number("max-records", Some(RECORDS_MAX_DEFAULT))?,
        bytes_max: query.number("max-bytes", Some(0))?,
        wait: Duration::ZERO,
        verify: !form.is_batches(),
    };
    let wait = query.duration("timeout", TIMEOUT_DEFAULT)?;
    if matches!(form, ResponseForm::Json | ResponseForm::Lines) {
        wanted.bytes_max = at_most(wanted.bytes_max, TEXT_BYTES_MAX);
    }
    if !form.is_batches() {
        wanted.records_max = at_most(wanted.records_max, TEXT_RECORDS_MAX);
    }
    let partition = api.broker.partition(&name, partition).await?;
    let until = Instant::now() + wait;
    let may_read =
        || -> Result<(), ApiError> { Ok(auth::renewed(api, caller)?.grants().topic(Operation::Read, &name)?) };
    long_poll::wait(api, peer, caller, &partition, wanted.offset, wait).await?;
    may_read()?;
    let mut turn = turn(api, form).await?;
    let mut read = partition.read(&wanted).await?;
    while form != ResponseForm::Stored && is_gap(&read)? {
        wanted.offset = read.end_offset;
        if read.end_offset >= read.next_offset {
            // Only aborted records so far: the client waits for the records after them.
            drop(turn.take());
            let left = until.saturating_duration_since(Instant::now());
            long_poll::wait(api, peer, caller, &partition, wanted.offset, left).await?;
            may_read()?;
            turn = self::turn(api, form).await?;
        }
        read = partition.read(&wanted).await?;
    }
    let next_offset = HeaderValue::from(read.next_offset);
    let (mut response, first_offset) = respond(api, peer, &partition, &wanted, read, form).await?;
    drop(turn);
    response.headers_mut().insert(header::FIRST_OFFSET, HeaderValue::from(first_offset));
    response.headers_mut().insert(header::NEXT_OFFSET, next_offset);
    Ok(response)
}

/// The response with what was read, and the offset of its first record.
async fn respond(
    api: &Api,
    peer: &Peer,
    partition: &Partition,
    wanted: &ReadRequest,
    read: ReadAnswer,
    form: ResponseForm,
) -> Result<(ApiResponse, u64), ApiError> {
    Ok(match form {
        ResponseForm::Batch | ResponseForm::RecordBatch | ResponseForm::Stored => {
            let (response, offsets) = match (form, read.kind) {
                (ResponseForm::Batch, BatchKind::Kafka) => converted(api, peer, read, wanted.offset).await?,
                (ResponseForm::RecordBatch, BatchKind::Rawline) if !read.pieces.is_empty() => {
                    record_batches(api, peer, read).await?
                }
                _ => {
                    let offsets = read.first_offset..read.end_offset;
                    (batches(peer, read).await, offsets)
                }
            };
            api.metrics.returned(Protocol::Http, offsets.end - offsets.start, response.body().bytes());
            (response, offsets.start)
        }
        _ => {
            let selected = select::select(api, read, &selection(wanted, form)).await?;
            let parts = &selected.parts;
            let records: u64 = parts.iter().map(Part::records).sum();
            let response = match form {
                ResponseForm::Lines => render::lines(api, peer, parts).await?,
                ResponseForm::Json => render::json(api, peer, parts, topics::payload(partition)).await?,
                _ => render::multipart(api, peer, parts).await?,
            };
            api.metrics.returned(Protocol::Http, records, response.body().bytes());
            (response, parts.first().map_or(wanted.offset, |first| first.first_offset))
        }
    })
}

/// The turn of a request for records in this form; forms of batches need none.
async fn turn(api: &Api, form: ResponseForm) -> Result<Option<SemaphorePermit<'_>>, ApiError> {
    Ok(if form.is_batches() { None } else { Some(select::turn(api).await?) })
}

/// Whether the batches that were read have no record: a compaction has removed them all, or their transactions were
/// aborted.
pub(crate) fn is_gap(read: &ReadAnswer) -> Result<bool, ApiError> {
    if read.kind == BatchKind::Rawline || read.pieces.is_empty() {
        return Ok(false);
    }
    Ok(without_records(read)?)
}

/// The bytes of one record.
pub(crate) async fn record(api: &Api, peer: &Peer, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    let query = Query::of(&request);
    let (name, partition) = (query.topic()?.into_owned(), query.partition()?);
    let offset = query.number("offset", None)?;
    let partition = api.broker.partition(&name, partition).await?;
    let wanted = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: true };
    let read = partition.read(&wanted).await?;
    let next_offset = read.next_offset;
    let selected = select::select(api, read, &selection(&wanted, ResponseForm::Multipart)).await?;
    let is_removed = offset < next_offset;
    let found = selected.parts.first().filter(|part| part.first_offset == offset);
    let Some(part) = found else {
        if is_removed {
            let message = format!(
                "offset {offset} has no record any more: a compaction has removed it, or its transaction was aborted; \
                 read a later one"
            );
            return Err(ApiError::new(code::OFFSET_OUT_OF_BOUNDS, message));
        }
        let message = format!("offset {offset} is not written yet; the topic's next offset is {next_offset}");
        return Err(ApiError::new(code::OFFSET_OUT_OF_BOUNDS, message));
    };
    let record = render::records_of(api, peer, part, None).await?;
    let response = response::pieces(StatusCode::OK, MediaType::Record.header_value(), record);
    api.metrics.returned(Protocol::Http, 1, response.body().bytes());
    Ok(response)
}

/// The part of a read that a response includes, in another form than batches.
fn selection(request: &ReadRequest, form: ResponseForm) -> Wanted {
    Wanted {
        offset: request.offset,
        records_max: request.records_max,
        bytes_max: if request.bytes_max == 0 { u64::MAX } else { request.bytes_max },
        unpacked_bytes_max: TEXT_BYTES_MAX,
        spans_gaps: form == ResponseForm::Json,
    }
}

/// The requested limit, or `limit` if that is lower; 0 means no requested limit.
fn at_most(asked: u64, limit: u64) -> u64 {
    if asked == 0 { limit } else { asked.min(limit) }
}

/// Batches as they are stored; 204 if there are no records.
async fn batches(peer: &Peer, read: ReadAnswer) -> ApiResponse {
    if read.pieces.is_empty() {
        return response::no_content();
    }
    let content_type = match read.kind {
        BatchKind::Rawline => MediaType::Batch,
        BatchKind::Kafka => MediaType::RecordBatch,
    }
    .header_value();
    let Joined { pieces, holds_buffers } = join::join(peer, response::batches(read)).await;
    if holds_buffers {
        response::buffers(content_type, pieces)
    } else {
        response::pieces(StatusCode::OK, content_type, pieces)
    }
}

/// Batches that are made of Kafka's, in buffers of the pool, and the offsets of their records: from the first record at
/// `from` or after it up to the first gap.
async fn converted(api: &Api, peer: &Peer, read: ReadAnswer, from: u64) -> Result<(ApiResponse, Range<u64>), ApiError> {
    let raw_bytes_max = api.config.batch_limits.raw_bytes_max;
    let conversion = to_batches(&api.unpacking, read, from, TEXT_BYTES_MAX, raw_bytes_max).await?;
    let first_offset = conversion.batches.first().map_or(from, |first| first.first_offset);
    let mut end_offset = first_offset;
    let follows = conversion.batches.iter().take_while(|converted| {
        let follows = converted.first_offset == end_offset;
        end_offset = converted.first_offset + converted.records;
        follows
    });
    let batches: Vec<&Converted> = follows.collect();
    let bytes: u64 = batches.iter().map(|converted| converted.batch.len() as u64).sum();
    let mut body = render::Buffer(Gathered::new(render::reserve(api, peer, bytes).await?));
    for converted in &batches {
        body.write_all(&converted.batch).map_err(render::too_large)?;
    }
    let records: u64 = batches.iter().map(|converted| converted.records).sum();
    let response = response::buffers(MediaType::Batch.header_value(), body.0.freeze());
    Ok((response, first_offset..first_offset + records))
}

/// Kafka's batches that are made of ours, in buffers of the pool, and the offsets of their records.
async fn record_batches(api: &Api, peer: &Peer, read: ReadAnswer) -> Result<(ApiResponse, Range<u64>), ApiError> {
    let made = to_record_batches(&api.unpacking, read, TEXT_BYTES_MAX, api.config.batch_limits.raw_bytes_max).await?;
    let offsets = made.offsets();
    let body = made.into_buffers(&peer.holder, api.config.pool_wait).await?;
    Ok((response::buffers(MediaType::RecordBatch.header_value(), body), offsets))
}

/// The form in which a response returns records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseForm {
    /// Batches as `docs/format.md` specifies them.
    Batch,
    /// Kafka's batches.
    RecordBatch,
    /// Batches of either kind, as they are stored.
    Stored,
    /// Sizes and records: the form of the original API, and the default.
    Multipart,
    /// One record per line.
    Lines,
    /// An array of objects.
    Json,
}

impl ResponseForm {
    /// Whether it returns batches.
    fn is_batches(self) -> bool {
        matches!(self, ResponseForm::Batch | ResponseForm::RecordBatch | ResponseForm::Stored)
    }

    /// The first form of the `Accept` header that is known; both kinds of batches if both are named, one as the first.
    fn of(headers: &HeaderMap) -> Result<ResponseForm, ApiError> {
        let form = ResponseForm::first_of(headers)?;
        let other = match form {
            ResponseForm::Batch => MediaType::RecordBatch,
            ResponseForm::RecordBatch => MediaType::Batch,
            _ => return Ok(form),
        };
        let values = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
        let names_other = values.flat_map(|value| value.split(',')).any(|name| MediaType::parse(name) == Some(other));
        Ok(if names_other { ResponseForm::Stored } else { form })
    }

    fn first_of(headers: &HeaderMap) -> Result<ResponseForm, ApiError> {
        let mut is_any = true;
        for value in headers.get_all(ACCEPT) {
            is_any = false;
            let value = value.to_str().map_err(|_| not_acceptable("the header is not text"))?;
            for media_range in value.split(',') {
                match MediaType::parse_range(media_range) {
                    Some(MediaType::Batch) => return Ok(ResponseForm::Batch),
                    Some(MediaType::RecordBatch) => return Ok(ResponseForm::RecordBatch),
                    Some(MediaType::Multipart) => return Ok(ResponseForm::Multipart),
                    Some(MediaType::Lines) => return Ok(ResponseForm::Lines),
                    Some(MediaType::Json) => return Ok(ResponseForm::Json),
                    // One record is a form of requests only; `GET /record` always returns it.
                    Some(MediaType::Record) => {}
                    None => is_any |= media_range.trim().is_empty(),
                }
            }
        }
        if is_any { Ok(ResponseForm::Multipart) } else { Err(not_acceptable("it names no known form")) }
    }
}

fn not_acceptable(why: &str) -> ApiError {
    let [batch, record_batch] = [MediaType::Batch, MediaType::RecordBatch].map(MediaType::name);
    let [multipart, lines, json] = [MediaType::Multipart, MediaType::Lines, MediaType::Json].map(MediaType::name);
    let message = format!(
        "can't respond as the Accept header asks: {why}; accept {batch}, {record_batch}, {multipart}, {lines} or {json}"
    );
    ApiError::new(code::NOT_ACCEPTABLE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_form_counts() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, value.parse().unwrap());
            ResponseForm::of(&headers).ok()
        };
        assert_eq!(ResponseForm::of(&HeaderMap::new()).ok(), Some(ResponseForm::Multipart));
        assert_eq!(of("*/*"), Some(ResponseForm::Multipart));
        assert_eq!(of(""), Some(ResponseForm::Multipart));
        assert_eq!(of("text/html, application/json;q=0.9"), Some(ResponseForm::Json));
        assert_eq!(of("application/vnd.rawline.batch"), Some(ResponseForm::Batch));
        assert_eq!(of("application/vnd.kafka.record-batch, */*"), Some(ResponseForm::RecordBatch));
        let both = "application/vnd.kafka.record-batch,application/vnd.rawline.batch";
        assert_eq!(of(both), Some(ResponseForm::Stored));
        assert_eq!(of("application/json, application/vnd.kafka.record-batch"), Some(ResponseForm::Json));
        assert_eq!(of("Application/X-NDJSON"), Some(ResponseForm::Lines));
        assert_eq!(of("text/html"), None);
        assert_eq!(of("application/octet-stream"), None);
    }
}
