//! Creates journal objects: appends them to the newest segment, and syncs all pending ones at once.
//!
//! Objects are created in the order of their numbers only. So after a failure nothing is stored that the failed object
//! comes before, and the numbers of the objects in the segments have no hole.

use super::ahead::Ahead;
use super::frame::{ALIGNMENT, FRAME_BYTES, Frame, end_after};
use super::inner::{Inner, lock};
use super::reserve::full;
use super::seal::{Entry, Seal};
use super::segments::Stored;
use crate::store::disk::dirs::sync_dir;

use crate::limits::{JOURNAL_RESERVE_BYTES, SEGMENT_DELETED_PART_MIN};
use crate::metrics::{Housekeeping, METRICS};
use crate::store::disk::device::Device;
use crate::store::disk::errors::io_error;
use crate::store::disk::options::Durability;
use crate::store::disk::room::Room;
use crate::store::disk::segment::Segment;
use crate::store_error::StoreError;
use crate::{stage, tasks};
use bytes::Bytes;
use rawline_batch::Kind;
use rawline_journal::{Control, Header, Index, PutResult};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::Duration;
use tokio::sync::oneshot;

/// Delay before a full segment is sealed if commits are not synced: the kernel gets time to write it in the background.
const SEAL_DELAY: Duration = Duration::from_secs(5);

/// Dates mean nothing in a directory: it has one owner.
pub(super) const DATE: u64 = 0;

/// An object to create.
pub(super) struct Create {
    pub header: Header,
    pub parts: Vec<Bytes>,
    pub created: oneshot::Sender<PutResult>,
}

/// The result of an attempt to create an object, and where to send it.
pub(super) type Ended = (oneshot::Sender<PutResult>, PutResult);

/// How blocks are allocated.
type Allocate = fn(&mut Room, &dyn Device, &File, u64, u64) -> std::io::Result<()>;

/// The disk space that an object needs.
#[derive(Clone, Copy)]
struct Need {
    /// Bytes that stay for objects that settle failures.
    reserve: u64,
    /// Whether it gets room on a full disk.
    makes_room: bool,
}

/// The journal's end.
pub(super) struct Writer {
    active: Option<Active>,
    /// The number that the next object has.
    pub next_number: u64,
}

/// The segment that takes the next objects.
struct Active {
    stored: Arc<Stored>,
    /// Length of the objects whose bytes are in the file.
    written: Arc<AtomicU64>,
    room: Room,
    ahead: Arc<Ahead>,
    run: u64,
}

impl Drop for Active {
    fn drop(&mut self) {
        self.ahead.end();
    }
}

/// Objects whose bytes are in a segment's file.
struct Written {
    stored: Arc<Stored>,
    file: Arc<File>,
    written: Arc<AtomicU64>,
    end: u64,
}

/// Sends the results of the objects. Their receivers may be gone.
pub(super) fn send(ended: Vec<Ended>) {
    ended.into_iter().for_each(|(created, result)| {
        let _ = created.send(result);
    });
}

impl Writer {
    pub fn new(next_number: u64) -> Writer {
        Writer { active: None, next_number }
    }
}

impl Inner {
    /// Creates the objects that wait. Blocks.
    pub(super) fn create_queued(&self) -> Vec<Ended> {
        self.create_all(lock(&self.writer, &self.failed))
    }

    /// Creates the objects that wait, unless others are being written.
    pub(super) fn try_create_queued(&self) -> Option<Vec<Ended>> {
        self.writer.try_lock().ok().map(|writer| self.create_all(writer))
    }

    fn create_all(&self, mut writer: MutexGuard<'_, Writer>) -> Vec<Ended> {
        let creates = std::mem::take(&mut *lock(&self.queue, &self.failed));
        let mut written = Vec::with_capacity(creates.len());
        let mut ended = Vec::with_capacity(creates.len());
        for Create { header, parts, created } in creates {
            // The parts are blocks of the pool, which wants them back.
            match self.write(&mut writer, &header, parts) {
                Ok(one) => written.push((one, created)),
                Err(result) => ended.push((created, result)),
            }
        }
        drop(writer);
        for (one, created) in written {
            let result = match self.confirm(&one) {
                Ok(()) => PutResult::Created { date: DATE },
                Err(_) => PutResult::Unknown,
            };
            ended.push((created, result));
        }
        ended
    }

    fn write(&self, writer: &mut Writer, header: &Header, parts: Vec<Bytes>) -> Result<Written, PutResult> {
        let number = header.link.number;
        // After a failed sync, the file's state is unknown.
        if number > writer.next_number || self.failed.get().is_some() {
            return Err(PutResult::Unknown);
        }
        if number < writer.next_number {
            return Err(PutResult::Exists);
        }
        // An empty object resolves the outcome of another: it doesn't show that there is space again.
        let is_empty = header.batches == 0 && header.control_bytes == 0;
        let need = Need {
            reserve: if is_empty { 0 } else { JOURNAL_RESERVE_BYTES },
            makes_room: is_empty || makes_room(header, &parts),
        };
        let written = match self.make_room(writer, header, need) {
            Ok(()) => self.try_write(writer, header, parts, need).map_err(|error| (error, PutResult::Unknown)),
            // The state after a sync is unknown; without a sync, the file has none of it.
            Err(error) if self.failed.get().is_some() => Err((error, PutResult::Unknown)),
            Err(error) => Err((error, PutResult::NotStored)),
        };
        match written {
            Ok(written) => {
                writer.next_number += 1;
                if !is_empty {
                    *lock(&self.refusal, &self.failed) = None;
                }
                Ok(written)
            }
            Err((error, result)) => {
                tracing::error!(number, %error, "an object of the journal was not stored");
                *lock(&self.refusal, &self.failed) = Some(error);
                Err(result)
            }
        }
    }

    /// Allocates blocks for an object in a segment. On a full disk, only changes that free space get any.
    fn make_room(&self, writer: &mut Writer, header: &Header, need: Need) -> Result<(), StoreError> {
        if writer.active.as_ref().is_some_and(|active| active.has_room_for(header, need.reserve)) {
            return Ok(());
        }
        if !need.makes_room {
            if !self.reserve.is_whole() {
                return Err(io_error("write to", &self.dir, &full()));
            }
            return self.allocate(writer, header, need.reserve, Room::allocate);
        }
        let mut allocate: Allocate = Room::allocate;
        let work = || {
            // The second time with the room of the reserve, of which nothing may be left to others.
            let allocate = std::mem::replace(&mut allocate, Room::allocate_exactly);
            self.allocate(writer, header, need.reserve, allocate)
        };
        self.reserve.lend(work, |error| error.kind == Kind::Wait)
    }

    fn allocate(
        &self,
        writer: &mut Writer,
        header: &Header,
        reserve: u64,
        allocate: Allocate,
    ) -> Result<(), StoreError> {
        if !writer.active.as_ref().is_some_and(|active| active.takes(header, reserve)) {
            return self.begin_segment(writer, header, allocate);
        }
        let Some(active) = &mut writer.active else { unreachable!("no segment takes {:?}", header.link) };
        let segment = &active.stored.segment;
        let (end, numbers) = (active.end_after(header) + reserve, active.stored.numbers());
        let objects = numbers.end - numbers.start + 1;
        let allocated = allocate(&mut active.room, self.device(), &*segment.file()?, end, objects);
        allocated.map_err(|error| io_error("write to", &segment.path, &error))
    }

    /// Writes an object for which there is room.
    fn try_write(
        &self,
        writer: &mut Writer,
        header: &Header,
        parts: Vec<Bytes>,
        need: Need,
    ) -> Result<Written, StoreError> {
        let Some(active) = &mut writer.active else { unreachable!("no segment has room for {:?}", header.link) };
        let is_synced = self.options.durability == Durability::Fsync;
        let written = active.write(header, parts, need.reserve, is_synced)?;
        if active.ahead.begin(header.object_bytes) {
            let (ahead, files, file) = (active.ahead.clone(), self.files.clone(), written.file.clone());
            self.device().run(Box::new(move || ahead.fill(&**files.device(), &file)));
        }
        if !is_synced {
            written.stored.segment.publish(written.end);
        }
        Ok(written)
    }

    /// Begins a segment with this object. If that fails, the one before continues.
    fn begin_segment(&self, writer: &mut Writer, header: &Header, allocate: Allocate) -> Result<(), StoreError> {
        if let Some(active) = &writer.active {
            // That a segment exists shows that the one before is synced.
            self.confirm(&active.all()?)?;
        }
        if let Some(unused) = writer.active.take_if(|active| active.stored.numbers().is_empty()) {
            // It has the name of the next one, which has to be longer.
            self.segments_mut().remove(&writer.next_number);
            unused.stored.segment.remove()?;
        }
        let length = end_after(0, header.object_bytes) + JOURNAL_RESERVE_BYTES;
        let capacity = self.options.segment_bytes.max(length);
        let segment = Segment::create(&self.dir, writer.next_number, capacity, &self.files)?;
        let mut room = Room::new(capacity);
        let mut prepare = || {
            // The segment before has room for what settles a failure; this one has to have it too before it takes over.
            let file = segment.file()?;
            allocate(&mut room, self.device(), &file, length, 1)
                .map_err(|error| io_error("write to", &segment.path, &error))?;
            match self.options.durability {
                Durability::Fsync => sync_dir(self.device(), &self.dir),
                Durability::PageCache => Ok(()),
            }
        };
        if let Err(error) = prepare() {
            // A file left over would block the next attempt.
            segment.remove()?;
            return Err(error);
        }
        let stored = Arc::new(Stored::new(segment, Vec::new(), false));
        let other = self.segments_mut().insert(writer.next_number, stored.clone());
        assert!(other.is_none(), "two segments begin with object {}", writer.next_number);
        let (written, run) = (Arc::default(), header.link.id.run);
        let ahead = Arc::new(Ahead::new(capacity, self.fills));
        let before = writer.active.replace(Active { stored, written, room, ahead, run });
        if let Some(full) = before {
            self.seal_later(full);
        }
        Ok(())
    }

    /// Ends the segment that takes the next objects if it begins with this one and enough of it isn't needed. The next
    /// object begins another.
    pub(super) fn end_segment(&self, first_number: u64, dead_bytes: u64) -> Result<(), StoreError> {
        if dead_bytes < self.options.segment_bytes / SEGMENT_DELETED_PART_MIN {
            return Ok(());
        }
        let mut writer = lock(&self.writer, &self.failed);
        let is_meant = |active: &&Active| active.stored.segment.first_offset == first_number;
        let Some(active) = writer.active.as_ref().filter(is_meant) else { return Ok(()) };
        self.confirm(&active.all()?)?;
        writer.active.take().into_iter().for_each(|ended| self.seal_later(ended));
        Ok(())
    }

    /// Makes written objects durable, and visible to readers. Meanwhile, more may be written.
    fn confirm(&self, written: &Written) -> Result<(), StoreError> {
        let segment = &written.stored.segment;
        if segment.bytes() >= written.end {
            return Ok(());
        }
        let _one_at_a_time = lock(&self.syncing, &self.failed);
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone());
        }
        if segment.bytes() >= written.end {
            return Ok(());
        }
        let until = written.written.load(Ordering::Acquire);
        assert!(until >= written.end, "{until} bytes are written, an object ends at {}", written.end);
        let synced = self.device().sync(&written.file).map_err(|error| io_error("sync", &segment.path, &error));
        synced.map_err(|error| stop(&self.failed, &error))?;
        stage!("synced");
        segment.publish(until);
        Ok(())
    }

    /// Seals a segment without delaying the current commit, after those before it. The directory's lock doesn't wait
    /// for it: the next start would seal the segment in the same way. Only truncation is done at once,
    /// under that lock.
    fn seal_later(&self, full: Active) {
        full.stored.end();
        full.ahead.end();
        let segment = &full.stored.segment;
        let end = full.written.load(Ordering::Acquire);
        let cut = segment.unless_removed(|| segment.cut(&*segment.file()?, end));
        let is_synced = self.options.durability == Durability::Fsync;
        let (failed, seals, dir) = (self.failed.clone(), self.seals.clone(), self.dir.clone());
        let seal = move || {
            if failed.get().is_some() {
                // A sync that succeeds now doesn't prove that the segment's bytes are stored.
                return;
            }
            let seal = |()| full.seal(&dir, is_synced);
            let sealed = cut.and_then(|cut| full.stored.segment.unless_removed(|| cut.and_then(seal)));
            if let Some(Err(error)) = sealed {
                tracing::error!(%error, "a full segment could not be sealed; the next start walks it and seals it");
                if !is_synced {
                    stop(&failed, &error);
                }
            }
        };
        lock(&seals.waiting, &self.failed).push_back(Box::new(seal));
        let failed = self.failed.clone();
        let seal_next = move || {
            let _one_at_a_time = lock(&seals.one_at_a_time, &failed);
            let _running = METRICS.stalls.begin(Housekeeping::Seal);
            let next = lock(&seals.waiting, &failed).pop_front();
            next.into_iter().for_each(|seal| seal());
        };
        if is_synced {
            self.device().run(Box::new(seal_next));
            return;
        }
        let files = self.files.clone();
        tasks::spawn(async move {
            tokio::time::sleep(SEAL_DELAY).await;
            files.device().run(Box::new(seal_next));
        });
    }

    /// Syncs everything that readers see. Commits that aren't synced would be lost after a snapshot that covers them.
    pub(super) fn sync_visible(&self) -> Result<(), StoreError> {
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone());
        }
        if self.options.durability == Durability::Fsync {
            return Ok(());
        }
        let segments: Vec<_> = self.segments().values().cloned().collect();
        for stored in segments {
            let segment = &stored.segment;
            // A segment of an earlier run is sealed, and is not open for writing.
            if segment.is_own() {
                let synced = segment.unless_removed(|| {
                    self.device().sync(&*segment.file()?).map_err(|error| io_error("sync", &segment.path, &error))
                });
                synced.unwrap_or(Ok(())).map_err(|error| stop(&self.failed, &error))?;
            }
        }
        // Their names too.
        sync_dir(self.device(), &self.dir)
    }
}

impl Active {
    fn takes(&self, header: &Header, reserve: u64) -> bool {
        self.run == header.link.id.run && self.end_after(header) + reserve <= self.room.capacity()
    }

    fn has_room_for(&self, header: &Header, reserve: u64) -> bool {
        self.takes(header, reserve) && self.end_after(header) + reserve <= self.room.allocated()
    }

    /// Where an object ends that is written next.
    fn end_after(&self, header: &Header) -> u64 {
        end_after(self.written.load(Ordering::Acquire), header.object_bytes)
    }

    /// Appends an object, without making it durable or visible. After an error the next object is written in its place.
    /// `reserve` bytes of disk are kept for objects that settle failures. `is_synced`: what readers see is synced.
    fn write(
        &mut self,
        header: &Header,
        parts: Vec<Bytes>,
        reserve: u64,
        is_synced: bool,
    ) -> Result<Written, StoreError> {
        let segment = &self.stored.segment;
        let position = self.written.load(Ordering::Acquire);
        let end = end_after(position, header.object_bytes);
        assert!(position >= segment.bytes(), "writing at {position} below {}", segment.bytes());
        assert!(end + reserve <= self.room.allocated(), "{position}..{end} in {} bytes", self.room.allocated());
        let failed = |error| io_error("write to", &segment.path, &error);
        let file = segment.file()?;
        self.ahead.claim(end, self.room.allocated());
        let frame = Frame {
            run: self.run,
            position: position as u32,
            synced: if is_synced { segment.bytes() as u32 } else { 0 },
            object_bytes: header.object_bytes as u32,
        };
        let mut framed = Vec::with_capacity(parts.len() + 2);
        framed.push(frame.encode());
        framed.extend(parts);
        let begin = frame.object_at();
        let padding = (end - begin - header.object_bytes) as usize;
        framed.push(Bytes::from_static(ZEROS.split_at(padding).0));
        if let Err(error) = segment.device().write(&file, &framed, position) {
            let discard = || self.room.discard(segment.device(), &file, position);
            if let Err(error) = self.ahead.discard(position, discard) {
                let segment = segment.path.display();
                tracing::warn!(%segment, %error, "the rest of a failed write stays in the file");
            }
            return Err(failed(error));
        }
        stage!("written");
        self.stored.push(Entry::new(begin..begin + header.object_bytes));
        self.written.store(end, Ordering::Release);
        Ok(Written { stored: self.stored.clone(), file, written: self.written.clone(), end })
    }

    /// Seals it. Everything before it is durable.
    fn seal(&self, dir: &Path, is_synced: bool) -> Result<(), StoreError> {
        let segment = &self.stored.segment;
        let entries = self.stored.entries();
        if entries.is_empty() {
            return Ok(());
        }
        if !is_synced {
            sync_dir(segment.device(), dir)?;
        }
        let seal = Seal { first_number: segment.first_offset, run: self.run, segment_bytes: segment.bytes(), entries };
        segment.seal(&*segment.file()?, &seal.encode(), seal.segment_bytes)
    }

    /// All that was written to it.
    fn all(&self) -> Result<Written, StoreError> {
        let (file, end) = (self.stored.segment.file()?, self.written.load(Ordering::Acquire));
        Ok(Written { stored: self.stored.clone(), file, written: self.written.clone(), end })
    }
}

/// Whether an object has nothing but changes that make room.
fn makes_room(header: &Header, parts: &[Bytes]) -> bool {
    if header.batches > 0 {
        return false;
    }
    let index = parts.first().map(|index| Index::parse(index));
    let Some(Ok(index)) = index else { unreachable!("the index of {:?}: {index:?}", header.link) };
    index.controls().iter().all(Control::makes_room)
}

/// After a failed sync the kernel marks the pages as clean: data that a later sync confirms may be missing. Returns why
/// nothing more is written.
pub(super) fn stop(failed: &OnceLock<StoreError>, error: &StoreError) -> StoreError {
    let why = || {
        StoreError::human(format!(
            "{error}; nothing more is written until the broker is restarted, because what the disk holds is unknown"
        ))
    };
    failed.get_or_init(why).clone()
}

static ZEROS: [u8; ALIGNMENT as usize] = [0; ALIGNMENT as usize];

const _: () = assert!(JOURNAL_RESERVE_BYTES > FRAME_BYTES, "the reserve takes objects");
