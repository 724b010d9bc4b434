//! What the valid objects of a journal add up to: where each partition ends and what its producers appended.
//!
//! A writer counts its own objects in before they are confirmed, so that the next append gets the offset after them,
//! and takes them out again, newest first, when another writer was faster.

use crate::chain::{Chain, Link};
use crate::producers::{History, Producer, Producers, Verdict};
use crate::rules::Rules;
use std::collections::BTreeMap;
use thiserror::Error;

/// A partition of a topic. A topic's id is never used again, unlike its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    /// The topic's id.
    pub topic: u64,
    /// The partition's number in the topic, from 0.
    pub number: u32,
}

/// One append as an object's index describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// Where it belongs.
    pub partition: PartitionId,
    /// Offset of its first record.
    pub first_offset: u64,
    /// Number of records, at least 1.
    pub records: u32,
    /// Who appended it, if the producer asked for exactly-once appends.
    pub producer: Option<Producer>,
}

impl Entry {
    /// Offset after its last record.
    pub fn next_offset(&self) -> u64 {
        self.first_offset + u64::from(self.records)
    }
}

/// A valid object doesn't follow from those before it: it is damaged, or a writer is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error(
    "journal object {number} has records of partition {partition:?} at offset {found}, where {expected} comes next; \
     restore the object from a copy"
)]
pub struct Contradiction {
    /// The object's number.
    pub number: u64,
    /// The partition.
    pub partition: PartitionId,
    /// The partition's next offset.
    pub expected: u64,
    /// The entry's first offset.
    pub found: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Partition {
    next_offset: u64,
    producers: Producers,
}

/// The state after an object of the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct State {
    chain: Chain,
    partitions: BTreeMap<PartitionId, Partition>,
}

/// What one entry changed, to take it back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Undo {
    partition: PartitionId,
    next_offset: u64,
    producer: Option<(u64, Option<History>)>,
}

impl State {
    /// The chain up to here.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The offset that a partition's next record gets.
    pub fn next_offset(&self, partition: PartitionId) -> u64 {
        self.partitions.get(&partition).map_or(0, |partition| partition.next_offset)
    }

    /// Takes the next object of the chain into account. Returns whether it is valid; a void one changes nothing.
    pub fn observe(&mut self, link: Link, entries: &[Entry]) -> Result<bool, Contradiction> {
        self.observe_by(link, entries, Rules::default())
    }

    pub(crate) fn observe_by(&mut self, link: Link, entries: &[Entry], rules: Rules) -> Result<bool, Contradiction> {
        let is_valid = self.chain.observe(link, rules);
        if is_valid {
            for entry in entries {
                let expected = self.next_offset(entry.partition);
                if entry.first_offset != expected {
                    let (number, partition, found) = (link.number, entry.partition, entry.first_offset);
                    return Err(Contradiction { number, partition, expected, found });
                }
                self.add(entry);
            }
        }
        Ok(is_valid)
    }

    /// Takes an object whose entries are counted in already into the chain.
    pub(crate) fn confirm(&mut self, link: Link, rules: Rules) {
        assert!(self.chain.observe(link, rules), "{link:?} was confirmed, which does not follow {:?}", self.chain);
    }

    /// What to do with an append.
    pub(crate) fn judge(&self, partition: PartitionId, records: u32, producer: Option<Producer>) -> Verdict {
        match (producer, self.partitions.get(&partition)) {
            (None, _) => Verdict::New,
            (Some(_), None) => Verdict::Unknown,
            (Some(producer), Some(found)) => found.producers.judge(producer, records),
        }
    }

    /// Counts an append in at the end of its partition.
    pub(crate) fn add(&mut self, entry: &Entry) -> Undo {
        let partition = self.partitions.entry(entry.partition).or_default();
        assert_eq!(entry.first_offset, partition.next_offset, "{entry:?} is not at the end of its partition");
        assert!(entry.records > 0, "{entry:?} has no records");
        let next_offset = std::mem::replace(&mut partition.next_offset, entry.next_offset());
        let note =
            |producer: Producer| (producer.id, partition.producers.note(producer, entry.records, entry.first_offset));
        Undo { partition: entry.partition, next_offset, producer: entry.producer.map(note) }
    }

    /// Takes an append out again. Entries are taken out in the opposite order.
    pub(crate) fn undo(&mut self, undo: Undo) {
        let Some(partition) = self.partitions.get_mut(&undo.partition) else {
            unreachable!("{:?} was counted in and is not there", undo.partition)
        };
        assert!(undo.next_offset < partition.next_offset, "{undo:?} at the end {}", partition.next_offset);
        partition.next_offset = undo.next_offset;
        if let Some((id, before)) = undo.producer {
            partition.producers.restore(id, before);
        }
        if partition.next_offset == 0 {
            self.partitions.remove(&undo.partition);
        }
    }
}
