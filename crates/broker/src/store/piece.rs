//! What makes a piece of a journal object look like an object to readers: an index as an object has it, then the
//! piece's batches where they are.

use crate::object::{Described, ObjectError, build_index, index_bytes};
use crate::store::BatchTime;
use bytes::Bytes;
use rawline_journal::{Batch, BatchKind, Index, Place};
use std::ops::Range;

/// A part of a piece that readers ask for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// These bytes of the index that [`index_of`] builds.
    Index(Range<usize>),
    /// These bytes of the journal object.
    Batches(Range<u64>),
}

/// Where the bytes `range` of a piece are, if it is taken for an object. All of `range` is in its index, or all of it
/// in its batches.
pub(super) fn part_of(place: &Place, range: &Range<u64>) -> Part {
    let index_bytes = index_bytes(place.batches.count() as usize) as u64;
    if range.start >= index_bytes {
        assert!(range.end - index_bytes <= u64::from(place.bytes), "bytes {range:?} of {place:?}");
        let from = place.batches().start;
        return Part::Batches(from + (range.start - index_bytes)..from + (range.end - index_bytes));
    }
    assert!(range.end <= index_bytes, "bytes {range:?} of a piece whose index has {index_bytes}");
    Part::Index(range.start as usize..range.end as usize)
}

/// Builds the index that a piece would have as an object, of its entries in the journal object.
pub(super) fn index_of(first_offset: u64, place: &Place, entries: &[u8]) -> Result<Bytes, ObjectError> {
    let batches = sound_entries(first_offset, place, entries)?;
    let (header, index) = build_index(first_offset, place.batches.count() as usize, batches);
    assert_eq!(header.object_bytes, index.len() as u64 + u64::from(place.bytes), "{place:?} as an object");
    Ok(index.into())
}

/// Checks that the batches of a piece are those of its entries, intact, and hold the records `offsets`.
pub(crate) fn verify(offsets: Range<u64>, place: &Place, entries: &[u8], batches: &[u8]) -> Result<(), ObjectError> {
    assert_eq!(batches.len() as u64, u64::from(place.bytes), "the batches of {place:?}");
    let described = sound_entries(offsets.start, place, entries)?;
    let end = verify_described(0, offsets.start, described, batches)?;
    if end == offsets.end { Ok(()) } else { Err(ObjectError::Header) }
}

/// Checks that `bytes` are these batches, intact. `number` is that of the first in its object, `offset` that of its
/// first record.
pub(crate) fn verify_batches<'a>(
    number: usize,
    offset: u64,
    batches: impl Iterator<Item = &'a Batch>,
    bytes: &[u8],
) -> Result<(), ObjectError> {
    verify_described(number, offset, batches.map(Described::from), bytes).map(drop)
}

/// The same of batches that are described. Returns the offset after their last record.
fn verify_described(
    number: usize,
    mut offset: u64,
    batches: impl Iterator<Item = Described>,
    mut bytes: &[u8],
) -> Result<u64, ObjectError> {
    for (number, batch) in (number..).zip(batches) {
        let (one, rest) = bytes.split_at_checked(batch.bytes() as usize).ok_or(ObjectError::Header)?;
        batch.verify(number, offset, one)?;
        offset += u64::from(batch.records());
        bytes = rest;
    }
    if bytes.is_empty() { Ok(offset) } else { Err(ObjectError::Header) }
}

/// Checks that `whole` is the journal object with this index, and its batches intact.
pub(crate) fn verify_object(index: &Index, whole: &[u8]) -> Result<(), ObjectError> {
    let need = index.header.object_bytes;
    let truncated = ObjectError::Truncated { have: whole.len() as u64, need };
    let mut bytes = whole.get(index.header.index_bytes() as usize..need as usize).ok_or(truncated)?;
    let mut number = 0;
    for (section, batches) in index.sections() {
        let section_bytes: usize = batches.iter().map(|(batch, _)| batch.bytes as usize).sum();
        let (of_section, rest) = bytes.split_at_checked(section_bytes).ok_or(ObjectError::Header)?;
        verify_batches(number, section.first_offset, batches.iter().map(|(batch, _)| batch), of_section)?;
        number += batches.len();
        bytes = rest;
    }
    Ok(())
}

/// What the entries of a piece describe, if they can be its own. Needs no memory for each: a piece may have 65,536.
fn sound_entries(
    first_offset: u64,
    place: &Place,
    entries: &[u8],
) -> Result<impl Iterator<Item = Described>, ObjectError> {
    // The object was intact when it was stored or fetched. Its file may have been damaged since.
    let (mut bytes, mut records) = (0, 0);
    for batch in Batch::each(entries)? {
        let batch = batch?;
        if batch.kind == BatchKind::Rawline && !batch.bytes.is_multiple_of(crate::object::OBJECT_ALIGNMENT as u32) {
            return Err(ObjectError::Header);
        }
        (bytes, records) = (bytes + u64::from(batch.bytes), records + u64::from(batch.records));
    }
    let is_sound = bytes == u64::from(place.bytes)
        && records <= u64::from(u32::MAX)
        && first_offset.checked_add(records).is_some();
    if !is_sound {
        return Err(ObjectError::Header);
    }
    let sound =
        |batch: Result<Batch, _>| batch.map_or_else(|_| unreachable!("a batch was sound"), |batch| (&batch).into());
    Ok(Batch::each(entries)?.map(sound))
}

/// The times of the batches of a piece, of its entries in the object.
pub(super) fn batch_times(entries: &[u8]) -> Result<Vec<BatchTime>, ObjectError> {
    let time = |batch: Batch| BatchTime { records: batch.records, kind: batch.kind, time_us: batch.max_timestamp_us };
    Ok(Batch::each(entries)?.map(|batch| batch.map(time)).collect::<Result<_, _>>()?)
}
