//! Objects on a local directory: appended to preallocated segments, one owner a directory.
//!
//! ```text
//! DIR/LOCK                                    locked by the one owner
//! DIR/topics/NAME/00000000000000000000.seg    objects back to back, named by the first offset
//! DIR/topics/NAME/00000000000000000000.idx    index of a segment that is sealed
//! ```
//!
//! `docs/format.md` has the rules. What blocks runs on tokio's blocking threads; a commit is one hop there and back.

mod log;
mod recover;
mod seal;
mod segment;
mod walk;

use super::lock::DirLock;
use super::mapping::{FileRange, Mappings};
use super::{Begun, CommitError, Listed, Location, ObjectAt, SETTINGS_NAME, Store, StoreError};
use crate::Kind;
use crate::limits::{CONFIRM_LATER_BYTES_MIN, SEGMENT_BYTES};
use crate::object::Object;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use log::Log;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Semaphore;

/// What an answered commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The machine's crash: the commit is answered after `fdatasync`.
    #[default]
    Fsync,
    /// The broker's crash only: the commit is answered when its bytes are in the page cache.
    PageCache,
}

/// How a directory is used.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What an answered commit survives.
    pub durability: Durability,
    /// Length of a segment in bytes, at most `u32::MAX`. An object that is longer gets a segment of its own.
    pub segment_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::default(), segment_bytes: SEGMENT_BYTES }
    }
}

const _: () = assert!(SEGMENT_BYTES <= u32::MAX as u64, "positions in a segment are u32");
const _: () = assert!(crate::limits::OBJECT_BYTES_MAX <= u32::MAX as u64, "positions in a segment are u32");

/// A local directory. It is locked until this is dropped and all that it began has ended.
pub struct DiskStore {
    inner: Arc<Inner>,
}

struct Inner {
    topics_dir: PathBuf,
    options: Options,
    logs: RwLock<HashMap<String, Arc<Log>>>,
    sealing: Arc<Semaphore>,
    mappings: Arc<Mappings>,
    _lock: DirLock,
}

impl DiskStore {
    /// Opens `dir` with segments of the default length; see [`DiskStore::open_with`].
    pub fn open(dir: &Path, durability: Durability) -> Result<DiskStore, StoreError> {
        DiskStore::open_with(dir, Options { durability, ..Options::default() })
    }

    /// Locks `dir`, which is created if it is not there. Blocks for a moment. No topic is looked at yet.
    ///
    /// Fails if another broker has the directory, or if it cannot be written.
    pub fn open_with(dir: &Path, options: Options) -> Result<DiskStore, StoreError> {
        let segment_bytes = options.segment_bytes.min(u64::from(u32::MAX));
        let options = Options { segment_bytes, ..options };
        let dir = std::path::absolute(dir).map_err(|error| io_error("find", dir, &error))?;
        create_dir(&dir, options.durability)?;
        let lock = DirLock::acquire(&dir)?;
        let topics_dir = dir.join("topics");
        create_dir(&topics_dir, options.durability)?;
        let sealing = Arc::new(Semaphore::new(1));
        let inner =
            Inner { topics_dir, options, logs: RwLock::default(), sealing, mappings: Arc::default(), _lock: lock };
        Ok(DiskStore { inner: Arc::new(inner) })
    }

    /// Runs `work` on a thread that may block.
    async fn blocking<T, E>(&self, work: impl FnOnce(&Inner) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let inner = self.inner.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|error| Err(broke_off(&error).into()))
    }
}

impl Store for DiskStore {
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
                    let written = log.write(&object)?;
                    // A lone append is confirmed where it was written: a second hop between threads costs it more than
                    // a commit beside it would gain.
                    if !written.is_published() && written.bytes() < CONFIRM_LATER_BYTES_MIN {
                        log.confirm(&written)?;
                    }
                    Ok::<_, CommitError>((log, written))
                })
                .await?;
            let location = Location { segment: written.segment_first_offset(), position: written.position };
            if written.is_published() {
                return Ok(Begun::done(location));
            }
            let confirming = tokio::task::spawn_blocking(move || log.confirm(&written));
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
        Box::pin(self.blocking(move |inner| {
            let dir = inner.dir(&topic)?;
            create_dir(&dir, inner.options.durability)?;
            let path = dir.join(SETTINGS_NAME);
            // Whoever reads them, even after a crash, finds the old ones or the new ones.
            let replace = || {
                let mut draft = tempfile::NamedTempFile::new_in(&inner.topics_dir)?;
                draft.write_all(&settings)?;
                segment::sync(draft.as_file())?;
                draft.persist(&path)?;
                Ok(())
            };
            replace().map_err(|error: io::Error| io_error("write", &path, &error))?;
            segment::sync_dir(&dir)
        }))
    }

    fn file_of(&self, bytes: &[u8]) -> Option<FileRange> {
        self.inner.mappings.find(bytes)
    }

    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        let topic = topic.to_owned();
        Box::pin(self.blocking(move |inner| match inner.log(&topic)? {
            Some(log) => log.delete_before(offset),
            None => Ok(offset),
        }))
    }
}

impl Inner {
    /// The topics that have an object, each recovered, some at a time.
    fn topics(&self) -> Result<Vec<String>, StoreError> {
        let error = |error| io_error("list", &self.topics_dir, &error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.topics_dir).map_err(error)? {
            let entry = entry.map_err(error)?;
            match entry.file_name().into_string() {
                Ok(name) if entry.path().is_dir() => names.push(name),
                name => {
                    tracing::warn!(dir = %self.topics_dir.display(), ?name, "not a topic; ignored, move it elsewhere");
                }
            }
        }
        // A topic that cannot be recovered is there all the same: whoever lists it is told why it cannot be used.
        let has_objects =
            |name: &String| match self.log(name).and_then(|log| log.map_or(Ok(true), |log| log.is_empty())) {
                Ok(is_empty) => !is_empty,
                Err(_) => true,
            };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = names.len().div_ceil(threads).max(1);
        Ok(std::thread::scope(|scope| {
            let worker = |names: &[String]| names.iter().filter(|name| has_objects(name)).cloned().collect::<Vec<_>>();
            let workers: Vec<_> = names.chunks(share).map(|names| scope.spawn(move || worker(names))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        }))
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

    /// The topic's log; its directory is created if it is not there.
    fn log_created(&self, topic: &str) -> Result<Arc<Log>, StoreError> {
        let dir = self.dir(topic)?;
        create_dir(&dir, self.options.durability)?;
        Ok(self.insert(topic, dir))
    }

    fn insert(&self, topic: &str, dir: PathBuf) -> Arc<Log> {
        let mut logs = self.logs.write().unwrap_or_else(PoisonError::into_inner);
        let log = || Arc::new(Log::new(dir, self.options, self.sealing.clone(), self.mappings.clone()));
        logs.entry(topic.to_owned()).or_insert_with(log).clone()
    }

    /// The topic's directory. A name that would lead elsewhere is refused, whoever checked it before.
    fn dir(&self, topic: &str) -> Result<PathBuf, StoreError> {
        let plain = !topic.is_empty() && !topic.starts_with('.') && !topic.contains(['/', '\\', '\0']);
        if !plain {
            let message = format!("{topic:?} cannot be a topic's name on a local directory; choose another");
            return Err(StoreError { kind: Kind::FixRequest, message });
        }
        Ok(self.topics_dir.join(topic))
    }
}

/// Creates a directory if it is not there, and makes its name durable.
fn create_dir(dir: &Path, durability: Durability) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(dir).map_err(|error| io_error("create", dir, &error))?;
    match dir.parent() {
        Some(parent) if durability == Durability::Fsync => segment::sync_dir(parent),
        _ => Ok(()),
    }
}

fn broke_off(error: &tokio::task::JoinError) -> StoreError {
    StoreError::human(format!("work on the disk broke off ({error}); this is a fault of the broker, please report it"))
}

fn deleted(object: &ObjectAt) -> StoreError {
    let message = format!("the object at offset {} was deleted; ask for a later offset", object.first_offset);
    StoreError { kind: Kind::TryAgain, message }
}

/// Says what failed and what to do about it.
fn io_error(action: &str, path: &Path, error: &io::Error) -> StoreError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let path = path.display();
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => StoreError::wait(format!(
            "could not {action} {path}: {error}; free disk space or delete old records, then send the request again \
             (nothing of it was stored)"
        )),
        _ => StoreError::human(format!(
            "could not {action} {path}: {error}; check the disk and who may write to the directory"
        )),
    }
}
