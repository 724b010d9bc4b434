//! Objects that are missing in a journal's folder: they existed, and no rule deleted them.
//!
//! A number that is missing is usually the journal's end. It is a hole if an object after it shows that it existed:
//! [`Link::certain_before`](crate::Link::certain_before). Up to seven objects may follow an end that a crash has left,
//! because a writer has several PUTs in flight.

use crate::garbage::Listing;
use crate::limits::PUTS_IN_FLIGHT_MAX;
use crate::place::Source;
use std::collections::BTreeSet;
use std::ops::Range;

/// Objects that are missing: numbers from the first to after the last, of which none is in the folder. Some of them may
/// be needed by no snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// Journal objects.
    pub objects: Vec<Range<u64>>,
    /// Merged objects.
    pub merged: Vec<Range<u64>>,
}

impl Missing {
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.merged.is_empty()
    }

    /// The first object of each range.
    pub fn firsts(&self) -> impl Iterator<Item = Source> {
        let objects = self.objects.iter().map(|range| Source::Journal(range.start));
        objects.chain(self.merged.iter().map(|range| Source::Merged(range.start)))
    }

    /// Leaves out objects that an operator has given up, and returns them.
    pub fn without_given_up(&mut self, listing: &Listing) -> Missing {
        let is_given_up = |is_merged: bool, present: BTreeSet<u64>| {
            let marks: BTreeSet<u64> = listing
                .given_up
                .iter()
                .filter(|mark| mark.is_merged() == is_merged)
                .map(|source| source.number())
                .collect();
            // Of objects that were given up together, the first may not be needed any more.
            move |range: &Range<u64>| {
                let mark = marks.range(..=range.start).next_back();
                mark.is_some_and(|mark| present.range(mark..&range.start).next().is_none())
            }
        };
        let objects = is_given_up(false, listing.objects.iter().map(|key| key.number).collect());
        let merged = is_given_up(true, listing.merged.iter().map(|key| key.number).collect());
        let take = |ranges: &mut Vec<Range<u64>>, is: &dyn Fn(&Range<u64>) -> bool| {
            let (given_up, left) = std::mem::take(ranges).into_iter().partition(is);
            *ranges = left;
            given_up
        };
        Missing { objects: take(&mut self.objects, &objects), merged: take(&mut self.merged, &merged) }
    }
}

impl Listing {
    /// Journal objects from `from` on that existed, and are missing: all before `next` existed, and so did what the
    /// listed ones after it show, even if all that can be in flight was.
    pub fn holes(&self, from: u64, next: u64) -> Vec<Range<u64>> {
        let present = self.numbers(from);
        let newest = present.iter().next_back().map_or(0, |newest| newest + 1);
        self.holes_before(from, next.max(newest.saturating_sub(PUTS_IN_FLIGHT_MAX as u64)))
    }

    /// Journal objects from `from` on that are missing before `end`.
    fn holes_before(&self, from: u64, end: u64) -> Vec<Range<u64>> {
        let (mut holes, mut expected) = (Vec::new(), from);
        for number in self.numbers(from).into_iter().take_while(|number| *number < end).chain([end]) {
            if number > expected {
                holes.push(expected..number);
            }
            expected = expected.max(number + 1);
        }
        holes
    }

    /// The newest journal objects after an end that may be one, as many as can be in flight: what else their links show
    /// their numbers show too.
    pub fn newest_after(&self, end: u64) -> Vec<u64> {
        self.numbers(end + 1).into_iter().rev().take(PUTS_IN_FLIGHT_MAX).collect()
    }

    /// Which of these objects are missing.
    pub fn lacks(&self, sources: &BTreeSet<Source>) -> Missing {
        let merged: BTreeSet<u64> = self.merged.iter().map(|key| key.number).collect();
        let (needed_merged, needed): (Vec<Source>, Vec<Source>) = sources.iter().partition(|source| source.is_merged());
        let objects = ranges(needed.iter().map(|source| source.number()), &self.numbers(0));
        Missing { objects, merged: ranges(needed_merged.iter().map(|source| source.number()), &merged) }
    }

    fn numbers(&self, from: u64) -> BTreeSet<u64> {
        self.objects.iter().map(|key| key.number).filter(|number| *number >= from).collect()
    }
}

/// The needed numbers, in ascending order, that aren't present. Those with no present one between them are one range.
fn ranges(needed: impl Iterator<Item = u64>, present: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for number in needed.filter(|number| !present.contains(number)) {
        match ranges.last_mut().filter(|last| present.range(last.end..number).next().is_none()) {
            Some(last) => last.end = number + 1,
            None => ranges.push(number..number + 1),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::Key;

    fn listing(objects: &[u64], merged: &[u64], given_up: &[Source]) -> Listing {
        let keys = |numbers: &[u64]| numbers.iter().map(|number| Key { number: *number, created: 0 }).collect();
        Listing { objects: keys(objects), merged: keys(merged), given_up: given_up.to_vec(), ..Listing::default() }
    }

    /// The beginnings and ends of the holes.
    fn holes(objects: &[u64], from: u64, next: u64) -> Vec<(u64, u64)> {
        let holes = listing(objects, &[], &[]).holes(from, next);
        holes.into_iter().map(|hole| (hole.start, hole.end)).collect()
    }

    #[test]
    fn a_crash_leaves_up_to_seven_objects_after_the_end_and_no_more() {
        let after = |objects: &[u64]| holes(objects, 5, 5);
        assert_eq!(after(&[3, 4]), []);
        assert_eq!(after(&[4, 6, 8, 12]), [], "it depends on their links");
        assert_eq!(listing(&[4, 6, 8, 12], &[], &[]).newest_after(5), [12, 8, 6]);
        assert_eq!(after(&[4, 13]), [(5, 6)], "no writer has nine objects in flight");
        assert_eq!(after(&[4, 6, 7, 20]), [(5, 6), (8, 13)]);
    }

    #[test]
    fn what_is_certain_must_be_there() {
        assert_eq!(holes(&[4, 6], 4, 7), [(5, 6)]);
        assert_eq!(holes(&[], 4, 7), [(4, 7)]);
        assert_eq!(holes(&[4, 5, 6, 7], 4, 7), []);
        assert_eq!(holes(&[4, 5, 7], 4, 8), [(6, 7)]);
    }

    #[test]
    fn what_a_snapshot_refers_to_must_be_there_unless_it_is_given_up() {
        use Source::{Journal, Merged};
        let needed = [Journal(2), Journal(4), Journal(9), Merged(1), Merged(3)].into();
        let mut missing = listing(&[7], &[1], &[]).lacks(&needed);
        assert_eq!((&*missing.objects, missing.merged.first()), (&[2..5, 9..10][..], Some(&(3..4))));
        assert_eq!(missing.firsts().collect::<Vec<_>>(), [Journal(2), Journal(9), Merged(3)]);
        let given_up = missing.without_given_up(&listing(&[7], &[1], &[Journal(1), Journal(8), Merged(1)]));
        assert_eq!(given_up, Missing { objects: vec![2..5, 9..10], merged: vec![] });
        assert!(missing.objects.is_empty());
        assert_eq!(missing.merged.first(), Some(&(3..4)), "another one was given up, and is there");
        assert!(listing(&[2, 4, 9], &[1, 3], &[]).lacks(&needed).is_empty());
    }
}
