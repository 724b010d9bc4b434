//! Reads a snapshot and checks it.

use super::raw::{ALIGNMENT, HEADER_BYTES, MAGIC, VERSION, checksum};
use super::raw::{RawAppend, RawHeader, RawMore, RawNamed, RawPartition, RawPiece, RawProducer, RawTopic};
use super::raw::{RawCommitted, RawGroup};
use super::{Snapshot, are_in_order};
use crate::chain::{Chain, Id};
use crate::control::Committed;
use crate::groups::Groups;
use crate::limits::{NAME_BYTES_MAX, OWNER_BYTES_MAX, PRODUCERS_MAX, SETTINGS_BYTES_MAX};
use crate::merges::Merges;
use crate::names::{Named, Names};
use crate::offsets::{GroupOffsets, Offsets};
use crate::partition::Partition;
use crate::partition_id::PartitionId;
use crate::place::{BatchCount, Piece, Place, Source};
use crate::producers::{Content, History, Producers, REMEMBERED_MAX, Stored};
use crate::shared_map::SharedMap;
use crate::state::State;
use crate::times::Times;
use crate::topics::{Topic, Topics};
use crate::transactions::Transactions;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use thiserror::Error;
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// Why bytes are not a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// There are too few or too many bytes.
    #[error("{have} bytes instead of {need}")]
    Length {
        /// Bytes found.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// Not the first four bytes of a snapshot.
    #[error("begins with {found:02x?}, not with \"RAWS\"")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A version that this broker doesn't know.
    #[error("snapshot version {found}; this broker knows version 1")]
    Version {
        /// The snapshot's version.
        found: u8,
    },
    /// The checksum is wrong.
    #[error("checksum mismatch")]
    Crc,
    /// The snapshot breaks one of its rules.
    #[error("the snapshot contradicts itself: {0}")]
    Content(&'static str),
}

impl Snapshot {
    /// Reads a snapshot and checks all of it.
    pub fn parse(bytes: &[u8]) -> Result<Snapshot, SnapshotError> {
        let (header, parts) = open(bytes)?;
        read(&header, parts)
    }

    /// The number of the next object, the merges, and the pieces of a snapshot, in order, without its state. Their
    /// checksum is right, and that is all that is known of the rest.
    pub(crate) fn read_pieces(bytes: &[u8]) -> Result<(u64, Merges, Pieces<'_>), SnapshotError> {
        let (header, mut parts) = open(bytes)?;
        let more: RawMore = parts.next()?;
        for _ in 0..header.topics.get() {
            parts.topic()?;
        }
        parts.names(&more)?;
        for _ in 0..more.groups.get() {
            parts.skip_group()?;
        }
        let merges = Merges::new(header.merges.get(), header.open_merge.get());
        let merges = merges.ok_or(SnapshotError::Content("the merges"))?;
        let (partition, partitions) = (PartitionId { topic: 0, number: 0 }, header.partitions.get());
        Ok((header.next_number.get(), merges, Pieces { parts, partitions, partition, pieces: 0 }))
    }
}

/// The header of a snapshot with the right checksum, and its parts.
fn open(bytes: &[u8]) -> Result<(RawHeader, Parts<'_>), SnapshotError> {
    let have = bytes.len() as u64;
    let Ok((header, rest)) = RawHeader::read_from_prefix(bytes) else {
        return Err(SnapshotError::Length { have, need: HEADER_BYTES as u64 });
    };
    if header.magic != MAGIC {
        return Err(SnapshotError::Magic { found: header.magic });
    }
    if header.version != VERSION {
        return Err(SnapshotError::Version { found: header.version });
    }
    if header.snapshot_bytes.get() != have {
        return Err(SnapshotError::Length { have, need: header.snapshot_bytes.get() });
    }
    if checksum(&header, rest) != header.crc32c.get() {
        return Err(SnapshotError::Crc);
    }
    Ok((header, Parts { rest }))
}

/// The pieces of a snapshot that haven't been read, in order.
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

fn read(header: &RawHeader, mut parts: Parts<'_>) -> Result<Snapshot, SnapshotError> {
    let last = Id { run: header.last_run.get(), commit: header.last_commit.get() };
    let chain = Chain::after(header.next_number.get(), last).ok_or(SnapshotError::Content("the chain's end"))?;
    let more: RawMore = parts.next()?;
    if more.zero.get() != 0 {
        return Err(SnapshotError::Content("a field that must be 0"));
    }
    let mut topics = SharedMap::new();
    for _ in 0..header.topics.get() {
        let (id, topic) = parts.topic()?;
        if topics.last_key_value().is_some_and(|(before, _)| *before >= id) {
            return Err(SnapshotError::Content("the order of the topics"));
        }
        topics.insert(id, topic);
    }
    let topics = Topics::new(header.next_topic.get(), topics).ok_or(SnapshotError::Content("the topics"))?;
    let merges = Merges::new(header.merges.get(), header.open_merge.get());
    let merges = merges.ok_or(SnapshotError::Content("the merges"))?;
    let names = parts.names(&more)?;
    let offsets = parts.groups(&more, &topics)?;
    let (transactions, partitions) = (Transactions::default(), SharedMap::new());
    let groups = Groups::default();
    let times = Times::of_snapshot(more.time_us.get());
    let state = State { chain, topics, merges, names, offsets, groups, transactions, times, partitions };
    let mut snapshot = Snapshot { state, pieces: BTreeMap::new() };
    for _ in 0..header.partitions.get() {
        parts.partition(&mut snapshot)?;
    }
    parts.transactions(&mut snapshot.state)?;
    snapshot.state.groups = parts.members(snapshot.state.times.newest_us())?;
    if parts.rest.is_empty() { Ok(snapshot) } else { Err(SnapshotError::Content("bytes after the last part")) }
}

/// The bytes that haven't been read.
pub(super) struct Parts<'a> {
    rest: &'a [u8],
}

impl Parts<'_> {
    pub(super) fn next<T: FromBytes + KnownLayout + Immutable>(&mut self) -> Result<T, SnapshotError> {
        let (part, rest) = T::read_from_prefix(self.rest).map_err(|_| SnapshotError::Content("its length"))?;
        self.rest = rest;
        Ok(part)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&[u8], SnapshotError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(SnapshotError::Content("its length"))?;
        self.rest = rest;
        Ok(bytes)
    }

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

    /// A name, and the name of the key that owns it.
    fn owned(&mut self, name_bytes: usize, owner_bytes: U16) -> Result<(Arc<str>, Arc<str>), SnapshotError> {
        let (wrong, owner_bytes) = (SnapshotError::Content("a name or its owner"), owner_bytes.get() as usize);
        if owner_bytes > OWNER_BYTES_MAX {
            return Err(wrong);
        }
        let texts = self.bytes((name_bytes + owner_bytes).next_multiple_of(ALIGNMENT))?;
        let (name, rest) = texts.split_at(name_bytes);
        let owner = rest.get(..owner_bytes).ok_or(wrong)?;
        let text = |bytes| str::from_utf8(bytes).map(Arc::from).map_err(|_| wrong);
        Ok((text(name)?, text(owner)?))
    }

    fn names(&mut self, more: &RawMore) -> Result<Names, SnapshotError> {
        let mut names = SharedMap::new();
        for _ in 0..more.names.get() {
            let raw: RawNamed = self.next()?;
            let (id, name_bytes) = (raw.id.get(), raw.name_bytes.get() as usize);
            if name_bytes == 0 || name_bytes > NAME_BYTES_MAX {
                return Err(SnapshotError::Content("a producer's name"));
            }
            let (name, owner) = self.owned(name_bytes, raw.owner_bytes)?;
            if names.last_key_value().is_some_and(|(before, _)| *before >= id) {
                return Err(SnapshotError::Content("the order of the producers' names"));
            }
            if raw.used_us > more.time_us {
                return Err(SnapshotError::Content("a producer's time"));
            }
            let (epoch, used_us) = (raw.epoch.get(), raw.used_us.get());
            names.insert(id, Named { name, owner, epoch, used_us, timeout_ms: 0, ended: None });
        }
        Names::new(names).ok_or(SnapshotError::Content("the producers' names"))
    }

    fn groups(&mut self, more: &RawMore, topics: &Topics) -> Result<Offsets, SnapshotError> {
        let mut groups: SharedMap<Arc<str>, GroupOffsets> = SharedMap::new();
        for _ in 0..more.groups.get() {
            let (name, group) = self.group(topics)?;
            if groups.last_key_value().is_some_and(|(before, _)| *before >= name) {
                return Err(SnapshotError::Content("the order of the groups"));
            }
            if group.used_us > more.time_us.get() {
                return Err(SnapshotError::Content("a group's time"));
            }
            groups.insert(name, group);
        }
        Offsets::new(groups, SharedMap::new()).ok_or(SnapshotError::Content("the number of the groups' offsets"))
    }

    fn group(&mut self, topics: &Topics) -> Result<(Arc<str>, GroupOffsets), SnapshotError> {
        let raw: RawGroup = self.next()?;
        let name_bytes = raw.name_bytes.get() as usize;
        if name_bytes == 0 || name_bytes > NAME_BYTES_MAX {
            return Err(SnapshotError::Content("a group's name"));
        }
        let (name, owner) = self.owned(name_bytes, raw.owner_bytes)?;
        let mut group = GroupOffsets { owner, used_us: raw.used_us.get(), committed: SharedMap::new() };
        for _ in 0..raw.offsets.get() {
            let raw: RawCommitted = self.next()?;
            let id = PartitionId { topic: raw.topic.get(), number: raw.number.get() };
            let metadata_bytes = raw.metadata_bytes.get() as usize;
            let is_in_order = group.committed.last_key_value().is_none_or(|(before, _)| *before < id);
            if !is_in_order || topics.check_committed(id.topic, id.number).is_err() {
                return Err(SnapshotError::Content("the partition of a group's offset"));
            }
            if metadata_bytes > SETTINGS_BYTES_MAX {
                return Err(SnapshotError::Content("the size of what is committed with an offset"));
            }
            let (metadata, _) = self.bytes(metadata_bytes.next_multiple_of(ALIGNMENT))?.split_at(metadata_bytes);
            group.committed.insert(id, Committed { offset: raw.offset.get().cast_signed(), metadata: metadata.into() });
        }
        Ok((name, group))
    }

    fn skip_group(&mut self) -> Result<(), SnapshotError> {
        let raw: RawGroup = self.next()?;
        self.owned(raw.name_bytes.get() as usize, raw.owner_bytes)?;
        for _ in 0..raw.offsets.get() {
            let raw: RawCommitted = self.next()?;
            self.bytes((raw.metadata_bytes.get() as usize).next_multiple_of(ALIGNMENT))?;
        }
        Ok(())
    }

    fn partition(&mut self, snapshot: &mut Snapshot) -> Result<(), SnapshotError> {
        let raw: RawPartition = self.next()?;
        let id = PartitionId { topic: raw.topic.get(), number: raw.number.get() };
        let (first_offset, next_offset) = (raw.first_offset.get(), raw.next_offset.get());
        let Snapshot { state, pieces } = snapshot;
        let is_in_order = state.partitions.last_key_value().is_none_or(|(before, _)| *before < id);
        if !is_in_order || state.topics.check_partition(id.topic, id.number).is_err() {
            return Err(SnapshotError::Content("a partition's topic or number"));
        }
        if next_offset == 0 || first_offset > next_offset {
            return Err(SnapshotError::Content("a partition's offsets"));
        }
        if raw.producers.get() as usize > PRODUCERS_MAX {
            return Err(SnapshotError::Content("a partition's number of producers"));
        }
        let mut producers = SharedMap::new();
        for _ in 0..raw.producers.get() {
            let (producer, history) = self.producer(next_offset, state.times.newest_us())?;
            if producers.last_key_value().is_some_and(|(before, _)| *before >= producer) {
                return Err(SnapshotError::Content("the order of a partition's producers"));
            }
            producers.insert(producer, history);
        }
        let mut found: Vec<Piece> = Vec::new();
        for _ in 0..raw.pieces.get() {
            let piece = self.piece()?;
            let is_known = match piece.place.source {
                Source::Journal(number) => number < state.chain.next(),
                Source::Merged(number) => state.merges.is_closed(number),
            };
            if !is_known || piece.first_offset >= next_offset || !piece.place.is_sound() {
                return Err(SnapshotError::Content("a partition's pieces"));
            }
            found.push(piece);
        }
        if !are_in_order(&found) {
            return Err(SnapshotError::Content("a partition's pieces"));
        }
        if !found.is_empty() {
            pieces.insert(id, found);
        }
        let mut partition = Partition::new(first_offset..next_offset);
        if !producers.is_empty() {
            partition.change_producers(|of_partition| *of_partition = Producers(producers));
        }
        state.partitions.insert(id, partition);
        Ok(())
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
