//! The topics that a group's members want: by name, or by a regular expression that their names match.

use super::member::ConsumerMember;
use super::visible::Visible;
use crate::error::GroupError;
use crate::limits::GroupLimits;
use crate::name_pattern::{compile, prefix};
use rawline_batch::Crc32c;
use rawline_journal::TopicId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A topic that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id.
    pub id: TopicId,
    /// Its number of partitions.
    pub partitions: u32,
}

/// Where topics are looked up: there may be a million of them, so that the driver's own are used and not copied.
pub trait KnownTopics: Send + Sync {
    /// The topic with this name.
    fn named(&self, name: &str) -> Option<KnownTopic>;

    /// Visits the topics whose names begin with a prefix.
    fn each(&self, prefix: &str, visit: &mut dyn FnMut(KnownTopic));
}

/// The topics that exist, as far as the driver has seen.
#[derive(Clone, Default)]
pub struct TopicList {
    known: Option<(u64, Arc<dyn KnownTopics>)>,
}

impl TopicList {
    /// Another list has another version.
    pub fn new(version: u64, topics: Arc<dyn KnownTopics>) -> TopicList {
        TopicList { known: Some((version, topics)) }
    }

    /// Its version; `None` if it was never seen.
    pub fn version(&self) -> Option<u64> {
        self.known.as_ref().map(|(version, _)| *version)
    }

    fn named(&self, name: &str) -> Option<KnownTopic> {
        self.known.as_ref()?.1.named(name)
    }

    fn each(&self, prefix: &str, visit: &mut dyn FnMut(KnownTopic)) {
        if let Some((_, topics)) = &self.known {
            topics.each(prefix, visit);
        }
    }
}

impl fmt::Debug for TopicList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicList").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// A topic that a group's members want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Its number of partitions.
    pub partitions: u32,
}

/// A regular expression, and the topics that it may match.
pub type Pattern = (Arc<str>, Arc<Visible>);

/// The topics that the members of a group want.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The topics that exist.
    pub topics: BTreeMap<TopicId, WantedTopic>,
    ids: BTreeMap<Arc<str>, TopicId>,
    /// The matches of each of the members' regular expressions, among the topics that these members may see.
    matches: BTreeMap<Pattern, BTreeSet<TopicId>>,
}

impl Wanted {
    /// The topics that these members want.
    pub fn by<'a>(
        members: impl Iterator<Item = &'a ConsumerMember>,
        topics: &TopicList,
        limits: &GroupLimits,
    ) -> Result<Wanted, GroupError> {
        let (mut wanted, mut count) = (Wanted::default(), 0);
        for member in members {
            count += 1;
            member.names.iter().filter_map(|name| topics.named(name)).for_each(|topic| wanted.add(&topic));
            if let Some(pattern) = member.pattern().filter(|pattern| !wanted.matches.contains_key(pattern)) {
                if wanted.matches.len() >= limits.regexes_max {
                    return Err(GroupError::Regexes { limit: limits.regexes_max });
                }
                let (regex, visible) = &pattern;
                let compiled =
                    compile(regex).map_err(|error| GroupError::Regex { reason: error.to_string().into() })?;
                let mut ids = BTreeSet::new();
                topics.each(prefix(regex), &mut |topic| {
                    if visible.has(&topic.name) && compiled.is_match(&topic.name) {
                        wanted.add(&topic);
                        ids.insert(topic.id);
                    }
                });
                wanted.matches.insert(pattern, ids);
            }
        }
        let pairs = wanted.topics.len().saturating_mul(count);
        if pairs > limits.pairs_max {
            return Err(GroupError::Pairs { limit: limits.pairs_max });
        }
        Ok(wanted)
    }

    fn add(&mut self, KnownTopic { name, id, partitions }: &KnownTopic) {
        self.topics.insert(*id, WantedTopic { name: name.clone(), partitions: *partitions });
        self.ids.insert(name.clone(), *id);
    }

    /// The topics that one of the members wants.
    pub fn of(&self, member: &ConsumerMember) -> BTreeSet<TopicId> {
        let named = member.names.iter().filter_map(|name| self.ids.get(name).copied());
        let matching = member.pattern().and_then(|pattern| self.matches.get(&pattern));
        named.chain(matching.into_iter().flatten().copied()).collect()
    }

    /// The topics' numbers of partitions.
    pub fn partitions(&self) -> BTreeMap<TopicId, u32> {
        self.topics.iter().map(|(id, topic)| (*id, topic.partitions)).collect()
    }

    /// Another number if members want other topics, or these have other partitions.
    pub fn crc32c(&self) -> u32 {
        let mut crc = Crc32c::new();
        for (id, topic) in &self.topics {
            crc.update(&id.to_bytes());
            crc.update(&topic.partitions.to_le_bytes());
        }
        for ((regex, _), ids) in &self.matches {
            crc.update(regex.as_bytes());
            ids.iter().for_each(|id| crc.update(&id.to_bytes()));
        }
        crc.value()
    }

    /// Their approximate memory, with the shares of members.
    pub fn bytes(&self) -> usize {
        let topic = |topic: &WantedTopic| topic.name.len() + 256 + topic.partitions as usize * 24;
        let matches: usize = self.matches.values().map(|ids| ids.len() * 24).sum();
        self.topics.values().map(topic).sum::<usize>() + matches
    }
}
