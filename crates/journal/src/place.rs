//! The locations of records: the object with a partition's piece, and the position in it.

use crate::object::{BatchKind, ENTRY_BYTES, HEADER_BYTES};
use crate::partition_id::PartitionId;
use std::ops::Range;

/// The bit of a number in a snapshot that marks a merged object.
const MERGED: u64 = 1 << 63;

/// An object that holds batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The journal object with this number.
    Journal(u64),
    /// The merged object with this number.
    Merged(u64),
}

impl Source {
    /// The object's number among those of its kind.
    pub fn number(self) -> u64 {
        match self {
            Source::Journal(number) | Source::Merged(number) => number,
        }
    }

    /// Whether it is a merged object.
    pub fn is_merged(self) -> bool {
        matches!(self, Source::Merged(_))
    }

    /// Both in one number, as snapshots have it.
    pub(crate) fn to_bits(self) -> u64 {
        let number = self.number();
        assert!(number < MERGED, "{self:?} has a number that no journal reaches");
        if self.is_merged() { number | MERGED } else { number }
    }

    pub(crate) fn from_bits(bits: u64) -> Source {
        if bits & MERGED == 0 { Source::Journal(bits) } else { Source::Merged(bits & !MERGED) }
    }
}

/// A partition's records in one object. They end where the partition's next piece begins, the last at the partition's
/// end. Records before the first piece are elsewhere, or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// Offset of the first record.
    pub first_offset: u64,
    /// When the broker built the object: microseconds since the Unix epoch. In a merged object, this time of the newest
    /// object that the piece is made of.
    pub appended_us: u64,
    /// Time of the newest record in microseconds since the Unix epoch: the producer's time in Kafka batches, the time
    /// of the append in others. 0 if no record has a time.
    pub newest_us: u64,
    /// The location of the records.
    pub place: Place,
}

/// The position of a partition's batches in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The object.
    pub source: Source,
    /// The [tag](crate::Id::tag) of the object's id.
    pub tag: u32,
    /// Size of the object in bytes.
    pub object_bytes: u32,
    /// Position of the first batch's entry in the object, in bytes.
    pub entries_at: u32,
    /// How many batches there are, and of which kind.
    pub batches: BatchCount,
    /// Position of the first batch in the object, in bytes.
    pub batches_at: u32,
    /// Size of the batches in bytes.
    pub bytes: u32,
}

/// The number of a piece's batches, and their kind: all that a reader needs without their entries.
///
/// One number where it is stored, which is the count itself if all batches are of [`BatchKind::Rawline`]. The highest
/// bit says that some are not, the second highest that none is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchCount(u32);

impl BatchCount {
    const SOME_KAFKA: u32 = 1 << 31;
    const ALL_KAFKA: u32 = 1 << 30 | BatchCount::SOME_KAFKA;

    /// The count of these batches.
    pub fn of(kinds: impl Iterator<Item = BatchKind>) -> BatchCount {
        let (mut count, mut kafka) = (0, 0);
        for kind in kinds {
            count += 1;
            kafka += u32::from(kind == BatchKind::Kafka);
        }
        assert!(count < BatchCount::ALL_KAFKA - BatchCount::SOME_KAFKA, "{count} batches in one piece");
        let kinds = if kafka == 0 {
            0
        } else if kafka == count {
            BatchCount::ALL_KAFKA
        } else {
            BatchCount::SOME_KAFKA
        };
        BatchCount(count | kinds)
    }

    /// Number of batches.
    pub fn count(self) -> u32 {
        self.0 & !BatchCount::ALL_KAFKA
    }

    /// Their kind; `None` if they are of both.
    pub fn kind(self) -> Option<BatchKind> {
        match self.0 & BatchCount::ALL_KAFKA {
            0 => Some(BatchKind::Rawline),
            BatchCount::ALL_KAFKA => Some(BatchKind::Kafka),
            _ => None,
        }
    }

    /// Both in one number, as stored.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> BatchCount {
        BatchCount(bits)
    }

    /// Whether batches could have it: there are some, and of both kinds only if there are two.
    fn is_sound(self) -> bool {
        let kinds = self.0 & BatchCount::ALL_KAFKA;
        let is_known = kinds == 0 || kinds & BatchCount::SOME_KAFKA != 0;
        is_known && self.count() >= if self.kind().is_none() { 2 } else { 1 }
    }
}

/// A piece of a merged object, as the control record that ends a merge lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MergedPiece {
    /// The partition of the records.
    pub partition: PartitionId,
    /// The piece.
    pub piece: Piece,
    /// Offset after its last record.
    pub next_offset: u64,
}

impl Place {
    /// The bytes of the object that hold the batches' entries, for [`Batch::read_all`](crate::Batch::read_all).
    pub fn entries(&self) -> Range<u64> {
        let start = u64::from(self.entries_at);
        start..start + u64::from(self.batches.count()) * ENTRY_BYTES as u64
    }

    /// The bytes of the object that are the batches.
    pub fn batches(&self) -> Range<u64> {
        let start = u64::from(self.batches_at);
        start..start + u64::from(self.bytes)
    }

    /// Whether an object could have this place.
    pub(crate) fn is_sound(&self) -> bool {
        let (entries, batches) = (self.entries(), self.batches());
        let is_in_order = HEADER_BYTES as u64 <= entries.start && entries.end <= batches.start;
        let is_inside = batches.end <= u64::from(self.object_bytes);
        let has_number = (1..MERGED).contains(&self.source.number());
        has_number && self.batches.is_sound() && !batches.is_empty() && is_in_order && is_inside
    }
}

/// Whether the pieces of a merged object are plausible: of one object, in order, without empty or duplicate ones.
pub(crate) fn are_sound(merge: u64, pieces: &[MergedPiece]) -> bool {
    let Some(first) = pieces.first() else { return false };
    let (tag, object_bytes) = (first.piece.place.tag, first.piece.place.object_bytes);
    let is_sound = |merged: &MergedPiece| {
        let Piece { first_offset, place, .. } = merged.piece;
        let is_here = place.source == Source::Merged(merge) && (place.tag, place.object_bytes) == (tag, object_bytes);
        is_here && place.is_sound() && first_offset < merged.next_offset
    };
    let follows = |one: &MergedPiece, next: &MergedPiece| {
        one.partition < next.partition || one.partition == next.partition && one.next_offset <= next.piece.first_offset
    };
    pieces.iter().all(is_sound) && pieces.is_sorted_by(follows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use BatchKind::{Kafka, Rawline};

    #[test]
    fn a_count_knows_the_kind_of_its_batches() {
        for (kinds, kind, bits) in [
            (&[Rawline][..], Some(Rawline), 1),
            (&[Rawline; 5], Some(Rawline), 5),
            (&[Kafka; 3], Some(Kafka), 0xc000_0003),
            (&[Rawline, Kafka, Rawline], None, 0x8000_0003),
        ] {
            let count = BatchCount::of(kinds.iter().copied());
            assert_eq!((count.count() as usize, count.kind()), (kinds.len(), kind));
            assert_eq!(count.to_bits(), bits);
            assert_eq!(BatchCount::from_bits(bits), count);
            assert!(count.is_sound(), "{kinds:?}");
        }
    }

    #[test]
    fn counts_that_no_batches_have_are_not_sound() {
        for bits in [0, 0x4000_0001, 0x8000_0001, 0xc000_0000] {
            assert!(!BatchCount::from_bits(bits).is_sound(), "{bits:08x}");
        }
    }
}
