//! `POST /records`: appends batches as they are, or records in other forms.

use crate::access::{Caller, Operation};
use crate::convert::keys;
use crate::http::api::Api;
use crate::http::body::{BodyReader, Length};
use crate::http::draft::{BatchDraft, SIZE_BYTES};
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use crate::http::{auth, multipart};
use crate::metrics::Protocol;
use crate::net::peer::Peer;
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use rawline_batch::Checker;
use rawline_batch::record_batch::RecordBatchChecker;
use rawline_broker::limits::OBJECT_BATCHES_MAX;
use rawline_broker::pool::Gathered;
use rawline_broker::{AppendError, Partition, ProducerError, Received};
use rawline_contract::{Appended, MediaType, code};
use std::sync::Arc;

pub(crate) async fn append(
    api: &Api,
    peer: &Peer,
    caller: &Arc<Caller>,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    // From here on the body is read on for a while if an error refuses it.
    let (request, body) = BodyReader::split(api, request);
    let query = Query::of(&request);
    let (name, partition, epoch) = (query.topic()?.into_owned(), query.partition()?, query.producer_epoch()?);
    check_encoding(&request)?;
    let content_type = content_type(&request)?;
    let media_type = MediaType::parse(content_type).filter(|media_type| *media_type != MediaType::Json);
    let media_type = media_type.ok_or_else(|| unknown_content_type(content_type))?;
    body.check_length()?;
    // Last: a request that is refused by its head creates no topic.
    let partition = api.broker.partition_or_create(&name, partition).await?;
    let received = match media_type {
        MediaType::Batch => batches(api, peer, body).await?,
        MediaType::RecordBatch => {
            let received = record_batches(api, peer, body).await?;
            match partition.needs_keys() {
                true => keys::checked(&api.unpacking, received, api.config.batch_limits.raw_bytes_max).await?,
                false => received,
            }
        }
        MediaType::Record => record(api, peer, body).await?,
        MediaType::Lines => lines(api, peer, body).await?,
        MediaType::Multipart if epoch.is_none() => {
            let boundary = multipart::boundary(content_type)?;
            let received = multipart::receive(api, peer, body, boundary).await?;
            auth::renewed(api, caller)?.grants().topic(Operation::Write, &name)?;
            let Appended { first_offset, next_offset } = store(api, Protocol::Http, &partition, received).await?;
            return Ok(response::offsets(first_offset..next_offset));
        }
        MediaType::Multipart => return Err(ProducerError::Missing { batch: 0 }.into()),
        MediaType::Json => return Err(unknown_content_type(content_type)),
    };
    let received = match epoch {
        Some(epoch) => received.exactly_once(epoch)?,
        None => received,
    };
    // The body may have taken long.
    let caller = auth::renewed(api, caller)?;
    caller.grants().topic(Operation::Write, &name)?;
    check_producer(&caller, &partition, &received).await?;
    Ok(response::json(StatusCode::CREATED, &store(api, Protocol::Http, &partition, received).await?))
}

/// Fails if the append is in the name of a producer that the caller may not be.
pub(crate) async fn check_producer(
    caller: &Caller,
    partition: &Partition,
    received: &Received,
) -> Result<(), ApiError> {
    if caller.grants().is_every_producer() {
        return Ok(());
    }
    let name = partition.producer_name(received).await?;
    Ok(name.map_or(Ok(()), |name| caller.grants().producer(&name))?)
}

pub(crate) async fn store(
    api: &Api,
    protocol: Protocol,
    partition: &Partition,
    received: Received,
) -> Result<Appended, ApiError> {
    let records = received.records();
    api.metrics.received(protocol, records, received.bytes());
    let rawline_broker::Appended { first_offset, next_offset } = partition.append(received).await?;
    assert_eq!(next_offset - first_offset, records, "offsets {first_offset}..{next_offset} for {records} records");
    Ok(Appended { first_offset, next_offset })
}

fn content_type<B>(request: &Request<B>) -> Result<&str, ApiError> {
    let value = request.headers().get(header::CONTENT_TYPE).map_or(Ok(""), HeaderValue::to_str);
    value.map_err(|_| unknown_content_type("that is not text"))
}

fn unknown_content_type(content_type: &str) -> ApiError {
    let message = format!(
        "unknown Content-Type {content_type:?}; send {} (batches), {} (Kafka's batches), {} (one record), {} (one \
         record per line) or {} (sizes and records)",
        MediaType::Batch.name(),
        MediaType::RecordBatch.name(),
        MediaType::Record.name(),
        MediaType::Lines.name(),
        MediaType::Multipart.name()
    );
    ApiError::new(code::CONTENT_TYPE, message)
}

/// Refuses an encoded body: its encoded bytes would be stored as records.
fn check_encoding<B>(request: &Request<B>) -> Result<(), ApiError> {
    match request.headers().get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let batch = MediaType::Batch.name();
            let message =
                format!("Content-Encoding is not supported; send the body as it is, or compressed batches ({batch})");
            Err(ApiError::new(code::CONTENT_ENCODING, message))
        }
        _ => Ok(()),
    }
}

/// Checks batches that arrive in pieces.
trait Check {
    fn push(&mut self, piece: &[u8]) -> Result<(), ApiError>;
    /// Number of batches that are whole.
    fn count(&self) -> usize;
}

impl Check for Checker {
    fn push(&mut self, piece: &[u8]) -> Result<(), ApiError> {
        Ok(Checker::push(self, piece)?)
    }

    fn count(&self) -> usize {
        self.batches().len()
    }
}

impl Check for RecordBatchChecker {
    fn push(&mut self, piece: &[u8]) -> Result<(), ApiError> {
        Ok(RecordBatchChecker::push(self, piece)?)
    }

    fn count(&self) -> usize {
        self.batches().len()
    }
}

/// Receives batches.
async fn batches(api: &Api, peer: &Peer, body: BodyReader) -> Result<Received, ApiError> {
    let mut checker = Checker::new(api.config.batch_limits);
    let parts = checked(api, peer, body, &mut checker).await?;
    Ok(Received::new(parts, checker)?)
}

/// Receives Kafka's batches.
async fn record_batches(api: &Api, peer: &Peer, body: BodyReader) -> Result<Received, ApiError> {
    let mut checker = RecordBatchChecker::new(api.config.batch_limits);
    let parts = checked(api, peer, body, &mut checker).await?;
    let batches = checker.finish()?;
    if batches.iter().any(|batch| batch.header.is_transactional) {
        let message =
            "a batch belongs to a transaction, which HTTP doesn't have; send it without, or over Kafka's protocol";
        return Err(ApiError::new(code::RECORD_BATCH_INVALID, message));
    }
    Ok(Received::of_record_batches(parts, batches)?)
}

/// Receives batches into buffers of the pool. Each piece is checked while it is in the processor's cache.
async fn checked(
    api: &Api,
    peer: &Peer,
    mut body: BodyReader,
    checker: &mut impl Check,
) -> Result<Vec<Bytes>, ApiError> {
    let length = body.prove().await?;
    let reservation = match length {
        Length::Whole(bytes) => peer.holder.reserve(bytes, api.config.pool_wait).await?,
        Length::Max(bytes) => peer.holder.body(bytes)?,
    };
    let mut gathered = Gathered::new(reservation);
    while let Some(piece) = body.next().await? {
        checker.push(&piece)?;
        let batches = checker.count();
        if batches > OBJECT_BATCHES_MAX {
            // Now: later, the list of batches would take more memory than the batches themselves.
            return Err(AppendError::TooLarge { bytes: gathered.bytes(), batches }.into());
        }
        // The HTTP library never hands on more than was announced, and the reader never more than the limit.
        body.make_room(&mut gathered, piece.len()).await?;
        assert!(gathered.push(&piece), "{} and {} bytes of {length:?}", gathered.bytes(), piece.len());
    }
    Ok(gathered.freeze())
}

/// The body is one record.
async fn record(api: &Api, peer: &Peer, mut body: BodyReader) -> Result<Received, ApiError> {
    let mut draft = BatchDraft::new(api, peer, body.prove().await?, 1).await?;
    while let Some(piece) = body.next().await? {
        body.make_room(draft.data_mut(), piece.len()).await?;
        draft.push_data(&piece)?;
    }
    draft.add_size(draft.data_bytes() as u32).await?;
    draft.finish().await
}

/// Every line of the body is a record; the last line needs no end.
async fn lines(api: &Api, peer: &Peer, mut body: BodyReader) -> Result<Received, ApiError> {
    let records_max = api.config.batch_limits.records_max;
    let mut draft = BatchDraft::new(api, peer, body.prove().await?, records_max).await?;
    let mut line_bytes = 0u32;
    let mut is_open = false;
    while let Some(piece) = body.next().await? {
        // Each byte may be the end of a line, so of a record.
        body.make_room(draft.front_mut(), (piece.len() + 1) * SIZE_BYTES).await?;
        body.make_room(draft.data_mut(), piece.len()).await?;
        let mut rest = piece.as_ref();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, line_end) = rest.split_at(end);
            draft.push_data(line)?;
            draft.push_size(line_bytes + line.len() as u32)?;
            rest = line_end.split_at(1).1;
            (line_bytes, is_open) = (0, false);
        }
        draft.push_data(rest)?;
        line_bytes += rest.len() as u32;
        is_open |= !rest.is_empty();
    }
    if is_open {
        draft.add_size(line_bytes).await?;
    }
    if draft.records() == 0 {
        return Err(ApiError::new(code::RECORDS_MISSING, "the body is empty; send at least one line"));
    }
    draft.finish().await
}
