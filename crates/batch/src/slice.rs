//! A range of an uncompressed batch as a separate batch: a new header over sub-ranges of the same bytes.

use crate::header::{HEADER_BYTES, padding};
use crate::{Batch, BatchError, Front, Header, PrefixChecksums, crc32c, crc32c_concat};
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
    /// Slices the records `range`. Creation time and producer stay; the sequence becomes that of the first record
    /// cut out.
    ///
    /// All of the batch is read, because its own checksum is verified: damage never gets a matching one.
    pub fn slice(&self, range: Range<u32>) -> Result<Slice, BatchError> {
        self.slice_with(range, &PrefixChecksums::of(self)?)
    }

    /// As [`Front::slice_with`].
    pub fn slice_with(&self, range: Range<u32>, checksums: &PrefixChecksums) -> Result<Slice, BatchError> {
        self.front().slice_with(range, checksums, |part| {
            let Some(bytes) = self.bytes().get(part.clone()) else {
                unreachable!("{part:?} is not in {:?}", self.header())
            };
            bytes
        })
    }
}

impl Front<'_> {
    /// As [`Batch::slice`], but with checksums of the batch from before. Of the data, only the blocks in which the
    /// slice begins and ends are read and verified: `read` returns bytes of the batch by their positions.
    ///
    /// The slice's checksum follows from the producer's. If a bit of another block has flipped since, the checksum
    /// doesn't match it, and the slice's receiver notices.
    pub fn slice_with<B: AsRef<[u8]>>(
        &self,
        range: Range<u32>,
        checksums: &PrefixChecksums,
        mut read: impl FnMut(Range<usize>) -> B,
    ) -> Result<Slice, BatchError> {
        let whole = self.header();
        if range.start >= range.end || range.end > whole.records {
            return Err(BatchError::Range { from: range.start, to: range.end, records: whole.records });
        }
        if self.is_compressed() {
            return Err(BatchError::SliceCompressed);
        }
        checksums.check_front(self)?;
        let (before, rest) = self.sizes().split_at(range.start as usize);
        let sizes = rest.split_at((range.end - range.start) as usize).0;
        let start = crate::parse::sum(before) as usize;
        let end = start + crate::parse::sum(sizes) as usize;
        assert!(end <= whole.data_bytes as usize, "sizes of {range:?} exceed the data of {whole:?}");
        let before_crc = checksums.up_to(self, start, &mut read)?;
        let end_crc = checksums.up_to(self, end, &mut read)?;

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
        // The data's checksum follows from that of the batch up to its end and that of the part before it.
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
}
