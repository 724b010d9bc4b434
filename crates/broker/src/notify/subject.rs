//! A topic as its subscriptions see it: the receiver of its commits.

use super::inbox::Inbox;
use super::registry::Registry;
use super::watchers::Watchers;
use rawline_journal::TopicId;
use std::sync::{Arc, Mutex, PoisonError};

/// A topic. One that is created later under the same name is another.
pub struct Subject {
    registry: Arc<Registry>,
    /// Tells topics apart.
    pub(crate) number: u64,
    pub(crate) name: Arc<str>,
    /// A part of its id.
    pub(crate) short_id: u32,
    matches: Mutex<Matches>,
    pub(crate) watchers: Watchers,
}

/// The subscriptions that match, as of a generation of the registry: while none begins or ends, commits don't search.
struct Matches {
    generation: u64,
    inboxes: Arc<[Arc<Inbox>]>,
}

impl Subject {
    pub(super) fn new(registry: Arc<Registry>, number: u64, name: Arc<str>, id: TopicId) -> Subject {
        // No subscription existed in the first generation.
        let matches = Matches { generation: 0, inboxes: Arc::default() };
        let (matches, watchers) = (Mutex::new(matches), Watchers::default());
        Subject { registry, number, name, short_id: id.short(), matches, watchers }
    }

    /// A partition has new records, from this offset on. They are in its index, and can be read.
    pub fn committed(self: &Arc<Self>, partition: u32, first_offset: u64) {
        self.watchers.changed(partition);
        if !self.registry.is_empty() {
            self.matches().iter().for_each(|inbox| inbox.committed(self, partition, first_offset));
        }
    }

    /// The topic is deleted.
    pub(crate) fn deleted(self: &Arc<Self>) {
        self.watchers.ended();
        if !self.registry.is_empty() {
            self.matches().iter().for_each(|inbox| inbox.deleted(self));
        }
    }

    fn matches(&self) -> Arc<[Arc<Inbox>]> {
        let mut matches = self.matches.lock().unwrap_or_else(PoisonError::into_inner);
        if matches.generation != self.registry.generation() {
            let (generation, inboxes) = self.registry.matches(&self.name);
            *matches = Matches { generation, inboxes };
        }
        matches.inboxes.clone()
    }
}
