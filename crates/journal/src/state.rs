//! The state that results from the valid objects of a journal: its topics, the beginning and end of each partition,
//! and the appends of its producers.
//!
//! A writer counts its own objects in before they are confirmed, so that the next append gets the offset after them,
//! and takes them out again, newest first, when another writer was faster.

use crate::chain::{Chain, Link};
use crate::changes::{Changes, Entry};
use crate::control::{Committed, Control, Fence};
use crate::groups::{Groups, GroupsBefore, StoredGroup};
use crate::limits::{FORGET_LOOKS_MAX, PRODUCER_EPOCH_MAX, TRANSACTION_PARTITIONS_MAX, TRANSACTIONS_NOTED_MAX};
use crate::merges::Merges;
use crate::names::{Ended, Named, Names, NamesBefore};
use crate::offsets::{Offsets, OffsetsBefore};
use crate::partition::Partition;
use crate::partition_id::PartitionId;
use crate::place::MergedPiece;
use crate::producers::{Before, Content, Producer, Producers, Rejected, Verdict};
use crate::refused::Refused;
use crate::rules::Rules;
use crate::shared_map::SharedMap;
use crate::times::Times;
use crate::topics::{Topic, Topics};
use crate::transactions::{
    JoinedBefore, NotedBefore, Open, PartitionTransactions, TransactionEnd, TransactionPart, Transactions,
    TrimmedBefore,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A transaction that takes too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// The producer's name.
    pub name: Arc<str>,
    /// Its id.
    pub id: u64,
    /// Its epoch.
    pub epoch: u16,
}

/// A partition of a transaction at its end, and the marker there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Markers {
    producer: Producer,
    part: TransactionPart,
    pub(crate) partitions: Vec<PartitionId>,
}

/// A valid object doesn't follow from those before it: it is damaged, or a writer is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("journal object {number} contradicts the objects before it: {what}; restore the object from a copy")]
pub struct Contradiction {
    /// The object's number.
    pub number: u64,
    /// The contradiction.
    pub what: Wrong,
}

/// A contradiction between a valid object and the state.
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
        /// Why the partition doesn't exist.
        refused: Refused,
    },
    /// A topic can't change like that.
    #[error("it changes a topic, but {0}")]
    Control(Refused),
    /// The transactions that it ends wrote to other partitions.
    #[error("it has {found} markers of transactions, or others, where {expected} are due")]
    Markers {
        /// Number of markers that its control records lead to.
        expected: usize,
        /// Number of markers.
        found: usize,
    },
}

/// The state after an object of the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) chain: Chain,
    pub(crate) topics: Topics,
    pub(crate) merges: Merges,
    pub(crate) names: Names,
    pub(crate) offsets: Offsets,
    pub(crate) groups: Groups,
    pub(crate) transactions: Transactions,
    /// The times of objects. Entries expire by the age of the journal, which is the same for all observers.
    pub(crate) times: Times,
    /// Partitions that have had a record.
    pub(crate) partitions: SharedMap<PartitionId, Partition>,
}

/// The changes of one control record or one entry, to undo them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Undo {
    Create {
        topic: u64,
    },
    Alter {
        topic: u64,
        before: Topic,
    },
    Delete {
        topic: u64,
        before: Topic,
        partitions: Vec<(PartitionId, Partition)>,
        offsets: OffsetsBefore,
    },
    Offsets {
        before: OffsetsBefore,
    },
    Groups {
        groups: GroupsBefore,
        offsets: OffsetsBefore,
    },
    Trim {
        partition: PartitionId,
        first_offset: u64,
        transactions: TrimmedBefore,
    },
    Merges {
        before: Merges,
    },
    Instance {
        names: Box<NamesBefore>,
        ended: Option<(u64, Open)>,
        offsets: OffsetsBefore,
    },
    Pending {
        producer: u64,
        joined: JoinedBefore,
        offsets: OffsetsBefore,
    },
    Time {
        before: Times,
    },
    Entry {
        partition: PartitionId,
        next_offset: u64,
        producer: Option<Before>,
        used: Option<(u64, u64)>,
        transaction: Option<Box<InTransactionBefore>>,
    },
}

/// The changes of a transaction's batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct InTransactionBefore {
    part: TransactionPart,
    producer: u64,
    noted_count: usize,
    noted: NotedBefore,
    joined: Option<JoinedBefore>,
}

impl State {
    /// Nothing, in the journal with this number.
    pub fn of_journal(journal: u32) -> State {
        State { topics: Topics::of_journal(journal), ..State::default() }
    }

    /// Number of topics, and of partitions that have had a record.
    pub fn entries_count(&self) -> usize {
        self.topics.len() + self.partitions.len()
    }

    /// The id that the next topic gets.
    pub fn next_topic(&self) -> u64 {
        self.topics.next_id()
    }

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

    /// The times of objects up to here.
    pub fn times(&self) -> Times {
        self.times
    }

    /// The offsets that groups have committed.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// The state of the members of groups.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The partitions that have had a record, in order, each with the offsets of its records and its transactions, if
    /// it has had any.
    pub fn partitions(&self) -> impl Iterator<Item = (PartitionId, Range<u64>, Option<&PartitionTransactions>)> {
        self.partitions.iter().map(|(id, partition)| {
            let transactions = Some(partition.transactions()).filter(|found| !found.is_empty());
            (*id, partition.first_offset..partition.next_offset, transactions)
        })
    }

    /// Whether a transaction is open.
    pub fn has_open_transactions(&self) -> bool {
        !self.transactions.open.is_empty()
    }

    /// Offset of a partition's first record; its next offset if it is empty.
    pub fn first_offset(&self, partition: PartitionId) -> u64 {
        self.partitions.get(&partition).map_or(0, |partition| partition.first_offset)
    }

    /// The offset that a partition's next record gets.
    pub fn next_offset(&self, partition: PartitionId) -> u64 {
        self.partitions.get(&partition).map_or(0, |partition| partition.next_offset)
    }

    /// The state of a copy whose merged objects have the numbers up to this one: its next merge has the one after.
    #[must_use]
    pub fn with_merges(mut self, begun: u64) -> State {
        let Some(merges) = Merges::new(begun, 0) else { unreachable!("merge {begun}") };
        self.merges = merges;
        self
    }

    /// This state with no memory of producers' names: for tests of observers that remember them.
    #[doc(hidden)]
    #[must_use]
    pub fn without_names(mut self) -> State {
        self.names = Names::default();
        self
    }

    /// This state with the instance before the newest of each name: for tests of observers that remember them.
    #[doc(hidden)]
    #[must_use]
    pub fn without_newest_instances(mut self) -> State {
        self.names.forget_newest();
        self
    }

    /// This state with no memory of producers: for tests of observers that remember them.
    #[doc(hidden)]
    #[must_use]
    pub fn without_producers(mut self) -> State {
        let forget = |(id, partition): (&PartitionId, &Partition)| {
            let mut partition = partition.clone();
            partition.change_producers(|producers| *producers = Producers::default());
            (*id, partition)
        };
        self.partitions = self.partitions.iter().map(forget).collect();
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
        let mut markers = Vec::new();
        for control in &*changes.controls {
            markers.extend(self.markers(control));
            self.apply(control, rules).map_err(|refused| wrong(Wrong::Control(refused)))?;
        }
        self.check_markers(&markers, &changes.entries).map_err(wrong)?;
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
        let before = self.times;
        self.times.advance(appended_us);
        Undo::Time { before }
    }

    /// Drops producers that are too old at this age, which is certain, from a partition on, as far as a short look
    /// goes. Returns the partition to continue at; none after the last.
    pub(crate) fn forget_old(&mut self, age_us: u64, from: PartitionId) -> Option<PartitionId> {
        let (mut looked, mut old, mut next) = (0, Vec::new(), None);
        for (id, partition) in self.partitions.range_from(&from) {
            if looked > FORGET_LOOKS_MAX {
                next = Some(*id);
                break;
            }
            looked += 1 + partition.producers().0.len();
            let remembered = partition.producers().remembered(age_us).count();
            if remembered < partition.producers().0.len() {
                old.push(*id);
            }
        }
        for id in old {
            if let Some(partition) = self.partitions.get_mut(&id) {
                partition.change_producers(|producers| producers.forget_old(age_us));
            }
        }
        next
    }

    /// Takes an object whose changes are counted in already into the chain.
    pub(crate) fn confirm(&mut self, link: Link, rules: Rules) {
        assert!(self.chain.observe(link, rules), "{link:?} was confirmed, which does not follow {:?}", self.chain);
    }

    /// Checks an append.
    pub(crate) fn judge(
        &self,
        partition: PartitionId,
        content: Content,
        producer: Option<Producer>,
        rules: Rules,
    ) -> Verdict {
        if let Err(refused) = self.topics.check_partition(partition.topic, partition.number) {
            return Verdict::Rejected(Rejected::Partition(refused));
        }
        if let Some(rejected) = producer.filter(|_| rules.names()).and_then(|producer| self.names.judge(producer)) {
            return Verdict::Rejected(rejected);
        }
        self.recall(partition, content, producer)
    }

    /// Why an append can't be in a transaction, or in none.
    pub(crate) fn judge_transaction(
        &self,
        partition: PartitionId,
        producer: Option<Producer>,
        is_transactional: bool,
    ) -> Option<Rejected> {
        let id = producer.map_or(0, |producer| producer.id);
        if !is_transactional {
            let is_outside = producer.is_some() && self.transactions.has_joined(id, partition);
            return is_outside.then_some(Rejected::InTransaction { id });
        }
        if self.names.get(id).is_none_or(|named| named.timeout_ms == 0) {
            return Some(Rejected::NoTransactions { id });
        }
        let joined = self.transactions.open.get(&id).map_or(0, |open| open.partitions.len());
        let is_full = joined >= TRANSACTION_PARTITIONS_MAX || self.transactions.noted >= TRANSACTIONS_NOTED_MAX;
        let full = Rejected::Transactions { partitions: TRANSACTION_PARTITIONS_MAX, noted: TRANSACTIONS_NOTED_MAX };
        (is_full && !self.transactions.has_joined(id, partition)).then_some(full)
    }

    /// The open transactions: each with its producer's id and the journal's age when it began, in microseconds. No two
    /// are the same, whenever they were open.
    pub fn open_transactions(&self) -> impl Iterator<Item = (u64, u64)> {
        self.transactions.open.iter().map(|(id, open)| (*id, open.began_us))
    }

    /// The transactions that take too long: by the objects since they began, or because the caller has seen them open
    /// for their timeout. No clock needs to be right for that, and without appends, the caller's time is used.
    pub fn expired(&self, open_for: impl Fn(u64, u64) -> Duration) -> Vec<Expired> {
        let expired = self.transactions.open.iter().filter_map(|(id, open)| {
            let Named { name, epoch, timeout_ms, .. } = self.names.get(*id)?;
            let timeout = Duration::from_millis(u64::from(*timeout_ms));
            let by_objects = Duration::from_micros(self.times.age_us().saturating_sub(open.began_us));
            let is_expired = by_objects.max(open_for(*id, open.began_us)) >= timeout;
            is_expired.then(|| Expired { name: name.clone(), id: *id, epoch: *epoch })
        });
        expired.collect()
    }

    /// The markers that a control record leads to, once those before it are counted in and it is not.
    pub(crate) fn markers(&self, control: &Control) -> Option<Markers> {
        let (id, end) = match control {
            Control::EndTransaction { id, end, .. } => (*id, *end),
            Control::OpenProducer { ends, .. } => (*ends, TransactionEnd::Abort),
            _ => return None,
        };
        let open = self.transactions.open.get(&id)?;
        let epoch = self.names.get(id).map_or(0, |named| named.epoch);
        // As in Kafka, the next one's: later appends of this one are too late.
        let epoch = (epoch + 1).min(PRODUCER_EPOCH_MAX);
        let producer = Producer { id, epoch, sequence: 0, wraps: true };
        Some(Markers { producer, part: end.marker(), partitions: open.partitions.keys().copied().collect() })
    }

    /// The entries of markers, once all control records of the object are counted in. Add each one before the next is
    /// requested.
    pub(crate) fn marker_entries(&self, markers: &[Markers]) -> Vec<Entry> {
        let mut added: BTreeMap<PartitionId, u64> = BTreeMap::new();
        let mut entries = Vec::new();
        for Markers { producer, part, partitions } in markers {
            for partition in
                partitions.iter().copied().filter(|id| self.topics.check_partition(id.topic, id.number).is_ok())
            {
                let before = added.entry(partition).or_default();
                let first_offset = self.next_offset(partition) + *before;
                *before += 1;
                let (producer, transaction) = (Some(*producer), Some(*part));
                let content = Content { records: 1, crc32c: 0 };
                entries.push(Entry { partition, first_offset, content, producer, transaction });
            }
        }
        entries
    }

    fn check_markers(&self, markers: &[Markers], entries: &[Entry]) -> Result<(), Wrong> {
        let mut expected = self.marker_entries(markers);
        // The rules don't know a marker's bytes.
        let of_marker = |entry: &Entry| Entry { content: Content { crc32c: 0, ..entry.content }, ..*entry };
        let mut found: Vec<Entry> = entries.iter().filter(|entry| entry.is_marker()).map(of_marker).collect();
        expected.sort_unstable();
        found.sort_unstable();
        if expected == found {
            return Ok(());
        }
        Err(Wrong::Markers { expected: expected.len(), found: found.len() })
    }

    /// The remembered part of an append, whether its producer may append or not.
    pub(crate) fn recall(&self, partition: PartitionId, content: Content, producer: Option<Producer>) -> Verdict {
        match (producer, self.partitions.get(&partition)) {
            (None, _) => Verdict::New,
            (Some(_), None) => Verdict::Unknown,
            (Some(producer), Some(found)) => found.producers().judge(producer, content, self.times.age_us()),
        }
    }

    /// The control record that a request leads to: a new topic gets its id, a merge its number, a producer's new
    /// instance the name's id, or the one that was drawn, and the next epoch.
    pub(crate) fn record(&self, request: Control) -> Control {
        match request {
            Control::Create { name, partitions, settings, .. } => {
                Control::Create { topic: self.topics.next_id(), name, partitions, settings }
            }
            Control::BeginMerge { .. } => Control::BeginMerge { merge: self.merges.begun() + 1 },
            Control::OpenProducer { name, id: drawn, timeout_ms, owner, from, .. } => {
                let (id, epoch) = self.names.next(&name, drawn);
                let ends = self.open_of(&name).unwrap_or_default();
                Control::OpenProducer { name, id, epoch, timeout_ms, owner, from, ends }
            }
            Control::EndTransaction { name, id, epoch, end, next: (drawn, _) } => {
                let next = self.names.next(&name, drawn);
                Control::EndTransaction { name, id, epoch, end, next }
            }
            Control::Alter { .. }
            | Control::Delete { .. }
            | Control::Trim { .. }
            | Control::EndMerge { .. }
            | Control::AbandonMerge { .. }
            | Control::CommitOffset { .. }
            | Control::ForgetOffset { .. }
            | Control::StoreGroup { .. } => request,
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
            Control::OpenProducer { name, id, epoch, timeout_ms, owner, from, ends } => {
                if let Some((id, epoch)) = from {
                    self.names.check(name, *id, *epoch)?;
                }
                let open = self.open_of(name).unwrap_or_default();
                if open != *ends {
                    return Err(Refused::OpenTransaction { id: open });
                }
                let (used_us, timeout_ms) = (self.times.age_us(), *timeout_ms);
                let (name, owner) = (name.clone(), owner.clone());
                let opened = Named { name, owner, epoch: *epoch, used_us, timeout_ms, ended: None };
                self.instance(*id, opened, *ends, TransactionEnd::Abort)
            }
            Control::EndTransaction { name, id, epoch, end, next } => {
                self.end_transaction(name, (*id, *epoch), *end, *next)
            }
            Control::CommitOffset { group, partition, committed, owner, producer: Some(producer), fence } => {
                self.check_group(group, *fence, rules)?;
                self.commit_in_transaction(*producer, (group, owner), *partition, committed)
            }
            Control::CommitOffset { group, partition, committed, owner, producer: None, fence } => {
                self.check_group(group, *fence, rules)?;
                self.topics.check_committed(partition.topic, partition.number)?;
                let before = self.offsets.commit(group, owner, *partition, committed, self.times.age_us())?;
                Ok(Undo::Offsets { before })
            }
            Control::ForgetOffset { group, partition: Some(partition), fence } => {
                self.check_group(group, *fence, rules)?;
                Ok(Undo::Offsets { before: self.offsets.delete(group, Some(*partition))? })
            }
            Control::ForgetOffset { group, partition: None, fence } => {
                self.check_group(group, *fence, rules)?;
                self.delete_group(group)
            }
            Control::StoreGroup { group, version, after, stamp, members, state } => {
                let (version, stamp, members, used_us) = (*version, *stamp, *members, self.times.age_us());
                let stored = StoredGroup { version, stamp, members, state: state.clone(), used_us };
                let groups = self.groups.store(group, *after, stored)?;
                Ok(Undo::Groups { groups, offsets: OffsetsBefore::default() })
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
            Control::Delete { topic } => self.delete_topic(*topic),
            Control::Trim { partition, first_offset } => self.trim(*partition, *first_offset),
        }
    }

    /// Ends the transaction of a named producer, whose next instance is `next`.
    fn end_transaction(
        &mut self,
        name: &Arc<str>,
        (id, epoch): (u64, u16),
        end: TransactionEnd,
        next: (u64, u16),
    ) -> Result<Undo, Refused> {
        self.names.check_end(name, id, epoch, end.is_committed())?;
        let timeout_ms = self.names.get(id).map_or(0, |named| named.timeout_ms);
        if timeout_ms == 0 {
            return Err(Refused::NoTransactions { id });
        }
        if end != TransactionEnd::Abort && !self.transactions.open.contains_key(&id) {
            return Err(Refused::NoTransaction);
        }
        let ended = Ended { id, epoch, is_committed: end.is_committed() };
        let ended = Some(ended).filter(|_| end != TransactionEnd::Expire);
        // The owner stays.
        let (name, owner, used_us) = (name.clone(), "".into(), self.times.age_us());
        let opened = Named { name, owner, epoch: next.1, used_us, timeout_ms, ended };
        self.instance(next.0, opened, id, end)
    }

    /// Commits a group's offset, which counts once the producer's transaction is committed.
    fn commit_in_transaction(
        &mut self,
        (id, epoch): (u64, u16),
        (group, owner): (&Arc<str>, &Arc<str>),
        partition: PartitionId,
        committed: &Committed,
    ) -> Result<Undo, Refused> {
        self.topics.check_partition(partition.topic, partition.number)?;
        let named = self.names.get(id).ok_or(Refused::NotOpen { id, found: epoch })?;
        self.names.check(&named.name, id, epoch)?;
        if named.timeout_ms == 0 {
            return Err(Refused::NoTransactions { id });
        }
        let offsets = self.offsets.commit_pending((id, owner), group, partition, committed, self.times.age_us())?;
        let joined = self.transactions.join(id, None, self.times.age_us());
        Ok(Undo::Pending { producer: id, joined, offsets })
    }

    /// Deletes a topic with its partitions, and the offsets of groups in them.
    fn delete_topic(&mut self, topic: u64) -> Result<Undo, Refused> {
        let before = self.topics.remove(topic)?;
        let partitions = (0..before.partitions).map(|number| PartitionId { topic, number });
        let partitions: Vec<_> = partitions.filter_map(|id| self.partitions.remove_entry(&id)).collect();
        for (id, partition) in &partitions {
            self.transactions.forget(*id, partition.transactions());
        }
        let offsets = self.offsets.delete_topic(topic);
        Ok(Undo::Delete { topic, before, partitions, offsets })
    }

    /// Deletes a partition's records below an offset.
    fn trim(&mut self, id: PartitionId, found: u64) -> Result<Undo, Refused> {
        self.topics.check_partition(id.topic, id.number)?;
        let next_offset = self.next_offset(id);
        if found > next_offset {
            return Err(Refused::AfterEnd { found, next_offset });
        }
        let before = self.first_offset(id);
        let mut transactions = TrimmedBefore::default();
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.first_offset = before.max(found);
            let (noted, first_offset) = (partition.transactions().count(), partition.first_offset);
            if !partition.transactions().is_empty() {
                transactions = partition.change_transactions(|transactions| transactions.trim_to_undo(first_offset));
            }
            self.transactions.noted -= noted - partition.transactions().count();
        }
        Ok(Undo::Trim { partition: id, first_offset: before, transactions })
    }

    fn check_group(&self, group: &str, fence: Fence, rules: Rules) -> Result<(), Refused> {
        if rules.group_fences() { self.groups.check(group, fence) } else { Ok(()) }
    }

    /// Deletes a group's offsets and its members.
    fn delete_group(&mut self, group: &Arc<str>) -> Result<Undo, Refused> {
        match (self.offsets.delete(group, None), self.groups.delete(group)) {
            (Ok(offsets), Some(groups)) => Ok(Undo::Groups { groups, offsets }),
            (Ok(before), None) => Ok(Undo::Offsets { before }),
            (Err(_), Some(groups)) => Ok(Undo::Groups { groups, offsets: OffsetsBefore::default() }),
            (Err(refused), None) => Err(refused),
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

    /// The id under which a name has an open transaction.
    fn open_of(&self, name: &str) -> Option<u64> {
        let (id, _) = self.names.named(name)?;
        self.transactions.open.contains_key(&id).then_some(id)
    }

    /// Opens a name's next instance, and ends the transaction of the one before it.
    fn instance(&mut self, id: u64, opened: Named, ends: u64, end: TransactionEnd) -> Result<Undo, Refused> {
        // The transaction of a forgotten name could never be ended.
        let open = &self.transactions.open;
        let names = Box::new(self.names.open_next(id, opened, |id| open.contains_key(&id))?);
        let ended = self.transactions.open.remove_entry(&ends);
        let offsets = self.offsets.end(ends, end.is_committed(), self.times.age_us());
        Ok(Undo::Instance { names, ended, offsets })
    }

    /// Counts an append or a marker in at the end of its partition.
    pub(crate) fn add(&mut self, entry: &Entry) -> Undo {
        let transaction = self.add_to_transaction(entry);
        let partition = self.partitions.or_insert_with(entry.partition, Partition::default);
        assert_eq!(entry.first_offset, partition.next_offset, "{entry:?} is not at the end of its partition");
        assert!(entry.content.records > 0, "{entry:?} has no records");
        let next_offset = std::mem::replace(&mut partition.next_offset, entry.next_offset());
        let now_us = self.times.age_us();
        let note = |producer| {
            partition.change_producers(|producers| producers.note(producer, entry.content, entry.first_offset, now_us))
        };
        let appends = entry.producer.filter(|_| !entry.is_marker());
        let before = appends.map(note);
        let used = appends.and_then(|producer| Some((producer.id, self.names.used(producer.id, now_us)?)));
        Undo::Entry { partition: entry.partition, next_offset, producer: before, used, transaction }
    }

    fn add_to_transaction(&mut self, entry: &Entry) -> Option<Box<InTransactionBefore>> {
        let (part, Producer { id: producer, .. }) = (entry.transaction?, entry.producer?);
        let noted_count = self.transactions.noted;
        let joined = match part {
            TransactionPart::Records => {
                Some(self.transactions.join(producer, Some(entry.partition), self.times.age_us()))
            }
            TransactionPart::Commit | TransactionPart::Abort => None,
        };
        let partition = self.partitions.or_insert_with(entry.partition, Partition::default);
        let before = partition.transactions().count();
        let note =
            |transactions: &mut PartitionTransactions| transactions.note_to_undo(part, producer, entry.offsets());
        let noted = partition.change_transactions(note);
        self.transactions.noted = (noted_count + partition.transactions().count()) - before;
        Some(Box::new(InTransactionBefore { part, producer, noted_count, noted, joined }))
    }

    fn undo_in_transaction(&mut self, id: PartitionId, before: InTransactionBefore) {
        let InTransactionBefore { part, producer, noted_count, noted, joined } = before;
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.change_transactions(|transactions| transactions.take_back(part, noted));
        }
        if let Some(joined) = joined {
            self.transactions.unjoin(producer, Some(id), joined);
        }
        self.transactions.noted = noted_count;
    }

    /// Takes a change out again. Changes are taken out in the opposite order.
    pub(crate) fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Create { topic } => self.topics.uncreate(topic),
            Undo::Merges { before } => self.merges = before,
            Undo::Instance { names, ended, offsets } => {
                self.offsets.restore(offsets);
                self.transactions.open.extend(ended);
                self.names.restore(*names);
            }
            Undo::Pending { producer, joined, offsets } => {
                self.transactions.unjoin(producer, None, joined);
                self.offsets.restore(offsets);
            }
            Undo::Time { before } => self.times = before,
            Undo::Alter { topic, before } => self.topics.put(topic, before),
            Undo::Delete { topic, before, partitions, offsets } => {
                self.topics.put(topic, before);
                for (id, partition) in &partitions {
                    self.transactions.remember(*id, partition.transactions());
                }
                self.partitions.extend(partitions);
                self.offsets.restore(offsets);
            }
            Undo::Offsets { before } => self.offsets.restore(before),
            Undo::Groups { groups, offsets } => {
                self.offsets.restore(offsets);
                self.groups.restore(groups);
            }
            Undo::Trim { partition, first_offset, transactions } => {
                if let Some(partition) = self.partitions.get_mut(&partition) {
                    partition.first_offset = first_offset;
                    let noted = partition.transactions().count();
                    if transactions != TrimmedBefore::default() {
                        partition.change_transactions(|of_partition| of_partition.untrim(transactions));
                    }
                    self.transactions.noted += partition.transactions().count() - noted;
                }
            }
            Undo::Entry { partition: id, next_offset, producer, used, transaction } => {
                if let Some(before) = transaction {
                    self.undo_in_transaction(id, *before);
                }
                if let Some((producer, used_us)) = used {
                    self.names.unuse(producer, used_us);
                }
                let Some(partition) = self.partitions.get_mut(&id) else {
                    unreachable!("an append to {id:?} was counted in and is not there")
                };
                assert!(next_offset < partition.next_offset, "{next_offset} after {}", partition.next_offset);
                partition.next_offset = next_offset;
                if let Some(before) = producer {
                    partition.change_producers(|producers| producers.restore(before));
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
