//! Which partitions have readers: large objects of others are not copied into the cache when they are stored.
//!
//! A copy of what is stored costs more CPU time than the rest of an append, and its bytes are written to the cache's
//! disk. It is of use to readers that follow, to merges, which copy small objects, and to a reader of small pieces, of
//! which each is a GET. Large pieces without readers on this broker, such as those of an archive, would only evict what
//! others read.

use crate::limits::{COPIED_PIECE_BYTES, READERS_KNOWN_FOR, READERS_KNOWN_MAX};
use lru::LruCache;
use rawline_journal::{Header, Index, MergeLimits, PartitionId, Piece, Uses};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// The partitions of a journal that were read here, and when, those read last first.
pub(super) struct Readers(Mutex<LruCache<PartitionId, Instant>>);

impl Readers {
    pub(super) fn new() -> Readers {
        Readers(Mutex::new(LruCache::unbounded()))
    }

    /// Notes that a partition has a reader, which may wait for its next record.
    pub(super) fn note(&self, partition: PartitionId) {
        let mut readers = self.lock();
        readers.put(partition, Instant::now());
        if readers.len() > READERS_KNOWN_MAX {
            readers.pop_lru();
        }
    }

    /// Whether an object that was just stored is worth a copy: a merge or a reader may soon need it.
    pub(super) fn want(&self, header: &Header, index: impl FnOnce() -> Index) -> bool {
        let limits = MergeLimits::default();
        if header.object_bytes < limits.keep_bytes {
            return true;
        }
        let (object, mut uses) = (index(), Uses::default());
        object.pieces().for_each(|(partition, piece, _)| uses.add(partition, &piece));
        let is_small = |piece: Piece| u64::from(piece.place.bytes) < COPIED_PIECE_BYTES;
        uses.have_small(&limits) || object.pieces().any(|(partition, piece, _)| is_small(piece) || self.has(partition))
    }

    fn has(&self, partition: PartitionId) -> bool {
        self.lock().peek(&partition).is_some_and(|read_at| read_at.elapsed() < READERS_KNOWN_FOR)
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<PartitionId, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_journal::{Batch, BatchKind, Id, Section, build_merged_index};
    use std::time::Duration;

    fn partition(number: u32) -> PartitionId {
        PartitionId { topic: 1, number }
    }

    /// Whether a merged object with pieces of these sizes, each of another partition, is copied.
    fn wants(readers: &Readers, sizes: &[u32]) -> bool {
        let batch = |bytes: &u32| Batch {
            kind: BatchKind::Rawline,
            records: 1,
            bytes: *bytes,
            crc32c: 0,
            continues: false,
            producer: None,
            max_timestamp_us: 1,
            transaction: None,
        };
        let batches: Vec<[Batch; 1]> = sizes.iter().map(|bytes| [batch(bytes)]).collect();
        let sections = (0..)
            .zip(&batches)
            .map(|(number, batches)| (Section { partition: partition(number), first_offset: 0 }, &batches[..]));
        let index = build_merged_index(1, Id { run: 1, commit: 1 }, 1, &sections.collect::<Vec<_>>());
        readers.want(&Header::parse(&index).unwrap(), || Index::parse(&index).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn objects_are_copied_for_merges_for_readers_and_for_their_small_pieces() {
        const MIB: u32 = 1 << 20;
        let readers = Readers::new();
        assert!(wants(&readers, &[MIB]) && wants(&readers, &[20 * MIB, 20 * MIB]), "they are merged");
        assert!(!wants(&readers, &[8 * MIB]) && !wants(&readers, &[30 * MIB, 30 * MIB, MIB]));
        assert!(wants(&readers, &[30 * MIB, 30 * MIB, MIB - 8]));
        readers.note(partition(2));
        assert!(wants(&readers, &[30 * MIB, 30 * MIB, MIB]) && !wants(&readers, &[30 * MIB, 30 * MIB]));
    }

    #[tokio::test(start_paused = true)]
    async fn readers_are_forgotten_after_a_time_and_when_there_are_too_many() {
        let readers = Readers::new();
        readers.note(partition(0));
        tokio::time::advance(READERS_KNOWN_FOR - Duration::from_secs(1)).await;
        readers.note(partition(1));
        assert!(readers.has(partition(0)) && readers.has(partition(1)) && !readers.has(partition(2)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!readers.has(partition(0)) && readers.has(partition(1)));
        (2..READERS_KNOWN_MAX as u32 + 1).for_each(|number| readers.note(partition(number)));
        assert!(readers.has(partition(1)));
        readers.note(partition(0));
        assert!(!readers.has(partition(1)) && readers.has(partition(0)));
        assert_eq!(readers.lock().len(), READERS_KNOWN_MAX);
    }
}
