//! Where the records of each partition are: the pieces of the journal's certain objects.

use rawline_journal::{Control, Index, PartitionId, Piece, Snapshot, State};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A partition's records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Extent {
    first_offset: u64,
    next_offset: u64,
    pieces: Vec<Piece>,
}

/// Where everything is that the journal's certain objects have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Catalog {
    partitions: BTreeMap<PartitionId, Extent>,
}

impl Catalog {
    /// What a snapshot says.
    pub fn of(snapshot: Snapshot) -> Catalog {
        let Snapshot { state, pieces } = snapshot;
        let extent = |(id, pieces): (PartitionId, Vec<Piece>)| {
            let (first_offset, next_offset) = (state.first_offset(id), state.next_offset(id));
            (id, Extent { first_offset, next_offset, pieces })
        };
        Catalog { partitions: pieces.into_iter().map(extent).collect() }
    }

    /// Adds a certain object.
    pub fn publish(&mut self, index: &Index) {
        for control in index.controls() {
            match control {
                Control::Delete { topic } => self.partitions.retain(|id, _| id.topic != *topic),
                Control::Trim { partition, first_offset } => {
                    if let Some(extent) = self.partitions.get_mut(partition) {
                        extent.trim(*first_offset);
                    }
                }
                Control::Create { .. } | Control::Alter { .. } => {}
            }
        }
        for (section, batches) in index.sections() {
            let records: u64 = batches.iter().map(|(batch, _)| u64::from(batch.records)).sum();
            let bytes = batches.iter().map(|(batch, _)| u64::from(batch.bytes)).sum();
            let (number, appended_us) = (index.header.link.number, index.header.appended_us);
            let extent = self.partitions.entry(section.partition).or_default();
            let first_offset = section.first_offset;
            if !extent.pieces.is_empty() {
                assert_eq!(extent.next_offset, first_offset, "{section:?} of object {number} leaves a gap");
            }
            extent.pieces.push(Piece { first_offset, number, appended_us, bytes });
            extent.next_offset = first_offset + records;
        }
    }

    /// The offsets of a partition's records.
    pub fn offsets(&self, partition: PartitionId) -> Range<u64> {
        self.partitions.get(&partition).map_or(0..0, |extent| extent.first_offset..extent.next_offset)
    }

    /// The piece that holds a record, and the offset after its last.
    pub fn find(&self, partition: PartitionId, offset: u64) -> Option<(Piece, u64)> {
        let extent = self.partitions.get(&partition)?;
        if offset < extent.first_offset || offset >= extent.next_offset {
            return None;
        }
        let after = extent.pieces.partition_point(|piece| piece.first_offset <= offset);
        let piece = extent.pieces.get(after.checked_sub(1)?)?;
        let next_offset = extent.pieces.get(after).map_or(extent.next_offset, |next| next.first_offset);
        Some((*piece, next_offset))
    }

    /// The numbers of the objects that hold a piece.
    pub fn live(&self) -> BTreeSet<u64> {
        self.partitions.values().flat_map(|extent| &extent.pieces).map(|piece| piece.number).collect()
    }

    /// The pieces of all partitions, for a snapshot of `state`.
    pub fn pieces(&self, state: &State) -> BTreeMap<PartitionId, Vec<Piece>> {
        let check = |id: PartitionId, extent: &Extent| {
            let (expected, found) = (state.next_offset(id), extent.next_offset);
            assert_eq!(found, expected, "the catalog and the rules disagree on the end of {id:?}");
        };
        let checked = self.partitions.iter().inspect(|(id, extent)| check(**id, extent));
        checked.map(|(id, extent)| (*id, extent.pieces.clone())).collect()
    }
}

impl Extent {
    fn trim(&mut self, first_offset: u64) {
        assert!(first_offset <= self.next_offset, "trimmed to {first_offset} of {}", self.next_offset);
        self.first_offset = self.first_offset.max(first_offset);
        // A piece ends where the next one begins. The last stays, because it says where the partition goes on.
        let begun = self.pieces.partition_point(|piece| piece.first_offset <= self.first_offset);
        self.pieces.drain(..begun.saturating_sub(1));
    }
}
