//! Checks that bytes are the object of a journal of which they should be a copy.

use super::CopyName;
use crate::object_error::ObjectError;
use crate::piece::verify_object;
use rawline_journal::{Index, Source};

/// Checks that bytes are the object of that name and size, and intact.
pub(super) fn check(whole: &[u8], name: &CopyName, bytes: u64) -> Result<(), ObjectError> {
    let Some(source) = name.source() else { return Err(ObjectError::Header) };
    let object_bytes = journal_object(whole, source, name.tag)?;
    if object_bytes != bytes || whole.len() as u64 != bytes {
        return Err(ObjectError::Header);
    }
    Ok(())
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
