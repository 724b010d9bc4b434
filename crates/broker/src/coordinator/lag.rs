//! The lag of groups, for metrics: the records that they have not committed, and since when.

use super::Coordinator;
use rawline_journal::PartitionId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Groups that are looked at before other tasks of the thread run.
const GROUPS_AT_ONCE: usize = 16;

/// The lag of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupLag {
    /// Number of members.
    pub members: u64,
    /// Records after its committed offsets, in the partitions where it has some.
    pub records: u64,
    /// When the oldest of these was appended, in microseconds since the Unix epoch. If it was merged with later ones,
    /// the time of the newest in its object. `None` without such records.
    pub oldest_us: Option<u64>,
}

impl GroupLag {
    /// Adds another group's.
    pub fn add(&mut self, other: &GroupLag) {
        self.members += other.members;
        self.records += other.records;
        self.oldest_us = self.oldest_us.into_iter().chain(other.oldest_us).min();
    }
}

impl Coordinator {
    /// The lag of the groups that this broker coordinates, by name. Locks are held for one group at a time.
    pub async fn lags(&self) -> BTreeMap<Arc<str>, GroupLag> {
        let mut lags = self.members();
        for journal in self.journals.all().iter().filter(|journal| self.shared.coordinates(journal.number())) {
            let groups: Vec<Arc<str>> = journal.with_offsets(|offsets| offsets.groups().cloned().collect());
            for some in groups.chunks(GROUPS_AT_ONCE) {
                for group in some {
                    let committed: Vec<(PartitionId, u64)> = journal.with_offsets(|offsets| {
                        let known =
                            |(id, committed): (_, &rawline_journal::Committed)| Some((id, committed.next_offset()?));
                        offsets.of(group).filter_map(known).collect()
                    });
                    self.add_lag(lags.entry(group.clone()).or_default(), &committed);
                }
                tokio::task::yield_now().await;
            }
        }
        lags
    }

    /// The groups that have members.
    fn members(&self) -> BTreeMap<Arc<str>, GroupLag> {
        let state = self.shared.lock();
        let classic = state.groups.iter().map(|(name, group)| (name, group.members().count()));
        let consumer = state.groups.consumer_groups().map(|(name, group)| (name, group.members().count()));
        let some = classic.chain(consumer).filter(|(_, members)| *members > 0);
        some.map(|(name, members)| (name.clone(), GroupLag { members: members as u64, ..GroupLag::default() }))
            .collect()
    }

    fn add_lag(&self, lag: &mut GroupLag, committed: &[(PartitionId, u64)]) {
        for (id, committed) in committed {
            let Some(extent) = self.journals.topic(id.topic).and_then(|topic| topic.extent(id.number)) else {
                continue;
            };
            let index = extent.index();
            let offset = (*committed).max(index.first_offset());
            let oldest_us = index.find(offset).map(|found| found.piece.appended_us);
            let records = index.next_offset().saturating_sub(offset);
            lag.add(&GroupLag { members: 0, records, oldest_us });
        }
    }
}
