//! System calls on segment files: mapping, fetching, writing and syncing.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_vendor = "apple")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_vendor = "apple")]
use macos as system;

pub(super) use system::{drop_cached, sync, write_back, writes_in_place};

use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;

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
    // SAFETY: the range is made of the pages that hold `slice`, so it is mapped.
    match unsafe { system::populate(&pages) } {
        // Linux before 5.14, and macOS.
        Err(Errno::INVAL) => {
            slice.iter().step_by(rustix::param::page_size()).for_each(|byte| {
                std::hint::black_box(*byte);
            });
            Ok(())
        }
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
        let is_known = unsafe { system::residence(start..start + length, &mut held) };
        let (asked, _) = held.split_at(length.div_ceil(page_bytes));
        if !is_known || asked.iter().any(|page| page & 1 == 0) {
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
