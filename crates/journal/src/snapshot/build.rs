//! Builds a snapshot: its parts, and then the root that names them.

use super::raw::{ALIGNMENT, HEADER_BYTES, MAGIC, VERSION, checksum, part_checksum};
use super::raw::{RawAppend, RawHeader, RawMore, RawNamed, RawPart, RawPartition, RawPiece, RawProducer, RawTopic};
use super::raw::{RawCommitted, RawGroup};
use super::{SnapshotName, are_in_order};
use super::{members, transactions};
use crate::control::Committed;
use crate::names::Named;
use crate::offsets::GroupOffsets;
use crate::partition::Partition;
use crate::partition_id::PartitionId;
use crate::place::Piece;
use crate::producers::History;
use crate::state::State;
use crate::times::Times;
use crate::topics::Topic;
use std::collections::BTreeMap;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

/// The snapshot of a state in one piece, with the pieces of every partition that has some.
pub fn build_snapshot(state: &State, pieces: &BTreeMap<PartitionId, Vec<Piece>>) -> Vec<u8> {
    build_snapshot_in_parts(state, usize::MAX, pieces, |name, _| unreachable!("{name} of a snapshot in one piece"))
}

/// As [`build_snapshot_of`], with the pieces in a map.
pub fn build_snapshot_in_parts(
    state: &State,
    part_bytes: usize,
    pieces: &BTreeMap<PartitionId, Vec<Piece>>,
    put: impl FnMut(SnapshotName, Vec<u8>),
) -> Vec<u8> {
    let mut with_pieces = 0;
    let visit = |id, _, into: &mut Vec<Piece>| {
        let found = pieces.get(&id);
        with_pieces += usize::from(found.is_some());
        into.extend(found.into_iter().flatten());
    };
    let root = build_snapshot_of(state, part_bytes, visit, put);
    assert_eq!(with_pieces, pieces.len(), "pieces of partitions without a record");
    root
}

/// Builds the snapshot of a state, with the pieces that `pieces` adds for each partition, in order, by the partition's
/// next offset. Each part that is stored separately is given to `put`: it ends after `part_bytes`. Returns the root,
/// which is stored after the parts. Producers that are too old are left out.
pub fn build_snapshot_of(
    state: &State,
    part_bytes: usize,
    mut pieces: impl FnMut(PartitionId, u64, &mut Vec<Piece>),
    mut put: impl FnMut(SnapshotName, Vec<u8>),
) -> Vec<u8> {
    let (times, chain) = (state.times, state.chain());
    let mut cut = Cut { next_number: chain.next(), part_bytes, part: Part::default(), first: None, table: Vec::new() };
    let (mut of_partition, mut partitions) = (Vec::new(), state.partitions.iter().peekable());
    for (id, topic) in state.topics.iter() {
        cut.make_room(&mut put);
        cut.part.topics += 1;
        write_topic(id, topic, &mut cut.part.topics_bytes);
        while let Some((id, partition)) = partitions.next_if(|(partition, _)| partition.topic == id) {
            cut.make_room(&mut put);
            of_partition.clear();
            pieces(*id, partition.next_offset, &mut of_partition);
            cut.part.partitions += 1;
            write_partition(*id, partition, &of_partition, times, &mut cut.part.partitions_bytes);
        }
    }
    assert_eq!(partitions.next().map(|(id, _)| id), None, "a partition without a topic");
    cut.end_part(&mut put);
    let Cut { first, table, .. } = cut;
    let mut bytes = vec![0; HEADER_BYTES];
    let more = RawMore {
        time_us: U64::new(times.newest_us()),
        zero: U64::new(0),
        names: U32::new(state.names.iter().count() as u32),
        groups: U32::new(state.offsets.len() as u32),
    };
    bytes.extend_from_slice(more.as_bytes());
    bytes.extend_from_slice(table.as_bytes());
    if let Some((_, part)) = first {
        bytes.extend_from_slice(&part);
    }
    for (id, named) in state.names.iter() {
        write_named(id, named, times, &mut bytes);
    }
    for (name, group) in state.offsets.iter() {
        write_group(name, group, times, &mut bytes);
    }
    transactions::write(state, &mut bytes);
    members::write(state, &mut bytes);
    let mut header = RawHeader {
        magic: MAGIC,
        version: VERSION,
        zero: [0; 3],
        snapshot_bytes: U64::new(bytes.len() as u64),
        next_number: U64::new(chain.next()),
        last_run: U64::new(chain.last().run),
        last_commit: U64::new(chain.last().commit),
        next_topic: U64::new(state.topics.next_id()),
        parts: U32::new(table.len() as u32),
        zero_after_parts: U32::new(0),
        merges: U64::new(state.merges().begun()),
        open_merge: U32::new(u32::from(state.merges().open().is_some())),
        crc32c: U32::new(0),
    };
    let (front, rest) = bytes.split_at_mut(HEADER_BYTES);
    header.crc32c = U32::new(checksum(&header, rest));
    front.copy_from_slice(header.as_bytes());
    bytes
}

/// A part that isn't complete.
#[derive(Default)]
struct Part {
    topics: u32,
    topics_bytes: Vec<u8>,
    partitions: u32,
    partitions_bytes: Vec<u8>,
}

/// Divides topics and partitions into parts.
struct Cut {
    next_number: u64,
    part_bytes: usize,
    part: Part,
    /// The first part, while it is the only one: then it is stored in the root.
    first: Option<(SnapshotName, Vec<u8>)>,
    table: Vec<RawPart>,
}

impl Cut {
    /// Begins another part if this one is large enough.
    fn make_room(&mut self, put: &mut impl FnMut(SnapshotName, Vec<u8>)) {
        if self.part.topics_bytes.len() + self.part.partitions_bytes.len() >= self.part_bytes {
            self.end_part(put);
        }
    }

    fn end_part(&mut self, put: &mut impl FnMut(SnapshotName, Vec<u8>)) {
        let Part { topics, topics_bytes: mut bytes, partitions, partitions_bytes } = std::mem::take(&mut self.part);
        if topics == 0 && partitions == 0 {
            return;
        }
        bytes.extend_from_slice(&partitions_bytes);
        drop(partitions_bytes);
        let crc32c = part_checksum(&bytes);
        let name = SnapshotName::part(self.next_number, self.table.len() as u32, crc32c);
        self.table.push(RawPart {
            bytes: U64::new(bytes.len() as u64),
            crc32c: U32::new(crc32c),
            topics: U32::new(topics),
            partitions: U32::new(partitions),
            zero: U32::new(0),
        });
        if self.table.len() == 1 {
            self.first = Some((name, bytes));
            return;
        }
        if let Some((name, bytes)) = self.first.take() {
            put(name, bytes);
        }
        put(name, bytes);
    }
}

fn write_topic(id: u64, topic: &Topic, bytes: &mut Vec<u8>) {
    let raw = RawTopic {
        id: U64::new(id),
        partitions: U32::new(topic.partitions),
        name_bytes: U16::new(topic.name.len() as u16),
        settings_bytes: U16::new(topic.settings.len() as u16),
    };
    bytes.extend_from_slice(raw.as_bytes());
    bytes.extend_from_slice(topic.name.as_bytes());
    bytes.extend_from_slice(&topic.settings);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

fn write_named(id: u64, named: &Named, times: Times, bytes: &mut Vec<u8>) {
    let raw = RawNamed {
        id: U64::new(id),
        used_us: U64::new(times.at_age(named.used_us)),
        epoch: U16::new(named.epoch),
        name_bytes: U16::new(named.name.len() as u16),
        owner_bytes: U16::new(named.owner.len() as u16),
        zero: U16::new(0),
    };
    bytes.extend_from_slice(raw.as_bytes());
    bytes.extend_from_slice(named.name.as_bytes());
    bytes.extend_from_slice(named.owner.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

fn write_group(name: &str, group: &GroupOffsets, times: Times, bytes: &mut Vec<u8>) {
    let raw = RawGroup {
        used_us: U64::new(times.at_age(group.used_us)),
        offsets: U32::new(group.committed.len() as u32),
        name_bytes: U16::new(name.len() as u16),
        owner_bytes: U16::new(group.owner.len() as u16),
    };
    bytes.extend_from_slice(raw.as_bytes());
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(group.owner.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    for (id, Committed { offset, metadata }) in &group.committed {
        let raw = RawCommitted {
            topic: U64::new(id.topic),
            offset: U64::new(offset.cast_unsigned()),
            number: U32::new(id.number),
            metadata_bytes: U16::new(metadata.len() as u16),
            zero: U16::new(0),
        };
        bytes.extend_from_slice(raw.as_bytes());
        bytes.extend_from_slice(metadata);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

fn write_partition(id: PartitionId, partition: &Partition, pieces: &[Piece], times: Times, bytes: &mut Vec<u8>) {
    assert!(are_in_order(pieces), "the pieces of {id:?} are not in order");
    let producers = || partition.producers().remembered(times.age_us());
    let raw = RawPartition {
        topic: U64::new(id.topic),
        number: U32::new(id.number),
        producers: U32::new(producers().count() as u32),
        first_offset: U64::new(partition.first_offset),
        next_offset: U64::new(partition.next_offset),
        pieces: U64::new(pieces.len() as u64),
    };
    bytes.extend_from_slice(raw.as_bytes());
    producers().for_each(|(producer, history)| write_producer(*producer, history, times, bytes));
    for piece in pieces {
        let place = &piece.place;
        assert!(place.is_sound(), "{piece:?} of {id:?}");
        let raw = RawPiece {
            first_offset: U64::new(piece.first_offset),
            number: U64::new(place.source.to_bits()),
            appended_us: U64::new(piece.appended_us),
            newest_us: U64::new(piece.newest_us),
            tag: U32::new(place.tag),
            object_bytes: U32::new(place.object_bytes),
            entries_at: U32::new(place.entries_at),
            batches: U32::new(place.batches.to_bits()),
            batches_at: U32::new(place.batches_at),
            bytes: U32::new(place.bytes),
        };
        bytes.extend_from_slice(raw.as_bytes());
    }
}

fn write_producer(id: u64, history: &History, times: Times, bytes: &mut Vec<u8>) {
    let (id, epoch, appends) = (U64::new(id), U16::new(history.epoch), U32::new(history.stored.len() as u32));
    bytes.extend_from_slice(RawProducer { id, epoch, zero: [0; 2], appends }.as_bytes());
    bytes.extend_from_slice(U64::new(times.at_age(history.appended_us)).as_bytes());
    for stored in &history.stored {
        let raw = RawAppend {
            sequence: U64::new(stored.sequence),
            first_offset: U64::new(stored.first_offset),
            records: U32::new(stored.content.records),
            crc32c: U32::new(stored.content.crc32c),
        };
        bytes.extend_from_slice(raw.as_bytes());
    }
}
