//! Takes batches of an object for a read, within the read's limits.

use crate::limits::READ_BYTES_MAX;
use crate::object_error::ObjectError;
use crate::piece::{Described, data_bytes};
use crate::read::answer::{Piece, ReadAnswer, ReadRequest};
use crate::read::cut::{Cut, Cutter};
use bytes::Bytes;
use rawline_journal::{BatchKind, Place};
use std::ops::Range;

/// How much one read may still return. The limits are soft: at least one record is returned, and a compressed batch is
/// returned whole; so the rest stops at zero.
#[derive(Clone)]
pub(super) struct Budget {
    records: u64,
    /// Bytes of records.
    bytes: u64,
    /// Bytes of the response: bounds responses of many empty records.
    response_bytes: u64,
    is_fresh: bool,
    /// No batch from this offset on.
    end_offset: u64,
}

/// Batches that a read gets at once.
pub(super) struct Reached {
    /// Where they are among the piece's batches.
    pub range: Range<usize>,
    /// Size of the records after them that the read still wants, in bytes.
    pub wanted_bytes: u64,
}

/// Takes from the batches of one piece, which lie back to back in `bytes`, what the budget allows. The first holds the
/// record at the answer's end.
pub(super) fn take(
    cutter: &Cutter<'_>,
    batches: impl Iterator<Item = Described>,
    bytes: &Bytes,
    budget: &mut Budget,
    answer: &mut ReadAnswer,
) -> Result<(), ObjectError> {
    let wanted = answer.end_offset;
    let (mut whole, mut position, mut is_first) = (0..0, 0, true);
    for batch in batches {
        let range = position..position + batch.range().len();
        position = range.end;
        let (number, first_offset) = (batch.number, batch.first_offset);
        assert_eq!(is_first, wanted >= first_offset, "{wanted} is wanted, batch {number} begins at {first_offset}");
        if is_first && answer.pieces.is_empty() {
            answer.kind = batch.kind();
        } else if batch.kind() != answer.kind || first_offset >= budget.end_offset {
            budget.end();
            break;
        }
        let from = if is_first { (wanted - first_offset) as u32 } else { 0 };
        let taken = match budget.take(|| bytes.slice(range.clone()), batch, from, cutter) {
            Ok(Taken::Nothing) => break,
            Ok(taken) => taken,
            Err(error) if is_first => return Err(error),
            Err(_) => {
                // The read that begins at this batch reports the damage.
                budget.end();
                break;
            }
        };
        let cut = match &taken {
            Taken::Slice { records, .. } => records.clone(),
            _ => 0..batch.records(),
        };
        let (begins, ends) = (first_offset + u64::from(cut.start), first_offset + u64::from(cut.end));
        let end_offset = answer.end_offset;
        if answer.pieces.is_empty() && whole.is_empty() {
            assert!(begins <= end_offset, "records from {begins} on for offset {end_offset}");
            answer.first_offset = begins;
        } else {
            assert_eq!(begins, end_offset, "a gap in a response after batch {number} of an object");
        }
        assert!(ends > end_offset, "records up to {ends} after {end_offset}");
        is_first = false;
        answer.end_offset = ends;
        if let Taken::Slice { records, cut } = taken {
            push_whole(answer, bytes, &mut whole);
            answer.pieces.push(Piece::Slice { batch: bytes.slice(range), records, cut: Box::new(cut) });
        } else {
            whole = if whole.is_empty() { range } else { whole.start..range.end };
        }
        if budget.is_used_up() {
            break;
        }
    }
    push_whole(answer, bytes, &mut whole);
    Ok(())
}

fn push_whole(answer: &mut ReadAnswer, bytes: &Bytes, whole: &mut Range<usize>) {
    if whole.start < whole.end {
        answer.pieces.push(Piece::Whole(bytes.slice(whole.clone())));
        *whole = 0..0;
    }
}

impl Budget {
    /// The limits of a request, for the batches below an offset. None that is wanted reaches beyond it.
    pub fn new(request: &ReadRequest, end_offset: u64) -> Self {
        let or_unlimited = |limit: u64| if limit == 0 { u64::MAX } else { limit };
        Budget {
            records: or_unlimited(request.records_max),
            bytes: or_unlimited(request.bytes_max),
            response_bytes: READ_BYTES_MAX,
            is_fresh: true,
            end_offset,
        }
    }

    pub fn is_used_up(&self) -> bool {
        self.records == 0 || self.bytes == 0 || self.response_bytes == 0
    }

    /// Whether all records of an object that ends at this offset may be taken.
    pub fn reaches(&self, next_offset: u64) -> bool {
        next_offset <= self.end_offset
    }

    /// Bytes of records that may still be taken.
    pub fn bytes_left(&self) -> u64 {
        self.bytes.min(self.response_bytes)
    }

    /// Takes no more.
    pub fn end(&mut self) {
        self.bytes = 0;
    }

    /// Those of these batches that the budget can reach, at least one, and as few as have `bytes_max` bytes; `offset`
    /// is in the first. `None` of no batches.
    pub fn reach(&self, batches: impl Iterator<Item = Described>, offset: u64, bytes_max: u64) -> Option<Reached> {
        let (mut bytes, mut next_offset, bytes_max) = (0, offset, bytes_max.min(self.bytes_left()));
        let mut reached: Option<Range<usize>> = None;
        for batch in batches {
            let begins_at = match &reached {
                None => batch.range().start,
                Some(_) if batch.first_offset - offset >= self.records || bytes >= bytes_max => break,
                Some(reached) => reached.start,
            };
            bytes += batch.data_bytes();
            next_offset = batch.next_offset();
            reached = Some(begins_at..batch.range().end);
        }
        let is_all = next_offset - offset >= self.records || next_offset >= self.end_offset;
        let wanted_bytes = if is_all { 0 } else { self.bytes_left().saturating_sub(bytes) };
        reached.map(|range| Reached { range, wanted_bytes })
    }

    /// All batches of a piece of `records` records, if they fit and have at most `bytes_max` bytes. Needs no entries.
    pub fn reach_all(&self, place: &Place, records: u64, next_offset: u64, bytes_max: u64) -> Option<Reached> {
        let bytes = u64::from(place.bytes);
        let fits = records <= self.records && bytes <= bytes_max.min(self.bytes_left());
        let is_wanted = fits && self.reaches(next_offset);
        let is_last = records >= self.records || next_offset >= self.end_offset;
        let wanted_bytes = if is_last { 0 } else { self.bytes_left().saturating_sub(bytes) };
        is_wanted.then_some(Reached { range: 0..bytes as usize, wanted_bytes })
    }

    /// Takes all batches of a piece of `records` records, if they fit.
    pub fn take_object(&mut self, place: &Place, records: u64) -> bool {
        let (batch_bytes, batches) = (u64::from(place.bytes), u64::from(place.batches.count()));
        // Batches of two kinds are not taken here.
        let Some(kind) = place.batches.kind() else { return false };
        let Some(data_bytes) = data_bytes(kind, batch_bytes, batches, records) else { return false };
        let fits = !self.is_used_up() && records <= self.records && data_bytes <= self.bytes_left();
        if fits {
            self.charge(records, data_bytes, batch_bytes);
        }
        fits
    }

    /// Takes records of one batch from its record `from` on. A compressed batch is taken whole, and so is one of
    /// Kafka's. The batch is verified if only a part of it is taken, or if all bytes have to be.
    fn take(
        &mut self,
        bytes: impl Fn() -> Bytes,
        batch: Described,
        from: u32,
        cutter: &Cutter<'_>,
    ) -> Result<Taken, ObjectError> {
        assert!(from < batch.records(), "record {from} of a batch of {}", batch.records());
        let batch_bytes = batch.range().len() as u64;
        let (records, data_bytes) = (u64::from(batch.records()), batch.data_bytes());
        let is_wanted_whole = from == 0 && records <= self.records && data_bytes <= self.bytes_left();
        let verify = cutter.checksums.is_none();
        if is_wanted_whole {
            if verify {
                batch.verify(&bytes())?;
            }
            self.charge(records, data_bytes, batch_bytes);
            return Ok(Taken::Whole);
        }
        if batch.kind() == BatchKind::Kafka {
            if verify {
                batch.verify(&bytes())?;
            }
            return Ok(self.take_uncuttable(records - u64::from(from), data_bytes, batch_bytes));
        }
        let uncut = cutter.uncut(batch, bytes());
        let front = uncut.front()?;
        if verify && front.is_compressed() {
            batch.verify(uncut.whole())?;
        }
        let Some(sizes) = front.sizes().get(from as usize..) else { return Err(ObjectError::Header) };
        if front.is_compressed() {
            return Ok(self.take_uncuttable(sizes.len() as u64, data_bytes, batch_bytes));
        }
        let (mut count, mut bytes) = (0u32, 0u64);
        for size in sizes {
            let size = u64::from(size.get());
            let fits = bytes + size <= self.bytes_left() || (self.is_fresh && count == 0);
            if !fits || u64::from(count) >= self.records {
                break;
            }
            count += 1;
            bytes += size;
        }
        let is_soft = self.is_fresh && count == 1;
        assert!(is_soft || bytes <= self.bytes_left(), "{bytes} bytes are taken of {} left", self.bytes_left());
        let is_cut = (count as usize) < sizes.len();
        let taken = if count == 0 {
            Taken::Nothing
        } else if from == 0 && !is_cut {
            batch.verify(uncut.whole())?;
            Taken::Whole
        } else {
            let cut = uncut.cut(&front, from..from + count)?;
            assert_eq!(cut.data.len() as u64, bytes, "bytes of the records {from} to {} of a batch", from + count);
            assert_eq!(cut.sizes.len(), count as usize * 4, "sizes of {count} records from {from} on");
            Taken::Slice { records: from..from + count, cut }
        };
        self.charge(u64::from(count), bytes, bytes + u64::from(count) * 4);
        if is_cut {
            self.end();
        }
        Ok(taken)
    }

    /// Takes a batch that can only be had whole, for the sake of `records` of its records: if it fits, or if it is the
    /// first.
    fn take_uncuttable(&mut self, records: u64, bytes: u64, batch_bytes: u64) -> Taken {
        if !self.is_fresh && bytes > self.bytes_left() {
            self.end();
            return Taken::Nothing;
        }
        self.charge(records, bytes, batch_bytes);
        Taken::Whole
    }

    fn charge(&mut self, records: u64, bytes: u64, response_bytes: u64) {
        self.records = self.records.saturating_sub(records);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.response_bytes = self.response_bytes.saturating_sub(response_bytes);
        self.is_fresh &= records == 0;
    }
}

/// The part of a batch that is taken.
#[derive(Debug, PartialEq)]
enum Taken {
    /// Nothing: the next record doesn't fit.
    Nothing,
    /// The whole batch, as stored.
    Whole,
    /// Some records of an uncompressed batch.
    Slice { records: Range<u32>, cut: Cut },
}
