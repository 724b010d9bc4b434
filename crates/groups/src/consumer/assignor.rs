//! Assigns partitions to the members of a group, each of which wants some topics.

use super::partitions::Partitions;
use crate::range::{RANGE, Wanting, divide_by_range};
use rawline_journal::TopicId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A strategy of the broker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Assignor {
    /// All members get equally many partitions, as far as they want the same topics. A member keeps its partitions,
    /// unless it has too many.
    #[default]
    Uniform,
    /// Of each topic, all members that want it get consecutive partitions.
    Range,
}

impl Assignor {
    /// All of them, the default first.
    pub const ALL: [Assignor; 2] = [Assignor::Uniform, Assignor::Range];

    /// As Kafka's clients call it.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Uniform => "uniform",
            Assignor::Range => RANGE,
        }
    }

    /// The one with this name, if there is one.
    pub fn named(name: &str) -> Option<Assignor> {
        Assignor::ALL.into_iter().find(|assignor| assignor.name() == name)
    }

    /// The shares of all members. `had` has their previous shares, `partitions` the number of partitions of
    /// each topic that exists.
    pub fn divide(
        self,
        members: &[Wanting<TopicId>],
        had: &BTreeMap<Arc<str>, Partitions>,
        partitions: &BTreeMap<TopicId, u32>,
    ) -> BTreeMap<Arc<str>, Partitions> {
        match self {
            Assignor::Uniform => uniform(members, had, partitions),
            Assignor::Range => {
                let one_by_one = |share: Vec<(TopicId, std::ops::Range<u32>)>| {
                    share.into_iter().flat_map(|(topic, range)| range.map(move |number| (topic, number))).collect()
                };
                let shares = divide_by_range(members, partitions).into_iter();
                shares.map(|(member, share)| (member, one_by_one(share))).collect()
            }
        }
    }
}

/// A member's share while it grows.
struct Share<'a> {
    wanting: &'a Wanting<TopicId>,
    partitions: Partitions,
    /// Number of partitions.
    count: usize,
}

impl Share<'_> {
    fn take(&mut self, topic: TopicId, number: u32) {
        self.partitions.insert(topic, number);
        self.count += 1;
    }
}

/// Members keep what they have, partitions without a member go to those with the fewest, and then single partitions
/// move from members with too many to others that want their topic.
fn uniform(
    members: &[Wanting<TopicId>],
    had: &BTreeMap<Arc<str>, Partitions>,
    partitions: &BTreeMap<TopicId, u32>,
) -> BTreeMap<Arc<str>, Partitions> {
    let mut shares: Vec<Share<'_>> = members.iter().map(|wanting| Share::new(wanting, had, partitions)).collect();
    let wanting_of = |topic: TopicId| -> Vec<usize> {
        (0..members.len()).filter(|at| members.get(*at).is_some_and(|one| one.topics.contains(&topic))).collect()
    };
    for (&topic, &count) in partitions {
        let wanting = wanting_of(topic);
        let taken: BTreeSet<u32> =
            shares.iter().filter_map(|share| share.partitions.of(topic)).flatten().copied().collect();
        for number in (0..count).filter(|number| !taken.contains(number)) {
            if let Some(share) = fewest(&mut shares, &wanting) {
                share.take(topic, number);
            }
        }
    }
    // First from members with more than the average, so that no member gives up a partition that it would get back.
    let average = shares.iter().map(|share| share.count).sum::<usize>().div_ceil(members.len().max(1));
    for enough in [average, 0] {
        // Each move makes the counts more equal, so this ends.
        let mut moved = true;
        while moved {
            moved = false;
            for &topic in partitions.keys() {
                let wanting = wanting_of(topic);
                while move_one(&mut shares, &wanting, topic, enough) {
                    moved = true;
                }
            }
        }
    }
    shares.into_iter().map(|share| (share.wanting.member.clone(), share.partitions)).collect()
}

impl<'a> Share<'a> {
    /// Begins with the member's previous partitions that it still wants.
    fn new(
        wanting: &'a Wanting<TopicId>,
        had: &BTreeMap<Arc<str>, Partitions>,
        partitions: &BTreeMap<TopicId, u32>,
    ) -> Share<'a> {
        let exists = |topic: TopicId, number: u32| partitions.get(&topic).is_some_and(|count| number < *count);
        let had = had.get(&wanting.member).into_iter().flat_map(Partitions::iter);
        let kept: Partitions =
            had.filter(|(topic, number)| wanting.topics.contains(topic) && exists(*topic, *number)).collect();
        Share { wanting, count: kept.len(), partitions: kept }
    }
}

/// Of the members at these places, the first of those with the fewest partitions.
fn fewest<'s, 'a>(shares: &'s mut [Share<'a>], places: &[usize]) -> Option<&'s mut Share<'a>> {
    let count = |place: &usize| shares.get(*place).map_or(usize::MAX, |share| share.count);
    let place = places.iter().copied().min_by_key(count)?;
    shares.get_mut(place)
}

/// Moves a partition of the topic from a member with too many, and more than `enough`, to one with too few, if there
/// are such.
fn move_one(shares: &mut [Share<'_>], wanting: &[usize], topic: TopicId, enough: usize) -> bool {
    let holders = wanting.iter().filter_map(|place| shares.get(*place)?.partitions.of(topic).map(|_| *place));
    let count = |place: &usize| shares.get(*place).map_or(0, |share| share.count);
    let (Some(most), Some(least)) = (holders.max_by_key(count), wanting.iter().copied().min_by_key(count)) else {
        return false;
    };
    if count(&most) < count(&least) + 2 || count(&most) <= enough {
        return false;
    }
    let Some(giver) = shares.get_mut(most) else { return false };
    let Some(number) = giver.partitions.of(topic).and_then(|numbers| numbers.last().copied()) else { return false };
    giver.partitions.remove(topic, number);
    giver.count -= 1;
    if let Some(taker) = shares.get_mut(least) {
        taker.take(topic, number);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(number: u8) -> TopicId {
        TopicId::from_bytes([number; 16])
    }

    fn wanting(member: usize, topics: impl IntoIterator<Item = u8>) -> Wanting<TopicId> {
        let topics = topics.into_iter().map(topic).collect();
        Wanting { member: format!("m{member}").into(), instance: None, topics }
    }

    /// Members come and go, and topics grow: each partition has one member that wants its topic, those that want the
    /// same have equally many, and no partition moves without need.
    #[test]
    fn uniform_shares_are_equal_and_stay() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let topics: BTreeMap<TopicId, u32> = (0..4).map(|n| (topic(n), random.u32(1..8))).collect();
            let mut had = BTreeMap::new();
            for _ in 0..6 {
                let members: Vec<_> = (0..random.usize(1..6)).map(|member| wanting(member, 0..4)).collect();
                let shares = Assignor::Uniform.divide(&members, &had, &topics);
                let all: Vec<_> = shares.values().flat_map(Partitions::iter).collect();
                assert_eq!(all.len(), topics.values().sum::<u32>() as usize, "seed {seed}");
                assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "seed {seed}");
                let counts: BTreeSet<usize> = shares.values().map(Partitions::len).collect();
                assert!(counts.last().unwrap() - counts.first().unwrap() <= 1, "seed {seed}: {counts:?}");
                assert_eq!(Assignor::Uniform.divide(&members, &shares, &topics), shares, "seed {seed}");
                let needed = all.len() / members.len();
                for (member, share) in &shares {
                    let before = had.get(member).map_or(0, Partitions::len);
                    let kept = had.get(member).map_or(0, |had: &Partitions| had.and(share).len());
                    assert!(kept >= before.min(needed), "seed {seed}: {member} keeps {kept} of {before}");
                }
                had = shares;
            }
        }
    }

    #[test]
    fn members_get_only_what_they_want() {
        let topics: BTreeMap<TopicId, u32> = [(topic(0), 4), (topic(1), 3)].into();
        let members = [wanting(0, [0]), wanting(1, [0, 1]), wanting(2, [7])];
        for assignor in Assignor::ALL {
            let shares = assignor.divide(&members, &BTreeMap::new(), &topics);
            let counts: Vec<usize> = shares.values().map(Partitions::len).collect();
            let expected = if assignor == Assignor::Uniform { [3, 4, 0] } else { [2, 5, 0] };
            assert_eq!(counts, expected, "{assignor:?}: {shares:?}");
            assert_eq!(Assignor::named(assignor.name()), Some(assignor));
        }
        assert_eq!(Assignor::named("sticky"), None);
    }
}
