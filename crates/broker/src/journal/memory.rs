//! A journal's objects in memory, for tests and simulations.

use crate::Clock;
use crate::journal::{Dated, JournalStore, StoredIndex};
use crate::store::StoreError;
use bytes::{Bytes, BytesMut};
use futures_util::future::{BoxFuture, ready};
use rawline_journal::{Garbage, Index, Key, Listing, Place, PutResult, Source};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A journal's objects in memory. They are lost when it is dropped.
pub struct MemoryJournal {
    clock: Arc<dyn Clock>,
    has_clock: bool,
    keys: Mutex<Keys>,
}

#[derive(Default)]
struct Keys {
    objects: BTreeMap<Source, Stored>,
    snapshots: BTreeMap<u64, Stored>,
}

struct Stored {
    bytes: Bytes,
    created: u64,
}

impl MemoryJournal {
    /// A journal without objects. The clock is the store's.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        MemoryJournal { clock, has_clock: false, keys: Mutex::default() }
    }

    /// The same, whose dates correct brokers' clocks, as a bucket's do.
    #[must_use]
    pub fn dated(self) -> Self {
        MemoryJournal { has_clock: true, ..self }
    }

    /// Number of objects, merged ones included.
    pub fn objects(&self) -> usize {
        self.keys().objects.len()
    }

    /// The objects.
    pub fn sources(&self) -> Vec<Source> {
        self.keys().objects.keys().copied().collect()
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn date(&self) -> u64 {
        self.clock.now_us() / 1_000_000
    }
}

impl JournalStore for MemoryJournal {
    fn has_clock(&self) -> bool {
        self.has_clock
    }

    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        let mut keys = self.keys();
        if keys.objects.contains_key(&source) {
            return Box::pin(ready(PutResult::Exists));
        }
        // Copied, because the parts are blocks of the pool, which wants them back.
        let mut object = BytesMut::new();
        parts.iter().for_each(|part| object.extend_from_slice(part));
        let date = self.date();
        keys.objects.insert(source, Stored { bytes: object.freeze(), created: date });
        Box::pin(ready(PutResult::Created { date }))
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        let object = self.keys().objects.get(&source).map(|stored| (stored.bytes.clone(), stored.created));
        let damaged = |error| StoreError::human(format!("{source:?} is damaged: {error}"));
        let parse = |(bytes, created): (Bytes, u64)| Index::parse(&bytes).map(|index| StoredIndex { index, created });
        let index = object.map(parse).transpose().map_err(damaged);
        let date = self.date();
        Box::pin(ready(index.map(|found| Dated { found, date })))
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        let keys = self.keys();
        let source = place.source;
        let found = keys.objects.get(&source).filter(|stored| range.end <= stored.bytes.len() as u64);
        let bytes = found.map(|stored| stored.bytes.slice(range.start as usize..range.end as usize));
        let gone = || StoreError::gone(format!("bytes {range:?} of {source:?} don't exist"));
        Box::pin(ready(bytes.ok_or_else(gone)))
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        let found = self.keys().snapshots.values().next_back().map(|stored| stored.bytes.clone());
        Box::pin(ready(Ok(Dated { found, date: self.date() })))
    }

    fn snapshot(&self, next_number: u64) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        let found = self.keys().snapshots.get(&next_number).map(|stored| stored.bytes.clone());
        Box::pin(ready(Ok(found)))
    }

    fn create_snapshot(&self, next_number: u64, snapshot: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let created = self.date();
        self.keys().snapshots.entry(next_number).or_insert(Stored { bytes: snapshot, created });
        Box::pin(ready(Ok(())))
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        let keys = self.keys();
        let mut found = Listing::default();
        for (source, stored) in &keys.objects {
            let key = Key { number: source.number(), created: stored.created };
            if source.is_merged() { found.merged.push(key) } else { found.objects.push(key) }
        }
        let snapshots = keys.snapshots.iter();
        found.snapshots = snapshots.map(|(number, stored)| Key { number: *number, created: stored.created }).collect();
        Box::pin(ready(Ok(Dated { found, date: self.date() })))
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<(), StoreError>> {
        let mut keys = self.keys();
        garbage.objects.iter().for_each(|number| drop(keys.objects.remove(&Source::Journal(*number))));
        garbage.merged.iter().for_each(|number| drop(keys.objects.remove(&Source::Merged(*number))));
        garbage.snapshots.iter().for_each(|number| drop(keys.snapshots.remove(number)));
        Box::pin(ready(Ok(())))
    }
}
