//! What a snapshot needs: the objects with its records, added up piece by piece. A snapshot of a million partitions is
//! read for this without the memory of its state.

use crate::merge::{MergeLimits, Uses};
use crate::merges::Merges;
use crate::partition_id::PartitionId;
use crate::place::{Piece, Source};
use crate::snapshot::{PartEntry, SnapshotError, SnapshotRoot};
use crate::sparse::{SharedFile, SparseFile, SparseFiles};
use std::collections::BTreeSet;

/// See the file's first lines.
#[derive(Debug)]
pub struct Needed {
    /// Number of the object after those that the snapshot covers.
    pub(crate) next: u64,
    /// The merges up to there.
    pub(crate) merges: Merges,
    /// The objects that have its records.
    pub(crate) sources: BTreeSet<Source>,
    files: SparseFiles,
    /// The objects in separate files, if they may be merged.
    uses: Option<(Uses, MergeLimits)>,
}

impl Needed {
    /// No pieces yet. `files` are shared by journal objects, and in ascending order of their numbers; `merge` are the
    /// limits of merges, if there are any.
    pub(crate) fn new(next: u64, merges: Merges, files: Vec<SharedFile>, merge: Option<MergeLimits>) -> Needed {
        let uses = merge.map(|limits| (Uses::default(), limits));
        Needed { next, merges, sources: BTreeSet::new(), files: SparseFiles::new(files), uses }
    }

    /// That of a snapshot with this root, and of the part that may be in it. The others are added by
    /// [`Needed::read`].
    pub fn begin(
        root: &SnapshotRoot<'_>,
        files: Vec<SharedFile>,
        merge: Option<MergeLimits>,
    ) -> Result<Needed, SnapshotError> {
        let mut needed = Needed::new(root.next_number(), root.merges(), files, merge);
        if let Some((entry, bytes)) = root.inline_part() {
            needed.read(entry, bytes)?;
        }
        Ok(needed)
    }

    /// Adds the pieces of a part.
    pub fn read(&mut self, entry: &PartEntry, bytes: &[u8]) -> Result<(), SnapshotError> {
        let mut pieces = entry.pieces(bytes)?;
        while let Some((partition, piece)) = pieces.next()? {
            self.add(partition, &piece);
        }
        Ok(())
    }

    /// Adds a piece.
    pub(crate) fn add(&mut self, partition: PartitionId, piece: &Piece) {
        self.sources.insert(piece.place.source);
        self.files.add(piece);
        if let Some((uses, limits)) = &mut self.uses
            && !limits.is_shared(piece.place.source)
        {
            uses.add(partition, piece);
        }
    }

    /// Number of the object after those that the snapshot covers.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The objects that have its records.
    pub fn sources(&self) -> &BTreeSet<Source> {
        &self.sources
    }

    /// Those of the files of which less than half is needed.
    pub fn sparse(&self) -> Vec<SparseFile> {
        self.files.sparse()
    }

    /// Whether there are objects in separate files that are merged because most of their bytes are dead.
    pub fn has_dead(&self) -> bool {
        self.uses.as_ref().is_some_and(|(uses, limits)| uses.have_dead(limits))
    }
}
