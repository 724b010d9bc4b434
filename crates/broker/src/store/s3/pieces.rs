//! Reads pieces of journal objects and of merged ones, by way of local copies of whole objects.

use super::fetch;
use super::journal::{S3Journal, object_path};
use crate::object::{Described, ObjectError, Stamp, build_index, index_bytes};
use crate::store::cache::{CacheError, CopyName};
use crate::store::{BatchTime, StoreError};
use bytes::Bytes;
use object_store::path::Path;
use rawline_journal::{Batch, BatchKind, Place};
use std::ops::Range;

/// The id of an object of a journal distinguishes it from others, not its ETag.
pub(super) const TAG_UNKNOWN: u32 = 0;

impl S3Journal {
    /// Bytes of a piece as of an object: all of `range` is in its index, or all of it in its batches.
    pub(super) async fn read_piece(
        &self,
        first_offset: u64,
        place: Place,
        range: Range<u64>,
    ) -> Result<Bytes, StoreError> {
        let path = object_path(&self.bucket, place.source)?;
        let index_bytes = index_bytes(place.batches as usize) as u64;
        let read = if range.start >= index_bytes {
            assert!(range.end - index_bytes <= u64::from(place.bytes), "bytes {range:?} of {place:?}");
            let from = place.batches().start;
            let in_object = from + (range.start - index_bytes)..from + (range.end - index_bytes);
            self.journal_bytes(&path, place, in_object).await
        } else {
            assert!(range.end <= index_bytes, "bytes {range:?} of a piece whose index has {index_bytes}");
            let index = self.piece_index(&path, first_offset, place).await;
            index.map(|index| index.slice(range.start as usize..range.end as usize))
        };
        read.map_err(|error| self.bucket.unreadable(&path, error))
    }

    /// The times of the batches of a merged piece.
    pub(super) async fn batch_times(&self, place: Place) -> Result<Vec<BatchTime>, StoreError> {
        assert!(place.source.is_merged(), "{place:?} has one time");
        let path = object_path(&self.bucket, place.source)?;
        let entries = self.journal_bytes(&path, place, place.entries()).await;
        let batches = entries.and_then(|entries| Ok(Batch::read_all(&entries).map_err(ObjectError::from)?));
        let batches = batches.map_err(|error| self.bucket.unreadable(&path, error))?;
        let time = |batch: &Batch| match batch.kind {
            BatchKind::Rawline => BatchTime { records: batch.records, appended_us: batch.max_timestamp_us },
            // That of its producer's clock.
            BatchKind::Kafka => BatchTime { records: batch.records, appended_us: 0 },
        };
        Ok(batches.iter().map(time).collect())
    }

    /// The index that a piece would have as an object. A local copy that turns out to be damaged is fetched again.
    async fn piece_index(&self, path: &Path, first_offset: u64, place: Place) -> Result<Bytes, CacheError> {
        let mut is_retry = false;
        loop {
            let entries = self.journal_bytes(path, place, place.entries()).await?;
            match index_of(first_offset, place, &entries) {
                Ok(index) => return Ok(index),
                Err(error) if is_retry => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(object = %path, %error, "a copy is damaged; fetching its object again");
                    self.cache.remove(vec![CopyName::journal(place.source, place.tag)]).await;
                    is_retry = true;
                }
            }
        }
    }

    /// Bytes of an object that is there.
    pub(super) async fn journal_bytes(
        &self,
        path: &Path,
        place: Place,
        range: Range<u64>,
    ) -> Result<Bytes, CacheError> {
        let (name, object_bytes) = (CopyName::journal(place.source, place.tag), u64::from(place.object_bytes));
        let (fetch, wanted) = (fetch(&self.bucket, path.clone(), object_bytes, TAG_UNKNOWN), range.end - range.start);
        let bytes = self.cache.get(&name, object_bytes, range, fetch).await?;
        assert_eq!(bytes.len() as u64, wanted, "the cache returned other bytes of {place:?}");
        Ok(bytes)
    }
}

/// Builds the index that a piece would have as an object, of its entries in the journal object.
fn index_of(first_offset: u64, place: Place, entries: &[u8]) -> Result<Bytes, ObjectError> {
    let batches = Batch::read_all(entries)?;
    // The copy was intact when it was opened. Its file may have been damaged since.
    let bytes: u64 = batches.iter().map(|batch| u64::from(batch.bytes)).sum();
    let records: u64 = batches.iter().map(|batch| u64::from(batch.records)).sum();
    let is_sound = bytes == u64::from(place.bytes)
        && records <= u64::from(u32::MAX)
        && first_offset.checked_add(records).is_some()
        && batches.iter().all(|batch| batch.bytes.is_multiple_of(crate::object::OBJECT_ALIGNMENT as u32));
    if !is_sound {
        return Err(ObjectError::Header);
    }
    let stamp = Stamp { first_offset, appended_us: 0, writer_id: 0, commit: 0, confirmed_next_offset: None };
    let (header, index) = build_index(stamp, batches.iter().map(Described::from));
    assert_eq!(header.object_bytes, index.len() as u64 + bytes, "{place:?} as an object");
    Ok(index.into())
}
