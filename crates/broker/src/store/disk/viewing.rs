//! The calls that change files, for a directory that is only looked at: none of them is possible.

use super::device::Device;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// See the file's first lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewing;

fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the directory is only looked at"))
}

impl Device for Viewing {
    fn create(&self, _: &Path) -> io::Result<File> {
        refused()
    }

    fn set_len(&self, _: &File, _: u64) -> io::Result<()> {
        refused()
    }

    fn allocate(&self, _: &File, _: Range<u64>) -> io::Result<()> {
        refused()
    }

    fn write(&self, _: &File, _: &[Bytes], _: u64) -> io::Result<()> {
        refused()
    }

    fn sync(&self, _: &File) -> io::Result<()> {
        refused()
    }

    /// A broker may run on it, whose newest objects are in the page cache.
    fn drop_cached(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }
}
