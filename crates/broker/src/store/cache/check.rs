//! Checks that bytes are the front of the object of a journal of which they should be a copy.

use super::name::CopyName;
use crate::limits::CACHE_BLOCK_BYTES;
use crate::object_error::ObjectError;
use rawline_journal::{Header, Index};
use std::ops::Range;

/// The front of an object, which says which it is.
pub(super) fn front_of(object_bytes: u64) -> Range<u64> {
    0..CACHE_BLOCK_BYTES.min(object_bytes)
}

/// Checks that an object of `bytes` bytes that begins with `front` is the one of that name; and its index, if all of it
/// is here. Readers verify what they read of the object's other bytes.
pub(super) fn check_front(front: &[u8], name: &CopyName, bytes: u64) -> Result<(), ObjectError> {
    let header = Header::parse(front)?;
    let is_it = Some(header.source()) == name.source() && header.link.id.tag() == name.tag;
    if !is_it || header.object_bytes != bytes {
        return Err(ObjectError::Header);
    }
    if header.index_bytes() <= front.len() as u64 {
        Index::parse(front)?;
    }
    Ok(())
}
