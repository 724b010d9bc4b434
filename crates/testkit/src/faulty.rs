//! A storage in memory whose requests fail, wait or panic as a test requests.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use rawline_broker::journal::{Dated, JournalConfig, JournalStore, MemoryJournal, StoredIndex};
use rawline_broker::store::{BatchTime, ObjectAt, OnlyJournal, Store, StoreError};
use rawline_journal::{Control, Garbage, Index, Limits, Listing, Place, PutResult, Source};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The outcome of the creation of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OnCreate {
    Pass,
    /// The store panics.
    Panic(&'static str),
    /// It is confirmed only after this time.
    ConfirmAfter(Duration),
    /// It is confirmed once [`Faulty::released`] is true.
    Hold,
    /// It is stored, and the response is lost.
    LoseResponse,
    /// It is not stored, and the response doesn't show it.
    Fail,
}

type Rule<A, T> = Box<dyn Fn(A) -> T + Send + Sync>;

/// Passes requests on to a storage in memory, except as its rules say.
pub struct Faulty {
    pub journal: Arc<MemoryJournal>,
    store: OnlyJournal,
    /// Whether objects that are held are confirmed.
    pub released: watch::Sender<bool>,
    pub on_create: Box<dyn Fn(&Index) -> OnCreate + Send + Sync>,
    /// Changes the bytes that a read of a piece returns: its first offset, the bytes' position in it, and they.
    pub on_get: Box<dyn Fn(u64, u64, Bytes) -> Bytes + Send + Sync>,
    /// How long a read of the piece with this first offset takes.
    pub get_delay: Rule<u64, Duration>,
    /// Whether deletions of objects fail.
    pub fails_delete: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Whether an object has records.
pub fn has_records(index: &Index) -> bool {
    index.header.batches > 0
}

/// Whether an object has such a change.
pub fn has(index: &Index, is_it: impl Fn(&Control) -> bool) -> bool {
    index.controls().iter().any(is_it)
}

impl Faulty {
    pub fn new() -> Faulty {
        let journal = Arc::new(MemoryJournal::of_one(1 << 30));
        Faulty {
            store: OnlyJournal::new(journal.clone()),
            journal,
            released: watch::Sender::new(false),
            on_create: Box::new(|_| OnCreate::Pass),
            on_get: Box::new(|_, _, bytes| bytes),
            get_delay: Box::new(|_| Duration::ZERO),
            fails_delete: Box::new(|| false),
        }
    }

    /// The store, as a broker opens it.
    pub fn shared(self) -> Arc<FaultyStore> {
        Arc::new(FaultyStore(Arc::new(self)))
    }
}

impl Default for Faulty {
    fn default() -> Faulty {
        Faulty::new()
    }
}

/// A handle of the storage.
#[derive(Clone)]
pub struct FaultyStore(pub Arc<Faulty>);

impl Store for FaultyStore {
    fn journals(&self) -> Vec<Arc<dyn JournalStore>> {
        vec![Arc::new(self.clone())]
    }

    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async move {
            let delay = (self.0.get_delay)(object.first_offset);
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let bytes = self.0.store.get(topic, object, range.clone()).await?;
            Ok((self.0.on_get)(object.first_offset, range.start, bytes))
        })
    }

    fn batch_times<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
    ) -> BoxFuture<'a, Result<Vec<BatchTime>, StoreError>> {
        self.0.store.batch_times(topic, object)
    }
}

impl JournalStore for FaultyStore {
    /// As on a directory, one small object is in flight at a time.
    fn settings(&self, settings: JournalConfig) -> JournalConfig {
        let settings = self.0.journal.settings(settings);
        let limits = Limits { concurrent_bytes: settings.limits.object_bytes / 2, ..settings.limits };
        JournalConfig { limits, ..settings }
    }

    fn can_lose_objects(&self) -> bool {
        self.0.journal.can_lose_objects()
    }

    /// So that readers notice what the rules change.
    fn checks_objects(&self) -> bool {
        false
    }

    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        let index = Index::parse(parts.first().unwrap()).unwrap();
        let act = (self.0.on_create)(&index);
        match act {
            OnCreate::Panic(message) => panic!("{message}"),
            OnCreate::Fail => return Box::pin(ready(PutResult::Unknown)),
            _ => {}
        }
        let created = self.0.journal.create(source, parts);
        match act {
            OnCreate::LoseResponse => created.map(|_| PutResult::Unknown).boxed(),
            OnCreate::ConfirmAfter(pause) => Box::pin(async move {
                tokio::time::sleep(pause).await;
                created.await
            }),
            OnCreate::Hold => {
                let mut released = self.0.released.subscribe();
                Box::pin(async move {
                    let _ = released.wait_for(|&is_released| is_released).await;
                    created.await
                })
            }
            _ => created,
        }
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        self.0.journal.index(source)
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        self.0.journal.bytes(place, range)
    }

    fn snapshot(&self, next_number: u64) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        self.0.journal.snapshot(next_number)
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        self.0.journal.newest_snapshot()
    }

    fn create_snapshot(&self, next_number: u64, snapshot: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.journal.create_snapshot(next_number, snapshot)
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        self.0.journal.list()
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        if (self.0.fails_delete)() {
            return Box::pin(ready(Err(StoreError::wait("the store is down for a moment; retry"))));
        }
        self.0.journal.delete(garbage)
    }
}
