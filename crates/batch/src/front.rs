//! The beginning of a batch: header and sizes, for a batch whose data is stored separately.

use crate::header::{HEADER_BYTES, Header};
use crate::parse::sum;
use crate::{Batch, BatchError, Codec, Limits};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

/// Header and sizes of a batch that this process has verified before. Every length is checked again.
#[derive(Debug, Clone, Copy)]
pub struct Front<'a> {
    header: Header,
    sizes: &'a [U32],
}

impl<'a> Front<'a> {
    /// Reads the front of the batch that begins where `bytes` begin.
    pub fn parse_trusted(bytes: &'a [u8], limits: &Limits) -> Result<Front<'a>, BatchError> {
        let have = bytes.len() as u64;
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(BatchError::Truncated { have, need: HEADER_BYTES as u64 });
        };
        let header = Header::parse(header, limits)?;
        let need = HEADER_BYTES as u64 + u64::from(header.records) * 4;
        let sizes = bytes.split_at(HEADER_BYTES).1;
        let Ok((sizes, _)) = <[U32]>::ref_from_prefix_with_elems(sizes, header.records as usize) else {
            return Err(BatchError::Truncated { have, need });
        };
        let sum = sum(sizes);
        if sum != u64::from(header.raw_bytes) {
            return Err(BatchError::SizesSum { sum, raw_bytes: header.raw_bytes });
        }
        Ok(Front { header, sizes })
    }

    /// The header's fields.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The records' sizes in bytes, in place.
    pub fn sizes(&self) -> &'a [U32] {
        self.sizes
    }

    /// Whether the data is as the records are, so that it can be cut.
    pub fn is_compressed(&self) -> bool {
        self.header.codec != Codec::None
    }

    /// Position of the data in the batch, in bytes: the length of the front.
    pub fn data_position(&self) -> usize {
        HEADER_BYTES + size_of_val(self.sizes)
    }

    /// The current checksum of the batch up to its data.
    pub(crate) fn crc(&self) -> u32 {
        self.header.front_crc(self.sizes.as_bytes())
    }
}

impl<'a> Batch<'a> {
    /// Its header and sizes.
    pub fn front(&self) -> Front<'a> {
        Front { header: *self.header(), sizes: self.sizes() }
    }
}
