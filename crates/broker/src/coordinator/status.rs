//! Groups as others see them.

use super::{Coordinator, State};
use crate::group_status::GroupStatus;
use rawline_groups::{GroupLimits, Groups};
use rawline_groups::{Restored, restored};
use rawline_journal::StoredGroup;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

impl Coordinator {
    /// A group that has members or committed offsets.
    pub fn group(&self, group: &str) -> Option<GroupStatus> {
        let known = self.with_group(group, |state, _| known(&state.groups, group)).ok().flatten();
        let known = match known {
            Some(known) if !known.members.is_empty() || known.has_promises => return Some(known),
            known => known,
        };
        let has_committed = self.journals.one(group).with_offsets(|offsets| offsets.of(group).next().is_some());
        has_committed.then(|| known.unwrap_or_else(GroupStatus::of_offsets))
    }

    /// The groups that have members or committed offsets, in order of name.
    pub fn groups(&self) -> Vec<(Arc<str>, GroupStatus)> {
        let mut all: BTreeMap<Arc<str>, GroupStatus> = BTreeMap::new();
        let mut stored: Vec<(Arc<str>, StoredGroup)> = Vec::new();
        for journal in self.journals.all() {
            let named = |name: &Arc<str>| (name.clone(), GroupStatus::of_offsets());
            journal.with_groups(|groups, offsets| {
                all.extend(offsets.groups().map(named));
                stored.extend(groups.iter().map(|(name, group)| (name.clone(), group.clone())));
            });
        }
        let mut state = self.shared.lock();
        state.refresh_topics();
        let unread = stored.into_iter().filter(|(name, _)| !state.groups.contains(name));
        let unread = unread.filter_map(|(name, group)| Some((name, stored_status(&state, &group)?)));
        let classic = state.groups.iter().map(|(name, group)| (name, GroupStatus::of_classic(group)));
        let consumer = state.groups.consumer_groups().map(|(name, group)| (name, GroupStatus::of_consumer(group)));
        let read = classic.chain(consumer).map(|(name, status)| (name.clone(), status));
        for (name, status) in unread.chain(read) {
            if !status.members.is_empty() || status.has_promises || all.contains_key(&name) {
                all.insert(name, status);
            }
        }
        all.into_iter().collect()
    }
}

/// A group that is not in memory.
fn stored_status(state: &State, group: &StoredGroup) -> Option<GroupStatus> {
    let limits = GroupLimits::default();
    Some(match restored::<usize>(&group.state, state.groups.topics(), &limits, Duration::ZERO).ok()? {
        Restored::Classic(group) => GroupStatus::of_classic(&group),
        Restored::Consumer(group) => GroupStatus::of_consumer(&group),
    })
}

/// A group that has or had members.
fn known(groups: &Groups<usize>, name: &str) -> Option<GroupStatus> {
    let consumer = || groups.consumer_group(name).map(GroupStatus::of_consumer);
    groups.get(name).map(GroupStatus::of_classic).or_else(consumer)
}
