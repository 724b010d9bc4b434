//! The contents of a cache: copies on disk, and those of them that are mapped.

use super::copy::Copy;
use super::name::CopyName;
use super::room::Room;
use lru::LruCache;
use std::sync::Arc;

/// Everything that a cache holds.
pub(super) struct State {
    pub room: Room<CopyName>,
    /// Copies that are mapped, the one used last first: a process may have only so many mappings.
    pub open: LruCache<CopyName, Arc<Copy>>,
}

impl State {
    /// A mapping that no copy belongs to would keep the disk's space of a file that was deleted.
    pub fn check(&self) {
        let (open, copies) = (self.open.len(), self.room.copies());
        assert!(open <= copies, "{open} mappings of {copies} copies");
    }
}
