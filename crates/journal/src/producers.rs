//! Exactly-once appends: the producers that a partition remembers, and the check of a new append against them.

use crate::limits::{PRODUCERS_MAX, is_old};
use crate::refused::Refused;
use crate::shared_map::SharedMap;
use rawline_batch::Crc32c;
use std::collections::VecDeque;
use thiserror::Error;

/// Number of appends that a partition remembers per producer: as many as a producer may have in flight.
pub const REMEMBERED_MAX: usize = 5;

/// The producer of an append and its sequence, from the header of the first batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Producer {
    /// The producer's id.
    pub id: u64,
    /// Grows with every instance of the producer; lower ones are fenced.
    pub epoch: u16,
    /// The producer's number for the append's first record. Dense within an epoch.
    pub sequence: u64,
    /// Whether 0 comes after 2^31 - 1, as in Kafka's batches.
    pub wraps: bool,
}

/// The content of an append, as far as a retry is recognized by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Content {
    /// Number of records, at least 1.
    pub records: u32,
    /// The checksum of its batches, if it has a producer: see [`content_checksum`]. Otherwise 0.
    pub crc32c: u32,
}

/// The checksum of an append, by [those of its batches](crate::Batch::content_crc32c): of a single one, its own. Of
/// several, each after the first is joined to what is before it as the CRC32C of both, little-endian.
pub fn content_checksum(batches: impl IntoIterator<Item = u32>) -> u32 {
    let join = |before: u32, next: u32| {
        let mut crc = Crc32c::new();
        crc.update(&before.to_le_bytes());
        crc.update(&next.to_le_bytes());
        crc.value()
    };
    batches.into_iter().reduce(join).unwrap_or_default()
}

/// The number after the greatest of a producer whose numbers wrap.
pub(crate) const SEQUENCES_WRAP_AT: u64 = 1 << 31;

impl Producer {
    /// The number that comes after an append.
    fn after(self, sequence: u64, content: Content) -> u64 {
        let next = sequence + u64::from(content.records);
        if self.wraps { next % SEQUENCES_WRAP_AT } else { next }
    }

    /// Whether one of its numbers comes after another.
    fn is_later(self, number: u64, than: u64) -> bool {
        if !self.wraps {
            return number > than;
        }
        // Half of the numbers come after another, the other half before it.
        let ahead = number.wrapping_sub(than) % SEQUENCES_WRAP_AT;
        (1..SEQUENCES_WRAP_AT / 2).contains(&ahead)
    }
}

/// Why an append is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Rejected {
    /// Records before it are missing.
    #[error("sequence {found} follows a gap: {expected} comes next; append the missing records first")]
    Gap {
        /// The sequence that comes next.
        expected: u64,
        /// The append's sequence.
        found: u64,
    },
    /// A newer instance of the same producer has appended.
    #[error("a newer instance of this producer has epoch {current}, this one has {found}; stop this instance")]
    Fenced {
        /// The newest instance's epoch.
        current: u16,
        /// The append's epoch.
        found: u16,
    },
    /// The producer has a name, and this isn't its newest instance.
    #[error(
        "no instance of producer {id} with epoch {found} is open: a newer one was opened, or its name was forgotten \
         because it was unused; stop this instance, or open a new one"
    )]
    NotOpen {
        /// The producer's id.
        id: u64,
        /// The append's epoch.
        found: u16,
    },
    /// It was stored before, too long ago to say where.
    #[error("sequence {found} was stored before the producer's last {REMEMBERED_MAX} appends; don't send it again")]
    Old {
        /// The append's sequence.
        found: u64,
    },
    /// Its number was stored before, with other records.
    #[error(
        "sequence {found} is stored already, with other records: another program uses this producer's id, or the \
         records were sent again in other batches; begin again with another id"
    )]
    Conflict {
        /// The append's sequence.
        found: u64,
    },
    /// It belongs to a transaction, but its producer can't have transactions.
    #[error("producer {id} has no transactions; open it with a transactional id")]
    NoTransactions {
        /// The producer's id; 0 without a producer.
        id: u64,
    },
    /// It belongs to no transaction, and its producer has one that writes to the partition.
    #[error("producer {id} has a transaction that writes to this partition, and this append isn't in it; end it first")]
    InTransaction {
        /// The producer's id.
        id: u64,
    },
    /// It would be in one transaction too many.
    #[error(
        "a transaction may write to {partitions} partitions, and {noted} open and aborted ones may have records here; \
         end transactions, or delete old records"
    )]
    Transactions {
        /// The maximum for one transaction.
        partitions: usize,
        /// The maximum for all.
        noted: usize,
    },
    /// The partition doesn't exist, or was deleted.
    #[error(transparent)]
    Partition(Refused),
}

/// The check of a new append against the remembered ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    New,
    /// It is stored from this offset on.
    Duplicate {
        first_offset: u64,
    },
    Rejected(Rejected),
    /// Nothing is known of its producer.
    Unknown,
}

/// One append of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stored {
    pub sequence: u64,
    pub content: Content,
    pub first_offset: u64,
}

/// A producer's newest appends to a partition, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct History {
    pub epoch: u16,
    /// The journal's age at the newest append.
    pub appended_us: u64,
    pub stored: VecDeque<Stored>,
}

impl History {
    /// The oldest append that is remembered, and the newest.
    fn bounds(&self) -> (Stored, Stored) {
        match (self.stored.front(), self.stored.back()) {
            (Some(oldest), Some(newest)) => (*oldest, *newest),
            _ => unreachable!("a producer without an append: {self:?}"),
        }
    }
}

/// A partition's producers, at most [`PRODUCERS_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Producers(pub SharedMap<u64, History>);

/// A producer before its newest append, to take that back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Before {
    id: u64,
    history: Option<History>,
    /// The producer that made room for it.
    forgotten: Option<(u64, History)>,
}

impl Producers {
    /// Checks an append at the journal's age `now_us`. It is a duplicate only if it has the same content: an
    /// append by another client that uses the producer's id must not pass for the producer's own.
    pub fn judge(&self, producer: Producer, content: Content, now_us: u64) -> Verdict {
        let known = self.0.get(&producer.id).filter(|history| !is_old(history.appended_us, now_us));
        let Some(history) = known else { return Verdict::Unknown };
        let found = producer.sequence;
        if producer.epoch < history.epoch {
            return Verdict::Rejected(Rejected::Fenced { current: history.epoch, found: producer.epoch });
        }
        if producer.epoch > history.epoch {
            // A new instance begins its own sequence.
            return if found == 0 { Verdict::New } else { Verdict::Rejected(Rejected::Gap { expected: 0, found }) };
        }
        let (oldest, newest) = history.bounds();
        let expected = producer.after(newest.sequence, newest.content);
        if found == expected {
            return Verdict::New;
        }
        if producer.is_later(found, expected) {
            return Verdict::Rejected(Rejected::Gap { expected, found });
        }
        if let Some(same) = history.stored.iter().find(|stored| (stored.sequence, stored.content) == (found, content)) {
            return Verdict::Duplicate { first_offset: same.first_offset };
        }
        let is_known = producer.is_later(producer.after(found, content), oldest.sequence);
        Verdict::Rejected(if is_known { Rejected::Conflict { found } } else { Rejected::Old { found } })
    }

    /// Notes an append that is part of the partition. The producer whose newest append is the oldest is forgotten when
    /// there are too many: every observer forgets the same one. An observer that still holds one that is too old
    /// forgets that one, and then no other: the oldest append has the oldest time.
    pub fn note(&mut self, producer: Producer, content: Content, first_offset: u64, now_us: u64) -> Before {
        let history = self.0.remove(&producer.id);
        let forgotten = if self.0.len() < PRODUCERS_MAX { None } else { self.forget() };
        let is_same = |known: &History| known.epoch == producer.epoch && !is_old(known.appended_us, now_us);
        let new = || History { epoch: producer.epoch, appended_us: 0, stored: VecDeque::new() };
        let mut noted = history.clone().filter(is_same).unwrap_or_else(new);
        noted.appended_us = now_us;
        if noted.stored.len() == REMEMBERED_MAX {
            noted.stored.pop_front();
        }
        noted.stored.push_back(Stored { sequence: producer.sequence, content, first_offset });
        self.0.insert(producer.id, noted);
        assert!(self.0.len() <= PRODUCERS_MAX, "{} producers of one partition", self.0.len());
        Before { id: producer.id, history, forgotten }
    }

    fn forget(&mut self) -> Option<(u64, History)> {
        let idlest = self.0.iter().min_by_key(|(_, history)| history.bounds().1.first_offset).map(|(id, _)| *id)?;
        self.0.remove_entry(&idlest)
    }

    /// Drops producers that are too old. No response depends on whether or when this happens.
    pub fn forget_old(&mut self, now_us: u64) {
        let is_forgotten = |history: &History| is_old(history.appended_us, now_us);
        let old: Vec<u64> = self.0.iter().filter(|(_, history)| is_forgotten(history)).map(|(id, _)| *id).collect();
        old.iter().for_each(|id| drop(self.0.remove(id)));
    }

    /// Those that aren't too old, in order of id.
    pub fn remembered(&self, now_us: u64) -> impl Iterator<Item = (&u64, &History)> {
        self.0.iter().filter(move |(_, history)| !is_old(history.appended_us, now_us))
    }

    /// Takes the newest append of a producer back.
    pub fn restore(&mut self, before: Before) {
        match before.history {
            Some(history) => self.0.insert(before.id, history),
            None => self.0.remove(&before.id),
        };
        self.0.extend(before.forgotten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PRODUCER_AGE_US;

    fn producer(epoch: u16, sequence: u64) -> Producer {
        Producer { id: 7, epoch, sequence, wraps: false }
    }

    fn of(records: u32) -> Content {
        Content { records, crc32c: 0 }
    }

    /// Ten appends of two records each, from offset 100 on.
    fn ten() -> Producers {
        let mut producers = Producers::default();
        for n in 0..10 {
            assert!(matches!(producers.judge(producer(1, n * 2), of(2), 0), Verdict::New | Verdict::Unknown));
            producers.note(producer(1, n * 2), of(2), 100 + n * 2, 0);
        }
        producers
    }

    #[test]
    fn the_last_five_appends_are_recognized() {
        let producers = ten();
        assert_eq!(producers.judge(producer(1, 18), of(2), 0), Verdict::Duplicate { first_offset: 118 });
        assert_eq!(producers.judge(producer(1, 10), of(2), 0), Verdict::Duplicate { first_offset: 110 });
        assert_eq!(producers.judge(producer(1, 8), of(2), 0), Verdict::Rejected(Rejected::Old { found: 8 }));
        assert_eq!(producers.judge(producer(1, 20), of(2), 0), Verdict::New);
    }

    /// An append that shares a number with one that is remembered is that append, or a conflict.
    #[test]
    fn what_is_stored_with_other_content_is_no_duplicate() {
        let producers = ten();
        let judge = |sequence, content| producers.judge(producer(1, sequence), content, 0);
        let conflict = |found| Verdict::Rejected(Rejected::Conflict { found });
        for sequence in [10, 14, 18] {
            assert_eq!(judge(sequence, Content { records: 2, crc32c: 1 }), conflict(sequence), "other bytes");
            assert_eq!(judge(sequence, of(1)), conflict(sequence), "fewer records");
            assert_eq!(judge(sequence, of(3)), conflict(sequence), "more records");
            assert_eq!(judge(sequence + 1, of(1)), conflict(sequence + 1), "in the middle of one");
        }
        assert_eq!(judge(19, of(2)), conflict(19), "one that is stored, and one that is new");
        assert_eq!(judge(9, of(2)), conflict(9), "one that is forgotten, and one that isn't");
        assert_eq!(judge(9, of(1)), Verdict::Rejected(Rejected::Old { found: 9 }));
    }

    #[test]
    fn the_checksum_of_several_batches_depends_on_each_and_their_order() {
        assert_eq!((content_checksum([]), content_checksum([7])), (0, 7));
        let all = [content_checksum([7, 8]), content_checksum([8, 7]), content_checksum([7, 8, 0]), 7, 8, 0];
        assert_eq!(std::collections::BTreeSet::from(all).len(), all.len());
    }

    #[test]
    fn gaps_are_rejected() {
        let gap = Rejected::Gap { expected: 20, found: 22 };
        assert_eq!(ten().judge(producer(1, 22), of(2), 0), Verdict::Rejected(gap));
    }

    #[test]
    fn numbers_of_kafkas_batches_wrap() {
        let producer = |sequence| Producer { id: 7, epoch: 0, sequence, wraps: true };
        let mut producers = Producers::default();
        let last = SEQUENCES_WRAP_AT - 3;
        producers.note(producer(last), of(3), 100, 0);
        assert_eq!(producers.judge(producer(0), of(5), 0), Verdict::New);
        // A producer of Rawline's batches counts on.
        assert_eq!(producers.judge(Producer { wraps: false, ..producer(last + 3) }, of(5), 0), Verdict::New);
        producers.note(producer(0), of(5), 103, 0);
        assert_eq!(producers.judge(producer(last), of(3), 0), Verdict::Duplicate { first_offset: 100 });
        assert_eq!(producers.judge(producer(last - 7), of(3), 0), Verdict::Rejected(Rejected::Old { found: last - 7 }));
        assert_eq!(producers.judge(producer(5), of(1), 0), Verdict::New);
        assert_eq!(producers.judge(producer(6), of(1), 0), Verdict::Rejected(Rejected::Gap { expected: 5, found: 6 }));
    }

    #[test]
    fn an_append_that_goes_beyond_the_greatest_number_ends_after_it() {
        let producer = |sequence| Producer { id: 7, epoch: 0, sequence, wraps: true };
        let mut producers = Producers::default();
        producers.note(producer(SEQUENCES_WRAP_AT - 1), of(4), 100, 0);
        assert_eq!(producers.judge(producer(3), of(1), 0), Verdict::New);
    }

    #[test]
    fn a_newer_instance_fences_the_older() {
        let mut producers = ten();
        assert_eq!(
            producers.judge(producer(2, 5), of(1), 0),
            Verdict::Rejected(Rejected::Gap { expected: 0, found: 5 })
        );
        assert_eq!(producers.judge(producer(2, 0), of(1), 0), Verdict::New);
        let before = producers.note(producer(2, 0), of(1), 120, 0);
        let fenced = Rejected::Fenced { current: 2, found: 1 };
        assert_eq!(producers.judge(producer(1, 20), of(2), 0), Verdict::Rejected(fenced));
        producers.restore(before);
        assert_eq!(producers, ten());
    }

    #[test]
    fn the_idlest_producer_is_forgotten() {
        let new = |id| Producer { id, epoch: 1, sequence: 0, wraps: false };
        let mut producers = Producers::default();
        for id in 0..PRODUCERS_MAX as u64 {
            producers.note(new(id), of(1), id, 0);
        }
        producers.note(Producer { sequence: 1, ..new(0) }, of(1), 5000, 0);
        let full = producers.clone();
        let before = producers.note(new(9999), of(1), 5001, 0);
        assert_eq!(producers.0.len(), PRODUCERS_MAX);
        assert_eq!(producers.judge(Producer { sequence: 1, ..new(1) }, of(1), 0), Verdict::Unknown);
        assert_eq!(producers.judge(Producer { sequence: 2, ..new(0) }, of(1), 0), Verdict::New);
        producers.restore(before);
        assert_eq!(producers, full);
    }

    #[test]
    fn an_idle_producer_is_forgotten_by_the_journals_time() {
        let mut producers = ten();
        producers.note(producer(1, 20), of(2), 120, 5);
        let expected = Rejected::Gap { expected: 22, found: 30 };
        assert_eq!(producers.judge(producer(1, 30), of(1), 5 + PRODUCER_AGE_US), Verdict::Rejected(expected));
        let late = 6 + PRODUCER_AGE_US;
        assert_eq!(producers.judge(producer(1, 30), of(1), late), Verdict::Unknown);
        let before = producers.clone();
        // Whether it was dropped meanwhile makes no difference.
        let (mut kept, mut dropped) = (producers.clone(), producers);
        dropped.forget_old(late);
        assert_eq!(dropped, Producers::default());
        let undo = kept.note(producer(1, 30), of(1), 122, late);
        dropped.note(producer(1, 30), of(1), 122, late);
        assert_eq!(kept, dropped);
        kept.restore(undo);
        assert_eq!(kept, before);
    }

    #[test]
    fn an_old_handle_of_a_producer_forgets_no_other() {
        let new = |id| Producer { id, epoch: 1, sequence: 0, wraps: false };
        let late = 1 + PRODUCER_AGE_US;
        let mut kept = Producers::default();
        kept.note(new(0), of(1), 0, 0);
        for id in 1..PRODUCERS_MAX as u64 {
            kept.note(new(id), of(1), id, late);
        }
        let mut dropped = kept.clone();
        dropped.forget_old(late);
        for producers in [&mut kept, &mut dropped] {
            producers.note(new(9999), of(1), 9999, late);
        }
        assert_eq!(kept, dropped);
    }
}
