//! Compacts partitions by key: removes records to which a newer one with the same key exists, and tombstones after a
//! while. Offsets stay.
//!
//! As in Kafka, a pass notes the newest offset of each key in the part that is not compacted yet, as far as there is
//! memory for its keys, and then rewrites everything up to there. The result replaces its sources by a
//! merge, so no reader sees half of it. The pieces are rewritten in order: whatever a tombstone deletes is gone before
//! the tombstone is marked with the time from which on it may be removed too. The newest piece stays as it is, and
//! with it the partition's last record.

use super::keys::Keys;
use super::rewrite::{Group, Removal, RewriteError, note_keys, rewrite};
use super::{Failed, Merger};
use crate::aborted::AbortedRecords;
use crate::journal::copy::{CopyError, Made, Wanted, lay_out, read_source};
use crate::limits::{COMPACT_HELD_BYTES, OBJECT_BATCHES_MAX};
use crate::settings::Compaction;
use crate::store_error::StoreError;
use crate::tasks::spawn_blocking;
use rawline_journal::{Id, Joining, MergeLimits, PartitionId, Source};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// How far a partition is compacted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compacted {
    /// Every key has one record below this offset. A restart forgets it, and the next pass begins at the front.
    to: u64,
    /// A pass has got to here, or has failed on the way. The next one waits for more.
    tried_to: u64,
}

/// Why a pass did not get to its end.
#[derive(Debug, Error)]
enum CompactError {
    /// The journal's task has ended.
    #[error("the journal has ended")]
    Closed,
    /// Its pieces have changed meanwhile, or another broker merges.
    #[error("something else has changed the partition; trying later")]
    Interrupted,
    #[error("{object:?} can't be read: {error}")]
    Unreadable { object: Source, error: StoreError },
    #[error(transparent)]
    Store(StoreError),
    #[error(transparent)]
    Records(#[from] RewriteError),
}

impl From<Failed> for CompactError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Closed => CompactError::Closed,
            Failed::Abandoned => CompactError::Interrupted,
        }
    }
}

impl From<CopyError> for CompactError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Unreadable { source: object, error } => CompactError::Unreadable { object, error },
            CopyError::Failed(error) => CompactError::Store(error),
        }
    }
}

impl Merger {
    /// Compacts the partitions of which enough is not compacted.
    pub(super) async fn compact(&mut self) -> Result<(), Failed> {
        let topics = self.catalog().tidied_topics();
        for topic in &topics {
            let settings = topic.settings();
            let Some(compaction) = settings.compaction() else { continue };
            for number in 0..topic.partitions() {
                let partition = PartitionId { topic: topic.id, number };
                let pieces = self.pieces_to_compact(partition);
                let Some(&(_, _, end_offset)) = pieces.last() else { continue };
                match self.compact_partition(partition, &pieces, compaction).await {
                    Ok(()) => {}
                    Err(CompactError::Closed) => return Err(Failed::Closed),
                    Err(error @ CompactError::Interrupted) => tracing::debug!(?partition, %error, "not compacted"),
                    Err(error) => {
                        let (topic, partition) = (&*topic.name, number);
                        tracing::warn!(topic, partition, %error, "a partition can't be compacted now; trying later");
                    }
                }
                self.compacted.entry(partition).or_default().tried_to = end_offset;
            }
        }
        let mut compacted = std::mem::take(&mut self.compacted);
        let catalog = self.catalog();
        compacted.retain(|partition, _| catalog.find(*partition).is_some());
        drop(catalog);
        self.compacted = compacted;
        Ok(())
    }

    /// The pieces of a partition without the newest, if enough of them is not compacted. None with records of an open
    /// transaction, or after them.
    fn pieces_to_compact(&self, partition: PartitionId) -> Vec<Wanted> {
        let mut pieces = self.pieces_of(partition);
        pieces.pop();
        let stable_offset = self.catalog().find(partition).map_or(0, |extent| extent.index().stable_offset());
        pieces.retain(|(_, _, next_offset)| *next_offset <= stable_offset);
        let tried_to = self.compacted.get(&partition).map_or(0, |compacted| compacted.tried_to);
        let bytes = |pieces: &[Wanted]| pieces.iter().map(|(_, piece, _)| u64::from(piece.place.bytes)).sum::<u64>();
        let dirty = pieces.partition_point(|(_, _, next_offset)| *next_offset <= tried_to);
        let (all_bytes, dirty_bytes) = (bytes(&pieces), bytes(pieces.split_at(dirty).1));
        let is_due = dirty_bytes >= self.config.compact.dirty_bytes_min && dirty_bytes * 2 >= all_bytes;
        let is_readable = pieces.iter().all(|(_, piece, _)| !self.unreadable.contains(&piece.place.source));
        if is_due && is_readable { pieces } else { Vec::new() }
    }

    fn pieces_of(&self, partition: PartitionId) -> Vec<Wanted> {
        let Some(extent) = self.catalog().find(partition) else { return Vec::new() };
        let index = extent.index();
        index.pieces_from(0).map(|(piece, next_offset)| (partition, piece, next_offset)).collect()
    }

    /// Compacts these pieces, in as many passes as it takes.
    async fn compact_partition(
        &mut self,
        partition: PartitionId,
        pieces: &[Wanted],
        compaction: Compaction,
    ) -> Result<(), CompactError> {
        let Some(&(_, _, end_offset)) = pieces.last() else { return Ok(()) };
        let mut pieces = pieces.to_vec();
        let aborted = self.aborted(partition, end_offset);
        loop {
            let groups = groups(&pieces, &self.config.limits);
            let from = self.compacted.get(&partition).map_or(0, |compacted| compacted.to);
            let (keys, noted_to) = self.note_keys(&groups, from, &aborted).await?;
            if noted_to <= from {
                return Err(CompactError::Interrupted);
            }
            let removal = self.removal(keys, noted_to, compaction.tombstone_age, aborted.clone());
            self.remove(partition, groups, removal).await?;
            self.compacted.entry(partition).or_default().to = noted_to;
            tracing::debug!(?partition, from, to = noted_to, "compacted a partition");
            if noted_to >= end_offset {
                return Ok(());
            }
            pieces = self.pieces_of(partition);
            pieces.retain(|(_, _, next_offset)| *next_offset <= end_offset);
        }
    }

    /// The aborted transactions below an offset, all of which have ended.
    fn aborted(&self, partition: PartitionId, end_offset: u64) -> Arc<AbortedRecords> {
        let Some(extent) = self.catalog().find(partition) else { return Arc::default() };
        let index = extent.index();
        let aborted = index.transactions().into_iter().flat_map(|found| found.aborted_among(0..end_offset));
        Arc::new(AbortedRecords::new(aborted))
    }

    fn removal(&self, keys: Keys, end_offset: u64, tombstone_age: Duration, aborted: Arc<AbortedRecords>) -> Removal {
        let now_ms = (self.clock.now_us() / 1000) as i64;
        let age_ms = i64::try_from(tombstone_age.as_millis()).unwrap_or(i64::MAX);
        Removal { keys, end_offset, now_ms, horizon_ms: now_ms.saturating_add(age_ms), aborted }
    }

    /// The newest records of the keys from an offset on, and the offset up to which there was memory for keys.
    async fn note_keys(
        &mut self,
        groups: &[Vec<Wanted>],
        from: u64,
        aborted: &Arc<AbortedRecords>,
    ) -> Result<(Keys, u64), CompactError> {
        let (mut keys, mut noted_to) = (Keys::new(self.config.compact.keys_max), from);
        for group in groups {
            let Some(&(_, _, next_offset)) = group.last().filter(|(_, _, next_offset)| *next_offset > from) else {
                continue;
            };
            let read = self.read_group(group).await?;
            let aborted = aborted.clone();
            let noted = blocking(move || note_keys(&read, from, &aborted, &mut keys).map(|noted_to| (keys, noted_to)));
            (keys, noted_to) = noted.await??;
            if noted_to < next_offset {
                break;
            }
        }
        Ok((keys, noted_to))
    }

    /// Rewrites the groups below the end of the compacted part.
    async fn remove(
        &mut self,
        partition: PartitionId,
        groups: Vec<Vec<Wanted>>,
        mut removal: Removal,
    ) -> Result<(), CompactError> {
        let (mut sources, mut made, mut bytes, mut batches) = (Vec::new(), Vec::new(), 0, 0);
        for group in groups {
            if group.first().is_none_or(|(_, first, _)| first.first_offset >= removal.end_offset) {
                break;
            }
            let read = self.read_group(&group).await?;
            let rewritten = blocking(move || rewrite(&read, &removal).map(|rewritten| (removal, rewritten)));
            let rewritten = rewritten.await??;
            removal = rewritten.0;
            let Some(rewritten) = rewritten.1 else { continue };
            if batches + rewritten.batches.len() > OBJECT_BATCHES_MAX {
                self.replace(partition, &std::mem::take(&mut sources), std::mem::take(&mut made)).await?;
                (bytes, batches) = (0, 0);
            }
            bytes += rewritten.parts.iter().map(|part| part.len() as u64).sum::<u64>();
            batches += rewritten.batches.len();
            sources.extend(group);
            made.push(rewritten);
            if bytes >= COMPACT_HELD_BYTES {
                self.replace(partition, &std::mem::take(&mut sources), std::mem::take(&mut made)).await?;
                (bytes, batches) = (0, 0);
            }
        }
        if made.is_empty() { Ok(()) } else { self.replace(partition, &sources, made).await }
    }

    /// Replaces the sources by the result, in one merge.
    async fn replace(
        &mut self,
        partition: PartitionId,
        sources: &[Wanted],
        made: Vec<Made>,
    ) -> Result<(), CompactError> {
        let Some(merge) = self.begin().await? else { return Err(CompactError::Interrupted) };
        // Nothing but the open merge replaces pieces from here on.
        let pieces = self.pieces_of(partition);
        let is_same = sources.iter().all(|source| pieces.binary_search(source).is_ok());
        let stored = if is_same {
            let id = Id { run: self.run, commit: merge };
            self.store_copied(merge, id, lay_out(merge, id, made)).await.map(Some)
        } else {
            Ok(None)
        };
        if self.end(merge, stored).await? { Ok(()) } else { Err(CompactError::Interrupted) }
    }

    /// Reads adjacent pieces, one object after the other.
    async fn read_group(&mut self, group: &[Wanted]) -> Result<Group, CompactError> {
        let mut all = Vec::with_capacity(group.len());
        for of_source in group.chunk_by(|(_, one, _), (_, next, _)| one.place.source == next.place.source) {
            let read = read_source(&*self.store, of_source).await.inspect_err(|error| {
                if let CopyError::Unreadable { source, .. } = error {
                    self.unreadable.insert(*source);
                }
            })?;
            all.extend(of_source.iter().copied().zip(read));
        }
        Ok(all)
    }
}

/// Pieces, in order, as lists of those that become one: as merges join them. They are held in memory together.
fn groups(pieces: &[Wanted], limits: &MergeLimits) -> Vec<Vec<Wanted>> {
    let mut all: Vec<Vec<Wanted>> = Vec::new();
    let mut joining = Joining::new(limits);
    pieces.iter().for_each(|(partition, piece, next_offset)| joining.add(*partition, piece, *next_offset));
    for joined in joining.all() {
        let ends = joined.pieces.iter().skip(1).map(|next| next.first_offset).chain([joined.next_offset]);
        let mut group = Vec::with_capacity(joined.pieces.len());
        let mut batches = 0;
        for (piece, next_offset) in joined.pieces.iter().zip(ends) {
            let count = piece.place.batches.count() as usize;
            if batches + count > OBJECT_BATCHES_MAX {
                all.push(std::mem::take(&mut group));
                batches = 0;
            }
            batches += count;
            group.push((joined.partition, *piece, next_offset));
        }
        all.push(group);
    }
    all
}

/// Runs work that takes long on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, CompactError> {
    let aborted = |error| CompactError::Store(StoreError::wait(format!("a compaction was aborted ({error}); retry")));
    spawn_blocking(work).await.map_err(aborted)
}
