//! How much one read may still return.

use crate::limits::READ_BYTES_MAX;
use crate::object::{BatchEntry, ObjectError};
use crate::read::ReadRequest;
use bytes::Bytes;
use rawline_batch::{Batch, Codec, HEADER_BYTES as BATCH_HEADER_BYTES, Limits, Slice};
use std::ops::Range;

/// How much one read may still return. The limits are soft: at least one record is returned, and a compressed batch is
/// returned whole; so what is left stops at zero.
pub(crate) struct Budget {
    records: u64,
    /// Bytes of records.
    bytes: u64,
    /// Bytes of the response: bounds responses of many empty records.
    response_bytes: u64,
    is_fresh: bool,
}

impl Budget {
    pub fn new(request: &ReadRequest) -> Self {
        let or_unlimited = |limit: u64| if limit == 0 { u64::MAX } else { limit };
        Budget {
            records: or_unlimited(request.records_max),
            bytes: or_unlimited(request.bytes_max),
            response_bytes: READ_BYTES_MAX,
            is_fresh: true,
        }
    }

    pub fn is_used_up(&self) -> bool {
        self.records == 0 || self.bytes == 0 || self.response_bytes == 0
    }

    /// Bytes of records that may still be taken.
    pub fn bytes_left(&self) -> u64 {
        self.bytes.min(self.response_bytes)
    }

    /// Takes no more.
    pub fn end(&mut self) {
        self.bytes = 0;
    }

    /// How many of the entries the budget can reach, at least one; `record` is the first wanted of the object.
    pub fn entries(&self, entries: &[BatchEntry], record: u32) -> usize {
        let mut bytes = 0;
        let mut count = 0;
        for entry in entries {
            if count > 0 {
                let first = entry.record_first();
                assert!(record < first, "record {record} is wanted of a batch after the one that holds {first}");
                if u64::from(first - record) >= self.records || bytes >= self.bytes_left() {
                    break;
                }
            }
            bytes += data_bytes(entry);
            count += 1;
        }
        count
    }

    /// Takes records of one batch, number `number` of its object, from record `from` on. A compressed batch is taken
    /// whole. The batch's checksum is verified if only a part of it is taken, or if `verify` is set.
    pub fn take(
        &mut self,
        batch: impl Fn() -> Bytes,
        entry: &BatchEntry,
        number: usize,
        from: u32,
        verify: bool,
    ) -> Result<Taken, ObjectError> {
        assert!(from < entry.records(), "record {from} of a batch of {}", entry.records());
        let batch_bytes = entry.range().end - entry.range().start;
        let is_wanted_whole =
            from == 0 && u64::from(entry.records()) <= self.records && data_bytes(entry) <= self.bytes_left();
        if is_wanted_whole {
            if verify {
                entry.verify(number, &batch())?;
            }
            self.charge(entry.records(), data_bytes(entry), batch_bytes);
            return Ok(Taken::Whole);
        }
        let batch = batch();
        let parsed = Batch::parse_prefix_trusted(&batch, &Limits::FORMAT);
        let (batch, _) = parsed.map_err(|error| ObjectError::Batch { number: number as u32, error })?;
        let is_compressed = batch.header().codec != Codec::None;
        if verify && is_compressed {
            entry.verify(number, batch.bytes())?;
        }
        let Some(sizes) = batch.sizes().get(from as usize..) else { return Err(ObjectError::Header) };
        if is_compressed {
            if !self.is_fresh && data_bytes(entry) > self.bytes_left() {
                self.end();
                return Ok(Taken::Nothing);
            }
            self.charge(sizes.len() as u32, data_bytes(entry), batch_bytes);
            return Ok(Taken::Whole);
        }
        let (mut count, mut bytes) = (0u32, 0u64);
        for size in sizes {
            let size = u64::from(size.get());
            let fits = bytes + size <= self.bytes_left() || (self.is_fresh && count == 0);
            if !fits || u64::from(count) >= self.records {
                break;
            }
            count += 1;
            bytes += size;
        }
        let is_soft = self.is_fresh && count == 1;
        assert!(is_soft || bytes <= self.bytes_left(), "{bytes} bytes are taken of {} left", self.bytes_left());
        let is_cut = (count as usize) < sizes.len();
        let taken = if count == 0 {
            Taken::Nothing
        } else if from == 0 && !is_cut {
            entry.verify(number, batch.bytes())?;
            Taken::Whole
        } else {
            let slice = entry.slice(number, &batch, from..from + count)?;
            assert_eq!(slice.data.len() as u64, bytes, "bytes of the records {from} to {} of a batch", from + count);
            assert_eq!(slice.sizes.len(), count as usize * 4, "sizes of {count} records from {from} on");
            Taken::Slice { records: from..from + count, slice }
        };
        self.charge(count, bytes, bytes + u64::from(count) * 4);
        if is_cut {
            self.end();
        }
        Ok(taken)
    }

    fn charge(&mut self, records: u32, bytes: u64, response_bytes: u64) {
        self.records = self.records.saturating_sub(u64::from(records));
        self.bytes = self.bytes.saturating_sub(bytes);
        self.response_bytes = self.response_bytes.saturating_sub(response_bytes);
        self.is_fresh &= records == 0;
    }
}

/// What is taken of a batch.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    /// Nothing: the next record doesn't fit.
    Nothing,
    /// The batch as it is stored.
    Whole,
    /// Some records of an uncompressed batch.
    Slice { records: Range<u32>, slice: Slice },
}

/// Size of a batch's data with its padding, in bytes.
fn data_bytes(entry: &BatchEntry) -> u64 {
    let batch_bytes = entry.range().end - entry.range().start;
    let other_bytes = BATCH_HEADER_BYTES as u64 + u64::from(entry.records()) * 4;
    assert!(batch_bytes >= other_bytes, "a batch of {} records in {batch_bytes} bytes", entry.records());
    batch_bytes - other_bytes
}
