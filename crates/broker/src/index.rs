//! Where a topic's objects lie: one small entry an object, in order of offset.

use crate::store::{Known, Listed, Location, ObjectAt};
use std::collections::VecDeque;

/// One object of a topic.
#[derive(Debug, Clone, Copy)]
struct Entry {
    first_offset: u64,
    /// Zero while the store has not been asked.
    appended_us: u64,
    location: Location,
    bytes: u32,
    /// Whether this process has checked the object's checksums as the store gave them back.
    verified: bool,
}

/// The objects of a topic.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: VecDeque<Entry>,
    next_offset: u64,
    bytes: u64,
}

/// An object that holds a searched offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub at: ObjectAt,
    pub next_offset: u64,
    pub verified: bool,
}

/// Why objects do not continue a topic.
#[derive(Debug, thiserror::Error)]
#[error("the topic goes on at offset {expected}, but an object begins at {found}: records are missing or doubled")]
pub(crate) struct Gap {
    expected: u64,
    found: u64,
}

impl Index {
    /// Takes in what a store listed behind what is there already. Objects known already are passed over. A topic's
    /// first object may begin anywhere (its front may have been deleted).
    pub fn extend(&mut self, listed: &[Listed]) -> Result<(), Gap> {
        for (number, object) in listed.iter().enumerate() {
            if object.first_offset < self.next_offset && !self.entries.is_empty() {
                continue;
            }
            // A store that does not read headers knows where an object ends by where the next one begins.
            let end = object.known.map(|known| known.next_offset);
            let end = end.or_else(|| listed.get(number + 1).map(|next| next.first_offset));
            let Some(next_offset) = end else { break };
            self.push(object.first_offset, next_offset, object.location, object.bytes, object.known)?;
        }
        Ok(())
    }

    /// Takes in the object of a commit.
    pub fn push(
        &mut self,
        first_offset: u64,
        next_offset: u64,
        location: Location,
        bytes: u64,
        known: Option<Known>,
    ) -> Result<(), Gap> {
        if !self.entries.is_empty() && first_offset != self.next_offset || next_offset <= first_offset {
            return Err(Gap { expected: self.next_offset, found: first_offset });
        }
        let appended_us = known.map_or(0, |known| known.appended_us);
        // An object is at most `OBJECT_BYTES_MAX` long.
        let bytes_small = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.entries.push_back(Entry { first_offset, appended_us, location, bytes: bytes_small, verified: false });
        self.next_offset = next_offset;
        self.bytes += bytes;
        Ok(())
    }

    pub fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// The first offset there is; `next_offset` in an empty topic.
    pub fn first_offset(&self) -> u64 {
        self.entries.front().map_or(self.next_offset, |entry| entry.first_offset)
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn objects(&self) -> usize {
        self.entries.len()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time of the newest append, if known.
    pub fn appended_us(&self) -> Option<u64> {
        self.entries.back().map(|entry| entry.appended_us).filter(|&us| us > 0)
    }

    /// The object that holds `offset`, if it is there.
    pub fn find(&self, offset: u64) -> Option<Found> {
        if offset >= self.next_offset {
            return None;
        }
        let behind = self.entries.partition_point(|entry| entry.first_offset <= offset);
        self.at(behind.checked_sub(1)?)
    }

    /// The object at `position` among the topic's, from 0.
    pub fn at(&self, position: usize) -> Option<Found> {
        let entry = self.entries.get(position)?;
        let next_offset = self.entries.get(position + 1).map_or(self.next_offset, |next| next.first_offset);
        let at = ObjectAt { first_offset: entry.first_offset, location: entry.location, bytes: u64::from(entry.bytes) };
        Some(Found { at, next_offset, verified: entry.verified })
    }

    /// Time of the append of the object at `position`; `Some(0)` while the store has not been asked.
    pub fn appended_us_at(&self, position: usize) -> Option<u64> {
        self.entries.get(position).map(|entry| entry.appended_us)
    }

    pub fn set_appended_us(&mut self, first_offset: u64, appended_us: u64) {
        if let Some(entry) = self.entry_mut(first_offset) {
            entry.appended_us = appended_us;
        }
    }

    pub fn set_verified(&mut self, first_offset: u64) {
        if let Some(entry) = self.entry_mut(first_offset) {
            entry.verified = true;
        }
    }

    /// Forgets the objects in front of `first_offset`.
    pub fn delete_before(&mut self, first_offset: u64) {
        while let Some(entry) = self.entries.front().filter(|entry| entry.first_offset < first_offset) {
            self.bytes -= u64::from(entry.bytes);
            self.entries.pop_front();
        }
    }

    fn entry_mut(&mut self, first_offset: u64) -> Option<&mut Entry> {
        let position = self.entries.binary_search_by_key(&first_offset, |entry| entry.first_offset).ok()?;
        self.entries.get_mut(position)
    }
}
