//! Reads a snapshot's root, and checks it together with its parts.

use super::raw::{ALIGNMENT, HEADER_BYTES, MAGIC, VERSION, checksum};
use super::raw::{RawCommitted, RawGroup, RawHeader, RawMore, RawNamed, RawPart};
use super::{JoinedParts, PartEntry, Snapshot, SnapshotName};
use crate::chain::{Chain, Id};
use crate::control::Committed;
use crate::groups::Groups;
use crate::limits::{NAME_BYTES_MAX, OWNER_BYTES_MAX, SETTINGS_BYTES_MAX};
use crate::merges::Merges;
use crate::names::{Named, Names};
use crate::offsets::{GroupOffsets, Offsets};
use crate::partition_id::PartitionId;
use crate::shared_map::SharedMap;
use crate::state::State;
use crate::times::Times;
use crate::topics::Topics;
use crate::transactions::Transactions;
use std::sync::Arc;
use thiserror::Error;
use zerocopy::little_endian::U16;
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
    /// A part doesn't exist.
    #[error("its part {part} is missing")]
    Missing {
        /// The part.
        part: SnapshotName,
    },
    /// A part is damaged.
    #[error("its part {part} is damaged")]
    Part {
        /// The part.
        part: SnapshotName,
    },
    /// The snapshot breaks one of its rules.
    #[error("the snapshot contradicts itself: {0}")]
    Content(&'static str),
}

/// The root of a snapshot: everything but its topics and partitions, which are in its parts.
#[derive(Debug)]
pub struct SnapshotRoot<'a> {
    header: RawHeader,
    chain: Chain,
    merges: Merges,
    more: RawMore,
    entries: Vec<PartEntry>,
    inline: Option<&'a [u8]>,
    rest: Parts<'a>,
}

impl Snapshot {
    /// Reads a snapshot whose only part, if it has one, is in its root, and checks all of it.
    pub fn parse(bytes: &[u8]) -> Result<Snapshot, SnapshotError> {
        Snapshot::read(bytes, |entry| Err(SnapshotError::Missing { part: entry.name }))
    }

    /// Reads a snapshot one part after the other, and checks all of it.
    pub fn read<E: From<SnapshotError>>(
        root: &[u8],
        mut part: impl FnMut(&PartEntry) -> Result<Vec<u8>, E>,
    ) -> Result<Snapshot, E> {
        let root = SnapshotRoot::parse(root)?;
        let mut parts = JoinedParts::default();
        for entry in root.separate_parts() {
            parts.add(entry.parse(&part(entry)?)?)?;
        }
        Ok(root.finish(parts)?)
    }
}

impl<'a> SnapshotRoot<'a> {
    /// Reads a root: its checksum is right, and which parts it has. The rest is checked with them.
    pub fn parse(bytes: &'a [u8]) -> Result<SnapshotRoot<'a>, SnapshotError> {
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
        let mut rest = Parts { rest };
        let more: RawMore = rest.next()?;
        if more.zero.get() != 0 || header.zero_after_parts.get() != 0 {
            return Err(SnapshotError::Content("a field that must be 0"));
        }
        let last = Id { run: header.last_run.get(), commit: header.last_commit.get() };
        let chain = Chain::after(header.next_number.get(), last).ok_or(SnapshotError::Content("the chain's end"))?;
        let merges = Merges::new(header.merges.get(), header.open_merge.get());
        let merges = merges.ok_or(SnapshotError::Content("the merges"))?;
        let mut entries = Vec::new();
        for number in 0..header.parts.get() {
            let raw: RawPart = rest.next()?;
            if raw.zero.get() != 0 || raw.bytes.get() == 0 {
                return Err(SnapshotError::Content("the table of parts"));
            }
            entries.push(PartEntry {
                name: SnapshotName::part(header.next_number.get(), number, raw.crc32c.get()),
                bytes: raw.bytes.get(),
                topics: raw.topics.get(),
                partitions: raw.partitions.get(),
                merges,
                newest_us: more.time_us.get(),
            });
        }
        let inline = match entries.as_slice() {
            [only] => Some(rest.bytes(usize::try_from(only.bytes).unwrap_or(usize::MAX))?),
            _ => None,
        };
        Ok(SnapshotRoot { header, chain, merges, more, entries, inline, rest })
    }

    /// The number of the object after those that the snapshot covers.
    pub fn next_number(&self) -> u64 {
        self.header.next_number.get()
    }

    /// The time of the newest object that it covers, in microseconds since the Unix epoch.
    pub fn newest_us(&self) -> u64 {
        self.more.time_us.get()
    }

    /// The merges up to there.
    pub(crate) fn merges(&self) -> Merges {
        self.merges
    }

    /// The parts that are stored separately, in order. None, if there is only one: the root has it.
    pub fn separate_parts(&self) -> &[PartEntry] {
        if self.inline.is_some() { &[] } else { &self.entries }
    }

    /// The part that is in the root.
    pub(crate) fn inline_part(&self) -> Option<(&PartEntry, &'a [u8])> {
        self.entries.first().zip(self.inline)
    }

    /// The size of the parts that are stored separately.
    pub fn separate_bytes(&self) -> u64 {
        self.separate_parts().iter().map(|entry| entry.bytes).sum()
    }

    /// The snapshot of this root and all of its separate parts.
    pub fn finish(self, mut parts: JoinedParts) -> Result<Snapshot, SnapshotError> {
        if let Some((entry, bytes)) = self.inline_part() {
            parts.add(entry.parse(bytes)?)?;
        }
        let SnapshotRoot { header, chain, merges, more, entries, rest: mut root, .. } = self;
        let JoinedParts { count, topics, partitions, pieces } = parts;
        assert_eq!(count, entries.len(), "parts of a snapshot");
        let topics = Topics::new(header.next_topic.get(), topics).ok_or(SnapshotError::Content("the topics"))?;
        if partitions.keys().any(|id| topics.check_partition(id.topic, id.number).is_err()) {
            return Err(SnapshotError::Content("a partition's topic or number"));
        }
        let names = root.names(&more)?;
        let offsets = root.groups(&more, &topics)?;
        let times = Times::of_snapshot(more.time_us.get());
        let (transactions, groups) = (Transactions::default(), Groups::default());
        let mut state = State { chain, topics, merges, names, offsets, groups, transactions, times, partitions };
        root.transactions(&mut state)?;
        state.groups = root.members(state.times.newest_us())?;
        let snapshot = Snapshot { state, pieces };
        if root.rest.is_empty() { Ok(snapshot) } else { Err(SnapshotError::Content("bytes after the last part")) }
    }
}

/// The bytes that haven't been read.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Parts<'a> {
        Parts { rest }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Number of bytes that haven't been read.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn next<T: FromBytes + KnownLayout + Immutable>(&mut self) -> Result<T, SnapshotError> {
        let (part, rest) = T::read_from_prefix(self.rest).map_err(|_| SnapshotError::Content("its length"))?;
        self.rest = rest;
        Ok(part)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], SnapshotError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(SnapshotError::Content("its length"))?;
        self.rest = rest;
        Ok(bytes)
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
}
