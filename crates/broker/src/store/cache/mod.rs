//! Local copies of parts of immutable objects, bounded; losing them loses nothing.
//!
//! A copy is a file of its object's size with holes, `DIR/objects/TOPIC/FIRST_OFFSET-TAG.rwl`. Reads fetch the blocks
//! that they need and are not there: one task fetches a block, however many want it, on a thread of the cache. They get
//! their bytes from a mapping of the file, verify them, and note it here, so that nothing is verified twice while it is
//! mapped. A copy of what this process has stored is written whole, under another name, and renamed when it is
//! complete. Where the disk is full, bytes are read into a bounded amount of memory instead.

mod check;
mod copy;
mod entries;
mod error;
mod failing;
mod fetch;
mod files;
mod flight;
mod memory;
mod name;
mod ranges;
mod reserved;
mod room;
mod state;
mod threads;

pub(crate) use error::CacheError;
pub(crate) use fetch::{Remote, Sink};
pub(crate) use name::CopyName;

use super::lock::DirLock;
use super::{Mappings, Prefetched};
use crate::limits::{CACHE_AHEAD_GETS_MAX, CACHE_MAPPINGS_MAX, SENDFILE_BYTES_MIN};
use crate::metrics::METRICS;
use crate::object_error::ObjectError;
use crate::store::disk::sys::is_resident;
use crate::store::disk::warm::Missed;
use crate::store_error::{Setting, StoreError};
use crate::tasks::{self, spawn_blocking};
use bytes::Bytes;
use check::{check_front, front_of};
use copy::Copy;
use entries::Entries;
use error::{aborted, disk, unusable};
use failing::Failing;
use fetch::slice;
use files::{Files, Scanned};
use flight::{Flights, Joined};
use futures_util::future::join_all;
use lru::LruCache;
use memory::Memory;
use ranges::Ranges;
use reserved::Reserved;
use room::Room;
use state::State;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threads::{Running, Threads};
use tokio::sync::Semaphore;

/// A directory of copies, owned by one process. Cloning gives another handle of the same cache.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
    _running: Arc<Running>,
}

struct Inner {
    dir: PathBuf,
    files: Files,
    /// Files that are being written whole, or opened.
    flights: Arc<Flights<CopyName, Result<(), CacheError>>>,
    state: Mutex<State>,
    entries: Mutex<Entries>,
    /// For what can't be written to disk.
    memory: Memory,
    /// Bounds how many GETs are in flight ahead of their readers.
    ahead: Arc<Semaphore>,
    missed: Arc<Missed>,
    failing: Failing,
    threads: Threads,
    _lock: DirLock,
}

/// How often a read looks for a copy that vanishes.
const LOOKS_MAX: usize = 4;

impl Cache {
    /// Opens or creates the cache in `dir`, to hold at most `bytes_max` bytes. Blocks while it reads the directory.
    pub fn open(dir: impl AsRef<Path>, bytes_max: u64) -> Result<Cache, StoreError> {
        let dir = std::path::absolute(dir.as_ref()).map_err(|error| unusable(dir.as_ref(), &error))?;
        let failed = |error: io::Error| unusable(&dir, &error);
        let objects = dir.join("objects");
        fs::create_dir_all(&objects).map_err(failed)?;
        let lock = DirLock::acquire(&dir).map_err(|error| error.about(Setting::CacheDir))?;
        let files = Files::new(objects);
        let mut room = Room::new(bytes_max);
        for Scanned { name, bytes, is_whole } in files.scan().map_err(failed)? {
            room.insert(name.clone(), bytes);
            if is_whole {
                room.protect(&name);
            }
        }
        let open = LruCache::new(NonZeroUsize::new(CACHE_MAPPINGS_MAX).unwrap_or(NonZeroUsize::MIN));
        let (threads, running) = Threads::start(&dir)?;
        let inner = Arc::new(Inner {
            dir,
            files,
            flights: Flights::new(),
            state: Mutex::new(State { room, open }),
            entries: Mutex::new(Entries::new()),
            memory: Memory::new(),
            ahead: Arc::new(Semaphore::new(CACHE_AHEAD_GETS_MAX)),
            missed: Arc::new(Missed::new()),
            failing: Failing::default(),
            threads,
            _lock: lock,
        });
        inner.make_room(0);
        Ok(Cache { inner, _running: Arc::new(running) })
    }

    /// Size of all copies in bytes, those that are being written included.
    pub fn bytes(&self) -> u64 {
        self.inner.state().room.bytes()
    }

    /// Maximum size of all copies in bytes.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.inner.state().room.bytes_max()
    }

    /// Number of the threads that fetch.
    pub(crate) fn fetch_threads(&self) -> usize {
        self.inner.threads.count()
    }

    /// The mapped copies.
    pub(crate) fn mappings(&self) -> Arc<Mappings> {
        self.inner.files.mappings()
    }

    /// Whether these bytes of an object are here.
    pub(crate) fn has(&self, name: &CopyName, range: &Range<u64>) -> bool {
        self.inner.look(name).is_some_and(|copy| copy.has(range))
    }

    /// Bytes of an object, of which `fetch` gets what isn't here. They are the object's by its name; whether they
    /// are intact, the reader verifies.
    pub(crate) async fn get(&self, object: &Remote, range: Range<u64>) -> Result<Bytes, CacheError> {
        if range.start > range.end || range.end > object.bytes {
            return Err(ObjectError::Truncated { have: object.bytes, need: range.end }.into());
        }
        let mut is_retry = false;
        for _ in 0..LOOKS_MAX {
            let read = match self.inner.open(&object.name, object.bytes).await {
                Ok(copy) => self.inner.read(object, &copy, &range).await,
                Err(error) => Err(error),
            };
            match read {
                Ok(Some(bytes)) => return Ok(bytes),
                Ok(None) => {}
                Err(CacheError::Disk(error)) => {
                    return self.inner.get_in_memory(object, &range, error).await;
                }
                Err(CacheError::Damaged(error)) if !is_retry => {
                    let (topic, offset) = (&object.name.topic, object.name.first_offset);
                    tracing::warn!(topic, offset, %error, "a copy is damaged; fetching its object again");
                    is_retry = true;
                }
                Err(error) => return Err(error),
            }
        }
        Err(aborted("its copies vanish; another process may be deleting them").into())
    }

    /// Begins to fetch what isn't here of these bytes of an object, as far as so much may be fetched ahead.
    pub(crate) fn prefetch(&self, object: Remote, range: Range<u64>) -> Prefetched {
        let inner = self.inner.clone();
        if let Some(copy) = inner.look(&object.name) {
            return inner.begin_ahead(&copy, &object, &range);
        }
        tasks::spawn(async move {
            // A read that needs it finds out why it can't be opened.
            if let Ok(copy) = inner.open(&object.name, object.bytes).await {
                inner.begin_ahead(&copy, &object, &range);
            }
        });
        Prefetched::Begun
    }

    /// Whether a reader has verified these bytes, which a read of the object from an offset on has returned.
    pub(crate) fn is_verified(&self, name: &CopyName, bytes: &[u8], offset: u64) -> bool {
        let Some(copy) = self.inner.look(name) else { return false };
        let (is_verified, is_again) = copy.is_verified(bytes, offset);
        if is_again {
            self.inner.state().room.protect(name);
        }
        is_verified
    }

    /// Notes that these bytes, which a read of the object has returned, are intact.
    pub(crate) fn set_verified(&self, name: &CopyName, bytes: &[u8]) {
        if let Some(copy) = self.inner.look(name) {
            copy.set_verified(bytes);
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
            landing.land(Ok(()));
        });
    }

    /// Entries of an object that a search has read, from their position on.
    pub(crate) fn entries(&self, name: &CopyName, position: u64) -> Option<Bytes> {
        self.inner.entries().get(name, position)
    }

    /// Keeps entries of an object of which there is no copy.
    pub(crate) fn keep_entries(&self, name: &CopyName, position: u64, entries: Bytes) {
        self.inner.entries().put(name, position, entries);
    }

    /// Drops what is here of an object, because it is damaged. True if there was something.
    pub(crate) async fn remove(&self, name: CopyName) -> bool {
        let had_entries = self.inner.entries().forget(&name);
        let inner = self.inner.clone();
        spawn_blocking(move || inner.forget(&name)).await.unwrap_or(false) || had_entries
    }
}

impl Inner {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The copy if it is mapped.
    fn look(&self, name: &CopyName) -> Option<Arc<Copy>> {
        let mut state = self.state();
        let copy = state.open.get(name).cloned()?;
        state.room.get(name);
        Some(copy)
    }

    /// The copy; an empty one if there was none.
    async fn open(self: &Arc<Self>, name: &CopyName, object_bytes: u64) -> Result<Arc<Copy>, CacheError> {
        for _ in 0..LOOKS_MAX {
            if let Some(copy) = self.look(name) {
                return Ok(copy);
            }
            let flight = match self.flights.join(name) {
                Joined::Wait(flight) => flight,
                Joined::Fly(landing, flight) => {
                    let (inner, name) = (self.clone(), name.clone());
                    spawn_blocking(move || {
                        let opened = inner.open_file(&name, object_bytes);
                        let opened = opened.map_err(Arc::new);
                        if let Err(error) = &opened {
                            inner.failing.failed(&inner.dir, error.clone());
                        }
                        landing.land(opened.map_err(CacheError::Disk));
                    });
                    flight
                }
            };
            flight.await.ok_or_else(|| aborted("the task that opened its copy has died"))??;
        }
        Err(aborted("its copies vanish; another process may be deleting them").into())
    }

    /// Opens the file of a copy, or creates it. Blocks.
    fn open_file(&self, name: &CopyName, object_bytes: u64) -> io::Result<()> {
        let listed = self.state().room.get(name);
        if let Some(listed) = listed {
            match self.open_listed(name, listed.number, object_bytes) {
                Ok((copy, bytes)) => {
                    let mut state = self.state();
                    state.room.resize(name, listed.number, |_| bytes);
                    self.list(state, name, copy);
                    return Ok(());
                }
                Err(error) => {
                    let path = self.files.path(name);
                    tracing::warn!(path = %path.display(), %error, "a copy is damaged; fetching its object again");
                    self.forget(name);
                }
            }
        }
        let (whole, file) = self.files.create(name, object_bytes)?;
        let mut state = self.state();
        let number = state.room.insert(name.clone(), 0);
        let copy = Copy::new(number, whole, file, Ranges::default(), &self.missed);
        self.list(state, name, copy);
        Ok(())
    }

    /// Opens the file of a copy. Returns the size of what is there of it, too. Blocks.
    fn open_listed(&self, name: &CopyName, number: u64, object_bytes: u64) -> Result<(Arc<Copy>, u64), CacheError> {
        let (whole, file, present) = self.files.open(name, object_bytes).map_err(disk)?;
        let (bytes, has_front) = (present.bytes(), present.contains(&front_of(object_bytes)));
        let copy = Copy::new(number, whole, file, present, &self.missed);
        if has_front {
            self.check(&copy, name)?;
        }
        Ok((copy, bytes))
    }

    /// Checks the front of a copy, which is here. Blocks.
    fn check(&self, copy: &Copy, name: &CopyName) -> Result<(), CacheError> {
        let object_bytes = copy.whole.len() as u64;
        let front = slice(&copy.whole, &front_of(object_bytes))?;
        self.files.touch(&front).map_err(disk)?;
        self.files.mappings().touched(&front);
        check_front(&front, name, object_bytes)?;
        copy.set_checked();
        Ok(())
    }

    /// Lists a mapping. Its copy may have been evicted meanwhile; then the mapping lives as long as its readers.
    fn list(&self, mut state: MutexGuard<'_, State>, name: &CopyName, copy: Arc<Copy>) {
        if state.room.get(name).is_some_and(|listed| listed.number == copy.number) {
            state.open.put(name.clone(), copy);
        }
        state.check();
    }

    /// Bytes of a copy, once they are here: from disk if they may not be in memory. `None` if the copy turns out to be
    /// unusable.
    async fn read(
        self: &Arc<Self>,
        object: &Remote,
        copy: &Arc<Copy>,
        range: &Range<u64>,
    ) -> Result<Option<Bytes>, CacheError> {
        let name = &object.name;
        let mut truncated = object.bytes != copy.whole.len() as u64 || !self.files.is_whole(&copy.whole);
        METRICS.cache.read(!truncated && copy.has(range));
        let mut looks = 0;
        while !truncated && !copy.has(range) {
            if let Some(error) = self.failing.now() {
                return Err(CacheError::Disk(error));
            }
            let flights = self.begin(copy, object, range);
            for landed in join_all(flights).await {
                landed.ok_or_else(|| aborted("the task that fetched it has died"))??;
            }
            if !copy.is_checked() {
                let (inner, copy, checked) = (self.clone(), copy.clone(), name.clone());
                let check = spawn_blocking(move || inner.check(&copy, &checked));
                if let Err(error) = check.await.map_err(aborted)? {
                    self.drop_copy(name).await?;
                    return Err(error);
                }
            }
            looks += 1;
            assert!(looks < LOOKS_MAX, "the bytes {range:?} of {name:?} were fetched, and are not here");
            truncated = !self.files.is_whole(&copy.whole);
        }
        let error = if truncated {
            "it was truncated".to_owned()
        } else {
            let cut = slice(&copy.whole, range)?;
            if cut.len() < SENDFILE_BYTES_MIN {
                // It is looked at, or copied into a socket.
                self.files.mappings().touched(&cut);
            }
            let range = range.start as usize..range.end as usize;
            let is_there = |part: Range<usize>| copy.whole.get(part).is_some_and(is_resident);
            if copy.warm.is_resident(&range, copy.whole.len(), is_there) {
                return Ok(Some(cut));
            }
            let (inner, cold) = (self.clone(), cut.clone());
            match spawn_blocking(move || inner.files.touch(&cold)).await.map_err(aborted)? {
                Ok(()) => return Ok(Some(cut)),
                Err(error) => error.to_string(),
            }
        };
        let offset = name.first_offset;
        tracing::warn!(topic = name.topic, offset, error, "a copy is unusable; fetching its object again");
        self.drop_copy(name).await?;
        Ok(None)
    }

    async fn drop_copy(self: &Arc<Self>, name: &CopyName) -> Result<bool, StoreError> {
        let (inner, name) = (self.clone(), name.clone());
        spawn_blocking(move || inner.forget(&name)).await.map_err(aborted)
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
                reserved.admit(name);
                self.state().room.protect(name);
                self.failing.worked();
            }
            Err(error) => self.failing.failed(&self.dir, Arc::new(error)),
        }
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
        evicted.iter().for_each(|name| drop(state.open.pop(name)));
        state.check();
        (done, evicted)
    }

    /// Drops a copy; false if there was none. Mappings in use stay valid. Blocks.
    fn forget(&self, name: &CopyName) -> bool {
        let was_listed = {
            let mut state = self.state();
            state.open.pop(name);
            state.room.forget(name)
        };
        if was_listed {
            self.files.unlink(name);
        }
        was_listed
    }
}
