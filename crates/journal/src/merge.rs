//! Which objects a merge copies, and which of their pieces it joins. Pure functions of the objects' contents: the same
//! for every broker, without a clock.

use crate::index_bytes;
use crate::limits::{MERGED_PIECES_MAX, OBJECT_APPENDS_MAX, OBJECT_BYTES_MAX, PIECE_OFFSETS_MAX};
use crate::partition_id::PartitionId;
use crate::place::{Piece, Place, Source};
use std::collections::BTreeMap;
use std::ops::Range;

/// How large merged objects become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeLimits {
    /// A merge copies about as many bytes. An object with half of them alive is large enough.
    pub target_bytes: u64,
    /// A journal object with this many bytes of a single partition isn't merged. An object of this size of which less
    /// than half is alive is merged without waiting for others, and smaller ones if this many of their bytes together
    /// are dead.
    pub keep_bytes: u64,
    /// A journal object isn't merged if each of its pieces has this many bytes: reading a partition of it is as good as
    /// reading a merged object, and its bytes are written once.
    pub keep_piece_bytes: u64,
    /// Whether journal objects share files: one of them alone makes no room.
    pub shares_files: bool,
    /// So many small objects are merged, however few bytes they have. Those that share files are merged only if that
    /// joins pieces.
    pub objects_max: usize,
    /// Pieces are joined up to this size: retention deletes whole pieces.
    pub piece_bytes: u64,
    /// Pieces are joined if their times are not further apart, in microseconds: a piece has one time.
    pub piece_span_us: u64,
}

impl Default for MergeLimits {
    fn default() -> Self {
        MergeLimits {
            // Nine PUTs per GiB: with those of full journal objects, fewer than 130. A start lists few keys.
            target_bytes: TARGET_BYTES,
            // Where a PUT's fixed cost no longer shows.
            keep_bytes: 8 << 20,
            // In a bucket each object costs requests, however large its pieces are.
            keep_piece_bytes: u64::MAX,
            shares_files: false,
            // One page of a listing, and as many GETs if nothing is in the cache.
            objects_max: 1024,
            // The size of a full journal object of one partition.
            piece_bytes: 8 << 20,
            // The unit of retention by age.
            piece_span_us: 3_600_000_000,
        }
    }
}

const TARGET_BYTES: u64 = 96 << 20;

/// Objects with so many batches are merged too, however few objects they are: what their pieces take in memory and in
/// snapshots is little then. Where more partitions than a merged object takes have a record each time, most would
/// stay alone with fewer.
const MANY_BATCHES: usize = OBJECT_APPENDS_MAX * 3 / 2;

/// Maximum number of batches of the journal objects that are merged at once, into several objects: each is read once
/// for each of these.
const JOURNAL_BATCHES_MAX: usize = 3 * OBJECT_APPENDS_MAX;

/// So many times more journal objects are merged at once where they share files, and cost no requests each: a file is
/// freed when all of them are merged.
const SHARED_PARTS: usize = 4;

/// A merge whose purpose is to join pieces makes one of this many at least, on average: it copies their bytes.
const JOINED_MIN: usize = 4;

const _: () = assert!(TARGET_BYTES * 2 <= OBJECT_BYTES_MAX / 4, "the last object that is added may be half a target");

impl MergeLimits {
    /// Whether the object of this piece may be chosen because of this piece. An object without such a piece is never
    /// chosen, so that its pieces needn't be added up.
    pub fn may_choose(&self, piece: &Piece, sparse: &[Range<u64>]) -> bool {
        let Place { source, bytes, object_bytes, .. } = piece.place;
        let is_large_and_dead =
            u64::from(object_bytes) >= self.keep_bytes && u64::from(bytes) * 2 < object_bytes.into();
        source.is_merged() || u64::from(bytes) < self.keep_piece_bytes || is_large_and_dead || is_in(sparse, source)
    }

    pub(crate) fn is_shared(&self, source: Source) -> bool {
        self.shares_files && !source.is_merged()
    }
}

/// Whether it is a journal object with a number in one of the ranges.
fn is_in(ranges: &[Range<u64>], source: Source) -> bool {
    let number = source.number();
    let next = ranges.partition_point(|range| range.end <= number);
    !source.is_merged() && ranges.get(next).is_some_and(|range| range.contains(&number))
}

/// The live pieces of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// The object.
    pub source: Source,
    /// Its size in bytes.
    pub object_bytes: u64,
    /// Size of the batches in its pieces.
    pub bytes: u64,
    /// Number of these batches.
    pub batches: usize,
    /// Number of its pieces.
    pub pieces: usize,
    /// Size of the batches in the smallest of them.
    pub smallest_bytes: u64,
    /// Whether they are of one partition.
    pub is_single: bool,
}

/// Adds up pieces by object.
#[derive(Debug, Clone, Default)]
pub struct Uses {
    by_source: BTreeMap<Source, (Used, PartitionId)>,
    /// Number of pieces in journal objects.
    pieces: usize,
    /// Number of their partitions, and the newest of them.
    partitions: (usize, Option<PartitionId>),
}

impl Uses {
    /// Whether [`choose`] finds objects that are merged because most of their bytes are dead.
    pub fn have_dead(&self, limits: &MergeLimits) -> bool {
        self.all().any(|used| used.is_mostly_dead(limits)) || half_dead_bytes(self, limits) >= limits.keep_bytes
    }

    /// Whether an object of them is small: it is merged once there are enough others.
    pub fn have_small(&self, limits: &MergeLimits) -> bool {
        self.all().any(|used| used.is_small(true, limits))
    }

    /// Counts a piece. They are in order of partitions.
    pub fn add(&mut self, partition: PartitionId, piece: &Piece) {
        let place = &piece.place;
        let (source, object_bytes) = (place.source, u64::from(place.object_bytes));
        let none =
            Used { source, object_bytes, bytes: 0, batches: 0, pieces: 0, smallest_bytes: u64::MAX, is_single: true };
        let (used, first) = self.by_source.entry(source).or_insert((none, partition));
        assert_eq!(used.object_bytes, object_bytes, "{source:?} has two sizes");
        used.bytes += u64::from(place.bytes);
        used.batches += place.batches.count() as usize;
        used.pieces += 1;
        used.smallest_bytes = used.smallest_bytes.min(u64::from(place.bytes));
        used.is_single &= *first == partition;
        assert!(used.bytes <= object_bytes, "{used:?}");
        if !source.is_merged() {
            let (partitions, newest) = &mut self.partitions;
            *partitions += usize::from(newest.replace(partition) != Some(partition));
            self.pieces += 1;
        }
    }

    /// Whether a merge of journal objects joins pieces.
    fn join(&self) -> bool {
        self.pieces >= self.partitions.0 * JOINED_MIN
    }

    /// The live pieces, in order of objects: journal objects first, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = Used> {
        self.by_source.values().map(|(used, _)| *used)
    }
}

impl Used {
    /// Whether most of a large object is dead. It is worth a copy of the rest.
    fn is_mostly_dead(&self, limits: &MergeLimits) -> bool {
        self.object_bytes >= limits.keep_bytes && self.bytes * 2 < self.object_bytes && self.bytes < limits.target_bytes
    }

    /// Whether less than half of it is alive, though it may be small.
    fn is_half_dead(&self, limits: &MergeLimits) -> bool {
        self.dead_bytes() * 2 > self.object_bytes && self.bytes < limits.target_bytes && !limits.is_shared(self.source)
    }

    /// The bytes that a merge doesn't copy; it copies entries too.
    fn dead_bytes(&self) -> u64 {
        self.object_bytes.saturating_sub(index_bytes(self.pieces as u32, self.batches as u32, 0) + self.bytes)
    }

    /// Whether it is small, in bytes, batches and pieces, so that a merge with others gains something. `joins`: whether
    /// a merge of journal objects joins pieces, and gains something however many they are.
    fn is_small(&self, joins: bool, limits: &MergeLimits) -> bool {
        let is_kept =
            self.is_single && self.bytes >= limits.keep_bytes || self.smallest_bytes >= limits.keep_piece_bytes;
        let is_sparse = self.batches * 2 <= OBJECT_APPENDS_MAX && self.pieces * 2 <= MERGED_PIECES_MAX;
        !is_kept && (is_sparse || joins && !self.source.is_merged()) && self.bytes * 2 < limits.target_bytes
    }
}

/// The objects that the next merges copy, all pieces of each; none if they aren't worth a merge. Objects with numbers
/// in `sparse`, which are ranges in ascending order, share files of which less than half is alive: they are merged to
/// free the files.
///
/// Small objects of many partitions have more pieces than one merged object. Then several merges copy them, each a
/// range of the partitions ([`Joining::first_object`]), so that each joins the pieces of all objects.
///
/// Where a merge makes an object of the target's size, each of its sources was smaller than half. Where it makes a
/// smaller one, no merged source was larger than all the others together. So a byte is copied few times.
pub fn choose(uses: &Uses, sparse: &[Range<u64>], limits: &MergeLimits) -> Vec<Source> {
    let small: Vec<Used> = uses.all().filter(|used| used.is_small(uses.join(), limits)).collect();
    let mut chosen = Chosen::default();
    if small.iter().map(|used| used.bytes).sum::<u64>() >= limits.target_bytes {
        small.iter().take_while(|used| chosen.bytes < limits.target_bytes && chosen.add(used, limits)).count();
    } else if are_many(&small, uses.join(), limits) {
        let (mut merged, journal): (Vec<Used>, Vec<Used>) = small.iter().partition(|used| used.source.is_merged());
        journal.iter().take_while(|used| chosen.add(used, limits)).count();
        merged.sort_by_key(|used| (used.bytes, used.source));
        merged.iter().take_while(|used| used.bytes <= chosen.bytes && chosen.add(used, limits)).count();
    }
    if chosen.sources.len() < 2 {
        chosen = Chosen::default();
        let many = half_dead_bytes(uses, limits) >= limits.keep_bytes;
        let is_dead = |used: &Used| used.is_mostly_dead(limits) || many && used.is_half_dead(limits);
        let mut dead = uses.all().filter(|used| is_dead(used) || is_in(sparse, used.source));
        dead.by_ref().take_while(|used| chosen.bytes < limits.target_bytes && chosen.add(used, limits)).count();
    }
    chosen.sources
}

/// Whether small journal objects are merged although they have few bytes.
fn are_many(small: &[Used], joins: bool, limits: &MergeLimits) -> bool {
    let journal = || small.iter().filter(|used| !used.source.is_merged());
    // Each object costs requests, except where they share files.
    let are_many = journal().count() >= limits.objects_max && (joins || !limits.shares_files);
    are_many || joins && journal().map(|used| used.batches).sum::<usize>() >= MANY_BATCHES
}

/// The dead bytes of objects of which less than half is alive.
fn half_dead_bytes(uses: &Uses, limits: &MergeLimits) -> u64 {
    uses.all().filter(|used| used.is_half_dead(limits)).map(|used| used.dead_bytes()).sum()
}

#[derive(Default)]
struct Chosen {
    sources: Vec<Source>,
    bytes: u64,
    batches: usize,
}

impl Chosen {
    /// Adds an object, if there is room for it.
    fn add(&mut self, used: &Used, limits: &MergeLimits) -> bool {
        let (bytes, batches) = (self.bytes + used.bytes, self.batches + used.batches);
        // Merged objects are joined with others only where all make one.
        let batches_max = if used.source.is_merged() { OBJECT_APPENDS_MAX } else { JOURNAL_BATCHES_MAX };
        let objects_max = limits.objects_max * if limits.shares_files { SHARED_PARTS } else { 1 };
        let has_room = bytes < 2 * limits.target_bytes && batches <= batches_max && self.sources.len() < objects_max;
        if has_room {
            self.sources.push(used.source);
            (self.bytes, self.batches) = (bytes, batches);
        }
        has_room
    }
}

/// Adjacent pieces of a partition that become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The partition of the records.
    pub partition: PartitionId,
    /// The pieces, in order.
    pub pieces: Vec<Piece>,
    /// Offset after the last record.
    pub next_offset: u64,
}

impl Joined {
    fn batches(&self) -> usize {
        self.pieces.iter().map(|piece| piece.place.batches.count() as usize).sum()
    }

    /// Whether a piece can have the records from its first to just before `next_offset`. The bytes of a compacted topic
    /// don't say.
    pub fn has_offsets_for(&self, next_offset: u64) -> bool {
        let first_offset = self.pieces.first().map_or(next_offset, |first| first.first_offset);
        next_offset - first_offset <= PIECE_OFFSETS_MAX
    }
}

/// Joins adjacent pieces, as they are visited: those of many partitions take memory once.
pub struct Joining<'a> {
    limits: &'a MergeLimits,
    joined: Vec<Joined>,
    /// Bytes and batches of the last one.
    bytes: u64,
    batches: usize,
}

impl<'a> Joining<'a> {
    /// Nothing yet.
    pub fn new(limits: &'a MergeLimits) -> Joining<'a> {
        Joining { limits, joined: Vec::new(), bytes: 0, batches: 0 }
    }

    /// Adds a piece, with the offset after its last record. Pieces are in order of partition and offset.
    pub fn add(&mut self, partition: PartitionId, piece: &Piece, next_offset: u64) {
        let (more, more_batches) = (u64::from(piece.place.bytes), piece.place.batches.count() as usize);
        let begins_at =
            self.joined.last().and_then(|joined| joined.pieces.first()).map_or(0, |first| first.appended_us);
        match self.joined.last_mut() {
            Some(joined)
                if joined.partition == partition
                    && joined.next_offset == piece.first_offset
                    && self.bytes + more <= self.limits.piece_bytes
                    && self.batches + more_batches <= OBJECT_APPENDS_MAX
                    && joined.has_offsets_for(next_offset)
                    && piece.appended_us.abs_diff(begins_at) <= self.limits.piece_span_us =>
            {
                (self.bytes, self.batches) = (self.bytes + more, self.batches + more_batches);
                joined.pieces.push(*piece);
                joined.next_offset = next_offset;
            }
            last => {
                if let Some(whole) = last {
                    whole.pieces.shrink_to_fit();
                }
                (self.bytes, self.batches) = (more, more_batches);
                self.joined.push(Joined { partition, pieces: vec![*piece], next_offset });
            }
        }
    }

    /// All of them.
    pub fn all(self) -> Vec<Joined> {
        self.joined
    }

    /// Those for one merged object, and whether they are all. If they need several merged objects, this one has the
    /// first of them, about as much as each of the others.
    pub fn first_object(self) -> (Vec<Joined>, bool) {
        let mut joined = self.joined;
        let all: usize = joined.iter().map(Joined::batches).sum();
        let parts = joined.len().div_ceil(MERGED_PIECES_MAX).max(all.div_ceil(OBJECT_APPENDS_MAX));
        let (pieces_max, mut batches) = (joined.len().div_ceil(parts.max(1)), 0);
        let fits = |(number, joined): &(usize, &Joined)| {
            let before = batches;
            batches += joined.batches();
            *number == 0 || *number < pieces_max && before * parts < all && batches <= OBJECT_APPENDS_MAX
        };
        let count = joined.iter().enumerate().take_while(fits).count();
        let is_whole = count == joined.len();
        joined.truncate(count);
        (joined, is_whole)
    }
}

#[cfg(test)]
mod tests;
