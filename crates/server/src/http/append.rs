//! `POST /records`: appends batches as they are, or records in other forms.

use crate::access::{Caller, Operation};
use crate::convert::keys;
use crate::http::api::Api;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use crate::http::{auth, multipart, receive};
use crate::net::peer::Peer;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use rawline_broker::{Partition, ProducerError, Received};
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
        MediaType::Batch => receive::batches(api, peer, body).await?,
        MediaType::RecordBatch => {
            let received = receive::record_batches(api, peer, body).await?;
            keys::checked(&api.unpacking, &partition, received, api.config.batch_limits.raw_bytes_max).await?
        }
        MediaType::Record => receive::record(api, peer, body).await?,
        MediaType::Lines => receive::lines(api, peer, body).await?,
        MediaType::Multipart if epoch.is_none() => {
            let boundary = multipart::boundary(content_type)?;
            let received = multipart::receive(api, peer, body, boundary).await?;
            auth::renewed(api, caller)?.grants().topic(Operation::Write, &name)?;
            let Appended { first_offset, next_offset } = store(api, &partition, received).await?;
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
    Ok(response::json(StatusCode::CREATED, &store(api, &partition, received).await?))
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

pub(crate) async fn store(api: &Api, partition: &Partition, received: Received) -> Result<Appended, ApiError> {
    let records = received.records();
    api.metrics.received(records, received.bytes());
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
