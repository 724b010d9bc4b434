//! Checksums of a batch's beginnings, from which any part of its data gets a checksum without being read.

use crate::parse::Batch;
use crate::{BatchError, Codec, crc32c, crc32c_concat};
use std::ops::Range;
use zerocopy::IntoBytes;

/// There is one checksum for this much data. A block in which a part begins or ends is read to verify it, in about a
/// microsecond, and the checksums take 1/4096 of the data's size in memory.
pub const BLOCK_BYTES: usize = 16 << 10;

/// The CRC32C of a batch up to its data, up to the end of each block of its data, and up to the data's end.
///
/// They are computed once, from bytes that match the batch's own checksum. What they say of a part follows from the
/// producer's checksum and not from the bytes as they are now: a bit that flips later never gets a matching checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixChecksums(Box<[u32]>);

impl PrefixChecksums {
    /// Those of an uncompressed batch. Reads all of it, and verifies the batch's own checksum.
    pub fn of(batch: &Batch<'_>) -> Result<PrefixChecksums, BatchError> {
        if batch.header().codec != Codec::None {
            return Err(BatchError::SliceCompressed);
        }
        let mut prefixes = Vec::with_capacity(1 + batch.data().len().div_ceil(BLOCK_BYTES));
        let mut prefix = batch.front_crc();
        prefixes.push(prefix);
        for block in batch.data().chunks(BLOCK_BYTES) {
            prefix = crc32c_concat(prefix, crc32c(block), block.len());
            prefixes.push(prefix);
        }
        let rest = batch.bytes().split_at(batch.data_position() + batch.data().len()).1;
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

    /// The checksum of the batch up to byte `position` of its data. If that is inside a block, the block is verified:
    /// `None` if it isn't as it was.
    pub(crate) fn up_to(&self, batch: &Batch<'_>, position: usize) -> Option<u32> {
        let prefix = |block: usize| self.0.get(block).copied();
        let Some(block) = block_around(position, batch.data().len()) else {
            return prefix(position.div_ceil(BLOCK_BYTES));
        };
        let number = block.start / BLOCK_BYTES;
        let (before, after) = batch.data().get(block.clone())?.split_at(position - block.start);
        let checksum = crc32c_concat(prefix(number)?, crc32c(before), before.len());
        let end = crc32c_concat(checksum, crc32c(after), after.len());
        (end == prefix(number + 1)?).then_some(checksum)
    }

    /// Whether the batch's header and sizes are as they were.
    pub(crate) fn are_of(&self, batch: &Batch<'_>) -> bool {
        self.0.first() == Some(&batch.front_crc())
    }
}

/// The block of `data_bytes` bytes of data that has `position` inside it; `None` where a block begins or the data ends.
pub(crate) fn block_around(position: usize, data_bytes: usize) -> Option<Range<usize>> {
    assert!(position <= data_bytes, "byte {position} of {data_bytes}");
    if position == data_bytes || position.is_multiple_of(BLOCK_BYTES) {
        return None;
    }
    let start = position - position % BLOCK_BYTES;
    Some(start..data_bytes.min(start + BLOCK_BYTES))
}

impl Batch<'_> {
    /// The checksum of the header and the sizes as they are now.
    fn front_crc(&self) -> u32 {
        self.header().front_crc(self.sizes().as_bytes())
    }
}
