//! One segment file as its readers see it: they read from a mapping of it.
//!
//! Why reading never raises SIGBUS in normal operation: a segment's file is made as long as it can get when it is
//! created (a sparse file; blocks are allocated in steps), and is cut to its objects' end when it is sealed. Whatever
//! is returned to readers lies below `bytes`, which is set only when an object is wholly written, and the file is
//! never cut below it. Data that must come from the disk is first requested with `MADV_POPULATE_READ`, where a broken
//! disk is an error instead of a signal. What remains is a disk that breaks within seconds after its data was found in
//! the page cache and dropped from it, and another program that cuts the file: the lock keeps brokers away, and a
//! person who does it gets a crashed broker, not wrong data.

use super::device::Device;
use super::errors::io_error;
use super::open_files::{Open, OpenFiles, Slot};
use super::sys::{is_resident, populate};
use crate::store::mapping::copy;
use crate::store_error::StoreError;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A segment as its readers see it.
pub(super) struct Segment {
    pub(super) first_offset: u64,
    pub(super) path: PathBuf,
    /// Length of the objects in it that readers may see. Grows only, and only after their bytes are in the file and as
    /// durable as they have to be.
    bytes: AtomicU64,
    /// How much of the file is mapped: all that it may become.
    mapped_bytes: u64,
    /// Whether this run created it and may append to it.
    is_own: bool,
    slot: Arc<Slot>,
    files: Arc<OpenFiles>,
    /// Whether its files are removed, or will be.
    removed: AtomicBool,
    /// Held while its files are written to, except by commits.
    sealing: Mutex<()>,
}

impl Segment {
    /// A segment of an earlier run, to be opened when it is first read.
    pub(super) fn of_earlier_run(dir: &Path, first_offset: u64, bytes: u64, files: &Arc<OpenFiles>) -> Segment {
        assert!(bytes > 0, "the segment at offset {first_offset} has no object");
        let segment = Segment::new(dir, first_offset, bytes, false, files);
        segment.bytes.store(bytes, Ordering::Release);
        segment
    }

    /// Creates the file of an empty segment, `capacity` bytes long. Its directory is not synced.
    pub(super) fn create(
        dir: &Path,
        first_offset: u64,
        capacity: u64,
        files: &Arc<OpenFiles>,
    ) -> Result<Segment, StoreError> {
        let segment = Segment::new(dir, first_offset, capacity, true, files);
        let create = || {
            let file = files.device().create(&segment.path)?;
            if let Err(error) = files.device().set_len(&file, capacity) {
                // Nothing is in it yet, and a file left over would block the next attempt.
                let _ = files.device().remove(&segment.path);
                return Err(error);
            }
            Ok(file)
        };
        files.get(&segment.slot, capacity, create).map_err(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                let _ = files.device().remove(&segment.path);
            }
            io_error("create", &segment.path, &error)
        })?;
        Ok(segment)
    }

    fn new(dir: &Path, first_offset: u64, mapped_bytes: u64, is_own: bool, files: &Arc<OpenFiles>) -> Segment {
        Segment {
            first_offset,
            path: segment_path(dir, first_offset),
            bytes: AtomicU64::new(0),
            mapped_bytes,
            is_own,
            slot: Arc::default(),
            files: files.clone(),
            removed: AtomicBool::new(false),
            sealing: Mutex::default(),
        }
    }

    /// What changes its file.
    pub(super) fn device(&self) -> &dyn Device {
        &**self.files.device()
    }

    /// Whether this run created it and may append to it.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Length of its objects in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Lets readers see its first `bytes` bytes, all of which are whole objects.
    pub(super) fn publish(&self, bytes: u64) {
        let before = self.bytes.swap(bytes, Ordering::AcqRel);
        assert!(before <= bytes && bytes <= self.mapped_bytes, "published {bytes} bytes after {before}");
    }

    /// The bytes `range` of the file if none of them has to be fetched from the disk, as far as is known. Never blocks.
    /// They are copied if that is better than reading them in the mapping.
    pub(super) fn resident(&self, range: Range<usize>, is_copied: bool) -> Option<Bytes> {
        self.check(&range);
        let end = self.bytes() as usize;
        let resident = |open: &Open| {
            let is_there = open.warm.is_resident(&range, end, |part| is_resident(open.mapping.unread(part)));
            let read = || if is_copied { copy(&open.file, range.start as u64, range.len()) } else { None };
            is_there.then(|| read().unwrap_or_else(|| open.mapping.slice(range.clone())))
        };
        self.slot.look(resident).flatten()
    }

    /// The bytes `range` of the file, fetched from the disk if need be. Blocks.
    pub(super) fn fetch(&self, range: Range<usize>) -> Result<Bytes, StoreError> {
        self.check(&range);
        let slice = self.open()?.mapping.slice(range);
        populate(&slice).map_err(|error| io_error("read", &self.path, &error))?;
        self.files.touched(&slice);
        Ok(slice)
    }

    /// Bytes that are not published may be overwritten or truncated.
    fn check(&self, range: &Range<usize>) {
        let bytes = self.bytes();
        assert!(range.end as u64 <= bytes, "{}: {range:?} of {bytes} bytes that readers see", self.path.display());
    }

    /// The segment's file, opened if need be. Costs no system call while it is open.
    pub(super) fn file(&self) -> Result<Arc<File>, StoreError> {
        match self.slot.look(|open| open.file.clone()) {
            Some(file) => Ok(file),
            None => Ok(self.open()?.file),
        }
    }

    fn open(&self) -> Result<Open, StoreError> {
        let open = || {
            let file = File::options().read(true).write(self.is_own).open(&self.path)?;
            // Checked after it is open: another topic's file may have its name.
            if self.removed.load(Ordering::Acquire) { Err(io::ErrorKind::NotFound.into()) } else { Ok(file) }
        };
        let opened = self.files.get(&self.slot, self.mapped_bytes, open);
        opened.map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound && self.device().is_shared() {
                return StoreError::gone(format!("{} is gone", self.path.display()));
            }
            io_error("open", &self.path, &error)
        })
    }

    /// The number by which the file system knows the open file, if it is open.
    pub(super) fn open_inode(&self) -> Option<u64> {
        self.slot.look(|open| open.file.metadata().ok().map(|found| found.ino())).flatten()
    }

    /// Cuts the file off at `end`, where the objects end. `file` is the segment, opened for writing.
    ///
    /// Only while the directory is locked: a start doesn't expect a file that it reads to become shorter.
    pub(super) fn cut(&self, file: &File, end: u64) -> Result<(), StoreError> {
        assert_eq!(end, self.bytes(), "cutting {}", self.path.display());
        self.device().set_len(file, end).map_err(|error| io_error("cut", &self.path, &error))
    }

    /// Makes the segment's bytes durable, and then writes its index, which vouches for them. `file` is the segment,
    /// opened for writing; `seal` are the bytes of the index, and the objects end at `end`.
    ///
    /// Without the index everything works, only slower at the next start; failing to write it is no error.
    pub(super) fn seal(&self, file: &File, seal: &[u8], end: u64) -> Result<(), StoreError> {
        assert_eq!(end, self.bytes(), "sealing {}", self.path.display());
        self.device().sync(file).map_err(|error| io_error("sync", &self.path, &error))?;
        let path = self.path.with_extension("idx");
        let write = || {
            // One that is there is damaged.
            remove(self.device(), &path)?;
            let file = self.device().create(&path)?;
            self.device().write(&file, &[Bytes::copy_from_slice(seal)], 0)?;
            self.device().sync(&file)
        };
        if let Err(error) = write() {
            tracing::warn!(
                index = %path.display(),
                %error,
                "a segment's index could not be written; the next start walks the segment and writes it"
            );
        }
        Ok(())
    }

    /// Does `work` with the files, unless they are removed; they are not removed meanwhile.
    pub(super) fn unless_removed<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let _not_meanwhile = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.removed.load(Ordering::Acquire)).then(work)
    }

    /// Leaves the files to the caller, which removes them: another segment may get their names.
    pub(super) fn retire(&self) {
        let _not_meanwhile = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
        self.removed.store(true, Ordering::Release);
    }

    /// Removes the files. Bytes that readers hold stay readable until they are dropped.
    pub(super) fn remove(&self) -> Result<(), StoreError> {
        self.retire();
        // The index first: without its segment it would be a stray file, while a segment needs no index.
        let removed = remove(self.device(), &self.path.with_extension("idx"));
        removed.and_then(|()| self.device().remove(&self.path)).map_err(|error| io_error("delete", &self.path, &error))
    }
}

/// Removes a file, which may be gone already.
pub(super) fn remove(device: &dyn Device, path: &Path) -> io::Result<()> {
    match device.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The file of the segment that begins at `first_offset`.
pub(super) fn segment_path(dir: &Path, first_offset: u64) -> PathBuf {
    dir.join(format!("{first_offset:020}.seg"))
}

/// The seal of a segment, if there is one that `parse` accepts.
pub(super) fn read_seal<T>(segment: &Path, parse: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>, StoreError> {
    let path = segment.with_extension("idx");
    match std::fs::read(&path) {
        Ok(bytes) => {
            let seal = parse(&bytes);
            if seal.is_none() {
                tracing::warn!(
                    segment = %segment.display(),
                    "the segment's index is damaged; the segment is walked instead and the index is written again"
                );
            }
            Ok(seal)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", &path, &error)),
    }
}
