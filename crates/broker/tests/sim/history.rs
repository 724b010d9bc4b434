//! What happened, and what must not have happened.

use rawline_broker::{Appended, ProducerInstance};
use rawline_journal::PartitionId;
use std::collections::{BTreeMap, BTreeSet};

/// A record's text, unique in a world.
pub type Text = String;

/// What must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// An acknowledged record isn't where the acknowledgement says.
    Lost { text: Text, partition: PartitionId, offset: u64, found: Option<Text> },
    /// A record that was reported as not stored is stored.
    Denied { text: Text },
    /// A record of an exactly-once producer is stored twice.
    Duplicate { text: Text },
    /// A record of an older instance of a named producer is after one of a newer instance, or two have the same epoch.
    Unfenced { text: Text },
    /// A broker sees other records than the chain has.
    Disagreement { broker: usize, partition: PartitionId, offset: u64, found: Option<Text>, expected: Option<Text> },
    /// A broker panicked, or the chain contradicts itself.
    Broken { reason: String },
    /// A request never got an answer after everything was well again.
    Stuck { what: String },
}

/// The responses that producers got.
#[derive(Debug, Default)]
pub struct Responses {
    pub acknowledged: Vec<(Text, PartitionId, Appended)>,
    pub denied: Vec<Text>,
    /// Texts of exactly-once producers.
    pub once: BTreeSet<Text>,
    /// The instances of the named producer that were opened, each with its number: later ones are newer.
    pub opened: Vec<(ProducerInstance, usize)>,
}

/// The records of the chain, each at its offset: what someone sees who has always watched the store.
pub type Truth = BTreeMap<(PartitionId, u64), Text>;

impl Responses {
    /// Compares the responses with what is true.
    pub fn violations(&self, truth: &Truth) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (text, partition, appended) in &self.acknowledged {
            let offset = appended.first_offset;
            let found = truth.get(&(*partition, offset));
            if found != Some(text) {
                let (text, partition, found) = (text.clone(), *partition, found.cloned());
                violations.push(Violation::Lost { text, partition, offset, found });
            }
        }
        let mut stored = BTreeMap::<&Text, u32>::new();
        truth.values().for_each(|text| *stored.entry(text).or_default() += 1);
        let denied = self.denied.iter().filter(|text| stored.contains_key(text));
        violations.extend(denied.map(|text| Violation::Denied { text: text.clone() }));
        let twice = self.once.iter().filter(|text| stored.get(text).is_some_and(|count| *count > 1));
        violations.extend(twice.map(|text| Violation::Duplicate { text: text.clone() }));
        violations.extend(self.unfenced(truth));
        violations
    }

    /// Compares the instances of the named producer with the order of their records in each partition.
    fn unfenced(&self, truth: &Truth) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (at, (instance, number)) in self.opened.iter().enumerate() {
            if self.opened[..at].iter().any(|(other, _)| other == instance) {
                violations.push(Violation::Unfenced { text: format!("{} {number}", Self::NAMED) });
            }
        }
        let mut newest = BTreeMap::<PartitionId, usize>::new();
        for ((partition, _), text) in truth {
            let number = text.strip_prefix(Self::NAMED).and_then(|rest| rest.split('-').next()?.trim().parse().ok());
            let Some(number) = number else { continue };
            let before = newest.insert(*partition, number);
            if before.is_some_and(|before| before > number) {
                violations.push(Violation::Unfenced { text: text.clone() });
            }
        }
        violations
    }

    /// What the texts of the named producer begin with; the number of the instance follows.
    pub const NAMED: &str = "named";
}
