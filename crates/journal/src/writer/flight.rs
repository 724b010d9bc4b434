//! What a writer holds: appends that wait, and objects whose PUT has begun.

use crate::chain::{Id, Link};
use crate::state::{Entry, Undo};
use crate::writer::{Action, Answer, Append, Outcome};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// An append that waits for an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Queued<T> {
    pub append: Append<T>,
    /// It was in an object that nobody can find any more.
    pub maybe_stored: bool,
}

/// Appends that wait, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Group<T> {
    queue: VecDeque<Queued<T>>,
    bytes: u64,
}

impl<T> Default for Group<T> {
    fn default() -> Self {
        Group { queue: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Group<T> {
    /// Adds an append at the end.
    pub fn push(&mut self, append: Append<T>) {
        self.bytes += append.bytes;
        self.queue.push_back(Queued { append, maybe_stored: false });
    }

    /// Puts an append that was in flight back, before all that wait.
    pub fn push_front(&mut self, queued: Queued<T>) {
        self.bytes += queued.append.bytes;
        self.queue.push_front(queued);
    }

    /// Takes the oldest append.
    pub fn pop(&mut self) -> Option<Queued<T>> {
        let queued = self.queue.pop_front()?;
        assert!(self.bytes >= queued.append.bytes, "{} bytes wait, {} of them in one", self.bytes, queued.append.bytes);
        self.bytes -= queued.append.bytes;
        assert!(!self.queue.is_empty() || self.bytes == 0, "{} bytes of no appends", self.bytes);
        Some(queued)
    }

    /// Takes all.
    pub fn take_all(&mut self) -> VecDeque<Queued<T>> {
        self.bytes = 0;
        std::mem::take(&mut self.queue)
    }

    /// Size of all in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The oldest.
    pub fn front(&self) -> Option<&Queued<T>> {
        self.queue.front()
    }
}

/// How an object's PUT goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Put {
    /// A request is in flight.
    Sent,
    /// It is stored, by a response with this date.
    Created { date: u64 },
    /// Some object with its number is stored.
    Exists,
    /// The outcome is unknown, and a request goes out again at this time.
    Retry { at: Duration },
}

/// An object whose PUT has begun.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Flight<T> {
    pub link: Link,
    /// Its appends with what the index says of them.
    pub appends: Arc<[(T, Entry)]>,
    /// Sizes of the appends in bytes, in the same order.
    pub sizes: Arc<[u64]>,
    /// Callers whose append is stored already, or will be once this object is: the answer waits for it.
    pub duplicates: Vec<(Append<T>, u64)>,
    pub put: Put,
    /// Since when its outcome is unknown.
    pub unknown_since: Option<Duration>,
    /// Its number is being settled: it is not sent again.
    pub is_given_up: bool,
    /// What its entries changed in the state, newest last; empty while they are not counted in.
    pub undo: Vec<Undo>,
}

impl<T: Copy> Flight<T> {
    pub fn id(&self) -> Id {
        self.link.id
    }

    /// When its PUT goes out again.
    pub fn wake_at(&self) -> Option<Duration> {
        match self.put {
            Put::Retry { at } => Some(at),
            _ => None,
        }
    }

    /// The entries, as an index has them.
    pub fn entries(&self) -> Arc<[Entry]> {
        self.appends.iter().map(|(_, entry)| *entry).collect()
    }

    /// Tells every caller the same.
    pub fn answer_all(&self, outcome: Outcome, actions: &mut Vec<Action<T>>) {
        let tickets = self.appends.iter().map(|(ticket, _)| *ticket);
        let tickets = tickets.chain(self.duplicates.iter().map(|(append, _)| append.ticket));
        actions.extend(tickets.map(|ticket| Action::Answer { ticket, outcome }));
    }

    /// Tells every caller where its records are.
    pub fn answer_stored(&self, actions: &mut Vec<Action<T>>) {
        let fresh = self.appends.iter().map(|(ticket, entry)| (*ticket, entry.first_offset, false));
        let duplicates = self.duplicates.iter().map(|(append, first_offset)| (append.ticket, *first_offset, true));
        for (ticket, first_offset, is_duplicate) in fresh.chain(duplicates) {
            let outcome = Outcome::Stored(Answer { first_offset, is_duplicate });
            actions.push(Action::Answer { ticket, outcome });
        }
    }

    /// Its appends, to be appended again.
    pub fn into_queued(self, maybe_stored: bool) -> impl DoubleEndedIterator<Item = Queued<T>> {
        let appends = self.appends.iter().zip(self.sizes.iter()).map(move |((ticket, entry), bytes)| Append {
            ticket: *ticket,
            partition: entry.partition,
            records: entry.records,
            bytes: *bytes,
            producer: entry.producer,
        });
        let appends: Vec<_> = appends.chain(self.duplicates.into_iter().map(|(append, _)| append)).collect();
        appends.into_iter().map(move |append| Queued { append, maybe_stored })
    }
}
