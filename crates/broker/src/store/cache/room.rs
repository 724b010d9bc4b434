//! Which copies there are, and how much room they take: the copy that was not used for longest is evicted first.

use lru::LruCache;
use std::hash::Hash;

/// One copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    pub bytes: u64,
    /// Whether this process has checked its checksums.
    pub verified: bool,
}

/// All copies, the one used last first, and the room reserved for those that are being written.
pub(super) struct Room<K: Hash + Eq> {
    copies: LruCache<K, Copied>,
    copies_bytes: u64,
    reserved_bytes: u64,
    bytes_max: u64,
}

impl<K: Hash + Eq + Clone> Room<K> {
    /// Room for `bytes_max` bytes with the copies `found`, the one used last at the end. They may exceed the maximum
    /// until the next [`Room::reserve`].
    pub fn new(bytes_max: u64, found: impl IntoIterator<Item = (K, u64)>) -> Self {
        let mut room = Room { copies: LruCache::unbounded(), copies_bytes: 0, reserved_bytes: 0, bytes_max };
        for (key, bytes) in found {
            room.copies_bytes += bytes;
            let before = room.copies.put(key, Copied { bytes, verified: false });
            assert!(before.is_none(), "a copy was found twice");
        }
        room
    }

    /// Bytes of all copies, those that are being written included.
    pub fn bytes(&self) -> u64 {
        self.copies_bytes + self.reserved_bytes
    }

    /// Number of copies.
    pub fn copies(&self) -> usize {
        self.copies.len()
    }

    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Reserves room and returns the copies that are evicted for it. False if there isn't enough room in any case.
    #[must_use]
    pub fn reserve(&mut self, bytes: u64) -> (bool, Vec<K>) {
        let mut evicted = Vec::new();
        while bytes <= self.bytes_max && self.bytes() + bytes > self.bytes_max {
            match self.evict_one() {
                Some(key) => evicted.push(key),
                None => break,
            }
        }
        let has_room = self.bytes() + bytes <= self.bytes_max;
        if has_room {
            self.reserved_bytes += bytes;
        }
        assert!(
            has_room || self.copies.is_empty() || bytes > self.bytes_max,
            "no room for {bytes} bytes next to copies"
        );
        (has_room, evicted)
    }

    /// Gives reserved room back.
    pub fn release(&mut self, bytes: u64) {
        assert!(bytes <= self.reserved_bytes, "released {bytes} bytes of {} reserved", self.reserved_bytes);
        self.reserved_bytes -= bytes;
    }

    /// Turns reserved room into a copy.
    pub fn admit(&mut self, key: K, copied: Copied) {
        self.release(copied.bytes);
        self.copies_bytes += copied.bytes;
        if let Some(before) = self.copies.put(key, copied) {
            self.subtract(before.bytes);
        }
    }

    /// Evicts copies of at least `bytes` bytes, or all.
    #[must_use]
    pub fn evict(&mut self, bytes: u64) -> Vec<K> {
        let target = self.copies_bytes.saturating_sub(bytes);
        let mut evicted = Vec::new();
        while self.copies_bytes > target {
            let Some(key) = self.evict_one() else { unreachable!("{} bytes in no copy", self.copies_bytes) };
            evicted.push(key);
        }
        evicted
    }

    /// Forgets a copy. False if there was none.
    pub fn forget(&mut self, key: &K) -> bool {
        let copied = self.copies.pop(key);
        if let Some(copied) = copied {
            self.subtract(copied.bytes);
        }
        copied.is_some()
    }

    /// Looks a copy up and marks it as used.
    pub fn get(&mut self, key: &K) -> Option<Copied> {
        self.copies.get(key).copied()
    }

    pub fn contains(&self, key: &K) -> bool {
        self.copies.contains(key)
    }

    /// Notes that a copy's checksums are good. False if it was evicted meanwhile.
    #[must_use]
    pub fn set_verified(&mut self, key: &K) -> bool {
        let copied = self.copies.peek_mut(key);
        let is_there = copied.is_some();
        copied.into_iter().for_each(|copied| copied.verified = true);
        is_there
    }

    fn evict_one(&mut self) -> Option<K> {
        let (key, copied) = self.copies.pop_lru()?;
        self.subtract(copied.bytes);
        Some(key)
    }

    fn subtract(&mut self, bytes: u64) {
        assert!(bytes <= self.copies_bytes, "a copy of {bytes} bytes among {}", self.copies_bytes);
        self.copies_bytes -= bytes;
        assert!(!self.copies.is_empty() || self.copies_bytes == 0, "{} bytes in no copy", self.copies_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(room: &mut Room<u32>, key: u32, bytes: u64) -> Vec<u32> {
        let (has_room, evicted) = room.reserve(bytes);
        assert!(has_room);
        room.admit(key, Copied { bytes, verified: false });
        evicted
    }

    #[test]
    fn the_copy_that_was_not_used_for_longest_goes_first() {
        let mut room = Room::new(100, [(1, 40), (2, 40)]);
        room.get(&1);
        assert_eq!(admit(&mut room, 3, 50), [2]);
        assert_eq!(room.bytes(), 90);
        assert_eq!(admit(&mut room, 4, 100), [1, 3]);
        assert_eq!(room.bytes(), 100);
    }

    #[test]
    fn what_is_larger_than_the_room_evicts_nothing() {
        let mut room = Room::new(100, [(1, 40)]);
        assert_eq!(room.reserve(101), (false, vec![]));
        assert_eq!(room.bytes(), 40);
    }

    #[test]
    fn reserved_room_is_not_given_twice_and_comes_back() {
        let mut room = Room::new(100, [(1, 40)]);
        assert_eq!(room.reserve(80), (true, vec![1]));
        assert!(!room.reserve(30).0);
        room.release(80);
        assert_eq!(room.bytes(), 0);
        assert!(room.reserve(100).0);
    }

    #[test]
    fn a_copy_that_is_written_again_counts_once() {
        let mut room = Room::new(100, [(1, 40)]);
        assert!(admit(&mut room, 1, 30).is_empty());
        assert_eq!(room.bytes(), 30);
        assert!(room.set_verified(&1) && room.forget(&1) && !room.forget(&1) && !room.set_verified(&1));
        assert_eq!(room.bytes(), 0);
    }

    #[test]
    fn evicting_frees_what_was_asked_for_or_all() {
        let mut room = Room::new(100, [(1, 40), (2, 10), (3, 20)]);
        assert_eq!(room.evict(41), [1, 2]);
        assert_eq!(room.evict(1000), [3]);
        assert_eq!(room.bytes(), 0);
    }

    #[test]
    #[should_panic(expected = "released 1 bytes of 0 reserved")]
    fn room_that_was_not_reserved_cannot_be_released() {
        Room::<u32>::new(100, []).release(1);
    }
}
