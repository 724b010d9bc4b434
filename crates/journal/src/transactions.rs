//! Transactions of named producers: which are open and where they write, and which records were aborted.
//!
//! A transaction begins with a producer's first transactional append, or the first offset that it commits in one. One
//! object ends it everywhere: a control record, and a marker in each partition that it wrote to. So a part of
//! it is never visible, and there is no state between open and ended.

use crate::partition_id::PartitionId;
use crate::shared_map::SharedMap;
use std::ops::Range;

/// The role of a batch in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionPart {
    /// Its records belong to one.
    Records,
    /// It marks the end of one that was committed.
    Commit,
    /// It marks the end of one that was aborted.
    Abort,
}

impl TransactionPart {
    /// Whether it is a marker.
    pub fn is_marker(self) -> bool {
        self != TransactionPart::Records
    }
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionEnd {
    /// Its producer commits it.
    Commit = 1,
    /// Its producer aborts it.
    Abort = 2,
    /// It took too long, and is aborted: its producer is fenced.
    Expire = 3,
}

impl TransactionEnd {
    /// Whether its records count.
    pub fn is_committed(self) -> bool {
        self == TransactionEnd::Commit
    }

    /// The markers that it leaves.
    pub(crate) fn marker(self) -> TransactionPart {
        if self.is_committed() { TransactionPart::Commit } else { TransactionPart::Abort }
    }
}

/// A producer's records of an aborted transaction in one partition: those of its transactional batches between two
/// offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aborted {
    /// The producer's id.
    pub producer: u64,
    /// Offset of the first record.
    pub first_offset: u64,
    /// Offset of the marker.
    pub last_offset: u64,
    /// The first offset of a transaction that was open after it: later aborted ones begin there or after it.
    pub stable_offset: u64,
}

/// The transactions of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PartitionTransactions {
    /// The first offset of each open one, with its producer's id.
    pub(crate) open: SharedMap<u64, u64>,
    /// By the offsets of their markers.
    pub(crate) aborted: SharedMap<u64, Aborted>,
    /// All transactional batches and markers are among these offsets.
    pub(crate) offsets: Range<u64>,
}

/// The changes of a transaction's batch, to undo them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NotedBefore {
    /// The open transaction that began or ended.
    open: Option<(u64, u64)>,
    is_aborted: bool,
    offsets: Range<u64>,
}

/// The changes of a trim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct TrimmedBefore {
    aborted: Vec<Aborted>,
    offsets: Range<u64>,
}

impl PartitionTransactions {
    /// Notes a batch of a transaction: its records, or a marker.
    pub fn note(&mut self, part: TransactionPart, producer: u64, offsets: Range<u64>) {
        self.note_to_undo(part, producer, offsets);
    }

    pub(crate) fn note_to_undo(&mut self, part: TransactionPart, producer: u64, offsets: Range<u64>) -> NotedBefore {
        let before = self.offsets.clone();
        let from = if self.offsets.is_empty() { offsets.start } else { self.offsets.start };
        self.offsets = from..offsets.end;
        let known = self.open.iter().find(|(_, open)| **open == producer).map(|(first, _)| *first);
        let is_begin = part == TransactionPart::Records && known.is_none();
        if is_begin {
            self.open.insert(offsets.start, producer);
            return NotedBefore { open: Some((offsets.start, producer)), is_aborted: false, offsets: before };
        }
        let ended = known.filter(|_| part.is_marker());
        if let Some(first_offset) = ended {
            self.open.remove(&first_offset);
        }
        let is_aborted = part == TransactionPart::Abort && ended.is_some();
        if let Some(first_offset) = ended.filter(|_| is_aborted) {
            let stable_offset = self.stable_offset(0..offsets.end);
            let last_offset = offsets.start;
            self.aborted.insert(last_offset, Aborted { producer, first_offset, last_offset, stable_offset });
        }
        NotedBefore { open: ended.map(|first| (first, producer)), is_aborted, offsets: before }
    }

    /// Takes a batch's changes back. `part` is the batch's.
    pub(crate) fn take_back(&mut self, part: TransactionPart, before: NotedBefore) {
        match (before.open, part.is_marker()) {
            (Some((first, producer)), true) => drop(self.open.insert(first, producer)),
            (Some((first, _)), false) => drop(self.open.remove(&first)),
            (None, _) => {}
        }
        let newest = self.aborted.last_key_value().map(|(last_offset, _)| *last_offset).filter(|_| before.is_aborted);
        newest.map(|last_offset| self.aborted.remove(&last_offset));
        self.offsets = before.offsets;
    }

    /// Number of open and aborted ones.
    pub(crate) fn count(&self) -> usize {
        self.open.len() + self.aborted.len()
    }

    /// Whether nothing is known of any.
    pub fn is_empty(&self) -> bool {
        self.count() == 0 && self.offsets.is_empty()
    }

    /// Whether one is open.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The last stable offset of a partition with these records: all transactions before it have ended.
    pub fn stable_offset(&self, offsets: Range<u64>) -> u64 {
        self.open.first_key_value().map_or(offsets.end, |(first, _)| (*first).max(offsets.start))
    }

    /// Whether there may be transactional batches or markers among these offsets.
    pub fn may_concern(&self, offsets: &Range<u64>) -> bool {
        !self.offsets.is_empty() && self.offsets.start < offsets.end && offsets.start < self.offsets.end
    }

    /// The aborted ones with records among these offsets, in order of their markers.
    pub fn aborted_among(&self, offsets: Range<u64>) -> impl Iterator<Item = &Aborted> {
        let mut stable_offset = 0;
        let following =
            self.aborted.range_from(&offsets.start).map(|(_, aborted)| aborted).take_while(move |aborted| {
                // Those after one begin at its stable offset or later.
                let before = std::mem::replace(&mut stable_offset, aborted.stable_offset);
                before < offsets.end
            });
        following.filter(move |aborted| aborted.first_offset < offsets.end)
    }

    /// Forgets aborted ranges whose records are all below an offset.
    pub fn trim(&mut self, first_offset: u64) {
        self.trim_to_undo(first_offset);
    }

    pub(crate) fn trim_to_undo(&mut self, first_offset: u64) -> TrimmedBefore {
        let gone = self.aborted.values().take_while(|aborted| aborted.last_offset < first_offset);
        let before = TrimmedBefore { aborted: gone.copied().collect(), offsets: self.offsets.clone() };
        before.aborted.iter().for_each(|Aborted { last_offset, .. }| _ = self.aborted.remove(last_offset));
        if self.offsets.end <= first_offset {
            self.offsets = 0..0;
        }
        before
    }

    pub(crate) fn untrim(&mut self, before: TrimmedBefore) {
        self.aborted.extend(before.aborted.into_iter().map(|aborted| (aborted.last_offset, aborted)));
        self.offsets = before.offsets;
    }
}

/// An open transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Open {
    /// The journal's age when it began.
    pub began_us: u64,
    /// The partitions that it writes to.
    pub partitions: SharedMap<PartitionId, ()>,
}

/// The open transactions of all partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Transactions {
    /// By the producer's id.
    pub open: SharedMap<u64, Open>,
    /// Number of those that partitions have noted, open or aborted.
    pub noted: usize,
}

/// The changes of joining a transaction, to undo them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct JoinedBefore {
    has_begun: bool,
    has_joined: bool,
}

impl Transactions {
    /// A producer's transaction writes to a partition, or nowhere yet. It begins unless it is open.
    pub fn join(&mut self, producer: u64, partition: Option<PartitionId>, now_us: u64) -> JoinedBefore {
        let has_begun = !self.open.contains_key(&producer);
        let open = self.open.or_insert_with(producer, || Open { began_us: now_us, ..Open::default() });
        JoinedBefore {
            has_begun,
            has_joined: partition.is_some_and(|partition| open.partitions.insert(partition, ()).is_none()),
        }
    }

    /// Takes [`Transactions::join`] back.
    pub fn unjoin(&mut self, producer: u64, partition: Option<PartitionId>, before: JoinedBefore) {
        if let (Some(partition), Some(open)) = (partition, self.open.get_mut(&producer))
            && before.has_joined
        {
            open.partitions.remove(&partition);
        }
        if before.has_begun {
            self.open.remove(&producer);
        }
    }

    /// Whether a producer's transaction writes to a partition.
    pub fn has_joined(&self, producer: u64, partition: PartitionId) -> bool {
        self.open.get(&producer).is_some_and(|open| open.partitions.contains_key(&partition))
    }

    /// Forgets a partition that is deleted.
    pub fn forget(&mut self, partition: PartitionId, of_partition: &PartitionTransactions) {
        for producer in of_partition.open.values() {
            if let Some(open) = self.open.get_mut(producer) {
                open.partitions.remove(&partition);
            }
        }
        self.noted -= of_partition.count();
    }

    /// Takes [`Transactions::forget`] back.
    pub fn remember(&mut self, partition: PartitionId, of_partition: &PartitionTransactions) {
        for producer in of_partition.open.values() {
            if let Some(open) = self.open.get_mut(producer) {
                open.partitions.insert(partition, ());
            }
        }
        self.noted += of_partition.count();
    }
}

#[cfg(test)]
mod tests;
