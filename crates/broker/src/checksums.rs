//! Checksums of batches that reads have cut, so that the next read that cuts one of them doesn't read all of it.

use crate::limits::CUT_CHECKSUMS_BYTES_MAX;
use rawline_batch::PrefixChecksums;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The memory of an entry in addition to the checksums: its place in a table that is at worst half empty,
/// and the counts of an `Arc`.
const ENTRY_BYTES: usize = 2 * size_of::<(Key, Arc<PrefixChecksums>)>() + 2 * size_of::<usize>();

/// The checksums of batches of all topics, up to [`CUT_CHECKSUMS_BYTES_MAX`] of memory.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<Generations>);

/// The checksums of one topic's batches, among those of all topics.
#[derive(Debug)]
pub(crate) struct TopicChecksums {
    remembered: Arc<Remembered>,
    topic: u64,
}

/// The topic's number and the offset of the batch's first record: no two batches have both.
type Key = (u64, u64);

/// Entries move to `young` when they are used. When that holds half of what memory allows, `old` is forgotten, and
/// `young` becomes `old`.
#[derive(Debug, Default)]
struct Generations {
    topics: u64,
    young: HashMap<Key, Arc<PrefixChecksums>>,
    young_bytes: usize,
    old: HashMap<Key, Arc<PrefixChecksums>>,
}

impl Remembered {
    /// For one more topic. One that is deleted and created again is another one.
    pub fn topic(self: &Arc<Self>) -> TopicChecksums {
        let mut generations = self.lock();
        generations.topics += 1;
        TopicChecksums { remembered: self.clone(), topic: generations.topics }
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TopicChecksums {
    /// Those of the batch that begins at `first_offset`.
    pub fn get(&self, first_offset: u64) -> Option<Arc<PrefixChecksums>> {
        let key = (self.topic, first_offset);
        let mut generations = self.remembered.lock();
        if let Some(checksums) = generations.young.get(&key) {
            return Some(checksums.clone());
        }
        let checksums = generations.old.remove(&key)?;
        generations.insert(key, checksums.clone());
        Some(checksums)
    }

    /// Remembers those of the batch that begins at `first_offset`.
    pub fn insert(&self, first_offset: u64, checksums: Arc<PrefixChecksums>) {
        self.remembered.lock().insert((self.topic, first_offset), checksums);
    }
}

impl Generations {
    fn insert(&mut self, key: Key, checksums: Arc<PrefixChecksums>) {
        self.young_bytes += ENTRY_BYTES + checksums.bytes();
        if let Some(before) = self.young.insert(key, checksums) {
            // Two reads have cut the same batch at the same time.
            self.young_bytes -= ENTRY_BYTES + before.bytes();
        }
        if self.young_bytes > CUT_CHECKSUMS_BYTES_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_batch::{Batch, Builder, Codec, Limits};

    fn checksums() -> Arc<PrefixChecksums> {
        let mut builder = Builder::new(Codec::None, Limits::FORMAT);
        builder.push(&[7; 100_000]).unwrap();
        let mut bytes = Vec::new();
        builder.finish_into(1, 0, 0, &mut bytes).unwrap();
        Arc::new(PrefixChecksums::of(&Batch::parse(&bytes, &Limits::FORMAT).unwrap()).unwrap())
    }

    #[test]
    fn topics_do_not_share_checksums() {
        let remembered = Arc::new(Remembered::default());
        let (one, two) = (remembered.topic(), remembered.topic());
        one.insert(5, checksums());
        assert!(one.get(5).is_some());
        assert!(one.get(6).is_none() && two.get(5).is_none());
    }

    #[test]
    fn memory_is_bounded_and_what_is_used_stays() {
        let remembered = Arc::new(Remembered::default());
        let topic = remembered.topic();
        let checksums = checksums();
        let count = 3 * CUT_CHECKSUMS_BYTES_MAX / checksums.bytes();
        for offset in 0..count as u64 {
            topic.insert(offset, checksums.clone());
            assert!(topic.get(0).is_some(), "in use, after {offset}");
            let generations = remembered.lock();
            let entries = generations.young.len() + generations.old.len();
            assert!(entries * checksums.bytes() <= CUT_CHECKSUMS_BYTES_MAX, "{entries} entries");
        }
        assert!(topic.get(1).is_none());
        assert!(topic.get(count as u64 - 1).is_some());
    }

    #[test]
    fn a_batch_that_is_remembered_twice_takes_its_memory_once() {
        let remembered = Arc::new(Remembered::default());
        let topic = remembered.topic();
        topic.insert(1, checksums());
        let once = remembered.lock().young_bytes;
        topic.insert(1, checksums());
        assert_eq!(remembered.lock().young_bytes, once);
    }
}
