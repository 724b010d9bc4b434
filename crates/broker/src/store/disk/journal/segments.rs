//! The segments of a journal with the numbers of their objects, and what readers find in them.

use super::seal::Entry;
use crate::store::disk::segment::Segment;
use rawline_journal::SharedFile;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// A segment and its objects, which have consecutive numbers.
pub(super) struct Stored {
    pub segment: Segment,
    entries: RwLock<Vec<Entry>>,
    /// Dead ones. The files are removed when all of them are.
    garbage: Mutex<BTreeSet<u64>>,
    /// Whether no more objects are appended.
    is_full: AtomicBool,
}

impl Stored {
    pub fn new(segment: Segment, entries: Vec<Entry>, is_full: bool) -> Stored {
        let (entries, is_full) = (RwLock::new(entries), AtomicBool::new(is_full));
        Stored { segment, entries, garbage: Mutex::default(), is_full }
    }

    /// The numbers of its objects, those that readers don't see included.
    pub fn numbers(&self) -> Range<u64> {
        let first = self.segment.first_offset;
        first..first + self.entries.read().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Adds the next object.
    pub fn push(&self, entry: Entry) {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where the object with this number is, if readers see it.
    pub fn find(&self, number: u64) -> Option<Range<u64>> {
        let at = usize::try_from(number.checked_sub(self.segment.first_offset)?).ok()?;
        let range = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(at)?.range();
        (range.end <= self.segment.bytes()).then_some(range)
    }

    /// Appends no more.
    pub fn end(&self) {
        self.is_full.store(true, Ordering::Release);
    }

    /// The numbers of the objects that may be deleted and aren't.
    pub fn deletable(&self) -> Vec<u64> {
        let garbage = self.garbage.lock().unwrap_or_else(PoisonError::into_inner);
        self.numbers().filter(|number| !garbage.contains(number)).collect()
    }

    /// It as a file of objects, of which those below the number `covered` are covered by a snapshot.
    pub fn file(&self, covered: u64) -> SharedFile {
        let (grows, numbers) = (!self.is_full.load(Ordering::Acquire), self.numbers());
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let last = covered.clamp(numbers.start, numbers.end) - numbers.start;
        let last = usize::try_from(last).ok().and_then(|count| entries.get(count.checked_sub(1)?));
        let covered_bytes = last.map_or(0, |last| last.range().end);
        let bytes = self.segment.bytes().max(covered_bytes);
        SharedFile { numbers, bytes, covered_bytes, grows }
    }

    /// Notes that these objects are dead. Returns whether the whole segment is.
    pub fn delete(&self, numbers: impl Iterator<Item = u64>) -> bool {
        let own = self.numbers();
        let mut garbage = self.garbage.lock().unwrap_or_else(PoisonError::into_inner);
        garbage.extend(numbers.inspect(|number| assert!(own.contains(number), "object {number} in {own:?}")));
        let count = own.end - own.start;
        assert!(garbage.len() as u64 <= count, "{} of {count} objects are garbage", garbage.len());
        garbage.len() as u64 == count && self.is_full.load(Ordering::Acquire)
    }
}
