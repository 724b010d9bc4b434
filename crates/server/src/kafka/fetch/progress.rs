//! The progress of a Fetch request: the result of each partition so far, and the partitions to read. A state machine
//! without I/O.

use super::read::Found;
use rawline_broker::limits::READ_OBJECTS_MAX;
use std::collections::BTreeSet;

/// The results of a request's partitions, by their places.
pub(super) struct Progress {
    found: Vec<Option<Found>>,
    /// The places of the partitions that are to be read. Those that come first in the request are read first.
    to_read: BTreeSet<usize>,
    /// Size of all records in bytes.
    bytes: u64,
    /// Number of pieces that were read.
    pieces: usize,
    /// Whether a partition has a result that the client acts on without records: an error, or another broker.
    is_decided: bool,
}

impl Progress {
    /// At the beginning, all partitions are to be read.
    pub fn new(partitions: usize) -> Progress {
        let found = std::iter::repeat_with(|| None).take(partitions).collect();
        Progress { found, to_read: (0..partitions).collect(), bytes: 0, pieces: 0, is_decided: false }
    }

    /// The place of the next partition to read. Its earlier result is discarded.
    pub fn next(&mut self) -> Option<usize> {
        let place = self.to_read.pop_first()?;
        self.forget(place);
        Some(place)
    }

    /// A partition was read.
    pub fn read(&mut self, place: usize, found: Found) {
        self.bytes += u64::from(found.fetched.records_bytes);
        self.pieces += found.pieces;
        self.is_decided |= found.fetched.error != 0 || found.fetched.preferred >= 0;
        match self.found.get_mut(place) {
            Some(free @ None) => *free = Some(found),
            Some(Some(_)) => unreachable!("place {place} was read twice"),
            None => unreachable!("place {place} of {}", self.found.len()),
        }
    }

    /// Size of all records that were found in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether as many pieces were read as one response may have. Each takes memory outside the pool.
    pub fn is_full(&self) -> bool {
        self.pieces >= READ_OBJECTS_MAX
    }

    /// Whether the response needn't wait for more.
    pub fn is_enough(&self, bytes_min: u64) -> bool {
        self.bytes >= bytes_min || self.is_decided || self.is_full()
    }

    /// Partitions have changed: they are to be read again.
    pub fn changed(&mut self, places: impl IntoIterator<Item = usize>) {
        self.to_read.extend(places);
    }

    /// The request is about to wait. Records in buffers of the pool are to be read again: others need the buffers.
    pub fn release_buffers(&mut self) {
        let is_in_buffers = |found: &Option<Found>| found.as_ref().is_some_and(|found| found.holds_buffers);
        let places: Vec<usize> =
            self.found.iter().enumerate().filter(|(_, found)| is_in_buffers(found)).map(|(place, _)| place).collect();
        places.iter().for_each(|place| self.forget(*place));
        self.to_read.extend(places);
    }

    /// The results, once all partitions were read.
    pub fn into_found(self) -> Vec<Found> {
        assert!(self.to_read.is_empty(), "{} partitions are to be read", self.to_read.len());
        let all = self.found.len();
        let found: Vec<_> = self.found.into_iter().flatten().collect();
        assert_eq!(found.len(), all, "some partitions were not read");
        found
    }

    fn forget(&mut self, place: usize) {
        if let Some(found) = self.found.get_mut(place).and_then(Option::take) {
            self.bytes -= u64::from(found.fetched.records_bytes);
            self.pieces -= found.pieces;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_kafka::fetch::FetchedPartition;

    fn found(records_bytes: u32, error: i16, holds_buffers: bool) -> Found {
        let (partition, next_offset, stable_offset, first_offset, preferred, aborted) = (0, 0, 0, 0, -1, Vec::new());
        let fetched = FetchedPartition {
            partition,
            error,
            next_offset,
            stable_offset,
            aborted,
            first_offset,
            preferred,
            records_bytes,
        };
        Found { fetched, records: Vec::new(), pieces: 0, count: 0, holds_buffers }
    }

    /// Reads the partitions to read; returns their places.
    fn read(progress: &mut Progress, mut found: impl FnMut(usize) -> Found) -> Vec<usize> {
        let mut places = Vec::new();
        while let Some(place) = progress.next() {
            progress.read(place, found(place));
            places.push(place);
        }
        places
    }

    #[test]
    fn after_the_first_read_only_partitions_that_have_changed_are_read_again() {
        let mut progress = Progress::new(10_000);
        assert_eq!(read(&mut progress, |_| found(0, 0, false)), (0..10_000).collect::<Vec<_>>());
        assert!(!progress.is_enough(1));
        progress.changed([]);
        assert_eq!(read(&mut progress, |_| found(0, 0, false)), [0; 0]);
        progress.changed([7_000, 3, 7_000]);
        assert_eq!(read(&mut progress, |place| found(place as u32, 0, false)), [3, 7_000]);
        assert!(progress.is_enough(7_003) && !progress.is_enough(7_004));
        progress.changed([7_000]);
        assert_eq!(progress.bytes(), 7_003);
        assert_eq!(read(&mut progress, |_| found(10, 0, false)), [7_000], "in the place of what was found before");
        assert_eq!((progress.bytes(), progress.into_found().len()), (13, 10_000));
    }

    #[test]
    fn records_in_buffers_are_not_held_during_a_wait() {
        let mut progress = Progress::new(4);
        read(&mut progress, |place| found(100, 0, place % 2 == 1));
        assert_eq!(progress.bytes(), 400);
        progress.release_buffers();
        assert_eq!(progress.bytes(), 200);
        progress.changed([2]);
        assert_eq!(read(&mut progress, |_| found(50, 0, false)), [1, 2, 3]);
        assert_eq!(progress.bytes(), 250);
    }

    #[test]
    fn a_response_of_as_many_pieces_as_it_may_have_does_not_wait_for_more_bytes() {
        let mut progress = Progress::new(2);
        let pieces = READ_OBJECTS_MAX / 2;
        progress.next();
        progress.read(0, Found { pieces, ..found(100, 0, false) });
        assert!(!progress.is_full() && !progress.is_enough(1_000));
        progress.next();
        progress.read(1, Found { pieces, ..found(100, 0, false) });
        assert!(progress.is_full() && progress.is_enough(1_000));
        progress.changed([0]);
        read(&mut progress, |_| found(0, 0, false));
        assert!(!progress.is_full());
    }

    #[test]
    fn a_failure_is_not_waited_with() {
        let mut progress = Progress::new(2);
        read(&mut progress, |place| found(0, place as i16, false));
        assert!(progress.is_enough(1_000));
    }
}
