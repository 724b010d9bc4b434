//! Slices records of a stored batch, and reads as little of it as possible.

use crate::checksums::TopicChecksums;
use crate::limits::{CUT_CHECKSUMS_DATA_MIN, SENDFILE_BYTES_MIN};
use crate::object_error::ObjectError;
use crate::piece::Described;
use crate::store::Mappings;
use bytes::Bytes;
use rawline_batch::{Batch, BatchError, Front, HEADER_BYTES, Limits, PrefixChecksums, Slice};
use std::ops::Range;
use std::sync::Arc;

/// Cuts batches.
pub(super) struct Cutter<'a> {
    /// Where checksums are remembered. `None` if all bytes have to be verified, because a slice's records are passed on
    /// without its checksum.
    pub checksums: Option<&'a TopicChecksums>,
    /// The mapped files that may hold the batches.
    pub mappings: Option<&'a Mappings>,
}

/// Records cut out of a batch, as a slice and the parts of the batch that it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// Its header and its padding.
    pub slice: Slice,
    /// Its sizes.
    pub sizes: Bytes,
    /// Its data.
    pub data: Bytes,
}

/// A batch to be cut.
pub(super) struct Uncut<'a> {
    cutter: &'a Cutter<'a>,
    described: Described,
    batch: Bytes,
    front: Bytes,
    remembered: Option<Arc<PrefixChecksums>>,
}

impl Cutter<'_> {
    /// The batch whose bytes are `batch`.
    pub fn uncut(&self, described: Described, batch: Bytes) -> Uncut<'_> {
        let remembered = self.checksums.and_then(|checksums| checksums.get(described.first_offset));
        // Its entry, which was checked, has room for these sizes.
        let front = batch.slice(..HEADER_BYTES + described.records() as usize * 4);
        let front = if remembered.is_some() { self.short(front) } else { front };
        Uncut { cutter: self, described, batch, front, remembered }
    }

    /// Bytes that are read, although the rest of the batch isn't.
    fn short(&self, bytes: Bytes) -> Bytes {
        match self.mappings {
            Some(mappings) => mappings.short(bytes),
            None => bytes,
        }
    }

    fn touched(&self, read: &[u8]) {
        if let Some(mappings) = self.mappings {
            mappings.touched(read);
        }
    }
}

impl Uncut<'_> {
    /// All of it.
    pub fn whole(&self) -> &Bytes {
        &self.batch
    }

    /// Its header and sizes, if they are what its entry describes.
    pub fn front(&self) -> Result<Front<'_>, ObjectError> {
        let front = Front::parse_trusted(&self.front, &Limits::FORMAT).map_err(|error| self.damaged(error))?;
        self.described.check(front.header())?;
        Ok(front)
    }

    /// Cuts records out of it. `front` is its front.
    pub fn cut(&self, front: &Front<'_>, records: Range<u32>) -> Result<Cut, ObjectError> {
        let slice = match &self.remembered {
            Some(checksums) => {
                let block = |block| self.cutter.short(self.batch.slice(block));
                front.slice_with(records, checksums, block)
            }
            None => self.cut_first(records),
        };
        let slice = slice.map_err(|error| self.damaged(error))?;
        let (sizes, data) = (self.front.slice(slice.sizes.clone()), self.batch.slice(slice.data.clone()));
        // Short data is copied into the socket, by way of the mapping if it is there.
        let is_copied = self.remembered.is_some() && data.len() < SENDFILE_BYTES_MIN;
        let data = if is_copied { self.cutter.short(data) } else { data };
        Ok(Cut { slice, sizes, data })
    }

    /// Reads all of the batch.
    fn cut_first(&self, records: Range<u32>) -> Result<Slice, BatchError> {
        let (batch, _) = Batch::parse_prefix_trusted(&self.batch, &Limits::FORMAT)?;
        let checksums = PrefixChecksums::of(&batch)?;
        self.cutter.touched(&self.batch);
        let slice = batch.slice_with(records, &checksums)?;
        if let Some(remembered) = self.cutter.checksums.filter(|_| batch.data().len() >= CUT_CHECKSUMS_DATA_MIN) {
            remembered.insert(self.described.first_offset, Arc::new(checksums));
        }
        Ok(slice)
    }

    fn damaged(&self, error: BatchError) -> ObjectError {
        ObjectError::Batch { number: self.described.number as u32, error }
    }
}
