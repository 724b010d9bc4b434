//! Checks that bytes are the object of which they should be a copy: a topic's, or a journal's.

use super::CopyName;
use crate::object::{self, Described, ObjectError};
use rawline_journal::{BatchKind, Index, Source};

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
    let batches = index.sections().flat_map(|(_, batches)| batches);
    for (number, (batch, position)) in batches.enumerate() {
        let range = *position as usize..*position as usize + batch.bytes as usize;
        let truncated = ObjectError::Truncated { have: whole.len() as u64, need: header.object_bytes };
        let bytes = whole.get(range).ok_or(truncated)?;
        match batch.kind {
            BatchKind::Rawline => Described::from(batch).verify(number, bytes)?,
            // This broker stores none.
            BatchKind::Kafka => return Err(ObjectError::Header),
        }
    }
    Ok(header.object_bytes)
}
