//! System calls on segment files: mapping, fetching, writing and syncing.

use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};
use rustix::fs::Advice;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Linux takes at most this many pieces in one vectored write (`IOV_MAX`).
const PIECES_MAX: usize = 1024;

/// One call of `mincore` asks about this many pages; its answer fits on the stack.
const PAGES_PER_CALL: usize = 1024;

/// Maps the first `bytes` bytes of a segment; not 0.
pub(super) fn map(file: &File, bytes: u64) -> io::Result<Mmap> {
    assert!(bytes > 0, "an empty mapping, whose address others may have");
    let length = usize::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: the directory's lock keeps other brokers away, and this one changes a segment's bytes only after
    // `Segment::bytes`, while slices are made only below it: bytes that are borrowed do not change. The file is cut
    // only down to that same mark, so borrowed bytes stay inside it; beyond the file's end the mapping is never
    // touched. A directory that is only looked at is another process's: of its segments, whole objects are borrowed,
    // which that process doesn't change either.
    unsafe { MmapOptions::new().len(length).map(file) }
}

/// Fetches `slice`, a part of a mapping, into memory. A disk that can't be read is an error here.
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

/// Whether no page of `slice`, a part of a mapping, has to be fetched from the disk.
pub(in crate::store) fn is_resident(slice: &[u8]) -> bool {
    let Some(pages) = pages(slice) else { return true };
    let page_bytes = rustix::param::page_size();
    let mut held = [0u8; PAGES_PER_CALL];
    let mut start = pages.start;
    while start < pages.end {
        let length = (pages.end - start).min(PAGES_PER_CALL * page_bytes);
        // SAFETY: the range is made of the pages that hold `slice`, so it is mapped; `held` has a byte for each.
        let failed = unsafe { libc::mincore(start as *mut _, length, held.as_mut_ptr()) } != 0;
        let (asked, _) = held.split_at(length.div_ceil(page_bytes));
        if failed || asked.iter().any(|page| page & 1 == 0) {
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

/// Writes the pieces in order, with as few calls as the kernel allows.
pub(in crate::store) fn write_at(file: &File, parts: &[Bytes], mut position: u64) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let end = position + slices.iter().map(|slice| slice.len() as u64).sum::<u64>();
    let mut left = slices.as_mut_slice();
    // Empty pieces at the front would make a write of nothing look like a full disk.
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        let (batch, _) = left.split_at(left.len().min(PIECES_MAX));
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
    assert_eq!(position, end, "{} pieces were written up to another position", parts.len());
    Ok(())
}

/// Begins to write a part of a file to the disk, and waits until it is written, though it may not be durable.
pub(super) fn write_back(file: &File, range: Range<u64>) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (position, bytes) = (range.start as i64, (range.end - range.start) as i64);
    // SAFETY: the call takes numbers only, and the file is open.
    let failed = unsafe { libc::sync_file_range(file.as_raw_fd(), position, bytes, flags) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether what a file in this directory has is replaced in place, in the same blocks: ext4 and XFS are known to do so.
pub(super) fn writes_in_place(dir: &Path) -> io::Result<bool> {
    // The numbers of `statfs(2)`, whose type isn't the same everywhere.
    Ok(matches!(rustix::fs::statfs(dir)?.f_type, 0xef53 | 0x5846_5342))
}

/// Makes a file's bytes durable.
pub(super) fn sync(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// Makes later reads of the file come from the disk. After a sync that failed, an earlier run's included, the page
/// cache may hold bytes that never reached the disk, and the kernel takes them for clean.
pub(super) fn drop_cached(file: &File) -> io::Result<()> {
    // Only clean pages can be dropped.
    sync(file)?;
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn bytes_in_the_page_cache_are_read_again_from_the_disk() {
        let mut file = tempfile::tempfile().unwrap();
        const TMPFS_MAGIC: i64 = 0x0102_1994;
        if rustix::fs::fstatfs(&file).unwrap().f_type as i64 == TMPFS_MAGIC {
            return eprintln!("skipped: the temporary directory is in memory");
        }
        file.write_all(&[7; 100_000]).unwrap();
        let is_cached = || is_resident(&map(&file, 100_000).unwrap());
        assert!(is_cached());
        drop_cached(&file).unwrap();
        assert!(!is_cached());
        let mapping = map(&file, 100_000).unwrap();
        populate(&mapping).unwrap();
        assert!(mapping.iter().all(|&byte| byte == 7));
    }
}
