//! The responses that producers and readers got, and violations of guarantees.

use rawline_journal::PartitionId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A record's text, unique in a world.
pub type Text = String;

/// The records that a broker has, each at its offset.
pub type Records = BTreeMap<(PartitionId, u64), Text>;

/// A violation of a guarantee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// A record that was acknowledged or read isn't at its offset.
    Lost { text: Text, partition: PartitionId, offset: u64, found: Option<Text> },
    /// A record that was reported as not stored is stored.
    Denied { text: Text },
    /// A record is duplicate.
    Duplicate { text: Text },
    /// A record exists that was never appended.
    Invented { text: Text },
    /// A broker's records can't be read.
    Unreadable { partition: PartitionId, offset: u64, reason: String },
    /// A broker doesn't start, although the disk works.
    Refused { reason: String },
    /// A producer was rejected.
    Rejected { reason: String },
    /// A request got no response although the disk works, or a task panicked.
    Stuck { what: String },
}

/// The history of a world.
#[derive(Default)]
pub struct History {
    /// Whether a power failure may lose acknowledged records.
    pub may_lose: bool,
    /// Whether it may have, since the last look.
    pub may_have_lost: bool,
    /// Whether producers append no more.
    pub ends: bool,
    appended: BTreeSet<Text>,
    denied: BTreeSet<Text>,
    /// Acknowledged, or read.
    known: Records,
    pub violations: Vec<Violation>,
}

impl History {
    /// An append of these begins.
    pub fn appends(&mut self, texts: &[Text]) {
        self.appended.extend(texts.iter().cloned());
    }

    pub fn denies(&mut self, text: &Text) {
        self.denied.insert(text.clone());
    }

    /// A record was acknowledged or read.
    pub fn knows(&mut self, partition: PartitionId, offset: u64, text: &Text) {
        if let Some(other) = self.known.insert((partition, offset), text.clone()).filter(|other| other != text) {
            let found = Some(text.clone());
            self.violate(Violation::Lost { text: other, partition, offset, found });
        }
    }

    pub fn violate(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// Compares a broker's records with the known ones. `ends`: the offsets of each partition's records.
    pub fn compare(&mut self, found: &Records, ends: &BTreeMap<PartitionId, Range<u64>>) {
        let mut violations = Vec::new();
        let may_lose = std::mem::take(&mut self.may_have_lost);
        self.known.retain(|(partition, offset), text| {
            let range = ends.get(partition).cloned().unwrap_or_default();
            let (is_deleted, is_after) = (*offset < range.start, *offset >= range.end);
            let other = found.get(&(*partition, *offset));
            if !is_deleted && other != Some(text) && !(may_lose && is_after) {
                let (text, partition, offset) = (text.clone(), *partition, *offset);
                violations.push(Violation::Lost { text, partition, offset, found: other.cloned() });
            }
            !(may_lose && is_after)
        });
        let mut once = BTreeSet::new();
        for ((partition, offset), text) in found {
            self.known.insert((*partition, *offset), text.clone());
            if !once.insert(text) {
                violations.push(Violation::Duplicate { text: text.clone() });
            }
            if !self.appended.contains(text) {
                violations.push(Violation::Invented { text: text.clone() });
            }
            if self.denied.contains(text) {
                violations.push(Violation::Denied { text: text.clone() });
            }
        }
        self.violations.extend(violations);
    }
}
