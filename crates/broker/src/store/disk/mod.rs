//! Objects on a local directory, appended to preallocated segments: in a journal (`journal`), or, where an earlier
//! version has written, in a log for each partition:
//!
//! ```text
//! DIR/LOCK                                    locked by the one owner, in both layouts
//! DIR/topics/NAME/00000000000000000000.seg    objects back to back, named by the first offset
//! DIR/topics/NAME/00000000000000000000.idx    index of a segment that is sealed
//! DIR/topics/NAME/partitions/1/               the same of another partition than the first
//! DIR/topics/.deleted.NAME.0                  what is left of a deleted topic
//! ```
//!
//! `docs/format.md` has the rules. An append to a log goes down from here: `log` (which segment), `active` (where in
//! it), `sys` (system calls). It runs on one of tokio's blocking threads, as everything that blocks does.

mod active;
mod delete;
mod delete_topic;
mod device;
mod durability;
mod journal;
mod layout;
mod log;
mod open_files;
mod recover;
mod room;
mod seal;
mod segment;
mod sys;
mod walk;
mod warm;

use super::lock::DirLock;
use super::mapping::Mappings;
use super::s3::Layout;
use super::{
    BatchTime, Begun, CommitError, Listed, Location, ObjectAt, PiecePart, SETTINGS_NAME, Store, StoreError,
    parse_log_name,
};
use crate::Kind;
use crate::journal::JournalStore;
use crate::limits::SEGMENT_BYTES;
use crate::object::Object;
use crate::storage_id::StorageId;
use crate::tasks;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use journal::DiskJournal;
use log::{Log, Shared};
use open_files::{OpenFiles, is_out_of_files};
use rawline_journal::Place;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Semaphore;

pub use device::{Device, System, Work};
pub use durability::Durability;

/// Settings of a directory.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// When a commit is confirmed.
    pub durability: Durability,
    /// Length of a segment in bytes, at most `u32::MAX`. A longer object gets its own segment.
    pub segment_bytes: u64,
    /// The layout of a directory that is empty. Others keep theirs.
    pub new_layout: Layout,
}

impl Default for Options {
    fn default() -> Self {
        let durability = Durability::default();
        Options { durability, segment_bytes: SEGMENT_BYTES, new_layout: Layout::Journal }
    }
}

const _: () = assert!(SEGMENT_BYTES <= u32::MAX as u64, "positions in a segment are u32");
const _: () = assert!(crate::limits::OBJECT_BYTES_MAX <= u32::MAX as u64, "positions in a segment are u32");

/// In a topic's directory: the directories of its partitions other than the first.
const PARTITIONS_DIR: &str = "partitions";

/// A local directory. It is locked until this is dropped and all work that it began has ended.
pub struct DiskStore {
    inner: Arc<Inner>,
    /// If it has the topics.
    journal: Option<DiskJournal>,
    id: Option<StorageId>,
}

struct Inner {
    topics_dir: PathBuf,
    /// By name of the log.
    logs: RwLock<HashMap<String, Arc<Log>>>,
    shared: Arc<Shared>,
    /// How many topics were deleted.
    deletions: AtomicU64,
    /// Shared while settings are stored, exclusive while a topic is deleted: settings don't revive a deleted topic.
    storing: RwLock<()>,
    _lock: Arc<DirLock>,
}

impl DiskStore {
    /// Opens `dir` with segments of the default length. See [`DiskStore::open_with`].
    pub fn open(dir: &Path, durability: Durability) -> Result<DiskStore, StoreError> {
        DiskStore::open_with(dir, Options { durability, ..Options::default() })
    }

    /// Locks `dir`, which is created if it doesn't exist. Blocks for a moment. Topics are recovered later, when they
    /// are first used. Raises the number of files that this process may open as far as the system allows.
    ///
    /// Fails if another process has the directory, or if it can't be written.
    pub fn open_with(dir: &Path, options: Options) -> Result<DiskStore, StoreError> {
        DiskStore::open_on(dir, options, Arc::new(System))
    }

    /// As [`DiskStore::open_with`], where segments and a journal's other files are changed by way of `device`.
    pub fn open_on(dir: &Path, options: Options, device: Arc<dyn Device>) -> Result<DiskStore, StoreError> {
        let segment_bytes = options.segment_bytes.min(u64::from(u32::MAX));
        let options = Options { segment_bytes, ..options };
        let dir = std::path::absolute(dir).map_err(|error| io_error("find", dir, &error))?;
        create_dir(&dir, options.durability)?;
        let lock = Arc::new(DirLock::acquire(&dir)?);
        let topics_dir = dir.join("topics");
        let files = Arc::new(OpenFiles::on(device));
        let (layout, id) = layout::find_or_decide(&dir, options.new_layout, options.durability)?;
        let journal = match layout {
            Layout::Journal => Some(DiskJournal::open(&dir, options, &files, &lock)?),
            Layout::Topics => {
                create_dir(&topics_dir, options.durability)?;
                None
            }
        };
        let sealing = Arc::new(Semaphore::new(1));
        let shared = Arc::new(Shared { options, files, sealing });
        let logs = RwLock::default();
        let (deletions, storing) = (AtomicU64::new(0), RwLock::default());
        let inner = Inner { topics_dir, logs, shared, deletions, storing, _lock: lock };
        Ok(DiskStore { inner: Arc::new(inner), journal, id })
    }

    /// Runs `work` on a thread that may block.
    async fn blocking<T, E>(&self, work: impl FnOnce(&Inner) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let inner = self.inner.clone();
        let done = tasks::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|error| Err(broke_off(&error).into()))
    }
}

impl Store for DiskStore {
    fn id(&self) -> Option<StorageId> {
        self.id
    }

    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(self.blocking(Inner::topics))
    }

    fn list<'a>(&'a self, topic: &'a str, from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>> {
        let topic = topic.to_owned();
        Box::pin(self.blocking(move |inner| match inner.log(&topic)? {
            Some(log) => log.list(from),
            None => Ok(Vec::new()),
        }))
    }

    fn begin<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Begun, CommitError>> {
        let log = self.inner.known(topic);
        let topic = topic.to_owned();
        Box::pin(async move {
            let (log, written) = self
                .blocking(move |inner| {
                    let log = log.map_or_else(|| inner.log_created(&topic), Ok)?;
                    let written = log.append(&object)?;
                    Ok::<_, CommitError>((log, written))
                })
                .await?;
            let location = Location::Segment { segment: written.segment_first_offset(), position: written.position };
            if written.is_published() {
                return Ok(Begun::done(location));
            }
            let confirming = tasks::spawn_blocking(move || log.confirm(&written));
            let confirmed = async { confirming.await.unwrap_or_else(|error| Err(broke_off(&error))) };
            Ok(Begun { location, confirmed: Box::pin(confirmed) })
        })
    }

    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        if let Location::Journal(place) = object.location {
            let Some(journal) = &self.journal else { unreachable!("{object:?} in a directory without a journal") };
            return journal.get(object.first_offset, place, &range);
        }
        let known = self.inner.known(topic);
        if let Some(bytes) = known.and_then(|log| log.resident(&object, &range)) {
            return Box::pin(futures_util::future::ready(Ok(bytes)));
        }
        let topic = topic.to_owned();
        Box::pin(self.blocking(move |inner| match inner.log(&topic)? {
            Some(log) => log.fetch(&object, &range),
            None => Err(deleted(&object)),
        }))
    }

    fn resident(&self, pieces: &[Place], part: PiecePart) -> Vec<Bytes> {
        self.journal.as_ref().map_or_else(Vec::new, |journal| journal.resident(pieces, part))
    }

    fn settings<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        let topic = topic.to_owned();
        Box::pin(self.blocking(move |inner| {
            let path = inner.dir(&topic)?.join(SETTINGS_NAME);
            match std::fs::read(&path) {
                Ok(settings) => Ok(Some(settings.into())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(io_error("read", &path, &error)),
            }
        }))
    }

    fn put_settings<'a>(&'a self, topic: &'a str, settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        let topic = topic.to_owned();
        let seen = self.inner.deletions.load(Ordering::Acquire);
        Box::pin(self.blocking(move |inner| {
            // The caller may have given up long ago, and the topic may be deleted.
            let _no_deletion = inner.storing.read().unwrap_or_else(PoisonError::into_inner);
            if inner.deletions.load(Ordering::Acquire) != seen {
                return Err(StoreError::wait("a topic was deleted at the same time; nothing was stored, so retry"));
            }
            let log = inner.log_created(&topic)?;
            log.sync_name()?;
            let dir = inner.dir(&topic)?;
            let path = dir.join(SETTINGS_NAME);
            // Readers find the old ones or the new ones, even after a crash.
            let replace = || {
                let mut draft = tempfile::NamedTempFile::new_in(&inner.topics_dir)?;
                draft.write_all(&settings)?;
                sys::sync(draft.as_file())?;
                draft.persist(&path)?;
                Ok(())
            };
            replace().map_err(|error: io::Error| io_error("write", &path, &error))?;
            sys::sync_dir(&dir)
        }))
    }

    fn journal(&self) -> Option<Arc<dyn JournalStore>> {
        self.journal.clone().map(|journal| Arc::new(journal) as Arc<dyn JournalStore>)
    }

    fn batch_times<'a>(
        &'a self,
        _topic: &'a str,
        object: ObjectAt,
    ) -> BoxFuture<'a, Result<Option<Vec<BatchTime>>, StoreError>> {
        match (object.location, &self.journal) {
            (Location::Journal(place), Some(journal)) => {
                let times = journal.batch_times(place);
                Box::pin(async move { times.await.map(Some) })
            }
            _ => Box::pin(futures_util::future::ready(Ok(None))),
        }
    }

    fn mappings(&self) -> Option<Arc<Mappings>> {
        Some(self.inner.shared.files.mappings())
    }

    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        // Looked up now: when this runs, another topic may have the name.
        let log = self.inner.known(topic);
        let topic = topic.to_owned();
        Box::pin(self.blocking(move |inner| match log.map_or_else(|| inner.log(&topic), |log| Ok(Some(log)))? {
            Some(log) => log.delete_before(offset),
            None => Ok(offset),
        }))
    }

    fn mark_deleted<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let topic = topic.to_owned();
        Box::pin(self.blocking(move |inner| inner.mark_deleted(&topic)))
    }

    fn delete_topic<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let topic = topic.to_owned();
        Box::pin(self.blocking(move |inner| inner.delete_topic(&topic)))
    }
}

impl Inner {
    /// The topics that have an object or settings. Recovers all of them, on several threads.
    fn topics(&self) -> Result<Vec<String>, StoreError> {
        let error = |error| io_error("list", &self.topics_dir, &error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.topics_dir).map_err(error)? {
            let entry = entry.map_err(error)?;
            match entry.file_name().into_string() {
                Ok(name) if delete_topic::is_left(&name) => {
                    let dir = entry.path();
                    // Without a handle of the store: the directory's lock doesn't wait for it.
                    tasks::spawn_blocking(move || delete_topic::remove(&dir));
                }
                Ok(name) if entry.path().is_dir() => names.push(name),
                name => {
                    let dir = self.topics_dir.display();
                    tracing::warn!(%dir, ?name, "this file is not a topic and is ignored; move it elsewhere");
                }
            }
        }
        // A topic that can't be recovered is listed as well: whoever asks for it gets the reason.
        let exists = |name: &String| match self.log(name).and_then(|log| log.map_or(Ok(true), |log| log.is_empty())) {
            Ok(true) => self.topics_dir.join(name).join(SETTINGS_NAME).exists(),
            Ok(false) | Err(_) => true,
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = names.len().div_ceil(threads).max(1);
        #[expect(
            clippy::disallowed_methods,
            reason = "runs on a thread that may block; the result doesn't depend on the order"
        )]
        std::thread::scope(|scope| {
            let worker = |names: &[String]| names.iter().filter(|name| exists(name)).cloned().collect::<Vec<_>>();
            let workers: Vec<_> = names.chunks(share).map(|names| scope.spawn(move || worker(names))).collect();
            let mut listed = Vec::new();
            for worker in workers {
                let names = worker.join().map_err(|_| {
                    StoreError::human(
                        "a thread that recovers topics panicked; the log has the details, please report it",
                    )
                })?;
                listed.extend(names);
            }
            Ok(listed)
        })
    }

    fn known(&self, topic: &str) -> Option<Arc<Log>> {
        self.logs.read().unwrap_or_else(PoisonError::into_inner).get(topic).cloned()
    }

    /// The topic's log if it has a directory.
    fn log(&self, topic: &str) -> Result<Option<Arc<Log>>, StoreError> {
        if let Some(log) = self.known(topic) {
            return Ok(Some(log));
        }
        let dir = self.dir(topic)?;
        match dir.try_exists() {
            Ok(true) => Ok(Some(self.insert(topic, dir))),
            Ok(false) => Ok(None),
            Err(error) => Err(io_error("look at", &dir, &error)),
        }
    }

    /// The topic's log; its directory is created if it doesn't exist. The log makes the directory's name durable.
    fn log_created(&self, topic: &str) -> Result<Arc<Log>, StoreError> {
        let dir = self.dir(topic)?;
        std::fs::create_dir_all(&dir).map_err(|error| io_error("create", &dir, &error))?;
        Ok(self.insert(topic, dir))
    }

    fn insert(&self, topic: &str, dir: PathBuf) -> Arc<Log> {
        let mut logs = self.logs.write().unwrap_or_else(PoisonError::into_inner);
        logs.entry(topic.to_owned()).or_insert_with(|| Arc::new(Log::new(dir, self.shared.clone()))).clone()
    }

    /// The log's directory. Rejects a name that would lead elsewhere, even if others checked it before.
    fn dir(&self, log: &str) -> Result<PathBuf, StoreError> {
        let is_plain = |topic: &str| !topic.is_empty() && !topic.starts_with('.') && !topic.contains(['\\', '\0']);
        let Some((topic, partition)) = parse_log_name(log).filter(|(topic, _)| is_plain(topic)) else {
            let message = format!("{log:?} can't be a topic's name on a local directory; choose another");
            return Err(StoreError::new(Kind::FixRequest, message));
        };
        let dir = self.topics_dir.join(topic);
        Ok(if partition == 0 { dir } else { dir.join(PARTITIONS_DIR).join(partition.to_string()) })
    }
}

/// Creates a directory if it doesn't exist, and makes its name durable: an earlier run may have failed to.
fn create_dir(dir: &Path, durability: Durability) -> Result<(), StoreError> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    std::fs::create_dir_all(dir).map_err(|error| io_error("create", dir, &error))?;
    if durability == Durability::PageCache {
        return Ok(());
    }
    let Some(parent) = dir.parent() else { return Ok(()) };
    if missing.is_empty() {
        // A parent that belongs to others may not be readable.
        return match File::open(parent) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            _ => sys::sync_dir(parent),
        };
    }
    missing.iter().filter_map(|dir| dir.parent()).try_for_each(sys::sync_dir)
}

fn broke_off(error: &tokio::task::JoinError) -> StoreError {
    StoreError::human(format!("work on the disk ended early ({error}); this is a bug in the broker, please report it"))
}

fn deleted(object: &ObjectAt) -> StoreError {
    let message = format!("the object at offset {} was deleted; read from a later offset", object.first_offset);
    StoreError::new(Kind::TryAgain, message)
}

/// The error of a failed system call: what failed and what to do about it.
fn io_error(action: &str, path: &Path, error: &io::Error) -> StoreError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let path = path.display();
    match error.kind() {
        _ if is_out_of_files(error) => StoreError::wait(format!(
            "could not {action} {path}: {error}; wait until other connections are closed and send the request again \
             (nothing of it was stored), or raise the number of files that the process may open"
        )),
        StorageFull | QuotaExceeded | FileTooLarge => StoreError::wait(format!(
            "could not {action} {path}: {error}; free disk space or delete old records, then send the request again \
             (nothing of it was stored)"
        )),
        _ => StoreError::human(format!(
            "could not {action} {path}: {error}; check the disk and the directory's permissions"
        )),
    }
}
