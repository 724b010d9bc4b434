//! Makes RecordBatches for a producer, record by record.

use super::encode::{RecordFront, field_bytes, put_field, with_length_bytes};
use super::header::{BATCH_BYTES_MAX, OFFSETS_MAX};
use super::pack::RecordPacker;
use super::{RECORD_BATCH_HEADER_BYTES, RecordBatchHeader, RecordCodec, RecordError, RecordProducer, varint};
use crate::{BuilderFull, Limits};

/// Gathers records into a batch, in the batch's own bytes. Its buffers are reused for the next batch.
#[derive(Debug)]
pub struct RecordBatchBuilder {
    limits: Limits,
    /// Space for the header, then the records. Without records, the previous batch.
    plain: Vec<u8>,
    /// The same with compressed records.
    packed: Vec<u8>,
    packer: RecordPacker,
    records: u32,
    /// Number of offsets up to the last record.
    offsets: u32,
    /// Number of offsets without a record before the next record.
    gap: u32,
    delete_horizon_ms: Option<i64>,
    base_timestamp_ms: i64,
    max_timestamp_ms: i64,
}

impl RecordBatchBuilder {
    /// An empty batch whose records will be compressed with `codec` when it is finished.
    pub fn new(codec: RecordCodec, limits: Limits) -> Self {
        RecordBatchBuilder {
            limits,
            plain: Vec::new(),
            packed: Vec::new(),
            packer: RecordPacker::new(codec),
            records: 0,
            offsets: 0,
            gap: 0,
            delete_horizon_ms: None,
            base_timestamp_ms: 0,
            max_timestamp_ms: 0,
        }
    }

    /// Number of records so far.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Size of the batch if it were finished now and not compressed, in bytes.
    pub fn bytes(&self) -> u64 {
        if self.records == 0 { RECORD_BATCH_HEADER_BYTES as u64 } else { self.plain.len() as u64 }
    }

    /// Whether no record was pushed since the last batch.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Leaves this many offsets without a record before the next record: a compaction has removed theirs. A batch ends
    /// with its last record.
    pub fn skip(&mut self, offsets: u32) {
        self.gap = offsets;
    }

    /// Marks the batch, which has no record yet, with the time in milliseconds since the Unix epoch from which on a
    /// compaction may remove its tombstones. Records keep their times.
    pub fn set_delete_horizon(&mut self, horizon_ms: i64) {
        assert!(self.is_empty(), "a delete horizon after {} records", self.records);
        self.delete_horizon_ms = Some(horizon_ms);
    }

    /// Adds a record, unless the batch would then be over its limits or its times too far apart for their field. The
    /// time is in milliseconds since the Unix epoch. A record that was read from a batch can be given field by field.
    pub fn push<'r, H>(
        &mut self,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: H,
    ) -> Result<(), BuilderFull>
    where
        H: IntoIterator<Item = (&'r [u8], Option<&'r [u8]>)>,
        H::IntoIter: Clone,
    {
        let first_base_ms = self.delete_horizon_ms.unwrap_or(timestamp_ms);
        let base_timestamp_ms = if self.is_empty() { first_base_ms } else { self.base_timestamp_ms };
        let timestamp_delta_ms = timestamp_ms.checked_sub(base_timestamp_ms).ok_or(BuilderFull)?;
        let value_bytes = value.map(<[u8]>::len);
        let front =
            RecordFront { timestamp_delta_ms, offset_delta: self.offsets.saturating_add(self.gap), key, value_bytes };
        let headers = headers.into_iter();
        let (count, headers_bytes) = size(headers.clone());
        let record_bytes = front.with_value_bytes() + headers_bytes;
        self.check(front.offset_delta, with_length_bytes(record_bytes))?;
        let offsets = front.offset_delta + 1;

        if self.is_empty() {
            self.plain.clear();
            self.plain.resize(RECORD_BATCH_HEADER_BYTES, 0);
            self.base_timestamp_ms = base_timestamp_ms;
            self.max_timestamp_ms = timestamp_ms;
        }
        let start = self.plain.len();
        front.put(record_bytes, &mut self.plain);
        self.plain.extend_from_slice(value.unwrap_or_default());
        varint::put(count, &mut self.plain);
        for (key, value) in headers {
            put_field(Some(key), &mut self.plain);
            put_field(value, &mut self.plain);
        }
        assert_eq!((self.plain.len() - start) as u64, with_length_bytes(record_bytes), "a record of another size");
        self.records += 1;
        (self.offsets, self.gap) = (offsets, 0);
        self.max_timestamp_ms = self.max_timestamp_ms.max(timestamp_ms);
        Ok(())
    }

    /// Whether there is room for a record with this offset, counted from the batch's, that takes these many bytes.
    fn check(&self, offset_delta: u32, added_bytes: u64) -> Result<(), BuilderFull> {
        let bytes = self.bytes() + added_bytes;
        let raw_bytes = bytes - RECORD_BATCH_HEADER_BYTES as u64;
        let is_full = bytes > u64::from(self.limits.batch_bytes_max.min(BATCH_BYTES_MAX))
            || raw_bytes > u64::from(self.limits.raw_bytes_max)
            || self.records >= self.limits.records_max.min(i32::MAX as u32)
            || offset_delta >= OFFSETS_MAX;
        if is_full { Err(BuilderFull) } else { Ok(()) }
    }

    /// Finishes the batch and begins a new one with the next record. Records that their codec doesn't make shorter stay
    /// uncompressed. The base offset is 0: brokers decide it.
    ///
    /// Errors: no records; a codec that fails (the records then stay).
    pub fn finish(&mut self, producer: Option<RecordProducer>) -> Result<&[u8], RecordError> {
        if self.is_empty() {
            return Err(RecordError::Empty);
        }
        let mut codec = self.packer.codec();
        if codec != RecordCodec::None {
            self.packed.clear();
            self.packed.resize(RECORD_BATCH_HEADER_BYTES, 0);
            self.packer.append(self.plain.split_at(RECORD_BATCH_HEADER_BYTES).1, &mut self.packed)?;
            if self.packed.len() >= self.plain.len() {
                codec = RecordCodec::None;
            }
        }
        self.gap = 0;
        let batch = if codec == RecordCodec::None { &mut self.plain } else { &mut self.packed };
        let offsets = std::mem::take(&mut self.offsets);
        let mut header = RecordBatchHeader {
            records: std::mem::take(&mut self.records),
            codec,
            has_delete_horizon: self.delete_horizon_ms.take().is_some(),
            max_timestamp_ms: self.max_timestamp_ms,
            producer,
            ..RecordBatchHeader::plain(batch.len() as u32, offsets, self.base_timestamp_ms)
        };
        let (front, section) = batch.split_at_mut(RECORD_BATCH_HEADER_BYTES);
        let mut crc = header.crc();
        crc.update(section);
        header.crc32c = crc.value();
        front.copy_from_slice(&header.encode());
        Ok(batch)
    }
}

/// A batch that takes these many offsets and has no record: a compaction has removed them all. The base offset is 0.
pub fn without_records(offsets: u32) -> [u8; RECORD_BATCH_HEADER_BYTES] {
    let header = RecordBatchHeader::plain(RECORD_BATCH_HEADER_BYTES as u32, offsets, NO_TIMESTAMP_MS);
    RecordBatchHeader { crc32c: header.crc().value(), ..header }.encode()
}

/// Stands for no time.
const NO_TIMESTAMP_MS: i64 = -1;

/// The number of headers, and their size with it.
fn size<'r>(headers: impl Iterator<Item = (&'r [u8], Option<&'r [u8]>)>) -> (i64, u64) {
    let (count, bytes) = headers.fold((0, 0), |(count, bytes), (key, value)| {
        (count + 1, bytes + field_bytes(Some(key.len())) + field_bytes(value.map(<[u8]>::len)))
    });
    (count, varint::bytes(count) + bytes)
}
