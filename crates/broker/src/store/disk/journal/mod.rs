//! A journal on a local directory: one append to a file and one `fdatasync` commit appends to any number of partitions.
//!
//! ```text
//! DIR/journal/00000000000000000001.seg             journal objects, each after a frame, named by the first's number
//! DIR/journal/00000000000000000001.idx             where they are, once the segment is full or of an earlier run
//! DIR/journal/merged/00000000000000000001.seg      a merged object
//! DIR/journal/snapshots/00000000000000001001.rws   the state before this object
//! DIR/journal/reserve                              reserved blocks for changes that free space on a full disk
//! ```
//!
//! The directory has one owner, which holds its lock, so dates mean nothing here: no other writer can have been paused,
//! and objects that a snapshot doesn't need can be deleted at once. `docs/storage.md` has the argument.

mod ahead;
mod changed;
mod delete;
mod files;
mod frame;
mod inner;
mod names;
#[cfg(test)]
mod power;
mod read;
mod recover;
mod reserve;
mod salvage;
mod seal;
mod segments;
#[cfg(test)]
mod tests;
mod walk;
mod write;

use super::open_files::OpenFiles;
use crate::commit_thread::CommitThread;
use crate::journal_config::{JournalConfig, MergeConfig, MergeWait};
use crate::limits::{
    DISK_INLINE_BYTES, DISK_INLINE_COPY_BYTES, DISK_KEEP_PIECE_BYTES, DISK_MERGE_OBJECTS, DISK_MERGE_WAIT_BYTES,
    DISK_MERGE_WAIT_PIECES, DISK_SNAPSHOT_INTERVAL, DISK_SNAPSHOT_OBJECTS, DISK_WAIT_MAX,
};
use crate::store::disk::dirs::{create_dir, sync_dir};
use crate::store::disk::errors::io_error;
use crate::store::disk::options::{Durability, Options};
use crate::store::lock::DirLock;
use crate::store::{Dated, Mappings, PiecePart, Store, StoredIndex};
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use inner::{Inner, lock};
use rawline_journal::{
    Garbage, Header, Index, Limits, Listing, MergeLimits, Place, PutResult, SharedFile, SnapshotName, Source,
};
use reserve::Reserve;
use segments::Stored;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;
use tokio::sync::oneshot;
use write::{Create, DATE, Writer};

/// Number of objects that a directory commits at the same time: while the disk syncs one, the next is written.
const IN_FLIGHT_MAX: usize = 2;

/// What a journal's directory has.
struct Found {
    newest_snapshot: Option<u64>,
    segments: BTreeMap<u64, Arc<Stored>>,
    /// Number of the next object.
    next_number: u64,
    merged: BTreeMap<u64, Arc<Stored>>,
}

/// A journal on a directory.
#[derive(Clone)]
pub(super) struct DiskStore {
    inner: Arc<Inner>,
}

impl DiskStore {
    /// Opens the journal in a directory that this process has locked. Blocks.
    pub(super) fn open(
        dir: &Path,
        options: Options,
        files: &Arc<OpenFiles>,
        lock: &Arc<DirLock>,
    ) -> Result<DiskStore, StoreError> {
        let dir = dir.join("journal");
        let (merged_dir, snapshots_dir) = (dir.join("merged"), dir.join("snapshots"));
        for dir in [&dir, &merged_dir, &snapshots_dir] {
            create_dir(dir, options.durability)?;
            names::delete_drafts(&**files.device(), dir)?;
            // A run that was killed may not have synced the last names. Superfluous files are deleted soon.
            sync_dir(&**files.device(), dir)?;
        }
        let newest_snapshot = names::newest_snapshot(&snapshots_dir)?;
        let covered = newest_snapshot.unwrap_or(1);
        let (segments, next_number) = recover::recover(&dir, covered, options.durability, files)?;
        let merged = recover::merged(&merged_dir, files)?;
        let is_synced = options.durability == Durability::Fsync;
        let snapshot_bytes = newest_snapshot.map_or(Ok(0), |newest| names::snapshot_bytes(&snapshots_dir, newest))?;
        let reserve = Reserve::open(&dir, options.segment_bytes, snapshot_bytes, files)?;
        let in_place = || files.device().writes_in_place(&dir).map_err(|error| io_error("look at", &dir, &error));
        let fills = is_synced && in_place()?;
        let found = Found { newest_snapshot, segments, next_number, merged };
        DiskStore::of(dir, options, files, lock, found, reserve, fills)
    }

    /// The journal in a directory that isn't changed. Blocks.
    pub(super) fn view(dir: &Path, files: &Arc<OpenFiles>, lock: &Arc<DirLock>) -> Result<DiskStore, StoreError> {
        let dir = dir.join("journal");
        let newest_snapshot = names::newest_snapshot(&dir.join("snapshots"))?;
        let (segments, next_number) = recover::view(&dir, newest_snapshot.unwrap_or(1), files)?;
        let merged = recover::merged(&dir.join("merged"), files)?;
        let found = Found { newest_snapshot, segments, next_number, merged };
        DiskStore::of(dir, Options::default(), files, lock, found, Reserve::none(files), false)
    }

    fn of(
        dir: PathBuf,
        options: Options,
        files: &Arc<OpenFiles>,
        lock: &Arc<DirLock>,
        found: Found,
        reserve: Reserve,
        fills: bool,
    ) -> Result<DiskStore, StoreError> {
        let Found { newest_snapshot, segments, next_number, merged } = found;
        let inner = Inner {
            fills,
            lock: Arc::downgrade(lock),
            storage: changed::storage_of(&dir),
            snapshot: AtomicU64::new(newest_snapshot.unwrap_or_default()),
            inode: changed::inode(&dir).map_err(|error| io_error("look at", &dir, &error))?,
            merged_dir: dir.join("merged"),
            snapshots_dir: dir.join("snapshots"),
            dir,
            options,
            reserve,
            files: files.clone(),
            queue: Mutex::default(),
            writer: Mutex::new(Writer::new(next_number)),
            syncing: Mutex::default(),
            seals: Arc::default(),
            failed: Arc::default(),
            refusal: Mutex::default(),
            segments: RwLock::new(segments),
            merged: RwLock::new(merged),
        };
        Ok(DiskStore { inner: Arc::new(inner) })
    }

    /// Runs `work` on a thread that may block.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let Some(lock_held) = self.inner.lock.upgrade() else { return Box::pin(ready(Err(closed()))) };
        let (inner, (done, result)) = (self.inner.clone(), oneshot::channel());
        self.inner.device().run(Box::new(move || {
            let worked = work(&inner);
            drop((inner, lock_held));
            // The receiver may be gone.
            let _ = done.send(worked);
        }));
        Box::pin(async move { result.await.unwrap_or_else(|_| Err(broke_off())) })
    }
}

fn closed() -> StoreError {
    StoreError::human("the directory is closed; start the broker again")
}

fn broke_off() -> StoreError {
    StoreError::human(
        "work on the disk ended early, the log has the details; this is a bug in the broker, please report it",
    )
}

impl Store for DiskStore {
    fn settings(&self, settings: JournalConfig) -> JournalConfig {
        let limits = Limits {
            in_flight_max: IN_FLIGHT_MAX,
            // As much as it takes to be worth a sync.
            concurrent_bytes: settings.limits.object_bytes / 2,
            retry_after: Duration::from_millis(100),
            // An object that was not written certainly isn't stored: an empty object can take its number at once.
            give_up_after: Duration::ZERO,
            wait_max: DISK_WAIT_MAX,
            deletion_delay: 0,
            ..settings.limits
        };
        let merge = settings.merge.clone().map(|merge| MergeConfig {
            limits: MergeLimits {
                keep_piece_bytes: DISK_KEEP_PIECE_BYTES,
                shares_files: true,
                objects_max: DISK_MERGE_OBJECTS,
                ..merge.limits
            },
            look_objects: DISK_MERGE_OBJECTS as u64,
            // One that this task doesn't know is an earlier run's.
            abandon_after: Duration::from_secs(1),
            wait: Some(MergeWait { pieces_max: DISK_MERGE_WAIT_PIECES, bytes_max: DISK_MERGE_WAIT_BYTES }),
            ..merge
        });
        JournalConfig {
            limits,
            snapshot_objects: DISK_SNAPSHOT_OBJECTS,
            snapshot_interval: DISK_SNAPSHOT_INTERVAL,
            // Of several, each would hold up the sync of an append.
            snapshot_puts_max: 1,
            garbage_bytes: self.inner.options.segment_bytes / 4,
            garbage_interval: DISK_SNAPSHOT_INTERVAL,
            merge,
            ..settings
        }
    }

    fn verifies_once(&self) -> bool {
        true
    }

    fn refusal(&self) -> Option<StoreError> {
        lock(&self.inner.refusal, &self.inner.failed).clone()
    }

    fn failure(&self) -> Option<StoreError> {
        self.inner.failed.get().cloned()
    }

    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        if let Source::Merged(number) = source {
            let create = self.blocking(move |inner| Ok(inner.create_merged(number, &parts)));
            return Box::pin(async move { create.await.unwrap_or(PutResult::Unknown) });
        }
        let header = parts.first().map(|index| Header::parse(index));
        let Some(Ok(header)) = header else { unreachable!("what is to be stored has no header: {header:?}") };
        assert_eq!(header.source(), source, "{header:?}");
        let Some(lock_held) = self.inner.lock.upgrade() else { return Box::pin(ready(PutResult::Unknown)) };
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        assert_eq!(bytes, header.object_bytes, "the parts of {source:?}");
        let (created, result) = oneshot::channel();
        lock(&self.inner.queue, &self.inner.failed).push(Create { header, parts, created });
        let inline_bytes_max = match self.inner.options.durability {
            Durability::PageCache => DISK_INLINE_COPY_BYTES,
            Durability::Fsync if CommitThread::is_current() => DISK_INLINE_BYTES,
            Durability::Fsync => 0,
        };
        let is_inline = bytes <= inline_bytes_max;
        if let Some(ended) = is_inline.then(|| self.inner.try_create_queued()).flatten() {
            write::send(ended);
        } else {
            let inner = self.inner.clone();
            self.inner.device().run(Box::new(move || {
                let ended = inner.create_queued();
                drop((inner, lock_held));
                write::send(ended);
            }));
        }
        Box::pin(async move { result.await.unwrap_or(PutResult::Unknown) })
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        let dated = |found: Option<Index>| {
            let found = found.map(|index| StoredIndex { index, created: DATE });
            Dated { found, date: DATE }
        };
        match self.inner.resident_index(source) {
            Some(index) => Box::pin(ready(index.map(dated))),
            None => {
                let read = self.blocking(move |inner| inner.fetch_index(source));
                Box::pin(async move { read.await.map(dated) })
            }
        }
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        match self.inner.resident(&place, &range) {
            Some(bytes) => Box::pin(ready(Ok(bytes))),
            None => self.blocking(move |inner| inner.fetch(&place, &range)),
        }
    }

    fn resident(&self, pieces: &[Place], part: PiecePart) -> Vec<Bytes> {
        self.inner.resident_pieces(pieces, part)
    }

    fn mappings(&self) -> Option<Arc<Mappings>> {
        Some(self.inner.files.mappings())
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        self.blocking(move |inner| inner.read_snapshot(name))
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        self.blocking(|inner| Ok(Dated { found: inner.read_newest_snapshot()?, date: DATE }))
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        self.blocking(move |inner| inner.store_snapshot(name, &bytes))
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        self.blocking(|inner| inner.list().map(|found| Dated { found, date: DATE + 1 }))
    }

    fn can_lose_objects(&self) -> bool {
        false
    }

    fn changed(&self) -> BoxFuture<'static, Result<Option<StoreError>, StoreError>> {
        self.blocking(|inner| Ok(inner.changed()))
    }

    fn name_of(&self, source: Source) -> String {
        self.inner.name_of(source)
    }

    fn give_up_hint(&self, source: Source) -> String {
        format!("create the empty file {}", self.inner.path_of(source).with_extension(names::ACCEPT).display())
    }

    fn shared_files(&self, covered: u64) -> Vec<SharedFile> {
        self.inner.segments().values().map(|stored| stored.file(covered)).collect()
    }

    fn end_file(&self, numbers: Range<u64>, dead_bytes: u64) -> BoxFuture<'static, Result<(), StoreError>> {
        self.blocking(move |inner| inner.end_segment(numbers.start, dead_bytes))
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        self.blocking(move |inner| inner.delete(&garbage))
    }
}
