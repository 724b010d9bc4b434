//! Writes selected records as lines, JSON or multipart, in buffers of the pool.

use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::response::{self, ApiResponse};
use crate::http::select::Part;
use crate::net::peer::Peer;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use rawline_batch::record_batch::Record;
use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::{Gathered, PoolError, Reservation};
use rawline_contract::{JsonRecord, MediaType, Payload, code, timestamp, timestamp_ms};
use rawline_value::json::plain;
use std::io::Write;

/// Sizes and records, as the original API returns them; 206 and no part if there are no records.
pub(crate) async fn multipart(api: &Api, peer: &Peer, parts: &[Part]) -> Result<ApiResponse, ApiError> {
    let boundary = boundary();
    let content_type =
        HeaderValue::from_str(&format!("{}; boundary={boundary}", MediaType::Multipart.name())).map_err(too_large)?;
    if parts.is_empty() {
        let end = Bytes::from(format!("--{boundary}--\r\n"));
        return Ok(response::pieces(StatusCode::PARTIAL_CONTENT, content_type, [end]));
    }
    let records: u64 = parts.iter().map(Part::records).sum();
    // A size has at most ten digits and a comma; 1 KiB is for what surrounds them.
    let text_bytes = records * 11 + 1024;
    let unpacked_bytes: u64 = parts.iter().filter(|part| part.is_packed()).map(whole_blocks).sum();
    // Everything at once: a request that waits for buffers must hold none.
    let mut reservation = reserve(api, peer, text_bytes.next_multiple_of(BLOCK_BYTES as u64) + unpacked_bytes).await?;
    let mut text = Buffer(Gathered::new(reservation.split(text_bytes)));
    let part_head = |name| format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n");
    write!(text, "{}Content-Type: application/json\r\n\r\n[", part_head("sizes")).map_err(too_large)?;
    let mut separator = "";
    for part in parts {
        for range in part.ranges()? {
            write!(text, "{separator}{}", range.len()).map_err(too_large)?;
            separator = ",";
        }
    }
    write!(text, "]\r\n{}Content-Type: application/octet-stream\r\n\r\n", part_head("records")).map_err(too_large)?;
    let mut body = text.0.freeze();
    for part in parts {
        let reserved = part.is_packed().then(|| reservation.split(whole_blocks(part)));
        body.extend(records_of(api, peer, part, reserved).await?);
    }
    body.push(Bytes::from(format!("\r\n--{boundary}--\r\n")));
    Ok(response::buffers(content_type, body))
}

/// One record per line; 204 without records.
pub(crate) async fn lines(api: &Api, peer: &Peer, parts: &[Part]) -> Result<ApiResponse, ApiError> {
    if parts.is_empty() {
        return Ok(response::no_content());
    }
    let bytes: u64 = parts.iter().map(|part| part.bytes() + part.records()).sum();
    let mut text = Buffer(Gathered::new(reserve(api, peer, bytes).await?));
    for part in parts {
        let data = part.data(api).await?;
        for range in part.ranges()? {
            text.write_all(data.get(&range)).and_then(|()| text.write_all(b"\n")).map_err(too_large)?;
        }
    }
    assert_eq!(text.0.bytes(), bytes, "bytes of lines");
    Ok(response::buffers(MediaType::Lines.header_value(), text.0.freeze()))
}

/// An array of objects; 200 and an empty one if there are no records.
pub(crate) async fn json(api: &Api, peer: &Peer, parts: &[Part], payload: Payload) -> Result<ApiResponse, ApiError> {
    // A control character takes six bytes in JSON; 128 bytes are for what surrounds a record.
    let bytes: u64 = parts.iter().map(|part| json_bytes_max(part) + part.records() * 128).sum();
    let mut text = Buffer(Gathered::new(reserve(api, peer, bytes + 16).await?));
    let mut separator: &[u8] = b"[";
    for part in parts {
        let time = timestamp(part.created_us()).to_string();
        let data = part.data(api).await?;
        let mut fields = part.fields();
        for (offset, range) in (part.first_offset..).zip(part.ranges()?) {
            let (bytes, fields) = (data.get(&range), fields.as_mut().and_then(Iterator::next));
            text.write_all(separator).map_err(too_large)?;
            separator = b",\n";
            RecordJson { offset, time: &time, bytes, payload, fields }.write(&mut text).map_err(too_large)?;
        }
    }
    text.write_all(if parts.is_empty() { b"[]\n" } else { b"]\n" }).map_err(too_large)?;
    Ok(response::buffers(MediaType::Json.header_value(), text.0.freeze()))
}

/// A record as an object in JSON.
pub(crate) struct RecordJson<'a> {
    pub offset: u64,
    /// The time of its batch.
    pub time: &'a str,
    pub bytes: &'a [u8],
    pub payload: Payload,
    /// The record with all its fields, if it is of a Kafka batch.
    pub fields: Option<Record<'a>>,
}

impl RecordJson<'_> {
    /// The approximate stored size of the record, with its key and headers.
    pub fn stored_bytes(&self) -> usize {
        self.bytes.len() + self.fields.as_ref().map_or(0, |fields| JsonRecord::fields_bytes_max(fields) as usize / 6)
    }

    /// Writes the object, beginning with its opening brace.
    pub fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let RecordJson { offset, time, bytes, payload, fields } = self;
        if let Some(fields) = fields {
            let time = timestamp_ms(fields.timestamp_ms).to_string();
            return Ok(serde_json::to_writer(out, &JsonRecord::of_kafka(*offset, &time, fields))?);
        }
        // A record that isn't a structured value is written like any other.
        if *payload == Payload::Value && plain::write(bytes, &mut std::io::sink()).is_ok() {
            write!(out, "{{\"offset\":{offset},\"time\":\"{time}\",\"record\":")?;
            plain::write(bytes, out).map_err(std::io::Error::other)?;
            return out.write_all(b"}");
        }
        Ok(serde_json::to_writer(out, &JsonRecord::new(*offset, time, bytes))?)
    }
}

/// The maximum size of a part's records in JSON without what surrounds each, in bytes.
pub(crate) fn json_bytes_max(part: &Part) -> u64 {
    let fields = part.fields().map_or(0, |records| records.map(|record| JsonRecord::fields_bytes_max(&record)).sum());
    part.bytes() * 6 + fields
}

/// The maximum size of the JSON of the key and headers of a part's first record, in bytes.
pub(crate) fn first_fields_bytes_max(part: &Part) -> u64 {
    part.fields().and_then(|mut records| records.next()).map_or(0, |record| JsonRecord::fields_bytes_max(&record))
}

/// A part's records back to back: as stored, or decompressed into buffers that are `reserved` or, if they aren't, now
/// are.
pub(crate) async fn records_of(
    api: &Api,
    peer: &Peer,
    part: &Part,
    reserved: Option<Reservation>,
) -> Result<Vec<Bytes>, ApiError> {
    if !part.is_packed() {
        return Ok(vec![part.stored()]);
    }
    let reserved = match reserved {
        Some(reserved) => reserved,
        None => reserve(api, peer, whole_blocks(part)).await?,
    };
    let mut unpacked = Buffer(Gathered::new(reserved));
    let data = part.data(api).await?;
    unpacked.write_all(data.get(part.range())).map_err(too_large)?;
    Ok(unpacked.0.freeze())
}

/// Reserves buffers for a response of this size.
pub(crate) async fn reserve(api: &Api, peer: &Peer, bytes: u64) -> Result<Reservation, ApiError> {
    peer.holder.reserve(bytes, api.config.pool_wait).await.map_err(|error| match error {
        PoolError::Exhausted => error.into(),
        PoolError::TooLarge { .. } => too_large(error),
    })
}

/// A value as JSON, which lies in buffers of the pool if it is large.
pub(crate) async fn value(api: &Api, peer: &Peer, value: &impl serde::Serialize) -> Result<ApiResponse, ApiError> {
    let mut length = Counter(0);
    serde_json::to_writer(&mut length, value).map_err(too_large)?;
    if length.0 <= SMALL_BYTES {
        return Ok(response::json(StatusCode::OK, value));
    }
    let mut text = Buffer(Gathered::new(reserve(api, peer, length.0).await?));
    serde_json::to_writer(&mut text, value).map_err(too_large)?;
    Ok(response::buffers(MediaType::Json.header_value(), text.0.freeze()))
}

/// Counts the written bytes.
pub(crate) struct Counter(pub u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Size of a part's records in bytes, rounded up to whole buffers.
fn whole_blocks(part: &Part) -> u64 {
    part.bytes().next_multiple_of(BLOCK_BYTES as u64)
}

/// The boundary of one multipart response. Clients look for it in the body, so a producer that could guess it could
/// write records that end the part: it is drawn anew for every response.
#[expect(clippy::disallowed_methods, reason = "a boundary that no record can predict")]
fn boundary() -> String {
    format!("rawline-{:032x}", rand::random::<u128>())
}

/// Responses of at most this size lie outside the pool.
const SMALL_BYTES: u64 = 8 << 10;

/// Buffers of the pool to write to; a write fails when the reservation is used up.
pub(crate) struct Buffer(pub Gathered);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.push(bytes) { Ok(bytes.len()) } else { Err(std::io::ErrorKind::StorageFull.into()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The error of a response whose text outgrew its buffers.
pub(crate) fn too_large(_: impl std::fmt::Display) -> ApiError {
    let batch = MediaType::Batch.name();
    let message = format!("the response is too large in this form; ask for fewer bytes (max-bytes), or accept {batch}");
    ApiError::new(code::ANSWER_TOO_LARGE, message)
}
