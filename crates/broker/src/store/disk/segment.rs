//! One segment file: objects are appended to it back to back, and read from one mapping of it.
//!
//! Why reading never raises SIGBUS in normal operation: a segment's file is made as long as it can get when it is
//! created (a sparse file; blocks are allocated in steps), and is cut to its objects' end when it is sealed. Whatever is
//! handed out lies below `bytes`, which is set only when an object is wholly written, and the file is never cut below
//! it. Data that must come from the disk is first asked for with `MADV_POPULATE_READ`, where a broken disk is an error
//! instead of a signal. What remains is somebody else cutting the file: the lock keeps brokers away, and a person who
//! does it gets a dead broker, not wrong data.

use super::io_error;
use super::seal::{Entry, Seal};
use crate::limits::{SEGMENT_STEP_BYTES_MAX, SEGMENT_STEP_BYTES_MIN};
use crate::object::Object;
use crate::store::StoreError;
use crate::store::mapping::Mappings;
use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Linux takes at most this many pieces in one vectored write (`IOV_MAX`).
const PIECES_MAX: usize = 1024;

/// One call of `mincore` asks about this many pages; its answer lives on the stack.
const PAGES_PER_CALL: usize = 1024;

/// A segment as its readers see it.
pub(super) struct Segment {
    first_offset: u64,
    path: PathBuf,
    /// Length of the whole objects in it that readers may see. Grows only, and only after their bytes are in the file
    /// and as durable as they have to be.
    bytes: AtomicU64,
    /// Length of the objects in it whose bytes are in the file.
    written: AtomicU64,
    mapping: OnceLock<Bytes>,
    mappings: Arc<Mappings>,
    /// Its objects, as long as no seal on disk has them.
    entries: Mutex<Option<Arc<Vec<Entry>>>>,
    removed: AtomicBool,
}

impl Segment {
    /// A segment of an earlier run, to be mapped when it is first read. `entries` where no seal on disk has them.
    pub(super) fn sealed(
        dir: &Path,
        first_offset: u64,
        bytes: u64,
        entries: Option<Vec<Entry>>,
        mappings: &Arc<Mappings>,
    ) -> Segment {
        Segment {
            first_offset,
            path: segment_path(dir, first_offset),
            bytes: AtomicU64::new(bytes),
            written: AtomicU64::new(bytes),
            mapping: OnceLock::new(),
            mappings: mappings.clone(),
            entries: Mutex::new(entries.map(Arc::new)),
            removed: AtomicBool::new(false),
        }
    }

    /// Length of its objects in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Length of the objects whose bytes are in the file.
    fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// The bytes `range` of the file if none of them has to be fetched from the disk. Never blocks.
    pub(super) fn resident(&self, range: Range<usize>) -> Option<Bytes> {
        let slice = self.mapping.get()?.slice(range);
        is_resident(&slice).then_some(slice)
    }

    /// The bytes `range` of the file, fetched from the disk where they have to be. Blocks.
    pub(super) fn fetch(&self, range: Range<usize>) -> Result<Bytes, StoreError> {
        let mapping = match self.mapping.get() {
            Some(mapping) => mapping,
            None => {
                let file = File::open(&self.path).map_err(|error| io_error("open", &self.path, &error))?;
                let mapping = map(&file, self.bytes()).map_err(|error| io_error("map", &self.path, &error))?;
                // Two may have come here at once; one mapping stays.
                self.mapping.get_or_init(|| self.mappings.share(mapping, file))
            }
        };
        let slice = mapping.slice(range);
        populate(&slice).map_err(|error| io_error("read", &self.path, &error))?;
        Ok(slice)
    }

    /// Its objects, from memory while no seal on disk has them.
    pub(super) fn entries(&self) -> Option<Arc<Vec<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the segment's bytes durable, and then writes its index, which vouches for that. `file` is the segment,
    /// opened for writing; `cut` takes away what lies behind the objects.
    ///
    /// Without the index all still works, only slower at the next start; that it could not be written is no error.
    pub(super) fn seal(&self, file: &File, seal: &Seal, cut: bool) -> Result<(), StoreError> {
        if cut {
            rustix::fs::ftruncate(file, seal.segment_bytes)
                .map_err(|error| io_error("cut", &self.path, &error.into()))?;
        }
        sync(file).map_err(|error| io_error("sync", &self.path, &error))?;
        let path = self.path.with_extension("idx");
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(&seal.encode())?;
            sync(&file)
        };
        match write() {
            // Whoever asks for the entries now finds them there.
            Ok(()) => *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = None,
            Err(error) => tracing::warn!(
                index = %path.display(),
                %error,
                "a segment's index could not be written; the next start walks the segment and tries again"
            ),
        }
        Ok(())
    }

    /// Removes the files. Bytes that readers hold stay readable until they are dropped.
    pub(super) fn remove(&self) -> Result<(), StoreError> {
        self.removed.store(true, Ordering::Release);
        // The index first: without its segment it would be a stray file, the other way round all is well.
        match std::fs::remove_file(self.path.with_extension("idx")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("delete", &self.path, &error));
            }
            _ => {}
        }
        std::fs::remove_file(&self.path).map_err(|error| io_error("delete", &self.path, &error))
    }
}

/// The segment that a topic's commits go to.
pub(super) struct Active {
    segment: Arc<Segment>,
    file: Arc<File>,
    capacity: u64,
    allocated: u64,
    step: u64,
    writer_id: u64,
    entries: Vec<Entry>,
}

impl Active {
    /// Creates the segment file for objects from `first_offset` on, `capacity` bytes long. Its directory is not synced.
    pub(super) fn create(
        dir: &Path,
        first_offset: u64,
        capacity: u64,
        writer_id: u64,
        mappings: &Arc<Mappings>,
    ) -> Result<Active, StoreError> {
        let path = segment_path(dir, first_offset);
        let create = || {
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            let mapped = file.set_len(capacity).and_then(|()| Ok((map(&file, capacity)?, file.try_clone()?)));
            if mapped.is_err() {
                // Nothing is in it yet, and a file left over would be in the next try's way.
                let _ = std::fs::remove_file(&path);
            }
            Ok((file, mapped?))
        };
        let (file, (mapping, readable)) = create().map_err(|error| io_error("create", &path, &error))?;
        let segment = Segment {
            first_offset,
            path,
            bytes: AtomicU64::new(0),
            written: AtomicU64::new(0),
            mapping: OnceLock::from(mappings.share(mapping, readable)),
            mappings: mappings.clone(),
            entries: Mutex::new(None),
            removed: AtomicBool::new(false),
        };
        Ok(Active {
            segment: Arc::new(segment),
            file: Arc::new(file),
            capacity,
            allocated: 0,
            step: SEGMENT_STEP_BYTES_MIN,
            writer_id,
            entries: Vec::new(),
        })
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether `object` may be appended here: it fits, and was written by the run that wrote the others.
    pub(super) fn takes(&self, object: &Object) -> bool {
        self.writer_id == object.header.writer_id
            && self.segment.written().saturating_add(object.header.object_bytes) <= self.capacity
    }

    /// Appends the object without making it durable or visible. After an error the next object is written over what
    /// this one left.
    pub(super) fn write(&mut self, object: &Object) -> Result<Written, StoreError> {
        let position = self.segment.written();
        let end = position + object.header.object_bytes;
        let allocated = self.allocate(end);
        let written = allocated.and_then(|()| write_at(&self.file, &object.parts, position));
        written.map_err(|error| io_error("write to", &self.segment.path, &error))?;
        self.entries.push(Entry::new(&object.header, position as u32));
        self.segment.written.store(end, Ordering::Release);
        Ok(Written { segment: self.segment.clone(), file: self.file.clone(), position: position as u32, end })
    }

    /// All that was written to the segment.
    pub(super) fn all_written(&self) -> Written {
        Written { segment: self.segment.clone(), file: self.file.clone(), position: 0, end: self.segment.written() }
    }

    /// Ends the segment behind its last object. The answer seals it; it may be called later, on any thread.
    pub(super) fn finish(self, next_offset: u64) -> impl FnOnce() + Send + 'static {
        let Active { segment, file, writer_id, entries, .. } = self;
        *segment.entries.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(entries.clone()));
        let seal = Seal {
            first_offset: segment.first_offset,
            next_offset,
            segment_bytes: segment.bytes(),
            writer_id,
            entries,
        };
        move || {
            if segment.removed.load(Ordering::Acquire) {
                return;
            }
            if let Err(error) = segment.seal(&file, &seal, true) {
                tracing::error!(%error, "a full segment could not be sealed; the next start walks it and tries again");
            }
        }
    }

    /// Allocates blocks for the file's first `bytes` bytes, in doubling steps.
    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        if bytes <= self.allocated {
            return Ok(());
        }
        let wanted = bytes.max(self.allocated + self.step).min(self.capacity);
        let allocate = |end: u64| {
            let flags = rustix::fs::FallocateFlags::empty();
            rustix::fs::fallocate(&self.file, flags, self.allocated, end - self.allocated)
        };
        let allocated = match allocate(wanted) {
            // The disk has no room for a whole step; the object alone may still fit.
            Err(Errno::NOSPC | Errno::DQUOT) => allocate(bytes).map(|()| bytes),
            allocated => allocated.map(|()| wanted),
        };
        self.allocated = match allocated {
            // A file system without it: blocks are allocated by each write.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.capacity,
            allocated => allocated?,
        };
        self.step = (self.step * 2).min(SEGMENT_STEP_BYTES_MAX);
        Ok(())
    }
}

/// An object whose bytes are in a segment's file.
pub(super) struct Written {
    segment: Arc<Segment>,
    file: Arc<File>,
    /// Where it begins in the file.
    pub(super) position: u32,
    end: u64,
}

impl Written {
    pub(super) fn segment_first_offset(&self) -> u64 {
        self.segment.first_offset
    }

    pub(super) fn bytes(&self) -> u64 {
        self.end - u64::from(self.position)
    }

    /// Whether readers see it.
    pub(super) fn is_published(&self) -> bool {
        self.segment.bytes() >= self.end
    }

    /// Makes it durable, and all that was written before this began, and lets readers see that. One at a time for a
    /// topic.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let written = self.segment.written();
        sync(&self.file).map_err(|error| io_error("sync", &self.segment.path, &error))?;
        self.segment.bytes.store(written, Ordering::Release);
        Ok(())
    }

    /// Lets readers see it, and all before it.
    pub(super) fn publish(&self) {
        self.segment.bytes.store(self.end, Ordering::Release);
    }
}

/// The file of the segment that begins at `first_offset`.
pub(super) fn segment_path(dir: &Path, first_offset: u64) -> PathBuf {
    dir.join(format!("{first_offset:020}.seg"))
}

/// Maps the first `bytes` bytes of a segment; not 0.
pub(super) fn map(file: &File, bytes: u64) -> io::Result<Mmap> {
    let length = usize::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: the directory's lock keeps other brokers away, and this one changes a segment's bytes only behind
    // `Segment::bytes`, while slices are made only below it: bytes that are borrowed do not change. The file is cut only
    // down to that same mark, so borrowed bytes stay inside it; beyond the file's end the mapping is never touched.
    unsafe { MmapOptions::new().len(length).map(file) }
}

/// Fetches `slice`, which lies in a mapping, into memory. A disk that cannot be read is an error here.
pub(super) fn populate(slice: &[u8]) -> io::Result<()> {
    let Some(pages) = pages(slice) else { return Ok(()) };
    // SAFETY: the range is made of the pages that hold `slice`, so it is mapped; populating changes no byte.
    let populated =
        unsafe { rustix::mm::madvise(pages.start as *mut _, pages.len(), rustix::mm::Advice::LinuxPopulateRead) };
    match populated {
        // Linux before 5.14.
        Err(Errno::INVAL) => {
            slice.iter().step_by(rustix::param::page_size()).for_each(|byte| {
                std::hint::black_box(*byte);
            });
            Ok(())
        }
        // It would have been a SIGBUS.
        Err(Errno::FAULT | Errno::HWPOISON) => Err(Errno::IO.into()),
        populated => Ok(populated?),
    }
}

/// Whether no page of `slice`, which lies in a mapping, has to be fetched from the disk.
fn is_resident(slice: &[u8]) -> bool {
    let Some(pages) = pages(slice) else { return true };
    let page_bytes = rustix::param::page_size();
    let mut held = [0u8; PAGES_PER_CALL];
    let mut start = pages.start;
    while start < pages.end {
        let length = (pages.end - start).min(PAGES_PER_CALL * page_bytes);
        // SAFETY: the range is made of the pages that hold `slice`, so it is mapped; `held` has a byte for each.
        let answer = unsafe { libc::mincore(start as *mut _, length, held.as_mut_ptr()) };
        let asked = held.get(..length.div_ceil(page_bytes)).unwrap_or_default();
        if answer != 0 || asked.iter().any(|page| page & 1 == 0) {
            return false;
        }
        start += length;
    }
    true
}

/// The addresses of the pages that hold `slice`.
fn pages(slice: &[u8]) -> Option<Range<usize>> {
    let page_bytes = rustix::param::page_size();
    let start = slice.as_ptr().addr();
    (!slice.is_empty()).then(|| start - start % page_bytes..start + slice.len())
}

pub(super) fn sync(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(|error| io_error("sync", dir, &error))
}

/// Writes the pieces one behind the other, with as few calls as the kernel allows.
fn write_at(file: &File, parts: &[Bytes], mut position: u64) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    // Empty pieces at the front would make a write of nothing look like a disk that takes nothing.
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        let batch = left.get(..left.len().min(PIECES_MAX)).unwrap_or_default();
        match rustix::io::pwritev(file, batch, position) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                position += written as u64;
                IoSlice::advance_slices(&mut left, written);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
