//! Reads objects and pieces of them from the mapped segments, where they are.

use super::inner::Inner;
use super::segments::Stored;
use crate::limits::{COPIED_OBJECT_BYTES_MIN, SENDFILE_BYTES_MIN};
use crate::object_error::ObjectError;
use crate::store::PiecePart;
use crate::store_error::StoreError;
use bytes::Bytes;
use rawline_journal::{HEADER_BYTES, Header, Index, Place, Source};
use std::ops::Range;
use std::sync::Arc;

/// The file of the piece that was read last: the next one's object is often in the same.
struct Near {
    is_merged: bool,
    stored: Arc<Stored>,
}

impl Near {
    fn find(&self, source: Source) -> Option<(&Arc<Stored>, Range<u64>)> {
        let object = (source.is_merged() == self.is_merged).then(|| self.stored.find(source.number())).flatten()?;
        Some((&self.stored, object))
    }
}

impl Inner {
    /// One part of each of these pieces, up to the first that isn't in memory.
    pub(super) fn resident_pieces(&self, pieces: &[Place], part: PiecePart) -> Vec<Bytes> {
        let mut near: Option<Near> = None;
        let read = |place: &Place| {
            let range = match part {
                PiecePart::Entries => place.entries(),
                PiecePart::Batches => place.batches(),
            };
            let (stored, object) = match near.as_ref().and_then(|near| near.find(place.source)) {
                Some(found) => found,
                None => {
                    let (stored, object) = self.find(place.source)?;
                    let near = near.insert(Near { is_merged: place.source.is_merged(), stored });
                    (&near.stored, object)
                }
            };
            resident(stored, place, &within(&object, place, &range).ok()?)
        };
        pieces.iter().map_while(read).collect()
    }

    /// Bytes of an object if they are in memory. Never blocks.
    pub(super) fn resident(&self, place: &Place, range: &Range<u64>) -> Option<Bytes> {
        let (stored, range) = self.place(place, range).ok()?;
        resident(&stored, place, &range)
    }

    /// Bytes of an object, from the disk if need be. Blocks.
    pub(super) fn fetch(&self, place: &Place, range: &Range<u64>) -> Result<Bytes, StoreError> {
        let (stored, range) = self.place(place, range)?;
        stored.segment.fetch(range)
    }

    /// Where bytes of an object are.
    fn place(&self, place: &Place, range: &Range<u64>) -> Result<(Arc<Stored>, Range<usize>), StoreError> {
        let gone = || StoreError::gone(format!("{:?} of the journal is missing in the directory", place.source));
        let (stored, object) = self.find(place.source).ok_or_else(gone)?;
        let range = within(&object, place, range)?;
        Ok((stored, range))
    }

    /// The index of an object if it is in memory.
    pub(super) fn resident_index(&self, source: Source) -> Option<Result<Option<Index>, StoreError>> {
        let Some((stored, object)) = self.find(source) else { return Some(Ok(None)) };
        let begin = object.start as usize;
        let read = |bytes: usize| stored.segment.resident(begin..begin + bytes, false);
        let front = read(HEADER_BYTES)?;
        let index = Header::parse(&front).map_err(ObjectError::from);
        let index = match index.map(|header| header.index_bytes()) {
            Ok(bytes) if bytes <= object.end - object.start => {
                Index::parse(&read(bytes as usize)?).map_err(ObjectError::from)
            }
            Ok(_) => Err(ObjectError::Header),
            Err(error) => Err(error),
        };
        Some(index.map(Some).map_err(|error| damaged(source, &error)))
    }

    /// The index of an object, from the disk if need be; `None` if it doesn't exist. Blocks.
    pub(super) fn fetch_index(&self, source: Source) -> Result<Option<Index>, StoreError> {
        let Some((stored, object)) = self.find(source) else { return Ok(None) };
        let begin = object.start as usize;
        let front = stored.segment.fetch(begin..begin + HEADER_BYTES)?;
        let header = Header::parse(&front).map_err(|error| damaged(source, &error.into()))?;
        let bytes = header.index_bytes();
        if bytes > object.end - object.start {
            return Err(damaged(source, &ObjectError::Header));
        }
        let index = Index::parse(&stored.segment.fetch(begin..begin + bytes as usize)?);
        index.map(Some).map_err(|error| damaged(source, &error.into()))
    }
}

/// The bytes `range` of its file, which belong to the object of this piece, if they are in memory.
fn resident(stored: &Stored, place: &Place, range: &Range<usize>) -> Option<Bytes> {
    // The next read of a long piece isn't near.
    let is_copied = range.len() < SENDFILE_BYTES_MIN && u64::from(place.bytes) >= COPIED_OBJECT_BYTES_MIN;
    stored.segment.resident(range.clone(), is_copied)
}

/// Where the bytes `range` of a piece's object are in its file, if the object is at `object` there.
fn within(object: &Range<u64>, place: &Place, range: &Range<u64>) -> Result<Range<usize>, StoreError> {
    let (found, expected) = (object.end - object.start, u64::from(place.object_bytes));
    if found != expected {
        let message = format!("{:?} has {found} bytes instead of {expected}; restore it from a copy", place.source);
        return Err(StoreError::human(message));
    }
    assert!(range.start <= range.end && range.end <= expected, "bytes {range:?} of {place:?}");
    let begin = object.start as usize;
    Ok(begin + range.start as usize..begin + range.end as usize)
}

fn damaged(source: Source, error: &ObjectError) -> StoreError {
    StoreError::damaged(format!("{source:?} of the journal is damaged: {error}; restore its file from a copy"))
}
