//! What is to be copied of a journal: the records that the copy doesn't have. Offsets never change, so a range of them
//! has the same records wherever it is stored.

use crate::journal::copy::Wanted;
use crate::journal::stored::StoredJournal;
use crate::store::Store;
use crate::store_error::StoreError;
use rawline_journal::{Batch, PartitionId, Piece};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pieces by partition and first offset, with the offset after their last record.
pub(super) type Pieces = BTreeMap<PartitionId, BTreeMap<u64, (Piece, u64)>>;

/// A piece of the source, and the ranges of its offsets to copy: in order, each of whole appends.
pub(super) struct Part {
    pub wanted: Wanted,
    pub ranges: Vec<Range<u64>>,
}

/// What to copy, after which the pieces in `have` are all that a snapshot of the source needs. Leaves out of `have`
/// what it doesn't.
pub(super) async fn plan(store: &dyn Store, view: &StoredJournal, have: &mut Pieces) -> Result<Vec<Part>, StoreError> {
    let mut parts = Vec::new();
    let wanted = view.pieces();
    let needed: BTreeMap<PartitionId, Range<u64>> =
        view.state.partitions().map(|(id, offsets, _)| (id, offsets)).collect();
    have.retain(|id, _| needed.contains_key(id));
    for of_partition in wanted.chunk_by(|(one, ..), (next, ..)| one == next) {
        let Some((id, ..)) = of_partition.first() else { continue };
        let Some(offsets) = needed.get(id) else { unreachable!("pieces of {id:?}, which never had a record") };
        let own = have.entry(*id).or_default();
        own.retain(|_, (_, end)| *end > offsets.start);
        let mut missing = missing(of_partition, own);
        if !can_be_cut(store, &missing).await? {
            // The source was compacted: its batches begin at other offsets now.
            own.clear();
            missing = self::missing(of_partition, own);
        }
        parts.extend(missing);
    }
    have.retain(|id, _| needed.get(id).is_some_and(|offsets| !offsets.is_empty()));
    Ok(parts)
}

/// The parts of a partition's pieces that aren't among its own.
fn missing(of_partition: &[Wanted], own: &BTreeMap<u64, (Piece, u64)>) -> Vec<Part> {
    let mut parts = Vec::new();
    for wanted in of_partition {
        let (_, piece, end) = *wanted;
        let (mut ranges, mut from) = (Vec::new(), piece.first_offset);
        // The piece before may reach into this one.
        let before = own.range(..from).next_back().map(|(_, (_, end))| *end);
        from = from.max(before.unwrap_or(from));
        for (begin, (_, until)) in own.range(piece.first_offset..end) {
            if *begin > from {
                ranges.push(from..*begin);
            }
            from = from.max(*until);
        }
        if from < end {
            ranges.push(from..end);
        }
        if !ranges.is_empty() {
            parts.push(Part { wanted: *wanted, ranges });
        }
    }
    parts
}

/// Whether all ranges begin and end between the appends of their piece.
async fn can_be_cut(store: &dyn Store, parts: &[Part]) -> Result<bool, StoreError> {
    for Part { wanted: (_, piece, end), ranges } in parts {
        if let [whole] = &ranges[..]
            && *whole == (piece.first_offset..*end)
        {
            continue;
        }
        let Ok(batches) = Batch::read_all(&store.entries(piece.place).await?) else { return Ok(false) };
        let begins: Vec<u64> = begins(piece.first_offset, &batches).collect();
        let is_begin = |offset: &u64| *offset == *end || begins.binary_search(offset).is_ok();
        if !ranges.iter().all(|range| is_begin(&range.start) && is_begin(&range.end)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The offsets at which appends begin.
fn begins(first_offset: u64, batches: &[Batch]) -> impl Iterator<Item = u64> {
    let offsets = batches.iter().scan(first_offset, |next, batch| {
        let offset = *next;
        *next += u64::from(batch.records);
        Some((offset, batch))
    });
    offsets.filter(|(_, batch)| !batch.continues).map(|(offset, _)| offset)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // Ranges are what is tested.
mod tests {
    use super::*;
    use rawline_journal::{BatchCount, BatchKind, Place, Source};

    fn piece(offsets: Range<u64>) -> (Piece, u64) {
        let batches = BatchCount::of(std::iter::once(BatchKind::Rawline));
        let source = Source::Merged(1);
        let place = Place { source, tag: 0, object_bytes: 216, entries_at: 104, batches, batches_at: 144, bytes: 72 };
        (Piece { first_offset: offsets.start, appended_us: 0, newest_us: 0, place }, offsets.end)
    }

    fn ranges(source: &[Range<u64>], own: &[Range<u64>]) -> Vec<Range<u64>> {
        let id = PartitionId { topic: 1, number: 0 };
        let source: Vec<Wanted> = source.iter().cloned().map(piece).map(|(piece, end)| (id, piece, end)).collect();
        let own = own.iter().cloned().map(|range| (range.start, piece(range))).collect();
        missing(&source, &own).into_iter().flat_map(|part| part.ranges).collect()
    }

    #[test]
    fn what_is_there_is_not_copied_however_it_is_divided() {
        assert_eq!(ranges(&[0..10, 10..30], &[]), [0..10, 10..30]);
        assert_eq!(ranges(&[0..10, 10..30], &[0..10]), [10..30]);
        assert_eq!(ranges(&[0..30], &[0..10]), [10..30]);
        assert_eq!(ranges(&[0..30, 30..40], &[0..5, 5..30, 30..40]), []);
        assert_eq!(ranges(&[10..20, 20..40], &[0..15, 25..30]), [15..20, 20..25, 30..40]);
        assert_eq!(ranges(&[10..20], &[0..40]), []);
        assert_eq!(ranges(&[10..20], &[0..10, 20..30]), [10..20]);
    }
}
