//! The topics of a journal: names, ids, numbers of partitions, settings.

use crate::journals::{first_topic, journal_of_topic};
use crate::limits::PARTITIONS_MAX;
use crate::refused::Refused;
use crate::shared_map::SharedMap;
use std::sync::Arc;

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Topic {
    /// Its name. A deleted topic's name can be used again, its id never.
    pub name: Arc<str>,
    /// Its number of partitions.
    pub partitions: u32,
    /// Its settings, as they were given.
    pub settings: Arc<[u8]>,
}

/// All topics.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Topics {
    next_id: u64,
    by_id: SharedMap<u64, Topic>,
    ids: SharedMap<Arc<str>, u64>,
}

impl Default for Topics {
    fn default() -> Self {
        Topics::of_journal(0)
    }
}

impl Topics {
    /// No topics, in the journal with this number.
    pub fn of_journal(journal: u32) -> Topics {
        Topics { next_id: first_topic(journal), by_id: SharedMap::new(), ids: SharedMap::new() }
    }

    /// The topics with these ids, of which the next one is `next_id`; `None` if two of them have one name, or if one
    /// can't be.
    pub fn new(next_id: u64, by_id: SharedMap<u64, Topic>) -> Option<Topics> {
        let ids: SharedMap<_, _> = by_id.iter().map(|(id, topic)| (topic.name.clone(), *id)).collect();
        let first = first_topic(journal_of_topic(next_id));
        let is_possible = |(id, topic): (&u64, &Topic)| {
            (first..next_id).contains(id) && (1..=PARTITIONS_MAX).contains(&topic.partitions)
        };
        let is_sound = next_id >= first && ids.len() == by_id.len() && by_id.iter().all(is_possible);
        is_sound.then_some(Topics { next_id, by_id, ids })
    }

    /// The id that the next topic gets.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    /// The topic with this id.
    pub fn get(&self, id: u64) -> Option<&Topic> {
        self.by_id.get(&id)
    }

    /// The id of the topic with this name.
    pub fn id(&self, name: &str) -> Option<u64> {
        self.ids.get(name).copied()
    }

    /// Number of topics.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// All topics with their ids, in order of id.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Topic)> {
        self.by_id.iter().map(|(id, topic)| (*id, topic))
    }

    /// Whether the topic has this partition.
    pub fn check_partition(&self, id: u64, number: u32) -> Result<(), Refused> {
        let topic = self.get(id).ok_or(Refused::NoTopic { topic: id })?;
        if number < topic.partitions {
            Ok(())
        } else {
            Err(Refused::NoPartition { found: number, last: topic.partitions - 1 })
        }
    }

    /// As [`Topics::check_partition`], of a partition in which a group commits an offset. Of a topic in another journal
    /// nothing is known here.
    pub fn check_committed(&self, id: u64, number: u32) -> Result<(), Refused> {
        let is_own = journal_of_topic(id) == journal_of_topic(self.next_id);
        if is_own { self.check_partition(id, number) } else { Ok(()) }
    }

    /// Adds a topic with the next id.
    pub fn create(&mut self, id: u64, topic: Topic) -> Result<(), Refused> {
        if id != self.next_id {
            return Err(Refused::Id { expected: self.next_id, found: id });
        }
        if let Some(topic) = self.id(&topic.name) {
            return Err(Refused::Exists { topic });
        }
        check_partitions(topic.partitions, 1)?;
        self.next_id += 1;
        self.put(id, topic);
        Ok(())
    }

    /// Takes the newest topic out again, as if it had never been.
    pub fn uncreate(&mut self, id: u64) {
        assert_eq!(id + 1, self.next_id, "topics are taken out in the opposite order");
        let topic = self.remove(id);
        assert!(topic.is_ok(), "topic {id} is taken out twice");
        self.next_id = id;
    }

    /// Changes a topic. Returns its previous state.
    pub fn alter(&mut self, id: u64, partitions: u32, settings: Arc<[u8]>) -> Result<Topic, Refused> {
        let topic = self.by_id.get_mut(&id).ok_or(Refused::NoTopic { topic: id })?;
        check_partitions(partitions, topic.partitions)?;
        let name = topic.name.clone();
        Ok(std::mem::replace(topic, Topic { name, partitions, settings }))
    }

    /// Removes a topic. Returns it.
    pub fn remove(&mut self, id: u64) -> Result<Topic, Refused> {
        let topic = self.by_id.remove(&id).ok_or(Refused::NoTopic { topic: id })?;
        let named = self.ids.remove(&topic.name);
        assert_eq!(named, Some(id), "topic {:?} has two ids", topic.name);
        Ok(topic)
    }

    /// Puts a topic back as it was.
    pub fn put(&mut self, id: u64, topic: Topic) {
        assert!(id < self.next_id, "topic {id} of {}", self.next_id);
        let named = self.ids.insert(topic.name.clone(), id);
        assert!(named.is_none_or(|named| named == id), "topic {:?} has the ids {named:?} and {id}", topic.name);
        self.by_id.insert(id, topic);
    }
}

fn check_partitions(found: u32, least: u32) -> Result<(), Refused> {
    if (least..=PARTITIONS_MAX).contains(&found) {
        Ok(())
    } else {
        Err(Refused::Partitions { found, least, most: PARTITIONS_MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, partitions: u32) -> Topic {
        Topic { name: name.into(), partitions, settings: [].into() }
    }

    #[test]
    fn a_name_can_be_used_again_and_an_id_cannot() {
        let mut topics = Topics::default();
        assert_eq!(topics.create(1, topic("a", 1)), Ok(()));
        assert_eq!(topics.create(2, topic("a", 1)), Err(Refused::Exists { topic: 1 }));
        assert_eq!(topics.remove(1), Ok(topic("a", 1)));
        assert_eq!(topics.create(1, topic("a", 1)), Err(Refused::Id { expected: 2, found: 1 }));
        assert_eq!(topics.create(2, topic("a", 1)), Ok(()));
        assert_eq!((topics.id("a"), topics.get(1)), (Some(2), None));
    }

    #[test]
    fn partitions_only_become_more() {
        let mut topics = Topics::default();
        assert!(topics.create(1, topic("a", 0)).is_err());
        assert!(topics.create(1, topic("a", PARTITIONS_MAX + 1)).is_err());
        topics.create(1, topic("a", 4)).unwrap();
        let fewer = Refused::Partitions { found: 3, least: 4, most: PARTITIONS_MAX };
        assert_eq!(topics.alter(1, 3, [].into()), Err(fewer));
        assert_eq!(topics.alter(1, 5, [].into()), Ok(topic("a", 4)));
        assert_eq!(topics.check_partition(1, 4), Ok(()));
        assert_eq!(topics.check_partition(1, 5), Err(Refused::NoPartition { found: 5, last: 4 }));
        assert_eq!(topics.check_partition(2, 0), Err(Refused::NoTopic { topic: 2 }));
    }

    #[test]
    fn what_is_taken_back_has_never_been() {
        let mut topics = Topics::default();
        topics.create(1, topic("a", 1)).unwrap();
        topics.uncreate(1);
        assert_eq!(topics, Topics::default());
    }

    #[test]
    fn topics_with_one_name_or_a_future_id_are_refused() {
        let two = SharedMap::from([(1, topic("a", 1)), (2, topic("a", 1))]);
        assert_eq!(Topics::new(3, two), None);
        let future = SharedMap::from([(3, topic("a", 1))]);
        assert_eq!(Topics::new(3, future), None);
        let empty = SharedMap::from([(1, topic("a", 0))]);
        assert_eq!(Topics::new(3, empty), None);
    }
}
