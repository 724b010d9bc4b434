//! Makes batches of what people and the original's clients send: one record, a record a line, sizes and records.
//!
//! The server is the producer here. Header and sizes are gathered in one run of buffers, the data in another, so that
//! neither has to be moved when the other's length is known.

use crate::http::Api;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use bytes::Bytes;
use futures_util::stream;
use rawline_batch::header::{ALIGNMENT, padding};
use rawline_batch::{Checker, Codec, HEADER_BYTES, Header, Limits};
use rawline_broker::Received;
use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::Gathered;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A batch that is being made.
struct Form<'a> {
    api: &'a Api,
    /// Header and sizes.
    front: Gathered,
    data: Gathered,
    records: u32,
}

impl<'a> Form<'a> {
    /// Reserves buffers for a body of at most `bytes` bytes, `text_bytes` of them for something that is read and dropped.
    async fn new(api: &'a Api, bytes: u64, text_bytes: u64) -> Result<(Form<'a>, Gathered), ApiError> {
        let (front_bytes, data_bytes) = batch_bytes(&api.config.batch_limits, bytes);
        let all = front_bytes + text_bytes + data_bytes + ROUNDING_BYTES;
        let mut reservation = api.pool.reserve(all, api.config.pool_wait).await?;
        let front = Gathered::new(reservation.split(front_bytes));
        let text = Gathered::new(reservation.split(text_bytes));
        let mut form = Form { api, front, data: Gathered::new(reservation), records: 0 };
        form.push_front(&[0; HEADER_BYTES])?;
        Ok((form, text))
    }

    fn push_front(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        if self.front.push(bytes) { Ok(()) } else { Err(self.too_large()) }
    }

    fn push_size(&mut self, size: u32) -> Result<(), ApiError> {
        if self.records >= self.api.config.batch_limits.records_max {
            return Err(self.too_many_records());
        }
        self.records += 1;
        self.push_front(&size.to_le_bytes())
    }

    fn push_data(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        if self.data.push(bytes) { Ok(()) } else { Err(self.too_large()) }
    }

    fn too_large(&self) -> ApiError {
        let bytes = self.front.bytes() + self.data.bytes();
        ApiError::too_large(bytes, u64::from(self.api.config.batch_limits.batch_bytes_max))
    }

    fn too_many_records(&self) -> ApiError {
        let limit = self.api.config.batch_limits.records_max;
        let message = format!("more than {limit} records in one request; send fewer at once");
        ApiError::new(http::StatusCode::PAYLOAD_TOO_LARGE, "records_too_many", message)
    }

    /// Writes the header over the place kept for it and checks the whole.
    fn finish(mut self) -> Result<Received, ApiError> {
        let limit = u64::from(self.api.config.batch_limits.batch_bytes_max);
        if self.front.bytes() + self.data.bytes() > limit {
            return Err(self.too_large());
        }
        let raw_bytes = self.data.bytes() as u32;
        let header = Header {
            codec: Codec::None,
            slice: false,
            records: self.records,
            data_bytes: raw_bytes,
            raw_bytes,
            created_us: self.api.clock.now_us(),
            producer_id: 0,
            sequence: 0,
            crc32c: 0,
        };
        let sizes = self.front.pieces().enumerate().map(|(number, piece)| match number {
            0 => piece.get(HEADER_BYTES..).unwrap_or_default(),
            _ => piece,
        });
        let sealed = header.seal(sizes.chain(self.data.pieces()));
        if let Some(front) = self.front.front_mut().first_chunk_mut::<HEADER_BYTES>() {
            *front = sealed;
        }
        self.push_data(padding(header.padding_bytes()))?;
        let mut parts = self.front.freeze();
        parts.extend(self.data.freeze());
        let mut checker = Checker::new(self.api.config.batch_limits);
        for part in &parts {
            checker.push(part)?;
        }
        Ok(Received::new(parts, checker)?)
    }
}

/// Header and sizes in one run of buffers, text in another, data in a third: each rounds up to whole blocks.
const ROUNDING_BYTES: u64 = 2 * BLOCK_BYTES as u64;

/// Bytes of header and sizes, and of data with its padding, that a body of `bytes` bytes may come to need. What makes more
/// than the largest batch is refused, and needs none.
fn batch_bytes(limits: &Limits, bytes: u64) -> (u64, u64) {
    let batch_bytes_max = u64::from(limits.batch_bytes_max);
    // A line of no length is a record of four bytes.
    let front_bytes = HEADER_BYTES as u64 + 4 * (bytes + 1).min(u64::from(limits.records_max));
    (front_bytes.min(batch_bytes_max.max(HEADER_BYTES as u64)), bytes.min(batch_bytes_max) + ALIGNMENT)
}

/// Bytes of sizes as text in a body of `bytes` bytes: a size has at most ten digits and a comma.
fn sizes_text_bytes(limits: &Limits, bytes: u64) -> u64 {
    bytes.min(11 * u64::from(limits.records_max) + 2)
}

/// The most buffers that any one request needs, in bytes: a pool that has fewer would refuse requests for ever that the
/// other limits allow.
pub fn request_buffers_max(limits: &Limits, request_bytes_max: u64) -> u64 {
    let (front_bytes, data_bytes) = batch_bytes(limits, request_bytes_max);
    let form_bytes = front_bytes + sizes_text_bytes(limits, request_bytes_max) + data_bytes + ROUNDING_BYTES;
    form_bytes.max(request_bytes_max).next_multiple_of(BLOCK_BYTES as u64)
}

/// The body is one record.
pub(crate) async fn receive_record(api: &Api, mut body: BodyReader) -> Result<Received, ApiError> {
    let (mut form, _) = Form::new(api, body.bytes_expected(), 0).await?;
    while let Some(piece) = body.next().await? {
        form.push_data(&piece)?;
    }
    form.push_size(form.data.bytes() as u32)?;
    form.finish()
}

/// Every line of the body is a record; the last needs no end of line.
pub(crate) async fn receive_lines(api: &Api, mut body: BodyReader) -> Result<Received, ApiError> {
    let (mut form, _) = Form::new(api, body.bytes_expected(), 0).await?;
    let mut line_bytes = 0u32;
    let mut is_open = false;
    while let Some(piece) = body.next().await? {
        let mut rest = piece.as_ref();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(end);
            form.push_data(line)?;
            form.push_size(line_bytes + line.len() as u32)?;
            rest = behind.get(1..).unwrap_or_default();
            (line_bytes, is_open) = (0, false);
        }
        form.push_data(rest)?;
        line_bytes += rest.len() as u32;
        is_open |= !rest.is_empty();
    }
    if is_open {
        form.push_size(line_bytes)?;
    }
    if form.records == 0 {
        return Err(ApiError::bad("records_missing", "the body is empty; send at least one line"));
    }
    form.finish()
}

/// The original's form: a part `sizes`, a JSON array of record sizes in bytes, then a part `records`.
pub(crate) async fn receive_multipart(api: &Api, body: BodyReader, boundary: String) -> Result<Received, ApiError> {
    let expected = body.bytes_expected();
    let text_bytes = sizes_text_bytes(&api.config.batch_limits, expected);
    let (mut form, mut text) = Form::new(api, expected, text_bytes).await?;
    let held = Held::default();
    let pieces = stream::unfold(body, |mut body| {
        let held = held.clone();
        async move {
            let next = body.next().await.and_then(|piece| held.add(piece)).transpose()?;
            Some((next, body))
        }
    });
    let mut parts = multer::Multipart::new(pieces, boundary);

    let mut sizes = part(&mut parts, "sizes").await?;
    while let Some(piece) = sizes.chunk().await.map_err(multipart)? {
        held.subtract(&piece);
        if !text.push(&piece) {
            return Err(form.too_many_records());
        }
    }
    drop(sizes);
    parse_sizes(&text, &mut form)?;
    drop(text);

    let mut records = part(&mut parts, "records").await?;
    while let Some(piece) = records.chunk().await.map_err(multipart)? {
        held.subtract(&piece);
        form.push_data(&piece)?;
    }
    drop(records);
    if parts.next_field().await.map_err(multipart)?.is_some() {
        return Err(parts_wrong());
    }
    form.finish()
}

/// How many bytes the multipart parser holds in memory of its own. It would gather a whole body while it looks for a
/// part's beginning.
#[derive(Clone, Default)]
struct Held(Arc<AtomicUsize>);

/// Much more than the pieces that a socket gives and a part's head.
const HELD_BYTES_MAX: usize = 1 << 20;

impl Held {
    fn add(&self, piece: Option<Bytes>) -> Result<Option<Bytes>, ApiError> {
        let bytes = piece.as_ref().map_or(0, Bytes::len);
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes > HELD_BYTES_MAX {
            let message =
                format!("no part of the multipart body begins within {HELD_BYTES_MAX} bytes; check its boundary");
            return Err(ApiError::bad("multipart_invalid", message));
        }
        Ok(piece)
    }

    fn subtract(&self, piece: &Bytes) {
        self.0.fetch_sub(piece.len(), Ordering::Relaxed);
    }
}

/// The next part, which must have this name.
async fn part<'a>(parts: &mut multer::Multipart<'a>, name: &str) -> Result<multer::Field<'a>, ApiError> {
    match parts.next_field().await.map_err(multipart)? {
        Some(field) if field.name() == Some(name) => Ok(field),
        _ => Err(parts_wrong()),
    }
}

fn parts_wrong() -> ApiError {
    ApiError::bad(
        "multipart_parts",
        "send two parts in this order: sizes (a JSON array of record sizes in bytes), records (the records back to back)",
    )
}

fn multipart(error: multer::Error) -> ApiError {
    // What went wrong below the form (too slow, too large, cut off) is what the caller must be told.
    match error {
        multer::Error::StreamReadFailed(below) => match below.downcast::<ApiError>() {
            Ok(below) => *below,
            Err(below) => ApiError::bad("multipart_invalid", format!("the body can't be read: {below}")),
        },
        other => ApiError::bad("multipart_invalid", format!("the body is no multipart/form-data: {other}")),
    }
}

fn parse_sizes(text: &Gathered, form: &mut Form<'_>) -> Result<(), ApiError> {
    let mut deserializer = serde_json::Deserializer::from_reader(std::io::BufReader::new(PiecesReader::new(text)));
    let mut failed = None;
    let parsed = serde::Deserializer::deserialize_seq(&mut deserializer, Sizes { form, failed: &mut failed });
    if let Some(error) = failed {
        return Err(error);
    }
    parsed.and_then(|()| deserializer.end()).map_err(|error| {
        ApiError::bad("sizes_invalid", format!("sizes must be a JSON array of record sizes in bytes: {error}"))
    })?;
    if form.records == 0 {
        return Err(ApiError::bad("sizes_invalid", "sizes is empty; send at least one record"));
    }
    Ok(())
}

/// Writes the sizes to where they belong as they are parsed.
struct Sizes<'a, 'b> {
    form: &'a mut Form<'b>,
    failed: &'a mut Option<ApiError>,
}

impl<'de> serde::de::Visitor<'de> for Sizes<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of whole numbers below 2^32")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut sizes: A) -> Result<(), A::Error> {
        while let Some(size) = sizes.next_element::<u32>()? {
            if let Err(error) = self.form.push_size(size) {
                *self.failed = Some(error);
                return Err(serde::de::Error::custom("too many"));
            }
        }
        Ok(())
    }
}

struct PiecesReader<'a> {
    pieces: Vec<&'a [u8]>,
}

impl<'a> PiecesReader<'a> {
    fn new(gathered: &'a Gathered) -> Self {
        let mut pieces: Vec<&[u8]> = gathered.pieces().collect();
        pieces.reverse();
        PiecesReader { pieces }
    }
}

impl Read for PiecesReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(piece) = self.pieces.last_mut() {
            let count = piece.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.pieces.pop();
        }
        Ok(0)
    }
}
