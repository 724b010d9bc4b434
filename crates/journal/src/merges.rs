//! The merges of a journal: each has a number, which is never used again, and at most one is open.
//!
//! A merge begins with a control record, which gives it a number. Then its data is stored under this number. It ends
//! with another control record, which has the location of the data, or is abandoned. As every observer applies these
//! records in the same order, two merges never overlap, and the end of an abandoned one is refused by everybody alike.

use crate::refused::Refused;
use crate::rules::Rules;

/// Which merges there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Merges {
    /// The number of the newest; 0 if none has begun.
    begun: u64,
    /// Whether the newest has neither ended nor been abandoned.
    is_open: bool,
}

impl Merges {
    /// Merges as a snapshot has them, if they can be.
    pub(crate) fn new(begun: u64, open: u32) -> Option<Merges> {
        let is_sound = begun < u64::MAX >> 1 && (open == 0 || open == 1 && begun > 0);
        is_sound.then_some(Merges { begun, is_open: open == 1 })
    }

    /// The number of the newest merge; 0 if none has begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The merge that has begun and not ended.
    pub fn open(&self) -> Option<u64> {
        self.is_open.then_some(self.begun)
    }

    /// Whether a merge has ended or was abandoned. Nothing becomes part of its object from then on.
    pub fn is_closed(&self, merge: u64) -> bool {
        merge <= self.begun && self.open() != Some(merge)
    }

    /// Takes the next number.
    pub(crate) fn begin(&mut self, merge: u64) -> Result<(), Refused> {
        if let Some(merge) = self.open() {
            return Err(Refused::MergeOpen { merge });
        }
        if merge != self.begun + 1 {
            return Err(Refused::MergeNumber { expected: self.begun + 1, found: merge });
        }
        (self.begun, self.is_open) = (merge, true);
        Ok(())
    }

    /// Ends the open merge, or abandons it.
    pub(crate) fn close(&mut self, merge: u64, rules: Rules) -> Result<(), Refused> {
        if self.open() == Some(merge) {
            self.is_open = false;
            return Ok(());
        }
        if rules.closed_merges() { Err(Refused::MergeClosed { merge }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_merge_is_open_and_numbers_are_never_used_again() {
        let mut merges = Merges::default();
        let rules = Rules::default();
        assert_eq!((merges.open(), merges.is_closed(1)), (None, false));
        assert_eq!(merges.begin(2), Err(Refused::MergeNumber { expected: 1, found: 2 }));
        assert_eq!(merges.begin(1), Ok(()));
        assert_eq!((merges.open(), merges.is_closed(1)), (Some(1), false));
        assert_eq!(merges.begin(2), Err(Refused::MergeOpen { merge: 1 }));
        assert_eq!(merges.close(2, rules), Err(Refused::MergeClosed { merge: 2 }));
        assert_eq!(merges.close(1, rules), Ok(()));
        assert_eq!(merges.close(1, rules), Err(Refused::MergeClosed { merge: 1 }));
        assert_eq!((merges.open(), merges.is_closed(1), merges.is_closed(2)), (None, true, false));
        assert_eq!(merges.begin(1), Err(Refused::MergeNumber { expected: 2, found: 1 }));
    }
}
