//! Where objects live: one trait for the objects of one journal, and its implementations.
//!
//! A store keeps no index that a reader would need: it gets the place of a piece with every read.

pub mod cache;
pub mod disk;
mod lock;
mod lost;
mod mapping;
pub(crate) mod members;
mod memory;
mod purpose;
pub mod s3;

pub use crate::store_error::{Setting, StoreError};
pub use mapping::{FileRange, Mappings};
pub use members::MemberStore;
pub use memory::MemoryStore;
pub use purpose::Purpose;

use crate::journal_config::JournalConfig;
use crate::limits::DELETION_DELAY;
use crate::storage_id::StorageId;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use lock::DirLock;
use rawline_journal::{
    Garbage, Index, Listing, Missing, PartitionId, Place, PutResult, SharedFile, SnapshotName, Source,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// An open storage: the stores of its journals, and what its brokers share besides.
#[derive(Clone)]
pub struct Storage {
    /// What tells it from others.
    pub id: StorageId,
    /// The storage of which it is a backup, if it is one.
    pub backup_of: Option<StorageId>,
    /// The stores of its journals, by number: each has the topics that their names assign to it. At least one.
    pub journals: Vec<Arc<dyn Store>>,
    /// Where the brokers that share it keep their cards; `None` if it has one broker.
    pub members: Option<Arc<dyn MemberStore>>,
    /// Of a directory: it is locked until this is dropped, with its clones, and all work that it began has ended.
    _lock: Option<Arc<DirLock>>,
}

impl Storage {
    /// A storage that keeps no id: of one journal and one broker.
    pub fn new(journal: Arc<dyn Store>) -> Storage {
        Storage { id: StorageId::draw(), backup_of: None, journals: vec![journal], members: None, _lock: None }
    }

    /// The same of brokers with these cards.
    pub fn shared(journal: Arc<dyn Store>, members: Arc<dyn MemberStore>) -> Storage {
        Storage { members: Some(members), ..Storage::new(journal) }
    }

    /// An empty storage in memory for one broker, with records in at most so many bytes.
    pub fn in_memory(bytes_max: u64) -> Storage {
        Storage::new(Arc::new(MemoryStore::of_one(bytes_max)))
    }

    /// The store of the first journal, often the only one.
    pub fn journal(&self) -> &Arc<dyn Store> {
        let [first, ..] = &self.journals[..] else { unreachable!("a storage without a journal") };
        first
    }
}

/// Where a journal's objects and snapshots are. Each call is one request, without retries: the rules decide what is
/// sent again. Dates are the store's own, in seconds since the Unix epoch. Safe to call from many tasks.
///
/// An object is immutable and is created only if none has its number: creation is the commit.
pub trait Store: Send + Sync + 'static {
    /// Waits until it is known that the store can be used. It can be read before, and nothing may be stored.
    fn ready(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    /// Minimum time to keep unreferenced objects: whole seconds. All brokers on one storage have the same.
    fn deletion_delay(&self) -> Duration {
        DELETION_DELAY
    }

    /// The settings of a journal on this store.
    fn settings(&self, settings: JournalConfig) -> JournalConfig {
        settings.deleting_after(self.deletion_delay())
    }

    /// Whether dates are of a clock that isn't this machine's. Objects get their times by it if this machine's differs.
    fn has_clock(&self) -> bool {
        false
    }

    /// Whether a piece that a reader has verified stays intact: then readers verify each once, whole. If not, they ask
    /// [`Store::is_verified`].
    fn verifies_once(&self) -> bool {
        false
    }

    /// Whether these bytes, as [`Store::bytes`] has returned them for a read from an offset on, need not be verified.
    fn is_verified(&self, _place: Place, _bytes: &[u8], _offset: u64) -> bool {
        true
    }

    /// Notes that a reader has verified these bytes.
    fn set_verified(&self, _place: Place, _bytes: &[u8]) {}

    /// Why the newest object could not be created, if this store can tell that it isn't there.
    fn refusal(&self) -> Option<StoreError> {
        None
    }

    /// Why nothing can be created any more before a restart, if that is so.
    fn failure(&self) -> Option<StoreError> {
        None
    }

    /// So many objects fewer were created than the time between them allows: a store may send as many requests for slow
    /// objects a second time.
    fn spared(&self, _objects: u32) {}

    /// Creates an object, unless one with its number exists. Failures are logged.
    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult>;

    /// Reads the index of an object; `None` if it doesn't exist.
    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>>;

    /// Reads bytes of an object that exists, by way of a local copy where the store keeps copies: then they are not in
    /// anonymous memory. `place` is that of any piece in the object. The answer borrows the store's memory where it
    /// can: a mapping, a cached file. They may be damaged: readers verify them.
    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>>;

    /// Reads the entries of a piece for a search, which looks at many: fetches no object for them.
    fn entries(&self, place: Place) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        self.bytes(place, place.entries())
    }

    /// One part of each of these pieces, up to the first that isn't in memory. For pieces that are wanted whole: one
    /// call serves many, and never blocks. A store that can't returns none.
    fn resident(&self, _pieces: &[Place], _part: PiecePart) -> Vec<Bytes> {
        Vec::new()
    }

    /// How many bytes it is useful to bring near ahead of a reader; 0 where [`Store::prefetch`] does nothing.
    fn ahead_bytes_max(&self) -> u64 {
        0
    }

    /// Begins to bring bytes of an object near that will be read soon. Best effort. `place` is that of any piece in it.
    fn prefetch(&self, _place: Place, _range: Range<u64>) -> Prefetched {
        Prefetched::Here
    }

    /// Notes that a partition has a reader, which reads or waits for records: what is created for it is read soon.
    fn note_reader(&self, _partition: PartitionId) {}

    /// The mapped files of which [`Store::bytes`] returns parts, if the store maps files.
    fn mappings(&self) -> Option<Arc<Mappings>> {
        None
    }

    /// Notes that this process has read such bytes: they may count as its memory.
    fn touched(&self, bytes: &[u8]) {
        if let Some(mappings) = self.mappings() {
            mappings.touched(bytes);
        }
    }

    /// Drops the local copy of an object, because it turned out to be damaged. True if there was one: then reading the
    /// object again may help.
    fn discard(&self, _place: Place) -> BoxFuture<'static, bool> {
        Box::pin(ready(false))
    }

    /// Reads the root of a snapshot, or a part of one; `None` if it doesn't exist.
    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>>;

    /// Reads the root of the newest snapshot; `None` if no snapshot exists. The date is the listing's.
    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>>;

    /// Creates the root of a snapshot, after its separate parts, or one of these. That one exists already is a success:
    /// all snapshots at one number say the same.
    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Lists all objects and snapshots, with the store's time of the listing.
    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>>;

    /// Lists the journal objects from a number on, and those that were given up. Others may be listed too.
    fn list_from(&self, number: u64) -> BoxFuture<'static, Result<Listing, StoreError>> {
        let from = move |listed: Dated<Listing>| {
            let objects = listed.found.objects.into_iter().filter(|key| key.number >= number).collect();
            Listing { objects, ..listed.found }
        };
        self.list().map(move |listed| listed.map(from)).boxed()
    }

    /// Whether single objects can go missing while those after them stay. If not, a missing number is the end.
    fn can_lose_objects(&self) -> bool {
        true
    }

    /// Changes of other programs in the storage since it was opened, apart from its objects, if any.
    fn changed(&self) -> BoxFuture<'static, Result<Option<StoreError>, StoreError>> {
        Box::pin(ready(Ok(None)))
    }

    /// An operator's name for an object.
    fn name_of(&self, source: Source) -> String {
        format!("{source:?}")
    }

    /// The instruction for an operator to give up this object and the missing ones after it: "create …".
    fn give_up_hint(&self, source: Source) -> String {
        format!("mark {source:?} as given up")
    }

    /// The error for objects that are missing, and why they should be there if that isn't obvious.
    fn explain_lost(&self, missing: &Missing, why: Option<&str>) -> StoreError {
        lost::explain(missing, |source| self.name_of(source), why, |source| self.give_up_hint(source))
    }

    /// The files that several journal objects share, in ascending order of the objects' numbers, with the bytes of the
    /// objects below `covered`. None where each object is stored for itself.
    fn shared_files(&self, _covered: u64) -> Vec<SharedFile> {
        Vec::new()
    }

    /// Appends no more to the file that grows, which has these objects, so that it can be deleted once what is needed
    /// of it is merged. `dead_bytes` of it are not needed: if that isn't worth another file, nothing happens.
    fn end_file(&self, _numbers: Range<u64>, _dead_bytes: u64) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    /// Deletes objects and snapshots, these in the order given. Those that are gone already don't matter. Returns the
    /// number of objects whose bytes are freed: one that shares its file with others is deleted with the last of them.
    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>>;
}

/// What [`Store::prefetch`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefetched {
    /// All bytes are at hand.
    Here,
    /// They are in flight.
    Begun,
    /// Too much is in flight: some of them will be fetched when they are read.
    Refused,
}

/// A part of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PiecePart {
    /// The entries of its batches in the object's index.
    Entries,
    /// Its batches.
    Batches,
}

/// The index of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIndex {
    /// The index.
    pub index: Index,
    /// The store's time when the object was stored, in seconds.
    pub created: u64,
}

/// A response with the store's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dated<T> {
    /// The response.
    pub found: T,
    /// The store's time in seconds.
    pub date: u64,
}
