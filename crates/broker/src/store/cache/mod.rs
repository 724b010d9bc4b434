//! Local copies of immutable objects, bounded; losing them loses nothing.
//!
//! A copy is a file, `DIR/objects/TOPIC/FIRST_OFFSET-TAG.rwl`, written under another name and renamed when it is
//! complete. Reads get its bytes from a mapping of the file, and only after all of it was checked in
//! this process' life. One task fetches or checks an object, however many want it at once.
//! Where the disk is full, objects are read into a bounded amount of memory instead.

mod check;
mod files;
mod flight;
mod load;
mod reserved;
mod room;
mod state;

use super::Mappings;
use super::lock::DirLock;
use crate::limits::{CACHE_MAPPINGS_MAX, CACHE_MEMORY_BYTES_MAX, SENDFILE_BYTES_MIN};
use crate::object_error::ObjectError;
use crate::store_error::{Setting, StoreError};
use crate::tasks::spawn_blocking;
use bytes::Bytes;
use files::Files;
use flight::{Flights, Joined};
use lru::LruCache;
use rawline_journal::Source;
use reserved::Reserved;
use room::Room;
use state::{Mapped, State, WARM_FOR};
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

/// A directory of copies, owned by one process. Cloning gives another handle of the same cache.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

/// Names a copy. Objects don't change, but a bucket can be emptied and filled again: the tag distinguishes an object
/// from another that once had its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CopyName {
    pub topic: String,
    pub first_offset: u64,
    pub tag: u32,
}

/// Stand for a topic's name where a copy is one of a journal object, or of a merged one: as they are in the first
/// journal, in others followed by the journal's number. No topic's name begins with a dot.
const JOURNAL: &str = ".journal";
const MERGED: &str = ".merged";

impl CopyName {
    /// The copy of an object of a journal.
    pub fn journal(journal: u32, source: Source, tag: u32) -> CopyName {
        let folder = if source.is_merged() { MERGED } else { JOURNAL };
        let topic = if journal == 0 { folder.to_owned() } else { format!("{folder}-{journal:04}") };
        CopyName { topic, first_offset: source.number(), tag }
    }

    /// The object of a journal that the copy is one of: its number takes the offset's place.
    fn source(&self) -> Option<Source> {
        match self.topic.split_once('-').map_or(self.topic.as_str(), |(folder, _)| folder) {
            JOURNAL => Some(Source::Journal(self.first_offset)),
            MERGED => Some(Source::Merged(self.first_offset)),
            _ => None,
        }
    }
}

/// Why an object isn't available.
#[derive(Debug, Clone, Error)]
pub(crate) enum CacheError {
    /// The fetched bytes, two times, were not the requested object.
    #[error(transparent)]
    Damaged(#[from] ObjectError),
    /// Fetching it failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache's disk failed.
    #[error("{0}")]
    Disk(Arc<io::Error>),
}

/// Takes an object's bytes as they arrive.
pub(crate) struct Sink(mpsc::Sender<Bytes>);

impl Sink {
    /// Hands over the next piece and waits while the disk is slower; false when the disk has failed and no more is
    /// wanted.
    #[must_use]
    pub async fn push(&self, piece: Bytes) -> bool {
        self.0.send(piece).await.is_ok()
    }
}

/// The result of a flight: the whole object, or `None` where the caller has to look again.
type Landed = Result<Option<Bytes>, CacheError>;

struct Inner {
    dir: PathBuf,
    files: Files,
    flights: Arc<Flights<CopyName, Landed>>,
    state: Mutex<State>,
    /// Bytes of memory for objects that can't be written to disk.
    memory: Arc<Semaphore>,
    /// Whether the failure to write copies is logged, and no copy was written since.
    logged_failing: AtomicBool,
    _lock: DirLock,
}

/// How often a read looks for an object whose copies vanish.
const LOOKS_MAX: usize = 4;

impl Cache {
    /// Opens or creates the cache in `dir`, to hold at most `bytes_max` bytes. Blocks while it reads the directory.
    ///
    /// An object larger than that can be read nevertheless: the last such object is held on disk outside the bound.
    pub fn open(dir: impl AsRef<Path>, bytes_max: u64) -> Result<Cache, StoreError> {
        let dir = std::path::absolute(dir.as_ref()).map_err(|error| unusable(dir.as_ref(), &error))?;
        let failed = |error: io::Error| unusable(&dir, &error);
        let objects = dir.join("objects");
        fs::create_dir_all(&objects).map_err(failed)?;
        let lock = DirLock::acquire(&dir).map_err(|error| error.about(Setting::CacheDir))?;
        let files = Files::new(objects);
        let room = Room::new(bytes_max, files.scan().map_err(failed)?);
        let mapped = LruCache::new(NonZeroUsize::new(CACHE_MAPPINGS_MAX).unwrap_or(NonZeroUsize::MIN));
        let inner = Arc::new(Inner {
            dir,
            files,
            flights: Flights::new(),
            state: Mutex::new(State { room, mapped, oversized: None, in_memory: LruCache::unbounded() }),
            memory: Arc::new(Semaphore::new(CACHE_MEMORY_BYTES_MAX as usize)),
            logged_failing: AtomicBool::new(false),
            _lock: lock,
        });
        inner.make_room(0);
        Ok(Cache { inner })
    }

    /// Size of all copies in bytes, those that are being written included.
    pub fn bytes(&self) -> u64 {
        self.inner.state().room.bytes()
    }

    /// The mapped copies.
    pub(crate) fn mappings(&self) -> Arc<Mappings> {
        self.inner.files.mappings()
    }

    /// Whether there is a copy, or will be.
    pub(crate) fn holds(&self, name: &CopyName) -> bool {
        {
            let state = self.inner.state();
            let is_listed = state.room.contains(name) || state.in_memory.contains(name);
            if is_listed {
                return true;
            }
        }
        self.inner.flights.contains(name)
    }

    /// Whether there is a copy of this object.
    pub(crate) fn has(&self, name: &CopyName) -> bool {
        self.inner.look(name).is_some()
    }

    /// Bytes of an object from its copy. Without one, `fetch` gets the whole object; it is called again if what it got
    /// was damaged or can't be written to disk.
    pub(crate) async fn get<F>(
        &self,
        name: &CopyName,
        object_bytes: u64,
        range: Range<u64>,
        fetch: impl Fn(Sink) -> F + Clone + Send + Sync + 'static,
    ) -> Result<Bytes, CacheError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        for _ in 0..LOOKS_MAX {
            if let Some(mapped) = self.inner.look(name) {
                if let Some(bytes) = self.inner.read(name, &mapped, &range).await? {
                    return Ok(bytes);
                }
                continue;
            }
            let flight = match self.inner.flights.join(name) {
                Joined::Wait(flight) => flight,
                Joined::Fly(landing, flight) => {
                    self.inner.clone().fly(landing, name.clone(), object_bytes, fetch.clone(), ());
                    flight
                }
            };
            let landed = flight.await.ok_or_else(|| aborted("the task that fetched it has died"))?;
            if let Some(whole) = landed? {
                return slice(&whole, &range);
            }
        }
        Err(aborted("its copies vanish; another process may be deleting them").into())
    }

    /// Begins to fetch an object that has no copy. `guard` is dropped when that has ended.
    pub(crate) fn prefetch<F>(
        &self,
        name: CopyName,
        object_bytes: u64,
        guard: impl Send + 'static,
        fetch: impl Fn(Sink) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        if let Joined::Fly(landing, _) = self.inner.flights.join(&name) {
            self.inner.clone().fly(landing, name, object_bytes, fetch, guard);
        }
    }

    /// Keeps a copy of an object that was just stored. The file is written in the background; reads of the object wait
    /// for the file.
    pub(crate) fn put(&self, name: CopyName, parts: Vec<Bytes>) {
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        if bytes > self.inner.state().room.bytes_max() {
            return;
        }
        let Joined::Fly(landing, _) = self.inner.flights.join(&name) else { return };
        let inner = self.inner.clone();
        spawn_blocking(move || {
            inner.keep(&name, &parts, bytes);
            // A merged object's parts are parts of other copies, which are mapped.
            let mappings = inner.files.mappings();
            parts.iter().for_each(|part| mappings.touched(part));
            // The parts may be the broker's buffers, which other requests wait for.
            drop(parts);
            landing.land(Ok(None));
        });
    }

    /// Drops copies, because their objects are deleted or because they are damaged. True if there was one.
    pub(crate) async fn remove(&self, names: Vec<CopyName>) -> bool {
        let inner = self.inner.clone();
        let removed = spawn_blocking(move || names.iter().filter(|name| inner.forget(name)).count() > 0).await;
        removed.unwrap_or_else(|error| {
            tracing::warn!(%error, "copies of deleted objects stay in the cache until it is full");
            false
        })
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object if it is mapped or in memory.
    fn look(&self, name: &CopyName) -> Option<Mapped> {
        let mut state = self.state();
        let mapped = state.mapped.get(name).cloned();
        if mapped.is_some() {
            state.room.get(name);
            return mapped;
        }
        let oversized = state.oversized.as_ref().filter(|(oversized, _)| oversized == name);
        let oversized = oversized.map(|(_, mapped)| mapped.clone());
        oversized.or_else(|| state.in_memory.get(name).cloned())
    }

    /// Bytes of a mapped object, from disk if they may not be in memory any more. `None` if the copy turns out to be
    /// unusable.
    async fn read(
        self: &Arc<Self>,
        name: &CopyName,
        mapped: &Mapped,
        range: &Range<u64>,
    ) -> Result<Option<Bytes>, CacheError> {
        let error = if self.files.is_whole(&mapped.whole) {
            let cut = slice(&mapped.whole, range)?;
            if cut.len() < SENDFILE_BYTES_MIN {
                // It is looked at, or copied into a socket.
                self.files.mappings().touched(&cut);
            }
            if mapped.warm_until > Instant::now() {
                return Ok(Some(cut));
            }
            let (inner, cold) = (self.clone(), cut.clone());
            match spawn_blocking(move || inner.files.touch(&cold)).await.map_err(aborted)? {
                Ok(()) => {
                    self.warmed(name);
                    return Ok(Some(cut));
                }
                Err(error) => error.to_string(),
            }
        } else {
            "it was truncated".to_owned()
        };
        tracing::warn!(
            topic = name.topic,
            offset = name.first_offset,
            error,
            "a copy is unusable; fetching its object again"
        );
        let (inner, name) = (self.clone(), name.clone());
        spawn_blocking(move || inner.forget(&name)).await.map_err(aborted)?;
        Ok(None)
    }

    fn warmed(&self, name: &CopyName) {
        let mut state = self.state();
        let warm_until = Instant::now() + WARM_FOR;
        if let Some(mapped) = state.mapped.peek_mut(name) {
            mapped.warm_until = warm_until;
        } else if let Some((_, mapped)) = state.oversized.as_mut().filter(|(oversized, _)| oversized == name) {
            mapped.warm_until = warm_until;
        }
    }

    /// Best effort: caches an object that is already stored. A failure only costs a later download.
    fn keep(self: &Arc<Self>, name: &CopyName, parts: &[Bytes], bytes: u64) {
        let Some(reserved) = Reserved::new(self, bytes) else { return };
        let write = || {
            let mut draft = self.files.draft(name)?;
            draft.write_all_vectored(parts)?;
            self.files.keep(draft, name, bytes)
        };
        match write() {
            Ok(()) => {
                reserved.admit(name, false);
                self.logged_failing.store(false, Ordering::Relaxed);
            }
            Err(error) => self.log_failing(&error),
        }
    }

    fn log_failing(&self, error: &io::Error) {
        if !self.logged_failing.swap(true, Ordering::Relaxed) {
            let dir = self.dir.display();
            let advice = "free some space or make the cache smaller";
            tracing::warn!(%dir, %error, "can't write to the cache, so reads will be slow; {advice}");
        }
    }

    /// Lists a mapping whose checksums are good and whose pages are in memory.
    fn list_mapped(&self, name: &CopyName, whole: &Bytes) {
        let mut state = self.state();
        // It may have been evicted meanwhile; then the mapping lives as long as its readers.
        if state.room.set_verified(name) {
            state.mapped.put(name.clone(), Mapped::new(whole));
        }
        state.check();
    }

    /// Reserves room for a copy, evicting those that were not used for longest; false if there is too little. Blocks.
    fn make_room(&self, bytes: u64) -> bool {
        let (has_room, evicted) = self.change(|room| room.reserve(bytes));
        evicted.iter().for_each(|name| self.files.unlink(name));
        has_room
    }

    /// Makes the cache smaller by the size of an object, because its disk is full. Blocks.
    fn shrink(&self, bytes: u64) {
        let ((), evicted) = self.change(|room| ((), room.evict(bytes)));
        evicted.iter().for_each(|name| self.files.unlink(name));
    }

    /// Changes the room; mappings of evicted copies are dropped.
    fn change<T>(&self, change: impl FnOnce(&mut Room<CopyName>) -> (T, Vec<CopyName>)) -> (T, Vec<CopyName>) {
        let mut state = self.state();
        let (done, evicted) = change(&mut state.room);
        evicted.iter().for_each(|name| drop(state.mapped.pop(name)));
        state.check();
        (done, evicted)
    }

    /// Drops a copy; false if there was none. Mappings in use stay valid. Blocks.
    fn forget(&self, name: &CopyName) -> bool {
        let (was_held, was_listed) = {
            let mut state = self.state();
            let was_oversized = state.oversized.as_ref().is_some_and(|(oversized, _)| oversized == name);
            if was_oversized {
                state.oversized = None;
            }
            let was_mapped = state.mapped.pop(name).is_some();
            let was_in_memory = state.in_memory.pop(name).is_some();
            (was_mapped || was_in_memory || was_oversized, state.room.forget(name))
        };
        if was_listed {
            self.files.unlink(name);
        }
        was_held || was_listed
    }
}

fn slice(whole: &Bytes, range: &Range<u64>) -> Result<Bytes, CacheError> {
    if range.start > range.end || range.end > whole.len() as u64 {
        return Err(ObjectError::Truncated { have: whole.len() as u64, need: range.end }.into());
    }
    Ok(whole.slice(range.start as usize..range.end as usize))
}

fn unusable(dir: &Path, error: &io::Error) -> StoreError {
    let dir = dir.display();
    StoreError::human(format!(
        "can't use the cache {dir}: {error}; check its free space and its permissions, or use another directory"
    ))
    .about(Setting::CacheDir)
}

fn aborted(error: impl std::fmt::Display) -> StoreError {
    StoreError::wait(format!("reading an object was aborted ({error}); retry"))
}
