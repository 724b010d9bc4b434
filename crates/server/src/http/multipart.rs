//! Receives the form of the original API: a part `sizes`, a JSON array of record sizes, then a part `records`.

use crate::http::api::Api;
use crate::http::body::{BodyReader, Length};
use crate::http::draft::{BatchDraft, SIZE_BYTES, sizes_text_bytes};
use crate::http::error::ApiError;
use crate::net::peer::Peer;
use bytes::Bytes;
use futures_util::stream;
use rawline_broker::Received;
use rawline_broker::pool::Gathered;
use rawline_contract::code;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The boundary that a request's `Content-Type` names.
pub(crate) fn boundary(content_type: &str) -> Result<String, ApiError> {
    multer::parse_boundary(content_type).map_err(|_| {
        let message = "the Content-Type has no boundary; send multipart/form-data; boundary=…";
        ApiError::new(code::MULTIPART_BOUNDARY, message)
    })
}

/// Makes a batch of the form's sizes and records.
pub(crate) async fn receive(
    api: &Api,
    peer: &Peer,
    mut body: BodyReader,
    boundary: String,
) -> Result<Received, ApiError> {
    let length = body.prove().await?;
    let (Length::Whole(bytes) | Length::Max(bytes)) = length;
    let limits = api.config.batch_limits;
    let text_bytes = sizes_text_bytes(&limits, bytes);
    let (mut draft, mut text) = BatchDraft::with_text(api, peer, length, limits, text_bytes).await?;
    let (held, paused) = (Held::default(), Paused::default());
    let pieces = stream::unfold(body, |mut body| {
        let (held, paused) = (held.clone(), paused.clone());
        async move {
            body.paused(paused.take());
            let next = body.next().await.and_then(|piece| held.add(piece)).transpose()?;
            Some((next, body))
        }
    });
    let mut parts = multer::Multipart::new(pieces, boundary);

    let mut sizes = part(&mut parts, "sizes").await?;
    while let Some(piece) = sizes.chunk().await.map_err(invalid)? {
        held.subtract(&piece);
        paused.make_room(api, &mut text, piece.len()).await?;
        if !text.push(&piece) {
            return Err(draft.too_many_records());
        }
    }
    drop(sizes);
    // A size has at least one digit and a separator.
    let sizes_max = usize::try_from(text.bytes() / 2 + 1).unwrap_or(usize::MAX / SIZE_BYTES);
    paused.make_room(api, draft.front_mut(), sizes_max * SIZE_BYTES).await?;
    parse_sizes(&text, &mut draft)?;
    drop(text);

    let mut records = part(&mut parts, "records").await?;
    while let Some(piece) = records.chunk().await.map_err(invalid)? {
        held.subtract(&piece);
        paused.make_room(api, draft.data_mut(), piece.len()).await?;
        draft.push_data(&piece)?;
    }
    drop(records);
    if parts.next_field().await.map_err(invalid)?.is_some() {
        return Err(parts_wrong());
    }
    draft.finish().await
}

/// The time for which the body was not read because the buffers were full, in microseconds, since the last call.
#[derive(Clone, Default)]
struct Paused(Arc<AtomicU64>);

impl Paused {
    /// Makes room for `bytes` more bytes.
    async fn make_room(&self, api: &Api, gathered: &mut Gathered, bytes: usize) -> Result<(), ApiError> {
        if !gathered.try_make_room(bytes) {
            let since = Instant::now();
            gathered.make_room(bytes, api.config.pool_wait).await?;
            self.0.fetch_add(since.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    fn take(&self) -> Duration {
        Duration::from_micros(self.0.swap(0, Ordering::Relaxed))
    }
}

/// How many bytes the parser of forms holds in its own memory. Without a limit it would gather a whole body while it
/// looks for the beginning of a part.
#[derive(Clone, Default)]
struct Held(Arc<AtomicUsize>);

/// Much more than a piece from a socket and a part's head.
const HELD_BYTES_MAX: usize = 1 << 20;

impl Held {
    fn add(&self, piece: Option<Bytes>) -> Result<Option<Bytes>, ApiError> {
        let bytes = piece.as_ref().map_or(0, Bytes::len);
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes > HELD_BYTES_MAX {
            let message =
                format!("no part of the multipart body begins within {HELD_BYTES_MAX} bytes; check its boundary");
            return Err(ApiError::new(code::MULTIPART_INVALID, message));
        }
        Ok(piece)
    }

    fn subtract(&self, piece: &Bytes) {
        let before = self.0.fetch_sub(piece.len(), Ordering::Relaxed);
        assert!(before >= piece.len(), "the parser returned {} bytes and held {before}", piece.len());
    }
}

/// The next part, which must have this name.
async fn part<'a>(parts: &mut multer::Multipart<'a>, name: &str) -> Result<multer::Field<'a>, ApiError> {
    match parts.next_field().await.map_err(invalid)? {
        Some(field) if field.name() == Some(name) => Ok(field),
        _ => Err(parts_wrong()),
    }
}

fn parts_wrong() -> ApiError {
    let message = "send two parts in this order: sizes (a JSON array of record sizes in bytes), records (the records \
                   back to back)";
    ApiError::new(code::MULTIPART_PARTS, message)
}

fn invalid(error: multer::Error) -> ApiError {
    // If the body itself failed (too slow, too large, truncated), that is the error that the client needs.
    match error {
        multer::Error::StreamReadFailed(below) => match below.downcast::<ApiError>() {
            Ok(below) => *below,
            Err(below) => ApiError::new(code::MULTIPART_INVALID, format!("the body can't be read: {below}")),
        },
        other => ApiError::new(code::MULTIPART_INVALID, format!("the body is not multipart/form-data: {other}")),
    }
}

fn parse_sizes(text: &Gathered, draft: &mut BatchDraft<'_>) -> Result<(), ApiError> {
    let mut deserializer = serde_json::Deserializer::from_reader(std::io::BufReader::new(PiecesReader::new(text)));
    let mut failed = None;
    let parsed = serde::Deserializer::deserialize_seq(&mut deserializer, Sizes { draft, failed: &mut failed });
    if let Some(error) = failed {
        return Err(error);
    }
    parsed.and_then(|()| deserializer.end()).map_err(|error| {
        let message = format!("sizes must be a JSON array of record sizes in bytes: {error}");
        ApiError::new(code::SIZES_INVALID, message)
    })?;
    if draft.records() == 0 {
        return Err(ApiError::new(code::SIZES_INVALID, "sizes is empty; send at least one record"));
    }
    Ok(())
}

/// Writes the sizes into the batch as they are parsed.
struct Sizes<'a, 'b> {
    draft: &'a mut BatchDraft<'b>,
    failed: &'a mut Option<ApiError>,
}

impl<'de> serde::de::Visitor<'de> for Sizes<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of whole numbers below 2^32")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut sizes: A) -> Result<(), A::Error> {
        while let Some(size) = sizes.next_element::<u32>()? {
            if let Err(error) = self.draft.push_size(size) {
                *self.failed = Some(error);
                return Err(serde::de::Error::custom("too many"));
            }
        }
        Ok(())
    }
}

struct PiecesReader<'a> {
    /// The next one last.
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
