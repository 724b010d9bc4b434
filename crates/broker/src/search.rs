//! Searches a partition by time of append.

use crate::index::Since;
use crate::partition::Partition;
use crate::piece::Described;
use crate::read::ReadError;
use rawline_journal::BatchKind;
use std::ops::Range;

impl Partition {
    /// The first offset whose record was appended at or after `time_us` (microseconds since the Unix epoch);
    /// `next_offset` if the record doesn't exist yet.
    pub async fn offset_at(&self, time_us: u64) -> Result<u64, ReadError> {
        if self.topic.stored.life.is_deleted() {
            return Err(self.deleted());
        }
        let numbers = self.index().numbers();
        let first_offset = self.first_since(time_us, numbers).await;
        Ok(self.first_in_merged(time_us, first_offset).await.unwrap_or(first_offset))
    }

    /// When the object was appended that holds a record, in microseconds since the Unix epoch, if that is known without
    /// reading it; else 0.
    pub fn appended_us_of_offset(&self, offset: u64) -> u64 {
        self.index().find(offset).map_or(0, |found| found.piece.appended_us)
    }

    /// The first offset of a merged object's records that were appended at or after `time_us`, from `first_offset` on:
    /// the object has the time of the newest. `None` if it can't be known now.
    async fn first_in_merged(&self, time_us: u64, first_offset: u64) -> Option<u64> {
        let found = self.index().find(first_offset).filter(|found| found.is_merged())?;
        let entries = match self.entries(&found).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(topic = self.log, %error, "a merged object's times can't be read; its newest counts");
                return None;
            }
        };
        let is_older =
            |batch: &Described| batch.kind() == BatchKind::Rawline && (1..time_us).contains(&batch.time_us());
        let older = entries.batches().take_while(is_older).last();
        let since = older.map_or(found.piece.first_offset, |batch| batch.next_offset());
        Some(since.max(first_offset))
    }

    /// The same before a time when few objects are older: looks at those near the topic's front only.
    pub(crate) async fn offset_at_near_front(&self, time_us: u64) -> u64 {
        if self.index().times_go_back() {
            return self.first_of_all_since(time_us).await;
        }
        let numbers = self.index().numbers();
        let (mut older, mut step) = (numbers.start, 1);
        while older + step < numbers.end && self.appended_us(older + step) < time_us {
            (older, step) = (older + step, step * 2);
        }
        self.first_since(time_us, older..numbers.end.min(older + step)).await
    }

    /// The first offset appended at or after `time_us`. It begins an object with one of these numbers, or the one after
    /// them.
    pub(crate) async fn first_since(&self, time_us: u64, numbers: Range<u64>) -> u64 {
        if self.index().times_go_back() {
            return self.first_of_all_since(time_us).await;
        }
        let Range { start: mut low, end: mut high } = numbers;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.appended_us(middle) < time_us {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let index = self.index();
        // Objects may have been deleted meanwhile.
        let found = index.numbered(low.max(index.numbers().start));
        found.map_or(index.next_offset(), |found| found.piece.first_offset.max(index.first_offset()))
    }

    /// The first offset appended at or after `time_us`, where times aren't in order.
    async fn first_of_all_since(&self, time_us: u64) -> u64 {
        let mut search = Since::new(time_us, self.topic.shared.clock.now_us());
        loop {
            let found = self.index().since(&mut search);
            match found {
                Some(offset) => return offset,
                None => tokio::task::yield_now().await,
            }
        }
    }

    /// Time of the append of an object by its number. One that was deleted meanwhile is older than anything that is
    /// left.
    fn appended_us(&self, number: u64) -> u64 {
        let found = self.index().numbered(number);
        found.map_or(0, |found| found.piece.appended_us)
    }
}
