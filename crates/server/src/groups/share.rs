//! Divides the partitions of topics among the members of a group, as Kafka's consumers do with the strategy `range`:
//! of each topic every member that wants it gets consecutive partitions, as many as the others or one more.

use rawline_kafka::messages::{ConsumerAssignment, ConsumerPartitions};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The strategy's name in a group.
pub const RANGE: &str = "range";

/// A member and the topics that it wants.
#[derive(Debug, Clone)]
pub struct Wanting {
    pub member: Arc<str>,
    /// The name under which it comes back after a restart. Those that have one get the same partitions again.
    pub instance: Option<Arc<str>>,
    pub topics: Vec<String>,
}

/// The shares of all members. `partitions` has the number of partitions of each topic that exists.
pub fn divide(members: &[Wanting], partitions: &BTreeMap<String, u32>) -> Vec<(Arc<str>, ConsumerAssignment)> {
    let mut order: Vec<&Wanting> = members.iter().collect();
    // Instances first, as Kafka's clients have them.
    order.sort_by_key(|one| (one.instance.is_none(), one.instance.clone(), one.member.clone()));
    let mut shares: BTreeMap<&Arc<str>, ConsumerAssignment> =
        members.iter().map(|one| (&one.member, ConsumerAssignment::default())).collect();
    let topics: BTreeSet<&String> = members.iter().flat_map(|one| &one.topics).collect();
    for topic in topics {
        let Some(partitions) = partitions.get(topic) else { continue };
        let wanting: Vec<&Wanting> = order.iter().copied().filter(|one| one.topics.contains(topic)).collect();
        for (place, one) in wanting.iter().enumerate() {
            let range = range(*partitions as usize, wanting.len(), place);
            let Some(share) = shares.get_mut(&one.member).filter(|_| !range.is_empty()) else { continue };
            let partitions = range.map(|number| number as i32).collect();
            share.assigned_partitions.push(ConsumerPartitions { topic: topic.clone(), partitions });
        }
    }
    shares.into_iter().map(|(member, share)| (member.clone(), share)).collect()
}

/// Which of `all` things the one at `place` of so many gets.
fn range(all: usize, among: usize, place: usize) -> Range<usize> {
    let begin = |place: usize| place * (all / among) + place.min(all % among);
    begin(place)..begin(place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanting(member: &str, instance: Option<&str>, topics: &[&str]) -> Wanting {
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        Wanting { member: member.into(), instance: instance.map(Arc::from), topics }
    }

    /// The partitions of each topic, by member.
    type Shares = Vec<(String, Vec<(String, Vec<i32>)>)>;

    fn shares(members: &[Wanting]) -> Shares {
        let partitions = [("a", 5), ("b", 2)].map(|(topic, count)| (topic.to_owned(), count)).into();
        let shares = divide(members, &partitions).into_iter().map(|(member, share)| {
            let share = share.assigned_partitions.into_iter().map(|of| (of.topic, of.partitions)).collect();
            (member.to_string(), share)
        });
        shares.collect()
    }

    #[test]
    fn each_partition_has_one_member() {
        let members = ["x", "y", "z"].map(|member| wanting(member, None, &["a", "b", "none"]));
        let share = |topic: &str, partitions: &[i32]| (topic.to_owned(), partitions.to_vec());
        assert_eq!(
            shares(&members),
            [
                ("x".to_owned(), vec![share("a", &[0, 1]), share("b", &[0])]),
                ("y".to_owned(), vec![share("a", &[2, 3]), share("b", &[1])]),
                ("z".to_owned(), vec![share("a", &[4])]),
            ]
        );
    }

    #[test]
    fn members_get_what_they_want_and_instances_come_first() {
        let members = [wanting("x", None, &["b"]), wanting("y", Some("i"), &["b"]), wanting("z", None, &["a"])];
        let share = |topic: &str, partitions: &[i32]| vec![(topic.to_owned(), partitions.to_vec())];
        assert_eq!(
            shares(&members),
            [
                ("x".to_owned(), share("b", &[1])),
                ("y".to_owned(), share("b", &[0])),
                ("z".to_owned(), share("a", &[0, 1, 2, 3, 4])),
            ]
        );
    }
}
