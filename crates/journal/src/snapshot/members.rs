//! The members of groups in a snapshot.

use super::SnapshotError;
use super::parse::Parts;
use super::raw::{ALIGNMENT, RawMembers, RawStoredGroup};
use crate::groups::{Groups, StoredGroup};
use crate::limits::{GROUP_STATE_BYTES_MAX, NAME_BYTES_MAX};
use crate::shared_map::SharedMap;
use crate::state::State;
use std::sync::Arc;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

pub(super) fn write(state: &State, bytes: &mut Vec<u8>) {
    let groups = U32::new(state.groups.len() as u32);
    let raw = RawMembers { forgotten: U64::new(state.groups.forgotten()), groups, zero: U32::new(0) };
    bytes.extend_from_slice(raw.as_bytes());
    for (name, group) in state.groups.iter() {
        let raw = RawStoredGroup {
            used_us: U64::new(state.times.at_age(group.used_us)),
            version: U64::new(group.version),
            stamp: U64::new(group.stamp),
            members: U32::new(group.members),
            state_bytes: U32::new(group.state.len() as u32),
            name_bytes: U16::new(name.len() as u16),
            zero: [0; 6],
        };
        bytes.extend_from_slice(raw.as_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&group.state);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

impl Parts<'_> {
    /// Reads the state of the members of groups.
    pub(super) fn members(&mut self, time_us: u64) -> Result<Groups, SnapshotError> {
        let raw: RawMembers = self.next()?;
        let mut groups = SharedMap::new();
        for _ in 0..raw.groups.get() {
            let (name, group) = self.stored_group()?;
            if groups.last_key_value().is_some_and(|(before, _)| *before >= name) {
                return Err(SnapshotError::Content("the order of the groups with members"));
            }
            if group.used_us > time_us {
                return Err(SnapshotError::Content("the time of a group's members"));
            }
            groups.insert(name, group);
        }
        Groups::new(groups, raw.forgotten.get()).ok_or(SnapshotError::Content("the number of the groups with members"))
    }

    fn stored_group(&mut self) -> Result<(Arc<str>, StoredGroup), SnapshotError> {
        let raw: RawStoredGroup = self.next()?;
        let (name_bytes, state_bytes) = (raw.name_bytes.get() as usize, raw.state_bytes.get() as usize);
        if name_bytes == 0 || name_bytes > NAME_BYTES_MAX || state_bytes > GROUP_STATE_BYTES_MAX {
            return Err(SnapshotError::Content("the size of a group's name or members"));
        }
        let bytes = self.bytes((name_bytes + state_bytes).next_multiple_of(ALIGNMENT))?;
        let (name, state) = bytes.split_at(name_bytes);
        let name = str::from_utf8(name).map_err(|_| SnapshotError::Content("the name of a group with members"))?;
        let state = state.get(..state_bytes).ok_or(SnapshotError::Content("its length"))?.into();
        let (version, stamp, members) = (raw.version.get(), raw.stamp.get(), raw.members.get());
        Ok((name.into(), StoredGroup { version, stamp, members, state, used_us: raw.used_us.get() }))
    }
}
