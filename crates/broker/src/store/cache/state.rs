//! The contents of a cache: copies on disk, mappings of them, and objects in memory.

use super::CopyName;
use super::room::Room;
use bytes::Bytes;
use lru::LruCache;
use std::time::Duration;
use tokio::time::Instant;

/// Pages that were read are assumed to stay in memory this long. Then they are read again, where blocking is allowed.
pub(super) const WARM_FOR: Duration = Duration::from_secs(10);

/// Everything that a cache holds.
pub(super) struct State {
    pub room: Room<CopyName>,
    /// Copies that are mapped, the one used last first: a process may have only so many mappings.
    pub mapped: LruCache<CopyName, Mapped>,
    /// The last object that is larger than the cache; its file is already unlinked.
    pub oversized: Option<(CopyName, Mapped)>,
    /// Objects that are in memory because the disk is full, the one used last first.
    pub in_memory: LruCache<CopyName, Mapped>,
}

impl State {
    /// A mapping that no copy belongs to would keep the disk's space of a file that was deleted.
    pub fn check(&self) {
        let (mapped, copies) = (self.mapped.len(), self.room.copies());
        assert!(mapped <= copies, "{mapped} mappings of {copies} copies");
    }
}

/// An object in a mapping or in memory.
#[derive(Clone)]
pub(super) struct Mapped {
    pub whole: Bytes,
    /// Until when its pages are believed to be in memory.
    pub warm_until: Instant,
}

impl Mapped {
    pub fn new(whole: &Bytes) -> Mapped {
        Mapped { whole: whole.clone(), warm_until: Instant::now() + WARM_FOR }
    }
}
