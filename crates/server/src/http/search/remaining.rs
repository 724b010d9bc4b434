//! The ranges of offsets that a search hasn't looked through yet, and their text: the cursor at which the next request
//! continues.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The direction of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    OldestFirst,
    NewestFirst,
}

/// The ranges that are left, of which the first one is next. Partitions take turns, so that matches come roughly in the
/// order of their times. No range is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remaining {
    pub order: Order,
    ranges: VecDeque<(u32, Range<u64>)>,
}

impl Remaining {
    pub fn new(order: Order, ranges: impl IntoIterator<Item = (u32, Range<u64>)>) -> Remaining {
        Remaining { order, ranges: ranges.into_iter().filter(|(_, range)| !range.is_empty()).collect() }
    }

    /// The next partition, and its next window of at most this many offsets.
    pub fn window(&self, offsets_max: u64) -> Option<(u32, Range<u64>)> {
        let (partition, Range { start, end }) = self.ranges.front()?.clone();
        let window = match self.order {
            Order::OldestFirst => start..end.min(start.saturating_add(offsets_max)),
            Order::NewestFirst => start.max(end.saturating_sub(offsets_max))..end,
        };
        Some((partition, window))
    }

    /// Removes the offsets of the next window that were looked through; the next partition is next.
    pub fn passed(&mut self, passed: &Range<u64>) {
        let Some((partition, range)) = self.ranges.pop_front() else { unreachable!("no window was left: {passed:?}") };
        let left = match self.order {
            Order::OldestFirst => passed.end..range.end,
            Order::NewestFirst => range.start..passed.start,
        };
        assert!(left.end - left.start.min(left.end) < range.end - range.start, "{passed:?} of {range:?}");
        if !left.is_empty() {
            self.ranges.push_back((partition, left));
        }
    }

    /// The number of offsets that are left.
    pub fn offsets(&self) -> u64 {
        self.ranges.iter().map(|(_, range)| range.end - range.start).sum()
    }

    /// The ranges that are left.
    pub fn ranges(&self) -> impl Iterator<Item = &(u32, Range<u64>)> {
        self.ranges.iter()
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

impl fmt::Display for Remaining {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.order {
            Order::OldestFirst => "oldest",
            Order::NewestFirst => "newest",
        })?;
        for (number, (partition, range)) in self.ranges.iter().enumerate() {
            let separator = if number == 0 { ';' } else { ',' };
            write!(formatter, "{separator}{partition}={}-{}", range.start, range.end)?;
        }
        Ok(())
    }
}

/// The text isn't a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the cursor of a search; send the text of \"resume\" as it was returned")]
pub(super) struct CursorInvalid(String);

impl FromStr for Remaining {
    type Err = CursorInvalid;

    fn from_str(text: &str) -> Result<Remaining, CursorInvalid> {
        parse(text).ok_or_else(|| CursorInvalid(crate::access::shown(text).to_owned()))
    }
}

fn parse(text: &str) -> Option<Remaining> {
    let (order, ranges) = text.split_once(';')?;
    let order = match order {
        "oldest" => Order::OldestFirst,
        "newest" => Order::NewestFirst,
        _ => return None,
    };
    let range = |text: &str| {
        let (partition, range) = text.split_once('=')?;
        let (start, end) = range.split_once('-')?;
        let range = start.parse().ok()?..end.parse().ok()?;
        (range.start < range.end).then_some((partition.parse().ok()?, range))
    };
    let ranges: Option<Vec<_>> = ranges.split(',').map(range).collect();
    Some(Remaining::new(order, ranges?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each offset is passed exactly once, also by searches that continue at a cursor after each window.
    #[test]
    fn windows_cover_all_offsets_once_in_both_directions() {
        for order in [Order::OldestFirst, Order::NewestFirst] {
            let mut left = Remaining::new(order, [(0, 3..20), (1, 5..5), (2, 0..7)]);
            let mut passed = Vec::new();
            while let Some((partition, window)) = left.window(6) {
                let part = match order {
                    Order::OldestFirst => window.start..window.start + 1 + window.end.abs_diff(window.start) / 2,
                    Order::NewestFirst => window.end - 1 - window.end.abs_diff(window.start) / 2..window.end,
                };
                left.passed(&part);
                passed.extend(part.map(|offset| (partition, offset)));
                if !left.is_empty() {
                    left = left.to_string().parse().unwrap();
                }
            }
            assert_eq!(passed.first(), Some(&(0, if order == Order::OldestFirst { 3 } else { 16 })), "{order:?}");
            passed.sort_unstable();
            let all: Vec<_> = (3..20).map(|offset| (0, offset)).chain((0..7).map(|offset| (2, offset))).collect();
            assert_eq!(passed, all, "{order:?}");
        }
    }

    #[test]
    fn other_texts_are_no_cursors() {
        for text in
            ["", "oldest", "oldest;", "latest;0=0-1", "newest;0=5-5", "newest;0=6-5", "newest;0=a-5", "newest;0"]
        {
            assert!(text.parse::<Remaining>().is_err(), "{text}");
        }
        let cursor: Remaining = "newest;0=1-5,7=0-18446744073709551615".parse().unwrap();
        assert_eq!(cursor.to_string(), "newest;0=1-5,7=0-18446744073709551615");
    }
}
