//! What readers of committed records see of transactions: no markers, and no records of aborted transactions. In the
//! place of such batches they get one without records, as where a compaction has removed them.

use super::answer::{Piece, ReadAnswer};
use crate::aborted::AbortedRecords;
use crate::limits::READ_OBJECTS_MAX;
use bytes::Bytes;
use rawline_batch::Limits;
use rawline_batch::record_batch::{
    OFFSETS_MAX, RecordBatchError, RecordBatchHeader, STAMPED_BYTES, stamp, without_records,
};
use std::ops::Range;

/// Replaces batches of Kafka's that have no committed record. The answer ends early if it would have more pieces than
/// other reads: each takes memory outside the pool.
pub(super) fn leave_out(answer: &mut ReadAnswer, aborted: &AbortedRecords) -> Result<(), RecordBatchError> {
    let mut left = LeftOut { pieces: Vec::new(), gap: 0..0 };
    'all: for piece in std::mem::take(&mut answer.pieces) {
        let Piece::Whole(bytes) = piece else { unreachable!("a part of a Kafka batch") };
        let (mut start, mut at) = (0, 0);
        while let Some(front) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let header = RecordBatchHeader::parse_stored(front, &Limits::FORMAT)?;
            if left.pieces.len() >= READ_OBJECTS_MAX {
                // Only batches that are left out make pieces: none is kept since the last.
                assert_eq!(start, at, "bytes of a piece that are neither kept nor left out");
                answer.end_offset = header.base_offset as u64;
                break 'all;
            }
            let end = at + header.batch_bytes as usize;
            if header.is_control || aborted.have(&header) {
                left.keep(&bytes, start..at);
                let first_offset = header.base_offset as u64;
                left.skip(first_offset..first_offset + u64::from(header.offsets));
                start = end;
            }
            at = end;
        }
        assert_eq!(at, bytes.len(), "batches end at byte {at} of a piece of {}", bytes.len());
        left.keep(&bytes, start..at);
    }
    left.end_gap();
    answer.pieces = left.pieces;
    Ok(())
}

struct LeftOut {
    pieces: Vec<Piece>,
    /// Offsets that are left out after the pieces.
    gap: Range<u64>,
}

impl LeftOut {
    fn keep(&mut self, bytes: &Bytes, range: Range<usize>) {
        if !range.is_empty() {
            self.end_gap();
            self.pieces.push(Piece::Whole(bytes.slice(range)));
        }
    }

    fn skip(&mut self, offsets: Range<u64>) {
        if self.gap.is_empty() {
            self.gap = offsets;
        } else {
            assert_eq!(self.gap.end, offsets.start, "a gap between batches");
            self.gap.end = offsets.end;
        }
    }

    fn end_gap(&mut self) {
        while !self.gap.is_empty() {
            let offsets = (self.gap.end - self.gap.start).min(u64::from(OFFSETS_MAX));
            let mut batch = without_records(offsets as u32);
            let batch_bytes = batch.len() as u32;
            let (front, _) = batch.split_at_mut(STAMPED_BYTES);
            front.copy_from_slice(&stamp(self.gap.start, batch_bytes));
            self.pieces.push(Piece::Whole(Bytes::copy_from_slice(&batch)));
            self.gap.start += offsets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_batch::record_batch::{RecordBatchBuilder, RecordCodec, end_marker};
    use rawline_journal::BatchKind;

    #[test]
    fn an_answer_of_many_short_transactions_ends_early() {
        let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::FORMAT);
        builder.push(0, None, Some(b"value"), []).unwrap();
        let record = builder.finish(None).unwrap().to_vec();
        let marker = end_marker(1, 0, true, 0);
        let mut object = Vec::new();
        for (offset, batch) in (5..).zip([&record[..], &marker].repeat(2 * READ_OBJECTS_MAX)) {
            object.extend(stamp(offset, batch.len() as u32));
            object.extend(&batch[STAMPED_BYTES..]);
        }
        let end_offset = 5 + 4 * READ_OBJECTS_MAX as u64;
        let pieces = vec![Piece::Whole(object.into())];
        let mut answer =
            ReadAnswer { kind: BatchKind::Kafka, first_offset: 5, end_offset, next_offset: end_offset, pieces };
        leave_out(&mut answer, &AbortedRecords::new([].iter())).unwrap();
        let count = answer.pieces.len();
        assert!((READ_OBJECTS_MAX..READ_OBJECTS_MAX + 3).contains(&count), "{count} pieces");
        assert_eq!(answer.end_offset, 5 + count as u64, "a reader continues after the last batch");
    }
}
