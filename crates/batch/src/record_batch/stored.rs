//! The check of a batch that a broker has stored.

use super::header::CRC_FROM;
use super::{RECORD_BATCH_HEADER_BYTES, RecordBatchError, RecordBatchHeader, stamp};
use crate::{Limits, crc32c};

/// Checks that `bytes` are one whole batch, intact, with the [stamp] of its first offset. Returns its header.
///
/// With the batch's length and checksum, which the caller compares, this vouches for every byte.
pub fn check_stored(bytes: &[u8], first_offset: u64) -> Result<RecordBatchHeader, RecordBatchError> {
    let have = bytes.len() as u64;
    let truncated = |need: u64| RecordBatchError::Truncated { have, need };
    let front = bytes.first_chunk().ok_or(truncated(RECORD_BATCH_HEADER_BYTES as u64))?;
    let header = RecordBatchHeader::parse_stored(front, &Limits::FORMAT)?;
    let need = u64::from(header.batch_bytes);
    if have < need {
        return Err(truncated(need));
    }
    if have > need {
        return Err(RecordBatchError::Trailing { bytes: have - need });
    }
    if !front.starts_with(&stamp(first_offset, header.batch_bytes)) {
        return Err(RecordBatchError::Stamp { first_offset });
    }
    let (found, expected) = (header.crc32c, crc32c(bytes.split_at(CRC_FROM).1));
    if found == expected { Ok(header) } else { Err(RecordBatchError::Checksum { found, expected }) }
}
