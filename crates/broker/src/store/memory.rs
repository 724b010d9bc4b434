//! A journal's objects in memory: of the one broker that has them, up to a number of bytes, or of several brokers of a
//! simulation.

use crate::clock::Clock;
use crate::journal_config::{JournalConfig, MergeConfig, MergeWait};
use crate::limits::{
    DISK_KEEP_PIECE_BYTES, DISK_MERGE_OBJECTS, DISK_MERGE_WAIT_PIECES, DISK_SNAPSHOT_OBJECTS, MEMORY_MERGE_PARTS,
    MEMORY_SNAPSHOT_INTERVAL,
};
use crate::store::{Dated, Store, StoredIndex};
use crate::store_error::StoreError;
use bytes::{Bytes, BytesMut};
use futures_util::future::{BoxFuture, ready};
use rawline_journal::{
    Control, Garbage, Index, Key, Limits, Listing, MergeLimits, Place, PutResult, SnapshotName, Source,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A journal's objects in memory. They are lost when it is dropped.
pub struct MemoryStore {
    dates: Dates,
    /// Objects with records are refused that would make it larger.
    bytes_max: u64,
    keys: Mutex<Keys>,
}

/// The date of a journal in memory.
enum Dates {
    /// Nothing: one broker has it, so what a snapshot doesn't need can be deleted at once.
    None,
    /// The time of a clock, which corrects brokers' clocks if that is true, as a bucket's does.
    Clock(Arc<dyn Clock>, bool),
}

#[derive(Default)]
struct Keys {
    objects: BTreeMap<Source, Stored>,
    snapshots: BTreeMap<SnapshotName, Stored>,
    /// Size of all of these.
    bytes: u64,
    /// Why the newest object with records was refused, if it was.
    refusal: Option<StoreError>,
}

struct Stored {
    bytes: Bytes,
    created: u64,
}

impl Keys {
    /// Checks whether an object's records fit, and returns whether it is refused. An object without records
    /// is small, and deleted soon; changes that free space may take some.
    fn refuses(&mut self, parts: &[Bytes], bytes: u64, bytes_max: u64) -> bool {
        let is_over = self.bytes + bytes > bytes_max;
        if !is_over && self.refusal.is_none() {
            return false;
        }
        let index = parts.first().map(|index| Index::parse(index));
        let Some(Ok(index)) = index else { unreachable!("what is to be stored has no index: {index:?}") };
        if index.header.batches == 0 {
            return false;
        }
        let is_refused = is_over && !index.controls().iter().any(Control::makes_room);
        let used = self.bytes;
        self.refusal = is_refused.then(|| {
            StoreError::wait(format!(
                "the storage in memory is full: {used} of {bytes_max} bytes are in use; delete records or topics, then \
                 send the request again (nothing of it was stored), or start the broker with more"
            ))
        });
        is_refused
    }
}

impl MemoryStore {
    /// A journal without objects, of one broker, with a maximum size of its records in bytes.
    pub fn of_one(bytes_max: u64) -> Self {
        MemoryStore { dates: Dates::None, bytes_max, keys: Mutex::default() }
    }

    /// A journal without objects. The clock is the store's.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        MemoryStore { dates: Dates::Clock(clock, false), bytes_max: u64::MAX, keys: Mutex::default() }
    }

    /// The same, whose dates correct brokers' clocks, as a bucket's do.
    #[must_use]
    pub fn dated(self) -> Self {
        match self.dates {
            Dates::Clock(clock, _) => MemoryStore { dates: Dates::Clock(clock, true), ..self },
            Dates::None => unreachable!("a journal of one broker has no dates"),
        }
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
        match &self.dates {
            Dates::None => 0,
            Dates::Clock(clock, _) => clock.now_us() / 1_000_000,
        }
    }

    /// Of a listing: later than everything in it where no other broker can need what this one doesn't.
    fn listing_date(&self) -> u64 {
        self.date() + u64::from(matches!(self.dates, Dates::None))
    }
}

impl Store for MemoryStore {
    fn settings(&self, settings: JournalConfig) -> JournalConfig {
        if let Dates::Clock(..) = self.dates {
            return settings.deleting_after(self.deletion_delay());
        }
        // An object is stored at once, or certainly not.
        let limits = Limits { give_up_after: Duration::ZERO, deletion_delay: 0, ..settings.limits };
        let part = self.bytes_max / MEMORY_MERGE_PARTS;
        let merge = settings.merge.clone().map(|merge| {
            let target_bytes = merge.limits.target_bytes.min(part).max(1);
            MergeConfig {
                limits: MergeLimits {
                    target_bytes,
                    keep_bytes: merge.limits.keep_bytes.min(target_bytes),
                    keep_piece_bytes: DISK_KEEP_PIECE_BYTES,
                    objects_max: DISK_MERGE_OBJECTS,
                    ..merge.limits
                },
                look_objects: DISK_MERGE_OBJECTS as u64,
                wait: Some(MergeWait { pieces_max: DISK_MERGE_WAIT_PIECES, bytes_max: part }),
                ..merge
            }
        });
        JournalConfig {
            limits,
            snapshot_objects: DISK_SNAPSHOT_OBJECTS,
            snapshot_interval: MEMORY_SNAPSHOT_INTERVAL,
            garbage_bytes: part,
            garbage_interval: MEMORY_SNAPSHOT_INTERVAL,
            merge,
            ..settings
        }
    }

    fn has_clock(&self) -> bool {
        matches!(self.dates, Dates::Clock(_, true))
    }

    fn can_lose_objects(&self) -> bool {
        !matches!(self.dates, Dates::None)
    }

    fn refusal(&self) -> Option<StoreError> {
        self.keys().refusal.clone()
    }

    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        let mut keys = self.keys();
        if keys.objects.contains_key(&source) {
            return Box::pin(ready(PutResult::Exists));
        }
        let bytes: usize = parts.iter().map(Bytes::len).sum();
        if !source.is_merged() && keys.refuses(&parts, bytes as u64, self.bytes_max) {
            return Box::pin(ready(PutResult::NotStored));
        }
        // Copied, because the parts are blocks of the pool, which wants them back.
        let mut object = BytesMut::with_capacity(bytes);
        parts.iter().for_each(|part| object.extend_from_slice(part));
        let date = self.date();
        keys.bytes += bytes as u64;
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
        let keys = self.keys();
        let newest = keys.snapshots.iter().rev().find(|(name, _)| name.is_root());
        let found = newest.map(|(_, stored)| stored.bytes.clone());
        drop(keys);
        Box::pin(ready(Ok(Dated { found, date: self.date() })))
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        let found = self.keys().snapshots.get(&name).map(|stored| stored.bytes.clone());
        Box::pin(ready(Ok(found)))
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let created = self.date();
        let mut keys = self.keys();
        if !keys.snapshots.contains_key(&name) {
            keys.bytes += bytes.len() as u64;
            keys.snapshots.insert(name, Stored { bytes, created });
        }
        Box::pin(ready(Ok(())))
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        let keys = self.keys();
        let mut found = Listing::default();
        for (source, stored) in &keys.objects {
            let key = Key { number: source.number(), created: stored.created };
            if source.is_merged() { found.merged.push(key) } else { found.objects.push(key) }
        }
        for (name, stored) in &keys.snapshots {
            found.add_snapshot(*name, stored.created);
        }
        Box::pin(ready(Ok(Dated { found, date: self.listing_date() })))
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        let mut keys = self.keys();
        let objects = garbage.objects.iter().map(|number| Source::Journal(*number));
        let objects = objects.chain(garbage.merged.iter().map(|number| Source::Merged(*number)));
        let mut deleted: Vec<Stored> = objects.filter_map(|source| keys.objects.remove(&source)).collect();
        let count = deleted.len() as u64;
        deleted.extend(garbage.snapshots.iter().filter_map(|name| keys.snapshots.remove(name)));
        keys.bytes -= deleted.iter().map(|stored| stored.bytes.len() as u64).sum::<u64>();
        drop(keys);
        Box::pin(ready(Ok(count)))
    }
}
