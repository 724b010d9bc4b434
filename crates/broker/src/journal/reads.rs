//! Reads of the objects that follow in a journal: one by one as the rules request them, many at once where a
//! broker has much to catch up with.

use crate::limits::{JOURNAL_READ_AHEAD_BYTES, JOURNAL_READ_AHEAD_WINDOWS, JOURNAL_READS_FIRST, JOURNAL_READS_MAX};
use crate::store::{Dated, Store, StoredIndex};
use crate::store_error::StoreError;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rawline_journal::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a read ended.
pub(super) type Read = Result<Dated<Option<StoredIndex>>, StoreError>;

/// An object was missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missed {
    /// The object's number.
    pub number: u64,
    /// Number of reads that had begun before this one.
    pub read: u64,
    /// The store's time in seconds.
    pub date: u64,
}

/// A read, of those that had begun before it, of an object.
struct Ended {
    read: u64,
    number: u64,
    result: Read,
}

/// The reads of a journal's objects in order.
pub(super) struct Reads {
    store: Arc<dyn Store>,
    /// The number that the rules wait for.
    wanted: Option<u64>,
    /// Whether the request for it began after the rules' request.
    is_fresh: bool,
    running: FuturesUnordered<BoxFuture<'static, Ended>>,
    numbers: BTreeSet<u64>,
    /// Objects that were read before they were wanted. An object never changes, so it is as good as read again. That an
    /// object is missing can change at any time, and is never kept.
    ahead: BTreeMap<u64, Dated<Option<StoredIndex>>>,
    /// Whether nothing is read ahead until the rules request another object.
    is_alone: bool,
    /// From the object after the wanted one up to this number, exclusive, each is in `ahead` or being read.
    begun: u64,
    /// The lowest number above the wanted one that was missing: nothing is read ahead from there on. Of the objects in
    /// flight when a writer died, higher ones may exist; they are read when they are wanted.
    missing: u64,
    /// All objects before this number exist, by the report of another broker when an object was requested.
    told: u64,
    /// Number of objects found in a row. As many are read at once: at most half of the requests find nothing.
    found: u64,
    /// Size of the newest index, which those after it probably have.
    index_bytes: u64,
    /// Number of reads that have begun.
    reads_begun: u64,
    /// Reads that found nothing, since they were last taken.
    missed: Vec<Missed>,
}

impl Reads {
    pub fn new(store: Arc<dyn Store>) -> Reads {
        let (running, numbers, ahead) = (FuturesUnordered::new(), BTreeSet::new(), BTreeMap::new());
        Reads {
            store,
            wanted: None,
            is_fresh: false,
            running,
            numbers,
            ahead,
            is_alone: false,
            begun: 0,
            missing: u64::MAX,
            told: 0,
            found: 0,
            index_bytes: 0,
            reads_begun: 0,
            missed: Vec::new(),
        }
    }

    /// Reads an object, and perhaps those after it. All before `told` exist, by the report of another broker.
    pub fn want(&mut self, number: u64, told: u64) {
        assert_eq!(self.wanted, None, "object {number} is wanted while another is");
        (self.wanted, self.told) = (Some(number), told);
        self.ahead = self.ahead.split_off(&number);
        self.is_fresh = self.begin(number);
        // It was missing a moment ago: probably this is the end.
        self.is_alone = self.missing <= number;
        if self.is_alone {
            self.missing = u64::MAX;
        }
        if number == self.told {
            // So this is the end, or objects after it are new.
            self.found = 0;
        }
        self.begun = self.begun.max(number);
        self.read_ahead();
    }

    /// Begins to read objects after the wanted one, as many at once as the window says. One that takes longer than the
    /// others doesn't hold them up: they are read further ahead meanwhile.
    fn read_ahead(&mut self) {
        let Some(wanted) = self.wanted.filter(|_| !self.is_alone) else { return };
        let window = self.window();
        let known_end = if wanted < self.told { self.told } else { u64::MAX };
        let end = (wanted + window * JOURNAL_READ_AHEAD_WINDOWS).min(self.missing).min(known_end);
        while self.begun < end && (self.numbers.len() as u64) < window {
            self.begin(self.begun);
            self.begun += 1;
        }
    }

    /// Number of objects that are read at once.
    fn window(&self) -> u64 {
        let fit = JOURNAL_READ_AHEAD_BYTES / JOURNAL_READ_AHEAD_WINDOWS / self.index_bytes.max(1);
        self.found.min(JOURNAL_READS_MAX).min(fit).max(1)
    }

    /// Drops objects that were read ahead: the journal is read from another place. Many objects may follow a snapshot.
    pub fn forget(&mut self) {
        self.ahead.clear();
        (self.begun, self.missing, self.found) = (0, u64::MAX, JOURNAL_READS_FIRST);
    }

    /// Whether the rules wait for an object.
    pub fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// Number of reads that have begun so far.
    pub fn reads_begun(&self) -> u64 {
        self.reads_begun
    }

    /// Whether objects were missing since the last call of [`Reads::take_missed`].
    pub fn has_missed(&self) -> bool {
        !self.missed.is_empty()
    }

    /// The objects that were missing since the last call, whether they were wanted or not.
    pub fn take_missed(&mut self) -> Vec<Missed> {
        std::mem::take(&mut self.missed)
    }

    /// How the read of the wanted object ended. Never resolves if none is wanted.
    pub async fn next(&mut self) -> (u64, Read) {
        loop {
            if let Some(number) = self.wanted
                && let Some(found) = self.ahead.remove(&number)
            {
                return self.ended(number, Ok(found));
            }
            self.read_ahead();
            let Some(ended) = self.running.next().await else { return std::future::pending().await };
            let Ended { read, number, result } = ended;
            self.numbers.remove(&number);
            if let Ok(Dated { found: None, date }) = result {
                self.missed.push(Missed { number, read, date });
            }
            match (result, self.wanted) {
                (Ok(found @ Dated { found: Some(_), .. }), _) => drop(self.ahead.insert(number, found)),
                (result, Some(wanted)) if wanted == number && self.is_fresh => return self.ended(number, result),
                // It may have been created since this request began.
                (_, Some(wanted)) if wanted == number => {
                    self.is_fresh = self.begin(number);
                    assert!(self.is_fresh, "object {number} is read twice at once");
                }
                (result, _) => {
                    match result {
                        Ok(_) => self.missing = self.missing.min(number),
                        // The store fails: it gets no more requests until the rules request an object again.
                        Err(_) => self.is_alone = true,
                    }
                    self.begun = self.begun.min(number);
                }
            }
        }
    }

    /// Begins to read an object, unless it was read or is being read.
    fn begin(&mut self, number: u64) -> bool {
        let is_new = !self.ahead.contains_key(&number) && self.numbers.insert(number);
        if is_new {
            let (index, read) = (self.store.index(Source::Journal(number)), self.reads_begun);
            self.reads_begun += 1;
            self.running.push(Box::pin(async move { Ended { read, number, result: index.await } }));
        }
        is_new
    }

    fn ended(&mut self, number: u64, result: Read) -> (u64, Read) {
        match &result {
            Ok(Dated { found: Some(StoredIndex { index, .. }), .. }) => {
                self.found += 1;
                self.index_bytes = index.header.index_bytes();
            }
            // The end. The next request may come much later, so the requests after it are cancelled.
            Ok(_) => {
                self.running.clear();
                self.numbers.clear();
                (self.begun, self.found) = (0, 0);
            }
            Err(_) => self.found = 0,
        }
        self.wanted = None;
        (number, result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::store::MemoryStore;

    #[test]
    fn large_indexes_are_read_a_few_at_a_time() {
        let mut reads = Reads::new(Arc::new(MemoryStore::new(Arc::new(SystemClock))));
        assert_eq!(reads.window(), 1);
        reads.forget();
        assert_eq!(reads.window(), JOURNAL_READS_FIRST);
        reads.found = 100_000;
        for (index_bytes, window) in [(200, JOURNAL_READS_MAX), (1 << 20, 8), (2 << 20, 4), (1 << 30, 1)] {
            reads.index_bytes = index_bytes;
            assert_eq!(reads.window(), window, "indexes of {index_bytes} bytes");
        }
    }
}
