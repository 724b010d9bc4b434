//! A storage in memory whose requests fail, wait or panic as a test requests.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use rawline_broker::journal::JournalConfig;
use rawline_broker::store::{Dated, MemoryStore, Storage, Store, StoreError, StoredIndex};
use rawline_journal::{Control, Garbage, Index, Limits, Listing, Place, PutResult, SnapshotName, Source};
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

type OnRead = Box<dyn Fn(&Place, u64, Bytes) -> Bytes + Send + Sync>;

/// Passes requests on to a storage in memory, except as its rules say.
pub struct Faulty {
    pub journal: Arc<MemoryStore>,
    /// Whether objects that are held are confirmed.
    pub released: watch::Sender<bool>,
    pub on_create: Box<dyn Fn(&Index) -> OnCreate + Send + Sync>,
    /// Changes the bytes that a read of an object returns: the place, the bytes' position in the object, and they.
    pub on_read: OnRead,
    /// How long a read of an object takes.
    pub read_delay: Box<dyn Fn(&Place) -> Duration + Send + Sync>,
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
        let journal = Arc::new(MemoryStore::of_one(1 << 30));
        Faulty {
            journal,
            released: watch::Sender::new(false),
            on_create: Box::new(|_| OnCreate::Pass),
            on_read: Box::new(|_, _, bytes| bytes),
            read_delay: Box::new(|_| Duration::ZERO),
            fails_delete: Box::new(|| false),
        }
    }

    /// The storage, as a broker opens it.
    pub fn storage(self) -> Storage {
        self.shared().storage()
    }

    /// A handle of it, to change what it does while a broker has it.
    pub fn shared(self) -> FaultyStore {
        FaultyStore(Arc::new(self))
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

impl FaultyStore {
    /// The storage, as a broker opens it.
    pub fn storage(&self) -> Storage {
        Storage::new(Arc::new(self.clone()))
    }
}

impl Store for FaultyStore {
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
    fn verifies_once(&self) -> bool {
        true
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
        let (this, delay) = (self.0.clone(), (self.0.read_delay)(&place));
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let bytes = this.journal.bytes(place, range.clone()).await?;
            Ok((this.on_read)(&place, range.start, bytes))
        })
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        self.0.journal.snapshot(name)
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        self.0.journal.newest_snapshot()
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.journal.create_snapshot(name, bytes)
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
