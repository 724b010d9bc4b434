//! Checks that bytes are the object of which they should be a copy: a topic's, or a journal's.

use super::CopyName;
use crate::object::{self, ObjectError};
use crate::store::verify_object;
use rawline_journal::{Index, Source};

/// Checks that bytes are the object of that name and size, and intact.
pub(super) fn check(whole: &[u8], name: &CopyName, bytes: u64) -> Result<(), ObjectError> {
    let object_bytes = match name.source() {
        Some(source) => journal_object(whole, source, name.tag)?,
        None => object(whole, name.first_offset)?,
    };
    if object_bytes != bytes || whole.len() as u64 != bytes {
        return Err(ObjectError::Header);
    }
    Ok(())
}

fn object(whole: &[u8], first_offset: u64) -> Result<u64, ObjectError> {
    let header = object::verify(whole)?;
    if header.first_offset == first_offset { Ok(header.object_bytes) } else { Err(ObjectError::Header) }
}

fn journal_object(whole: &[u8], source: Source, tag: u32) -> Result<u64, ObjectError> {
    let index = Index::parse(whole)?;
    let header = index.header;
    if header.source() != source || header.link.id.tag() != tag {
        return Err(ObjectError::Header);
    }
    verify_object(&index, whole)?;
    Ok(header.object_bytes)
}
