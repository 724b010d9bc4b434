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
    offset_next: u64,
    bytes: u64,
}

/// An object that holds a searched offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub at: ObjectAt,
    pub offset_next: u64,
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
            if object.first_offset < self.offset_next && !self.entries.is_empty() {
                continue;
            }
            // A store that does not read headers knows where an object ends by where the next one begins.
            let end = object.known.map(|known| known.offset_next);
            let end = end.or_else(|| listed.get(number + 1).map(|next| next.first_offset));
            let Some(offset_next) = end else { break };
            self.push(object.first_offset, offset_next, object.location, object.bytes, object.known)?;
        }
        Ok(())
    }

    /// Takes in the object of a commit.
    pub fn push(
        &mut self,
        first_offset: u64,
        offset_next: u64,
        location: Location,
        bytes: u64,
        known: Option<Known>,
    ) -> Result<(), Gap> {
        if !self.entries.is_empty() && first_offset != self.offset_next || offset_next <= first_offset {
            return Err(Gap { expected: self.offset_next, found: first_offset });
        }
        let appended_us = known.map_or(0, |known| known.appended_us);
        // An object is at most `OBJECT_BYTES_MAX` long.
        let bytes_small = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.entries.push_back(Entry { first_offset, appended_us, location, bytes: bytes_small, verified: false });
        self.offset_next = offset_next;
        self.bytes += bytes;
        Ok(())
    }

    pub fn offset_next(&self) -> u64 {
        self.offset_next
    }

    /// The first offset there is; `offset_next` in an empty topic.
    pub fn first_offset(&self) -> u64 {
        self.entries.front().map_or(self.offset_next, |entry| entry.first_offset)
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
        if offset >= self.offset_next {
            return None;
        }
        let behind = self.entries.partition_point(|entry| entry.first_offset <= offset);
        self.at(behind.checked_sub(1)?)
    }

    /// The object at `position` among the topic's, from 0.
    pub fn at(&self, position: usize) -> Option<Found> {
        let entry = self.entries.get(position)?;
        let offset_next = self.entries.get(position + 1).map_or(self.offset_next, |next| next.first_offset);
        let at = ObjectAt { first_offset: entry.first_offset, location: entry.location, bytes: u64::from(entry.bytes) };
        Some(Found { at, offset_next, verified: entry.verified })
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
