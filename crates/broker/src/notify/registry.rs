//! All subscriptions of a broker. A topic's commits find theirs here.

use super::inbox::Inbox;
use super::matching::Matching;
use super::subject::Subject;
use rawline_journal::TopicId;
use slab::Slab;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All subscriptions.
#[derive(Default)]
pub struct Registry {
    /// Number of subscriptions: without any, this is all that a commit looks at.
    count: AtomicUsize,
    /// Changes with every subscription that begins or ends.
    generation: AtomicU64,
    /// The number that the next topic gets.
    subjects: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    matching: Matching,
    inboxes: Slab<Arc<Inbox>>,
}

/// The names and prefixes of a subscription.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Topics by their whole names.
    pub names: Vec<String>,
    /// What names begin with.
    pub prefixes: Vec<String>,
}

/// A subscription that is in the registry until this is dropped.
pub struct Registered {
    registry: Arc<Registry>,
    wanted: Wanted,
    number: usize,
    pub(crate) inbox: Arc<Inbox>,
}

impl Registry {
    /// A topic that begins to exist, or is opened.
    pub fn subject(self: &Arc<Self>, name: impl Into<Arc<str>>, id: TopicId) -> Arc<Subject> {
        let number = self.subjects.fetch_add(1, Ordering::Relaxed);
        Arc::new(Subject::new(self.clone(), number, name.into(), id))
    }

    /// Adds a subscription: from now on commits to topics that match are noted in its inbox.
    pub fn register(self: &Arc<Self>, wanted: Wanted) -> Registered {
        let inbox = Arc::new(Inbox::default());
        let mut table = self.table();
        let Table { matching, inboxes } = &mut *table;
        let number = inboxes.insert(inbox.clone());
        wanted.names.iter().for_each(|name| matching.add_name(name, number));
        wanted.prefixes.iter().for_each(|prefix| matching.add_prefix(prefix, number));
        self.count.store(inboxes.len(), Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Release);
        drop(table);
        // A read of a partition's end after this sees all commits that don't see the subscription.
        fence(Ordering::SeqCst);
        Registered { registry: self.clone(), wanted, number, inbox }
    }

    /// Whether it has no subscription.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The inboxes of the subscriptions that match a name, each once, and the generation to which that applies.
    pub(super) fn matches(&self, name: &str) -> (u64, Arc<[Arc<Inbox>]>) {
        let table = self.table();
        let mut numbers = Vec::new();
        table.matching.each(name, |number| numbers.push(number));
        numbers.sort_unstable();
        numbers.dedup();
        let inboxes = numbers.into_iter().filter_map(|number| table.inboxes.get(number).cloned());
        // With the lock: the table doesn't change.
        (self.generation(), inboxes.collect())
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut table = self.registry.table();
        let Table { matching, inboxes } = &mut *table;
        inboxes.remove(self.number);
        self.wanted.names.iter().for_each(|name| matching.remove_name(name, self.number));
        self.wanted.prefixes.iter().for_each(|prefix| matching.remove_prefix(prefix, self.number));
        self.registry.count.store(inboxes.len(), Ordering::Relaxed);
        self.registry.generation.fetch_add(1, Ordering::Release);
    }
}
