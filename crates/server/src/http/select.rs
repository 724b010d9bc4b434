//! Turns a read into the parts of a response that has other forms than batches: the selected records of each.
//!
//! The memory per batch doesn't grow with the number of its records: a list of a million positions would be larger
//! than the batch itself, and it lies outside the pool.

use crate::convert::{Conversion, Unpacked, to_batches};
use crate::http::api::Api;
use crate::http::error::ApiError;
use bytes::Bytes;
use rawline_batch::record_batch::Record;
use rawline_batch::{Batch, BatchError, Codec, HEADER_BYTES, Header, Limits};
use rawline_broker::pool::PoolError;
use rawline_broker::{BatchKind, Piece, ReadAnswer};
use rawline_contract::code;
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

/// The part of a read that a response includes.
pub(crate) struct Wanted {
    /// Offset of the first record.
    pub offset: u64,
    /// Maximum number of records; at least 1.
    pub records_max: u64,
    /// Maximum size of the records in bytes; the first one is always included.
    pub bytes_max: u64,
    /// The same for records out of compressed batches, which are decompressed into buffers.
    pub unpacked_bytes_max: u64,
    /// Whether the response has the offset of each record. If not, it ends before the first gap of a compacted topic.
    pub spans_gaps: bool,
}

/// Maximum number of batches in one response in another form. What is noted of each, a fifth of a kilobyte, lies
/// outside the pool until the response is made.
const PARTS_MAX: usize = 2048;

/// Maximum number of responses in another form that are made at once, from the read to the last byte. It bounds what is
/// noted of their batches, to 15 MB, however many requests wait for buffers.
pub(crate) const SELECTING_MAX: usize = 32;

/// The turn of a request whose response has another form than batches. It is taken before its records are read, and
/// lasts until the response is made; never while it waits for records or for its client.
pub(crate) async fn turn(api: &Api) -> Result<SemaphorePermit<'_>, ApiError> {
    match timeout(api.config.pool_wait, api.selecting.acquire()).await {
        Ok(Ok(turn)) => Ok(turn),
        // The requests before it wait for buffers.
        _ => Err(PoolError::Exhausted.into()),
    }
}

/// Selected records of one batch, at least one.
pub(crate) struct Part {
    /// The whole batch, as stored.
    batch: Bytes,
    header: Header,
    /// Offset of the first selected record.
    pub first_offset: u64,
    /// The numbers of the selected records in the batch.
    numbers: Range<u32>,
    /// Their range in the batch's decompressed data.
    range: Range<usize>,
    /// The source of a converted batch, and the number of the batch's first record there.
    source: Option<(Arc<Unpacked>, u32)>,
}

// See `PARTS_MAX`.
const _: () = assert!(size_of::<Part>() <= 208);

/// Selected records of a read.
pub(crate) struct Selected<'a> {
    pub parts: Vec<Part>,
    /// Holds the batches that are not stored ones.
    _conversion: Option<Conversion<'a>>,
}

/// Selects the wanted records, of at most [`PARTS_MAX`] batches: a reader continues after the last record it got.
pub(crate) async fn select<'a>(api: &'a Api, read: ReadAnswer, wanted: &Wanted) -> Result<Selected<'a>, ApiError> {
    let mut selecting = Selecting::new(wanted);
    if read.kind == BatchKind::Rawline {
        selecting.take(read.first_offset, read.pieces)?;
        return Ok(Selected { parts: selecting.end(), _conversion: None });
    }
    let raw_bytes_max = api.config.batch_limits.raw_bytes_max;
    let conversion = to_batches(&api.unpacking, read, wanted.offset, wanted.unpacked_bytes_max, raw_bytes_max).await?;
    for converted in &conversion.batches {
        let follows = selecting.next_offset().is_none_or(|next_offset| next_offset == converted.first_offset);
        if !follows && !wanted.spans_gaps {
            break;
        }
        let before = selecting.parts.len();
        let is_end = selecting.take(converted.first_offset, vec![Piece::Whole(converted.batch.clone())])?;
        for part in selecting.parts.iter_mut().skip(before) {
            part.source = Some((converted.source.clone(), converted.number_first));
        }
        if is_end {
            break;
        }
    }
    Ok(Selected { parts: selecting.end(), _conversion: Some(conversion) })
}

/// Selects records of consecutive batches.
struct Selecting<'a> {
    wanted: &'a Wanted,
    left: Left,
    parts: Vec<Part>,
}

impl<'a> Selecting<'a> {
    fn new(wanted: &'a Wanted) -> Selecting<'a> {
        let left = Left {
            records: wanted.records_max,
            bytes: wanted.bytes_max,
            unpacked: wanted.unpacked_bytes_max,
            is_fresh: true,
        };
        Selecting { wanted, left, parts: Vec::new() }
    }

    /// The offset after the last selected record.
    fn next_offset(&self) -> Option<u64> {
        self.parts.last().map(|last| last.first_offset + last.records())
    }

    /// Selects of pieces whose records follow each other from an offset on. True if nothing more can be selected.
    fn take(&mut self, mut offset: u64, pieces: Vec<Piece>) -> Result<bool, ApiError> {
        for piece in pieces {
            let (mut bytes, cut) = match piece {
                Piece::Whole(bytes) => (bytes, None),
                Piece::Slice { batch, records, .. } => (batch, Some(records)),
            };
            while !bytes.is_empty() {
                let batch = parse(&bytes)?;
                let header = *batch.header();
                let given = cut.clone().unwrap_or(0..header.records);
                // `offset` is the offset of the first given record. Records before the requested offset are skipped.
                let skip = self.wanted.offset.saturating_sub(offset).min(given.len() as u64) as u32;
                let (numbers, range) = self.left.take(&batch, given.start + skip..given.end);
                let is_end = numbers.end < given.end;
                let batch_bytes = batch.bytes().len();
                if !numbers.is_empty() {
                    let first_offset = offset + u64::from(skip);
                    let batch = bytes.slice(..batch_bytes);
                    self.parts.push(Part { batch, header, first_offset, numbers, range, source: None });
                }
                if is_end || self.parts.len() == PARTS_MAX {
                    return Ok(true);
                }
                offset += given.len() as u64;
                bytes = bytes.slice(batch_bytes..);
            }
        }
        Ok(false)
    }

    fn end(self) -> Vec<Part> {
        let records: u64 = self.parts.iter().map(Part::records).sum();
        assert!(records <= self.wanted.records_max, "{records} records of at most {}", self.wanted.records_max);
        self.parts
    }
}

/// The remaining limits.
struct Left {
    records: u64,
    bytes: u64,
    unpacked: u64,
    is_fresh: bool,
}

impl Left {
    /// Takes as many of the records `numbers` as fit: their numbers, and where they lie in the data.
    fn take(&mut self, batch: &Batch<'_>, numbers: Range<u32>) -> (Range<u32>, Range<usize>) {
        let is_packed = batch.header().codec != Codec::None;
        let (before, sizes) = batch.sizes().split_at(numbers.start as usize);
        let start: usize = before.iter().map(|size| size.get() as usize).sum();
        let (mut taken, mut end) = (numbers.start, start);
        for size in sizes.iter().take(numbers.len()).map(|size| u64::from(size.get())) {
            let fits = size <= self.bytes && (!is_packed || size <= self.unpacked);
            if self.records == 0 || !fits && !self.is_fresh {
                break;
            }
            self.records -= 1;
            // The first record is selected even if it exceeds the limit.
            self.bytes = self.bytes.saturating_sub(size);
            self.unpacked = self.unpacked.saturating_sub(if is_packed { size } else { 0 });
            self.is_fresh = false;
            taken += 1;
            end += size as usize;
        }
        (numbers.start..taken, start..end)
    }
}

/// The decompressed data of a batch.
pub(crate) struct Data<'a> {
    bytes: Bytes,
    /// At most two batches are decompressed at once, so that memory stays bounded.
    _permit: Option<SemaphorePermit<'a>>,
}

impl Data<'_> {
    /// The bytes of one or more records.
    pub fn get(&self, range: &Range<usize>) -> &[u8] {
        let Some(bytes) = self.bytes.get(range.clone()) else {
            unreachable!("records at {range:?} of {} bytes, though the sizes were checked", self.bytes.len())
        };
        bytes
    }
}

impl Part {
    /// Number of selected records.
    pub fn records(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Size of the selected records in bytes.
    pub fn bytes(&self) -> u64 {
        self.range.len() as u64
    }

    /// When the producer made the batch, microseconds since the Unix epoch.
    pub fn created_us(&self) -> u64 {
        self.header.created_us
    }

    /// Whether the records can't be sent from where they are stored: they are compressed, or between others' fields.
    pub fn is_packed(&self) -> bool {
        self.header.codec != Codec::None || self.source.is_some()
    }

    /// The selected records with all their fields, if they are of a Kafka batch.
    pub fn fields(&self) -> Option<impl Iterator<Item = Record<'_>>> {
        let Range { start, end } = self.numbers;
        self.source.as_ref().map(|(source, first)| source.records_from(first + start).take((end - start) as usize))
    }

    /// The range of all selected records in the decompressed data.
    pub fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// The range of each selected record in the decompressed data.
    pub fn ranges(&self) -> Result<impl Iterator<Item = Range<usize>>, ApiError> {
        let (first, count) = (self.numbers.start as usize, self.numbers.len());
        let sizes = parse(&self.batch)?.sizes().iter().skip(first).take(count);
        let mut position = self.range.start;
        Ok(sizes.map(move |size| {
            let start = position;
            position += size.get() as usize;
            start..position
        }))
    }

    /// The selected records back to back as stored, of a batch that isn't compressed.
    pub fn stored(&self) -> Bytes {
        assert!(!self.is_packed(), "records of this batch are not stored back to back");
        self.batch.slice(self.data_position() + self.range.start..self.data_position() + self.range.end)
    }

    /// The data of all records of the batch. That of a compressed batch is decompressed outside the pool: hold it
    /// briefly, and reserve buffers before asking for it.
    pub async fn data<'a>(&self, api: &'a Api) -> Result<Data<'a>, ApiError> {
        if self.header.codec == Codec::None {
            return Ok(Data { bytes: self.batch.slice(self.data_position()..), _permit: None });
        }
        let permit = api.unpacking.acquire().await.ok();
        let batch = self.batch.clone();
        #[expect(clippy::disallowed_methods, reason = "decompression would stall a worker")]
        let unpacked = tokio::task::spawn_blocking(move || {
            let batch = parse(&batch)?;
            let mut data = Vec::new();
            rawline_batch::decompress_into(batch.header().codec, batch.data(), batch.header().raw_bytes, &mut data)?;
            Ok::<_, BatchError>(Bytes::from(data))
        });
        let unpacked = unpacked.await.map_err(unpack_failed)?.map_err(|error| {
            let offsets = self.batch_offsets();
            let (first, last) = (offsets.start, offsets.end - 1);
            ApiError::unreadable(
                offsets.end,
                format!("the records from offset {first} to {last} can't be read: {error}"),
            )
        })?;
        assert_eq!(unpacked.len() as u64, u64::from(self.header.raw_bytes), "bytes of a decompressed batch");
        Ok(Data { bytes: unpacked, _permit: permit })
    }

    /// The offsets of all records of the batch.
    fn batch_offsets(&self) -> Range<u64> {
        let first_offset = self.first_offset - u64::from(self.numbers.start);
        first_offset..first_offset + u64::from(self.header.records)
    }

    fn data_position(&self) -> usize {
        HEADER_BYTES + self.header.records as usize * 4
    }
}

fn unpack_failed(error: tokio::task::JoinError) -> ApiError {
    ApiError::new(code::STORE_UNAVAILABLE, format!("a batch was not decompressed ({error}); retry"))
}

fn parse(batch: &[u8]) -> Result<Batch<'_>, BatchError> {
    Batch::parse_prefix_trusted(batch, &Limits::FORMAT).map(|(batch, _)| batch)
}
