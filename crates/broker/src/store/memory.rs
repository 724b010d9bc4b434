//! Objects in memory, for tests and for topics that may be lost.

use super::{Begun, CommitError, Known, Listed, Location, ObjectAt, Store, StoreError, parse_log_name};
use crate::Kind;
use crate::Settings;
use crate::object::{Header, Object};
use bytes::{Bytes, BytesMut};
use futures_util::future::{BoxFuture, ready};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Objects in memory. They are lost when it is dropped.
#[derive(Default)]
pub struct MemoryStore {
    /// By name of the log.
    topics: Mutex<HashMap<String, BTreeMap<u64, Stored>>>,
    settings: Mutex<HashMap<String, Bytes>>,
}

struct Stored {
    header: Header,
    bytes: Bytes,
}

impl MemoryStore {
    /// A store without objects.
    pub fn new() -> Self {
        Self::default()
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<u64, Stored>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        let topics = self.topics();
        let with_objects = topics.iter().filter(|(_, objects)| !objects.is_empty()).map(|(name, _)| name);
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let topics = with_objects.chain(settings.keys()).filter_map(|log| parse_log_name(log)).map(|(topic, _)| topic);
        let names: BTreeSet<&str> = topics.collect();
        Box::pin(ready(Ok(names.into_iter().map(str::to_owned).collect())))
    }

    fn list<'a>(&'a self, topic: &'a str, from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>> {
        let topics = self.topics();
        let listed =
            topics.get(topic).map(|objects| objects.range(from..).map(|(_, stored)| stored.listed()).collect());
        Box::pin(ready(Ok(listed.unwrap_or_default())))
    }

    fn begin<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Begun, CommitError>> {
        let first_offset = object.header.first_offset;
        // Copied, because the object's parts are blocks of the pool, which wants them back.
        let mut bytes = BytesMut::with_capacity(object.header.object_bytes as usize);
        object.parts.iter().for_each(|part| bytes.extend_from_slice(part));
        assert_eq!(bytes.len() as u64, object.header.object_bytes, "the parts of the object at offset {first_offset}");
        let stored = Stored { header: object.header, bytes: bytes.freeze() };
        let mut topics = self.topics();
        let objects = topics.entry(topic.to_owned()).or_default();
        if let Some((before, stored)) = objects.range(..first_offset).next_back() {
            let end = stored.header.next_offset();
            assert!(end <= first_offset, "an object at {first_offset} overlaps {before}..{end}");
        }
        let committed = match objects.entry(first_offset) {
            std::collections::btree_map::Entry::Occupied(_) => Err(CommitError::Exists),
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(stored);
                Ok(Begun::done(Location::Memory))
            }
        };
        Box::pin(ready(committed))
    }

    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let topics = self.topics();
        let stored = topics.get(topic).and_then(|objects| objects.get(&object.first_offset));
        let got = match stored {
            Some(stored) if range.start <= range.end && range.end <= stored.bytes.len() as u64 => {
                Ok(stored.bytes.slice(range.start as usize..range.end as usize))
            }
            Some(stored) => Err(StoreError::human(format!(
                "topic {topic}: bytes {range:?} of an object of {} bytes don't exist; this is a bug in the broker, \
                 please report it",
                stored.bytes.len()
            ))),
            None => Err(StoreError::new(
                Kind::TryAgain,
                format!(
                    "topic {topic}: the object at offset {} was deleted; read from a later offset",
                    object.first_offset
                ),
            )),
        };
        Box::pin(ready(got))
    }

    fn settings<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner).get(topic).cloned();
        Box::pin(ready(Ok(settings)))
    }

    fn put_settings<'a>(&'a self, topic: &'a str, settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).insert(topic.to_owned(), settings);
        Box::pin(ready(Ok(())))
    }

    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        let mut topics = self.topics();
        let mut first_left = offset;
        if let Some(objects) = topics.get_mut(topic) {
            let newest = objects.keys().next_back().copied();
            objects.retain(|first, stored| stored.header.next_offset() > offset || Some(*first) == newest);
            first_left = objects.keys().next().copied().unwrap_or(offset);
        }
        Box::pin(ready(Ok(first_left)))
    }

    fn mark_deleted<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.put_settings(topic, Settings::deleted("memory"))
    }

    fn delete_topic<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let is_others = |log: &str| parse_log_name(log).is_none_or(|(other, _)| other != topic);
        self.topics().retain(|log, _| is_others(log));
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).retain(|log, _| is_others(log));
        Box::pin(ready(Ok(())))
    }
}

impl Stored {
    fn listed(&self) -> Listed {
        Listed {
            first_offset: self.header.first_offset,
            location: Location::Memory,
            bytes: self.header.object_bytes,
            known: Some(Known { next_offset: self.header.next_offset(), appended_us: self.header.appended_us }),
        }
    }
}
