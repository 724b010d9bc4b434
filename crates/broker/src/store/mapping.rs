//! Mapped files, and which file holds the bytes of a mapping: so that they can be sent without being read.

use bytes::Bytes;
use memmap2::Mmap;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, PoisonError, RwLock};

/// The mappings that are in use, by address.
#[derive(Debug, Default)]
pub struct Mappings {
    by_address: RwLock<BTreeMap<usize, Mapped>>,
}

#[derive(Debug)]
struct Mapped {
    length: usize,
    file: Arc<File>,
}

/// Where bytes are in a file.
#[derive(Debug, Clone)]
pub struct FileRange {
    /// The file, open for reading.
    pub file: Arc<File>,
    /// Position of the first of the bytes in it.
    pub position: u64,
}

impl Mappings {
    /// Shares a mapping of `file`, from the file's first byte on, as bytes.
    pub(super) fn share(self: &Arc<Self>, mmap: Mmap, file: impl Into<Arc<File>>) -> Bytes {
        let mapped = Mapped { length: mmap.len(), file: file.into() };
        let address = mmap.as_ptr().addr();
        let end = address + mapped.length;
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
        Bytes::from_owner(Shared { mmap, mappings: self.clone() })
    }

    /// The file that holds `bytes`, if they are a part of one of these mappings.
    ///
    /// A slice keeps its mapping alive, and a mapping is removed from here before it is unmapped: an address that is
    /// found here belongs to the file.
    pub fn find(&self, bytes: &[u8]) -> Option<FileRange> {
        let address = bytes.as_ptr().addr();
        let by_address = self.by_address.read().unwrap_or_else(PoisonError::into_inner);
        let (start, mapped) = by_address.range(..=address).next_back()?;
        let position = address - start;
        let is_inside = position.checked_add(bytes.len())? <= mapped.length;
        is_inside.then(|| FileRange { file: mapped.file.clone(), position: position as u64 })
    }
}

struct Shared {
    mmap: Mmap,
    mappings: Arc<Mappings>,
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.mmap
    }
}

impl Drop for Shared {
    /// Removes the mapping from the list; it is unmapped after this, and another may get its address.
    fn drop(&mut self) {
        let address = self.mmap.as_ptr().addr();
        let removed = self.mappings.by_address.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
        debug_assert!(removed.is_some(), "the mapping at {address:#x} was not listed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn bytes_of_a_mapping_are_found_in_its_file_and_no_others() {
        let mappings = Arc::new(Mappings::default());
        let share = |content: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content).unwrap();
            // SAFETY: nobody else has this file.
            let mmap = unsafe { Mmap::map(&file) }.unwrap();
            mappings.share(mmap, file)
        };
        let one = share(&[1; 10_000]);
        let two = share(&[2; 10_000]);
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
}
