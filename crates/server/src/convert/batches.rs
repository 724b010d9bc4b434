//! Kafka's batches as batches of ours: their values are the records.
//!
//! A batch of ours has no gaps between its offsets, so that one of a compacted topic becomes several, of which each has
//! the records up to the next gap.

use super::ConvertError;
use bytes::Bytes;
use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, Record, RecordBatchError, RecordBatchHeader, RecordCodec, RecordError, Records,
    check_stored, unpack,
};
use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::{BatchKind, Piece, ReadAnswer};
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum number of batches that are made for one response: of a compacted topic, each may have one record.
const CONVERTED_MAX: usize = 2048;

/// A Kafka batch, unpacked. All its records are checked before it is passed on.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(super) header: RecordBatchHeader,
    /// The bytes after the header.
    pub(super) section: Bytes,
}

/// A batch that was made of one of Kafka's, or of a part of it.
pub(crate) struct Converted {
    /// Offset of its first record.
    pub first_offset: u64,
    /// The batch: the values of the records.
    pub batch: Bytes,
    /// Number of its records.
    pub records: u64,
    /// Its source.
    pub source: Arc<Unpacked>,
    /// The number of its first record in the source.
    pub number_first: u32,
}

/// Batches that were made of Kafka's, outside the pool: hold them briefly.
pub(crate) struct Conversion<'a> {
    pub batches: Vec<Converted>,
    /// At most two run at once, so that memory stays bounded.
    _permit: Option<SemaphorePermit<'a>>,
}

impl Unpacked {
    /// A batch that may unpack to at most `limit` bytes.
    pub(super) fn new(first_offset: u64, batch: &Bytes, limit: u32) -> Result<Unpacked, ConvertError> {
        // The new batch gets a new checksum, so its source has to be verified first.
        let header = check_stored(batch, first_offset)?;
        let section = match header.codec {
            RecordCodec::None => batch.slice(RECORD_BATCH_HEADER_BYTES..),
            codec => {
                let mut unpacked = Vec::new();
                unpack(codec, batch.split_at(RECORD_BATCH_HEADER_BYTES).1, limit, &mut unpacked)?;
                Bytes::from(unpacked)
            }
        };
        Ok(Unpacked { header, section })
    }

    /// Its records from the one with this number on.
    pub fn records_from(&self, number: u32) -> impl Iterator<Item = Record<'_>> {
        let records = Records::new(&self.header, &self.section).map(|record| match record {
            Ok(record) => record,
            Err(error) => unreachable!("records that were checked: {error}"),
        });
        records.skip(number as usize)
    }
}

/// Converts batches until they have `bytes_max` bytes of records, at least one batch if there is a record from
/// `from` on. Records before are converted only where they are in one batch with others. No batch may unpack to more
/// than `raw_bytes_max` bytes.
pub(crate) async fn to_batches(
    unpacking: &Semaphore,
    read: ReadAnswer,
    from: u64,
    bytes_max: u64,
    raw_bytes_max: u32,
) -> Result<Conversion<'_>, ConvertError> {
    assert_eq!(read.kind, BatchKind::Kafka, "batches that need no conversion");
    let (batches, permit) = super::run(unpacking, move || convert_all(read, from, bytes_max, raw_bytes_max)).await?;
    Ok(Conversion { batches, _permit: permit })
}

fn convert_all(read: ReadAnswer, from: u64, bytes_max: u64, limit: u32) -> Result<Vec<Converted>, ConvertError> {
    let mut bytes = 0;
    let mut all: Vec<Converted> = Vec::new();
    for batch in batches(read.first_offset, read.pieces) {
        let (first_offset, header, batch) = batch?;
        let converted = match convert_one(first_offset, &batch, from, limit) {
            Ok(converted) => converted,
            // The read that begins there reports it.
            Err(_) if !all.is_empty() => return Ok(all),
            Err(ConvertError::Records(error)) => {
                let next_offset = first_offset + u64::from(header.offsets);
                return Err(ConvertError::Unreadable { first_offset, next_offset, error });
            }
            Err(error) => return Err(error),
        };
        for converted in converted {
            bytes += converted.batch.len() as u64;
            if !all.is_empty() && bytes > bytes_max || all.len() == CONVERTED_MAX {
                return Ok(all);
            }
            all.push(converted);
        }
    }
    Ok(all)
}

/// A Kafka batch with its first offset and its header.
type Placed = (u64, RecordBatchHeader, Bytes);

/// The batches of a read, the first of which has this offset.
fn batches(
    mut offset: u64,
    pieces: impl IntoIterator<Item = Piece>,
) -> impl Iterator<Item = Result<Placed, RecordBatchError>> {
    let whole = |piece| match piece {
        Piece::Whole(bytes) => bytes,
        Piece::Slice { .. } => unreachable!("a part of a Kafka batch"),
    };
    let split_all = |mut left: Bytes| std::iter::from_fn(move || (!left.is_empty()).then(|| split(&mut left)));
    pieces.into_iter().map(whole).flat_map(split_all).map(move |split| {
        let (header, batch) = split?;
        let first_offset = offset;
        offset += u64::from(header.offsets);
        Ok((first_offset, header, batch))
    })
}

/// Takes the batch at the front, or everything if it isn't one.
pub(super) fn split(left: &mut Bytes) -> Result<(RecordBatchHeader, Bytes), RecordBatchError> {
    let mut batch = std::mem::take(left);
    let have = batch.len() as u64;
    let truncated = RecordBatchError::Truncated { have, need: RECORD_BATCH_HEADER_BYTES as u64 };
    let front = batch.first_chunk().ok_or(truncated)?;
    let header = RecordBatchHeader::parse_stored(front, &Limits::FORMAT)?;
    let need = u64::from(header.batch_bytes);
    if have < need {
        return Err(RecordBatchError::Truncated { have, need });
    }
    *left = batch.split_off(need as usize);
    Ok((header, batch))
}

/// Whether the batches that were read have no record: a compaction has removed them.
pub(crate) fn without_records(read: &ReadAnswer) -> Result<bool, RecordBatchError> {
    for batch in batches(read.first_offset, read.pieces.iter().cloned()) {
        if batch?.1.records > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The batches with records from `from` on, at most [`CONVERTED_MAX`].
fn convert_one(first_offset: u64, batch: &Bytes, from: u64, limit: u32) -> Result<Vec<Converted>, ConvertError> {
    let source = Arc::new(Unpacked::new(first_offset, batch, limit)?);
    let mut runs = Runs { source: &source, first_offset, from, begins_at: (0, 0), all: Vec::new() };
    let mut builder = Builder::new(Codec::None, Limits::FORMAT);
    for (number, record) in (0..).zip(Records::new(&source.header, &source.section)) {
        let record = record?;
        if u64::from(record.offset_delta) != u64::from(runs.begins_at.1) + u64::from(builder.records()) {
            runs.end(&mut builder);
            runs.begins_at = (number, record.offset_delta);
        }
        if builder.push(record.value.unwrap_or_default()).is_err() {
            return Err(RecordError::TooLarge { limit }.into());
        }
    }
    runs.end(&mut builder);
    Ok(runs.all)
}

/// Makes batches of records whose offsets follow each other.
struct Runs<'a> {
    source: &'a Arc<Unpacked>,
    first_offset: u64,
    from: u64,
    /// The number of the first record, and its offset counted from the batch's.
    begins_at: (u32, u32),
    all: Vec<Converted>,
}

impl Runs<'_> {
    /// Ends the run of the records in the builder. Records that weren't requested are dropped.
    fn end(&mut self, builder: &mut Builder) {
        let (number_first, delta) = self.begins_at;
        let (first_offset, records) = (self.first_offset + u64::from(delta), u64::from(builder.records()));
        if records == 0 {
            return;
        }
        // -1 means none.
        let created_ms = u64::try_from(self.source.header.max_timestamp_ms).unwrap_or_default();
        let mut made = Vec::new();
        if let Err(error) = builder.finish_into(created_ms.saturating_mul(1000), 0, 0, &mut made) {
            unreachable!("{records} records that are not compressed: {error}");
        }
        if first_offset + records > self.from && self.all.len() < CONVERTED_MAX {
            let source = self.source.clone();
            self.all.push(Converted { first_offset, batch: made.into(), records, source, number_first });
        }
    }
}
