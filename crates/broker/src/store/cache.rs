//! Local copies of immutable objects, bounded; losing them loses nothing.
//!
//! A copy is a file, `DIR/objects/TOPIC/FIRST_OFFSET-TAG.rwl`, written beside its place and renamed into it when whole.
//! Whoever asks for bytes gets them out of a mapping of the file, and only after [`object::verify`] has passed over all
//! of it in this process' life. One task fetches or checks an object, however many ask for it at once.

use super::lock::DirLock;
use super::mapping::Mappings;
use super::{FileRange, ObjectAt, StoreError};
use crate::limits::{CACHE_MAPPINGS_MAX, CACHE_PIECES_QUEUED_MAX};
use crate::object::{self, ObjectError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use lru::LruCache;
use memmap2::Mmap;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

/// A directory of copies, owned by one process. Cloning gives another handle of the same cache.
#[derive(Clone)]
pub struct Cache {
    inside: Arc<Inside>,
}

/// Names a copy. Objects do not change, but a bucket can be emptied and filled again: the tag tells an object from
/// another that once had its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CopyName {
    pub topic: String,
    pub first_offset: u64,
    pub tag: u32,
}

/// Why an object can't be had.
#[derive(Debug, Clone, Error)]
pub(crate) enum CacheError {
    /// What was fetched, twice, is not the object that was asked for.
    #[error(transparent)]
    Damaged(#[from] ObjectError),
    /// The disk or the fetching failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes an object's bytes in as they arrive.
pub(crate) struct Sink(mpsc::Sender<Bytes>);

impl Sink {
    /// Hands in the next piece, waiting while the disk is behind; false when the disk has failed and no more is wanted.
    #[must_use]
    pub async fn push(&self, piece: Bytes) -> bool {
        self.0.send(piece).await.is_ok()
    }
}

struct Inside {
    dir: PathBuf,
    objects: PathBuf,
    bytes_max: u64,
    mappings: Arc<Mappings>,
    state: Mutex<State>,
    /// Numbers the files that are being written.
    writes: AtomicU64,
    /// Whether the log has been told that copies can't be written, and none has been written since.
    told_failing: AtomicBool,
    _lock: DirLock,
}

struct State {
    /// Every copy there is, the one used last in front.
    copies: LruCache<CopyName, Copied>,
    /// Length of all copies and of those on their way.
    bytes: u64,
    /// What is being fetched, written or checked.
    flights: HashMap<CopyName, Flight>,
    /// Copies that are mapped, the one used last in front: a process may have only so many mappings.
    mapped: LruCache<CopyName, Mapped>,
    /// The last object that had no room in the cache; its file is unlinked already.
    homeless: Option<(CopyName, Mapped)>,
}

struct Copied {
    bytes: u64,
    verified: bool,
}

#[derive(Clone)]
struct Mapped {
    whole: Bytes,
    /// Until when its pages are believed to be in memory.
    warm_until: Instant,
}

/// What a flight ends with: the whole object, or `None` where one has to look again.
type Landed = Result<Option<Bytes>, CacheError>;
type Flight = Shared<BoxFuture<'static, Landed>>;

/// A page that was touched is taken to stay in memory so long; then it is touched again, where blocking is allowed.
const WARM_FOR: Duration = Duration::from_secs(10);

/// The smallest page there is.
const PAGE_BYTES: usize = 4096;

impl Cache {
    /// Opens or creates the cache in `dir`, to hold at most `bytes_max` bytes. Blocks while it reads the directory.
    ///
    /// An object larger than that can be read all the same: the last such is held on disk outside the bound.
    pub fn open(dir: impl AsRef<Path>, bytes_max: u64) -> Result<Cache, StoreError> {
        let dir = std::path::absolute(dir.as_ref()).map_err(|error| unusable(dir.as_ref(), &error))?;
        let failed = |error: io::Error| unusable(&dir, &error);
        let objects = dir.join("objects");
        fs::create_dir_all(&objects).map_err(failed)?;
        let lock = DirLock::acquire(&dir)?;
        let (copies, bytes) = scan(&objects).map_err(failed)?;
        let mapped = LruCache::new(NonZeroUsize::new(CACHE_MAPPINGS_MAX).unwrap_or(NonZeroUsize::MIN));
        let state = State { copies, bytes, flights: HashMap::new(), mapped, homeless: None };
        let inside = Arc::new(Inside {
            dir,
            objects,
            bytes_max,
            mappings: Arc::default(),
            state: Mutex::new(state),
            writes: AtomicU64::new(0),
            told_failing: AtomicBool::new(false),
            _lock: lock,
        });
        inside.make_room(0);
        Ok(Cache { inside })
    }

    /// Length of all copies in bytes, those on their way included.
    pub fn bytes(&self) -> u64 {
        self.inside.state().bytes
    }

    /// The copy's file behind bytes of a copy.
    pub(crate) fn file_of(&self, bytes: &[u8]) -> Option<FileRange> {
        self.inside.mappings.find(bytes)
    }

    /// Whether there is a copy, or will be.
    pub(crate) fn holds(&self, name: &CopyName) -> bool {
        let state = self.inside.state();
        state.copies.contains(name) || state.flights.contains_key(name)
    }

    /// Bytes of an object from its copy. Without one, `fetch` gets the whole object; it is called once more if what it
    /// gave was damaged.
    pub(crate) async fn get<F>(
        &self,
        name: &CopyName,
        object: ObjectAt,
        range: Range<u64>,
        fetch: impl Fn(Sink) -> F + Send + Sync + 'static,
    ) -> Result<Bytes, CacheError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        let mut fetch = Some(fetch);
        loop {
            let flight = match self.inside.look(name) {
                Look::Warm(whole) => return slice(&whole, &range),
                Look::Cold(whole) => {
                    let cut = slice(&whole, &range)?;
                    let touched = cut.clone();
                    spawn_blocking(move || touch(&touched)).await.map_err(given_up)?;
                    self.inside.warmed(name);
                    return Ok(cut);
                }
                Look::Flight(flight) => flight,
                Look::Load(landing, flight) => {
                    // A load ends with the object or an error, so this is taken once; `None` only tells the compiler.
                    let Some(fetch) = fetch.take() else { continue };
                    // In a task of its own, so that it ends well even if everybody who waits for it goes away.
                    tokio::spawn(async move {
                        let landed = landing.inside.load(&landing.name, object.bytes, fetch).await;
                        landing.land(landed.map(Some));
                    });
                    flight
                }
            };
            if let Some(whole) = flight.await? {
                return slice(&whole, &range);
            }
        }
    }

    /// Keeps a copy of an object that was just stored. The file is written behind the caller's back; whoever asks for
    /// the object meanwhile waits for the file.
    pub(crate) fn put(&self, name: CopyName, parts: Vec<Bytes>) {
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        if bytes > self.inside.bytes_max {
            return;
        }
        let Look::Load(landing, _) = self.inside.look(&name) else { return };
        spawn_blocking(move || {
            landing.inside.keep(&name, &parts, bytes);
            // The parts may be the broker's buffers, which others wait for.
            drop(parts);
            landing.land(Ok(None));
        });
    }

    /// Drops copies, because their objects are gone.
    pub(crate) async fn remove(&self, names: Vec<CopyName>) {
        let inside = self.inside.clone();
        let removed = spawn_blocking(move || names.iter().for_each(|name| inside.forget(name))).await;
        if let Err(error) = removed {
            tracing::warn!(%error, "copies of deleted objects stay in the cache until it is full");
        }
    }
}

/// What there is of an object.
enum Look {
    /// Its bytes, in memory.
    Warm(Bytes),
    /// Its bytes, some of which may have to be read from disk.
    Cold(Bytes),
    /// Somebody is getting it.
    Flight(Flight),
    /// Nothing usable; whoever looked has to get it.
    Load(Landing, Flight),
}

/// Ends a flight, also when the task that flies it dies.
struct Landing {
    inside: Arc<Inside>,
    name: CopyName,
    send: Option<oneshot::Sender<Landed>>,
}

impl Landing {
    fn land(mut self, landed: Landed) {
        self.inside.state().flights.remove(&self.name);
        if let Some(send) = self.send.take() {
            // Everybody who waited may have gone away.
            let _ = send.send(landed);
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if self.send.is_some() {
            self.inside.state().flights.remove(&self.name);
        }
    }
}

impl Inside {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(self: &Arc<Self>, name: &CopyName) -> Look {
        let mut state = self.state();
        let mapped = match state.mapped.get(name) {
            Some(mapped) => Some(mapped.clone()),
            None => state.homeless.as_ref().filter(|(homeless, _)| homeless == name).map(|(_, mapped)| mapped.clone()),
        };
        if let Some(mapped) = mapped {
            state.copies.promote(name);
            let is_warm = mapped.warm_until > Instant::now();
            return if is_warm { Look::Warm(mapped.whole) } else { Look::Cold(mapped.whole) };
        }
        if let Some(flight) = state.flights.get(name) {
            return Look::Flight(flight.clone());
        }
        let (send, landed) = oneshot::channel();
        let flight = landed.map(|landed| landed.unwrap_or_else(|error| Err(given_up(error).into()))).boxed().shared();
        state.flights.insert(name.clone(), flight.clone());
        Look::Load(Landing { inside: self.clone(), name: name.clone(), send: Some(send) }, flight)
    }

    fn warmed(&self, name: &CopyName) {
        let mut state = self.state();
        let warm_until = Instant::now() + WARM_FOR;
        if let Some(mapped) = state.mapped.peek_mut(name) {
            mapped.warm_until = warm_until;
        } else if let Some((_, mapped)) = state.homeless.as_mut().filter(|(homeless, _)| homeless == name) {
            mapped.warm_until = warm_until;
        }
    }

    /// Gets an object from its copy or, where there is none or it is damaged, from afar.
    async fn load<F>(
        self: &Arc<Self>,
        name: &CopyName,
        bytes: u64,
        fetch: impl Fn(Sink) -> F,
    ) -> Result<Bytes, CacheError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        let (inside, wanted) = (self.clone(), name.clone());
        let opened = spawn_blocking(move || inside.open_copy(&wanted, bytes)).await.map_err(given_up)?;
        if let Some(whole) = opened {
            return Ok(whole);
        }
        match self.download(name, bytes, &fetch).await {
            Err(CacheError::Damaged(error)) => {
                tracing::warn!(topic = name.topic, offset = name.first_offset, %error, "an object arrived damaged; fetching it again");
                self.download(name, bytes, &fetch).await
            }
            done => done,
        }
    }

    /// Maps a copy and checks it if this process has not yet.
    fn open_copy(&self, name: &CopyName, bytes: u64) -> Option<Bytes> {
        let verified = self.state().copies.get(name)?.verified;
        let path = self.path(name);
        let mapped = File::open(&path).and_then(|file| map(file, &self.mappings));
        let checked = match mapped {
            Ok(whole) if verified && whole.len() as u64 == bytes => {
                touch(&whole);
                Ok(whole)
            }
            Ok(whole) => check(&whole, name, bytes).map(|()| whole).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match checked {
            Ok(whole) => {
                self.mapped(name, &whole);
                Some(whole)
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a copy is damaged; fetching its object again");
                self.forget(name);
                None
            }
        }
    }

    /// Fetches an object into a file, checks it and makes it a copy.
    async fn download<F>(
        self: &Arc<Self>,
        name: &CopyName,
        bytes: u64,
        fetch: &impl Fn(Sink) -> F,
    ) -> Result<Bytes, CacheError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        let (send, pieces) = mpsc::channel(CACHE_PIECES_QUEUED_MAX);
        let (inside, wanted) = (self.clone(), name.clone());
        let writing = spawn_blocking(move || {
            let has_room = inside.make_room(bytes);
            let written = inside.write_pieces(&wanted, pieces);
            (Room { inside, bytes: if has_room { bytes } else { 0 } }, written)
        });
        let fetched = fetch(Sink(send)).await;
        let (room, written) = writing.await.map_err(given_up)?;
        let draft = written.map_err(|error| unusable(&self.dir, &error))?;
        fetched?;
        let (inside, name) = (self.clone(), name.clone());
        spawn_blocking(move || {
            let mapped = draft.file.try_clone().and_then(|file| map(file, &inside.mappings));
            let whole = mapped.map_err(|error| unusable(&inside.dir, &error))?;
            check(&whole, &name, bytes)?;
            if room.bytes == 0 {
                // The draft's file is unlinked here and goes when its mapping goes.
                let mapped = Mapped { whole: whole.clone(), warm_until: Instant::now() + WARM_FOR };
                inside.state().homeless = Some((name, mapped));
                return Ok(whole);
            }
            draft.rename(&inside.path(&name)).map_err(|error| unusable(&inside.dir, &error))?;
            room.hand_over();
            inside.admit(&name, Copied { bytes, verified: true });
            inside.mapped(&name, &whole);
            Ok(whole)
        })
        .await
        .map_err(given_up)?
    }

    fn write_pieces(&self, name: &CopyName, mut pieces: mpsc::Receiver<Bytes>) -> io::Result<Draft> {
        let mut draft = self.draft(name)?;
        while let Some(piece) = pieces.blocking_recv() {
            draft.file.write_all(&piece)?;
        }
        Ok(draft)
    }

    /// Writes a copy of an object that is stored already. That it fails is no more than a pity.
    fn keep(self: &Arc<Self>, name: &CopyName, parts: &[Bytes], bytes: u64) {
        if !self.make_room(bytes) {
            return;
        }
        let room = Room { inside: self.clone(), bytes };
        let write = || {
            let mut draft = self.draft(name)?;
            write_all_vectored(&mut draft.file, parts)?;
            draft.rename(&self.path(name))
        };
        match write() {
            Ok(()) => {
                room.hand_over();
                self.admit(name, Copied { bytes, verified: false });
                self.told_failing.store(false, Ordering::Relaxed);
            }
            Err(error) => {
                if !self.told_failing.swap(true, Ordering::Relaxed) {
                    let dir = self.dir.display();
                    tracing::warn!(%dir, %error, "can't write to the cache, so what was appended will be fetched to be read; free some space or lower --cache-bytes");
                }
            }
        }
    }

    /// Lists a copy whose room is reserved.
    fn admit(&self, name: &CopyName, copied: Copied) {
        let mut state = self.state();
        if let Some(before) = state.copies.put(name.clone(), copied) {
            state.bytes = state.bytes.saturating_sub(before.bytes);
        }
    }

    /// Lists a mapping that was checked and so touched just now.
    fn mapped(&self, name: &CopyName, whole: &Bytes) {
        let mut state = self.state();
        // It may have been evicted meanwhile; then the mapping goes with whoever asked for it.
        if let Some(copied) = state.copies.peek_mut(name) {
            copied.verified = true;
            let mapped = Mapped { whole: whole.clone(), warm_until: Instant::now() + WARM_FOR };
            state.mapped.put(name.clone(), mapped);
        }
    }

    /// Reserves room for a copy, evicting those that were not used for longest; false if there is too little. Blocks.
    fn make_room(&self, bytes: u64) -> bool {
        let mut evicted = Vec::new();
        let has_room = {
            let mut state = self.state();
            while bytes <= self.bytes_max && state.bytes + bytes > self.bytes_max {
                let Some((name, copied)) = state.copies.pop_lru() else { break };
                state.bytes = state.bytes.saturating_sub(copied.bytes);
                state.mapped.pop(&name);
                evicted.push(name);
            }
            let has_room = state.bytes + bytes <= self.bytes_max;
            state.bytes += if has_room { bytes } else { 0 };
            has_room
        };
        evicted.iter().for_each(|name| self.unlink(name));
        has_room
    }

    /// Drops a copy, if there is one. Mappings in use stay valid. Blocks.
    fn forget(&self, name: &CopyName) {
        let mut state = self.state();
        state.mapped.pop(name);
        let Some(copied) = state.copies.pop(name) else { return };
        state.bytes = state.bytes.saturating_sub(copied.bytes);
        drop(state);
        self.unlink(name);
    }

    fn unlink(&self, name: &CopyName) {
        let path = self.path(name);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "can't delete a copy");
        }
    }

    fn path(&self, name: &CopyName) -> PathBuf {
        self.objects.join(&name.topic).join(format!("{:020}-{:08x}.rwl", name.first_offset, name.tag))
    }

    fn draft(&self, name: &CopyName) -> io::Result<Draft> {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let path = self.path(name).with_extension(format!("{number}.tmp"));
        let topic = self.objects.join(&name.topic);
        if !topic.is_dir() {
            // Not its parents: a cache that was deleted under us is not to come back bit by bit.
            fs::create_dir(topic).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            })?;
        }
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Draft { file, path })
    }
}

/// Room reserved in the cache; given back unless a copy has taken it.
struct Room {
    inside: Arc<Inside>,
    bytes: u64,
}

impl Room {
    fn hand_over(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut state = self.inside.state();
            state.bytes = state.bytes.saturating_sub(self.bytes);
        }
    }
}

/// A file that is being written; unlinked unless it is renamed.
struct Draft {
    file: File,
    path: PathBuf,
}

impl Draft {
    fn rename(mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "can't delete a file that was given up");
        }
    }
}

/// Finds the copies of an earlier process, the one written last in front; deletes what was given up.
fn scan(objects: &Path) -> io::Result<(LruCache<CopyName, Copied>, u64)> {
    let mut found = Vec::new();
    for topic in fs::read_dir(objects)? {
        let topic = topic?;
        if !topic.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(topic.path())? {
            let file = file?;
            if file.path().extension().is_some_and(|extension| extension == "tmp") {
                fs::remove_file(file.path())?;
                continue;
            }
            let (Ok(topic), Ok(name)) = (topic.file_name().into_string(), file.file_name().into_string()) else {
                continue;
            };
            let Some((first_offset, tag)) = parse_name(&name) else {
                tracing::warn!(path = %file.path().display(), "not a file of the cache; left alone");
                continue;
            };
            let metadata = file.metadata()?;
            let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((written, CopyName { topic, first_offset, tag }, metadata.len()));
        }
    }
    found.sort_by_key(|(written, ..)| *written);
    let mut copies = LruCache::unbounded();
    let mut bytes = 0;
    for (_, name, length) in found {
        bytes += length;
        copies.put(name, Copied { bytes: length, verified: false });
    }
    Ok((copies, bytes))
}

fn parse_name(name: &str) -> Option<(u64, u32)> {
    let (offset, tag) = name.strip_suffix(".rwl")?.split_once('-')?;
    let sound = offset.len() == 20 && offset.bytes().all(|byte| byte.is_ascii_digit()) && tag.len() == 8;
    if !sound {
        return None;
    }
    Some((offset.parse().ok()?, u32::from_str_radix(tag, 16).ok()?))
}

fn map(file: File, mappings: &Arc<Mappings>) -> io::Result<Bytes> {
    // SAFETY: the file lies in a directory that this process has locked, under a name that only this module writes; it
    // is written before it is mapped, and never changed or shortened afterwards, only unlinked.
    let mapping = unsafe { Mmap::map(&file) }?;
    Ok(mappings.share(mapping, file))
}

/// Checks that bytes are the object of that name, and so touches every page of them.
fn check(whole: &Bytes, name: &CopyName, bytes: u64) -> Result<(), ObjectError> {
    let header = object::verify(whole)?;
    if header.first_offset != name.first_offset || header.object_bytes != bytes || whole.len() as u64 != bytes {
        return Err(ObjectError::Header);
    }
    Ok(())
}

/// Brings every page of a mapping into memory. Blocks.
fn touch(bytes: &[u8]) {
    for page in bytes.chunks(PAGE_BYTES) {
        std::hint::black_box(page.first());
    }
    std::hint::black_box(bytes.last());
}

fn slice(whole: &Bytes, range: &Range<u64>) -> Result<Bytes, CacheError> {
    if range.start > range.end || range.end > whole.len() as u64 {
        return Err(ObjectError::Truncated { have: whole.len() as u64, need: range.end }.into());
    }
    Ok(whole.slice(range.start as usize..range.end as usize))
}

fn write_all_vectored(file: &mut File, parts: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<io::IoSlice<'_>> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| io::IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => io::IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn unusable(dir: &Path, error: &io::Error) -> StoreError {
    StoreError::human(format!(
        "can't use the cache {}: {error}; see to its space and rights, or name another directory with --cache-dir",
        dir.display()
    ))
}

fn given_up(error: impl std::fmt::Display) -> StoreError {
    StoreError::wait(format!("reading an object was given up ({error}); try again"))
}
