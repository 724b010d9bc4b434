//! Cuts records out of a stored batch, and reads no more of it for that than it must.

use super::remembered::TopicChecksums;
use crate::limits::{CUT_CHECKSUMS_DATA_MIN, SENDFILE_BYTES_MIN};
use crate::object::{BatchEntry, ObjectError};
use crate::store::Mappings;
use rawline_batch::{Batch, BatchError, PrefixChecksums, Slice};
use std::ops::Range;
use std::sync::Arc;

/// Cuts batches of one object.
pub(super) struct Cutter<'a> {
    /// Offset of the object's first record.
    pub object_offset: u64,
    /// Where checksums are remembered. `None` if all bytes have to be verified, because a slice's records are passed on
    /// without its checksum.
    pub checksums: Option<&'a TopicChecksums>,
    /// The mapped files that may hold the batches.
    pub mappings: Option<&'a Mappings>,
}

impl Cutter<'_> {
    /// Cuts out records of the batch that `entry` describes, number `number` of its object.
    pub fn cut(
        &self,
        entry: &BatchEntry,
        number: usize,
        batch: &Batch<'_>,
        records: Range<u32>,
    ) -> Result<Slice, ObjectError> {
        entry.describes(batch)?;
        let first_offset = self.object_offset + u64::from(entry.record_first());
        self.slice(first_offset, batch, records).map_err(|error| ObjectError::Batch { number: number as u32, error })
    }

    /// As [`Cutter::cut`], of the batch whose first record has this offset.
    fn slice(&self, first_offset: u64, batch: &Batch<'_>, records: Range<u32>) -> Result<Slice, BatchError> {
        let checksums = self.checksums.filter(|_| batch.data().len() >= CUT_CHECKSUMS_DATA_MIN);
        if let Some(remembered) = checksums.and_then(|checksums| checksums.get(first_offset)) {
            let slice = batch.slice_with(records, &remembered)?;
            self.touched_for(batch, &slice);
            return Ok(slice);
        }
        let computed = PrefixChecksums::of(batch)?;
        self.touched(batch.bytes());
        let slice = batch.slice_with(records, &computed)?;
        if let Some(checksums) = checksums {
            checksums.insert(first_offset, Arc::new(computed));
        }
        Ok(slice)
    }

    /// A slice was made with remembered checksums.
    fn touched_for(&self, batch: &Batch<'_>, slice: &Slice) {
        // Short data is copied into the socket, by way of the mapping.
        let is_copied = slice.data.len() < SENDFILE_BYTES_MIN;
        for part in batch.read_for(slice).chain(is_copied.then(|| slice.data.clone())) {
            let Some(part) = batch.bytes().get(part.clone()) else {
                unreachable!("{part:?} was read of a batch of {} bytes", batch.bytes().len())
            };
            self.touched(part);
        }
    }

    fn touched(&self, read: &[u8]) {
        if let Some(mappings) = self.mappings.filter(|_| !read.is_empty()) {
            mappings.touched(read);
        }
    }
}
