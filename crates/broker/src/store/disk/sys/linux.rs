//! What Linux has and other systems lack, or name differently.

use rustix::fs::Advice;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Fetches mapped pages into memory. `EIO` where touching them would be a SIGBUS; `EINVAL` before Linux 5.14.
///
/// # Safety
///
/// The pages are mapped.
pub(super) unsafe fn populate(pages: &Range<usize>) -> Result<(), Errno> {
    let (start, bytes, advice) = (pages.start as *mut _, pages.len(), rustix::mm::Advice::LinuxPopulateRead);
    // SAFETY: the caller promises that the pages are mapped; populating changes no byte.
    match unsafe { rustix::mm::madvise(start, bytes, advice) } {
        Err(Errno::FAULT | Errno::HWPOISON) => Err(Errno::IO),
        populated => populated,
    }
}

/// Writes to `held` which of the mapped pages are in memory, one byte each; false if the call fails.
///
/// # Safety
///
/// The pages are mapped, and `held` has a byte for each.
pub(super) unsafe fn residence(pages: Range<usize>, held: &mut [u8]) -> bool {
    // SAFETY: the caller promises mapped pages and room for the answer.
    unsafe { libc::mincore(pages.start as *mut _, pages.len(), held.as_mut_ptr()) == 0 }
}

/// Begins to write a part of a file to the disk, and waits until it is written, though it may not be durable.
pub(in crate::store::disk) fn write_back(file: &File, range: Range<u64>) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (position, bytes) = (range.start as i64, (range.end - range.start) as i64);
    // SAFETY: the call takes numbers only, and the file is open.
    let failed = unsafe { libc::sync_file_range(file.as_raw_fd(), position, bytes, flags) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether what a file in this directory has is replaced in place, in the same blocks: ext4 and XFS are known to do so.
pub(in crate::store::disk) fn writes_in_place(dir: &Path) -> io::Result<bool> {
    // The numbers of `statfs(2)`, whose type isn't the same everywhere.
    Ok(matches!(rustix::fs::statfs(dir)?.f_type, 0xef53 | 0x5846_5342))
}

/// Makes a file's bytes durable.
pub(in crate::store::disk) fn sync(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// Makes later reads of the file come from the disk. After a sync that failed, an earlier run's included, the page
/// cache may hold bytes that never reached the disk, and the kernel takes them for clean.
pub(in crate::store::disk) fn drop_cached(file: &File) -> io::Result<()> {
    // Only clean pages can be dropped.
    sync(file)?;
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}
