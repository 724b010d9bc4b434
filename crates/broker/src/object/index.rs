//! Reads the index of an object and checks it, and the batches against it.

use super::{BatchEntry, CRC_POSITION, HEADER_BYTES, Header, ObjectError};
use rawline_batch::Crc32c;
use zerocopy::{FromBytes, IntoBytes};

/// The checked index of an object: its header and its entries, in place.
#[derive(Debug, Clone, Copy)]
pub struct ObjectIndex<'a> {
    /// The object's header.
    pub header: Header,
    /// One entry per batch, in order.
    pub entries: &'a [BatchEntry],
}

impl<'a> ObjectIndex<'a> {
    /// Checks the index at the front of `bytes`: checksum, and that the entries tile the object without a gap.
    pub fn parse(bytes: &'a [u8]) -> Result<ObjectIndex<'a>, ObjectError> {
        let ObjectIndex { header, entries } = ObjectIndex::parse_verified(bytes)?;
        let mut record = 0u64;
        let mut position = header.index_bytes() as u64;
        for entry in entries {
            let tiles =
                u64::from(entry.record_first()) == record && entry.range().start == position && entry.is_sound();
            if !tiles {
                return Err(ObjectError::Header);
            }
            record += u64::from(entry.records());
            position = entry.range().end;
        }
        if record != u64::from(header.records) || position != header.object_bytes {
            return Err(ObjectError::Header);
        }
        Ok(ObjectIndex { header, entries })
    }

    /// As [`ObjectIndex::parse`] without the walk over the entries: for an object that this process has verified
    /// before. The checksum is computed again, because a bit may have flipped since.
    pub fn parse_verified(bytes: &'a [u8]) -> Result<ObjectIndex<'a>, ObjectError> {
        let header = Header::parse(bytes)?;
        let truncated = ObjectError::Truncated { have: bytes.len() as u64, need: header.index_bytes() as u64 };
        let Some((front, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Err(truncated) };
        let Ok((entries, _)) = <[BatchEntry]>::ref_from_prefix_with_elems(rest, header.batches as usize) else {
            return Err(truncated);
        };
        if checksum(front, entries.as_bytes()) != header.crc32c {
            return Err(ObjectError::Crc);
        }
        Ok(ObjectIndex { header, entries })
    }

    /// The entry that holds the object's record number `record`.
    pub fn entry_of(&self, record: u32) -> usize {
        assert!(record < self.header.records, "record {record} of an object of {}", self.header.records);
        let after = self.entries.partition_point(|entry| entry.record_first() <= record);
        assert!(after > 0, "the first batch of an object begins after its record {record}");
        after - 1
    }
}

/// Checks a piece by its index: every batch in it. Returns the header.
pub(crate) fn verify(index: &[u8], batches: &[u8]) -> Result<Header, ObjectError> {
    let index = ObjectIndex::parse(index)?;
    let index_bytes = index.header.index_bytes() as u64;
    for (number, entry) in index.entries.iter().enumerate() {
        let range = entry.range();
        let Some(batch) = batches.get((range.start - index_bytes) as usize..(range.end - index_bytes) as usize) else {
            unreachable!("batch {number} at {range:?} of an object with {} bytes of batches", batches.len())
        };
        entry.verify(number, index.header.first_offset, batch)?;
    }
    Ok(index.header)
}

/// The checksum of a header and its entries.
pub(super) fn checksum(header: &[u8; HEADER_BYTES], entries: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(header.split_at(CRC_POSITION).0);
    crc.update(entries);
    crc.value()
}
