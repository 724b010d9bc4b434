//! The content of a message of selected records: offsets, sizes, then the records back to back. All numbers are
//! little-endian.
//!
//! ```text
//!  0  u32          count
//!  4  u32          zero
//!  8  u64 × count  offsets, ascending
//!     u32 × count  sizes
//!                  the records
//! ```

use super::{Delivery, DeliveryError};

/// Length of the count and the zeros, in bytes.
const FRONT_BYTES: usize = 8;

/// Records that a filter has selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection<'a> {
    offsets: &'a [[u8; 8]],
    sizes: &'a [[u8; 4]],
    data: &'a [u8],
}

impl<'a> Selection<'a> {
    /// Reads the content of a message that has this head.
    pub fn parse(head: &Delivery<'_>, content: &'a [u8]) -> Result<Selection<'a>, DeliveryError> {
        let (selection, zeros) = Selection::split(content)?;
        if zeros != [0; 4] {
            return Err(DeliveryError::Padding);
        }
        let bytes: u64 = selection.sizes.iter().map(|size| u64::from(u32::from_le_bytes(*size))).sum();
        let found = selection.data.len() as u64;
        if bytes != found {
            let expected = content.len() as u64 - found + bytes;
            return Err(DeliveryError::SelectionLength { found: content.len() as u64, expected });
        }
        let (mut from, end) = (head.first_offset, head.end_offset);
        for offset in selection.offsets {
            let offset = u64::from_le_bytes(*offset);
            if offset < from || offset >= end {
                return Err(DeliveryError::SelectionOffset { offset, from, end });
            }
            from = offset + 1;
        }
        Ok(selection)
    }

    /// Reads a content that [`Selection::parse`] has checked.
    pub fn parse_trusted(content: &'a [u8]) -> Result<Selection<'a>, DeliveryError> {
        Selection::split(content).map(|(selection, _zeros)| selection)
    }

    /// The parts of a content, and the bytes after the count.
    fn split(content: &'a [u8]) -> Result<(Selection<'a>, [u8; 4]), DeliveryError> {
        let truncated = |needed| DeliveryError::Truncated { bytes: content.len() as u64, needed };
        let Some((&[c0, c1, c2, c3, z0, z1, z2, z3], rest)) = content.split_first_chunk::<FRONT_BYTES>() else {
            return Err(truncated(FRONT_BYTES as u64));
        };
        let count = u64::from(u32::from_le_bytes([c0, c1, c2, c3]));
        let needed = FRONT_BYTES as u64 + count * 12;
        let split = usize::try_from(count * 8).ok().and_then(|bytes| rest.split_at_checked(bytes));
        let (offsets, rest) = split.ok_or_else(|| truncated(needed))?;
        let split = usize::try_from(count * 4).ok().and_then(|bytes| rest.split_at_checked(bytes));
        let (sizes, data) = split.ok_or_else(|| truncated(needed))?;
        let selection = Selection { offsets: offsets.as_chunks().0, sizes: sizes.as_chunks().0, data };
        Ok((selection, [z0, z1, z2, z3]))
    }

    /// Number of records.
    pub fn count(&self) -> usize {
        self.offsets.len()
    }

    /// Offset and size of a record.
    pub fn entry(&self, index: usize) -> Option<(u64, u32)> {
        let (offset, size) = (self.offsets.get(index)?, self.sizes.get(index)?);
        Some((u64::from_le_bytes(*offset), u32::from_le_bytes(*size)))
    }

    /// The records, back to back.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// Appends the part before the records: their count, their offsets and their sizes.
pub fn put_selection(entries: &[(u64, u32)], out: &mut Vec<u8>) {
    assert!(u32::try_from(entries.len()).is_ok(), "{} records in a message", entries.len());
    out.extend((entries.len() as u32).to_le_bytes());
    out.extend([0; 4]);
    entries.iter().for_each(|(offset, _)| out.extend(offset.to_le_bytes()));
    entries.iter().for_each(|(_, size)| out.extend(size.to_le_bytes()));
}
