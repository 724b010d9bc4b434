//! The bytes of control records. Each has exactly one form: what isn't used is zero.

use super::ObjectError;
use crate::control::Control;
use crate::limits::{NAME_BYTES_MAX, OBJECT_CONTROL_BYTES_MAX, PARTITIONS_MAX, SETTINGS_BYTES_MAX};
use crate::state::PartitionId;
use std::sync::Arc;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const CREATE: u8 = 1;
const ALTER: u8 = 2;
const DELETE: u8 = 3;
const TRIM: u8 = 4;

/// Control records have lengths that are multiples of this, like batches.
const ALIGNMENT: usize = 8;

/// Maximum size of one control record in bytes.
pub(crate) const CONTROL_BYTES_MAX: u64 = padded(size_of::<RawControl>() + NAME_BYTES_MAX + SETTINGS_BYTES_MAX) as u64;

const _: () = assert!(CONTROL_BYTES_MAX * 4 <= OBJECT_CONTROL_BYTES_MAX, "an object takes several control records");
const _: () = assert!(NAME_BYTES_MAX + SETTINGS_BYTES_MAX <= u16::MAX as usize, "lengths of texts are u16");

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawControl {
    kind: u8,
    zero: [u8; 3],
    /// The topic's number of partitions, or the partition's number.
    partitions: U32,
    topic: U64,
    first_offset: U64,
    name_bytes: U16,
    settings_bytes: U16,
    zero_too: U32,
}

const fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

/// Size of a control record in bytes.
pub(crate) fn control_bytes(control: &Control) -> u64 {
    let (name, settings) = control.texts();
    padded(size_of::<RawControl>() + name.len() + settings.len()) as u64
}

/// Adds a control record to an index.
pub(super) fn write(control: &Control, index: &mut Vec<u8>) {
    let begin = index.len();
    let (name, settings) = control.texts();
    let names = matches!(control, Control::Create { .. });
    assert!(name.len() <= NAME_BYTES_MAX && name.is_empty() != names, "{control:?}");
    assert!(settings.len() <= SETTINGS_BYTES_MAX, "topic {}: {} bytes of settings", control.topic(), settings.len());
    let (kind, partitions, first_offset) = match control {
        Control::Create { partitions, .. } => (CREATE, *partitions, 0),
        Control::Alter { partitions, .. } => (ALTER, *partitions, 0),
        Control::Delete { .. } => (DELETE, 0, 0),
        Control::Trim { partition, first_offset } => (TRIM, partition.number, *first_offset),
    };
    let raw = RawControl {
        kind,
        zero: [0; 3],
        partitions: U32::new(partitions),
        topic: U64::new(control.topic()),
        first_offset: U64::new(first_offset),
        name_bytes: U16::new(name.len() as u16),
        settings_bytes: U16::new(settings.len() as u16),
        zero_too: U32::new(0),
    };
    index.extend_from_slice(raw.as_bytes());
    index.extend_from_slice(name);
    index.extend_from_slice(settings);
    index.resize(begin + padded(index.len() - begin), 0);
    assert_eq!((index.len() - begin) as u64, control_bytes(control), "{control:?}");
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

fn read(bytes: &[u8]) -> Option<Control> {
    let (raw, rest) = RawControl::read_from_prefix(bytes).ok()?;
    let (name, rest) = rest.split_at_checked(raw.name_bytes.get() as usize)?;
    let settings = rest.get(..raw.settings_bytes.get() as usize)?;
    let (topic, partitions) = (raw.topic.get(), raw.partitions.get());
    let has_name = raw.kind == CREATE;
    let is_sound = name.len() <= NAME_BYTES_MAX
        && name.is_empty() != has_name
        && settings.len() <= SETTINGS_BYTES_MAX
        && partitions <= PARTITIONS_MAX;
    if !is_sound {
        return None;
    }
    let settings: Arc<[u8]> = settings.into();
    Some(match raw.kind {
        CREATE => Control::Create { topic, name: str::from_utf8(name).ok()?.into(), partitions, settings },
        ALTER => Control::Alter { topic, partitions, settings },
        DELETE => Control::Delete { topic },
        TRIM => {
            Control::Trim { partition: PartitionId { topic, number: partitions }, first_offset: raw.first_offset.get() }
        }
        _ => return None,
    })
}
