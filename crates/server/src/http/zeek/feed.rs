//! The records that a client has subscribed to: a position in each partition of the topics that match.
//!
//! It holds no records. What it delivers is read from the log, so a slow client costs one read.

use super::topic;
use crate::http::Api;
use crate::http::topics;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rawline_broker::{Partition, Topic};
use rawline_contract::Payload;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How often it looks for new topics.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a partition is waited for at once.
const WAIT: Duration = Duration::from_secs(300);

/// A partition of a topic.
pub(super) type Key = (String, u32);

type Waiting = Pin<Box<dyn Future<Output = Key> + Send>>;

/// Where a client is in a partition.
pub(super) struct Position {
    pub partition: Arc<Partition>,
    /// Zeek's name of the topic.
    pub topic: String,
    /// Offset of the next record.
    pub next: u64,
}

/// What a client has subscribed to.
pub(super) struct Feed {
    prefixes: Vec<String>,
    /// The same for our names.
    name_prefixes: Vec<String>,
    positions: BTreeMap<Key, Position>,
    waiting: FuturesUnordered<Waiting>,
    ready: BTreeSet<Key>,
    /// What the client has published itself and isn't passed yet, by topic: it doesn't get it back.
    own: BTreeMap<String, VecDeque<Range<u64>>>,
    looks: Interval,
}

impl Feed {
    /// From the end of the topics that exist now, and the first record of those that come later.
    pub async fn new(api: &Api, prefixes: Vec<String>) -> Feed {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut feed = Feed {
            name_prefixes: prefixes.iter().map(|prefix| topic::name_prefix(prefix)).collect(),
            prefixes,
            positions: BTreeMap::new(),
            waiting: FuturesUnordered::new(),
            ready: BTreeSet::new(),
            own: BTreeMap::new(),
            looks,
        };
        feed.look(api, true).await;
        feed
    }

    /// A partition with new records, or one that has ended. May be dropped while it waits.
    pub async fn ready(&mut self, api: &Api) -> Key {
        loop {
            if let Some(key) = self.ready.pop_first() {
                return key;
            }
            if self.prefixes.is_empty() {
                return std::future::pending().await;
            }
            tokio::select! {
                Some(key) = self.waiting.next() => return key,
                _ = self.looks.tick() => self.look(api, false).await,
            }
        }
    }

    /// The position in a partition.
    pub fn position(&mut self, key: &Key) -> Option<&mut Position> {
        self.positions.get_mut(key)
    }

    /// All of the partition up to its position is delivered; there may be more.
    pub fn proceed(&mut self, key: Key, has_more: bool) {
        let Some(position) = self.positions.get(&key) else { return };
        if has_more {
            self.ready.insert(key);
        } else {
            self.waiting.push(wait(key, position));
        }
    }

    /// The partition is gone.
    pub fn remove(&mut self, key: &Key) {
        self.positions.remove(key);
        self.own.remove(&key.0);
    }

    /// The client has published these records of a topic.
    pub fn published(&mut self, name: String, topic: &str, offsets: Range<u64>) {
        if !self.matches(topic) {
            return;
        }
        let own = self.own.entry(name).or_default();
        match own.back_mut() {
            Some(last) if last.end == offsets.start => last.end = offsets.end,
            _ => own.push_back(offsets),
        }
    }

    /// The first record from `offset` on that the client hasn't published, and where the next one is that it has.
    pub fn next_of_others(&mut self, key: &Key, mut offset: u64) -> (u64, u64) {
        let Some(own) = self.own.get_mut(&key.0).filter(|_| key.1 == 0) else { return (offset, u64::MAX) };
        while let Some(range) = own.front() {
            if offset < range.start {
                return (offset, range.start);
            }
            offset = offset.max(range.end);
            own.pop_front();
        }
        (offset, u64::MAX)
    }

    fn matches(&self, topic: &str) -> bool {
        self.prefixes.iter().any(|prefix| topic.starts_with(prefix))
    }

    /// Adds the partitions that match and aren't there.
    async fn look(&mut self, api: &Api, is_first: bool) {
        if self.prefixes.is_empty() {
            return;
        }
        for topic in api.broker.topics() {
            let name = topic.status().name;
            if !self.name_prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            let Some(text) = topic::decode(&name).filter(|text| self.matches(text)) else { continue };
            if topics::payload(&topic) == Payload::Value {
                self.join(&topic, &name, &text, is_first).await;
            }
        }
    }

    async fn join(&mut self, topic: &Topic, name: &str, text: &str, is_first: bool) {
        for number in 0..topic.partitions() {
            let key = (name.to_owned(), number);
            if self.positions.contains_key(&key) {
                continue;
            }
            // The log reports what can't be opened.
            let Ok(partition) = topic.partition(number.into()).await else { continue };
            let Range { start, end } = partition.offsets();
            let next = if is_first { end } else { start };
            let position = Position { partition, topic: text.to_owned(), next };
            self.waiting.push(wait(key.clone(), &position));
            self.positions.insert(key, position);
        }
    }
}

/// Returns the partition when it has a record at its position.
fn wait(key: Key, position: &Position) -> Waiting {
    let (partition, next) = (position.partition.clone(), position.next);
    Box::pin(async move {
        partition.wait(next, WAIT).await;
        key
    })
}
