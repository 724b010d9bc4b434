//! Reads pieces of journal objects and of merged ones, by way of local copies of whole objects.

use super::fetch;
use super::journal::S3Journal;
use crate::store::BatchTime;
use crate::store::cache::CacheError;
use crate::store::piece::{self, Part, index_of, part_of};
use crate::store_error::StoreError;
use bytes::Bytes;
use object_store::path::Path;
use rawline_journal::Place;
use std::ops::Range;

impl S3Journal {
    /// Bytes of a piece as of an object: all of `range` is in its index, or all of it in its batches.
    pub(super) async fn read_piece(
        &self,
        first_offset: u64,
        place: Place,
        range: Range<u64>,
    ) -> Result<Bytes, StoreError> {
        let path = self.object_path(place.source)?;
        let read = match part_of(&place, &range) {
            Part::Batches(range) => self.journal_bytes(&path, place, range).await,
            Part::Index(range) => {
                let index = self.piece_index(&path, first_offset, place).await;
                index.map(|index| index.slice(range))
            }
        };
        read.map_err(|error| self.bucket.unreadable(&path, error))
    }

    /// The times of the batches of a piece. Fetches no object for them: a search looks at many.
    pub(super) async fn batch_times(&self, place: Place) -> Result<Vec<BatchTime>, StoreError> {
        let path = self.object_path(place.source)?;
        let has_copy = self.cache.has(&self.copy_of(place));
        let fetched = if has_copy { Ok(None) } else { self.entries(&path, place).await };
        let times = match fetched {
            Ok(Some(entries)) => Ok(entries),
            // Without the object, this says so.
            Ok(None) => self.journal_bytes(&path, place, place.entries()).await,
            Err(error) => Err(error),
        };
        let times = times.and_then(|entries| Ok(piece::batch_times(&entries)?));
        times.map_err(|error| self.bucket.unreadable(&path, error))
    }

    /// The entries of a piece, from the bucket; `None` if the object isn't there or is too short.
    async fn entries(&self, path: &Path, place: Place) -> Result<Option<Bytes>, CacheError> {
        let range = place.entries();
        let found = self.get(path, Some(range.clone())).await?.found;
        Ok(found.filter(|bytes| bytes.len() as u64 == range.end - range.start))
    }

    /// The index that a piece would have as an object. A local copy that turns out to be damaged is fetched again.
    async fn piece_index(&self, path: &Path, first_offset: u64, place: Place) -> Result<Bytes, CacheError> {
        let mut is_retry = false;
        loop {
            let entries = self.journal_bytes(path, place, place.entries()).await?;
            match index_of(first_offset, &place, &entries) {
                Ok(index) => return Ok(index),
                Err(error) if is_retry => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(object = %path, %error, "a copy is damaged; fetching its object again");
                    self.cache.remove(vec![self.copy_of(place)]).await;
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
        let (name, object_bytes) = (self.copy_of(place), u64::from(place.object_bytes));
        let (fetch, wanted) = (fetch(&self.bucket, path.clone(), object_bytes), range.end - range.start);
        let bytes = self.cache.get(&name, object_bytes, range, fetch).await?;
        assert_eq!(bytes.len() as u64, wanted, "the cache returned other bytes of {place:?}");
        Ok(bytes)
    }
}
