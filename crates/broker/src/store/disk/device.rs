//! The calls that change segments and a journal's other files, so that a test can make them fail, or lose data that
//! was not synced.

use super::sys;
use crate::tasks;
use bytes::Bytes;
use rustix::fs::{CWD, FallocateFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Work that blocks.
pub type Work = Box<dyn FnOnce() + Send>;

/// The calls that change files. Each method calls the system, unless a test replaces it.
pub trait Device: Send + Sync + 'static {
    /// Creates a file, which can be read and written. Fails if the name exists.
    fn create(&self, path: &Path) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(path)
    }

    /// Cuts a file, or makes it longer: then it ends with zeros, for which no block is allocated.
    fn set_len(&self, file: &File, bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::ftruncate(file, bytes)?)
    }

    /// Allocates blocks for a part of a file.
    fn allocate(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), range.start, range.end - range.start)?)
    }

    /// Writes the parts in order, from `position` on.
    fn write(&self, file: &File, parts: &[Bytes], position: u64) -> io::Result<()> {
        sys::write_at(file, parts, position)
    }

    /// Begins to write a part of a file to the disk, and waits until it is written, though it may not be durable.
    fn write_back(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        sys::write_back(file, range)
    }

    /// Whether what a file in this directory has is replaced in place, in the same blocks.
    fn writes_in_place(&self, dir: &Path) -> io::Result<bool> {
        sys::writes_in_place(dir)
    }

    /// Makes a file's bytes durable.
    fn sync(&self, file: &File) -> io::Result<()> {
        sys::sync(file)
    }

    /// Makes later reads of the file come from the disk.
    fn drop_cached(&self, file: &File) -> io::Result<()> {
        sys::drop_cached(file)
    }

    /// Renames a file. Fails if the new name exists.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // A file system without it.
            Err(Errno::INVAL | Errno::NOSYS) => {
                std::fs::hard_link(from, to)?;
                std::fs::remove_file(from)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Removes a file's name.
    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    /// Whether another process may delete the files.
    fn is_shared(&self) -> bool {
        false
    }

    /// Does work that blocks, whether or not a task waits for it.
    fn run(&self, work: Work) {
        drop(tasks::spawn_blocking(work));
    }
}

/// The system.
#[derive(Debug, Clone, Copy)]
pub struct System;

impl Device for System {}
