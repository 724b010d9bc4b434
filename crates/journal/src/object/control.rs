//! The bytes of control records. Each has exactly one form: unused bytes are zero.

use super::ObjectError;
use crate::control::{Committed, Control, Fence};
use crate::limits::{
    GROUP_STATE_BYTES_MAX, MERGED_PIECES_MAX, NAME_BYTES_MAX, OBJECT_CONTROL_BYTES_MAX, OWNER_BYTES_MAX,
    PARTITIONS_MAX, SETTINGS_BYTES_MAX,
};
use crate::partition_id::PartitionId;
use crate::place::{BatchCount, MergedPiece, Piece, Place, Source, are_sound};
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
const STORE_GROUP: u8 = 13;

/// The version of a group's members in which a change is valid: any, while there are no members, or the one whose stamp
/// precedes the other bytes in place of settings.
const FENCE_OPEN: u8 = 0;
const FENCE_NO_MEMBERS: u8 = 1;
const FENCE_AT: u8 = 2;
const STAMP_BYTES: usize = 8;

/// An instance of a producer in place of settings, or before them: id u64, epoch u16.
const INSTANCE_BYTES: usize = 10;

/// Maximum size of the bytes in place of settings.
const TEXT_BYTES_MAX: usize = SETTINGS_BYTES_MAX + INSTANCE_BYTES + STAMP_BYTES;

/// Control records have lengths that are multiples of this, like batches.
const ALIGNMENT: usize = 8;

/// Maximum size of one control record in bytes: the end of a merge.
pub(crate) const CONTROL_BYTES_MAX: u64 = end_merge_bytes(MERGED_PIECES_MAX);

const _: () = assert!(CONTROL_BYTES_MAX * 2 <= OBJECT_CONTROL_BYTES_MAX, "an object takes several control records");
const _: () = assert!(
    padded(size_of::<RawControl>() + NAME_BYTES_MAX + TEXT_BYTES_MAX + OWNER_BYTES_MAX) as u64 <= CONTROL_BYTES_MAX,
    "no other control record is longer"
);
const _: () = assert!(
    padded(size_of::<RawControl>() + NAME_BYTES_MAX + 2 * STAMP_BYTES + GROUP_STATE_BYTES_MAX) as u64
        <= CONTROL_BYTES_MAX,
    "no other control record is longer"
);
const _: () = assert!(size_of::<RawControl>() == size_of::<RawEndMerge>());
const _: () = assert!(size_of::<RawMergedPiece>().is_multiple_of(ALIGNMENT));
const _: () = assert!(NAME_BYTES_MAX + TEXT_BYTES_MAX <= u16::MAX as usize, "lengths of texts are u16");

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawControl {
    kind: u8,
    fence: u8,
    zero: [u8; 2],
    /// The topic's number of partitions, the partition's number, the producer's epoch, or the group's number of
    /// members.
    partitions: U32,
    /// The id of the topic or producer, the merge's number, or the group's version.
    id: U64,
    /// An offset, or the length of a group's state, with the stamps before it.
    first_offset: U64,
    name_bytes: U16,
    settings_bytes: U16,
    /// Length of the name of the key that makes the change.
    owner_bytes: U16,
    zero_too: U16,
}

/// The beginning of a control record that ends a merge, in place of [`RawControl`].
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
    newest_us: U64,
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

/// The bytes before the settings.
fn front_of(control: &Control) -> Vec<u8> {
    let instance = |(id, epoch): (u64, u16)| [&id.to_le_bytes()[..], &epoch.to_le_bytes()].concat();
    let stamp = |fence: Fence| if let Fence::At(stamp) = fence { stamp.to_le_bytes().to_vec() } else { Vec::new() };
    match control {
        Control::CommitOffset { producer, fence, .. } => {
            [stamp(*fence), producer.map(instance).unwrap_or_default()].concat()
        }
        Control::ForgetOffset { fence, .. } => stamp(*fence),
        Control::StoreGroup { after, stamp, .. } => [after.to_le_bytes(), stamp.to_le_bytes()].concat(),
        Control::EndTransaction { next, .. } => instance(*next),
        // A producer without a previous instance has no more fields.
        Control::OpenProducer { from: None, ends: 0, .. } => Vec::new(),
        // No producer has the id 0.
        Control::OpenProducer { from, ends, .. } => {
            [instance(from.unwrap_or_default()), ends.to_le_bytes().to_vec()].concat()
        }
        _ => Vec::new(),
    }
}

fn fence_of(control: &Control) -> u8 {
    match control {
        Control::CommitOffset { fence, .. } | Control::ForgetOffset { fence, .. } => match fence {
            Fence::Open => FENCE_OPEN,
            Fence::NoMembers => FENCE_NO_MEMBERS,
            Fence::At(_) => FENCE_AT,
        },
        _ => FENCE_OPEN,
    }
}

/// Takes a fence from the front.
fn take_fence(kind: u8, bytes: &[u8]) -> Option<(Fence, &[u8])> {
    match kind {
        FENCE_OPEN => Some((Fence::Open, bytes)),
        FENCE_NO_MEMBERS => Some((Fence::NoMembers, bytes)),
        FENCE_AT => take_u64(bytes).map(|(stamp, rest)| (Fence::At(stamp), rest)),
        _ => None,
    }
}

fn take_u64(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}

/// Takes an instance from the front.
fn take_instance(bytes: &[u8]) -> Option<((u64, u16), &[u8])> {
    let (id, rest) = take_u64(bytes)?;
    let (epoch, rest) = rest.split_first_chunk()?;
    Some(((id, u16::from_le_bytes(*epoch)), rest))
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
            | Control::StoreGroup { .. }
    );
    assert!(name.len() <= NAME_BYTES_MAX && name.is_empty() != names, "{control:?}");
    let is_state = matches!(control, Control::StoreGroup { .. });
    let settings_max = if is_state { GROUP_STATE_BYTES_MAX } else { SETTINGS_BYTES_MAX };
    assert!(settings.len() <= settings_max, "{}: {} bytes of settings", control.id(), settings.len());
    let owner = control.owner().as_bytes();
    assert!(owner.len() <= OWNER_BYTES_MAX, "{control:?}");
    let front = front_of(control);
    let bytes = front.len() + settings.len();
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
        Control::StoreGroup { members, .. } => (STORE_GROUP, *members, bytes as u64),
    };
    let raw = RawControl {
        kind,
        fence: fence_of(control),
        zero: [0; 2],
        partitions: U32::new(partitions),
        id: U64::new(control.id()),
        first_offset: U64::new(first_offset),
        name_bytes: U16::new(name.len() as u16),
        settings_bytes: U16::new(if is_state { 0 } else { bytes as u16 }),
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
    for MergedPiece { partition, piece, next_offset } in pieces {
        let Piece { first_offset, appended_us, newest_us, place } = piece;
        let raw = RawMergedPiece {
            topic: U64::new(partition.topic),
            first_offset: U64::new(*first_offset),
            next_offset: U64::new(*next_offset),
            appended_us: U64::new(*appended_us),
            newest_us: U64::new(*newest_us),
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
            piece: Piece {
                first_offset: piece.first_offset.get(),
                appended_us: piece.appended_us.get(),
                newest_us: piece.newest_us.get(),
                place,
            },
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
    if raw.kind == STORE_GROUP {
        return read_group(&raw, name, rest);
    }
    let (settings, rest) = rest.split_at_checked(raw.settings_bytes.get() as usize)?;
    let owner = rest.get(..raw.owner_bytes.get() as usize)?;
    let (topic, partitions) = (raw.id.get(), raw.partitions.get());
    let with_names =
        [CREATE, OPEN_PRODUCER, COMMIT_OFFSET, FORGET_OFFSET, END_TRANSACTION, COMMIT_OFFSET_IN_TRANSACTION];
    let has_name = with_names.contains(&raw.kind);
    let has_epoch = [OPEN_PRODUCER, END_TRANSACTION].contains(&raw.kind);
    let partitions_max = if has_epoch { u32::from(u16::MAX) } else { PARTITIONS_MAX };
    let is_commit = [COMMIT_OFFSET, COMMIT_OFFSET_IN_TRANSACTION].contains(&raw.kind);
    let settings_max = if is_commit { TEXT_BYTES_MAX } else { SETTINGS_BYTES_MAX };
    let is_sound = name.len() <= NAME_BYTES_MAX
        && name.is_empty() != has_name
        && settings.len() <= settings_max
        && partitions <= partitions_max
        && owner.len() <= OWNER_BYTES_MAX;
    if !is_sound {
        return None;
    }
    if is_commit || raw.kind == FORGET_OFFSET {
        return read_offset(&raw, name, settings, owner);
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

/// A group's offset that is committed or forgotten.
fn read_offset(raw: &RawControl, name: &[u8], settings: &[u8], owner: &[u8]) -> Option<Control> {
    let owner = str::from_utf8(owner).ok()?.into();
    let group = str::from_utf8(name).ok()?.into();
    let (fence, rest) = take_fence(raw.fence, settings)?;
    // No topic has the id 0.
    let (topic, number) = (raw.id.get(), raw.partitions.get());
    let partition = (topic > 0).then_some(PartitionId { topic, number });
    let (producer, metadata) = match raw.kind {
        FORGET_OFFSET => return rest.is_empty().then_some(Control::ForgetOffset { group, partition, fence }),
        COMMIT_OFFSET_IN_TRANSACTION => take_instance(rest).map(|(producer, rest)| (Some(producer), rest))?,
        _ => (None, rest),
    };
    if metadata.len() > SETTINGS_BYTES_MAX {
        return None;
    }
    let committed = Committed { offset: raw.first_offset.get().cast_signed(), metadata: metadata.into() };
    Some(Control::CommitOffset { group, partition: partition?, committed, owner, producer, fence })
}

/// The members of a group.
fn read_group(raw: &RawControl, name: &[u8], rest: &[u8]) -> Option<Control> {
    let (after, state) = rest.get(..usize::try_from(raw.first_offset.get()).ok()?).and_then(take_u64)?;
    let (stamp, state) = take_u64(state)?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || state.len() > GROUP_STATE_BYTES_MAX {
        return None;
    }
    Some(Control::StoreGroup {
        group: str::from_utf8(name).ok()?.into(),
        version: raw.id.get(),
        after,
        stamp,
        members: raw.partitions.get(),
        state: state.into(),
    })
}
