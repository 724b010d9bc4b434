//! The pieces of all partitions at one moment, for a snapshot that another thread builds while the journal continues.
//!
//! They are where readers find them. A piece that was added since is known by its offset. Pieces that are about to be
//! removed, by a trim or a merge, are kept for the walk first, unless it has passed their partition.

use crate::index::TopicIndex;
use crate::journal::catalog::JournalTopic;
use crate::limits::PIECES_PER_VISIT;
use rawline_journal::{PartitionId, Piece, SharedMap};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A walk over the pieces, in order of partition.
pub(super) struct Walk {
    topics: SharedMap<u64, Arc<JournalTopic>>,
    progress: Mutex<Progress>,
}

struct Progress {
    /// Partitions before this one are done.
    next: PartitionId,
    /// The pieces of partitions from there on as they were before something was removed, each with the offset after its
    /// last record.
    kept: BTreeMap<PartitionId, Vec<(Piece, u64)>>,
    /// A newer snapshot has replaced all pieces.
    is_void: bool,
}

impl Walk {
    /// Begins with the first partition of these topics, which are all that exist now.
    pub fn new(topics: SharedMap<u64, Arc<JournalTopic>>) -> Walk {
        let next = PartitionId { topic: 0, number: 0 };
        Walk { topics, progress: Mutex::new(Progress { next, kept: BTreeMap::new(), is_void: false }) }
    }

    /// Keeps the pieces of a topic's partition, of which some are about to be removed.
    pub fn keep(&self, topic: &JournalTopic, number: u32) {
        let id = PartitionId { topic: topic.id, number };
        let all = || topic.with_index(number, |index| index.pieces_from(0).collect());
        // As in a visit, the index's lock is taken with that of the walk. In the other order each could wait for the
        // other, since an index that a third thread waits to change has no new readers.
        let mut progress = self.progress();
        if id >= progress.next && !progress.is_void {
            progress.kept.entry(id).or_insert_with(all);
        }
    }

    /// A newer snapshot replaces all pieces.
    pub fn end(&self) {
        let mut progress = self.progress();
        progress.is_void = true;
        progress.kept.clear();
    }

    /// Whether the pieces are no longer known.
    pub fn is_void(&self) -> bool {
        self.progress().is_void
    }

    /// The pieces that the next partition had, which ended at an offset. Appends to it wait for a part of them at most.
    pub fn visit(&self, id: PartitionId, end: u64, found: &mut Vec<Piece>) {
        let Some(topic) = self.topics.get(&id.topic) else {
            unreachable!("the rules know {id:?}, the catalog doesn't")
        };
        found.clear();
        let (mut offset, mut is_done) = (0, false);
        while !is_done {
            let mut progress = self.progress();
            assert!(id >= progress.next, "{id:?} after {:?}", progress.next);
            progress.next = id;
            let before = found.len();
            let add = |(piece, next_offset): (Piece, u64)| {
                assert!(next_offset <= end, "{piece:?} of {id:?} has records before and after {end}");
                found.push(piece);
                next_offset
            };
            let is_old = |(piece, _): &(Piece, u64)| piece.first_offset < end;
            let newest = if let Some(kept) = progress.kept.remove(&id) {
                is_done = true;
                kept.into_iter().skip(before).take_while(is_old).map(add).last()
            } else if progress.is_void {
                is_done = true;
                None
            } else {
                let some = |index: &TopicIndex| {
                    index.pieces_from(offset).take(PIECES_PER_VISIT).take_while(is_old).map(add).last()
                };
                topic.with_index(id.number, some)
            };
            offset = newest.unwrap_or(offset);
            is_done |= found.len() < before + PIECES_PER_VISIT;
            if is_done {
                progress.next = PartitionId { number: id.number + 1, ..id };
            }
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
