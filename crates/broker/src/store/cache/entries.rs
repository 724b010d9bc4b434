//! The entries that searches have read of objects whose copies haven't them: in memory, bounded.

use super::name::CopyName;
use crate::limits::CACHE_ENTRIES_BYTES_MAX;
use bytes::Bytes;
use lru::LruCache;

/// Entries by their object and their position in it, those used last first.
pub(super) struct Entries {
    found: LruCache<(CopyName, u64), Bytes>,
    bytes: usize,
}

impl Entries {
    pub fn new() -> Entries {
        Entries { found: LruCache::unbounded(), bytes: 0 }
    }

    pub fn get(&mut self, name: &CopyName, position: u64) -> Option<Bytes> {
        self.found.get(&(name.clone(), position)).cloned()
    }

    pub fn put(&mut self, name: &CopyName, position: u64, entries: Bytes) {
        self.bytes += entries.len();
        let before = self.found.put((name.clone(), position), entries);
        self.bytes -= before.map_or(0, |before| before.len());
        while self.bytes > CACHE_ENTRIES_BYTES_MAX {
            let Some((_, oldest)) = self.found.pop_lru() else { unreachable!("{} bytes in no entries", self.bytes) };
            self.bytes -= oldest.len();
        }
    }

    /// Drops those of an object. False if there were none.
    pub fn forget(&mut self, name: &CopyName) -> bool {
        let of_it = self.found.iter().map(|(key, _)| key).filter(|(found, _)| found == name);
        let keys: Vec<_> = of_it.cloned().collect();
        for key in &keys {
            self.bytes -= self.found.pop(key).map_or(0, |entries| entries.len());
        }
        !keys.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_journal::Source;

    #[test]
    fn entries_are_bounded_and_those_of_an_object_are_dropped_together() {
        const PART: usize = CACHE_ENTRIES_BYTES_MAX / 4;
        let name = |number| CopyName::journal(0, Source::Journal(number), 7);
        let mut entries = Entries::new();
        for (number, position) in [(1, 80), (1, 200), (2, 80), (3, 80)] {
            entries.put(&name(number), position, vec![number as u8; PART].into());
        }
        entries.put(&name(1), 80, vec![1; PART].into());
        assert_eq!(entries.bytes, 4 * PART, "it counts once");
        entries.put(&name(4), 80, vec![4; PART].into());
        assert!(entries.get(&name(1), 200).is_none() && entries.get(&name(1), 80).is_some());
        assert!(entries.forget(&name(1)) && !entries.forget(&name(1)));
        assert_eq!(entries.bytes, 3 * PART);
    }
}
