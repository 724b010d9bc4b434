//! A checked view of a batch whose bytes are in one piece; nothing is copied.

use crate::header::{CRC_POSITION, HEADER_BYTES, Header};
use crate::{BatchError, Codec, Crc32c, Limits};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// A batch whose every rule has been checked. Borrows the received bytes.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    header: Header,
    bytes: &'a [u8],
    sizes: &'a [U32],
    data: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Checks bytes that hold exactly one batch.
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Batch<'a>, BatchError> {
        let (batch, rest) = Batch::parse_prefix(bytes, limits)?;
        if !rest.is_empty() {
            return Err(BatchError::TrailingBytes { count: rest.len() as u64 });
        }
        Ok(batch)
    }

    /// Checks the batch at the beginning of `bytes` and returns the rest.
    pub fn parse_prefix(bytes: &'a [u8], limits: &Limits) -> Result<(Batch<'a>, &'a [u8]), BatchError> {
        let (batch, rest) = Batch::locate(bytes, limits)?;
        let (front, body) = batch.bytes.split_at(HEADER_BYTES);
        let mut crc = Crc32c::new();
        crc.update(front.split_at(CRC_POSITION).0);
        crc.update(body);
        batch.check_contents(crc.value())?;
        Ok((batch, rest))
    }

    /// As [`Batch::parse_prefix`] without the checksum: for bytes that this process has already checked. Every length
    /// is still checked.
    pub fn parse_prefix_trusted(bytes: &'a [u8], limits: &Limits) -> Result<(Batch<'a>, &'a [u8]), BatchError> {
        let (batch, rest) = Batch::locate(bytes, limits)?;
        batch.check_contents(batch.header.crc32c)?;
        Ok((batch, rest))
    }

    /// Finds the sections of the batch at the front of `bytes`; only its header is checked.
    fn locate(bytes: &'a [u8], limits: &Limits) -> Result<(Batch<'a>, &'a [u8]), BatchError> {
        let have = bytes.len() as u64;
        let Some(front) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(BatchError::Truncated { have, need: HEADER_BYTES as u64 });
        };
        let header = Header::parse(front, limits)?;
        let Some((bytes, rest)) = usize::try_from(header.batch_bytes()).ok().and_then(|n| bytes.split_at_checked(n))
        else {
            return Err(BatchError::Truncated { have, need: header.batch_bytes() });
        };
        // The header's lengths add up to the batch's, which `Header::parse` has checked.
        let body = bytes.split_at(HEADER_BYTES).1;
        let Ok((sizes, body)) = <[U32]>::ref_from_prefix_with_elems(body, header.records as usize) else {
            unreachable!("{header:?} in {} bytes", bytes.len())
        };
        assert_eq!(body.len(), header.data_bytes as usize + header.padding_bytes(), "{header:?}");
        let data = body.split_at(header.data_bytes as usize).0;
        Ok((Batch { header, bytes, sizes, data }, rest))
    }

    fn check_contents(&self, crc32c: u32) -> Result<(), BatchError> {
        let padding_position = self.bytes.len() - self.header.padding_bytes();
        let zeros = self.bytes.split_at(padding_position).1;
        let nonzero = first_nonzero(zeros).map(|at| (padding_position + at) as u32);
        check_contents(&self.header, crc32c, sum(self.sizes), nonzero)
    }

    /// The header's fields.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The whole batch, as received.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The records' sizes in bytes, in place.
    pub fn sizes(&self) -> &'a [U32] {
        self.sizes
    }

    /// The data in the batch, compressed if it has a codec.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The records, uncompressed. Data without a codec is borrowed from the batch; other data is unpacked into
    /// `scratch`, which can be used again for the next batch.
    pub fn records<'b>(&self, scratch: &'b mut Vec<u8>) -> Result<Records<'b>, BatchError>
    where
        'a: 'b,
    {
        let data: &'b [u8] = match self.header.codec {
            Codec::None => self.data,
            codec => {
                crate::decompress_into(codec, self.data, self.header.raw_bytes, scratch)?;
                scratch
            }
        };
        assert_eq!(data.len(), self.header.raw_bytes as usize, "records of {:?}", self.header);
        Ok(Records { sizes: self.sizes.iter(), data })
    }
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.header.fmt(f)
    }
}

/// The records of a batch, in order, each a slice of its data.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    sizes: std::slice::Iter<'a, U32>,
    data: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let size = self.sizes.next()?.get() as usize;
        // The sizes were checked against the data's length.
        let Some((record, rest)) = self.data.split_at_checked(size) else {
            unreachable!("a record of {size} bytes in {} bytes of data", self.data.len())
        };
        self.data = rest;
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.sizes.size_hint()
    }
}

impl ExactSizeIterator for Records<'_> {}

/// The batches that follow each other in `bytes`, checked one by one; ends after the first error. Empty `bytes` hold no
/// batches, which isn't an error.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    rest: &'a [u8],
    limits: Limits,
}

impl<'a> Batches<'a> {
    /// Iterates over `bytes` from the front.
    pub fn new(bytes: &'a [u8], limits: Limits) -> Self {
        Batches { rest: bytes, limits }
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match Batch::parse_prefix(self.rest, &self.limits) {
            Ok((batch, rest)) => {
                self.rest = rest;
                Some(Ok(batch))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

/// Sum of sizes; 2^32 sizes of 2^32 cannot overflow it.
pub(crate) fn sum(sizes: &[U32]) -> u64 {
    sizes.iter().map(|size| u64::from(size.get())).sum()
}

/// Position of the first byte of `padding` that is not zero.
pub(crate) fn first_nonzero(padding: &[u8]) -> Option<usize> {
    padding.iter().position(|&byte| byte != 0)
}

/// The checks of the part after a header, in the order of `docs/format.md`. The checksum comes first, so that damage is
/// never mistaken for a producer's mistake.
pub(crate) fn check_contents(
    header: &Header,
    crc32c: u32,
    sum: u64,
    padding_nonzero: Option<u32>,
) -> Result<(), BatchError> {
    if crc32c != header.crc32c {
        return Err(BatchError::Crc { stored: header.crc32c, computed: crc32c });
    }
    if sum > u64::from(u32::MAX) {
        return Err(BatchError::SizesOverflow { sum });
    }
    if sum != u64::from(header.raw_bytes) {
        return Err(BatchError::SizesSum { sum, raw_bytes: header.raw_bytes });
    }
    if let Some(position) = padding_nonzero {
        return Err(BatchError::Reserved { position });
    }
    Ok(())
}
