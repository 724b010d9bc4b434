//! The strategy `range` of Kafka's consumers: the members that want a topic get consecutive partitions of it, in equal
//! numbers or one more.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The strategy's name in a group.
pub const RANGE: &str = "range";

/// A member and the topics that it wants, by name or by id.
#[derive(Debug, Clone)]
pub struct Wanting<K> {
    /// The member's id.
    pub member: Arc<str>,
    /// The instance under which it returns after a restart. Members with an instance get the same partitions again.
    pub instance: Option<Arc<str>>,
    /// The topics.
    pub topics: BTreeSet<K>,
}

/// A member and its share: topics and their partitions.
pub type RangeShare<K> = (Arc<str>, Vec<(K, Range<u32>)>);

/// The shares of all members, by id. `partitions` has the number of partitions of each topic that exists.
pub fn divide_by_range<K: Ord + Clone>(members: &[Wanting<K>], partitions: &BTreeMap<K, u32>) -> Vec<RangeShare<K>> {
    let mut order: Vec<&Wanting<K>> = members.iter().collect();
    // Instances first, as Kafka's clients have them.
    order.sort_by_key(|one| (one.instance.is_none(), one.instance.clone(), one.member.clone()));
    let mut shares: BTreeMap<&Arc<str>, Vec<(K, Range<u32>)>> =
        members.iter().map(|one| (&one.member, Vec::new())).collect();
    let topics: BTreeSet<&K> = members.iter().flat_map(|one| &one.topics).collect();
    for topic in topics {
        let Some(partitions) = partitions.get(topic) else { continue };
        let wanting: Vec<&Wanting<K>> = order.iter().copied().filter(|one| one.topics.contains(topic)).collect();
        for (place, one) in wanting.iter().enumerate() {
            let range = range(*partitions, wanting.len() as u32, place as u32);
            let Some(share) = shares.get_mut(&one.member).filter(|_| !range.is_empty()) else { continue };
            share.push((topic.clone(), range));
        }
    }
    shares.into_iter().map(|(member, share)| (member.clone(), share)).collect()
}

/// The part of `all` for the one at `place` among several.
fn range(all: u32, among: u32, place: u32) -> Range<u32> {
    let begin = |place: u32| place * (all / among) + place.min(all % among);
    begin(place)..begin(place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanting(member: &str, instance: Option<&str>, topics: &[&'static str]) -> Wanting<&'static str> {
        let topics = topics.iter().copied().collect();
        Wanting { member: member.into(), instance: instance.map(Arc::from), topics }
    }

    fn shares(members: &[Wanting<&'static str>]) -> Vec<RangeShare<&'static str>> {
        divide_by_range(members, &[("a", 5), ("b", 2)].into())
    }

    #[test]
    fn each_partition_has_one_member() {
        let members = ["x", "y", "z"].map(|member| wanting(member, None, &["a", "b", "none"]));
        assert_eq!(
            shares(&members),
            [
                ("x".into(), vec![("a", 0..2), ("b", 0..1)]),
                ("y".into(), vec![("a", 2..4), ("b", 1..2)]),
                ("z".into(), vec![("a", 4..5)]),
            ]
        );
    }

    #[test]
    fn members_get_what_they_want_and_instances_come_first() {
        let members = [wanting("x", None, &["b"]), wanting("y", Some("i"), &["b"]), wanting("z", None, &["a"])];
        assert_eq!(
            shares(&members),
            [("x".into(), vec![("b", 1..2)]), ("y".into(), vec![("b", 0..1)]), ("z".into(), vec![("a", 0..5)])]
        );
    }
}
