//! What a group has committed, by the chain: each input is in the committed output once, in order, and a group that
//! commits without transactions never goes back.

use rawline_journal::{Committed, Control, PartitionId, TransactionEnd};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A group whose members commit in transactions.
pub const EXACT: &str = "exact";

/// A group whose members don't.
pub const PLAIN: &str = "plain";

/// What must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// Inputs from one offset on are in the output although those before another one are already.
    Twice { partition: u32, from: i64, after: i64, by: String },
    /// Inputs are in no output.
    Lost { partition: u32, from: i64, after: i64, by: String },
    /// A committed offset went back.
    Back { partition: u32, to: i64, after: i64, by: String },
}

/// What happened, in numbers.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub commits: usize,
    pub divisions: usize,
    /// Members that continued at another run of a broker as if nothing had happened.
    pub went_on: usize,
    /// Requests of members that were refused because they were late.
    pub late: usize,
    /// Claims of partitions that were lost to a newer one.
    pub lost_claims: usize,
    /// Offsets that weren't stable.
    pub unstable: usize,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        self.commits += other.commits;
        self.divisions += other.divisions;
        self.went_on += other.went_on;
        self.late += other.late;
        self.lost_claims += other.lost_claims;
        self.unstable += other.unstable;
    }

    /// Whether everything that can happen has happened.
    pub fn is_eventful(&self) -> bool {
        let Seen { commits, divisions, went_on, late, lost_claims, unstable } = *self;
        commits > 500 && [divisions, went_on, late, lost_claims, unstable].iter().all(|count| *count > 0)
    }
}

/// What a commit says: who commits, the first input that its output is made of, and the one after the last.
pub fn metadata(by: &str, from: i64) -> Arc<[u8]> {
    format!("{from} {by}").into_bytes().into()
}

/// Goes through what was committed, in order.
pub fn wrong(controls: &[Control]) -> Vec<Wrong> {
    let mut judge = Judge::default();
    let mut pending: BTreeMap<u64, Vec<(Arc<str>, PartitionId, Committed)>> = BTreeMap::new();
    for control in controls {
        match control {
            Control::CommitOffset { group, partition, committed, producer: None, .. } => {
                judge.take(group, *partition, committed);
            }
            Control::CommitOffset { group, partition, committed, producer: Some((id, _)), .. } => {
                let pending = pending.entry(*id).or_default();
                // The newest of a transaction counts.
                pending.retain(|(_, other, _)| other != partition);
                pending.push((group.clone(), *partition, committed.clone()));
            }
            Control::EndTransaction { id, end, .. } => {
                for (group, partition, committed) in pending.remove(id).unwrap_or_default() {
                    if *end == TransactionEnd::Commit {
                        judge.take(&group, partition, &committed);
                    }
                }
            }
            Control::OpenProducer { ends, .. } => drop(pending.remove(ends)),
            _ => {}
        }
    }
    judge.wrong
}

#[derive(Default)]
struct Judge {
    /// The offset of the newest commit, and what that said.
    after: BTreeMap<(Arc<str>, u32), (i64, String)>,
    wrong: Vec<Wrong>,
}

impl Judge {
    fn take(&mut self, group: &Arc<str>, partition: PartitionId, committed: &Committed) {
        let said = String::from_utf8_lossy(&committed.metadata).into_owned();
        let from: i64 = said.split(' ').next().unwrap().parse().unwrap();
        let (partition, to) = (partition.number, committed.offset);
        let newest = self.after.insert((group.clone(), partition), (to, said.clone()));
        let (after, before) = newest.unwrap_or_default();
        let by = format!("{group}: {said}, after {before}");
        if **group == *PLAIN {
            if to < after {
                self.wrong.push(Wrong::Back { partition, to, after, by });
            }
        } else if from < after {
            self.wrong.push(Wrong::Twice { partition, from, after, by });
        } else if from > after {
            self.wrong.push(Wrong::Lost { partition, from, after, by });
        }
    }
}
