//! Gives records out in forms for people and for the original's clients; the broker itself only ever gives batches.

use crate::http::error::ApiError;
use crate::http::{Api, append::BATCH};
use bytes::Bytes;
use rawline_batch::{Batch, Codec, HEADER_BYTES, Limits};
use rawline_broker::pool::Gathered;
use rawline_broker::{Piece, ReadAnswer};
use std::io::Write;
use std::ops::Range;

/// Most bytes of records in one answer of JSON or lines: such an answer is made in buffers of the pool.
pub(crate) const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Most records in one answer of JSON, lines or multipart, for the same reason.
pub(crate) const TEXT_RECORDS_MAX: u64 = 64 << 10;

/// The boundary of one multipart answer. Clients of this form look for it in the body, so it must not be guessed by
/// who writes records: it is drawn anew for every answer.
pub(crate) fn boundary() -> String {
    format!("rawline-{:032x}", rand::random::<u128>())
}

/// Pieces as the batches they are: slices get their own header, everything else stays as stored.
pub(crate) fn batches(answer: ReadAnswer) -> Result<Vec<Bytes>, ApiError> {
    let mut body = Vec::with_capacity(answer.pieces.len());
    for piece in answer.pieces {
        match piece {
            Piece::Whole(bytes) => body.push(bytes),
            Piece::Slice { batch, records } => {
                let slice = parse(&batch)?.0.slice(records)?;
                body.push(Bytes::copy_from_slice(&slice.header));
                body.push(batch.slice(slice.sizes));
                body.push(batch.slice(slice.data));
                body.push(Bytes::from_static(slice.padding));
            }
        }
    }
    Ok(body)
}

/// One batch of an answer, its wanted records, unpacked if it was packed.
pub(crate) struct Part {
    batch: Bytes,
    /// The wanted records' numbers.
    records: Range<u32>,
    /// Offset of the first wanted record.
    pub first_offset: u64,
    /// The data of all the batch's records.
    data: Bytes,
}

impl Part {
    /// When the producer made the batch, microseconds since the Unix epoch.
    pub fn created_us(&self) -> Result<u64, ApiError> {
        Ok(parse(&self.batch)?.0.header().created_us)
    }

    /// The sizes of the wanted records.
    pub fn sizes(&self) -> Result<Vec<Range<usize>>, ApiError> {
        let (batch, _) = parse(&self.batch)?;
        let mut position = 0;
        let mut ranges = Vec::with_capacity(self.records.len());
        for (number, size) in (0u32..).zip(batch.sizes()) {
            let range = position..position + size.get() as usize;
            position = range.end;
            if self.records.contains(&number) {
                ranges.push(range);
            }
        }
        Ok(ranges)
    }

    /// The data of the wanted records, without a copy.
    pub fn data(&self, sizes: &[Range<usize>]) -> Bytes {
        match (sizes.first(), sizes.last()) {
            (Some(first), Some(last)) => self.data.slice(first.start..last.end),
            _ => Bytes::new(),
        }
    }

    /// One record.
    pub fn record(&self, range: &Range<usize>) -> &[u8] {
        self.data.get(range.clone()).unwrap_or_default()
    }
}

/// The wanted records of an answer, batch by batch: those from `offset` on, at most `records_max` if that is not 0.
pub(crate) async fn parts(
    api: &Api,
    answer: ReadAnswer,
    offset: u64,
    records_max: u64,
) -> Result<Vec<Part>, ApiError> {
    let mut parts = Vec::new();
    let mut batch_offset = answer.first_offset;
    let mut left = if records_max == 0 { u64::MAX } else { records_max };
    for piece in answer.pieces {
        let (mut bytes, cut) = match piece {
            Piece::Whole(bytes) => (bytes, None),
            Piece::Slice { batch, records } => (batch, Some(records)),
        };
        while !bytes.is_empty() && left > 0 {
            let (header, batch) = {
                let (batch, _) = parse(&bytes)?;
                (*batch.header(), bytes.slice(..batch.bytes().len()))
            };
            bytes = bytes.slice(batch.len()..);
            let given = cut.clone().unwrap_or(0..header.records);
            // `batch_offset` is that of the first record given.
            let skip = offset.saturating_sub(batch_offset).min(u64::from(given.end - given.start)) as u32;
            let first_offset = batch_offset + u64::from(skip);
            batch_offset += u64::from(given.end - given.start);
            let start = given.start + skip;
            let count = u64::from(given.end - start).min(left) as u32;
            if count == 0 {
                continue;
            }
            left -= u64::from(count);
            let data = match header.codec {
                Codec::None => batch.slice(HEADER_BYTES + header.records as usize * 4..),
                _ => unpack(api, &batch).await?,
            };
            parts.push(Part { batch, records: start..start + count, first_offset, data });
        }
    }
    Ok(parts)
}

/// Unpacks a batch's data into buffers of its own, two batches at once at most.
async fn unpack(api: &Api, batch: &Bytes) -> Result<Bytes, ApiError> {
    let _permit = api.unpacking.acquire().await;
    let batch = batch.clone();
    let unpacked = tokio::task::spawn_blocking(move || {
        let (batch, _) = parse(&batch)?;
        let mut data = Vec::new();
        rawline_batch::decompress_into(batch.header().codec, batch.data(), batch.header().raw_bytes, &mut data)?;
        Ok::<_, ApiError>(Bytes::from(data))
    });
    unpacked.await.map_err(|error| {
        ApiError::new(http::StatusCode::INTERNAL_SERVER_ERROR, "unpack_failed", format!("unpacking failed: {error}"))
    })?
}

fn parse(batch: &Bytes) -> Result<(Batch<'_>, &[u8]), ApiError> {
    Ok(Batch::parse_prefix_trusted(batch, &Limits::FORMAT)?)
}

/// Writes into buffers of the pool; fails when the reservation is used up.
pub(crate) struct GatherWriter(pub Gathered);

impl Write for GatherWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.push(bytes) { Ok(bytes.len()) } else { Err(std::io::ErrorKind::StorageFull.into()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The error of an answer whose text outgrew its buffers.
pub(crate) fn text_too_large(_: impl std::fmt::Display) -> ApiError {
    let message = format!("the answer is too large as text; ask for fewer bytes (max-bytes), or Accept {BATCH}");
    ApiError::bad("answer_too_large", message)
}
