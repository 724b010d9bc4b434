//! What the valid objects of a journal add up to: its topics, where each partition begins and ends, and what its
//! producers appended.
//!
//! A writer counts its own objects in before they are confirmed, so that the next append gets the offset after them,
//! and takes them out again, newest first, when another writer was faster.

use crate::chain::{Chain, Link};
use crate::control::{Control, Refused};
use crate::merges::Merges;
use crate::names::{Names, NamesBefore};
use crate::offsets::{Offsets, OffsetsBefore};
use crate::place::MergedPiece;
use crate::producers::{Before, Producer, Producers, Rejected, Verdict};
use crate::rules::Rules;
use crate::topics::{Topic, Topics};
use std::collections::BTreeMap;
use std::sync::Arc;
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

/// What an object changes if it is valid: first its control records, then its appends, each in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Changes {
    /// When the object was built, by its writer's clock: microseconds since the Unix epoch.
    pub appended_us: u64,
    /// Changes of topics, steps of merges, new instances of producers.
    pub controls: Arc<[Control]>,
    /// Appends.
    pub entries: Arc<[Entry]>,
}

/// A valid object doesn't follow from those before it: it is damaged, or a writer is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("journal object {number} contradicts the objects before it: {what}; restore the object from a copy")]
pub struct Contradiction {
    /// The object's number.
    pub number: u64,
    /// What is wrong.
    pub what: Wrong,
}

/// What is wrong with a valid object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Wrong {
    /// Records have other offsets than those that come next.
    #[error("it has records of partition {partition:?} at offset {found}, where {expected} comes next")]
    Offset {
        /// The partition.
        partition: PartitionId,
        /// The partition's next offset.
        expected: u64,
        /// The entry's first offset.
        found: u64,
    },
    /// Records belong to no partition.
    #[error("it has records of partition {partition:?}, but {refused}")]
    Partition {
        /// The partition.
        partition: PartitionId,
        /// Why there is no such partition.
        refused: Refused,
    },
    /// A topic can't change like that.
    #[error("it changes a topic, but {0}")]
    Control(Refused),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Partition {
    pub first_offset: u64,
    pub next_offset: u64,
    pub producers: Producers,
}

/// The state after an object of the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) chain: Chain,
    pub(crate) topics: Topics,
    pub(crate) merges: Merges,
    pub(crate) names: Names,
    pub(crate) offsets: Offsets,
    /// The newest time of an object: the only time by which anything is forgotten, because all observers have it.
    pub(crate) time_us: u64,
    /// Partitions that have had a record.
    pub(crate) partitions: BTreeMap<PartitionId, Partition>,
}

/// What one control record or one entry changed, to take it back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Undo {
    Create { topic: u64 },
    Alter { topic: u64, before: Topic },
    Delete { topic: u64, before: Topic, partitions: Vec<(PartitionId, Partition)>, offsets: OffsetsBefore },
    Offsets { before: OffsetsBefore },
    Trim { partition: PartitionId, first_offset: u64 },
    Merges { before: Merges },
    Names { before: Box<NamesBefore> },
    Time { before_us: u64 },
    Entry { partition: PartitionId, next_offset: u64, producer: Option<Before>, used: Option<(u64, u64)> },
}

impl State {
    /// The chain up to here.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The merges up to here.
    pub fn merges(&self) -> &Merges {
        &self.merges
    }

    /// The topic with this id.
    pub fn topic(&self, id: u64) -> Option<&Topic> {
        self.topics.get(id)
    }

    /// The id of the topic with this name.
    pub fn topic_id(&self, name: &str) -> Option<u64> {
        self.topics.id(name)
    }

    /// All topics with their ids, in order of id.
    pub fn topics(&self) -> impl Iterator<Item = (u64, &Topic)> {
        self.topics.iter()
    }

    /// The newest time of an object, in microseconds since the Unix epoch.
    pub fn time_us(&self) -> u64 {
        self.time_us
    }

    /// The offsets that groups have committed.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Offset of a partition's first record; its next offset if there is no record.
    pub fn first_offset(&self, partition: PartitionId) -> u64 {
        self.partitions.get(&partition).map_or(0, |partition| partition.first_offset)
    }

    /// The offset that a partition's next record gets.
    pub fn next_offset(&self, partition: PartitionId) -> u64 {
        self.partitions.get(&partition).map_or(0, |partition| partition.next_offset)
    }

    /// This state with no memory of producers' names: for tests of those who remember them.
    #[doc(hidden)]
    #[must_use]
    pub fn without_names(mut self) -> State {
        self.names = Names::default();
        self
    }

    /// This state with no memory of producers: for tests of those who remember them.
    #[doc(hidden)]
    #[must_use]
    pub fn without_producers(mut self) -> State {
        self.partitions.values_mut().for_each(|partition| partition.producers = Producers::default());
        self
    }

    /// Takes the next object of the chain into account. Returns whether it is valid; a void one changes nothing.
    pub fn observe(&mut self, link: Link, changes: &Changes) -> Result<bool, Contradiction> {
        self.observe_by(link, changes, Rules::default())
    }

    pub(crate) fn observe_by(&mut self, link: Link, changes: &Changes, rules: Rules) -> Result<bool, Contradiction> {
        let wrong = |what| Contradiction { number: link.number, what };
        if !self.chain.observe(link, rules) {
            return Ok(false);
        }
        self.advance(changes.appended_us);
        for control in &*changes.controls {
            self.apply(control, rules).map_err(|refused| wrong(Wrong::Control(refused)))?;
        }
        for entry in &*changes.entries {
            let Entry { partition, first_offset: found, .. } = *entry;
            self.topics
                .check_partition(partition.topic, partition.number)
                .map_err(|refused| wrong(Wrong::Partition { partition, refused }))?;
            let expected = self.next_offset(partition);
            if found != expected {
                return Err(wrong(Wrong::Offset { partition, expected, found }));
            }
            self.add(entry);
        }
        Ok(true)
    }

    /// Counts an object's time in, before its changes.
    pub(crate) fn advance(&mut self, appended_us: u64) -> Undo {
        let before_us = self.time_us;
        self.time_us = before_us.max(appended_us);
        Undo::Time { before_us }
    }

    /// Drops producers that are too old by this time, which is certain.
    pub(crate) fn forget_old(&mut self, time_us: u64) {
        self.partitions.values_mut().for_each(|partition| partition.producers.forget_old(time_us));
    }

    /// Takes an object whose changes are counted in already into the chain.
    pub(crate) fn confirm(&mut self, link: Link, rules: Rules) {
        assert!(self.chain.observe(link, rules), "{link:?} was confirmed, which does not follow {:?}", self.chain);
    }

    /// What to do with an append.
    pub(crate) fn judge(
        &self,
        partition: PartitionId,
        records: u32,
        producer: Option<Producer>,
        rules: Rules,
    ) -> Verdict {
        if let Err(refused) = self.topics.check_partition(partition.topic, partition.number) {
            return Verdict::Rejected(Rejected::Partition(refused));
        }
        if let Some(rejected) = producer.filter(|_| rules.names()).and_then(|producer| self.names.judge(producer)) {
            return Verdict::Rejected(rejected);
        }
        self.recall(partition, records, producer)
    }

    /// What a partition remembers of an append, whether its producer may append or not.
    pub(crate) fn recall(&self, partition: PartitionId, records: u32, producer: Option<Producer>) -> Verdict {
        match (producer, self.partitions.get(&partition)) {
            (None, _) => Verdict::New,
            (Some(_), None) => Verdict::Unknown,
            (Some(producer), Some(found)) => found.producers.judge(producer, records, self.time_us),
        }
    }

    /// The control record that a request leads to: a new topic gets its id, a merge its number, a producer's new
    /// instance the name's id and the next epoch.
    pub(crate) fn record(&self, request: Control) -> Control {
        match request {
            Control::Create { name, partitions, settings, .. } => {
                Control::Create { topic: self.topics.next_id(), name, partitions, settings }
            }
            Control::BeginMerge { .. } => Control::BeginMerge { merge: self.merges.begun() + 1 },
            Control::OpenProducer { name, .. } => {
                let (id, epoch) = self.names.next(&name);
                Control::OpenProducer { name, id, epoch }
            }
            Control::Alter { .. }
            | Control::Delete { .. }
            | Control::Trim { .. }
            | Control::EndMerge { .. }
            | Control::AbandonMerge { .. }
            | Control::CommitOffset { .. }
            | Control::ForgetOffset { .. } => request,
        }
    }

    /// Changes a topic, the open merge or a named producer, or nothing.
    pub(crate) fn apply(&mut self, control: &Control, rules: Rules) -> Result<Undo, Refused> {
        let before = self.merges;
        match control {
            Control::BeginMerge { merge } => {
                self.merges.begin(*merge)?;
                Ok(Undo::Merges { before })
            }
            Control::EndMerge { merge, pieces } => {
                self.check_pieces(pieces)?;
                self.merges.close(*merge, rules)?;
                Ok(Undo::Merges { before })
            }
            Control::AbandonMerge { merge } => {
                self.merges.close(*merge, rules)?;
                Ok(Undo::Merges { before })
            }
            Control::OpenProducer { name, id, epoch } => {
                let before = Box::new(self.names.open(name, *id, *epoch, self.time_us)?);
                Ok(Undo::Names { before })
            }
            Control::CommitOffset { group, partition, committed } => {
                self.topics.check_partition(partition.topic, partition.number)?;
                let before = self.offsets.commit(group, *partition, committed, self.time_us)?;
                Ok(Undo::Offsets { before })
            }
            Control::ForgetOffset { group, partition } => {
                Ok(Undo::Offsets { before: self.offsets.delete(group, *partition)? })
            }
            Control::Create { topic, name, partitions, settings } => {
                let created = Topic { name: name.clone(), partitions: *partitions, settings: settings.clone() };
                self.topics.create(*topic, created)?;
                Ok(Undo::Create { topic: *topic })
            }
            Control::Alter { topic, partitions, settings } => {
                let before = self.topics.alter(*topic, *partitions, settings.clone())?;
                Ok(Undo::Alter { topic: *topic, before })
            }
            Control::Delete { topic } => {
                let before = self.topics.remove(*topic)?;
                let id = |number| PartitionId { topic: *topic, number };
                let partitions = (0..before.partitions).map(id);
                let partitions = partitions.filter_map(|id| self.partitions.remove_entry(&id)).collect();
                let offsets = self.offsets.delete_topic(*topic);
                Ok(Undo::Delete { topic: *topic, before, partitions, offsets })
            }
            Control::Trim { partition, first_offset: found } => {
                self.topics.check_partition(partition.topic, partition.number)?;
                let next_offset = self.next_offset(*partition);
                if *found > next_offset {
                    return Err(Refused::AfterEnd { found: *found, next_offset });
                }
                let before = self.first_offset(*partition);
                if let Some(partition) = self.partitions.get_mut(partition) {
                    partition.first_offset = before.max(*found);
                }
                Ok(Undo::Trim { partition: *partition, first_offset: before })
            }
        }
    }

    /// Whether a merge can have these pieces: of records that there are, or of topics that are deleted meanwhile.
    fn check_pieces(&self, pieces: &[MergedPiece]) -> Result<(), Refused> {
        for MergedPiece { partition, next_offset: found, .. } in pieces {
            let next_offset = self.next_offset(*partition);
            if self.topic(partition.topic).is_some() && *found > next_offset {
                return Err(Refused::AfterEnd { found: *found, next_offset });
            }
        }
        Ok(())
    }

    /// Counts an append in at the end of its partition.
    pub(crate) fn add(&mut self, entry: &Entry) -> Undo {
        let partition = self.partitions.entry(entry.partition).or_default();
        assert_eq!(entry.first_offset, partition.next_offset, "{entry:?} is not at the end of its partition");
        assert!(entry.records > 0, "{entry:?} has no records");
        let next_offset = std::mem::replace(&mut partition.next_offset, entry.next_offset());
        let now_us = self.time_us;
        let note = |producer| partition.producers.note(producer, entry.records, entry.first_offset, now_us);
        let before = entry.producer.map(note);
        let used = entry.producer.and_then(|producer| Some((producer.id, self.names.used(producer.id, now_us)?)));
        Undo::Entry { partition: entry.partition, next_offset, producer: before, used }
    }

    /// Takes a change out again. Changes are taken out in the opposite order.
    pub(crate) fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Create { topic } => self.topics.uncreate(topic),
            Undo::Merges { before } => self.merges = before,
            Undo::Names { before } => self.names.restore(*before),
            Undo::Time { before_us } => self.time_us = before_us,
            Undo::Alter { topic, before } => self.topics.put(topic, before),
            Undo::Delete { topic, before, partitions, offsets } => {
                self.topics.put(topic, before);
                self.partitions.extend(partitions);
                self.offsets.restore(offsets);
            }
            Undo::Offsets { before } => self.offsets.restore(before),
            Undo::Trim { partition, first_offset } => {
                if let Some(partition) = self.partitions.get_mut(&partition) {
                    partition.first_offset = first_offset;
                }
            }
            Undo::Entry { partition: id, next_offset, producer, used } => {
                if let Some((producer, used_us)) = used {
                    self.names.unuse(producer, used_us);
                }
                let Some(partition) = self.partitions.get_mut(&id) else {
                    unreachable!("an append to {id:?} was counted in and is not there")
                };
                assert!(next_offset < partition.next_offset, "{next_offset} after {}", partition.next_offset);
                partition.next_offset = next_offset;
                if let Some(before) = producer {
                    partition.producers.restore(before);
                }
                if partition.next_offset == 0 {
                    self.partitions.remove(&id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
