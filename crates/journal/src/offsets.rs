//! Committed offsets of consumer groups, at which their members continue.

use crate::control::{Committed, Control};
use crate::limits::{COMMITTED_MAX, COMMITTED_METADATA_BYTES_MAX, PENDING_PER_OWNER_MAX};
use crate::partition_id::PartitionId;
use crate::refused::Refused;
use crate::shared_map::SharedMap;
use crate::shares::{Taken, gives_way};
use std::sync::Arc;

/// A group's offsets, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct GroupOffsets {
    /// The name of the key that made the first commit.
    pub owner: Arc<str>,
    /// The journal's age at the newest commit.
    pub used_us: u64,
    pub committed: SharedMap<PartitionId, Committed>,
}

impl GroupOffsets {
    fn metadata_bytes(&self) -> usize {
        self.committed.values().map(|committed| committed.metadata.len()).sum()
    }
}

/// The size of a commit.
#[derive(Debug, Clone, Copy)]
struct More {
    count: usize,
    bytes: usize,
    /// The size of the offsets that it replaces.
    bytes_before: usize,
}

impl More {
    fn of(known: Option<&Committed>, committed: &Committed) -> More {
        let bytes_before = known.map_or(0, |known| known.metadata.len());
        More { count: usize::from(known.is_none()), bytes: committed.metadata.len(), bytes_before }
    }
}

const FULL: Refused = Refused::Committed { limit: COMMITTED_MAX, bytes: COMMITTED_METADATA_BYTES_MAX };

/// The offsets of all groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Offsets {
    by_group: SharedMap<Arc<str>, GroupOffsets>,
    /// The pending offsets of open transactions, by the producer's id.
    pending: SharedMap<u64, Pending>,
    /// Number of offsets, the pending ones included: there is room for them when their transaction ends.
    count: usize,
    metadata_bytes: usize,
}

/// The offsets that a transaction commits if it is committed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pending {
    /// The name of the key that made the first commit.
    pub owner: Arc<str>,
    pub committed: SharedMap<(Arc<str>, PartitionId), Committed>,
}

impl Pending {
    fn metadata_bytes(&self) -> usize {
        self.committed.values().map(|committed| committed.metadata.len()).sum()
    }
}

/// An offset of a group before a change, to take that back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OffsetBefore {
    group: Arc<str>,
    /// Of the group, or of pending offsets.
    owner: Arc<str>,
    partition: PartitionId,
    committed: Option<Committed>,
    used_us: u64,
    /// The producer in whose transaction it is pending.
    pending: Option<u64>,
}

/// The values that a change has replaced or removed.
pub(crate) type OffsetsBefore = Vec<OffsetBefore>;

impl Offsets {
    /// These; `None` if they are too many, or for a group without offsets.
    pub(crate) fn new(
        by_group: SharedMap<Arc<str>, GroupOffsets>,
        pending: SharedMap<u64, Pending>,
    ) -> Option<Offsets> {
        let pending_count: usize = pending.values().map(|pending| pending.committed.len()).sum();
        let pending_bytes: usize = pending.values().map(Pending::metadata_bytes).sum();
        let count = pending_count + by_group.values().map(|group| group.committed.len()).sum::<usize>();
        let metadata_bytes = pending_bytes + by_group.values().map(GroupOffsets::metadata_bytes).sum::<usize>();
        let is_sound = count <= COMMITTED_MAX
            && metadata_bytes <= COMMITTED_METADATA_BYTES_MAX
            && pending.values().all(|pending| !pending.committed.is_empty())
            && by_group.values().all(|group| !group.committed.is_empty());
        is_sound.then_some(Offsets { by_group, pending, count, metadata_bytes })
    }

    /// The partitions in which an open transaction commits an offset of a group.
    pub fn unstable<'a>(&'a self, group: &'a str) -> impl Iterator<Item = PartitionId> + 'a {
        let keys = self.pending.values().flat_map(|pending| pending.committed.keys());
        keys.filter(move |(of, _)| **of == *group).map(|(_, partition)| *partition)
    }

    /// The same with these pending; `None` if there are too many.
    pub(crate) fn with_pending(self, pending: SharedMap<u64, Pending>) -> Option<Offsets> {
        Offsets::new(self.by_group, pending)
    }

    /// The pending offsets of open transactions.
    pub(crate) fn pending(&self) -> &SharedMap<u64, Pending> {
        &self.pending
    }

    /// Notes an offset that counts once a producer's transaction is committed. Makes room as [`Offsets::commit`] does.
    pub(crate) fn commit_pending(
        &mut self,
        (producer, owner): (u64, &Arc<str>),
        group: &Arc<str>,
        partition: PartitionId,
        committed: &Committed,
        now_us: u64,
    ) -> Result<OffsetsBefore, Refused> {
        let pending = self.pending.get(&producer);
        let owner = pending.map_or(owner, |pending| &pending.owner).clone();
        let known = pending.and_then(|pending| pending.committed.get(&(group.clone(), partition)));
        let more = More::of(known, committed);
        let of_owner = self.pending.values().filter(|pending| pending.owner == owner);
        if of_owner.map(|pending| pending.committed.len()).sum::<usize>() + more.count > PENDING_PER_OWNER_MAX {
            return Err(FULL);
        }
        let mut before = self.make_room(group, &owner, more, now_us)?;
        before.push(self.set_pending(producer, &owner, group, partition, Some(committed.clone())));
        Ok(before)
    }

    /// A producer's transaction ends, and its pending offsets are committed or dropped.
    pub(crate) fn end(&mut self, producer: u64, is_committed: bool, now_us: u64) -> OffsetsBefore {
        let Some(Pending { owner, committed: pending }) = self.pending.get(&producer).cloned() else {
            return Vec::new();
        };
        let mut before = Vec::with_capacity(pending.len() * 2);
        for ((group, partition), committed) in &pending {
            before.push(self.set_pending(producer, &owner, group, *partition, None));
            if is_committed {
                before.push(self.set(group, &owner, *partition, Some(committed.clone()), now_us));
            }
        }
        before
    }

    fn set_pending(
        &mut self,
        producer: u64,
        owner: &Arc<str>,
        group: &Arc<str>,
        partition: PartitionId,
        committed: Option<Committed>,
    ) -> OffsetBefore {
        let new = || Pending { owner: owner.clone(), committed: SharedMap::new() };
        let pending = self.pending.or_insert_with(producer, new);
        let owner = pending.owner.clone();
        self.count += usize::from(committed.is_some());
        self.metadata_bytes += committed.as_ref().map_or(0, |committed| committed.metadata.len());
        let key = (group.clone(), partition);
        let before = match committed {
            Some(committed) => pending.committed.insert(key, committed),
            None => pending.committed.remove(&key),
        };
        if pending.committed.is_empty() {
            self.pending.remove(&producer);
        }
        self.count -= usize::from(before.is_some());
        self.metadata_bytes -= before.as_ref().map_or(0, |before| before.metadata.len());
        OffsetBefore { group: group.clone(), owner, partition, committed: before, used_us: 0, pending: Some(producer) }
    }

    /// The names of the groups that have committed offsets, in order.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_group.keys()
    }

    /// A group's offsets, in order of partition.
    pub fn of(&self, group: &str) -> impl Iterator<Item = (PartitionId, &Committed)> {
        let committed = self.by_group.get(group).into_iter().flat_map(|group| &group.committed);
        committed.map(|(id, committed)| (*id, committed))
    }

    /// Follows a control record of a valid object, which was built at the journal's age `now_us`.
    pub fn follow(&mut self, control: &Control, now_us: u64) {
        let followed = match control {
            Control::CommitOffset { group, partition, committed, owner, producer: None, .. } => {
                self.commit(group, owner, *partition, committed, now_us).map(drop)
            }
            Control::CommitOffset { group, partition, committed, owner, producer: Some((id, _)), .. } => {
                self.commit_pending((*id, owner), group, *partition, committed, now_us).map(drop)
            }
            Control::EndTransaction { id, end, .. } => {
                self.end(*id, end.is_committed(), now_us);
                Ok(())
            }
            Control::OpenProducer { ends, .. } => {
                self.end(*ends, false, now_us);
                Ok(())
            }
            // A group may have only the state of its members.
            Control::ForgetOffset { group, partition: None, .. } => {
                drop(self.delete(group, None));
                Ok(())
            }
            Control::ForgetOffset { group, partition, .. } => self.delete(group, *partition).map(drop),
            Control::Delete { topic } => {
                self.delete_topic(*topic);
                Ok(())
            }
            _ => Ok(()),
        };
        assert!(followed.is_ok(), "{control:?} of a valid object is refused: {followed:?}");
    }

    /// All groups with their offsets, in order of name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &GroupOffsets)> {
        self.by_group.iter()
    }

    /// Number of groups.
    pub(crate) fn len(&self) -> usize {
        self.by_group.len()
    }

    /// Stores a group's offset. When the limit is reached, other groups are forgotten: see [`gives_way`].
    pub(crate) fn commit(
        &mut self,
        group: &Arc<str>,
        owner: &Arc<str>,
        partition: PartitionId,
        committed: &Committed,
        now_us: u64,
    ) -> Result<OffsetsBefore, Refused> {
        let found = self.by_group.get(group);
        let owner = found.map_or(owner, |found| &found.owner).clone();
        let more = More::of(found.and_then(|found| found.committed.get(&partition)), committed);
        let mut before = self.make_room(group, &owner, more, now_us)?;
        before.push(self.set(group, &owner, partition, Some(committed.clone()), now_us));
        Ok(before)
    }

    /// Forgets groups other than this one until its owner can add this much.
    fn make_room(&mut self, group: &Arc<str>, owner: &str, more: More, now_us: u64) -> Result<OffsetsBefore, Refused> {
        let mut before = Vec::new();
        loop {
            let lacks_count = self.count + more.count > COMMITTED_MAX;
            let lacks_bytes = self.metadata_bytes + more.bytes > COMMITTED_METADATA_BYTES_MAX + more.bytes_before;
            let forgotten = match (lacks_count, lacks_bytes) {
                (false, false) => return Ok(before),
                (true, _) => {
                    let taken = self.taken(group, |group| group.committed.len(), |pending| pending.committed.len());
                    gives_way(taken, owner, more.count, now_us)
                }
                (false, true) => {
                    let taken = self.taken(group, GroupOffsets::metadata_bytes, Pending::metadata_bytes);
                    gives_way(taken, owner, more.bytes.saturating_sub(more.bytes_before), now_us)
                }
            };
            let Some(name) = forgotten.cloned() else {
                self.restore(before);
                return Err(FULL);
            };
            before.extend(self.delete_where(&name, |_| true));
        }
    }

    /// The entries that count for the limit. Pending offsets are kept, and so is one group.
    fn taken<'a>(
        &'a self,
        but: &'a Arc<str>,
        of_group: impl Fn(&GroupOffsets) -> usize + 'a,
        of_pending: impl Fn(&Pending) -> usize + 'a,
    ) -> impl Iterator<Item = Taken<'a, &'a Arc<str>>> {
        let groups = self.by_group.iter().map(move |(name, group)| Taken {
            owner: &group.owner,
            amount: of_group(group),
            can_go: (name != but).then_some((group.used_us, name)),
        });
        let pending = self.pending.values().map(move |pending| Taken {
            owner: &pending.owner,
            amount: of_pending(pending),
            can_go: None,
        });
        groups.chain(pending)
    }

    /// Deletes one offset of a group, or all if no partition is named.
    pub(crate) fn delete(
        &mut self,
        group: &Arc<str>,
        partition: Option<PartitionId>,
    ) -> Result<OffsetsBefore, Refused> {
        let before = self.delete_where(group, |id| partition.is_none_or(|partition| partition == id));
        if before.is_empty() { Err(Refused::NoCommitted) } else { Ok(before) }
    }

    /// Deletes the offsets in a topic.
    pub(crate) fn delete_topic(&mut self, topic: u64) -> OffsetsBefore {
        let first = PartitionId { topic, number: 0 };
        let has_some = |(_, group): &(&Arc<str>, &GroupOffsets)| {
            group.committed.range_from(&first).next().is_some_and(|(id, _)| id.topic == topic)
        };
        let groups: Vec<Arc<str>> = self.by_group.iter().filter(has_some).map(|(name, _)| name.clone()).collect();
        let mut before: OffsetsBefore =
            groups.iter().flat_map(|group| self.delete_where(group, |id| id.topic == topic)).collect();
        let of_topic = |(producer, pending): (&u64, &Pending)| {
            let keys = pending.committed.keys().filter(|(_, partition)| partition.topic == topic);
            keys.map(|key| (*producer, pending.owner.clone(), key.clone())).collect::<Vec<_>>()
        };
        let pending: Vec<_> = self.pending.iter().flat_map(of_topic).collect();
        let dropped = pending.iter();
        before.extend(dropped.map(|(of, owner, (group, id))| self.set_pending(*of, owner, group, *id, None)));
        before
    }

    fn delete_where(&mut self, group: &Arc<str>, is_deleted: impl Fn(PartitionId) -> bool) -> OffsetsBefore {
        let Some(found) = self.by_group.get(group) else { return Vec::new() };
        let (used_us, owner) = (found.used_us, found.owner.clone());
        let deleted: Vec<_> = found.committed.keys().copied().filter(|id| is_deleted(*id)).collect();
        deleted.into_iter().map(|id| self.set(group, &owner, id, None, used_us)).collect()
    }

    /// Takes a change back.
    pub(crate) fn restore(&mut self, before: OffsetsBefore) {
        for OffsetBefore { group, owner, partition, committed, used_us, pending } in before.into_iter().rev() {
            match pending {
                Some(producer) => self.set_pending(producer, &owner, &group, partition, committed),
                None => self.set(&group, &owner, partition, committed, used_us),
            };
        }
    }

    /// Sets or deletes an offset, and returns the previous one. A group without offsets is removed.
    fn set(
        &mut self,
        name: &Arc<str>,
        owner: &Arc<str>,
        partition: PartitionId,
        committed: Option<Committed>,
        used_us: u64,
    ) -> OffsetBefore {
        let new = || GroupOffsets { owner: owner.clone(), used_us: 0, committed: SharedMap::new() };
        let group = self.by_group.or_insert_with(name.clone(), new);
        let owner = group.owner.clone();
        let used_before_us = std::mem::replace(&mut group.used_us, used_us);
        self.count += usize::from(committed.is_some());
        self.metadata_bytes += committed.as_ref().map_or(0, |committed| committed.metadata.len());
        let before = match committed {
            Some(committed) => group.committed.insert(partition, committed),
            None => group.committed.remove(&partition),
        };
        if group.committed.is_empty() {
            self.by_group.remove(name);
        }
        self.count -= usize::from(before.is_some());
        self.metadata_bytes -= before.as_ref().map_or(0, |before| before.metadata.len());
        let (group, committed, used_us) = (name.clone(), before, used_before_us);
        OffsetBefore { group, owner, partition, committed, used_us, pending: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{PRODUCER_AGE_US, SETTINGS_BYTES_MAX};

    fn commit(offsets: &mut Offsets, group: &str, n: u64, bytes: usize, now_us: u64) -> Result<OffsetsBefore, Refused> {
        commit_as(offsets, "", group, n, bytes, now_us)
    }

    fn commit_as(
        offsets: &mut Offsets,
        owner: &str,
        group: &str,
        n: u64,
        bytes: usize,
        now_us: u64,
    ) -> Result<OffsetsBefore, Refused> {
        let committed = Committed { offset: n as i64, metadata: vec![0; bytes].into() };
        offsets.commit(&group.into(), &owner.into(), PartitionId { topic: n, number: 0 }, &committed, now_us)
    }

    fn names(offsets: &Offsets) -> Vec<&str> {
        offsets.groups().map(|name| &**name).collect()
    }

    /// The group that has committed nothing for longest makes room, once that is long ago.
    #[test]
    fn what_was_not_used_for_long_makes_room() {
        let mut offsets = Offsets::default();
        let half = COMMITTED_MAX as u64 / 2;
        for n in 0..half {
            commit(&mut offsets, "old", n, 0, 1).unwrap();
            commit(&mut offsets, "new", n, 0, 2).unwrap();
        }
        let full = offsets.clone();
        let refused = Refused::Committed { limit: COMMITTED_MAX, bytes: COMMITTED_METADATA_BYTES_MAX };
        assert_eq!(commit(&mut offsets, "other", 0, 0, PRODUCER_AGE_US), Err(refused));
        assert_eq!(commit(&mut offsets, "new", half, 0, PRODUCER_AGE_US), Err(refused));
        assert_eq!(commit(&mut offsets, "new", 0, 0, 2).map(|before| before.len()), Ok(1), "one that is there");
        assert_eq!(offsets, full);
        let before = commit(&mut offsets, "other", 0, 0, PRODUCER_AGE_US + 2).unwrap();
        assert_eq!((names(&offsets), offsets.count), (vec!["new", "other"], half as usize + 1));
        offsets.restore(before);
        assert_eq!(offsets, full);
    }

    #[test]
    fn what_is_committed_with_offsets_is_bounded() {
        let mut offsets = Offsets::default();
        let fit = (COMMITTED_METADATA_BYTES_MAX / SETTINGS_BYTES_MAX) as u64;
        for n in 0..fit {
            commit(&mut offsets, "one", n, SETTINGS_BYTES_MAX, 1).unwrap();
        }
        assert!(
            commit(&mut offsets, "one", fit, 1, 2 + PRODUCER_AGE_US).is_err(),
            "a group doesn't make room for itself"
        );
        assert!(commit(&mut offsets, "one", 0, SETTINGS_BYTES_MAX - 1, 1).is_ok());
        assert!(commit(&mut offsets, "one", fit, 1, 1).is_ok());
    }

    /// A key that takes all it can is the one that gives way: others get their share at any time.
    #[test]
    fn one_key_does_not_exhaust_the_offsets_of_the_others() {
        let mut offsets = Offsets::default();
        commit_as(&mut offsets, "b", "b-first", 0, 0, 1).unwrap();
        let of_a = COMMITTED_MAX as u64 / 100;
        for group in 0..100 {
            for n in 0..of_a - u64::from(group == 0) {
                commit_as(&mut offsets, "a", &format!("a-{group:02}"), n, 0, 2 + group).unwrap();
            }
        }
        let full = offsets.clone();
        assert_eq!(commit_as(&mut offsets, "a", "a-more", 0, 0, 200), Err(FULL));
        assert_eq!(commit_as(&mut offsets, "a", "b-first", 0, 0, 200).map(|before| before.len()), Ok(1));
        offsets = full.clone();
        // The least recently used groups of a are forgotten one by one.
        let before = commit_as(&mut offsets, "b", "b-new", 0, 0, 200).unwrap();
        assert!(!names(&offsets).contains(&"a-00") && names(&offsets).contains(&"a-01"));
        offsets.restore(before);
        assert_eq!(offsets, full);
        let mut refused = 0;
        for n in 0..COMMITTED_MAX as u64 {
            let result = commit_as(&mut offsets, "b", &format!("b-{}", n / of_a), n % of_a, 0, 201);
            refused += u64::from(result.is_err());
        }
        let of = |owner: &str| {
            let groups = offsets.by_group.values().filter(|group| &*group.owner == owner);
            groups.map(|group| group.committed.len()).sum::<usize>()
        };
        assert!(of("a").abs_diff(COMMITTED_MAX / 2) <= of_a as usize, "{} of a", of("a"));
        assert!(of("b").abs_diff(COMMITTED_MAX / 2) <= of_a as usize, "{} of b", of("b"));
        assert!(offsets.count <= COMMITTED_MAX && refused > 0);
    }

    #[test]
    fn what_is_committed_makes_as_much_room_as_it_takes() {
        let mut offsets = Offsets::default();
        let fit = (COMMITTED_METADATA_BYTES_MAX / SETTINGS_BYTES_MAX) as u64;
        for n in 0..fit - 1 {
            commit_as(&mut offsets, "a", "large", n, SETTINGS_BYTES_MAX, 2).unwrap();
        }
        for n in 0..SETTINGS_BYTES_MAX as u64 / 8 {
            commit_as(&mut offsets, "a", &format!("small {n}"), n, 8, 1).unwrap();
        }
        let full = offsets.clone();
        let before = commit_as(&mut offsets, "b", "b", 0, SETTINGS_BYTES_MAX, 3).unwrap();
        assert_eq!(names(&offsets), ["b", "large"], "all the small ones");
        assert!(offsets.metadata_bytes <= COMMITTED_METADATA_BYTES_MAX);
        assert!(Offsets::new(offsets.by_group.clone(), SharedMap::new()).is_some(), "a snapshot can have it");
        offsets.restore(before);
        assert_eq!(offsets, full);
    }

    #[test]
    fn what_transactions_commit_is_limited_for_each_key() {
        let mut offsets = Offsets::default();
        let mut commit = |producer, owner: &str, n: u64| {
            let committed = Committed { offset: 1, metadata: [].into() };
            let partition = PartitionId { topic: n + 1, number: 0 };
            offsets.commit_pending((producer, &owner.into()), &"g".into(), partition, &committed, 1).map(drop)
        };
        for n in 0..PENDING_PER_OWNER_MAX as u64 {
            commit(1 + n % 3, "a", n).unwrap();
        }
        assert_eq!(commit(4, "a", 0), Err(FULL));
        assert_eq!([commit(1, "a", 0), commit(5, "b", 0)], [Ok(()), Ok(())]);
    }
}
