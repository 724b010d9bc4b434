//! Files that several journal objects share, as segments on a local directory: which of them are mostly garbage.

use crate::index_bytes;
use crate::place::{Piece, Source};
use std::ops::Range;

/// A file with journal objects of consecutive numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    /// Their numbers.
    pub numbers: Range<u64>,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Size of its objects below a number in bytes: those that a snapshot covers.
    pub covered_bytes: u64,
    /// Whether more objects are appended to it.
    pub grows: bool,
}

/// A shared file of which less than half is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparseFile {
    /// The file.
    pub file: SharedFile,
    /// Size of its needed part in bytes, as far as the snapshot covers it. If it is 0, the file is garbage.
    pub alive_bytes: u64,
}

impl SparseFile {
    /// Size of the unreferenced bytes.
    pub fn dead_bytes(&self) -> u64 {
        self.file.covered_bytes.saturating_sub(self.alive_bytes)
    }
}

/// The shared files, and how much of each is needed: the objects that a snapshot doesn't cover, and the records that it
/// refers to.
#[derive(Debug, Default)]
pub(crate) struct SparseFiles(Vec<SparseFile>);

impl SparseFiles {
    /// Files in ascending order of their numbers.
    pub fn new(files: Vec<SharedFile>) -> SparseFiles {
        SparseFiles(files.into_iter().map(|file| SparseFile { file, alive_bytes: 0 }).collect())
    }

    /// Adds a piece that the snapshot refers to.
    ///
    /// An object that has some needed records counts with these alone: a merge copies no others.
    pub fn add(&mut self, piece: &Piece) {
        let Source::Journal(number) = piece.place.source else { return };
        let at = self.0.partition_point(|sparse| sparse.file.numbers.end <= number);
        if let Some(sparse) = self.0.get_mut(at).filter(|sparse| sparse.file.numbers.contains(&number)) {
            sparse.alive_bytes += needed_bytes(piece);
        }
    }

    /// Those of which less than half is needed.
    pub fn sparse(&self) -> Vec<SparseFile> {
        self.0.iter().filter(|sparse| sparse.dead_bytes() * 2 > sparse.file.bytes).cloned().collect()
    }
}

/// Approximate size of a piece in a separate object, which is more than in a shared one.
fn needed_bytes(piece: &Piece) -> u64 {
    index_bytes(1, piece.place.batches.count(), 0) + u64::from(piece.place.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{BatchCount, Place};

    /// The sparse ones of these files, if a snapshot refers to pieces of these sizes.
    fn sparse(pieces: &[(Source, u32)], files: Vec<SharedFile>) -> Vec<SparseFile> {
        let piece = |(first_offset, &(source, bytes)): (u64, &(Source, u32))| Piece {
            first_offset,
            appended_us: 0,
            newest_us: 0,
            place: Place {
                source,
                tag: 0,
                object_bytes: 10_000,
                entries_at: 104,
                batches: BatchCount::from_bits(1),
                batches_at: 144,
                bytes,
            },
        };
        let mut files = SparseFiles::new(files);
        (0..).zip(pieces).map(piece).for_each(|piece| files.add(&piece));
        files.sparse()
    }

    fn file(numbers: Range<u64>, bytes: u64, covered_bytes: u64) -> SharedFile {
        SharedFile { numbers, bytes, covered_bytes, grows: covered_bytes < bytes }
    }

    #[test]
    fn records_that_are_deleted_inside_of_objects_count() {
        let pieces = [(Source::Journal(1), 1000), (Source::Journal(9), 1000), (Source::Journal(10), 5000)];
        let full = |numbers, bytes| file(numbers, bytes, bytes);
        let found = sparse(&pieces, vec![full(1..5, 20_000), full(5..9, 20_000), full(9..20, 12_000)]);
        let found: Vec<_> = found.iter().map(|sparse| (sparse.file.numbers.clone(), sparse.alive_bytes)).collect();
        assert_eq!(found, [(1..5, 1144), (5..9, 0)], "half of the third is needed");
        assert_eq!(sparse(&pieces, vec![full(9..20, 13_000)]).len(), 1, "less than half");
    }

    #[test]
    fn what_no_snapshot_covers_is_needed() {
        let pieces = [(Source::Journal(1), 1000)];
        assert_eq!(sparse(&pieces, vec![file(1..5, 20_000, 11_000)]), []);
        assert_eq!(sparse(&pieces, vec![file(1..5, 20_000, 12_000)]).len(), 1);
    }

    #[test]
    fn merged_objects_with_the_same_numbers_are_other_files() {
        assert_eq!(sparse(&[(Source::Merged(2), 9000)], vec![file(1..5, 10_000, 10_000)])[0].alive_bytes, 0);
    }
}
