//! Sets of partitions of topics.

use rawline_journal::TopicId;
use std::collections::{BTreeMap, BTreeSet};

/// Partitions of topics. A topic without partitions isn't in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Partitions(BTreeMap<TopicId, BTreeSet<u32>>);

impl Partitions {
    /// Adds a partition.
    pub fn insert(&mut self, topic: TopicId, number: u32) {
        self.0.entry(topic).or_default().insert(number);
    }

    /// Removes a partition.
    pub fn remove(&mut self, topic: TopicId, number: u32) {
        if let Some(numbers) = self.0.get_mut(&topic) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.0.remove(&topic);
            }
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    /// Whether this partition is one of them.
    pub fn contains(&self, topic: TopicId, number: u32) -> bool {
        self.of(topic).is_some_and(|numbers| numbers.contains(&number))
    }

    /// Those of one topic, if there are any.
    pub fn of(&self, topic: TopicId) -> Option<&BTreeSet<u32>> {
        self.0.get(&topic)
    }

    /// By topic.
    pub fn topics(&self) -> impl Iterator<Item = (TopicId, &BTreeSet<u32>)> {
        self.0.iter().map(|(topic, numbers)| (*topic, numbers))
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = (TopicId, u32)> {
        self.topics().flat_map(|(topic, numbers)| numbers.iter().map(move |number| (topic, *number)))
    }

    /// Their approximate memory.
    pub fn bytes(&self) -> usize {
        self.0.values().map(|numbers| 64 + numbers.len() * 8).sum()
    }

    /// Those that are in both.
    pub fn and(&self, other: &Partitions) -> Partitions {
        self.iter().filter(|(topic, number)| other.contains(*topic, *number)).collect()
    }

    /// Those that aren't in the other.
    pub fn without(&self, other: &Partitions) -> Partitions {
        self.iter().filter(|(topic, number)| !other.contains(*topic, *number)).collect()
    }

    /// Whether any is in both.
    pub fn intersects(&self, other: &Partitions) -> bool {
        self.iter().any(|(topic, number)| other.contains(topic, number))
    }

    /// Whether the other has all of them.
    pub fn is_within(&self, other: &Partitions) -> bool {
        self.iter().all(|(topic, number)| other.contains(topic, number))
    }
}

impl Extend<(TopicId, u32)> for Partitions {
    fn extend<I: IntoIterator<Item = (TopicId, u32)>>(&mut self, partitions: I) {
        partitions.into_iter().for_each(|(topic, number)| self.insert(topic, number));
    }
}

impl FromIterator<(TopicId, u32)> for Partitions {
    fn from_iter<I: IntoIterator<Item = (TopicId, u32)>>(partitions: I) -> Partitions {
        let mut set = Partitions::default();
        set.extend(partitions);
        set
    }
}
