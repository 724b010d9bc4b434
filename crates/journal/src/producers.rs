//! Exactly-once appends: what a partition remembers of its producers, and what that says of a new append.

use std::collections::{BTreeMap, VecDeque};
use thiserror::Error;

/// Number of appends that a partition remembers per producer: as many as a producer may have in flight.
pub const REMEMBERED_MAX: usize = 5;

/// Who appends, and where in its order: from the header of the first batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Producer {
    /// The producer's id.
    pub id: u64,
    /// Grows with every instance of the producer; lower ones are fenced.
    pub epoch: u16,
    /// The producer's number for the append's first record. Dense within an epoch.
    pub sequence: u64,
}

/// Why an append is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Rejected {
    /// Records before it are missing.
    #[error("sequence {found} follows a gap: {expected} comes next; append what is missing first")]
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
    /// It was stored before, too long ago to say where.
    #[error("sequence {found} was stored before the producer's last {REMEMBERED_MAX} appends; don't send it again")]
    Old {
        /// The append's sequence.
        found: u64,
    },
}

/// What the remembered appends say of a new one.
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

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stored {
    sequence: u64,
    records: u32,
    first_offset: u64,
}

/// A producer's newest appends to a partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct History {
    epoch: u16,
    next_sequence: u64,
    stored: VecDeque<Stored>,
}

/// A partition's producers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Producers(BTreeMap<u64, History>);

impl Producers {
    /// What to do with an append of `records` records.
    pub fn judge(&self, producer: Producer, records: u32) -> Verdict {
        let Some(history) = self.0.get(&producer.id) else { return Verdict::Unknown };
        let found = producer.sequence;
        if producer.epoch < history.epoch {
            return Verdict::Rejected(Rejected::Fenced { current: history.epoch, found: producer.epoch });
        }
        if producer.epoch > history.epoch {
            // A new instance begins its own sequence.
            return if found == 0 { Verdict::New } else { Verdict::Rejected(Rejected::Gap { expected: 0, found }) };
        }
        if found == history.next_sequence {
            return Verdict::New;
        }
        if found > history.next_sequence {
            return Verdict::Rejected(Rejected::Gap { expected: history.next_sequence, found });
        }
        let same = history.stored.iter().find(|stored| stored.sequence == found && stored.records == records);
        same.map_or(Verdict::Rejected(Rejected::Old { found }), |stored| Verdict::Duplicate {
            first_offset: stored.first_offset,
        })
    }

    /// Notes an append that is part of the partition. Returns what [`Producers::restore`] needs to take it back.
    pub fn note(&mut self, producer: Producer, records: u32, first_offset: u64) -> Option<History> {
        let before = self.0.get(&producer.id).cloned();
        let fresh = || History { epoch: producer.epoch, next_sequence: 0, stored: VecDeque::new() };
        let history = self.0.entry(producer.id).or_insert_with(fresh);
        if producer.epoch != history.epoch {
            *history = fresh();
        }
        history.next_sequence = producer.sequence + u64::from(records);
        if history.stored.len() == REMEMBERED_MAX {
            history.stored.pop_front();
        }
        history.stored.push_back(Stored { sequence: producer.sequence, records, first_offset });
        assert!(history.stored.len() <= REMEMBERED_MAX, "{} appends of producer {}", history.stored.len(), producer.id);
        before
    }

    /// Takes the newest append of a producer back.
    pub fn restore(&mut self, id: u64, before: Option<History>) {
        match before {
            Some(history) => self.0.insert(id, history),
            None => self.0.remove(&id),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn producer(epoch: u16, sequence: u64) -> Producer {
        Producer { id: 7, epoch, sequence }
    }

    /// Ten appends of two records each, from offset 100 on.
    fn ten() -> Producers {
        let mut producers = Producers::default();
        for n in 0..10 {
            assert!(matches!(producers.judge(producer(1, n * 2), 2), Verdict::New | Verdict::Unknown));
            producers.note(producer(1, n * 2), 2, 100 + n * 2);
        }
        producers
    }

    #[test]
    fn the_last_five_appends_are_recognized() {
        let producers = ten();
        assert_eq!(producers.judge(producer(1, 18), 2), Verdict::Duplicate { first_offset: 118 });
        assert_eq!(producers.judge(producer(1, 10), 2), Verdict::Duplicate { first_offset: 110 });
        assert_eq!(producers.judge(producer(1, 8), 2), Verdict::Rejected(Rejected::Old { found: 8 }));
        assert_eq!(producers.judge(producer(1, 18), 1), Verdict::Rejected(Rejected::Old { found: 18 }));
        assert_eq!(producers.judge(producer(1, 20), 2), Verdict::New);
    }

    #[test]
    fn gaps_are_rejected() {
        let gap = Rejected::Gap { expected: 20, found: 22 };
        assert_eq!(ten().judge(producer(1, 22), 2), Verdict::Rejected(gap));
    }

    #[test]
    fn a_newer_instance_fences_the_older() {
        let mut producers = ten();
        assert_eq!(producers.judge(producer(2, 5), 1), Verdict::Rejected(Rejected::Gap { expected: 0, found: 5 }));
        assert_eq!(producers.judge(producer(2, 0), 1), Verdict::New);
        let before = producers.note(producer(2, 0), 1, 120);
        let fenced = Rejected::Fenced { current: 2, found: 1 };
        assert_eq!(producers.judge(producer(1, 20), 2), Verdict::Rejected(fenced));
        producers.restore(7, before);
        assert_eq!(producers, ten());
    }
}
