//! The assignment strategy of a group: one that all members support, and most prefer.

use super::member::Member;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The strategy with the most votes among those that all members support; of several, the first by name. `None` if
/// they have none in common.
pub fn choose<'a, T: Copy + 'a>(members: impl Iterator<Item = &'a Member<T>> + Clone) -> Option<Arc<str>> {
    let mut known_to: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for member in members.clone() {
        let known: BTreeSet<&Arc<str>> = member.protocols.iter().map(|(name, _)| name).collect();
        known.into_iter().for_each(|name| *known_to.entry(name).or_default() += 1);
    }
    let all = members.clone().count();
    let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for member in members {
        let preferred = member.protocols.iter().map(|(name, _)| name).find(|name| known_to.get(name) == Some(&all))?;
        *votes.entry(preferred).or_default() += 1;
    }
    // The first of the greatest.
    votes.into_iter().rev().max_by_key(|(_, votes)| *votes).map(|(name, _)| name.clone())
}
