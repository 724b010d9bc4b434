//! The state of consumer groups that must survive, and the version of the members for which a commit is valid.
//!
//! A coordinator stores the state of a group's members as bytes that the rules don't interpret. Each version
//! names the one that it follows, so of two coordinators that change the same version one is refused: any broker can
//! extend a group, as it can extend the chain. A commit that a coordinator checked in a version names that
//! version too: the check and the effect are one step in the chain.

use crate::control::{Control, Fence};
use crate::limits::{GROUPS_BYTES_MAX, GROUPS_MAX};
use crate::refused::Refused;
use crate::shared_map::SharedMap;
use std::sync::Arc;

/// A version of a group's members.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoredGroup {
    /// Which version this is. Versions of all groups with one name ascend, also if the group was forgotten in between.
    pub version: u64,
    /// Names the version: no other version of any group has it.
    pub stamp: u64,
    /// Number of members.
    pub members: u32,
    /// The coordinator's state.
    pub state: Arc<[u8]>,
    /// The journal's time at which it was stored, in microseconds since the Unix epoch.
    pub used_us: u64,
}

/// The groups whose members are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Groups {
    by_name: SharedMap<Arc<str>, StoredGroup>,
    /// The greatest version of a group that was forgotten: a new one begins after it.
    forgotten: u64,
    /// Size of all states in bytes.
    bytes: usize,
}

/// The values that a change has replaced or removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct GroupsBefore {
    forgotten: u64,
    groups: Vec<(Arc<str>, Option<StoredGroup>)>,
}

impl Groups {
    /// These; `None` if there are too many.
    pub(crate) fn new(by_name: SharedMap<Arc<str>, StoredGroup>, forgotten: u64) -> Option<Groups> {
        let bytes = by_name.values().map(|group| group.state.len()).sum();
        let is_sound = by_name.len() <= GROUPS_MAX && bytes <= GROUPS_BYTES_MAX;
        is_sound.then_some(Groups { by_name, forgotten, bytes })
    }

    /// A group's newest version, if it is known.
    pub fn get(&self, group: &str) -> Option<&StoredGroup> {
        self.by_name.get(group)
    }

    /// All of them, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &StoredGroup)> {
        self.by_name.iter()
    }

    /// Number of groups.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// A group's version; of one that isn't known, the greatest that it may have had before.
    pub fn version(&self, group: &str) -> u64 {
        self.get(group).map_or(self.forgotten, |found| found.version)
    }

    /// The greatest version of a group that was forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Fails unless a change is possible in the group's newest version.
    pub(crate) fn check(&self, group: &str, fence: Fence) -> Result<(), Refused> {
        let found = self.get(group);
        match fence {
            Fence::Open => Ok(()),
            Fence::NoMembers => match found.map_or(0, |found| found.members) {
                0 => Ok(()),
                members => Err(Refused::Members { members }),
            },
            Fence::At(stamp) if found.is_some_and(|found| found.stamp == stamp) => Ok(()),
            Fence::At(_) => Err(Refused::GroupChanged { version: self.version(group) }),
        }
    }

    /// Stores the version that follows the one with the stamp `after`; 0 if the group isn't known. Where there is no
    /// room, groups without members are forgotten, the idlest first.
    pub(crate) fn store(&mut self, name: &Arc<str>, after: u64, group: StoredGroup) -> Result<GroupsBefore, Refused> {
        let version = self.version(name);
        if (version + 1, self.get(name).map_or(0, |found| found.stamp)) != (group.version, after) {
            return Err(Refused::GroupChanged { version });
        }
        let mut before = GroupsBefore { forgotten: self.forgotten, groups: Vec::new() };
        let known_bytes = self.get(name).map(|found| found.state.len());
        let more = usize::from(known_bytes.is_none());
        let bytes = group.state.len().saturating_sub(known_bytes.unwrap_or_default());
        while self.by_name.len() + more > GROUPS_MAX || self.bytes + bytes > GROUPS_BYTES_MAX {
            let others = self.by_name.iter().filter(|(other, found)| found.members == 0 && *other != name);
            let idlest = others.min_by_key(|(name, found)| (found.used_us, (*name).clone()));
            let Some(idlest) = idlest.map(|(name, _)| name.clone()) else {
                self.restore(before);
                return Err(Refused::Groups { limit: GROUPS_MAX, bytes: GROUPS_BYTES_MAX });
            };
            self.forget(&idlest, &mut before);
        }
        before.groups.push((name.clone(), self.set(name, Some(group))));
        Ok(before)
    }

    /// Forgets a group without members. `None` if it isn't known.
    pub(crate) fn delete(&mut self, name: &Arc<str>) -> Option<GroupsBefore> {
        let mut before = GroupsBefore { forgotten: self.forgotten, groups: Vec::new() };
        self.by_name.contains_key(name).then(|| self.forget(name, &mut before))?;
        Some(before)
    }

    fn forget(&mut self, name: &Arc<str>, before: &mut GroupsBefore) {
        let forgotten = self.set(name, None);
        self.forgotten = self.forgotten.max(forgotten.as_ref().map_or(0, |group| group.version));
        before.groups.push((name.clone(), forgotten));
    }

    fn set(&mut self, name: &Arc<str>, group: Option<StoredGroup>) -> Option<StoredGroup> {
        self.bytes += group.as_ref().map_or(0, |group| group.state.len());
        let before = match group {
            Some(group) => self.by_name.insert(name.clone(), group),
            None => self.by_name.remove(name),
        };
        self.bytes -= before.as_ref().map_or(0, |before| before.state.len());
        before
    }

    /// Takes a change back.
    pub(crate) fn restore(&mut self, before: GroupsBefore) {
        for (name, group) in before.groups.into_iter().rev() {
            self.set(&name, group);
        }
        self.forgotten = before.forgotten;
    }

    /// Follows a control record of a valid object, which was built at the journal's time `now_us`.
    pub fn follow(&mut self, control: &Control, now_us: u64) {
        match control {
            Control::StoreGroup { group, version, after, stamp, members, state } => {
                let (version, stamp, members) = (*version, *stamp, *members);
                let stored = StoredGroup { version, stamp, members, state: state.clone(), used_us: now_us };
                let followed = self.store(group, *after, stored);
                assert!(followed.is_ok(), "{control:?} of a valid object is refused: {followed:?}");
            }
            Control::ForgetOffset { group, partition: None, .. } => drop(self.delete(group)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::GROUP_STATE_BYTES_MAX;

    fn group(version: u64, stamp: u64, members: u32, bytes: usize) -> StoredGroup {
        StoredGroup { version, stamp, members, state: vec![0; bytes].into(), used_us: version }
    }

    fn refused(version: u64) -> Refused {
        Refused::GroupChanged { version }
    }

    /// Two coordinators know the same version: one of them stores the next one, and the other's checks have no effect.
    #[test]
    fn one_of_two_versions_that_follow_the_same_is_refused_and_so_is_what_belongs_to_it() {
        let mut groups = Groups::default();
        let name = "g".into();
        assert!(groups.store(&name, 0, group(1, 7, 1, 3)).is_ok());
        assert!(groups.store(&name, 7, group(2, 8, 2, 3)).is_ok());
        assert_eq!(groups.store(&name, 7, group(2, 9, 1, 3)), Err(refused(2)));
        assert_eq!(groups.store(&name, 9, group(3, 10, 1, 3)), Err(refused(2)), "it follows one that isn't stored");
        assert_eq!(groups.check("g", Fence::At(9)), Err(refused(2)), "of the same number");
        assert_eq!(groups.check("g", Fence::At(7)), Err(refused(2)));
        assert_eq!(groups.check("g", Fence::NoMembers), Err(Refused::Members { members: 2 }));
        assert_eq!([Fence::At(8), Fence::Open].map(|fence| groups.check("g", fence)), [Ok(()); 2]);
        assert_eq!(groups.check("other", Fence::NoMembers), Ok(()));
        assert_eq!(groups.check("other", Fence::At(0)), Err(refused(0)), "no version has this stamp");
    }

    #[test]
    fn versions_of_a_name_ascend_although_its_group_was_forgotten() {
        let (mut groups, name) = (Groups::default(), "g".into());
        for version in 1..=5 {
            groups.store(&name, version - 1, group(version, version, 0, 3)).unwrap();
        }
        let full = groups.clone();
        let before = groups.delete(&name).unwrap();
        assert_eq!(groups.delete(&name), None);
        assert_eq!((groups.get("g"), groups.version("g")), (None, 5));
        assert_eq!(groups.store(&name, 0, group(1, 9, 1, 3)), Err(refused(5)));
        let stored = groups.store(&name, 0, group(6, 9, 1, 3)).unwrap();
        groups.restore(stored);
        groups.restore(before);
        assert_eq!(groups, full);
    }

    #[test]
    fn the_idlest_group_without_members_makes_room() {
        let mut groups = Groups::default();
        for n in 0..GROUPS_MAX as u64 {
            let members = u32::from(!(2..=4).contains(&n));
            let stored = StoredGroup { used_us: 10 - n.min(9), ..group(1, n + 1, members, 1) };
            groups.store(&format!("g{n}").into(), 0, stored).unwrap();
        }
        let full = groups.clone();
        let before = groups.store(&"new".into(), 0, group(1, 1 << 40, 1, 1)).unwrap();
        assert_eq!((groups.get("g4"), groups.version("g4"), groups.by_name.len()), (None, 1, GROUPS_MAX));
        groups.restore(before);
        assert_eq!(groups, full);
        for n in 2..=4 {
            groups.store(&format!("g{n}").into(), n + 1, group(2, (1 << 41) + n, 1, 1)).unwrap();
        }
        let limits = Refused::Groups { limit: GROUPS_MAX, bytes: GROUPS_BYTES_MAX };
        assert_eq!(groups.store(&"new".into(), 0, group(1, 1 << 40, 1, 1)), Err(limits));
        assert!(groups.store(&"g2".into(), (1 << 41) + 2, group(3, 1 << 42, 1, 1)).is_ok(), "one that is there");
    }

    #[test]
    fn what_is_stored_of_groups_is_bounded() {
        let mut groups = Groups::default();
        let fit = GROUPS_BYTES_MAX / GROUP_STATE_BYTES_MAX;
        for n in 0..fit as u64 {
            groups.store(&format!("g{n}").into(), 0, group(1, n + 1, 1, GROUP_STATE_BYTES_MAX)).unwrap();
        }
        let rest = GROUPS_BYTES_MAX - fit * GROUP_STATE_BYTES_MAX;
        assert!(groups.store(&"rest".into(), 0, group(1, 1 << 40, 0, rest + 1)).is_err());
        assert!(groups.store(&"rest".into(), 0, group(1, 1 << 40, 0, rest)).is_ok());
        assert!(groups.store(&"more".into(), 0, group(2, 1 << 41, 0, 1)).is_err(), "the version isn't the next");
        assert!(groups.store(&"more".into(), 0, group(1, 1 << 41, 0, 1)).is_ok(), "the other is forgotten");
        assert_eq!((groups.get("rest"), groups.version("rest")), (None, 1));
    }
}
