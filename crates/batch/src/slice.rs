//! A range of an uncompressed batch as a batch of its own: a new header over sub-ranges of the same bytes.

use crate::header::{HEADER_BYTES, padding};
use crate::parse::Batch;
use crate::{BatchError, Codec, Header};
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
    pub fn slice(&self, range: Range<u32>) -> Result<Slice, BatchError> {
        let whole = self.header();
        if range.start >= range.end || range.end > whole.records {
            return Err(BatchError::Range { from: range.start, to: range.end, records: whole.records });
        }
        if whole.codec != Codec::None {
            return Err(BatchError::SliceCompressed);
        }
        let (before, rest) = self.sizes().split_at(range.start as usize);
        let sizes = rest.split_at((range.end - range.start) as usize).0;
        let data_start = crate::parse::sum(before) as usize;
        let data_bytes = crate::parse::sum(sizes) as usize;
        let data_section = HEADER_BYTES + self.sizes().len() * 4;
        assert!(data_start + data_bytes <= self.data().len(), "sizes of {range:?} exceed the batch's data");
        let data = data_section + data_start..data_section + data_start + data_bytes;
        let header = Header {
            slice: true,
            records: range.end - range.start,
            data_bytes: data_bytes as u32,
            raw_bytes: data_bytes as u32,
            sequence: whole.sequence.wrapping_add(u64::from(range.start)),
            crc32c: 0,
            ..*whole
        };
        let Some(data_slice) = self.bytes().get(data.clone()) else {
            unreachable!("records {range:?} at {data:?} of a batch of {} bytes", self.bytes().len())
        };
        assert!(header.batch_bytes() <= whole.batch_bytes(), "a slice {header:?} is longer than its batch {whole:?}");
        Ok(Slice {
            header: header.seal([sizes.as_bytes(), data_slice]),
            sizes: HEADER_BYTES + range.start as usize * 4..HEADER_BYTES + range.end as usize * 4,
            data,
            padding: padding(header.padding_bytes()),
        })
    }
}
