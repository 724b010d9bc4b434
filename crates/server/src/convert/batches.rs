//! Kafka's batches as batches of ours: their values are the records.

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

/// One of Kafka's batches, unpacked. All its records are checked before it is passed on.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(super) header: RecordBatchHeader,
    /// What follows the header.
    pub(super) section: Bytes,
}

/// A batch that was made of one of Kafka's.
pub(crate) struct Converted {
    /// Offset of its first record.
    pub first_offset: u64,
    /// The batch: the values of the records.
    pub batch: Bytes,
    /// What it was made of.
    pub source: Arc<Unpacked>,
}

impl Converted {
    /// Number of its records.
    pub fn records(&self) -> u64 {
        u64::from(self.source.header.records)
    }
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
        // The checksum of what is made must not follow from bytes that nobody has checked.
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

/// Converts what was read until it has `bytes_max` bytes of records, at least one batch. No batch may unpack to more
/// than
/// `raw_bytes_max` bytes.
pub(crate) async fn to_batches(
    unpacking: &Semaphore,
    read: ReadAnswer,
    bytes_max: u64,
    raw_bytes_max: u32,
) -> Result<Conversion<'_>, ConvertError> {
    assert_eq!(read.kind, BatchKind::Kafka, "batches that need no conversion");
    let (batches, permit) = super::run(unpacking, move || convert_all(read, bytes_max, raw_bytes_max)).await?;
    Ok(Conversion { batches, _permit: permit })
}

fn convert_all(read: ReadAnswer, bytes_max: u64, limit: u32) -> Result<Vec<Converted>, ConvertError> {
    let (mut first_offset, mut bytes) = (read.first_offset, 0);
    let mut all: Vec<Converted> = Vec::new();
    for piece in read.pieces {
        let Piece::Whole(mut left) = piece else { unreachable!("a part of one of Kafka's batches") };
        while !left.is_empty() {
            let header = RecordBatchHeader::parse(front(&left)?, &Limits::FORMAT)?;
            let batch_bytes = header.batch_bytes as usize;
            if left.len() < batch_bytes {
                return Err(truncated(&left).into());
            }
            let batch = left.split_to(batch_bytes);
            let converted = convert_one(first_offset, &batch, limit);
            let converted = match converted {
                Ok(converted) => converted,
                // The read that begins there reports it.
                Err(_) if !all.is_empty() => return Ok(all),
                Err(error) => return Err(error),
            };
            bytes += converted.batch.len() as u64;
            if !all.is_empty() && bytes > bytes_max {
                return Ok(all);
            }
            first_offset += u64::from(header.records);
            all.push(converted);
        }
    }
    Ok(all)
}

/// The header's bytes.
pub(super) fn front(bytes: &[u8]) -> Result<&[u8; RECORD_BATCH_HEADER_BYTES], RecordBatchError> {
    bytes.first_chunk().ok_or_else(|| truncated(bytes))
}

fn truncated(bytes: &[u8]) -> RecordBatchError {
    RecordBatchError::Truncated { have: bytes.len() as u64, need: RECORD_BATCH_HEADER_BYTES as u64 }
}

fn convert_one(first_offset: u64, batch: &Bytes, limit: u32) -> Result<Converted, ConvertError> {
    let Unpacked { header, section } = Unpacked::new(first_offset, batch, limit)?;
    let mut builder = Builder::new(Codec::None, Limits::FORMAT);
    for record in Records::new(&header, &section) {
        if builder.push(record?.value.unwrap_or_default()).is_err() {
            return Err(RecordError::TooLarge { limit }.into());
        }
    }
    // -1 stands for none.
    let created_us = u64::try_from(header.max_timestamp_ms).unwrap_or_default().saturating_mul(1000);
    let mut made = Vec::new();
    if let Err(error) = builder.finish_into(created_us, 0, 0, &mut made) {
        unreachable!("{} records that are not compressed: {error}", header.records);
    }
    let source = Arc::new(Unpacked { header, section });
    Ok(Converted { first_offset, batch: made.into(), source })
}
