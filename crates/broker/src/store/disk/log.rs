//! The log of one partition on a directory: its segments in order. Commits go to the newest.

use super::active::{Active, Written};
use super::open_files::OpenFiles;
use super::recover::{self, recover};
use super::seal::Entry;
use super::segment::Segment;
use super::sys::sync_dir;
use super::{Durability, Options, PARTITIONS_DIR, deleted};
use crate::Kind;
use crate::limits::{CONFIRM_LATER_BYTES_MIN, COPIED_OBJECT_BYTES_MIN, RECOVERY_RETRY, SENDFILE_BYTES_MIN};
use crate::object::Object;
use crate::store::{CommitError, Listed, ObjectAt, StoreError};
use crate::tasks;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Delay before a full segment is sealed if commits are not synced: its sync would push the disk's work into the
/// middle of a burst of writes, so the kernel gets time to write it in the background. After a crash the next start
/// walks unsealed segments, in about 0.05 s each.
const SEAL_DELAY: Duration = Duration::from_secs(5);

/// A directory that was changed less than this ago may change again and keep its modification time.
const CHANGE_TIME_STEP: Duration = Duration::from_secs(2);

/// What the topics of a store share.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) files: Arc<OpenFiles>,
    /// One segment of the whole store is sealed at a time.
    pub(super) sealing: Arc<Semaphore>,
}

/// One topic. All but [`Log::resident`] block, so they are called on blocking threads only.
pub(super) struct Log {
    pub(super) dir: PathBuf,
    pub(super) shared: Arc<Shared>,
    /// Held during a commit and whatever else changes files.
    writer: Mutex<State>,
    /// Held during a sync. The writer's lock is never requested under it.
    syncing: Mutex<()>,
    /// Why nothing more may be committed.
    pub(super) failed: OnceLock<StoreError>,
    /// Held for a look-up only: reading never waits for the disk's writes.
    segments: RwLock<BTreeMap<u64, Arc<Segment>>>,
}

#[derive(Default)]
pub(super) struct State {
    /// `None` until the topic is recovered.
    writer: Option<Writer>,
    /// Why the latest attempt to recover it failed.
    unrecovered: Option<Unrecovered>,
    /// Whether this run has made the name of the topic's directory durable.
    is_name_durable: bool,
}

pub(super) struct Writer {
    pub(super) active: Option<Active>,
    /// The offset after the last record that was written.
    next_offset: u64,
}

/// A recovery that failed. It may take long, so it is not repeated for every request.
struct Unrecovered {
    error: StoreError,
    at: Instant,
    /// When the directory was changed last, as seen before the attempt.
    changed: Option<SystemTime>,
}

impl Log {
    pub(super) fn new(dir: PathBuf, shared: Arc<Shared>) -> Log {
        Log {
            dir,
            shared,
            writer: Mutex::default(),
            syncing: Mutex::default(),
            failed: OnceLock::new(),
            segments: RwLock::default(),
        }
    }

    pub(super) fn is_empty(&self) -> Result<bool, StoreError> {
        self.recovered(&mut self.state())?;
        Ok(self.failed.get().is_none() && self.segments().values().all(|segment| segment.bytes() == 0))
    }

    /// The objects from offset `from` on.
    pub(super) fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let mut guard = self.state();
        let writer = self.recovered(&mut guard)?;
        let segments: Vec<_> = self.segments().iter().map(|(&first, segment)| (first, segment.clone())).collect();
        let mut listed = Vec::new();
        for (i, (first_offset, segment)) in segments.iter().enumerate() {
            if segments.get(i + 1).is_some_and(|(next, _)| *next <= from) {
                continue;
            }
            let active = writer.active.as_ref().filter(|active| Arc::ptr_eq(active.segment(), segment));
            let held = segment.entries();
            let read;
            let entries = match (active, &held) {
                (Some(active), _) => active.entries(),
                (None, Some(held)) => held.as_slice(),
                (None, None) => {
                    read = recover::entries(&self.dir, *first_offset)?;
                    read.as_slice()
                }
            };
            let bytes = segment.bytes() as usize;
            let is_visible = |entry: &&Entry| entry.first_offset() >= from && entry.range().end <= bytes;
            let entries = entries.iter().filter(is_visible);
            listed.extend(entries.map(|entry| entry.listed(*first_offset)));
        }
        debug_assert!(listed.is_sorted_by_key(|object| object.first_offset), "{}: {listed:?}", self.dir.display());
        Ok(listed)
    }

    /// Writes an object at the log's end. Unless it is long, it is stored when this returns; a long one that isn't
    /// published is stored when [`Log::confirm`] has succeeded, and the next may be written before that.
    pub(super) fn append(&self, object: &Object) -> Result<Written, CommitError> {
        let mut state = self.state();
        let writer = self.recovered(&mut state)?;
        self.check(object, writer.next_offset)?;
        let written = self.active_for(&mut state, object)?.write(object)?;
        let writer = self.recovered(&mut state)?;
        writer.next_offset = object.header.next_offset();
        if self.durability() == Durability::PageCache {
            written.publish();
        }
        drop(state);
        // A lone append is confirmed where it was written: a second hop between threads costs it more than a commit at
        // the same time would gain.
        if written.bytes() < CONFIRM_LATER_BYTES_MIN {
            self.confirm(&written)?;
        }
        Ok(written)
    }

    /// Whether the object may be written at the log's end, `next_offset`.
    fn check(&self, object: &Object, next_offset: u64) -> Result<(), CommitError> {
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone().into());
        }
        let first_offset = object.header.first_offset;
        if first_offset < next_offset {
            return Err(CommitError::Exists);
        }
        let parts_bytes: u64 = object.parts.iter().map(|part| part.len() as u64).sum();
        if first_offset > next_offset || parts_bytes != object.header.object_bytes {
            return Err(CommitError::Store(StoreError::human(format!(
                "{}: an object of {parts_bytes} bytes ({} by its header) at offset {first_offset} does not follow \
                 offset {next_offset}; this is a bug in the broker, please report it",
                self.dir.display(),
                object.header.object_bytes,
            ))));
        }
        Ok(())
    }

    /// Makes what was written durable. While the disk does that, the next object may be written.
    pub(super) fn confirm(&self, written: &Written) -> Result<(), StoreError> {
        if written.is_published() {
            return Ok(());
        }
        let _one_at_a_time = self.lock(&self.syncing);
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone());
        }
        if written.is_published() {
            return Ok(());
        }
        let synced = written.sync();
        assert!(synced.is_err() || written.is_published(), "{}: synced, but no reader sees it", self.dir.display());
        synced.map_err(|error| {
            // After a failed sync the kernel takes the pages for clean: what a later sync confirms may not be there.
            let failed = StoreError::human(format!(
                "{error}; nothing more is written to this topic until the broker is restarted, because what the disk \
                 holds is unknown"
            ));
            self.failed.get_or_init(|| failed).clone()
        })
    }

    /// Makes the name of the topic's directory durable, once in a run: an earlier run may have failed to.
    pub(super) fn sync_name(&self) -> Result<(), StoreError> {
        self.sync_name_once(&mut self.state())
    }

    fn sync_name_once(&self, state: &mut State) -> Result<(), StoreError> {
        if self.durability() == Durability::Fsync && !state.is_name_durable {
            let above = self.dir.ancestors().skip(1);
            // A partition's directory is two levels below its topic's, whose name is durable with its settings.
            let is_partition = self.dir.parent().is_some_and(|dir| dir.ends_with(PARTITIONS_DIR));
            above.take(if is_partition { 2 } else { 1 }).try_for_each(sync_dir)?;
            state.is_name_durable = true;
        }
        Ok(())
    }

    /// Ends the log, because its topic is deleted: nothing is written to its files or removed any more.
    pub(super) fn end(&self) {
        let mut state = self.state();
        let message = format!("{}: the topic was deleted", self.dir.display());
        self.failed.get_or_init(|| StoreError::new(Kind::FixRequest, message));
        let next_offset = state.writer.as_ref().map_or(0, |writer| writer.next_offset);
        // It is never recovered again: the directory may be another topic's then.
        state.writer = Some(Writer { active: None, next_offset });
        let segments = std::mem::take(&mut *self.segments_mut());
        drop(state);
        segments.values().for_each(|segment| segment.retire());
    }

    /// Bytes of an object if they are in memory. Never blocks.
    pub(super) fn resident(&self, object: &ObjectAt, range: &Range<u64>) -> Option<Bytes> {
        let segment = self.segments().get(&object.location.segment().0)?.clone();
        let range = file_range(&segment, object, range)?;
        // What is read next of a long object isn't near.
        let is_copied = range.len() < SENDFILE_BYTES_MIN && object.bytes >= COPIED_OBJECT_BYTES_MIN;
        segment.resident(range, is_copied)
    }

    /// Bytes of an object, from the disk if need be. Blocks.
    pub(super) fn fetch(&self, object: &ObjectAt, range: &Range<u64>) -> Result<Bytes, StoreError> {
        let find = || self.segments().get(&object.location.segment().0).cloned();
        let segment = match find() {
            Some(segment) => segment,
            None => {
                self.recovered(&mut self.state())?;
                find().ok_or_else(|| deleted(object))?
            }
        };
        let range = file_range(&segment, object, range).ok_or_else(|| {
            StoreError::human(format!(
                "{}: bytes {range:?} of {object:?} don't exist; this is a bug in the broker, please report it",
                self.dir.display()
            ))
        })?;
        segment.fetch(range)
    }

    /// The segment that takes `object`: the active one, or a new one.
    fn active_for<'a>(&self, state: &'a mut State, object: &Object) -> Result<&'a mut Active, StoreError> {
        let writer = self.recovered(state)?;
        if writer.active.as_ref().is_some_and(|active| !active.takes(object)) {
            self.close_active(writer)?;
        }
        let (active, next_offset) = (writer.active.take(), writer.next_offset);
        let active = match active {
            Some(active) => active,
            None => {
                self.sync_name_once(state)?;
                self.create_active(next_offset, object)?
            }
        };
        assert!(active.takes(object), "{} has no room for {:?}", active.segment().path.display(), object.header);
        Ok(self.recovered(state)?.active.insert(active))
    }

    /// Ends the active segment: the next object begins a new one.
    pub(super) fn close_active(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let Some(full) = writer.active.take() else { return Ok(()) };
        if let Err(error) = full.all_written().and_then(|written| self.confirm(&written)) {
            // It is still the one that takes the commits.
            writer.active = Some(full);
            return Err(error);
        }
        self.seal_later(full.finish(writer.next_offset));
        Ok(())
    }

    fn create_active(&self, next_offset: u64, object: &Object) -> Result<Active, StoreError> {
        let Shared { options, files, .. } = &*self.shared;
        let capacity = options.segment_bytes.max(object.header.object_bytes);
        let active = Active::create(&self.dir, next_offset, capacity, object.header.writer_id, files)?;
        if options.durability == Durability::Fsync
            && let Err(error) = sync_dir(&self.dir)
        {
            // A file left over would block the next attempt.
            active.segment().remove()?;
            return Err(error);
        }
        let other = self.segments_mut().insert(next_offset, active.segment().clone());
        assert!(other.is_none(), "{}: two segments begin at offset {next_offset}", self.dir.display());
        Ok(active)
    }

    /// Seals a segment without delaying the current commit.
    fn seal_later(&self, seal: impl FnOnce() + Send + 'static) {
        if self.durability() == Durability::Fsync {
            // All of it is synced; only the index is new.
            tasks::spawn_blocking(seal);
            return;
        }
        let turn = self.shared.sealing.clone();
        tasks::spawn(async move {
            tokio::time::sleep(SEAL_DELAY).await;
            let _turn = turn.acquire().await;
            let _ = tasks::spawn_blocking(seal).await;
        });
    }

    pub(super) fn durability(&self) -> Durability {
        self.shared.options.durability
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.lock(&self.writer)
    }

    /// Acquires a lock. One that a panicking thread held ends the commits: what that thread had done is unknown.
    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            self.failed.get_or_init(|| {
                StoreError::human(format!(
                    "{}: an internal check failed, the log has the details; this is a bug in the broker, please report \
                     it. Nothing more is written to this topic until the broker is restarted",
                    self.dir.display()
                ))
            });
            poisoned.into_inner()
        })
    }

    pub(super) fn segments(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Arc<Segment>>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn segments_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Arc<Segment>>> {
        self.segments.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, after recovering the topic if that was not yet done.
    pub(super) fn recovered<'a>(&self, state: &'a mut State) -> Result<&'a mut Writer, StoreError> {
        if state.writer.is_none() {
            let changed = changed(&self.dir);
            if let Some(Unrecovered { error, .. }) = state.unrecovered.as_ref().filter(|failed| failed.holds(changed)) {
                return Err(error.clone());
            }
            match recover(&self.dir, self.durability(), &self.shared.files) {
                Ok(recovered) => self.take_over(state, recovered),
                Err(error) => {
                    let unrecovered = Unrecovered { error: error.clone(), at: Instant::now(), changed };
                    // An error that passes by itself is not cached.
                    state.unrecovered = Some(unrecovered).filter(|_| error.kind == Kind::TellHuman);
                    return Err(error);
                }
            }
        }
        let Some(writer) = state.writer.as_mut() else { unreachable!("{} has no writer", self.dir.display()) };
        Ok(writer)
    }

    fn take_over(&self, state: &mut State, recovered: recover::Recovered) {
        assert!(state.writer.is_none(), "{} is recovered twice", self.dir.display());
        *self.segments_mut() = recovered.segments;
        state.writer = Some(Writer { active: None, next_offset: recovered.next_offset });
        if let Some(damage) = recovered.damage {
            self.failed.get_or_init(|| damage);
        }
    }
}

impl Unrecovered {
    /// Whether another attempt would fail in the same way: not much time has passed, and the directory, which `changed`
    /// then, is as it was.
    fn holds(&self, changed: Option<SystemTime>) -> bool {
        let is_long_ago = |changed: SystemTime| changed.elapsed().is_ok_and(|elapsed| elapsed > CHANGE_TIME_STEP);
        self.at.elapsed() < RECOVERY_RETRY && self.changed == changed && changed.is_some_and(is_long_ago)
    }
}

fn changed(dir: &Path) -> Option<SystemTime> {
    std::fs::metadata(dir).and_then(|metadata| metadata.modified()).ok()
}

/// The bytes of the segment's file that hold `range` of the object; `None` if they are not all there.
fn file_range(segment: &Segment, object: &ObjectAt, range: &Range<u64>) -> Option<Range<usize>> {
    let position = u64::from(object.location.segment().1);
    let inside = range.start <= range.end && range.end <= object.bytes && position + range.end <= segment.bytes();
    inside.then(|| (position + range.start) as usize..(position + range.end) as usize)
}
