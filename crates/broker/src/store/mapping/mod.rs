//! Mapped files: which file holds the bytes of a mapping, so that they can be sent without being read, and how much of
//! them this process has read, so that mapped pages don't add up in its memory.
//!
//! Most stored bytes go from the page cache to a socket by `sendfile` and are never read here. Those that are
//! (checksums, indexes, short pieces) become resident memory of this process, page by page, and would stay until the
//! file is closed. So the reader reports them, and when they exceed [`TOUCHED_BYTES_MAX`] their pages are released:
//! they stay in the page cache, and the next read maps them again.

mod touched;

use crate::limits::{SENDFILE_BYTES_MIN, TOUCHED_BYTES_MAX};
use bytes::Bytes;
use memmap2::Mmap;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use touched::{CHUNK_BYTES, Touched};

/// The mappings that are in use, by address.
#[derive(Debug, Default)]
pub struct Mappings {
    by_address: RwLock<BTreeMap<usize, Mapped>>,
    /// How many chunks of them were read and not released since. Below zero for moments: a chunk may be released before
    /// it is counted.
    touched_chunks: AtomicIsize,
    /// Those of which something was.
    touched: Mutex<Vec<Weak<Shared>>>,
    /// One thread releases at a time; the others continue.
    is_releasing: AtomicBool,
}

#[derive(Debug)]
struct Mapped {
    length: usize,
    file: Arc<File>,
    shared: Weak<Shared>,
}

/// Where bytes are in a file.
#[derive(Debug, Clone)]
pub struct FileRange {
    /// The file, open for reading.
    pub file: Arc<File>,
    /// Position of the first of the bytes in it.
    pub position: u64,
}

/// A mapped file.
#[derive(Debug, Clone)]
pub(super) struct Mapping {
    shared: Arc<Shared>,
    whole: Bytes,
}

impl Mapping {
    /// A part of it. A short one counts as read: it is looked at, or copied into a socket. A caller that reads a longer
    /// one calls [`Mappings::touched`].
    pub fn slice(&self, range: Range<usize>) -> Bytes {
        let slice = self.whole.slice(range);
        if slice.len() < SENDFILE_BYTES_MIN {
            self.shared.touch(&slice);
        }
        slice
    }

    /// Its size.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.whole.len()
    }

    /// A part of it, to ask the kernel about. A caller that reads it calls [`Mappings::touched`].
    pub fn unread(&self, range: Range<usize>) -> &[u8] {
        self.whole.get(range.clone()).unwrap_or_else(|| unreachable!("bytes {range:?} of {}", self.whole.len()))
    }

    /// All of it.
    pub fn into_whole(self) -> Bytes {
        self.whole
    }
}

impl Mappings {
    /// Shares a mapping of `file`, from the file's first byte on.
    pub(super) fn share(self: &Arc<Self>, mmap: Mmap, file: impl Into<Arc<File>>) -> Mapping {
        let address = mmap.as_ptr().addr();
        let length = mmap.len();
        let end = address + length;
        let shared = Arc::new(Shared { mmap, mappings: self.clone(), touched: Touched::new(&(address..end)) });
        let mapped = Mapped { length, file: file.into(), shared: Arc::downgrade(&shared) };
        let mut by_address = self.by_address.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((start, before)) = by_address.range(..address).next_back() {
            let before_end = start + before.length;
            assert!(before_end <= address, "mappings {start:#x}..{before_end:#x} and {address:#x} overlap");
        }
        if let Some((after, _)) = by_address.range(address + 1..).next() {
            assert!(end <= *after, "mappings {address:#x}..{end:#x} and {after:#x} overlap");
        }
        let other = by_address.insert(address, mapped);
        assert!(other.is_none(), "two mappings begin at {address:#x}");
        drop(by_address);
        Mapping { whole: Bytes::from_owner(Owner(shared.clone())), shared }
    }

    /// The file that holds `bytes`, if they are a part of one of these mappings.
    ///
    /// A slice keeps its mapping alive, and a mapping is removed from here before it is unmapped: an address that is
    /// found here belongs to the file.
    pub fn find(&self, bytes: &[u8]) -> Option<FileRange> {
        self.with(bytes, |mapped, position| FileRange { file: mapped.file.clone(), position: position as u64 })
    }

    /// This process has read `bytes`, or most of them. Releases the pages of all mappings if too many were read. To be
    /// called after reading: pages that are read after they were released are not counted.
    pub fn touched(&self, bytes: &[u8]) {
        if let Some(shared) = self.with(bytes, |mapped, _| mapped.shared.upgrade()).flatten() {
            shared.touch(bytes);
        }
    }

    /// The same bytes for a reader that reads little around them. Short ones are copied from their file: in the
    /// mapping, many pages would be mapped for few, and have to be released later.
    pub(crate) fn short(&self, bytes: Bytes) -> Bytes {
        if bytes.len() < SENDFILE_BYTES_MIN
            && let Some(FileRange { file, position }) = self.find(&bytes)
            && let Some(copy) = copy(&file, position, bytes.len())
        {
            return copy;
        }
        self.touched(&bytes);
        bytes
    }

    /// What `look` finds of the mapping that holds `bytes`, and of their position in it.
    fn with<T>(&self, bytes: &[u8], look: impl FnOnce(&Mapped, usize) -> T) -> Option<T> {
        let address = bytes.as_ptr().addr();
        let by_address = self.by_address.read().unwrap_or_else(PoisonError::into_inner);
        let (start, mapped) = by_address.range(..=address).next_back()?;
        let position = address - start;
        let is_inside = position.checked_add(bytes.len())? <= mapped.length;
        is_inside.then(|| look(mapped, position))
    }

    /// Releases the pages of every mapping that was read.
    fn release(&self) {
        if self.is_releasing.swap(true, Ordering::AcqRel) {
            return;
        }
        let touched = std::mem::take(&mut *self.listed());
        touched.iter().filter_map(Weak::upgrade).for_each(|shared| shared.release());
        self.is_releasing.store(false, Ordering::Release);
    }

    fn listed(&self) -> MutexGuard<'_, Vec<Weak<Shared>>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the number of chunks that were read; returns it.
    fn count(&self, chunks: isize) -> isize {
        self.touched_chunks.fetch_add(chunks, Ordering::Relaxed) + chunks
    }
}

/// A copy of bytes of a file; `None` if they can't be read.
pub(super) fn copy(file: &File, position: u64, length: usize) -> Option<Bytes> {
    if length == 0 {
        return Some(Bytes::new());
    }
    let mut copy = Vec::with_capacity(length);
    let read = rustix::io::pread(file, rustix::buffer::spare_capacity(&mut copy), position);
    (read.ok()? == length && copy.len() == length).then(|| copy.into())
}

#[derive(Debug)]
struct Shared {
    mmap: Mmap,
    mappings: Arc<Mappings>,
    touched: Touched,
}

/// The owner of a mapping's bytes.
struct Owner(Arc<Shared>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0.mmap
    }
}

impl Shared {
    /// `read` is a part of this mapping.
    fn touch(self: &Arc<Self>, read: &[u8]) {
        let start = read.as_ptr().addr();
        let chunks = self.touched.mark(&(start..start + read.len()));
        if chunks == 0 {
            return;
        }
        if self.touched.list() {
            self.mappings.listed().push(Arc::downgrade(self));
        }
        if self.mappings.count(chunks as isize) > (TOUCHED_BYTES_MAX / CHUNK_BYTES) as isize {
            self.mappings.release();
        }
    }

    /// Releases the pages of the mapping. They stay in the page cache.
    fn release(&self) {
        self.touched.unlist();
        self.mappings.count(-(self.touched.clear() as isize));
        // SAFETY: the pages are a file's, mapped for reading only, so the next access to them maps the same bytes
        // again; no byte changes under a reader.
        let released = unsafe { self.mmap.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        if let Err(error) = released {
            tracing::debug!(%error, "pages of a mapped file can't be released and count as the broker's memory");
        }
    }
}

impl Drop for Shared {
    /// Removes the mapping from the list; it is unmapped after this, and another may get its address.
    fn drop(&mut self) {
        let address = self.mmap.as_ptr().addr();
        let removed = self.mappings.by_address.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
        debug_assert!(removed.is_some(), "the mapping at {address:#x} was not listed");
        self.mappings.count(-(self.touched.clear() as isize));
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // Tests start tasks and threads where they like.
mod tests {
    use super::*;
    use std::io::Write;

    /// A private file of `length` bytes, mapped.
    fn share(mappings: &Arc<Mappings>, byte: u8, length: usize) -> Mapping {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![byte; length]).unwrap();
        // SAFETY: no other process has this file.
        let mmap = unsafe { Mmap::map(&file) }.unwrap();
        mappings.share(mmap, file)
    }

    #[test]
    fn bytes_of_a_mapping_are_found_in_its_file_and_no_others() {
        let mappings = Arc::new(Mappings::default());
        let one = share(&mappings, 1, 10_000).into_whole();
        let two = share(&mappings, 2, 10_000).into_whole();
        for (shared, other) in [(&one, &two), (&two, &one)] {
            let found = mappings.find(&shared.slice(77..999)).unwrap();
            assert_eq!(found.position, 77);
            let mut byte = [0];
            std::os::unix::fs::FileExt::read_exact_at(&*found.file, &mut byte, found.position).unwrap();
            assert_eq!(byte[0], shared[0]);
            assert_ne!(byte[0], other[0]);
        }
        assert_eq!(mappings.find(&one).unwrap().position, 0);
        assert!(mappings.find(&[0; 4]).is_none());
        let slice = one.slice(5..6);
        drop(one);
        assert!(mappings.find(&slice).is_some(), "a slice keeps the mapping");
        drop(slice);
        drop(two);
        assert!(mappings.by_address.read().unwrap().is_empty());
    }

    #[test]
    fn short_slices_count_as_read_and_long_ones_do_not() {
        let mappings = Arc::new(Mappings::default());
        let mapping = share(&mappings, 1, 10 * CHUNK_BYTES);
        let touched = || mappings.count(0);
        let long = mapping.slice(0..SENDFILE_BYTES_MIN);
        assert_eq!(touched(), 0);
        mappings.touched(&long);
        // The mapping begins at any page.
        assert!([1, 2].contains(&touched()));
        mappings.touched(&mapping.slice(0..10 * CHUNK_BYTES));
        assert!([10, 11].contains(&touched()));
        let before = touched();
        mapping.slice(5 * CHUNK_BYTES..5 * CHUNK_BYTES + 1);
        assert_eq!(touched(), before, "it was read before");
        drop((long, mapping));
        assert_eq!(touched(), 0, "an unmapped file takes no memory");
    }

    #[test]
    fn short_reads_map_nothing_and_return_the_files_bytes() {
        let mappings = Arc::new(Mappings::default());
        let whole = share(&mappings, 3, 10 * CHUNK_BYTES).into_whole();
        let copy = mappings.short(whole.slice(5000..5000 + 8192));
        assert_eq!(copy, whole.slice(5000..5000 + 8192));
        assert!(mappings.find(&copy).is_none() && mappings.count(0) == 0, "it is a copy");
        assert!(mappings.short(whole.slice(7..7)).is_empty());
        let long = mappings.short(whole.slice(..SENDFILE_BYTES_MIN));
        assert_eq!(long.as_ptr(), whole.as_ptr());
        assert_ne!(mappings.count(0), 0, "it is read in the mapping");
        let other = Bytes::from_static(b"not mapped");
        assert_eq!(mappings.short(other.clone()).as_ptr(), other.as_ptr());
    }

    /// Bytes of a mapping that are this process's resident memory.
    fn resident(whole: &Bytes) -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", whole.as_ptr().addr());
        let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&start));
        let rss = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        rss.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    /// Issue 12: 4 GB that were read left 3.1 GB of mapped segments in the broker's resident memory.
    #[test]
    fn resident_memory_is_bounded_however_much_of_the_mappings_is_read() {
        const FILES: usize = 8;
        let length = TOUCHED_BYTES_MAX / 4;
        let mappings = Arc::new(Mappings::default());
        let files: Vec<Bytes> =
            (0..FILES).map(|number| share(&mappings, number as u8 + 1, length).into_whole()).collect();
        for round in 0..2 {
            for (number, whole) in files.iter().enumerate() {
                for piece in whole.chunks(1 << 20) {
                    let is_whole = piece.iter().step_by(512).all(|&byte| usize::from(byte) == number + 1);
                    assert!(is_whole, "file {number}, round {round}");
                    mappings.touched(piece);
                }
                let all: usize = files.iter().map(resident).sum();
                assert!(all <= TOUCHED_BYTES_MAX + (1 << 20), "{all} bytes after file {number} of round {round}");
            }
        }
    }

    #[test]
    fn mappings_are_read_released_and_dropped_by_many_threads() {
        let mappings = Arc::new(Mappings::default());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mappings = &mappings;
                scope.spawn(move || {
                    for round in 0..40 {
                        let whole = share(mappings, thread + 1, 4 * CHUNK_BYTES).into_whole();
                        for piece in whole.chunks(CHUNK_BYTES / 2) {
                            mappings.touched(piece);
                            if round % 3 == 0 {
                                mappings.release();
                            }
                            assert!(piece.iter().all(|&byte| byte == thread + 1));
                        }
                    }
                });
            }
        });
        assert_eq!(mappings.count(0), 0);
    }
}
