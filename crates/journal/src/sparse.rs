//! Files that several journal objects share, as segments on a local directory: which of them are mostly garbage.

use crate::index_bytes;
use crate::place::{Piece, Source};
use crate::snapshot::Snapshot;
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

impl Snapshot {
    /// Those of the files, which are in ascending order of their numbers, of which less than half is needed: the
    /// objects that the snapshot doesn't cover, and the records that it refers to.
    ///
    /// An object that has some needed records counts with these alone: a merge copies no others.
    pub fn sparse(&self, files: Vec<SharedFile>) -> Vec<SparseFile> {
        let mut found: Vec<_> = files.into_iter().map(|file| SparseFile { file, alive_bytes: 0 }).collect();
        for piece in self.pieces.values().flatten() {
            let Source::Journal(number) = piece.place.source else { continue };
            let at = found.partition_point(|sparse| sparse.file.numbers.end <= number);
            if let Some(sparse) = found.get_mut(at).filter(|sparse| sparse.file.numbers.contains(&number)) {
                sparse.alive_bytes += needed_bytes(piece);
            }
        }
        found.retain(|sparse| sparse.dead_bytes() * 2 > sparse.file.bytes);
        found
    }
}

/// Approximate size of a piece in a separate object, which is more than in a shared one.
fn needed_bytes(piece: &Piece) -> u64 {
    index_bytes(1, piece.place.batches.count(), 0) + u64::from(piece.place.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition_id::PartitionId;
    use crate::place::{BatchCount, Place};
    use std::collections::BTreeMap;

    fn snapshot(pieces: &[(Source, u32)]) -> Snapshot {
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
        let pieces = (0..).zip(pieces).map(piece).collect();
        let pieces = BTreeMap::from([(PartitionId { topic: 1, number: 0 }, pieces)]);
        Snapshot { state: Default::default(), pieces }
    }

    fn file(numbers: Range<u64>, bytes: u64, covered_bytes: u64) -> SharedFile {
        SharedFile { numbers, bytes, covered_bytes, grows: covered_bytes < bytes }
    }

    #[test]
    fn records_that_are_deleted_inside_of_objects_count() {
        let snapshot = snapshot(&[(Source::Journal(1), 1000), (Source::Journal(9), 1000), (Source::Journal(10), 5000)]);
        let full = |numbers, bytes| file(numbers, bytes, bytes);
        let sparse = snapshot.sparse(vec![full(1..5, 20_000), full(5..9, 20_000), full(9..20, 12_000)]);
        let found: Vec<_> = sparse.iter().map(|sparse| (sparse.file.numbers.clone(), sparse.alive_bytes)).collect();
        assert_eq!(found, [(1..5, 1144), (5..9, 0)], "half of the third is needed");
        assert_eq!(snapshot.sparse(vec![full(9..20, 13_000)]).len(), 1, "less than half");
    }

    #[test]
    fn what_no_snapshot_covers_is_needed() {
        let snapshot = snapshot(&[(Source::Journal(1), 1000)]);
        assert_eq!(snapshot.sparse(vec![file(1..5, 20_000, 11_000)]), []);
        assert_eq!(snapshot.sparse(vec![file(1..5, 20_000, 12_000)]).len(), 1);
    }

    #[test]
    fn merged_objects_with_the_same_numbers_are_other_files() {
        let snapshot = snapshot(&[(Source::Merged(2), 9000)]);
        assert_eq!(snapshot.sparse(vec![file(1..5, 10_000, 10_000)])[0].alive_bytes, 0);
    }
}
