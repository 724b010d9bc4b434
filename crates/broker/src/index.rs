//! Where a topic's objects are: one small entry for each, in order of offset.

use crate::limits::PIECES_PER_VISIT;
use rawline_journal::{Batch, BatchKind, CLOCK_BACK_US, PartitionTransactions, Piece, Place};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::ops::Range;

/// One object of a topic.
#[derive(Debug, Clone, Copy)]
struct ObjectEntry {
    piece: Piece,
    /// Whether this process has checked the piece's checksums as the store returned them.
    verified: bool,
}

/// The room for the objects of a partition grows by a quarter up to this many, and doubles from there. Most of very
/// many partitions have one object, and each of 10,000 busy ones a few dozen: twice the room would be the memory of a
/// broker. One partition at full speed has many thousands: moving them at each quarter costs its small appends 3 to
/// 9 %.
const MANY_OBJECTS: usize = 64;

// `docs/operating.md` says so.
const _: () = assert!(size_of::<ObjectEntry>() == 72);

/// The objects of a topic.
#[derive(Debug, Default)]
pub(crate) struct TopicIndex {
    entries: VecDeque<ObjectEntry>,
    next_offset: u64,
    /// Records below it are deleted, although an object may still hold them.
    trimmed_to: u64,
    /// Objects that were here and are deleted: numbers an object whatever is deleted before it.
    deleted: u64,
    bytes: u64,
    /// Whether an object has an earlier time than one before it: a clock was ahead, and isn't any more.
    times_go_back: bool,
    /// Whether pieces of journal objects have to be checked when they are first read: their store returns them as they
    /// are.
    checks_pieces: bool,
    /// The transactions that write here, if there were any.
    transactions: Option<Box<PartitionTransactions>>,
}

/// A search for the records since a time, where times go back. It can wait between its parts.
///
/// An object can't be from the future: one with a later time than the present, or an unknown one, is as old as the next
/// that isn't. Of the others the first counts that is of the time or later, as in Kafka: of times that a wrong clock
/// made, a search may return more records than requested, and never fewer.
#[derive(Debug)]
pub(crate) struct Since {
    time_us: u64,
    /// The latest time that an object can have.
    possible_us: u64,
    /// Where to continue.
    offset: u64,
    /// Where the objects begin that are as old as the next one.
    wrong_from: Option<u64>,
}

impl Since {
    /// A search for the records of a time or later, now.
    pub fn new(time_us: u64, now_us: u64) -> Since {
        Since { time_us, possible_us: now_us.saturating_add(CLOCK_BACK_US), offset: 0, wrong_from: None }
    }
}

/// An object that holds a searched offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub piece: Piece,
    pub next_offset: u64,
    pub verified: bool,
}

/// Whether a time is earlier than the one before it, as far as both are known.
fn is_back(before: Option<NonZeroU64>, time: Option<NonZeroU64>) -> bool {
    before.zip(time).is_some_and(|(before, time)| time < before)
}

impl ObjectEntry {
    /// Whether all its records are known to be older.
    fn is_older(&self, time_us: u64) -> bool {
        self.piece.newest_us < time_us
    }

    /// Time of the append, microseconds since the Unix epoch; `None` if it is unknown.
    fn appended_us(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.piece.appended_us)
    }

    /// The size of the batches and their entries in bytes.
    fn bytes(&self) -> u64 {
        let Piece { place, .. } = &self.piece;
        let (entries, batches) = (place.entries(), place.batches());
        entries.end - entries.start + (batches.end - batches.start)
    }
}

impl Found {
    pub fn place(&self) -> &Place {
        &self.piece.place
    }

    /// The offsets of its records.
    pub fn offsets(&self) -> Range<u64> {
        self.piece.first_offset..self.next_offset
    }

    /// Whether it was merged of objects of different times.
    pub fn is_merged(&self) -> bool {
        self.piece.place.source.is_merged()
    }

    /// Whether all batches have the time of their object's append.
    pub fn has_one_time(&self) -> bool {
        !self.is_merged() && self.piece.place.batches.kind() == Some(BatchKind::Rawline)
    }
}

/// Why objects do not continue a topic.
#[derive(Debug, thiserror::Error)]
#[error("the topic continues at offset {expected}, but an object begins at {found}: records are missing or duplicate")]
pub(crate) struct Gap {
    expected: u64,
    found: u64,
}

impl TopicIndex {
    /// An empty one. `checks_pieces` unless the store checks an object before it returns a
    /// part of it.
    pub fn in_journal(checks_pieces: bool) -> TopicIndex {
        TopicIndex { checks_pieces, ..TopicIndex::default() }
    }

    /// Adds a piece of a journal object. A topic's first piece may begin anywhere, because its front may have been
    /// deleted.
    pub fn push_piece(&mut self, piece: &Piece, next_offset: u64) -> Result<(), Gap> {
        let first_offset = piece.first_offset;
        // The end of an object is never 0.
        let is_first = self.next_offset == 0;
        if !is_first && first_offset != self.next_offset || next_offset <= first_offset {
            return Err(Gap { expected: self.next_offset, found: first_offset });
        }
        let entry = ObjectEntry { piece: *piece, verified: !self.checks_pieces };
        let before = self.entries.back().and_then(ObjectEntry::appended_us);
        self.times_go_back |= is_back(before, entry.appended_us());
        self.bytes += entry.bytes();
        if self.entries.len() == self.entries.capacity() {
            let objects = self.entries.len();
            let more = if objects < MANY_OBJECTS { (objects / 4).max(1) } else { objects };
            self.entries.reserve_exact(more);
        }
        self.entries.push_back(entry);
        self.next_offset = next_offset;
        Ok(())
    }

    /// Records the transactions of a piece's batches, before the piece is added.
    pub fn note_transactions<'a>(&mut self, mut offset: u64, batches: impl Iterator<Item = &'a Batch>) {
        for batch in batches {
            let next_offset = offset + u64::from(batch.records);
            if let (Some(part), Some(producer)) = (batch.transaction, batch.producer) {
                self.transactions.get_or_insert_default().note(part, producer.id, offset..next_offset);
            }
            offset = next_offset;
        }
    }

    /// Begins again with the transactions of a snapshot.
    pub fn set_transactions(&mut self, transactions: Option<&PartitionTransactions>) {
        self.transactions = transactions.cloned().map(Box::new);
    }

    /// The transactions that write here, if there were any.
    pub fn transactions(&self) -> Option<&PartitionTransactions> {
        self.transactions.as_deref()
    }

    /// The last stable offset: all transactions that have records before it have ended.
    pub fn stable_offset(&self) -> u64 {
        self.transactions().map_or(self.next_offset, |transactions| transactions.stable_offset(self.offsets()))
    }

    /// Begins again with the pieces of a snapshot, which says how far the records go. Objects keep no numbers.
    pub fn restore(&mut self, offsets: &Range<u64>, pieces: &[Piece]) {
        assert!(offsets.start <= offsets.end, "a partition's records are {offsets:?}");
        let deleted = self.deleted + self.entries.len() as u64;
        let mut restored = TopicIndex { deleted, ..TopicIndex::in_journal(self.checks_pieces) };
        let ends = pieces.iter().skip(1).map(|next| next.first_offset).chain([offsets.end]);
        for (piece, next_offset) in pieces.iter().zip(ends) {
            let pushed = restored.push_piece(piece, next_offset);
            assert!(pushed.is_ok(), "{piece:?} in a snapshot that was checked: {pushed:?}");
        }
        restored.next_offset = offsets.end;
        restored.trim(offsets.start);
        restored.delete_hidden();
        *self = restored;
    }

    /// The pieces of journal objects that hold a record from `offset` on, in order, each with the offset after its last
    /// record. The newest piece of a partition without a record isn't one of them: its object may be deleted.
    pub fn pieces_from(&self, offset: u64) -> impl Iterator<Item = (Piece, u64)> {
        let offset = offset.max(self.first_offset());
        let after = self.entries.partition_point(|entry| entry.piece.first_offset <= offset);
        let alive = if offset < self.next_offset { after.saturating_sub(1)..self.entries.len() } else { 0..0 };
        let ends =
            self.entries.range(alive.clone()).skip(1).map(|next| next.piece.first_offset).chain([self.next_offset]);
        self.entries.range(alive).map(|entry| entry.piece).zip(ends)
    }

    /// Replaces the sources of a merged piece by it. Records deleted meanwhile stay deleted. Objects
    /// keep no numbers. Returns the size of the sources.
    pub fn merge(&mut self, merged: &Piece, next_offset: u64) -> u64 {
        let start = self.entries.partition_point(|entry| entry.piece.first_offset < merged.first_offset);
        let end = self.entries.partition_point(|entry| entry.piece.first_offset < next_offset);
        let Some(first) = self.entries.range(start..end).next() else { return 0 };
        let ends_at = self.entries.get(end).map_or(self.next_offset, |next| next.piece.first_offset);
        assert_eq!(ends_at, next_offset, "{merged:?} takes the place of other records");
        let begins_at = first.piece.first_offset;
        assert!(begins_at == merged.first_offset || start == 0, "{merged:?} begins at {begins_at} of a topic");
        let rest = self.entries.split_off(end);
        let replaced: u64 = self.entries.drain(start..).map(|entry| entry.bytes()).sum();
        assert!(replaced <= self.bytes, "{replaced} of {} bytes are merged", self.bytes);
        self.bytes -= replaced;
        // The numbers of all objects change: a search that is running begins again at the first.
        self.deleted += (start + rest.len()) as u64 + (end - start) as u64;
        let topic_ends_at = std::mem::replace(&mut self.next_offset, merged.first_offset);
        let pushed = self.push_piece(merged, next_offset);
        assert!(pushed.is_ok(), "{merged:?} in the place of others: {pushed:?}");
        self.entries.extend(rest);
        self.next_offset = topic_ends_at;
        replaced
    }

    pub fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// Offset of the first record; `next_offset` in an empty topic.
    pub fn first_offset(&self) -> u64 {
        self.entries.front().map_or(self.next_offset, |entry| entry.piece.first_offset).max(self.trimmed_to)
    }

    /// The offsets of the records.
    pub fn offsets(&self) -> Range<u64> {
        self.first_offset()..self.next_offset
    }

    /// Offset of the newest object's first record; `next_offset` in an empty topic.
    pub fn newest_first_offset(&self) -> u64 {
        self.entries.back().map_or(self.next_offset, |entry| entry.piece.first_offset)
    }

    pub fn objects(&self) -> usize {
        self.entries.len()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time of the newest append, if known.
    pub fn appended_us(&self) -> Option<u64> {
        self.entries.back().and_then(ObjectEntry::appended_us).map(NonZeroU64::get)
    }

    /// The object that holds `offset`, if there is one.
    pub fn find(&self, offset: u64) -> Option<Found> {
        if offset >= self.next_offset {
            return None;
        }
        let after = self.entries.partition_point(|entry| entry.piece.first_offset <= offset);
        let found = self.at(after.checked_sub(1)?)?;
        assert!(found.offsets().contains(&offset), "offset {offset} was searched in {:?}", found.offsets());
        Some(found)
    }

    /// The objects from the one that begins at `offset` on. None if none begins there, or if its first record is
    /// deleted.
    pub fn run(&self, offset: u64) -> impl Iterator<Item = Found> {
        let start = self.entries.partition_point(|entry| entry.piece.first_offset < offset);
        let begins = self.entries.get(start).is_some_and(|entry| entry.piece.first_offset == offset);
        let end = if begins && offset >= self.first_offset() { self.entries.len() } else { start };
        (start..end).map_while(|position| self.at(position))
    }

    /// The object at `position` among the topic's, from 0.
    pub fn at(&self, position: usize) -> Option<Found> {
        let entry = self.entries.get(position)?;
        let next_offset = self.entries.get(position + 1).map_or(self.next_offset, |next| next.piece.first_offset);
        assert!(entry.piece.first_offset < next_offset, "an object at {} to {next_offset}", entry.piece.first_offset);
        let ObjectEntry { piece, verified } = *entry;
        Some(Found { piece, next_offset, verified })
    }

    /// The object that holds `offset`, or the first after it, unless all its records are known to be older than
    /// `time_us`. After a number of objects, or at the end: the offset to continue at.
    pub fn newer_from(&self, offset: u64, time_us: u64) -> Result<Found, u64> {
        let start = self.entries.partition_point(|entry| entry.piece.first_offset <= offset).saturating_sub(1);
        let start = if offset < self.next_offset { start } else { self.entries.len() };
        let end = self.entries.len().min(start + PIECES_PER_VISIT);
        let older = self.entries.range(start..end).take_while(|entry| entry.is_older(time_us)).count();
        match self.at(start + older) {
            Some(found) if start + older < end => Ok(found),
            following => Err(following.map_or(self.next_offset, |found| found.piece.first_offset)),
        }
    }

    /// The last object that begins before `offset`, unless all its records are known to be older than `time_us`, or
    /// were appended before `appended_us`. After a number of objects, or at the front: the offset to continue before.
    pub fn newer_before(&self, offset: u64, time_us: u64, appended_us: u64) -> Result<Found, u64> {
        let end = self.entries.partition_point(|entry| entry.piece.first_offset < offset);
        let start = end.saturating_sub(PIECES_PER_VISIT);
        let is_earlier = |entry: &ObjectEntry| entry.appended_us().is_some_and(|time| time.get() < appended_us);
        for (position, entry) in (start..end).zip(self.entries.range(start..end)).rev() {
            if is_earlier(entry) {
                return Err(0);
            }
            if let Some(found) = self.at(position).filter(|_| !entry.is_older(time_us)) {
                return Ok(found);
            }
        }
        Err(if start > 0 { self.at(start).map_or(0, |found| found.piece.first_offset) } else { 0 })
    }

    /// Whether an object has an earlier time than one before it, so that a search by time has to look at all.
    pub fn times_go_back(&self) -> bool {
        self.times_go_back
    }

    /// A part of a search by time: the offset where the records begin that it is for, or none if it isn't over.
    pub fn since(&self, search: &mut Since) -> Option<u64> {
        let start = self.entries.partition_point(|entry| entry.piece.first_offset < search.offset).max(self.hidden());
        let end = self.entries.len().min(start + PIECES_PER_VISIT);
        for entry in self.entries.range(start.min(end)..end) {
            let possible = entry.appended_us().filter(|time| time.get() <= search.possible_us);
            match possible {
                None => drop(search.wrong_from.get_or_insert(entry.piece.first_offset)),
                Some(time) if time.get() < search.time_us => search.wrong_from = None,
                Some(_) => return Some(search.wrong_from.unwrap_or(entry.piece.first_offset).max(self.first_offset())),
            }
        }
        search.offset = self.entries.get(end).map_or(self.next_offset, |entry| entry.piece.first_offset);
        if end < self.entries.len() {
            return None;
        }
        // Whatever is stored was appended before this search began.
        let newest = search.wrong_from.filter(|_| search.time_us <= search.possible_us);
        Some(newest.unwrap_or(self.next_offset).max(self.first_offset()))
    }

    /// The numbers of the objects that hold records from the first offset on. An object keeps its number.
    pub fn numbers(&self) -> Range<u64> {
        self.deleted + self.hidden() as u64..self.deleted + self.entries.len() as u64
    }

    /// The object with this number, if there is one.
    pub fn numbered(&self, number: u64) -> Option<Found> {
        self.at(self.position(number)?)
    }

    fn position(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.deleted)?).ok()
    }

    /// The offset where the longest run of objects up to the newest begins that has at most `bytes_max` bytes.
    pub fn first_within(&self, bytes_max: u64) -> u64 {
        let mut bytes = self.bytes;
        for entry in &self.entries {
            if bytes <= bytes_max {
                return entry.piece.first_offset;
            }
            bytes -= entry.bytes();
        }
        self.next_offset
    }

    /// Objects that follow `offset`'s, without the one that holds it: at most `objects_max` of them, and fewer once
    /// they have `bytes_max` bytes.
    pub fn after(&self, offset: u64, objects_max: usize, bytes_max: u64) -> Vec<Place> {
        let start = self.entries.partition_point(|entry| entry.piece.first_offset <= offset);
        let mut bytes = 0;
        let following = self.entries.iter().skip(start).take(objects_max);
        let wanted = following.take_while(|entry| {
            let is_wanted = bytes < bytes_max;
            bytes += entry.bytes();
            is_wanted
        });
        wanted.map(|entry| entry.piece.place).collect()
    }

    /// Notes that this piece was found intact. A merged one may have taken its place meanwhile.
    pub fn set_verified(&mut self, piece: &Piece) {
        if let Some(entry) = self.entry_mut(piece.first_offset)
            && entry.piece.place == piece.place
        {
            entry.verified = true;
        }
    }

    /// Deletes the records below `offset`. Their objects stay until [`TopicIndex::delete_hidden`].
    pub fn trim(&mut self, offset: u64) {
        assert!(offset <= self.next_offset, "trimmed to {offset} in a topic that ends at {}", self.next_offset);
        self.trimmed_to = self.trimmed_to.max(offset);
        if let Some(transactions) = &mut self.transactions {
            transactions.trim(self.trimmed_to);
        }
        self.transactions = self.transactions.take().filter(|transactions| !transactions.is_empty());
    }

    /// Number of objects all of whose records are deleted. The newest object never counts: its end and its time are
    /// the topic's.
    pub fn hidden(&self) -> usize {
        // An object ends where the next one begins.
        let begun = self.entries.partition_point(|entry| entry.piece.first_offset <= self.trimmed_to);
        begun.saturating_sub(1)
    }

    /// Removes the objects all of whose records are deleted. Returns their size in bytes.
    pub fn delete_hidden(&mut self) -> u64 {
        let mut deleted_bytes = 0;
        let hidden = self.hidden();
        for entry in self.entries.drain(..hidden) {
            deleted_bytes += entry.bytes();
            self.deleted += 1;
        }
        assert!(deleted_bytes <= self.bytes, "deleted {deleted_bytes} bytes of a topic of {}", self.bytes);
        self.bytes -= deleted_bytes;
        if self.times_go_back && hidden > 0 {
            let following = self.entries.iter().skip(1);
            let mut pairs = self.entries.iter().zip(following);
            self.times_go_back = pairs.any(|(one, next)| is_back(one.appended_us(), next.appended_us()));
        }
        assert!(hidden == 0 || !self.entries.is_empty(), "a topic lost its newest object");
        deleted_bytes
    }

    fn entry_mut(&mut self, first_offset: u64) -> Option<&mut ObjectEntry> {
        let position = self.entries.binary_search_by_key(&first_offset, |entry| entry.piece.first_offset).ok()?;
        self.entries.get_mut(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_journal::{BatchCount, Source};

    #[test]
    fn an_index_of_few_objects_has_room_for_a_quarter_more_and_one_of_many_doubles() {
        let batches = BatchCount::of(std::iter::once(BatchKind::Rawline));
        let mut index = TopicIndex::in_journal(false);
        let (mut room_before, mut grown) = (0, 0);
        for number in 0..10_000 {
            let source = Source::Journal(number + 1);
            let place =
                Place { source, tag: 0, object_bytes: 216, entries_at: 104, batches, batches_at: 144, bytes: 72 };
            let piece = Piece { first_offset: number, appended_us: 0, newest_us: 0, place };
            index.push_piece(&piece, number + 1).unwrap();
            let (objects, room) = (index.objects(), index.entries.capacity());
            let most = if objects <= MANY_OBJECTS { objects / 4 } else { objects };
            assert!(room - objects <= most, "{objects} objects in room for {room}");
            grown += usize::from(room != room_before);
            room_before = room;
        }
        assert!(grown < 40, "room was made {grown} times");
    }
}
