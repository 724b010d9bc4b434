//! Where a subscription is in each partition, and which partition has its turn: a state machine without I/O.

use crate::notify::Key;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The action for a subscriber whose lag is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// Its subscription ends.
    Disconnect,
    /// It continues nearer to the partition's end.
    Skip,
}

/// The use of a partition's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The records from this offset on are delivered. Some before it were skipped.
    Deliver {
        /// Offset of the next record.
        offset: u64,
        /// Number of offsets between the position before and this one.
        skipped: u64,
    },
    /// The subscriber's lag is too large: its subscription ends.
    TooSlow {
        /// Number of records from its position to the partition's end.
        lag: u64,
    },
}

/// Where it is in a partition.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Offset of the next record; unknown until the time from which on it is wanted was searched.
    next: Option<u64>,
    is_queued: bool,
    /// Whether it has been within the limit once: a subscriber that begins with a larger lag has time to catch up.
    has_caught_up: bool,
}

/// The positions of one subscription.
#[derive(Debug)]
pub(super) struct Positions {
    slow: Slow,
    /// Maximum number of records from a position to the partition's end.
    lag_max: Option<u64>,
    places: BTreeMap<Key, Place>,
    /// Partitions that have records to deliver, or may have, each once. The first has its turn.
    queue: VecDeque<Key>,
}

impl Positions {
    pub fn new(slow: Slow, lag_max: Option<u64>) -> Positions {
        Positions { slow, lag_max, places: BTreeMap::new(), queue: VecDeque::new() }
    }

    /// Whether it is somewhere in the partition, also if it isn't known where.
    pub fn knows(&self, key: Key) -> bool {
        self.places.contains_key(&key)
    }

    /// It begins at this offset of a partition, or continues there.
    pub fn place(&mut self, key: Key, next: u64) {
        self.places.entry(key).or_default().next = Some(next);
    }

    /// It begins in this partition where a search by time is yet to find out.
    pub fn seek(&mut self, key: Key) {
        self.places.entry(key).or_default();
        self.enqueue(key);
    }

    /// A partition that it knows has new records, or may have.
    pub fn enqueue(&mut self, key: Key) {
        let Some(place) = self.places.get_mut(&key) else { unreachable!("{key:?} has no place") };
        if !std::mem::replace(&mut place.is_queued, true) {
            self.queue.push_back(key);
        }
    }

    /// The partition whose turn it is.
    pub fn turn(&self) -> Option<Key> {
        self.queue.front().copied()
    }

    /// The offset of the next record, if it is known.
    pub fn next(&self, key: Key) -> Option<u64> {
        self.places.get(&key).and_then(|place| place.next)
    }

    /// What the turn of a partition with these records is used for, after its position is known. Nothing if it has no
    /// more of them: then the turn is over.
    pub fn begin(&mut self, key: Key, records: &Range<u64>) -> Option<Turn> {
        let Some(place) = self.places.get_mut(&key) else { unreachable!("{key:?} has no place") };
        let Some(before) = place.next else { unreachable!("where the subscription is in {key:?} is unknown") };
        let mut offset = before.max(records.start);
        if let Some(lag_max) = self.lag_max {
            let lag = records.end.saturating_sub(offset);
            match self.slow {
                _ if lag <= lag_max => place.has_caught_up = true,
                Slow::Disconnect if place.has_caught_up => return Some(Turn::TooSlow { lag }),
                Slow::Disconnect => {}
                // To the middle: it would skip with every turn otherwise.
                Slow::Skip => offset = records.end - lag_max / 2,
            }
        }
        place.next = Some(offset);
        let skipped = offset - before;
        if offset < records.end || skipped > 0 {
            return Some(Turn::Deliver { offset, skipped });
        }
        self.end_turn(key, false);
        None
    }

    /// The records up to `next` were delivered of a partition whose turn it is; `end` is its end.
    pub fn delivered(&mut self, key: Key, next: u64, end: u64) {
        let Some(place) = self.places.get_mut(&key) else { return };
        assert!(place.next.is_some_and(|before| before <= next), "{key:?} goes from {:?} to {next}", place.next);
        place.next = Some(next);
        place.has_caught_up |= self.lag_max.is_some_and(|lag_max| end.saturating_sub(next) <= lag_max);
        self.end_turn(key, next < end);
    }

    /// The partition, whose turn it is, has had it; there may be more.
    fn end_turn(&mut self, key: Key, has_more: bool) {
        let front = self.queue.pop_front();
        assert_eq!(front, Some(key), "another partition has its turn");
        if let Some(place) = self.places.get_mut(&key) {
            place.is_queued = has_more;
        }
        if has_more {
            self.queue.push_back(key);
        }
    }

    /// The partition is gone, or it is as if it had never been there.
    pub fn forget(&mut self, key: Key) {
        if self.places.remove(&key).is_some_and(|place| place.is_queued) {
            self.queue.retain(|queued| *queued != key);
        }
    }

    /// The topic is gone. Returns its partitions.
    pub fn forget_topic(&mut self, topic: u64) -> Vec<Key> {
        let keys: Vec<Key> = self.places.range((topic, 0)..=(topic, u32::MAX)).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| self.forget(*key));
        keys
    }

    /// All known positions, in order of topics and partitions.
    pub fn iter(&self) -> impl Iterator<Item = (Key, u64)> {
        self.places.iter().filter_map(|(key, place)| Some((*key, place.next?)))
    }

    /// All partitions.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.places.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Key = (1, 0);
    const TWO: Key = (2, 7);

    fn deliver(offset: u64, skipped: u64) -> Option<Turn> {
        Some(Turn::Deliver { offset, skipped })
    }

    #[test]
    fn partitions_take_turns() {
        let mut positions = Positions::new(Slow::Disconnect, None);
        positions.place(ONE, 3);
        positions.seek(TWO);
        positions.enqueue(ONE);
        positions.enqueue(ONE);
        assert_eq!((positions.turn(), positions.next(TWO)), (Some(TWO), None));
        positions.place(TWO, 10);
        assert_eq!(positions.begin(TWO, &(0..20)), deliver(10, 0));
        positions.delivered(TWO, 15, 20);
        assert_eq!(positions.turn(), Some(ONE));
        assert_eq!(positions.begin(ONE, &(0..3)), None);
        assert_eq!(positions.turn(), Some(TWO));
        positions.delivered(TWO, 20, 20);
        assert_eq!(positions.turn(), None);
        assert_eq!(positions.iter().collect::<Vec<_>>(), [(ONE, 3), (TWO, 20)]);
        positions.enqueue(TWO);
        assert_eq!(positions.forget_topic(2), [TWO]);
        assert_eq!((positions.turn(), positions.knows(TWO)), (None, false));
    }

    #[test]
    fn a_trimmed_position_moves_to_the_first_record() {
        let mut positions = Positions::new(Slow::Disconnect, None);
        positions.place(ONE, 3);
        positions.enqueue(ONE);
        assert_eq!(positions.begin(ONE, &(5..9)), deliver(5, 2));
        positions.delivered(ONE, 9, 9);
        positions.enqueue(ONE);
        // Everything was deleted: that is reported, though there is nothing to deliver.
        assert_eq!(positions.begin(ONE, &(12..12)), deliver(12, 3));
    }

    #[test]
    fn a_large_lag_is_skipped() {
        let mut positions = Positions::new(Slow::Skip, Some(10));
        positions.place(ONE, 0);
        positions.enqueue(ONE);
        assert_eq!(positions.begin(ONE, &(0..10)), deliver(0, 0));
        assert_eq!(positions.begin(ONE, &(0..11)), deliver(6, 6));
        assert_eq!(positions.begin(ONE, &(0..16)), deliver(6, 0));
    }

    #[test]
    fn a_large_lag_disconnects_who_has_caught_up_once() {
        let mut positions = Positions::new(Slow::Disconnect, Some(10));
        positions.place(ONE, 0);
        positions.enqueue(ONE);
        assert_eq!(positions.begin(ONE, &(0..100)), deliver(0, 0));
        positions.delivered(ONE, 95, 100);
        assert_eq!(positions.begin(ONE, &(0..106)), Some(Turn::TooSlow { lag: 11 }));
    }

    /// The simple model: a list of the records that each partition should deliver.
    #[test]
    fn every_record_is_delivered_or_skipped_once_and_in_order() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let lag_max = random.bool().then(|| random.u64(1..50));
            let mut positions = Positions::new(Slow::Skip, lag_max);
            let mut logs = [(0, 0); 4];
            let mut expected = [0; 4];
            let key = |number: usize| (number as u64 / 2, number as u32 % 2);
            for _ in 0..500 {
                let number = random.usize(..4);
                let (first, end) = &mut logs[number];
                match random.u8(..4) {
                    0 | 1 => {
                        let before = *end;
                        *end += random.u64(1..30);
                        if !positions.knows(key(number)) {
                            // The first news of a partition say where it begins.
                            expected[number] = before;
                            positions.place(key(number), before);
                        }
                        positions.enqueue(key(number));
                    }
                    2 => *first = random.u64(*first..=*end),
                    _ => {
                        let Some(turn) = positions.turn() else { continue };
                        let number = turn.0 as usize * 2 + turn.1 as usize;
                        let (first, end) = logs[number];
                        match positions.begin(turn, &(first..end)) {
                            Some(Turn::Deliver { offset, skipped }) => {
                                assert_eq!(offset - skipped, expected[number], "seed {seed}");
                                assert!(lag_max.is_none_or(|lag_max| end - offset <= lag_max), "seed {seed}");
                                let next = random.u64(offset..=end).max((offset + 1).min(end));
                                positions.delivered(turn, next, end);
                                expected[number] = next;
                            }
                            None => assert_eq!(expected[number], end, "seed {seed}"),
                            Some(Turn::TooSlow { .. }) => unreachable!("it skips"),
                        }
                    }
                }
            }
            // In the end everything is delivered.
            while let Some(turn) = positions.turn() {
                let (first, end) = logs[turn.0 as usize * 2 + turn.1 as usize];
                if positions.begin(turn, &(first..end)).is_some() {
                    positions.delivered(turn, end, end);
                }
            }
            for (at, next) in positions.iter() {
                assert_eq!(next, logs[at.0 as usize * 2 + at.1 as usize].1, "seed {seed}");
            }
        }
    }
}
