//! A range of an uncompressed batch as a separate batch: a new header over sub-ranges of the same bytes.

use crate::header::{HEADER_BYTES, padding};
use crate::parse::Batch;
use crate::prefixes::{PrefixChecksums, block_around};
use crate::{BatchError, Codec, Header, crc32c, crc32c_concat};
use std::ops::Range;
use zerocopy::IntoBytes;

/// A slice, as the pieces it is sent in: `header`, the batch's bytes `sizes`, the batch's bytes `data`, `padding`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// The slice's own header, checksum included.
    pub header: [u8; HEADER_BYTES],
    /// Byte range of its sizes in the batch it was cut from.
    pub sizes: Range<usize>,
    /// Byte range of its data in the batch it was cut from.
    pub data: Range<usize>,
    /// The zeros after the data.
    pub padding: &'static [u8],
}

impl Slice {
    /// Size of the slice as sent, in bytes.
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + self.sizes.len() + self.data.len() + self.padding.len()
    }
}

impl Batch<'_> {
    /// Cuts out the records `range`. Creation time and producer stay; the sequence becomes that of the first record
    /// cut out.
    ///
    /// All of the batch is read, because its own checksum is verified: damage never gets a matching one.
    pub fn slice(&self, range: Range<u32>) -> Result<Slice, BatchError> {
        self.slice_with(range, &PrefixChecksums::of(self)?)
    }

    /// As [`Batch::slice`], but with checksums of the batch from before: only the sizes and the blocks in which the
    /// slice begins and ends are read and verified.
    ///
    /// The slice's checksum follows from the producer's. If a bit of another block has flipped since, the checksum
    /// doesn't match it, and whoever receives the slice notices.
    pub fn slice_with(&self, range: Range<u32>, checksums: &PrefixChecksums) -> Result<Slice, BatchError> {
        let whole = self.header();
        if range.start >= range.end || range.end > whole.records {
            return Err(BatchError::Range { from: range.start, to: range.end, records: whole.records });
        }
        if whole.codec != Codec::None {
            return Err(BatchError::SliceCompressed);
        }
        if !checksums.are_of(self) {
            return Err(self.damaged());
        }
        let (before, rest) = self.sizes().split_at(range.start as usize);
        let sizes = rest.split_at((range.end - range.start) as usize).0;
        let start = crate::parse::sum(before) as usize;
        let end = start + crate::parse::sum(sizes) as usize;
        assert!(end <= self.data().len(), "sizes of {range:?} exceed the data of {whole:?}");
        let (Some(before_crc), Some(end_crc)) = (checksums.up_to(self, start), checksums.up_to(self, end)) else {
            return Err(self.damaged());
        };

        let mut header = Header {
            slice: true,
            records: range.end - range.start,
            data_bytes: (end - start) as u32,
            raw_bytes: (end - start) as u32,
            sequence: whole.sequence.wrapping_add(u64::from(range.start)),
            crc32c: 0,
            ..*whole
        };
        assert!(header.batch_bytes() <= whole.batch_bytes(), "a slice {header:?} is longer than its batch {whole:?}");
        let padding = padding(header.padding_bytes());
        // The data's checksum is that of the batch up to its end, less what precedes it.
        let data_crc = crc32c_concat(before_crc, end_crc, end - start);
        let front_crc = header.front_crc(sizes.as_bytes());
        let crc = crc32c_concat(front_crc, data_crc, end - start);
        header.crc32c = crc32c_concat(crc, crc32c(padding), padding.len());
        Ok(Slice {
            header: header.encode(),
            sizes: HEADER_BYTES + range.start as usize * 4..HEADER_BYTES + range.end as usize * 4,
            data: self.data_position() + start..self.data_position() + end,
            padding,
        })
    }

    /// What of the batch was read to make a slice with its [`PrefixChecksums`], as byte ranges.
    pub fn read_for(&self, slice: &Slice) -> impl Iterator<Item = Range<usize>> {
        let (position, data_bytes) = (self.data_position(), self.data().len());
        let blocks = [slice.data.start, slice.data.end].map(|end| block_around(end - position, data_bytes));
        let blocks = blocks.into_iter().flatten().map(move |block| position + block.start..position + block.end);
        // [`Batch::parse_prefix_trusted`] has looked at the padding.
        [0..position, position + data_bytes..self.bytes().len()].into_iter().chain(blocks)
    }

    /// The error of bytes that are not what they were.
    fn damaged(&self) -> BatchError {
        let computed = self.header().front_crc(self.bytes().split_at(HEADER_BYTES).1);
        BatchError::Crc { stored: self.header().crc32c, computed }
    }
}
