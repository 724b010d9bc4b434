//! One topic on a directory: its segments in order, the newest of which takes the commits.

use super::recover::{self, recover};
use super::seal::Entry;
use super::segment::{Active, Segment, Written, sync_dir};
use super::{Durability, Options, deleted};
use crate::object::Object;
use crate::store::mapping::Mappings;
use crate::store::{CommitError, Listed, ObjectAt, StoreError};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Without syncs for the commits, a full segment's sync would push the disk's work into the middle of a burst of writes:
/// the kernel gets this long to do it when it suits. What a crash leaves unsealed is walked at the next start, about
/// 0.05 s a segment.
const SEAL_DELAY: Duration = Duration::from_secs(5);

/// One topic. All but [`Log::resident`] block, so they are called on blocking threads only.
pub(super) struct Log {
    dir: PathBuf,
    options: Options,
    /// One segment of the whole store is sealed at a time.
    sealing: Arc<Semaphore>,
    mappings: Arc<Mappings>,
    /// Held during a commit and whatever else changes files. `None` until the topic is recovered.
    writer: Mutex<Option<Writer>>,
    /// Held during a sync. Never asked for the writer's lock under it.
    syncing: Mutex<()>,
    /// Why nothing more may be committed.
    failed: OnceLock<StoreError>,
    /// Held for a look-up only: reading never waits for the disk's writes.
    segments: RwLock<BTreeMap<u64, Arc<Segment>>>,
}

struct Writer {
    active: Option<Active>,
    /// The offset behind what was written.
    next_offset: u64,
}

impl Log {
    pub(super) fn new(dir: PathBuf, options: Options, sealing: Arc<Semaphore>, mappings: Arc<Mappings>) -> Log {
        Log {
            dir,
            options,
            sealing,
            mappings,
            writer: Mutex::default(),
            syncing: Mutex::default(),
            failed: OnceLock::new(),
            segments: RwLock::default(),
        }
    }

    pub(super) fn is_empty(&self) -> Result<bool, StoreError> {
        self.recovered(&mut self.writer())?;
        Ok(self.failed.get().is_none() && self.segments().values().all(|segment| segment.bytes() == 0))
    }

    /// The objects from offset `from` on.
    pub(super) fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let mut guard = self.writer();
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
            let seen = |entry: &&Entry| entry.first_offset() >= from && entry.range().end <= bytes;
            let entries = entries.iter().filter(seen);
            listed.extend(entries.map(|entry| entry.listed(*first_offset)));
        }
        Ok(listed)
    }

    /// Writes an object behind the log's end. Without syncs for commits, it is stored when this answers; with them, when
    /// [`Log::confirm`] has.
    pub(super) fn write(&self, object: &Object) -> Result<Written, CommitError> {
        let mut guard = self.writer();
        let writer = self.recovered(&mut guard)?;
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone().into());
        }
        let first_offset = object.header.first_offset;
        if first_offset < writer.next_offset {
            return Err(CommitError::Exists);
        }
        let parts_bytes: u64 = object.parts.iter().map(|part| part.len() as u64).sum();
        if first_offset > writer.next_offset || parts_bytes != object.header.object_bytes {
            return Err(CommitError::Store(StoreError::human(format!(
                "{}: an object of {parts_bytes} bytes ({} by its header) at offset {first_offset} does not follow offset {}; \
                 this is a fault of the broker, please report it",
                self.dir.display(),
                object.header.object_bytes,
                writer.next_offset
            ))));
        }
        let written = self.active_for(writer, object)?.write(object)?;
        writer.next_offset = object.header.next_offset();
        if self.options.durability == Durability::PageCache {
            written.publish();
        }
        Ok(written)
    }

    /// Makes what was written durable. While the disk is at it, the next object may be written.
    pub(super) fn confirm(&self, written: &Written) -> Result<(), StoreError> {
        let _one_at_a_time = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone());
        }
        if written.is_published() {
            return Ok(());
        }
        written.sync().map_err(|error| {
            // After a failed sync the kernel takes the pages for clean: what a later sync confirms may not be there.
            let failed = StoreError::human(format!(
                "{error}; nothing more is written to this topic until the broker is restarted, because what the disk holds is unknown"
            ));
            self.failed.get_or_init(|| failed).clone()
        })
    }

    /// Bytes of an object if they are in memory. Never blocks.
    pub(super) fn resident(&self, object: &ObjectAt, range: &Range<u64>) -> Option<Bytes> {
        let segment = self.segments().get(&object.location.segment)?.clone();
        segment.resident(file_range(&segment, object, range)?)
    }

    /// Bytes of an object, from the disk if need be.
    pub(super) fn fetch(&self, object: &ObjectAt, range: &Range<u64>) -> Result<Bytes, StoreError> {
        let find = || self.segments().get(&object.location.segment).cloned();
        let segment = match find() {
            Some(segment) => segment,
            None => {
                self.recovered(&mut self.writer())?;
                find().ok_or_else(|| deleted(object))?
            }
        };
        let range = file_range(&segment, object, range).ok_or_else(|| {
            StoreError::human(format!(
                "{}: bytes {range:?} of {object:?} were asked for, which are not there; this is a fault of the broker, please report it",
                self.dir.display()
            ))
        })?;
        segment.fetch(range)
    }

    /// Deletes the segments all of whose records lie below `offset`. The last one that holds an object stays: its end is
    /// what says, after a restart, which offset comes next.
    pub(super) fn delete_before(&self, offset: u64) -> Result<u64, StoreError> {
        let mut guard = self.writer();
        self.recovered(&mut guard)?;
        loop {
            let front: Vec<_> =
                self.segments().iter().take(2).map(|(&first, segment)| (first, segment.clone())).collect();
            let (first_offset, segment, goes) = match front.as_slice() {
                [] => return Ok(offset),
                [(first, segment)] => (*first, segment, false),
                [(first, segment), (next, after), ..] => (*first, segment, *next <= offset && after.bytes() > 0),
            };
            if !goes {
                return Ok(first_offset);
            }
            segment.remove()?;
            self.segments_mut().remove(&first_offset);
            if self.options.durability == Durability::Fsync {
                // One at a time: were a later one to vanish before an earlier one, a crash would leave a gap.
                sync_dir(&self.dir)?;
            }
        }
    }

    /// The segment that takes `object`: the active one, or a new one.
    fn active_for<'a>(&self, writer: &'a mut Writer, object: &Object) -> Result<&'a mut Active, StoreError> {
        if let Some(full) = writer.active.take_if(|active| !active.takes(object)) {
            self.confirm(&full.all_written())?;
            self.seal_later(full.finish(writer.next_offset));
        }
        let active = match writer.active.take() {
            Some(active) => active,
            None => {
                let capacity = self.options.segment_bytes.max(object.header.object_bytes);
                let active =
                    Active::create(&self.dir, writer.next_offset, capacity, object.header.writer_id, &self.mappings)?;
                if self.options.durability == Durability::Fsync
                    && let Err(error) = sync_dir(&self.dir)
                {
                    // A file left over would be in the next try's way.
                    active.segment().remove()?;
                    return Err(error);
                }
                self.segments_mut().insert(writer.next_offset, active.segment().clone());
                active
            }
        };
        Ok(writer.active.insert(active))
    }

    /// Seals a segment without holding up the commit at hand.
    fn seal_later(&self, seal: impl FnOnce() + Send + 'static) {
        if self.options.durability == Durability::Fsync {
            // All of it is synced; only the index is new.
            tokio::task::spawn_blocking(seal);
            return;
        }
        let turn = self.sealing.clone();
        tokio::spawn(async move {
            tokio::time::sleep(SEAL_DELAY).await;
            let _turn = turn.acquire().await;
            let _ = tokio::task::spawn_blocking(seal).await;
        });
    }

    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn segments(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Arc<Segment>>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn segments_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Arc<Segment>>> {
        self.segments.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, after recovering the topic if that was not yet done. A recovery that failed is tried again.
    fn recovered<'a>(&self, writer: &'a mut Option<Writer>) -> Result<&'a mut Writer, StoreError> {
        if writer.is_none() {
            let recovered = recover(&self.dir, self.options.durability, &self.mappings)?;
            *self.segments_mut() = recovered.segments;
            if let Some(damage) = recovered.damage {
                self.failed.get_or_init(|| damage);
            }
            *writer = Some(Writer { active: None, next_offset: recovered.next_offset });
        }
        writer.as_mut().ok_or_else(|| StoreError::human("a topic is not recovered; please report it"))
    }
}

/// Where `range` of the object lies in its segment's file; `None` if it is not all there.
fn file_range(segment: &Segment, object: &ObjectAt, range: &Range<u64>) -> Option<Range<usize>> {
    let position = u64::from(object.location.position);
    let inside = range.start <= range.end && range.end <= object.bytes && position + range.end <= segment.bytes();
    inside.then(|| (position + range.start) as usize..(position + range.end) as usize)
}
