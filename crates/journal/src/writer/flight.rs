//! The contents of a writer: pending appends, and objects whose PUT has begun.

use crate::chain::{Id, Link};
use crate::changes::{Changes, Entry};
use crate::control::Control;
use crate::state::Undo;
use crate::writer::{Action, Answer, Append, Outcome, Size};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// An append that waits for an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Queued<T> {
    pub append: Append<T>,
    /// It was in an object that can't be found any more.
    pub maybe_stored: bool,
}

/// A request that is answered without being part of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Judged<T> {
    Append(Append<T>),
    Control(T, Control),
}

impl<T: Copy> Judged<T> {
    pub fn ticket(&self) -> T {
        match self {
            Judged::Append(append) => append.ticket,
            Judged::Control(ticket, _) => *ticket,
        }
    }
}

/// Pending changes and appends, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Group<T> {
    /// Changes of topics, which come first in an object: they are concurrent with the appends that wait.
    controls: VecDeque<(T, Control)>,
    appends: VecDeque<Queued<T>>,
    /// Size of the appends in bytes.
    bytes: u64,
}

impl<T> Default for Group<T> {
    fn default() -> Self {
        Group { controls: VecDeque::new(), appends: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Group<T> {
    /// Adds an append at the end.
    pub fn push(&mut self, append: Append<T>) {
        self.bytes += append.size.bytes;
        self.appends.push_back(Queued { append, maybe_stored: false });
    }

    /// Adds a change at the end.
    pub fn push_control(&mut self, ticket: T, control: Control) {
        self.controls.push_back((ticket, control));
    }

    /// Puts an append that was in flight back, before all that wait.
    pub fn push_front(&mut self, queued: Queued<T>) {
        self.bytes += queued.append.size.bytes;
        self.appends.push_front(queued);
    }

    /// Puts a change that was in flight back, before all that wait.
    pub fn push_control_front(&mut self, ticket: T, control: Control) {
        self.controls.push_front((ticket, control));
    }

    /// Puts requests back that were taken out, in the same order.
    pub fn extend_front(&mut self, requests: Vec<Judged<T>>) {
        for request in requests.into_iter().rev() {
            match request {
                Judged::Append(append) => self.push_front(Queued { append, maybe_stored: false }),
                Judged::Control(ticket, control) => self.push_control_front(ticket, control),
            }
        }
    }

    /// Takes the oldest append.
    pub fn pop(&mut self) -> Option<Queued<T>> {
        let queued = self.appends.pop_front()?;
        let bytes = queued.append.size.bytes;
        assert!(self.bytes >= bytes, "{} bytes wait, {bytes} of them in one", self.bytes);
        self.bytes -= bytes;
        assert!(!self.appends.is_empty() || self.bytes == 0, "{} bytes of no appends", self.bytes);
        Some(queued)
    }

    /// Takes the oldest change.
    pub fn pop_control(&mut self) -> Option<(T, Control)> {
        self.controls.pop_front()
    }

    /// The oldest append.
    pub fn front(&self) -> Option<&Queued<T>> {
        self.appends.front()
    }

    /// Size of the appends in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.appends.is_empty() && self.controls.is_empty()
    }
}

/// How an object's PUT goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Put {
    /// A request is in flight.
    Sent,
    /// It was stored at this time of the store.
    Created { date: u64 },
    /// Some object with its number is stored.
    Exists,
    /// It isn't stored, and no request for it is in flight.
    NotStored,
    /// The outcome is unknown, and a request goes out again at this time.
    Retry { at: Duration },
}

/// An object whose PUT has begun.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Flight<T> {
    pub link: Link,
    pub changes: Changes,
    /// The callers of the control records, then those of the appends; empty once they have their answers.
    pub tickets: Arc<[T]>,
    /// Sizes of the appends, in order.
    pub sizes: Arc<[Size]>,
    /// Requests that this object and those before it make duplicate or impossible: the answer waits for it.
    pub judged: Vec<(Judged<T>, Outcome)>,
    pub put: Put,
    /// Since when its outcome is unknown.
    pub unknown_since: Option<Duration>,
    /// Its number is being settled: it is not sent again.
    pub is_given_up: bool,
    /// The undo log of its changes, newest last; empty while they aren't applied.
    pub undo: Vec<Undo>,
}

impl<T: Copy> Flight<T> {
    pub fn id(&self) -> Id {
        self.link.id
    }

    /// When its PUT is retried.
    pub fn wake_at(&self) -> Option<Duration> {
        match self.put {
            Put::Retry { at } => Some(at),
            _ => None,
        }
    }

    /// Whether the only request that was sent found another object at its number: it is stored nowhere, and neither is
    /// what names it as its predecessor.
    pub fn is_refused(&self) -> bool {
        self.put == Put::Exists && self.unknown_since.is_none()
    }

    /// Whether a caller waits for it.
    pub fn is_awaited(&self) -> bool {
        !self.tickets.is_empty() || !self.judged.is_empty()
    }

    /// The control records with their callers.
    pub fn controls(&self) -> impl Iterator<Item = (T, &Control)> {
        self.tickets.iter().copied().zip(&*self.changes.controls)
    }

    /// The appends with their callers. Markers have no caller.
    pub fn appends(&self) -> impl Iterator<Item = (T, &Entry)> {
        let appends = self.changes.entries.iter().filter(|entry| !entry.is_marker());
        self.tickets.iter().copied().skip(self.changes.controls.len()).zip(appends)
    }

    /// Tells every caller the same.
    pub fn answer_all(&self, outcome: Outcome, actions: &mut Vec<Action<T>>) {
        let tickets = self.tickets.iter().copied();
        let tickets = tickets.chain(self.judged.iter().map(|(request, _)| request.ticket()));
        actions.extend(tickets.map(|ticket| Action::Answer { ticket, outcome }));
    }

    /// Reports the stored offsets to every caller.
    pub fn answer_stored(&self, actions: &mut Vec<Action<T>>) {
        let changed = self.controls().map(|(ticket, control)| match control {
            Control::OpenProducer { id, epoch, .. } | Control::EndTransaction { next: (id, epoch), .. } => {
                (ticket, Outcome::Opened { id: *id, epoch: *epoch })
            }
            control => (ticket, Outcome::Changed { id: control.id() }),
        });
        let stored = self.appends().map(|(ticket, entry)| {
            (ticket, Outcome::Stored(Answer { first_offset: entry.first_offset, is_duplicate: false }))
        });
        let judged = self.judged.iter().map(|(request, outcome)| (request.ticket(), *outcome));
        let answers = changed.chain(stored).chain(judged);
        actions.extend(answers.map(|(ticket, outcome)| Action::Answer { ticket, outcome }));
    }

    /// Its appends, to be appended again.
    pub fn queued(&self, maybe_stored: bool) -> impl DoubleEndedIterator<Item = Queued<T>> {
        let appends = self.appends().zip(self.sizes.iter()).map(move |((ticket, entry), size)| Append {
            ticket,
            partition: entry.partition,
            content: entry.content,
            size: *size,
            producer: entry.producer,
            is_transactional: entry.transaction.is_some(),
        });
        let judged = self.judged.iter().filter_map(|(request, _)| match request {
            Judged::Append(append) => Some(append.clone()),
            Judged::Control(..) => None,
        });
        let appends: Vec<_> = appends.chain(judged).collect();
        appends.into_iter().map(move |append| Queued { append, maybe_stored })
    }

    /// Its changes of topics with their callers, to be made again.
    pub fn queued_controls(&self) -> impl DoubleEndedIterator<Item = (T, Control)> {
        let controls = self.controls().map(|(ticket, control)| (ticket, control.clone()));
        let judged = self.judged.iter().filter_map(|(request, _)| match request {
            Judged::Append(_) => None,
            Judged::Control(ticket, control) => Some((*ticket, control.clone())),
        });
        controls.chain(judged).collect::<Vec<_>>().into_iter()
    }
}
