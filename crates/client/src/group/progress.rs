//! A member's position in its partitions, and the committed part of it.

use rawline_contract::CommitOffset;
use std::collections::BTreeMap;

/// A member's partitions, by topic and number.
#[derive(Debug, Default)]
pub(super) struct Progress {
    partitions: BTreeMap<(String, u32), Position>,
}

/// A member's position in a partition.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// Offset after the last record that the caller got.
    returned: u64,
    /// Offset after the last record that the caller has processed.
    processed: u64,
    committed: Option<u64>,
}

impl Progress {
    /// A partition that begins at `offset`.
    pub fn insert(&mut self, topic: String, partition: u32, offset: u64, committed: Option<u64>) {
        let other =
            self.partitions.insert((topic, partition), Position { returned: offset, processed: offset, committed });
        assert!(other.is_none(), "a partition is assigned twice: {other:?}");
    }

    /// Offset of the next record that the caller gets.
    pub fn position(&self, topic: &str, partition: u32) -> Option<u64> {
        self.partitions.get(&(topic.to_owned(), partition)).map(|position| position.returned)
    }

    /// All partitions with the offset of the next record that the caller gets.
    pub fn positions(&self) -> impl Iterator<Item = (&str, u32, u64)> {
        self.partitions.iter().map(|((topic, partition), position)| (topic.as_str(), *partition, position.returned))
    }

    /// The caller gets the records before `offset`.
    pub fn set_returned(&mut self, topic: &str, partition: u32, offset: u64) {
        let Some(position) = self.partitions.get_mut(&(topic.to_owned(), partition)) else {
            unreachable!("records of {topic:?}, partition {partition}, which isn't assigned")
        };
        assert!(offset > position.returned, "records up to {offset} after those up to {}", position.returned);
        position.returned = offset;
    }

    /// The caller wants the records from `offset` on; false if the partition isn't assigned.
    pub fn seek(&mut self, topic: &str, partition: u32, offset: u64) -> bool {
        let position = self.partitions.get_mut(&(topic.to_owned(), partition));
        position.map(|position| (position.returned, position.processed) = (offset, offset)).is_some()
    }

    /// A topic doesn't exist any more.
    pub fn forget(&mut self, topic: &str) {
        self.partitions.retain(|(other, _), _| other != topic);
    }

    /// The caller has processed the returned records.
    pub fn set_all_processed(&mut self) {
        self.partitions.values_mut().for_each(|position| position.processed = position.returned);
    }

    /// The offsets to commit. They include the start of a partition, so that another member begins there too.
    pub fn uncommitted(&self) -> Vec<CommitOffset> {
        let differs = self.partitions.iter().filter(|(_, position)| position.committed != Some(position.processed));
        let offset = |((topic, partition), position): (&(String, u32), &Position)| {
            CommitOffset::new(topic, *partition, position.processed)
        };
        differs.map(offset).collect()
    }

    /// These offsets are committed, so the records before them are processed.
    pub fn set_committed(&mut self, offsets: &[CommitOffset]) {
        for CommitOffset { topic, partition, offset, .. } in offsets {
            if let Some(position) = self.partitions.get_mut(&(topic.clone(), *partition)) {
                position.committed = Some(*offset);
                position.processed = position.processed.max(*offset);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncommitted(progress: &Progress) -> Vec<(u32, u64)> {
        progress.uncommitted().into_iter().map(|offset| (offset.partition, offset.offset)).collect()
    }

    #[test]
    fn what_is_processed_is_committed_once() {
        let mut progress = Progress::default();
        progress.insert("t".into(), 0, 5, Some(5));
        progress.insert("t".into(), 1, 9, None);
        // Where partition 1 begins: "latest" is another offset later.
        assert_eq!(uncommitted(&progress), [(1, 9)]);
        progress.set_returned("t", 0, 8);
        assert_eq!(uncommitted(&progress), [(1, 9)], "the caller may be processing");
        progress.set_all_processed();
        let first = progress.uncommitted();
        assert_eq!(uncommitted(&progress), [(0, 8), (1, 9)]);
        progress.set_returned("t", 0, 10);
        progress.set_all_processed();
        progress.set_committed(&first);
        assert_eq!(uncommitted(&progress), [(0, 10)]);
        assert!(progress.positions().eq([("t", 0, 10), ("t", 1, 9)]));
        // The caller wants a record again.
        assert!(progress.seek("t", 0, 7) && !progress.seek("t", 2, 7));
        assert_eq!(uncommitted(&progress), [(0, 7)]);
        // It commits the processed part of the last read itself.
        progress.set_returned("t", 0, 12);
        let at = |offset| vec![CommitOffset::new("t", 0, offset)];
        progress.set_committed(&at(9));
        assert_eq!(uncommitted(&progress), []);
        progress.insert("u".into(), 0, 1, Some(1));
        progress.forget("t");
        assert!(progress.positions().eq([("u", 0, 1)]));
    }
}
