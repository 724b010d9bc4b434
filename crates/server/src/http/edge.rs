//! Gives records out in forms for people and for the original's clients; the broker itself only ever gives batches.

use crate::http::error::ApiError;
use crate::http::{Api, append::BATCH};
use bytes::Bytes;
use rawline_batch::{Batch, BatchError, Codec, HEADER_BYTES, Header, Limits};
use rawline_broker::pool::Gathered;
use rawline_broker::{Piece, ReadAnswer};
use std::io::Write;
use std::ops::Range;
use tokio::sync::SemaphorePermit;

/// Most bytes of records in one answer of JSON or lines, or out of compressed batches in one of multipart, softly: such
/// answers are made in buffers of the pool.
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

/// Wanted records of one batch.
pub(crate) struct Part {
    /// The whole batch, as stored.
    batch: Bytes,
    header: Header,
    /// Offset of the first wanted record.
    pub first_offset: u64,
    /// Where the wanted records lie in the batch's data once that is unpacked; at least one.
    pub records: Vec<Range<usize>>,
}

/// What a form takes of an answer, whatever the broker read for it.
pub(crate) struct Wanted {
    /// Offset of the first record.
    pub offset: u64,
    /// Most records; at least 1.
    pub records_max: u64,
    /// Most bytes of records, softly: one always comes.
    pub bytes_max: u64,
    /// Most bytes of records out of compressed batches, softly too: those are unpacked into buffers.
    pub unpacked_bytes_max: u64,
}

/// The wanted records of an answer, batch by batch.
pub(crate) fn parts(answer: ReadAnswer, wanted: &Wanted) -> Result<Vec<Part>, ApiError> {
    let mut parts = Vec::new();
    let mut offset = answer.first_offset;
    let mut left = Left {
        records: wanted.records_max,
        bytes: wanted.bytes_max,
        unpacked: wanted.unpacked_bytes_max,
        is_fresh: true,
    };
    for piece in answer.pieces {
        let (mut bytes, cut) = match piece {
            Piece::Whole(bytes) => (bytes, None),
            Piece::Slice { batch, records } => (batch, Some(records)),
        };
        while !bytes.is_empty() {
            let (batch, _) = parse(&bytes)?;
            let header = *batch.header();
            let given = cut.clone().unwrap_or(0..header.records);
            // `offset` is that of the first record given.
            let skip = wanted.offset.saturating_sub(offset).min(given.len() as u64) as u32;
            let records = left.take(&batch, given.start + skip..given.end);
            let is_end = records.len() < given.len() - skip as usize;
            let batch_bytes = batch.bytes().len();
            if !records.is_empty() {
                let first_offset = offset + u64::from(skip);
                parts.push(Part { batch: bytes.slice(..batch_bytes), header, first_offset, records });
            }
            if is_end {
                return Ok(parts);
            }
            offset += given.len() as u64;
            bytes = bytes.slice(batch_bytes..);
        }
    }
    Ok(parts)
}

/// What may still be taken.
struct Left {
    records: u64,
    bytes: u64,
    unpacked: u64,
    is_fresh: bool,
}

impl Left {
    /// Where those of the records `numbers` lie that still fit.
    fn take(&mut self, batch: &Batch<'_>, numbers: Range<u32>) -> Vec<Range<usize>> {
        let is_packed = batch.header().codec != Codec::None;
        let mut position = 0;
        let mut ranges = Vec::with_capacity((numbers.len() as u64).min(self.records) as usize);
        for (number, size) in (0u32..).zip(batch.sizes()).take(numbers.end as usize) {
            let range = position..position + size.get() as usize;
            position = range.end;
            if number < numbers.start {
                continue;
            }
            let size = range.len() as u64;
            let fits = size <= self.bytes && (!is_packed || size <= self.unpacked);
            if self.records == 0 || !fits && !self.is_fresh {
                break;
            }
            self.records -= 1;
            self.bytes = self.bytes.saturating_sub(size);
            self.unpacked = self.unpacked.saturating_sub(if is_packed { size } else { 0 });
            self.is_fresh = false;
            ranges.push(range);
        }
        ranges
    }
}

/// The data of a batch's records, unpacked.
pub(crate) struct Data<'a> {
    bytes: Bytes,
    /// Two batches are unpacked at once at most, so that memory stays bounded.
    _permit: Option<SemaphorePermit<'a>>,
}

impl Data<'_> {
    /// One record.
    pub fn record(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }
}

impl Part {
    /// When the producer made the batch, microseconds since the Unix epoch.
    pub fn created_us(&self) -> u64 {
        self.header.created_us
    }

    /// Whether the data has to be unpacked.
    pub fn is_packed(&self) -> bool {
        self.header.codec != Codec::None
    }

    /// Where all the wanted records lie.
    pub fn range(&self) -> Range<usize> {
        match (self.records.first(), self.records.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }

    /// The wanted records back to back as stored, of a batch that is not packed.
    pub fn stored(&self) -> Bytes {
        let range = self.range();
        self.batch.slice(self.data_position() + range.start..self.data_position() + range.end)
    }

    /// The data of all the batch's records. A packed batch is unpacked into memory of its own: hold it briefly, and
    /// reserve buffers before asking for it.
    pub async fn data<'a>(&self, api: &'a Api) -> Result<Data<'a>, ApiError> {
        if !self.is_packed() {
            return Ok(Data { bytes: self.batch.slice(self.data_position()..), _permit: None });
        }
        let permit = api.unpacking.acquire().await.ok();
        let batch = self.batch.clone();
        let unpacked = tokio::task::spawn_blocking(move || {
            let (batch, _) = parse(&batch)?;
            let mut data = Vec::new();
            rawline_batch::decompress_into(batch.header().codec, batch.data(), batch.header().raw_bytes, &mut data)?;
            Ok::<_, BatchError>(Bytes::from(data))
        });
        let unpacked = unpacked.await.map_err(unpack_failed)?.map_err(unpack_failed)?;
        Ok(Data { bytes: unpacked, _permit: permit })
    }

    fn data_position(&self) -> usize {
        HEADER_BYTES + self.header.records as usize * 4
    }
}

/// The producer's data is at fault, not the reader's request: the broker does not unpack what it is sent.
fn unpack_failed(error: impl std::fmt::Display) -> ApiError {
    let message = format!("a batch can't be unpacked here: {error}; Accept {BATCH} gives it as it was sent");
    ApiError::new(http::StatusCode::INTERNAL_SERVER_ERROR, "unpack_failed", message)
}

fn parse(batch: &Bytes) -> Result<(Batch<'_>, &[u8]), BatchError> {
    Batch::parse_prefix_trusted(batch, &Limits::FORMAT)
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
