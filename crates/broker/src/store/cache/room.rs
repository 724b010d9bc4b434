//! Which copies there are, how much room they take, and which is evicted first.
//!
//! A scan of cold data must not evict what tails need. So copies are on probation until they are read again: those are
//! evicted first, in order of their last use. Of the protected ones, those that were not used for longest are put on
//! probation when they take more than most of the room.

use lru::LruCache;
use std::hash::Hash;

/// The part of the room that protected copies may take: the rest is for scans.
const PROTECTED_PERCENT_MAX: u64 = 80;

/// One copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    /// Distinguishes it from another copy of the object that takes its place.
    pub number: u64,
    /// Size of what is there of it.
    pub bytes: u64,
}

/// All copies, the one used last first, and the room reserved for those that are being written.
pub(super) struct Room<K: Hash + Eq> {
    probation: LruCache<K, Copied>,
    protected: LruCache<K, Copied>,
    protected_bytes: u64,
    copies_bytes: u64,
    reserved_bytes: u64,
    bytes_max: u64,
    /// Number of copies that there were.
    numbers: u64,
}

impl<K: Hash + Eq + Clone> Room<K> {
    /// Room for `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Self {
        Room {
            probation: LruCache::unbounded(),
            protected: LruCache::unbounded(),
            protected_bytes: 0,
            copies_bytes: 0,
            reserved_bytes: 0,
            bytes_max,
            numbers: 0,
        }
    }

    /// Bytes of all copies, those that are being written included.
    pub fn bytes(&self) -> u64 {
        self.copies_bytes + self.reserved_bytes
    }

    /// Number of copies.
    pub fn copies(&self) -> usize {
        self.probation.len() + self.protected.len()
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
        assert!(has_room || self.copies() == 0 || bytes > self.bytes_max, "no room for {bytes} bytes next to copies");
        (has_room, evicted)
    }

    /// Gives reserved room back.
    pub fn release(&mut self, bytes: u64) {
        assert!(bytes <= self.reserved_bytes, "released {bytes} bytes of {} reserved", self.reserved_bytes);
        self.reserved_bytes -= bytes;
    }

    /// Lists a copy on probation, in the place of another; returns its number. It may exceed the room until the next
    /// [`Room::reserve`].
    pub fn insert(&mut self, key: K, bytes: u64) -> u64 {
        self.forget(&key);
        self.numbers += 1;
        self.copies_bytes += bytes;
        self.probation.put(key, Copied { number: self.numbers, bytes });
        self.numbers
    }

    /// Changes the size of a copy, if this one is still there.
    pub fn resize(&mut self, key: &K, number: u64, resized: impl FnOnce(u64) -> u64) {
        let is_protected = self.protected.contains(key);
        let list = if is_protected { &mut self.protected } else { &mut self.probation };
        let Some(copied) = list.peek_mut(key).filter(|copied| copied.number == number) else { return };
        let before = copied.bytes;
        copied.bytes = resized(before);
        let after = copied.bytes;
        self.copies_bytes = self.copies_bytes - before + after;
        if is_protected {
            self.protected_bytes = self.protected_bytes - before + after;
        }
    }

    /// Protects a copy.
    pub fn protect(&mut self, key: &K) {
        let Some(copied) = self.probation.pop(key) else { return };
        self.protected_bytes += copied.bytes;
        self.protected.put(key.clone(), copied);
        while self.protected_bytes > self.bytes_max / 100 * PROTECTED_PERCENT_MAX {
            let Some((key, copied)) = self.protected.pop_lru() else {
                unreachable!("{} bytes in no copy", self.protected_bytes)
            };
            self.protected_bytes -= copied.bytes;
            self.probation.put(key, copied);
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
        let copied = self.probation.pop(key).or_else(|| {
            let copied = self.protected.pop(key)?;
            self.protected_bytes -= copied.bytes;
            Some(copied)
        });
        self.copies_bytes -= copied.map_or(0, |copied| copied.bytes);
        copied.is_some()
    }

    /// Looks a copy up and marks it as used.
    pub fn get(&mut self, key: &K) -> Option<Copied> {
        self.protected.get(key).or_else(|| self.probation.get(key)).copied()
    }

    fn evict_one(&mut self) -> Option<K> {
        if let Some((key, copied)) = self.probation.pop_lru() {
            self.copies_bytes -= copied.bytes;
            return Some(key);
        }
        let (key, copied) = self.protected.pop_lru()?;
        self.copies_bytes -= copied.bytes;
        self.protected_bytes -= copied.bytes;
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(copies: &[(u32, u64)]) -> Room<u32> {
        let mut room = Room::new(100);
        for (key, bytes) in copies {
            room.insert(*key, *bytes);
        }
        room
    }

    fn admit(room: &mut Room<u32>, key: u32, bytes: u64) -> Vec<u32> {
        let (has_room, evicted) = room.reserve(bytes);
        assert!(has_room);
        room.release(bytes);
        room.insert(key, bytes);
        evicted
    }

    #[test]
    fn the_copy_that_was_not_used_for_longest_goes_first() {
        let mut room = room(&[(1, 40), (2, 40)]);
        room.get(&1);
        assert_eq!(admit(&mut room, 3, 50), [2]);
        assert_eq!(room.bytes(), 90);
        assert_eq!(admit(&mut room, 4, 100), [1, 3]);
        assert_eq!(room.bytes(), 100);
    }

    #[test]
    fn what_is_larger_than_the_room_evicts_nothing() {
        let mut room = room(&[(1, 40)]);
        assert_eq!(room.reserve(101), (false, vec![]));
        assert_eq!(room.bytes(), 40);
    }

    #[test]
    fn reserved_room_is_not_given_twice_and_comes_back() {
        let mut room = room(&[(1, 40)]);
        assert_eq!(room.reserve(80), (true, vec![1]));
        assert!(!room.reserve(30).0);
        room.release(80);
        assert_eq!(room.bytes(), 0);
        assert!(room.reserve(100).0);
    }

    #[test]
    fn a_copy_counts_once_and_as_much_as_is_there_of_it() {
        let mut room = room(&[(1, 40)]);
        assert!(admit(&mut room, 1, 30).is_empty());
        assert_eq!(room.bytes(), 30);
        let number = room.get(&1).unwrap().number;
        room.resize(&1, number, |bytes| bytes + 5);
        room.resize(&1, number - 1, |_| 1000);
        assert_eq!(room.bytes(), 35);
        room.protect(&1);
        room.resize(&1, number, |bytes| bytes + 5);
        assert!(room.bytes() == 40 && room.forget(&1) && !room.forget(&1));
        assert_eq!((room.bytes(), room.protected_bytes), (0, 0));
    }

    #[test]
    fn evicting_frees_what_was_asked_for_or_all() {
        let mut room = room(&[(1, 40), (2, 10), (3, 20)]);
        assert_eq!(room.evict(41), [1, 2]);
        assert_eq!(room.evict(1000), [3]);
        assert_eq!(room.bytes(), 0);
    }

    #[test]
    fn copies_that_are_read_once_do_not_evict_protected_ones() {
        let mut room = room(&[(1, 40), (2, 40)]);
        room.protect(&1);
        room.protect(&2);
        for key in 10..100 {
            assert!(admit(&mut room, key, 10).iter().all(|evicted| *evicted >= 10), "{key}");
        }
        // A third doesn't fit among them: the one used last of the two stays.
        room.get(&1);
        room.protect(&99);
        assert_eq!(room.evict(20), [98, 2]);
        room.protect(&1);
        assert_eq!((room.protected_bytes, room.bytes()), (50, 50));
    }

    #[test]
    #[should_panic(expected = "released 1 bytes of 0 reserved")]
    fn room_that_was_not_reserved_cannot_be_released() {
        Room::<u32>::new(100).release(1);
    }
}
