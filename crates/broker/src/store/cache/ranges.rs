//! A set of bytes: ranges in order, none of which touches the next.

use std::ops::Range;

/// Ranges in order, none of which touches the next.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    pub fn add(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        // Those that it overlaps or touches become one with it.
        let first = self.0.partition_point(|other| other.end < range.start);
        let after = self.0.partition_point(|other| other.start <= range.end);
        let Some(touched) = self.0.get(first..after) else { unreachable!("ranges {first} to {after}: {self:?}") };
        let start = touched.first().map_or(range.start, |other| other.start.min(range.start));
        let end = touched.last().map_or(range.end, |other| other.end.max(range.end));
        let joined = start..end;
        self.0.splice(first..after, [joined]);
    }

    /// Whether all of these bytes are in the set.
    pub fn contains(&self, range: &Range<u64>) -> bool {
        let next = self.0.partition_point(|other| other.end < range.end);
        range.is_empty() || self.0.get(next).is_some_and(|other| other.start <= range.start)
    }

    /// The parts of these bytes that are not in the set, in order.
    pub fn missing(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let (mut missing, mut at) = (Vec::new(), range.start);
        let first = self.0.partition_point(|other| other.end <= range.start);
        for other in self.0.iter().skip(first).take_while(|other| other.start < range.end) {
            if at < other.start {
                missing.push(at..other.start);
            }
            at = other.end;
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }

    /// Number of bytes in the set.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_a_set_of_bytes() {
        const END: u64 = 64;
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..300 {
            let (mut ranges, mut set) = (Ranges::default(), [false; END as usize]);
            for _ in 0..random.usize(0..12) {
                let start = random.u64(0..END);
                let range = start..random.u64(start..=END).min(start + 9);
                ranges.add(&range);
                range.for_each(|byte| set[byte as usize] = true);
                assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
            }
            assert_eq!(ranges.bytes(), set.iter().filter(|is_in| **is_in).count() as u64);
            for (start, end) in (0..=END).flat_map(|start| (start..=END).map(move |end| (start, end))) {
                let missing: Vec<u64> = ranges.missing(&(start..end)).into_iter().flatten().collect();
                let expected: Vec<u64> = (start..end).filter(|byte| !set[*byte as usize]).collect();
                assert_eq!(missing, expected, "{start}..{end} of {ranges:?}");
                assert_eq!(ranges.contains(&(start..end)), expected.is_empty(), "{start}..{end} of {ranges:?}");
            }
        }
    }
}
