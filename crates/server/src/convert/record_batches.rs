//! Our batches as Kafka's: records without keys, all with the time of their batch.

use super::ConvertError;
use bytes::Bytes;
use rawline_batch::record_batch::{convert, converted_bytes};
use rawline_batch::{Batch, Codec, HEADER_BYTES, Header, Limits, decompress_into};
use rawline_broker::pool::{Gathered, Holder};
use rawline_broker::{BatchKind, Piece, ReadAnswer};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A batch of ours, unpacked.
struct Unpacked {
    /// Offset of its first record.
    first_offset: u64,
    header: Header,
    sizes: Bytes,
    data: Bytes,
}

/// Batches of ours that are about to be converted, outside the pool: hold them briefly.
pub(crate) struct Unconverted<'a> {
    batches: Vec<Unpacked>,
    /// Size of the converted batches in bytes.
    bytes: u64,
    _permit: Option<SemaphorePermit<'a>>,
}

/// Prepares batches until their converted size is `bytes_max` bytes, at least one batch. A batch comes whole, although
/// only a part of it was asked for: what is made of it doesn't depend on the request. None may unpack to more than
/// `raw_bytes_max` bytes.
pub(crate) async fn to_record_batches(
    unpacking: &Semaphore,
    read: ReadAnswer,
    bytes_max: u64,
    raw_bytes_max: u32,
) -> Result<Unconverted<'_>, ConvertError> {
    assert_eq!(read.kind, BatchKind::Rawline, "batches that need no conversion");
    let work = move || unpack_all(read, bytes_max, raw_bytes_max);
    let ((batches, bytes), permit) = super::run(unpacking, work).await?;
    Ok(Unconverted { batches, bytes, _permit: permit })
}

impl Unconverted<'_> {
    /// The offsets of the records.
    pub fn offsets(&self) -> Range<u64> {
        let first_offset = self.batches.first().map_or(0, |first| first.first_offset);
        let records: u64 = self.batches.iter().map(|batch| u64::from(batch.header.records)).sum();
        first_offset..first_offset + records
    }

    /// Converts them into buffers of the pool.
    pub async fn into_buffers(self, holder: &Arc<Holder>, wait: Duration) -> Result<Vec<Bytes>, ConvertError> {
        let mut buffers = Gathered::new(holder.reserve(self.bytes, wait).await?);
        let batches = self.batches;
        #[expect(clippy::disallowed_methods, reason = "many records would stall a worker")]
        let made = tokio::task::spawn_blocking(move || {
            for Unpacked { first_offset, header, sizes, data } in &batches {
                let records = records(sizes, data);
                convert(records, *first_offset, header.created_us, |piece| {
                    let is_room = buffers.push(piece);
                    assert!(is_room, "{} bytes of what was reserved, and {} more", buffers.bytes(), piece.len());
                })?;
            }
            Ok::<_, ConvertError>(buffers)
        });
        let buffers = made.await??;
        assert_eq!(buffers.bytes(), self.bytes, "bytes of converted batches");
        Ok(buffers.freeze())
    }
}

fn unpack_all(read: ReadAnswer, bytes_max: u64, raw_bytes_max: u32) -> Result<(Vec<Unpacked>, u64), ConvertError> {
    let (mut offset, mut bytes) = (read.first_offset, 0);
    let mut all: Vec<Unpacked> = Vec::new();
    for piece in read.pieces {
        let (mut left, cut) = match piece {
            Piece::Whole(bytes) => (bytes, None),
            Piece::Slice { batch, records, .. } => (batch, Some(records)),
        };
        while !left.is_empty() {
            let before = cut.as_ref().map_or(0, |records| u64::from(records.start));
            let unpacked = unpack_one(offset - before, &left, raw_bytes_max);
            let (unpacked, batch_bytes, made_bytes) = match unpacked {
                Ok(unpacked) => unpacked,
                // The read that begins there reports it.
                Err(_) if !all.is_empty() => return Ok((all, bytes)),
                Err(error) => return Err(error),
            };
            if !all.is_empty() && bytes + u64::from(made_bytes) > bytes_max {
                return Ok((all, bytes));
            }
            bytes += u64::from(made_bytes);
            offset += cut.as_ref().map_or(u64::from(unpacked.header.records), |records| records.len() as u64);
            all.push(unpacked);
            left = left.slice(batch_bytes..);
        }
    }
    Ok((all, bytes))
}

/// The first of the batches, its size in bytes, and its converted size.
fn unpack_one(first_offset: u64, bytes: &Bytes, raw_bytes_max: u32) -> Result<(Unpacked, usize, u32), ConvertError> {
    // Verifies the checksum too: the new batch gets a new checksum, so its source has to be verified first.
    let (batch, _) = Batch::parse_prefix(bytes, &Limits { raw_bytes_max, ..Limits::FORMAT })?;
    let header = *batch.header();
    let data_at = HEADER_BYTES + batch.sizes().len() * 4;
    let data = match header.codec {
        Codec::None => bytes.slice(data_at..data_at + batch.data().len()),
        codec => {
            let mut data = Vec::new();
            decompress_into(codec, batch.data(), header.raw_bytes, &mut data)?;
            Bytes::from(data)
        }
    };
    let sizes = bytes.slice(HEADER_BYTES..data_at);
    let made_bytes = converted_bytes(batch.sizes().iter().map(|size| size.get()))?;
    let batch_bytes = batch.bytes().len();
    Ok((Unpacked { first_offset, header, sizes, data }, batch_bytes, made_bytes))
}

/// The records of a batch.
fn records<'a>(sizes: &'a [u8], data: &'a [u8]) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
    let (sizes, rest) = sizes.as_chunks();
    assert!(rest.is_empty(), "{} bytes after {} sizes", rest.len(), sizes.len());
    let mut left = data;
    sizes.iter().map(move |size| {
        let (record, rest) = left.split_at(u32::from_le_bytes(*size) as usize);
        left = rest;
        record
    })
}
