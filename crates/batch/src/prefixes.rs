//! Checksums of a batch's prefixes, from which the checksum of any part of its data follows without reading it.

use crate::{Batch, BatchError, Front, crc32c, crc32c_concat};
use std::ops::Range;

/// There is one checksum for this much data. A block in which a part begins or ends is read to verify it, in half a
/// microsecond, and the checksums take 1/2048 of the data's size in memory.
pub const BLOCK_BYTES: usize = 8 << 10;

/// The CRC32C of a batch up to its data, up to the end of each block of its data, and up to the data's end.
///
/// They are computed once, from bytes that match the batch's own checksum. The checksum of a part follows from the
/// producer's checksum and not from the bytes as they are now: a bit that flips later never gets a matching checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixChecksums(Box<[u32]>);

impl PrefixChecksums {
    /// Those of an uncompressed batch. Reads all of it, and verifies the batch's own checksum.
    pub fn of(batch: &Batch<'_>) -> Result<PrefixChecksums, BatchError> {
        let front = batch.front();
        if front.is_compressed() {
            return Err(BatchError::SliceCompressed);
        }
        let mut prefixes = Vec::with_capacity(1 + batch.data().len().div_ceil(BLOCK_BYTES));
        let mut prefix = front.crc();
        prefixes.push(prefix);
        for block in batch.data().chunks(BLOCK_BYTES) {
            prefix = crc32c_concat(prefix, crc32c(block), block.len());
            prefixes.push(prefix);
        }
        let rest = batch.bytes().split_at(front.data_position() + batch.data().len()).1;
        let computed = crc32c_concat(prefix, crc32c(rest), rest.len());
        let stored = batch.header().crc32c;
        if computed == stored {
            Ok(PrefixChecksums(prefixes.into()))
        } else {
            Err(BatchError::Crc { stored, computed })
        }
    }

    /// The memory that they take, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.0)
    }

    /// The checksum of the batch up to byte `position` of its data. If that is inside a block, `read` returns the
    /// block's bytes, by their positions in the batch, and they are verified.
    pub(crate) fn up_to<B: AsRef<[u8]>>(
        &self,
        front: &Front<'_>,
        position: usize,
        read: impl FnOnce(Range<usize>) -> B,
    ) -> Result<u32, BatchError> {
        let data_bytes = front.header().data_bytes as usize;
        assert!(position <= data_bytes, "byte {position} of {data_bytes}");
        if position == data_bytes || position.is_multiple_of(BLOCK_BYTES) {
            return Ok(self.prefix(position.div_ceil(BLOCK_BYTES)));
        }
        let number = position / BLOCK_BYTES;
        let block = number * BLOCK_BYTES..data_bytes.min((number + 1) * BLOCK_BYTES);
        let bytes = read(front.data_position() + block.start..front.data_position() + block.end);
        assert_eq!(bytes.as_ref().len(), block.len(), "bytes that were read of the block {block:?}");
        let (before, after) = bytes.as_ref().split_at(position - block.start);
        let checksum = crc32c_concat(self.prefix(number), crc32c(before), before.len());
        let end = crc32c_concat(checksum, crc32c(after), after.len());
        self.check(front, end, number + 1)?;
        Ok(checksum)
    }

    /// Checks that the batch's front is unchanged.
    pub(crate) fn check_front(&self, front: &Front<'_>) -> Result<(), BatchError> {
        let blocks = (front.header().data_bytes as usize).div_ceil(BLOCK_BYTES);
        let computed = front.crc();
        if self.0.len() != blocks + 1 {
            // A damaged header, or the header of another batch.
            return Err(BatchError::Crc { stored: front.header().crc32c, computed });
        }
        self.check(front, computed, 0)
    }

    /// Checks the computed checksum of the batch up to the end of block `number`, counted from 1.
    fn check(&self, front: &Front<'_>, computed: u32, number: usize) -> Result<(), BatchError> {
        let expected = self.prefix(number);
        if computed == expected {
            return Ok(());
        }
        // The checksum of the batch with only this difference.
        let stored = front.header().crc32c;
        let end = front.data_position() + (number * BLOCK_BYTES).min(front.header().data_bytes as usize);
        let rest_bytes = front.header().batch_bytes() as usize - end;
        Err(BatchError::Crc { stored, computed: crc32c_concat(computed ^ expected, stored, rest_bytes) })
    }

    fn prefix(&self, number: usize) -> u32 {
        let Some(&prefix) = self.0.get(number) else { unreachable!("block {number} of {}", self.0.len() - 1) };
        prefix
    }
}
