//! The bytes of control records. Each has exactly one form: what isn't used is zero.

use super::ObjectError;
use crate::control::Control;
use crate::limits::{
    MERGED_PIECES_MAX, NAME_BYTES_MAX, OBJECT_CONTROL_BYTES_MAX, OWNER_BYTES_MAX, PARTITIONS_MAX, SETTINGS_BYTES_MAX,
};
use crate::offsets::Committed;
use crate::place::{BatchCount, MergedPiece, Piece, Place, Source, are_sound};
use crate::state::PartitionId;
use crate::transactions::TransactionEnd;
use std::sync::Arc;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const CREATE: u8 = 1;
const ALTER: u8 = 2;
const DELETE: u8 = 3;
const TRIM: u8 = 4;
const BEGIN_MERGE: u8 = 5;
const END_MERGE: u8 = 6;
const ABANDON_MERGE: u8 = 7;
const OPEN_PRODUCER: u8 = 8;
const COMMIT_OFFSET: u8 = 9;
const FORGET_OFFSET: u8 = 10;
const END_TRANSACTION: u8 = 11;
const COMMIT_OFFSET_IN_TRANSACTION: u8 = 12;

/// An instance of a producer in place of settings, or before them: id u64, epoch u16.
const INSTANCE_BYTES: usize = 10;

/// Maximum size of what stands in place of settings.
const TEXT_BYTES_MAX: usize = SETTINGS_BYTES_MAX + INSTANCE_BYTES;

/// Control records have lengths that are multiples of this, like batches.
const ALIGNMENT: usize = 8;

/// Maximum size of one control record in bytes: the end of a merge.
pub(crate) const CONTROL_BYTES_MAX: u64 = end_merge_bytes(MERGED_PIECES_MAX);

const _: () = assert!(CONTROL_BYTES_MAX * 2 <= OBJECT_CONTROL_BYTES_MAX, "an object takes several control records");
const _: () = assert!(
    padded(size_of::<RawControl>() + NAME_BYTES_MAX + TEXT_BYTES_MAX + OWNER_BYTES_MAX) as u64 <= CONTROL_BYTES_MAX,
    "no other control record is longer"
);
const _: () = assert!(size_of::<RawControl>() == size_of::<RawEndMerge>());
const _: () = assert!(size_of::<RawMergedPiece>().is_multiple_of(ALIGNMENT));
const _: () = assert!(NAME_BYTES_MAX + TEXT_BYTES_MAX <= u16::MAX as usize, "lengths of texts are u16");

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawControl {
    kind: u8,
    zero: [u8; 3],
    /// The topic's number of partitions, the partition's number, or the producer's epoch.
    partitions: U32,
    /// The id of the topic or producer, or the merge's number.
    id: U64,
    first_offset: U64,
    name_bytes: U16,
    settings_bytes: U16,
    /// Length of the name of the key that makes the change.
    owner_bytes: U16,
    zero_too: U16,
}

/// What a control record that ends a merge begins with, in place of [`RawControl`].
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawEndMerge {
    kind: u8,
    zero: [u8; 3],
    pieces: U32,
    merge: U64,
    tag: U32,
    object_bytes: U32,
    zero_too: U64,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawMergedPiece {
    topic: U64,
    first_offset: U64,
    next_offset: U64,
    appended_us: U64,
    partition: U32,
    entries_at: U32,
    batches: U32,
    batches_at: U32,
    bytes: U32,
    zero: U32,
}

const fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

/// Size of a control record in bytes.
pub(crate) fn control_bytes(control: &Control) -> u64 {
    if let Control::EndMerge { pieces, .. } = control {
        return end_merge_bytes(pieces.len());
    }
    let (name, settings) = control.texts();
    padded(size_of::<RawControl>() + name.len() + front_of(control).len() + settings.len() + control.owner().len())
        as u64
}

/// What stands before the settings.
fn front_of(control: &Control) -> Vec<u8> {
    let instance = |(id, epoch): (u64, u16)| [&id.to_le_bytes()[..], &epoch.to_le_bytes()].concat();
    match control {
        Control::CommitOffset { producer: Some(producer), .. } => instance(*producer),
        Control::EndTransaction { next, .. } => instance(*next),
        // As earlier versions wrote it.
        Control::OpenProducer { from: None, ends: 0, .. } => Vec::new(),
        // No producer has the id 0.
        Control::OpenProducer { from, ends, .. } => {
            [instance(from.unwrap_or_default()), ends.to_le_bytes().to_vec()].concat()
        }
        _ => Vec::new(),
    }
}

/// Takes an instance from the front.
fn take_instance(bytes: &[u8]) -> Option<((u64, u16), &[u8])> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (epoch, rest) = rest.split_first_chunk()?;
    Some(((u64::from_le_bytes(*id), u16::from_le_bytes(*epoch)), rest))
}

const fn end_merge_bytes(pieces: usize) -> u64 {
    (size_of::<RawEndMerge>() + pieces * size_of::<RawMergedPiece>()) as u64
}

/// Adds a control record to an index.
pub(super) fn write(control: &Control, index: &mut Vec<u8>) {
    if let Control::EndMerge { merge, pieces } = control {
        return write_end_merge(*merge, pieces, index);
    }
    let begin = index.len();
    let (name, settings) = control.texts();
    let names = matches!(
        control,
        Control::Create { .. }
            | Control::OpenProducer { .. }
            | Control::EndTransaction { .. }
            | Control::CommitOffset { .. }
            | Control::ForgetOffset { .. }
    );
    assert!(name.len() <= NAME_BYTES_MAX && name.is_empty() != names, "{control:?}");
    assert!(settings.len() <= SETTINGS_BYTES_MAX, "topic {}: {} bytes of settings", control.id(), settings.len());
    let owner = control.owner().as_bytes();
    assert!(owner.len() <= OWNER_BYTES_MAX, "{control:?}");
    let (kind, partitions, first_offset) = match control {
        Control::Create { partitions, .. } => (CREATE, *partitions, 0),
        Control::Alter { partitions, .. } => (ALTER, *partitions, 0),
        Control::Delete { .. } => (DELETE, 0, 0),
        Control::BeginMerge { .. } => (BEGIN_MERGE, 0, 0),
        Control::OpenProducer { epoch, timeout_ms, .. } => (OPEN_PRODUCER, u32::from(*epoch), u64::from(*timeout_ms)),
        Control::EndTransaction { epoch, end, .. } => (END_TRANSACTION, u32::from(*epoch), *end as u64),
        Control::AbandonMerge { .. } => (ABANDON_MERGE, 0, 0),
        Control::EndMerge { .. } => unreachable!("{control:?} has another form"),
        Control::Trim { partition, first_offset } => (TRIM, partition.number, *first_offset),
        Control::CommitOffset { partition, committed, producer, .. } => {
            let kind = if producer.is_some() { COMMIT_OFFSET_IN_TRANSACTION } else { COMMIT_OFFSET };
            (kind, partition.number, committed.offset.cast_unsigned())
        }
        Control::ForgetOffset { partition, .. } => {
            (FORGET_OFFSET, partition.map_or(0, |partition| partition.number), 0)
        }
    };
    let front = front_of(control);
    let raw = RawControl {
        kind,
        zero: [0; 3],
        partitions: U32::new(partitions),
        id: U64::new(control.id()),
        first_offset: U64::new(first_offset),
        name_bytes: U16::new(name.len() as u16),
        settings_bytes: U16::new((front.len() + settings.len()) as u16),
        owner_bytes: U16::new(owner.len() as u16),
        zero_too: U16::new(0),
    };
    index.extend_from_slice(raw.as_bytes());
    index.extend_from_slice(name);
    index.extend_from_slice(&front);
    index.extend_from_slice(settings);
    index.extend_from_slice(owner);
    index.resize(begin + padded(index.len() - begin), 0);
    assert_eq!((index.len() - begin) as u64, control_bytes(control), "{control:?}");
}

fn write_end_merge(merge: u64, pieces: &[MergedPiece], index: &mut Vec<u8>) {
    assert!(
        pieces.len() <= MERGED_PIECES_MAX && are_sound(merge, pieces),
        "merge {merge} with {} pieces",
        pieces.len()
    );
    let Some(first) = pieces.first() else { unreachable!("merge {merge} has no piece") };
    let raw = RawEndMerge {
        kind: END_MERGE,
        zero: [0; 3],
        pieces: U32::new(pieces.len() as u32),
        merge: U64::new(merge),
        tag: U32::new(first.piece.place.tag),
        object_bytes: U32::new(first.piece.place.object_bytes),
        zero_too: U64::new(0),
    };
    index.extend_from_slice(raw.as_bytes());
    for MergedPiece { partition, piece: Piece { first_offset, appended_us, place }, next_offset } in pieces {
        let raw = RawMergedPiece {
            topic: U64::new(partition.topic),
            first_offset: U64::new(*first_offset),
            next_offset: U64::new(*next_offset),
            appended_us: U64::new(*appended_us),
            partition: U32::new(partition.number),
            entries_at: U32::new(place.entries_at),
            batches: U32::new(place.batches.to_bits()),
            batches_at: U32::new(place.batches_at),
            bytes: U32::new(place.bytes),
            zero: U32::new(0),
        };
        index.extend_from_slice(raw.as_bytes());
    }
}

/// Reads the control records that fill `bytes`.
pub(super) fn read_all(mut bytes: &[u8]) -> Result<Vec<Control>, ObjectError> {
    let mut controls = Vec::new();
    while !bytes.is_empty() {
        let control = read(bytes).ok_or(ObjectError::Index("a control record"))?;
        let mut only_form = Vec::new();
        write(&control, &mut only_form);
        bytes = bytes.strip_prefix(&only_form[..]).ok_or(ObjectError::Index("a control record"))?;
        controls.push(control);
    }
    Ok(controls)
}

fn read_end_merge(bytes: &[u8]) -> Option<Control> {
    let (raw, rest) = RawEndMerge::read_from_prefix(bytes).ok()?;
    let (merge, count) = (raw.merge.get(), raw.pieces.get() as usize);
    if count > MERGED_PIECES_MAX {
        return None;
    }
    let (pieces, _) = <[RawMergedPiece]>::ref_from_prefix_with_elems(rest, count).ok()?;
    let piece = |piece: &RawMergedPiece| {
        let place = Place {
            source: Source::Merged(merge),
            tag: raw.tag.get(),
            object_bytes: raw.object_bytes.get(),
            entries_at: piece.entries_at.get(),
            batches: BatchCount::from_bits(piece.batches.get()),
            batches_at: piece.batches_at.get(),
            bytes: piece.bytes.get(),
        };
        MergedPiece {
            partition: PartitionId { topic: piece.topic.get(), number: piece.partition.get() },
            piece: Piece { first_offset: piece.first_offset.get(), appended_us: piece.appended_us.get(), place },
            next_offset: piece.next_offset.get(),
        }
    };
    let pieces: Arc<[MergedPiece]> = pieces.iter().map(piece).collect();
    are_sound(merge, &pieces).then_some(Control::EndMerge { merge, pieces })
}

fn read(bytes: &[u8]) -> Option<Control> {
    if bytes.first() == Some(&END_MERGE) {
        return read_end_merge(bytes);
    }
    let (raw, rest) = RawControl::read_from_prefix(bytes).ok()?;
    let (name, rest) = rest.split_at_checked(raw.name_bytes.get() as usize)?;
    let (settings, rest) = rest.split_at_checked(raw.settings_bytes.get() as usize)?;
    let owner = rest.get(..raw.owner_bytes.get() as usize)?;
    let (topic, partitions) = (raw.id.get(), raw.partitions.get());
    let with_names =
        [CREATE, OPEN_PRODUCER, COMMIT_OFFSET, FORGET_OFFSET, END_TRANSACTION, COMMIT_OFFSET_IN_TRANSACTION];
    let has_name = with_names.contains(&raw.kind);
    let has_epoch = [OPEN_PRODUCER, END_TRANSACTION].contains(&raw.kind);
    let partitions_max = if has_epoch { u32::from(u16::MAX) } else { PARTITIONS_MAX };
    let settings_max = if raw.kind == COMMIT_OFFSET_IN_TRANSACTION { TEXT_BYTES_MAX } else { SETTINGS_BYTES_MAX };
    let is_sound = name.len() <= NAME_BYTES_MAX
        && name.is_empty() != has_name
        && settings.len() <= settings_max
        && partitions <= partitions_max
        && owner.len() <= OWNER_BYTES_MAX;
    if !is_sound {
        return None;
    }
    let settings: Arc<[u8]> = settings.into();
    let owner: Arc<str> = str::from_utf8(owner).ok()?.into();
    Some(match raw.kind {
        CREATE => Control::Create { topic, name: str::from_utf8(name).ok()?.into(), partitions, settings },
        ALTER => Control::Alter { topic, partitions, settings },
        DELETE => Control::Delete { topic },
        TRIM => {
            Control::Trim { partition: PartitionId { topic, number: partitions }, first_offset: raw.first_offset.get() }
        }
        COMMIT_OFFSET if topic > 0 => Control::CommitOffset {
            group: str::from_utf8(name).ok()?.into(),
            partition: PartitionId { topic, number: partitions },
            committed: Committed { offset: raw.first_offset.get().cast_signed(), metadata: settings },
            owner,
            producer: None,
        },
        COMMIT_OFFSET_IN_TRANSACTION if topic > 0 => {
            let (producer, metadata) = take_instance(&settings)?;
            Control::CommitOffset {
                group: str::from_utf8(name).ok()?.into(),
                partition: PartitionId { topic, number: partitions },
                committed: Committed { offset: raw.first_offset.get().cast_signed(), metadata: metadata.into() },
                owner,
                producer: Some(producer),
            }
        }
        END_TRANSACTION => Control::EndTransaction {
            name: str::from_utf8(name).ok()?.into(),
            id: topic,
            epoch: partitions as u16,
            end: match raw.first_offset.get() {
                1 => TransactionEnd::Commit,
                2 => TransactionEnd::Abort,
                3 => TransactionEnd::Expire,
                _ => return None,
            },
            next: take_instance(&settings)?.0,
        },
        FORGET_OFFSET => Control::ForgetOffset {
            group: str::from_utf8(name).ok()?.into(),
            // No topic has the id 0.
            partition: (topic > 0).then_some(PartitionId { topic, number: partitions }),
        },
        BEGIN_MERGE => Control::BeginMerge { merge: topic },
        ABANDON_MERGE => Control::AbandonMerge { merge: topic },
        OPEN_PRODUCER => {
            let (from, ends) = match take_instance(&settings) {
                Some((from, ends)) => (Some(from).filter(|(id, _)| *id > 0), u64::from_le_bytes(ends.try_into().ok()?)),
                None => (None, 0),
            };
            let timeout_ms = u32::try_from(raw.first_offset.get()).ok()?;
            let name = str::from_utf8(name).ok()?.into();
            Control::OpenProducer { name, id: topic, epoch: partitions as u16, timeout_ms, owner, from, ends }
        }
        _ => return None,
    })
}
