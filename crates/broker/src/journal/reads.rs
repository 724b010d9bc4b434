//! Reads of the objects that follow in a journal: one after the other as the rules ask for them, many at once where a
//! broker has much to catch up with.

use crate::journal::{Dated, JournalStore};
use crate::limits::JOURNAL_READS_MAX;
use crate::store::StoreError;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rawline_journal::{Index, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a read ended.
pub(super) type Read = Result<Dated<Option<Index>>, StoreError>;

/// The reads of a journal's objects in order.
pub(super) struct Reads {
    store: Arc<dyn JournalStore>,
    /// The number that the rules wait for.
    wanted: Option<u64>,
    /// Whether the request for it began after the rules asked.
    is_fresh: bool,
    running: FuturesUnordered<BoxFuture<'static, (u64, Read)>>,
    numbers: BTreeSet<u64>,
    /// Objects that were read before they were wanted. An object never changes, so it is as good as read again. That an
    /// object is missing can change at any time, and is never kept.
    ahead: BTreeMap<u64, Dated<Option<Index>>>,
    /// Number of objects found in a row. As many are read at once: at most half of the requests find nothing.
    found: u64,
}

impl Reads {
    pub fn new(store: Arc<dyn JournalStore>) -> Reads {
        let (running, numbers, ahead) = (FuturesUnordered::new(), BTreeSet::new(), BTreeMap::new());
        Reads { store, wanted: None, is_fresh: false, running, numbers, ahead, found: 0 }
    }

    /// Reads an object, and perhaps those after it.
    pub fn want(&mut self, number: u64) {
        assert_eq!(self.wanted, None, "object {number} is wanted while another is");
        self.wanted = Some(number);
        self.ahead = self.ahead.split_off(&number);
        self.is_fresh = !self.ahead.contains_key(&number) && !self.numbers.contains(&number);
        for number in number..number + self.found.clamp(1, JOURNAL_READS_MAX) {
            if !self.ahead.contains_key(&number) && !self.numbers.contains(&number) {
                self.begin(number);
            }
        }
    }

    /// Forgets what was read ahead: the journal is read from another place.
    pub fn forget(&mut self) {
        self.ahead.clear();
        self.found = 0;
    }

    /// Whether the rules wait for an object.
    pub fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// How the read of the wanted object ended. Never resolves if none is wanted.
    pub async fn next(&mut self) -> (u64, Read) {
        loop {
            if let Some(number) = self.wanted
                && let Some(found) = self.ahead.remove(&number)
            {
                return self.ended(number, Ok(found));
            }
            let Some((number, read)) = self.running.next().await else { return std::future::pending().await };
            self.numbers.remove(&number);
            match (read, self.wanted) {
                (Ok(found @ Dated { found: Some(_), .. }), _) => drop(self.ahead.insert(number, found)),
                (read, Some(wanted)) if wanted == number && self.is_fresh => return self.ended(number, read),
                // It may have been created since this request began.
                (_, Some(wanted)) if wanted == number => {
                    self.is_fresh = true;
                    self.begin(number);
                }
                _ => {}
            }
        }
    }

    fn begin(&mut self, number: u64) {
        let read = self.store.index(Source::Journal(number));
        assert!(self.numbers.insert(number), "object {number} is read twice at once");
        self.running.push(Box::pin(async move { (number, read.await) }));
    }

    fn ended(&mut self, number: u64, read: Read) -> (u64, Read) {
        let is_found = matches!(read, Ok(Dated { found: Some(_), .. }));
        self.found = if is_found { self.found + 1 } else { 0 };
        self.wanted = None;
        (number, read)
    }
}
