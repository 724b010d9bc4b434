//! One subscription: its next delivery.

use super::positions::{Positions, Slow, Turn};
use crate::broker::Broker;
use crate::listed::TopicsByName;
use crate::notify::{Inbox, Key, Registered, Subject, Wanted};
use crate::partition::Partition;
use crate::read::ReadError;
use crate::topic_error::TopicError;
use crate::topics::Topic;
use rawline_journal::CLOCK_BACK_US;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// The topics of a subscription, and its start.
#[derive(Debug, Clone)]
pub struct Subscribe {
    /// Topics that exist.
    pub names: Vec<String>,
    /// All topics whose names begin with one of these, also those that are created later.
    pub prefixes: Vec<String>,
    /// Of each topic this partition only.
    pub partition: Option<u32>,
    /// The records that were appended after this time, in microseconds since the Unix epoch; `None` for those that are
    /// appended from now on.
    pub after_us: Option<u64>,
    /// Where to begin in some partitions instead, by their topics' names and their numbers.
    pub positions: BTreeMap<(String, u32), Position>,
    /// The action when the subscriber is too slow.
    pub slow: Slow,
    /// Maximum lag in a partition: records from the subscriber's position to the end.
    pub lag_max: Option<u64>,
}

/// Where to begin in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The [`Introduction`] of the topic to which this applies. If another one has its name, all of that one's records
    /// are delivered. Without it, this applies to any topic that has this many records.
    pub topic: Option<u32>,
    /// Offset of the next record.
    pub next_offset: u64,
}

/// A short form of a topic's id: topics that have the same name one after the other differ in it.
pub type Introduction = u32;

/// The next delivery.
#[derive(Debug)]
pub enum Event {
    /// A partition has records. The caller reads them, and reports that with [`Subscription::delivered`].
    Records(Records),
    /// A topic was deleted. The subscription continues with the others.
    Deleted {
        /// Its name.
        topic: Arc<str>,
    },
    /// All topics were deleted, and none can join.
    Ended,
    /// The subscriber is too slow.
    TooSlow {
        /// The partition in which its lag is too large.
        records: Records,
        /// By how many records.
        lag: u64,
    },
}

/// A partition whose turn it is.
#[derive(Clone)]
pub struct Records {
    key: Key,
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub number: u32,
    /// The partition.
    pub partition: Arc<Partition>,
    /// Offset of the next record.
    pub offset: u64,
    /// How many offsets before it were skipped since the partition's turn before.
    pub skipped: u64,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Records { topic, number, offset, skipped, .. } = self;
        write!(formatter, "{topic}/{number} from {offset}, {skipped} skipped")
    }
}

/// A subscription. It ends when it is dropped.
pub struct Subscription {
    registered: Registered,
    request: Subscribe,
    /// A partition without a position is at its first record after this time.
    after_us: u64,
    /// Whether each commit from now on is later than that.
    is_in_past: bool,
    positions: Positions,
    /// The topics that were named and aren't deleted, by number.
    named: Vec<u64>,
    topics: BTreeMap<u64, Arc<Subject>>,
    /// Topics whose short ids the subscriber knows.
    introduced: BTreeSet<u64>,
    partitions: BTreeMap<Key, Arc<Partition>>,
    deleted: VecDeque<Arc<str>>,
    /// Whether all topics have to be looked at.
    must_look: bool,
}

/// Whether the newest object's time is from the future, because a clock was ahead: times go back to the present then.
fn is_ahead(newest_us: u64, now_us: u64) -> bool {
    newest_us > now_us.saturating_add(CLOCK_BACK_US)
}

impl Broker {
    /// Begins a subscription. A record that is committed meanwhile is neither lost nor delivered twice to those who go
    /// on from [`Subscription::after_us`] and [`Subscription::positions`].
    pub async fn subscribe(&self, request: Subscribe) -> Result<Subscription, TopicError> {
        let mut topics = Vec::with_capacity(request.names.len());
        for name in &request.names {
            if let Some(number) = request.partition {
                self.partition(name, number.into()).await?;
            }
            topics.push(self.topic(name).await?);
        }
        let wanted = Wanted { names: request.names.clone(), prefixes: request.prefixes.clone() };
        let (registered, newest_us) = self.register(wanted);
        let now_us = self.now_us();
        let is_ahead = is_ahead(newest_us, now_us);
        // All commits from now on are later.
        let newest_us = if is_ahead { now_us.saturating_sub(CLOCK_BACK_US) } else { newest_us };
        let after_us = request.after_us.unwrap_or(newest_us);
        let mut subscription = Subscription {
            registered,
            after_us,
            is_in_past: after_us <= newest_us,
            positions: Positions::new(request.slow, request.lag_max),
            named: topics.iter().map(|topic| topic.topic.stored.subject().number).collect(),
            topics: BTreeMap::new(),
            introduced: BTreeSet::new(),
            partitions: BTreeMap::new(),
            deleted: VecDeque::new(),
            must_look: false,
            request,
        };
        for topic in &topics {
            subscription.begin(topic)?;
        }
        // Nothing is after the end yet, and the times of commits say what is after it: in one journal they grow.
        let is_exact = self.journals() == 1
            && !is_ahead
            && subscription.request.after_us.is_none()
            && subscription.request.positions.is_empty();
        if !is_exact {
            let prefixes = subscription.request.prefixes.clone();
            for topic in self.with_prefixes(&self.list(), &prefixes) {
                subscription.begin(&topic)?;
            }
        }
        Ok(subscription)
    }

    /// The topics whose names begin with one of these. One that begins with several comes as often.
    fn with_prefixes<'a>(
        &'a self,
        list: &'a TopicsByName,
        prefixes: &'a [String],
    ) -> impl Iterator<Item = Arc<Topic>> + 'a {
        let listed = prefixes.iter().flat_map(move |prefix| list.range(prefix, Bound::Unbounded));
        // A topic that was deleted meanwhile has lost its name to another.
        listed.filter_map(move |listed| {
            let found = self.known(listed.topic_name());
            found.filter(|topic| Arc::ptr_eq(&topic.topic.stored, &listed.0))
        })
    }

    /// The partition of a topic, unless it is deleted.
    async fn partition_of(&self, subject: &Arc<Subject>, number: u32) -> Option<Arc<Partition>> {
        let topic = self.topic(&subject.name).await.ok()?;
        if !Arc::ptr_eq(topic.topic.stored.subject(), subject) {
            return None;
        }
        topic.partition(number.into()).ok()
    }
}

impl Subscription {
    /// The next delivery. Cancel-safe.
    pub async fn next(&mut self, broker: &Broker) -> Result<Event, ReadError> {
        loop {
            self.take_news();
            if self.must_look {
                self.look(broker);
            }
            if let Some(topic) = self.deleted.pop_front() {
                return Ok(Event::Deleted { topic });
            }
            if self.request.prefixes.is_empty() && self.named.is_empty() {
                return Ok(Event::Ended);
            }
            match self.positions.turn() {
                Some(key) => {
                    if let Some(event) = self.turn(broker, key).await? {
                        return Ok(event);
                    }
                }
                None => self.inbox().arrived().await,
            }
        }
    }

    /// Whether nothing can be delivered now.
    pub fn is_idle(&mut self) -> bool {
        self.take_news();
        self.positions.turn().is_none() && self.deleted.is_empty() && !self.must_look
    }

    /// The records of a turn up to `next_offset` are delivered, where `end_offset` is the end of the readable records.
    pub fn delivered(&mut self, records: &Records, next_offset: u64, end_offset: u64) {
        self.positions.delivered(records.key, next_offset, end_offset);
    }

    /// The short id of a topic with records, once, unless the positions with which the subscription began have it.
    pub fn introduce(&mut self, records: &Records) -> Option<Introduction> {
        let short_id = self.topics.get(&records.key.0)?.short_id;
        self.introduced.insert(records.key.0).then_some(short_id)
    }

    /// The partition of a turn is deleted.
    pub fn gone(&mut self, records: &Records) {
        self.forget(records.key);
    }

    /// A partition without a position is at its first record after this time, in microseconds since the Unix epoch.
    pub fn after_us(&self) -> u64 {
        self.after_us
    }

    /// The positions in partitions, those of a topic one after the other: its name, its short id, the partition's
    /// number, and the offset of the next record.
    pub fn positions(&self) -> impl Iterator<Item = (&Arc<str>, Introduction, u32, u64)> {
        self.positions.iter().filter_map(|((topic, number), next_offset)| {
            let subject = self.topics.get(&topic)?;
            Some((&subject.name, subject.short_id, number, next_offset))
        })
    }

    fn inbox(&self) -> &Inbox {
        &self.registered.inbox
    }

    /// Takes in what commits have reported.
    fn take_news(&mut self) {
        let news = self.inbox().take();
        self.must_look |= news.is_incomplete;
        for (key, (subject, first_offset)) in news.committed {
            if self.positions.knows(key) {
                self.positions.enqueue(key);
            } else if self.wants(&subject, key.1) {
                self.topics.entry(subject.number).or_insert(subject);
                match self.is_in_past {
                    true => {
                        self.positions.place(key, first_offset);
                        self.positions.enqueue(key);
                    }
                    false => self.positions.seek(key),
                }
            }
        }
        for subject in news.deleted {
            self.topic_deleted(&subject);
        }
    }

    fn topic_deleted(&mut self, subject: &Arc<Subject>) {
        let is_named = self.named.contains(&subject.number);
        let is_known = self.topics.remove(&subject.number).is_some();
        if is_named || is_known || self.matches_prefix(&subject.name) {
            self.deleted.push_back(subject.name.clone());
        }
        self.introduced.remove(&subject.number);
        self.named.retain(|number| *number != subject.number);
        for key in self.positions.forget_topic(subject.number) {
            self.partitions.remove(&key);
        }
    }

    fn wants(&self, subject: &Subject, partition: u32) -> bool {
        self.request.partition.is_none_or(|wanted| wanted == partition)
            && (self.named.contains(&subject.number) || self.matches_prefix(&subject.name))
    }

    fn matches_prefix(&self, name: &str) -> bool {
        self.request.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Decides where to begin in the partitions of a topic that exists.
    fn begin(&mut self, topic: &Topic) -> Result<(), TopicError> {
        let subject = topic.topic.stored.subject().clone();
        for number in 0..topic.partitions() {
            let key = (subject.number, number);
            if self.request.partition.is_some_and(|wanted| wanted != number) || self.positions.knows(key) {
                continue;
            }
            let partition = topic.partition(number.into())?;
            self.topics.entry(subject.number).or_insert_with(|| subject.clone());
            self.begin_in(key, &partition, &subject);
            if self.positions.knows(key) {
                self.partitions.insert(key, partition);
            }
        }
        Ok(())
    }

    fn begin_in(&mut self, key: Key, partition: &Partition, subject: &Subject) {
        partition.note_reader();
        let (end, has_newer) = {
            let index = partition.index();
            let is_newer = |newest_us: Option<u64>| newest_us.is_none_or(|newest_us| newest_us > self.after_us);
            (index.next_offset(), index.objects() > 0 && is_newer(index.appended_us()))
        };
        let given = self.request.positions.get(&(partition.topic.name.clone(), key.1)).copied();
        let given = given.and_then(|Position { topic, next_offset }| match topic {
            Some(topic) if topic != subject.short_id => Some(0),
            Some(_) => {
                self.introduced.insert(key.0);
                Some(next_offset)
            }
            // One that lies after the end is of another topic of that name, which was deleted.
            None => Some(next_offset).filter(|next| *next <= end),
        });
        if let Some(next) = given {
            self.positions.place(key, next);
            if next < end {
                self.positions.enqueue(key);
            }
        } else if self.request.after_us.is_none() {
            self.positions.place(key, end);
        } else if has_newer {
            self.positions.seek(key);
        } else if self.is_in_past && self.named.contains(&key.0) {
            self.positions.place(key, end);
        }
    }

    /// Looks at all partitions, after more has happened than was noted.
    fn look(&mut self, broker: &Broker) {
        let gone: Vec<Arc<Subject>> = {
            let is_deleted =
                |key: &Key| self.partitions.get(key).is_some_and(|known| known.topic.stored.life.is_deleted());
            let topics = self.positions.keys().filter(is_deleted).filter_map(|key| self.topics.get(&key.0));
            topics.cloned().collect()
        };
        for subject in gone {
            if self.topics.contains_key(&subject.number) {
                self.topic_deleted(&subject);
            }
        }
        let (names, prefixes) = (self.request.names.clone(), self.request.prefixes.clone());
        let known = names.iter().filter_map(|name| broker.known(name));
        let named: Vec<_> = known.filter(|topic| self.named.contains(&topic.topic.stored.subject().number)).collect();
        named.iter().for_each(|topic| self.look_at(topic));
        broker.with_prefixes(&broker.list(), &prefixes).for_each(|topic| self.look_at(&topic));
        self.must_look = false;
    }

    fn look_at(&mut self, topic: &Topic) {
        let subject = topic.topic.stored.subject();
        for number in 0..topic.partitions() {
            let key = (subject.number, number);
            if self.request.partition.is_some_and(|wanted| wanted != number) {
                continue;
            }
            // The log reports what can't be opened.
            let Ok(partition) = topic.partition(number.into()) else { continue };
            if self.positions.knows(key) {
                self.positions.enqueue(key);
                continue;
            }
            let newest_us = partition.index().appended_us();
            if newest_us.is_some_and(|newest_us| newest_us > self.after_us) {
                self.topics.entry(subject.number).or_insert_with(|| subject.clone());
                self.positions.seek(key);
            }
        }
    }

    /// The turn of a partition; `None` if it isn't used.
    async fn turn(&mut self, broker: &Broker, key: Key) -> Result<Option<Event>, ReadError> {
        let Some(partition) = self.partition(broker, key).await else {
            self.forget(key);
            return Ok(None);
        };
        if self.positions.next(key).is_none() {
            match partition.offset_at(self.after_us.saturating_add(1)).await {
                // It begins with a commit that is yet to come.
                Ok(found) if found == partition.offsets().end && !self.is_in_past => {
                    self.forget(key);
                    return Ok(None);
                }
                Ok(found) => self.positions.place(key, found),
                Err(ReadError::TopicDeleted { .. }) => {
                    self.forget(key);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        let offsets = partition.offsets();
        let readable = offsets.start..partition.stable_offset().max(offsets.start);
        let topic =
            self.topics.get(&key.0).map_or_else(|| partition.topic.name.as_str().into(), |known| known.name.clone());
        let records = |offset, skipped| Records { key, topic, number: key.1, partition, offset, skipped };
        Ok(match self.positions.begin(key, &readable) {
            Some(Turn::Deliver { offset, skipped }) => Some(Event::Records(records(offset, skipped))),
            Some(Turn::TooSlow { lag }) => Some(Event::TooSlow { records: records(readable.end - lag, 0), lag }),
            None => None,
        })
    }

    async fn partition(&mut self, broker: &Broker, key: Key) -> Option<Arc<Partition>> {
        if let Some(known) = self.partitions.get(&key) {
            return Some(known.clone());
        }
        let subject = self.topics.get(&key.0)?.clone();
        let partition = broker.partition_of(&subject, key.1).await?;
        self.partitions.insert(key, partition.clone());
        Some(partition)
    }

    fn forget(&mut self, key: Key) {
        self.positions.forget(key);
        self.partitions.remove(&key);
    }
}
