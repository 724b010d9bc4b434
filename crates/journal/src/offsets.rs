//! Groups of consumers: how far each has come in each partition, so that its members go on there.

use crate::control::{Control, Refused};
use crate::limits::{COMMITTED_MAX, COMMITTED_METADATA_BYTES_MAX};
use crate::names::is_old;
use crate::state::PartitionId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far a group has come in a partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Committed {
    /// Offset of the next record that it wants. A negative number says that it has none: Kafka's clients store such
    /// numbers to make their group begin at its default again.
    pub offset: i64,
    /// What its consumer wants to find again with it.
    pub metadata: Arc<[u8]>,
}

impl Committed {
    /// Offset of the next record that the group wants, unless it has stored that it has none.
    pub fn next_offset(&self) -> Option<u64> {
        u64::try_from(self.offset).ok()
    }
}

/// A group's offsets, at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct GroupOffsets {
    /// The journal's time of the newest commit.
    pub used_us: u64,
    pub committed: BTreeMap<PartitionId, Committed>,
}

impl GroupOffsets {
    fn metadata_bytes(&self) -> usize {
        self.committed.values().map(|committed| committed.metadata.len()).sum()
    }
}

/// The offsets of all groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Offsets {
    by_group: BTreeMap<Arc<str>, GroupOffsets>,
    /// What open transactions commit, by the producer's id.
    pending: BTreeMap<u64, Pending>,
    /// Number of offsets, the pending ones included: there is room for them when their transaction ends.
    count: usize,
    metadata_bytes: usize,
}

/// The offsets that a transaction commits if it is committed.
pub(crate) type Pending = BTreeMap<(Arc<str>, PartitionId), Committed>;

/// An offset of a group before a change, to take that back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OffsetBefore {
    group: Arc<str>,
    partition: PartitionId,
    committed: Option<Committed>,
    used_us: u64,
    /// The producer in whose transaction it is pending.
    pending: Option<u64>,
}

/// What a change has replaced or removed.
pub(crate) type OffsetsBefore = Vec<OffsetBefore>;

impl Offsets {
    /// These; `None` if there are too many, or a group has none.
    pub(crate) fn new(by_group: BTreeMap<Arc<str>, GroupOffsets>, pending: BTreeMap<u64, Pending>) -> Option<Offsets> {
        let pending_count: usize = pending.values().map(BTreeMap::len).sum();
        let pending_bytes: usize = pending.values().flatten().map(|(_, committed)| committed.metadata.len()).sum();
        let count = pending_count + by_group.values().map(|group| group.committed.len()).sum::<usize>();
        let metadata_bytes = pending_bytes + by_group.values().map(GroupOffsets::metadata_bytes).sum::<usize>();
        let is_sound = count <= COMMITTED_MAX
            && metadata_bytes <= COMMITTED_METADATA_BYTES_MAX
            && pending.values().all(|pending| !pending.is_empty())
            && by_group.values().all(|group| !group.committed.is_empty());
        is_sound.then_some(Offsets { by_group, pending, count, metadata_bytes })
    }

    /// The partitions in which an open transaction commits an offset of a group.
    pub fn unstable<'a>(&'a self, group: &'a str) -> impl Iterator<Item = PartitionId> + 'a {
        let keys = self.pending.values().flat_map(BTreeMap::keys);
        keys.filter(move |(of, _)| **of == *group).map(|(_, partition)| *partition)
    }

    /// The same with these pending; `None` if there are too many.
    pub(crate) fn with_pending(self, pending: BTreeMap<u64, Pending>) -> Option<Offsets> {
        Offsets::new(self.by_group, pending)
    }

    /// What open transactions commit.
    pub(crate) fn pending(&self) -> &BTreeMap<u64, Pending> {
        &self.pending
    }

    /// Notes an offset that counts once a producer's transaction is committed.
    pub(crate) fn commit_pending(
        &mut self,
        producer: u64,
        group: &Arc<str>,
        partition: PartitionId,
        committed: &Committed,
    ) -> Result<OffsetsBefore, Refused> {
        let known = self.pending.get(&producer).and_then(|pending| pending.get(&(group.clone(), partition)));
        let more = usize::from(known.is_none());
        let metadata_bytes =
            self.metadata_bytes + committed.metadata.len() - known.map_or(0, |known| known.metadata.len());
        if self.count + more > COMMITTED_MAX || metadata_bytes > COMMITTED_METADATA_BYTES_MAX {
            return Err(Refused::Committed { limit: COMMITTED_MAX, bytes: COMMITTED_METADATA_BYTES_MAX });
        }
        Ok(vec![self.set_pending(producer, group, partition, Some(committed.clone()))])
    }

    /// A producer's transaction ends, and with it what it commits is committed or dropped.
    pub(crate) fn end(&mut self, producer: u64, is_committed: bool, now_us: u64) -> OffsetsBefore {
        let pending = self.pending.get(&producer).cloned().unwrap_or_default();
        let mut before = Vec::with_capacity(pending.len() * 2);
        for ((group, partition), committed) in pending {
            before.push(self.set_pending(producer, &group, partition, None));
            if is_committed {
                before.push(self.set(&group, partition, Some(committed), now_us));
            }
        }
        before
    }

    fn set_pending(
        &mut self,
        producer: u64,
        group: &Arc<str>,
        partition: PartitionId,
        committed: Option<Committed>,
    ) -> OffsetBefore {
        let pending = self.pending.entry(producer).or_default();
        self.count += usize::from(committed.is_some());
        self.metadata_bytes += committed.as_ref().map_or(0, |committed| committed.metadata.len());
        let key = (group.clone(), partition);
        let before = match committed {
            Some(committed) => pending.insert(key, committed),
            None => pending.remove(&key),
        };
        if pending.is_empty() {
            self.pending.remove(&producer);
        }
        self.count -= usize::from(before.is_some());
        self.metadata_bytes -= before.as_ref().map_or(0, |before| before.metadata.len());
        OffsetBefore { group: group.clone(), partition, committed: before, used_us: 0, pending: Some(producer) }
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

    /// Follows a control record of a valid object, which was built at the journal's time `now_us`.
    pub fn follow(&mut self, control: &Control, now_us: u64) {
        let followed = match control {
            Control::CommitOffset { group, partition, committed, producer: None } => {
                self.commit(group, *partition, committed, now_us).map(drop)
            }
            Control::CommitOffset { group, partition, committed, producer: Some((id, _)) } => {
                self.commit_pending(*id, group, *partition, committed).map(drop)
            }
            Control::EndTransaction { id, end, .. } => {
                self.end(*id, end.is_committed(), now_us);
                Ok(())
            }
            Control::OpenProducer { ends, .. } => {
                self.end(*ends, false, now_us);
                Ok(())
            }
            Control::ForgetOffset { group, partition } => self.delete(group, *partition).map(drop),
            Control::Delete { topic } => {
                self.delete_topic(*topic);
                Ok(())
            }
            _ => Ok(()),
        };
        assert!(followed.is_ok(), "{control:?} of a valid object is refused: {followed:?}");
    }

    /// All groups with their offsets, in order of name.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &GroupOffsets)> {
        self.by_group.iter()
    }

    /// Notes how far a group has come. Where there is no room, the idlest other group is forgotten if it is old enough.
    pub(crate) fn commit(
        &mut self,
        group: &Arc<str>,
        partition: PartitionId,
        committed: &Committed,
        now_us: u64,
    ) -> Result<OffsetsBefore, Refused> {
        let known = self.by_group.get(group).and_then(|group| group.committed.get(&partition));
        let more = usize::from(known.is_none());
        let known_bytes = known.map_or(0, |known| known.metadata.len());
        let metadata_bytes = self.metadata_bytes + committed.metadata.len() - known_bytes;
        let is_full = self.count + more > COMMITTED_MAX || metadata_bytes > COMMITTED_METADATA_BYTES_MAX;
        let mut before = if is_full { self.forget(group, now_us)? } else { Vec::new() };
        before.push(self.set(group, partition, Some(committed.clone()), now_us));
        Ok(before)
    }

    /// Forgets the idlest group but this one.
    fn forget(&mut self, but: &Arc<str>, now_us: u64) -> Result<OffsetsBefore, Refused> {
        let full = Refused::Committed { limit: COMMITTED_MAX, bytes: COMMITTED_METADATA_BYTES_MAX };
        let others = self.by_group.iter().filter(|(name, _)| *name != but);
        let idlest = others.min_by_key(|(name, group)| (group.used_us, (*name).clone()));
        let Some((name, group)) = idlest else { return Err(full) };
        if !is_old(group.used_us, now_us) {
            return Err(full);
        }
        let name = name.clone();
        Ok(self.delete_where(&name, |_| true))
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
        let groups: Vec<Arc<str>> = self.by_group.keys().cloned().collect();
        let mut before: OffsetsBefore =
            groups.iter().flat_map(|group| self.delete_where(group, |id| id.topic == topic)).collect();
        let of_topic = |(producer, pending): (&u64, &Pending)| {
            let keys = pending.keys().filter(|(_, partition)| partition.topic == topic);
            keys.map(|key| (*producer, key.clone())).collect::<Vec<_>>()
        };
        let pending: Vec<_> = self.pending.iter().flat_map(of_topic).collect();
        before.extend(pending.iter().map(|(producer, (group, id))| self.set_pending(*producer, group, *id, None)));
        before
    }

    fn delete_where(&mut self, group: &Arc<str>, is_deleted: impl Fn(PartitionId) -> bool) -> OffsetsBefore {
        let Some(found) = self.by_group.get(group) else { return Vec::new() };
        let used_us = found.used_us;
        let deleted: Vec<_> = found.committed.keys().copied().filter(|id| is_deleted(*id)).collect();
        deleted.into_iter().map(|id| self.set(group, id, None, used_us)).collect()
    }

    /// Takes a change back.
    pub(crate) fn restore(&mut self, before: OffsetsBefore) {
        for OffsetBefore { group, partition, committed, used_us, pending } in before.into_iter().rev() {
            match pending {
                Some(producer) => self.set_pending(producer, &group, partition, committed),
                None => self.set(&group, partition, committed, used_us),
            };
        }
    }

    /// Sets or deletes an offset, and returns it as it was. A group without offsets is none.
    fn set(
        &mut self,
        name: &Arc<str>,
        partition: PartitionId,
        committed: Option<Committed>,
        used_us: u64,
    ) -> OffsetBefore {
        let group = self.by_group.entry(name.clone()).or_default();
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
        OffsetBefore { group: name.clone(), partition, committed: before, used_us: used_before_us, pending: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{PRODUCER_AGE_US, SETTINGS_BYTES_MAX};

    fn commit(offsets: &mut Offsets, group: &str, n: u64, bytes: usize, now_us: u64) -> Result<OffsetsBefore, Refused> {
        let committed = Committed { offset: n as i64, metadata: vec![0; bytes].into() };
        offsets.commit(&group.into(), PartitionId { topic: n, number: 0 }, &committed, now_us)
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
}
