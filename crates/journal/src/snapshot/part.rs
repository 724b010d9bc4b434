//! Reads a part of a snapshot: topics, and partitions with their pieces. Parts are read in any order, each by itself.

use super::parse::Parts;
use super::raw::{ALIGNMENT, RawAppend, RawPartition, RawPiece, RawProducer, RawTopic, part_checksum};
use super::{SnapshotError, SnapshotName, are_in_order};
use crate::limits::{NAME_BYTES_MAX, PRODUCERS_MAX, SETTINGS_BYTES_MAX};
use crate::merges::Merges;
use crate::partition::Partition;
use crate::partition_id::PartitionId;
use crate::place::{BatchCount, Piece, Place, Source};
use crate::producers::{Content, History, Producers, REMEMBERED_MAX, Stored};
use crate::shared_map::SharedMap;
use crate::topics::Topic;
use std::collections::{BTreeMap, VecDeque};
use zerocopy::little_endian::U64;

/// A part as its root describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartEntry {
    /// Its name.
    pub name: SnapshotName,
    /// Its size.
    pub bytes: u64,
    pub(super) topics: u32,
    pub(super) partitions: u32,
    /// Of the whole snapshot.
    pub(super) merges: Merges,
    /// The newest time of an object before the snapshot.
    pub(super) newest_us: u64,
}

/// The content of a part. What it says is possible by itself, and was not compared with other parts.
#[derive(Debug)]
pub struct SnapshotPart {
    topics: Vec<(u64, Topic)>,
    partitions: Vec<(PartitionId, Partition, Vec<Piece>)>,
}

/// The parts of a snapshot that were read, joined in order.
#[derive(Debug, Default)]
pub struct JoinedParts {
    pub(super) count: usize,
    pub(super) topics: SharedMap<u64, Topic>,
    pub(super) partitions: SharedMap<PartitionId, Partition>,
    pub(super) pieces: BTreeMap<PartitionId, Vec<Piece>>,
}

impl JoinedParts {
    /// Adds the next part.
    pub fn add(&mut self, part: SnapshotPart) -> Result<(), SnapshotError> {
        self.count += 1;
        for (id, topic) in part.topics {
            if self.topics.last_key_value().is_some_and(|(before, _)| *before >= id) {
                return Err(SnapshotError::Content("the order of the topics"));
            }
            self.topics.insert(id, topic);
        }
        for (id, partition, pieces) in part.partitions {
            if self.partitions.last_key_value().is_some_and(|(before, _)| *before >= id) {
                return Err(SnapshotError::Content("a partition's topic or number"));
            }
            self.partitions.insert(id, partition);
            if !pieces.is_empty() {
                self.pieces.insert(id, pieces);
            }
        }
        Ok(())
    }
}

impl PartEntry {
    /// Reads the part.
    pub fn parse(&self, bytes: &[u8]) -> Result<SnapshotPart, SnapshotError> {
        let mut parts = self.check(bytes)?;
        let mut topics = Vec::new();
        for _ in 0..self.topics {
            topics.push(parts.topic()?);
        }
        let mut partitions = Vec::new();
        for _ in 0..self.partitions {
            partitions.push(parts.partition(self)?);
        }
        if parts.is_empty() {
            Ok(SnapshotPart { topics, partitions })
        } else {
            Err(SnapshotError::Content("bytes after a part"))
        }
    }

    /// The pieces of the part's partitions, in order, without their state. The checksum is right, and that is all that
    /// is known of the rest.
    pub(crate) fn pieces<'a>(&self, bytes: &'a [u8]) -> Result<Pieces<'a>, SnapshotError> {
        let mut parts = self.check(bytes)?;
        for _ in 0..self.topics {
            parts.topic()?;
        }
        let (partition, partitions) = (PartitionId { topic: 0, number: 0 }, self.partitions);
        Ok(Pieces { parts, partitions, partition, pieces: 0 })
    }

    fn check<'a>(&self, bytes: &'a [u8]) -> Result<Parts<'a>, SnapshotError> {
        let is_sound = bytes.len() as u64 == self.bytes
            && self.name.part.is_some_and(|(_, crc32c)| crc32c == part_checksum(bytes));
        if is_sound { Ok(Parts::new(bytes)) } else { Err(SnapshotError::Part { part: self.name }) }
    }
}

/// The pieces of a part that haven't been read, in order.
pub(crate) struct Pieces<'a> {
    parts: Parts<'a>,
    /// Number of partitions that follow.
    partitions: u32,
    partition: PartitionId,
    /// Number of its pieces that follow.
    pieces: u64,
}

impl Pieces<'_> {
    /// The next one with its partition.
    pub fn next(&mut self) -> Result<Option<(PartitionId, Piece)>, SnapshotError> {
        while self.pieces == 0 {
            if self.partitions == 0 {
                return Ok(None);
            }
            self.partitions -= 1;
            let raw: RawPartition = self.parts.next()?;
            self.partition = PartitionId { topic: raw.topic.get(), number: raw.number.get() };
            for _ in 0..raw.producers.get() {
                self.parts.producer(raw.next_offset.get(), u64::MAX)?;
            }
            self.pieces = raw.pieces.get();
        }
        self.pieces -= 1;
        Ok(Some((self.partition, self.parts.piece()?)))
    }
}

impl Parts<'_> {
    fn topic(&mut self) -> Result<(u64, Topic), SnapshotError> {
        let raw: RawTopic = self.next()?;
        let (name_bytes, settings_bytes) = (raw.name_bytes.get() as usize, raw.settings_bytes.get() as usize);
        if name_bytes == 0 || name_bytes > NAME_BYTES_MAX || settings_bytes > SETTINGS_BYTES_MAX {
            return Err(SnapshotError::Content("the size of a topic's name or settings"));
        }
        let texts = self.bytes((name_bytes + settings_bytes).next_multiple_of(ALIGNMENT))?;
        let (name, settings) = texts.split_at(name_bytes);
        let name = str::from_utf8(name).map_err(|_| SnapshotError::Content("a topic's name"))?;
        let settings = settings.get(..settings_bytes).ok_or(SnapshotError::Content("its length"))?;
        Ok((raw.id.get(), Topic { name: name.into(), partitions: raw.partitions.get(), settings: settings.into() }))
    }

    fn partition(&mut self, entry: &PartEntry) -> Result<(PartitionId, Partition, Vec<Piece>), SnapshotError> {
        let raw: RawPartition = self.next()?;
        let id = PartitionId { topic: raw.topic.get(), number: raw.number.get() };
        let (first_offset, next_offset) = (raw.first_offset.get(), raw.next_offset.get());
        if next_offset == 0 || first_offset > next_offset {
            return Err(SnapshotError::Content("a partition's offsets"));
        }
        if raw.producers.get() as usize > PRODUCERS_MAX {
            return Err(SnapshotError::Content("a partition's number of producers"));
        }
        let mut producers = SharedMap::new();
        for _ in 0..raw.producers.get() {
            let (producer, history) = self.producer(next_offset, entry.newest_us)?;
            if producers.last_key_value().is_some_and(|(before, _)| *before >= producer) {
                return Err(SnapshotError::Content("the order of a partition's producers"));
            }
            producers.insert(producer, history);
        }
        // Of a million partitions with one piece each, room for more would be a fifth of the memory.
        let room = usize::try_from(raw.pieces.get()).unwrap_or(usize::MAX).min(self.left() / size_of::<RawPiece>());
        let mut found: Vec<Piece> = Vec::with_capacity(room);
        for _ in 0..raw.pieces.get() {
            let piece = self.piece()?;
            let is_known = match piece.place.source {
                Source::Journal(number) => number < entry.name.next_number,
                Source::Merged(number) => entry.merges.is_closed(number),
            };
            if !is_known || piece.first_offset >= next_offset || !piece.place.is_sound() {
                return Err(SnapshotError::Content("a partition's pieces"));
            }
            found.push(piece);
        }
        if !are_in_order(&found) {
            return Err(SnapshotError::Content("a partition's pieces"));
        }
        let mut partition = Partition::new(first_offset..next_offset);
        if !producers.is_empty() {
            partition.change_producers(|of_partition| *of_partition = Producers(producers));
        }
        Ok((id, partition, found))
    }

    fn producer(&mut self, next_offset: u64, time_us: u64) -> Result<(u64, History), SnapshotError> {
        let raw: RawProducer = self.next()?;
        if !(1..=REMEMBERED_MAX).contains(&(raw.appends.get() as usize)) {
            return Err(SnapshotError::Content("a producer's number of appends"));
        }
        let appended_us = self.next::<U64>()?.get();
        if appended_us > time_us {
            return Err(SnapshotError::Content("a producer's time"));
        }
        let mut stored = VecDeque::new();
        for _ in 0..raw.appends.get() {
            let raw: RawAppend = self.next()?;
            let (sequence, first_offset, records) = (raw.sequence.get(), raw.first_offset.get(), raw.records.get());
            let content = Content { records, crc32c: raw.crc32c.get() };
            let ends_in = |first: u64, end: u64| first.checked_add(u64::from(records)).is_some_and(|sum| sum <= end);
            if records == 0 || !ends_in(sequence, u64::MAX) || !ends_in(first_offset, next_offset) {
                return Err(SnapshotError::Content("a producer's append"));
            }
            stored.push_back(Stored { sequence, content, first_offset });
        }
        Ok((raw.id.get(), History { epoch: raw.epoch.get(), appended_us, stored }))
    }

    fn piece(&mut self) -> Result<Piece, SnapshotError> {
        let raw: RawPiece = self.next()?;
        let place = Place {
            source: Source::from_bits(raw.number.get()),
            tag: raw.tag.get(),
            object_bytes: raw.object_bytes.get(),
            entries_at: raw.entries_at.get(),
            batches: BatchCount::from_bits(raw.batches.get()),
            batches_at: raw.batches_at.get(),
            bytes: raw.bytes.get(),
        };
        let (appended_us, newest_us) = (raw.appended_us.get(), raw.newest_us.get());
        Ok(Piece { first_offset: raw.first_offset.get(), appended_us, newest_us, place })
    }
}
