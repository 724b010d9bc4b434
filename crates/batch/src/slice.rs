//! A range of an uncompressed batch as a separate batch: a new header over sub-ranges of the same bytes.

use crate::header::{HEADER_BYTES, padding};
use crate::parse::Batch;
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
    /// The batch's own checksum is verified, so that damage never gets a correct one. The data cut out, most of what
    /// there is to read, is read once for both checksums.
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
        assert!(data_start + data_bytes <= self.data().len(), "sizes of {range:?} exceed the data of {whole:?}");
        let data_section = HEADER_BYTES + self.sizes().len() * 4;
        let (front, rest) = self.bytes().split_at(data_section + data_start);
        let (data, rest) = rest.split_at(data_bytes);
        let data_crc = crc32c(data);
        let front_crc = whole.front_crc(front.split_at(HEADER_BYTES).1);
        let crc = crc32c_concat(crc32c_concat(front_crc, data_crc, data.len()), crc32c(rest), rest.len());
        if crc != whole.crc32c {
            return Err(BatchError::Crc { stored: whole.crc32c, computed: crc });
        }

        let mut header = Header {
            slice: true,
            records: range.end - range.start,
            data_bytes: data_bytes as u32,
            raw_bytes: data_bytes as u32,
            sequence: whole.sequence.wrapping_add(u64::from(range.start)),
            crc32c: 0,
            ..*whole
        };
        assert!(header.batch_bytes() <= whole.batch_bytes(), "a slice {header:?} is longer than its batch {whole:?}");
        let padding = padding(header.padding_bytes());
        let front_crc = header.front_crc(sizes.as_bytes());
        header.crc32c = crc32c_concat(crc32c_concat(front_crc, data_crc, data.len()), crc32c(padding), padding.len());
        Ok(Slice {
            header: header.encode(),
            sizes: HEADER_BYTES + range.start as usize * 4..HEADER_BYTES + range.end as usize * 4,
            data: front.len()..front.len() + data.len(),
            padding,
        })
    }
}
