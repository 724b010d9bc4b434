//! The newest offsets of keys, in bounded memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Two keyed hashes of a key. No client can choose keys whose hashes are the same, and among a billion keys the chance
/// that any two have the same is 2^-69.
type Hash = (u64, u64);

/// The newest offset of each key that was noted. Keys are known by their hashes.
pub(super) struct Keys {
    newest: HashMap<Hash, u64>,
    hashers: (RandomState, RandomState),
    keys_max: usize,
}

impl Keys {
    /// Room for this many keys, all of it at once.
    pub fn new(keys_max: usize) -> Keys {
        let hashers = (RandomState::new(), RandomState::new());
        Keys { newest: HashMap::with_capacity(keys_max), hashers, keys_max }
    }

    /// Adds a record. False if another key doesn't fit. Records come in order.
    pub fn note(&mut self, key: &[u8], offset: u64) -> bool {
        let hash = self.hash(key);
        let is_full = self.newest.len() >= self.keys_max;
        if is_full && !self.newest.contains_key(&hash) {
            return false;
        }
        let before = self.newest.insert(hash, offset);
        assert!(before.is_none_or(|before| before < offset), "offset {offset} after {before:?}");
        true
    }

    /// Whether a newer record with this key was noted.
    pub fn has_newer(&self, key: &[u8], offset: u64) -> bool {
        self.newest.get(&self.hash(key)).is_some_and(|newest| *newest > offset)
    }

    fn hash(&self, key: &[u8]) -> Hash {
        (self.hashers.0.hash_one(key), self.hashers.1.hash_one(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_record_is_one_with_the_same_key_and_a_higher_offset() {
        let mut keys = Keys::new(2);
        assert!(keys.note(b"a", 3) && keys.note(b"b", 4) && keys.note(b"a", 5));
        assert!(keys.has_newer(b"a", 3) && !keys.has_newer(b"a", 5) && !keys.has_newer(b"a", 6));
        assert!(!keys.has_newer(b"b", 4) && keys.has_newer(b"b", 0) && !keys.has_newer(b"c", 0));
        // Full: only known keys.
        assert!(!keys.note(b"c", 6) && keys.note(b"b", 7));
        assert!(!keys.has_newer(b"c", 0) && keys.has_newer(b"b", 4));
    }
}
