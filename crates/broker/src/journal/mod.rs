//! A journal on a store: one object commits appends to any number of partitions, and several are in flight at once.
//!
//! The rules are `rawline-journal`'s; here is their driver. `task.rs` owns a [`Writer`](rawline_journal::Writer) and
//! carries out what it asks for, `build.rs` lays out objects around the received batches, `catalog.rs` says where the
//! records are. `expiry.rs` knows which transactions take too long. `watch.rs` looks whether what was stored is still
//! there (`look.rs`). `reads.rs` reads what others have stored, `catch_ups.rs` has the callers that wait for it.
//! `merge.rs` merges small objects, which `copy.rs` copies, and compacts topics by key; `collect.rs` deletes what isn't
//! needed. `docs/storage.md` explains how it works.

mod alarm;
mod build;
mod catalog;
mod catch_ups;
mod collect;
mod copy;
mod error;
mod expiry;
mod handle;
mod look;
mod memory;
mod merge;
mod reads;
pub(crate) mod request;
mod snapshots;
mod task;
mod together;
mod watch;

pub use crate::journal_config::{CompactLimits, JournalConfig, MergeConfig, MergeWait};
pub use crate::producer_ids::ProducerIds;
pub(crate) use catalog::{Extent, JournalTopic};
pub use error::JournalError;
use futures_util::FutureExt;
pub use handle::Journal;
pub(crate) use handle::Submitted;
pub use memory::MemoryJournal;
#[cfg(test)]
pub(crate) use task::FORGETS_END;
pub(crate) use together::Together;

use crate::limits::DELETION_DELAY;
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use rawline_journal::{Garbage, Index, Listing, Missing, Place, PutResult, SharedFile, Source};
use std::ops::Range;
use std::time::Duration;

/// Where a journal's objects and snapshots are. Each call is one request, without retries: the rules decide what is
/// sent again. Dates are the store's own, in seconds since the Unix epoch.
pub trait JournalStore: Send + Sync + 'static {
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

    /// Whether this compares objects with their checksums before it returns parts of them. If not, readers do.
    fn checks_objects(&self) -> bool {
        true
    }

    /// Why the newest object could not be created, if this store can tell that it isn't there.
    fn refusal(&self) -> Option<StoreError> {
        None
    }

    /// Why nothing can be created any more before a restart, if that is so.
    fn failure(&self) -> Option<StoreError> {
        None
    }

    /// Creates an object, unless one with its number exists. What goes wrong is reported in the log.
    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult>;

    /// Reads the index of an object; `None` if there is no such object.
    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>>;

    /// Reads bytes of an object that exists, by way of a local copy where the store keeps copies: then they are not in
    /// anonymous memory. `place` is that of any piece in the object.
    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>>;

    /// Notes that this process has read such bytes: they may count as its memory.
    fn touched(&self, _bytes: &Bytes) {}

    /// Drops the local copy of an object, because it turned out to be damaged. True if there was one.
    fn discard(&self, _place: Place) -> BoxFuture<'static, bool> {
        Box::pin(std::future::ready(false))
    }

    /// Reads the snapshot of everything before the object `next_number`; `None` if there is no such snapshot.
    fn snapshot(&self, next_number: u64) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>>;

    /// Reads the newest snapshot; `None` if no snapshot exists. The date is that of the listing.
    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>>;

    /// Creates the snapshot of everything before the object `next_number`. That one exists already is a success: all
    /// snapshots at one number say the same.
    fn create_snapshot(&self, next_number: u64, snapshot: Bytes) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Lists all objects and snapshots, with the store's time of the listing.
    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>>;

    /// Lists the journal objects from a number on, and what was given up of them. Others may be listed too.
    fn list_from(&self, number: u64) -> BoxFuture<'static, Result<Listing, StoreError>> {
        self.list().map(move |listed| listed.map(|listed| look::from_number(listed.found, number))).boxed()
    }

    /// Whether single objects can go missing while those after them stay. If not, a missing number is the end.
    fn can_lose_objects(&self) -> bool {
        true
    }

    /// What others have changed in the storage since it was opened, besides its objects, if anything.
    fn changed(&self) -> BoxFuture<'static, Result<Option<StoreError>, StoreError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// What an operator knows an object by.
    fn name_of(&self, source: Source) -> String {
        format!("{source:?}")
    }

    /// What an operator does to give up this object and the missing ones after it: "create …".
    fn give_up_hint(&self, source: Source) -> String {
        format!("mark {source:?} as given up")
    }

    /// The error for objects that are missing, and why they should be there if that isn't obvious.
    fn explain_lost(&self, missing: &Missing, why: Option<&str>) -> StoreError {
        look::explain_lost(missing, |source| self.name_of(source), why, |source| self.give_up_hint(source))
    }

    /// The files that several journal objects share, in ascending order of the objects' numbers, with the bytes of the
    /// objects below `covered`. None where each object is stored for itself.
    fn shared_files(&self, _covered: u64) -> Vec<SharedFile> {
        Vec::new()
    }

    /// Appends no more to the file that grows, which has these objects, so that it can be deleted once what is needed
    /// of it is merged. `dead_bytes` of it are not needed: if that isn't worth another file, nothing happens.
    fn end_file(&self, _numbers: Range<u64>, _dead_bytes: u64) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Deletes objects and snapshots. Those that are gone already don't matter. Returns the number of objects whose
    /// bytes are freed: one that shares its file with others is deleted with the last of them.
    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>>;
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
