//! The same calls on macOS, for brokers on a developer's machine.

use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// No call fetches pages with an error instead of a signal: the caller touches them.
///
/// # Safety
///
/// Nothing is asked of the caller.
pub(super) unsafe fn populate(_: &Range<usize>) -> Result<(), Errno> {
    Err(Errno::INVAL)
}

/// Writes to `held` which of the mapped pages are in memory, one byte each; false if the call fails.
///
/// # Safety
///
/// The pages are mapped, and `held` has a byte for each.
pub(super) unsafe fn residence(pages: Range<usize>, held: &mut [u8]) -> bool {
    // SAFETY: the caller promises mapped pages and room for the answer.
    unsafe { libc::mincore(pages.start as *const _, pages.len(), held.as_mut_ptr().cast()) == 0 }
}

/// There is no call for a part of a file; the sync that follows writes it.
pub(in crate::store::disk) fn write_back(_: &File, _: Range<u64>) -> io::Result<()> {
    Ok(())
}

/// APFS writes to new blocks.
pub(in crate::store::disk) fn writes_in_place(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Makes a file's bytes durable: `fsync` leaves them in the disk's cache.
pub(in crate::store::disk) fn sync(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fcntl_fullfsync(file)?)
}

/// Syncs the file. No call drops what is cached, so after a failed sync only a restart of the system is certain to
/// read from the disk.
pub(in crate::store::disk) fn drop_cached(file: &File) -> io::Result<()> {
    sync(file)
}
