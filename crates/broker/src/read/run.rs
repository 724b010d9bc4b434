//! Takes pieces of journal objects that a read wants whole, many at a time: their batches are at hand, and how many
//! records they hold is known without their entries.

use super::VERIFY_INLINE_BYTES_MAX;
use super::answer::{Piece, ReadAnswer};
use super::take::Budget;
use crate::index::Found;
use crate::limits::READ_RUN_OBJECTS_MAX;
use crate::partition::Partition;
use crate::piece::Entries;
use crate::store::PiecePart;
use bytes::Bytes;
use rawline_journal::{BatchKind, Place};
use std::ops::Range;

/// Chooses consecutive pieces with batches of one kind, all of which are to be checked, or none.
struct Chooser {
    budget: Budget,
    /// The kind of the batches, once it is known.
    kind: Option<BatchKind>,
    verify: bool,
    objects_max: usize,
    checks: Option<bool>,
    checked_bytes: u64,
    /// Wanted whole.
    chosen: Vec<Found>,
}

impl Partition {
    /// Adds pieces from the answer's end on that are wanted whole, as far as the store has them at hand; of at most
    /// `objects_max` objects. Returns their number. The next piece has to be read by itself: it isn't at hand, it is
    /// damaged, or only a part of it is wanted.
    pub(super) fn read_run(
        &self,
        verify: bool,
        objects_max: usize,
        budget: &mut Budget,
        answer: &mut ReadAnswer,
    ) -> usize {
        let kind = (!answer.pieces.is_empty()).then_some(answer.kind);
        let mut chooser = Chooser::new(budget.clone(), verify, kind, objects_max);
        self.index().run(answer.end_offset).take_while(|found| chooser.takes(found)).for_each(drop);
        let Chooser { checks, kind, chosen, .. } = chooser;
        // Alone it costs as much by itself.
        if chosen.len() < 2 {
            return 0;
        }
        let places: Vec<Place> = chosen.iter().map(|found| *found.place()).collect();
        let batches = self.store().resident(&places, PiecePart::Batches);
        let intact = match checks {
            Some(true) => self.verify_run(&chosen, &places, &batches),
            _ => batches.len(),
        };
        // The read of the next object by itself reports it.
        if self.topic.stored.life.is_deleted() {
            return 0;
        }
        for (found, bytes) in chosen.iter().zip(batches).take(intact) {
            let Range { start: first_offset, end: next_offset } = found.offsets();
            let (place, end_offset) = (found.place(), answer.end_offset);
            assert_eq!(first_offset, end_offset, "a gap in a response before an object");
            let is_taken = budget.take_object(place, next_offset - first_offset);
            assert!(is_taken, "{place:?} was chosen within the limits of a read");
            answer.kind = kind.unwrap_or(answer.kind);
            answer.end_offset = next_offset;
            answer.pieces.push(Piece::Whole(bytes));
        }
        intact
    }

    /// Checks the checksums of these pieces. Returns the number of intact ones before a damaged one.
    fn verify_run(&self, chosen: &[Found], places: &[Place], batches: &[Bytes]) -> usize {
        let entries = self.store().resident(places, PiecePart::Entries);
        let is_intact = |((found, entries), batches): &((&Found, Bytes), &Bytes)| {
            let entries = Entries::check(found.offsets(), found.place(), entries.clone());
            entries.and_then(|entries| entries.verify(batches)).is_ok()
        };
        let intact = chosen.iter().zip(entries).zip(batches).take_while(is_intact).count();
        if let Some(mappings) = self.store().mappings() {
            batches.iter().take(intact).for_each(|batches| mappings.touched(batches));
        }
        let mut unverified = chosen.iter().take(intact).filter(|found| !found.verified).peekable();
        if unverified.peek().is_some() {
            let mut index = self.index_mut();
            unverified.for_each(|found| index.set_verified(&found.piece));
        }
        intact
    }
}

impl Chooser {
    /// `verify` if all pieces are to be checked, `kind` if only one kind of batch is wanted.
    fn new(budget: Budget, verify: bool, kind: Option<BatchKind>, objects_max: usize) -> Chooser {
        let objects_max = objects_max.min(READ_RUN_OBJECTS_MAX);
        Chooser { budget, kind, verify, objects_max, checks: None, checked_bytes: 0, chosen: Vec::new() }
    }

    /// Takes the piece if it belongs to the run.
    fn takes(&mut self, found: &Found) -> bool {
        let place = found.place();
        let checks = self.verify || !found.verified;
        if checks {
            self.checked_bytes += u64::from(place.bytes);
        }
        let Some(kind) = place.batches.kind() else { return false };
        let is_wanted = self.chosen.len() < self.objects_max
            && *self.kind.get_or_insert(kind) == kind
            && *self.checks.get_or_insert(checks) == checks
            && self.checked_bytes <= VERIFY_INLINE_BYTES_MAX
            && self.budget.reaches(found.next_offset)
            && self.budget.take_object(place, found.next_offset - found.piece.first_offset);
        if is_wanted {
            self.chosen.push(*found);
        }
        is_wanted
    }
}
