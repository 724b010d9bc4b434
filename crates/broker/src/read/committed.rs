//! What readers of committed records see of transactions: no markers, and no records of aborted transactions. In the
//! place of such batches they get one without records, as where a compaction has removed them.

use super::answer::{Piece, ReadAnswer};
use crate::transactions::AbortedRecords;
use bytes::Bytes;
use rawline_batch::Limits;
use rawline_batch::record_batch::{
    OFFSETS_MAX, RecordBatchError, RecordBatchHeader, STAMPED_BYTES, stamp, without_records,
};
use std::ops::Range;

/// Replaces batches of Kafka's that have no committed record.
pub(super) fn leave_out(answer: &mut ReadAnswer, aborted: &AbortedRecords) -> Result<(), RecordBatchError> {
    let mut left = LeftOut { pieces: Vec::with_capacity(answer.pieces.len()), gap: 0..0 };
    for piece in std::mem::take(&mut answer.pieces) {
        let Piece::Whole(bytes) = piece else { unreachable!("a part of one of Kafka's batches") };
        let (mut start, mut at) = (0, 0);
        while let Some(front) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let header = RecordBatchHeader::parse_stored(front, &Limits::FORMAT)?;
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
