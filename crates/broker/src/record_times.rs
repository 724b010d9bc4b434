//! Searches a partition by the times of its records: those of Kafka's batches by their producers' clocks, ours by the
//! time of their append.
//!
//! Times of append are in order unless a clock was wrong, those of records needn't be. The index knows the time of each
//! object's newest record, so that a search reads the entries of the one object with its result. It begins where the
//! time can first be: no record is later than its append by more than [`RECORD_AHEAD_MAX`].

use crate::index::Found;
use crate::limits::{READ_OBJECTS_PER_YIELD, RECORD_AHEAD_MAX};
use crate::partition::Partition;
use crate::piece::Entries;
use crate::read::ReadError;
use rawline_journal::BatchKind;
use std::ops::Range;

const AHEAD_MAX_US: u64 = RECORD_AHEAD_MAX.as_micros() as u64;

/// A batch, or several of one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatedBatch {
    /// The format of its bytes.
    pub kind: BatchKind,
    /// Offset of its first record.
    pub first_offset: u64,
    /// Offset after its last record.
    pub end_offset: u64,
    /// Of its newest record, in microseconds since the Unix epoch; 0 if unknown.
    pub newest_us: u64,
}

/// An object whose batches' times are known.
struct Dated {
    found: Found,
    /// `None` if all batches are of the time of its append.
    entries: Option<Entries>,
}

impl Dated {
    /// Its batches, or all as one if they are of one time.
    fn batches(&self) -> impl Iterator<Item = DatedBatch> {
        let Range { start: first_offset, end: end_offset } = self.found.offsets();
        let appended_us = self.found.piece.appended_us;
        let all = DatedBatch { kind: BatchKind::Rawline, first_offset, end_offset, newest_us: appended_us };
        let each = self.entries.iter().flat_map(Entries::batches).map(move |batch| DatedBatch {
            kind: batch.kind(),
            first_offset: batch.first_offset,
            end_offset: batch.next_offset(),
            newest_us: batch.newest_us(appended_us),
        });
        self.entries.is_none().then_some(all).into_iter().chain(each)
    }

    /// The first of the batches with the newest record, of those with a record from `from` on.
    fn newest(&self, from: u64) -> Option<DatedBatch> {
        let batches = self.batches().filter(|batch| batch.end_offset > from);
        batches.reduce(|newest, batch| if batch.newest_us > newest.newest_us { batch } else { newest })
    }
}

impl Partition {
    /// The first batch with a record at `offset` or later whose newest record is of `time_us` or later, in microseconds
    /// since the Unix epoch.
    pub async fn batch_since(&self, time_us: u64, offset: u64) -> Result<Option<DatedBatch>, ReadError> {
        if self.topic.stored.life.is_deleted() {
            return Err(self.deleted());
        }
        let numbers = self.index().numbers();
        let mut offset = self.first_since(time_us.saturating_sub(AHEAD_MAX_US), numbers).await.max(offset);
        let mut visited = 0;
        loop {
            let (seen, end) = {
                let index = self.index();
                (index.newer_from(offset, time_us), index.next_offset())
            };
            match seen {
                Ok(found) => {
                    let Some(dated) = self.dated(offset.max(found.piece.first_offset)).await? else { continue };
                    let is_wanted = |batch: &DatedBatch| batch.end_offset > offset && batch.newest_us >= time_us;
                    if let Some(batch) = dated.batches().find(is_wanted) {
                        return Ok(Some(batch));
                    }
                    offset = dated.found.next_offset;
                }
                Err(next_offset) if next_offset >= end => return Ok(None),
                Err(next_offset) => offset = next_offset,
            }
            visited += 1;
            yield_after(visited).await;
        }
    }

    /// The first of the batches that have the newest record, of those with a record at `from` or later; `None` if there
    /// is no record. Of records of the same time, the first counts.
    pub async fn newest_batch(&self, from: u64) -> Result<Option<DatedBatch>, ReadError> {
        let end = self.index().next_offset();
        if self.topic.stored.life.is_deleted() {
            return Err(self.deleted());
        }
        let mut newest: Option<(u64, u64)> = None;
        let mut before = end;
        let mut visited = 0;
        while before > from {
            let newest_us = newest.map_or(0, |(newest_us, _)| newest_us);
            let seen = {
                let index = self.index();
                // Where times go back, all objects have to be looked at.
                let appended_us = if index.times_go_back() { 0 } else { newest_us.saturating_sub(AHEAD_MAX_US) };
                index.newer_before(before, newest_us, appended_us)
            };
            let found = match seen {
                Ok(found) => found,
                Err(next) => {
                    before = next;
                    continue;
                }
            };
            let first_offset = found.piece.first_offset.max(from);
            // The newest record of an object that begins before may be one of those before.
            let found_us = if first_offset == found.piece.first_offset {
                Some(found.piece.newest_us)
            } else {
                let dated = self.dated(first_offset).await?;
                dated.and_then(|dated| dated.newest(from)).map(|batch| batch.newest_us)
            };
            if let Some(found_us) =
                found_us.filter(|found_us| newest.is_none_or(|(newest_us, _)| *found_us >= newest_us))
            {
                newest = Some((found_us, first_offset));
            }
            before = found.piece.first_offset;
            visited += 1;
            yield_after(visited).await;
        }
        let Some((_, offset)) = newest else { return Ok(None) };
        Ok(self.dated(offset).await?.and_then(|dated| dated.newest(from)))
    }

    /// The object of a journal that holds this offset; `None` if it is deleted.
    async fn dated(&self, offset: u64) -> Result<Option<Dated>, ReadError> {
        let mut has_caught_up = false;
        loop {
            let Some(found) = self.index().find(offset) else { return Ok(None) };
            if found.has_one_time() {
                return Ok(Some(Dated { found, entries: None }));
            }
            return match self.entries(&found).await {
                // Another broker has deleted the object, because its records are elsewhere, or deleted.
                Err(ReadError::Store(error)) if error.is_gone && !has_caught_up => {
                    has_caught_up = true;
                    self.catch_up().await?;
                    continue;
                }
                Err(ReadError::Store(error)) => Err(ReadError::lost(&found, error)),
                entries => Ok(Some(Dated { found, entries: Some(entries?) })),
            };
        }
    }
}

/// A search looks at many objects.
async fn yield_after(visited: usize) {
    if visited.is_multiple_of(READ_OBJECTS_PER_YIELD) {
        tokio::task::yield_now().await;
    }
}
