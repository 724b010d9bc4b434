//! Lists of topics by name. A list is of one moment, and shares the journals' maps: it takes no lock while it is read,
//! and makes no handles, which take more memory than a topic that isn't used.

use crate::index::TopicIndex;
use crate::journal::JournalTopic;
use crate::journals::Journals;
use crate::partition::Status;
use crate::settings::Settings;
use rawline_groups::consumer::{KnownTopic, KnownTopics};
use rawline_journal::{SharedMap, TopicId};
use std::ops::{Bound, Range};
use std::sync::Arc;

/// A topic in a list.
#[derive(Clone)]
pub struct ListedTopic(pub(crate) Arc<JournalTopic>);

impl ListedTopic {
    /// The topic's name.
    pub fn topic_name(&self) -> &str {
        &self.0.name
    }

    /// Its id.
    pub fn topic_id(&self) -> TopicId {
        self.0.topic_id
    }

    /// Number of partitions.
    pub fn partitions(&self) -> u32 {
        self.0.partitions()
    }

    /// Its settings.
    pub fn settings(&self) -> Arc<Settings> {
        self.0.settings()
    }

    /// The extent of partition 0, with the number and the size of the objects of all partitions, and the time of the
    /// newest.
    pub fn summary(&self) -> Status {
        let mut status: Option<Status> = None;
        self.0.for_each(|extent| {
            let index = extent.index();
            let (objects, bytes, appended_us) = (index.objects() as u64, index.bytes(), index.appended_us());
            match &mut status {
                None => status = Some(of_index(&self.0.name, &index)),
                Some(status) => {
                    status.objects += objects;
                    status.bytes += bytes;
                    status.latest_commit_us = status.latest_commit_us.max(appended_us);
                }
            }
        });
        let Some(status) = status else { unreachable!("topic {} has no partition", self.0.name) };
        status
    }

    /// The offsets of each partition's records, in order.
    pub fn all_offsets(&self) -> Vec<Range<u64>> {
        let mut all = Vec::with_capacity(self.0.partitions() as usize);
        self.0.for_each(|extent| all.push(extent.index().offsets()));
        all
    }

    /// The size of each partition's objects in bytes.
    pub fn partitions_bytes(&self) -> Vec<u64> {
        let mut bytes = Vec::with_capacity(self.0.partitions() as usize);
        self.0.for_each(|extent| bytes.push(extent.index().bytes()));
        bytes
    }
}

/// The extent of a partition by its index.
pub(crate) fn of_index(name: &str, index: &TopicIndex) -> Status {
    Status {
        name: name.to_owned(),
        first_offset: index.first_offset(),
        next_offset: index.next_offset(),
        objects: index.objects() as u64,
        bytes: index.bytes(),
        latest_commit_us: index.appended_us(),
    }
}

/// All topics of some journals, as they were when the list was made.
pub(crate) struct TopicsByName(Vec<SharedMap<Arc<str>, Arc<JournalTopic>>>);

impl TopicsByName {
    pub fn new(journals: &Journals) -> TopicsByName {
        TopicsByName(journals.all().iter().map(|journal| journal.topics_by_name()).collect())
    }

    /// Those whose names begin with a prefix, from a name on, in order. Costs as much as what is taken of it, however
    /// many there are.
    pub fn range<'a>(&'a self, prefix: &'a str, begin: Bound<&'a str>) -> impl Iterator<Item = ListedTopic> + 'a {
        let (from, excluded) = match begin {
            Bound::Unbounded => (prefix, None),
            Bound::Included(name) => (name.max(prefix), None),
            Bound::Excluded(name) => (name.max(prefix), Some(name)),
        };
        let journals = self.0.iter().map(|topics| topics.range_from(from).map(|(_, topic)| topic));
        let mut heads: Vec<(&Arc<JournalTopic>, _)> =
            journals.filter_map(|mut rest| Some((rest.next()?, rest))).collect();
        std::iter::from_fn(move || {
            let names = heads.iter().map(|(topic, _)| &topic.name).enumerate();
            let (least, _) = names.min_by(|(_, one), (_, next)| one.cmp(next))?;
            let (head, rest) = heads.get_mut(least)?;
            let topic = *head;
            match rest.next() {
                Some(next) => *head = next,
                None => drop(heads.swap_remove(least)),
            }
            Some(topic)
        })
        .take_while(move |topic| topic.name.starts_with(prefix))
        .filter(move |topic| excluded != Some(&*topic.name) && !topic.life.is_deleted())
        .map(|topic| ListedTopic(topic.clone()))
    }
}

/// As consumer groups look for them.
impl KnownTopics for TopicsByName {
    fn named(&self, name: &str) -> Option<KnownTopic> {
        let found = self.0.iter().find_map(|topics| topics.get(name))?;
        (!found.life.is_deleted()).then(|| known(found))
    }

    fn each(&self, prefix: &str, visit: &mut dyn FnMut(KnownTopic)) {
        self.range(prefix, Bound::Unbounded).for_each(|topic| visit(known(&topic.0)));
    }
}

fn known(topic: &JournalTopic) -> KnownTopic {
    KnownTopic { name: topic.name.clone(), id: topic.topic_id, partitions: topic.partitions() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> (Arc<str>, Arc<JournalTopic>) {
        (name.into(), Arc::new(JournalTopic::of_test(name)))
    }

    #[test]
    fn a_range_is_of_all_journals_in_order_of_name() {
        let journals = [&["a", "ab", "b", "d"][..], &[], &["aa", "abc", "c", "dd"]];
        let list = TopicsByName(journals.map(|names| names.iter().copied().map(named).collect()).into());
        let range = |prefix, begin| -> Vec<String> {
            list.range(prefix, begin).map(|topic| topic.topic_name().to_owned()).collect()
        };
        assert_eq!(range("", Bound::Unbounded), ["a", "aa", "ab", "abc", "b", "c", "d", "dd"]);
        assert_eq!(range("a", Bound::Unbounded), ["a", "aa", "ab", "abc"]);
        assert_eq!(range("ab", Bound::Included("ab")), ["ab", "abc"]);
        assert_eq!(range("ab", Bound::Excluded("ab")), ["abc"]);
        assert_eq!(range("", Bound::Excluded("ab")), ["abc", "b", "c", "d", "dd"]);
        assert_eq!(range("", Bound::Excluded("bb")), ["c", "d", "dd"], "a name that doesn't exist");
        assert_eq!(range("c", Bound::Excluded("a")), ["c"], "before the prefix");
        assert_eq!(range("a", Bound::Excluded("c")), [""; 0], "after the prefix");
        list.range("", Bound::Unbounded)
            .filter(|topic| topic.topic_name() < "b")
            .for_each(|topic| topic.0.life.delete());
        assert_eq!(range("", Bound::Unbounded), ["b", "c", "d", "dd"], "the others are deleted");
    }
}
