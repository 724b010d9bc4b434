//! A partition as the rules know it: its offsets, its producers and transactions. Very many have none of these, and
//! take no memory for them.

use crate::producers::Producers;
use crate::shared_map::SharedMap;
use crate::transactions::PartitionTransactions;
use std::ops::Range;
use std::sync::Arc;

/// A partition that has had a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Partition {
    pub first_offset: u64,
    pub next_offset: u64,
    /// None if all of it is empty.
    more: Option<Arc<More>>,
}

// A node of the map of partitions has 128, and is copied when one of them changes after a snapshot.
const _: () = assert!(size_of::<Partition>() == 24);

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct More {
    producers: Producers,
    transactions: PartitionTransactions,
}

static NOTHING: More = More {
    producers: Producers(SharedMap::new()),
    transactions: PartitionTransactions { open: SharedMap::new(), aborted: SharedMap::new(), offsets: 0..0 },
};

impl Partition {
    /// One with these records, without producers and transactions.
    pub fn new(Range { start: first_offset, end: next_offset }: Range<u64>) -> Partition {
        Partition { first_offset, next_offset, more: None }
    }

    /// Its producers.
    pub fn producers(&self) -> &Producers {
        &self.more().producers
    }

    /// Its transactions.
    pub fn transactions(&self) -> &PartitionTransactions {
        &self.more().transactions
    }

    /// Changes its producers.
    pub fn change_producers<T>(&mut self, change: impl FnOnce(&mut Producers) -> T) -> T {
        self.change(|more| change(&mut more.producers))
    }

    /// Changes its transactions.
    pub fn change_transactions<T>(&mut self, change: impl FnOnce(&mut PartitionTransactions) -> T) -> T {
        self.change(|more| change(&mut more.transactions))
    }

    fn more(&self) -> &More {
        self.more.as_deref().unwrap_or(&NOTHING)
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut More) -> T) -> T {
        let mut more = self.more.take().unwrap_or_default();
        let changed = change(Arc::make_mut(&mut more));
        self.more = Some(more).filter(|more| **more != NOTHING);
        changed
    }
}
