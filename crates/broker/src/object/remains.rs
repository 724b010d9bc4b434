//! Recognizes objects without a checksum: where one may begin, and what a damaged header still says.

use super::header::RawHeader;
use super::{BatchEntry, HEADER_BYTES, MAGIC, VERSION, index_bytes};
use crate::limits::{OBJECT_BATCHES_MAX, OBJECT_BYTES_MAX};
use zerocopy::{FromBytes, IntoBytes};

/// Where an object belongs according to its header.
pub(crate) struct Place {
    pub first_offset: u64,
    pub writer_id: u64,
}

/// Reads an object's place. Checks the magic only: a cheap test before
/// [`ObjectIndex::parse`](super::ObjectIndex::parse) computes a checksum.
pub(crate) fn place(bytes: &[u8]) -> Option<Place> {
    if !bytes.starts_with(&MAGIC) {
        return None;
    }
    let (raw, _) = RawHeader::ref_from_prefix(bytes).ok()?;
    Some(Place { first_offset: raw.first_offset.get(), writer_id: raw.writer_id.get() })
}

/// What a damaged header still says.
#[derive(Debug)]
pub(crate) struct Remains {
    pub writer_id: u64,
    /// Length of the object in bytes, as the header and as the last entry has it. One of them may be wrong.
    pub object_bytes: [Option<u64>; 2],
}

/// Recognizes the damaged header of the object that should begin with `bytes`: of the bytes that are known in advance,
/// at most one differs.
pub(crate) fn remains(bytes: &[u8], first_offset: u64, writer_id: Option<u64>) -> Option<Remains> {
    let (raw, _) = RawHeader::ref_from_prefix(bytes).ok()?;
    let found = [&raw.magic[..], &[raw.version], raw.first_offset.as_bytes(), raw.writer_id.as_bytes()].concat();
    let writer_id = writer_id.unwrap_or(raw.writer_id.get());
    let known = [&MAGIC[..], &[VERSION], &first_offset.to_le_bytes(), &writer_id.to_le_bytes()].concat();
    let differing = found.iter().zip(&known).filter(|(found, known)| found != known).count();
    if differing > 1 {
        return None;
    }
    let last_entry = (raw.batches.get() as usize).checked_sub(1).filter(|&batch| batch < OBJECT_BATCHES_MAX);
    let last_entry = last_entry.and_then(|batch| BatchEntry::ref_from_prefix(bytes.get(index_bytes(batch)..)?).ok());
    let object_bytes = [Some(raw.object_bytes.get()), last_entry.map(|(entry, _)| entry.range().end)];
    let is_possible = |bytes: &u64| (HEADER_BYTES as u64..=OBJECT_BYTES_MAX).contains(bytes);
    Some(Remains { writer_id, object_bytes: object_bytes.map(|bytes| bytes.filter(is_possible)) })
}
