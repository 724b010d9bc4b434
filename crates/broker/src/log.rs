//! The end of a topic's log as a pure state machine: which appends become one object, at which offset, and in which
//! order their callers get a response.
//!
//! No I/O, no tasks, no clock: the driver (`commit.rs`) reports events with the methods of [`Log`] and carries out what
//! [`Log::next`] returns. An append passes through it like this:
//!
//! ```text
//! push ─► group ─► storing ─► confirming ─► acknowledged or failed
//!                   │   ▲
//!        lost_race  ▼   │ caught_up: stored again, at the new end
//!                   lost
//! ```
//!
//! Time is a [`Duration`] since some moment of the driver's choice.

use crate::append::Appended;
use crate::limits::{COMMITS_CONFIRMING_MAX, OBJECT_BATCHES_MAX};
use std::collections::VecDeque;
use std::time::Duration;

/// When a group of appends is full, and how long it waits until then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupLimits {
    /// How long a group waits for more appends.
    pub batch_wait: Duration,
    /// A group of this many bytes is full.
    pub commit_bytes: u64,
    /// A group never holds more bytes than this.
    pub object_bytes_max: u64,
}

/// Size of one append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub bytes: u64,
    pub batches: usize,
    pub records: u64,
}

/// What the driver does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Store [`Log::storing`] as one object at this offset, then call [`Log::begun`], [`Log::lost_race`] or
    /// [`Log::not_stored`].
    Store { first_offset: u64 },
    /// List the store's objects from this offset on, because another writer may have one there. Then call
    /// [`Log::caught_up`], [`Log::found_own`] or [`Log::not_stored`].
    CatchUp { from: u64 },
    /// Wait for an event, at most until this time.
    Wait { until: Option<Duration> },
    /// Nothing is pending and nothing can arrive any more.
    Done,
}

/// An append that waits for its commit.
#[derive(Debug)]
struct Pending<A> {
    append: A,
    records: u64,
}

/// Appends that will be one object.
#[derive(Debug)]
struct Group<A> {
    appends: Vec<Pending<A>>,
    size: Size,
    /// When the first of them arrived.
    since: Duration,
    /// One that did not fit. It begins the next group.
    next: Option<(A, Size, Duration)>,
}

/// Appends that are stored as one object, in order.
#[derive(Debug)]
pub(crate) struct Commit<A> {
    pub first_offset: u64,
    records: u64,
    appends: Vec<Pending<A>>,
}

/// The commit whose place is not certain yet. There is at most one, and it is the newest.
#[derive(Debug)]
enum Newest<A> {
    None,
    /// The store was asked to store it.
    Storing(Commit<A>),
    /// Another writer was first at its offset. It waits until the commits before it are resolved.
    Lost(Commit<A>),
    /// The driver lists what the other writer stored.
    CatchingUp(Commit<A>),
}

/// The end of a topic's log. `A` is what the driver needs to respond to an append.
#[derive(Debug)]
pub(crate) struct Log<A> {
    limits: GroupLimits,
    /// Offset after the last confirmed record.
    next_offset: u64,
    group: Group<A>,
    newest: Newest<A>,
    /// Commits whose confirmation is pending, in order of offset.
    confirming: VecDeque<Commit<A>>,
    is_open: bool,
}

/// What a confirmation means for the appends of a commit.
#[derive(Debug)]
pub(crate) enum Resolved<A> {
    /// They are stored, and so is everything before them.
    Stored(Commit<A>),
    /// They are not stored.
    Failed(Commit<A>),
    /// They are stored, but something before them is not: the topic goes on at `next_offset`.
    Orphaned { commit: Commit<A>, next_offset: u64 },
}

impl<A> Commit<A> {
    /// Offset after its last record.
    pub fn next_offset(&self) -> u64 {
        self.first_offset + self.records
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    /// Its appends, in order.
    pub fn into_appends(self) -> impl Iterator<Item = A> {
        self.appends.into_iter().map(|pending| pending.append)
    }

    /// Its appends with the offsets they got: in order and dense.
    pub fn into_appended(self) -> impl Iterator<Item = (A, Appended)> {
        let mut first_offset = self.first_offset;
        let (end_offset, mut left) = (self.next_offset(), self.appends.len());
        self.appends.into_iter().map(move |Pending { append, records }| {
            let appended = Appended { first_offset, next_offset: first_offset + records };
            (first_offset, left) = (appended.next_offset, left - 1);
            assert!(left > 0 || first_offset == end_offset, "acknowledged up to {first_offset} of {end_offset}");
            (append, appended)
        })
    }
}

impl<A> Group<A> {
    fn new() -> Self {
        let size = Size { bytes: 0, batches: 0, records: 0 };
        Group { appends: Vec::new(), size, since: Duration::ZERO, next: None }
    }

    fn push(&mut self, append: A, size: Size, now: Duration, bytes_max: u64) {
        assert!(self.next.is_none(), "an append was taken although the group before it is full");
        let bytes = self.size.bytes + size.bytes;
        let batches = self.size.batches + size.batches;
        if self.appends.is_empty() {
            self.since = now;
        } else if bytes > bytes_max || batches > OBJECT_BATCHES_MAX {
            self.next = Some((append, size, now));
            return;
        }
        self.size = Size { bytes, batches, records: self.size.records + size.records };
        self.appends.push(Pending { append, records: size.records });
    }
}

impl<A> Log<A> {
    /// A log whose records up to `next_offset` are stored.
    pub fn new(next_offset: u64, limits: GroupLimits) -> Self {
        assert!(limits.commit_bytes <= limits.object_bytes_max, "{limits:?}: a full group is too large for an object");
        let newest = Newest::None;
        Log { limits, next_offset, group: Group::new(), newest, confirming: VecDeque::new(), is_open: true }
    }

    /// Whether [`Log::push`] may be called: the group has room.
    pub fn accepts(&self) -> bool {
        self.is_open && !self.is_full()
    }

    /// Whether the driver should take appends now. While an object is being stored they can as well wait in their
    /// queue, unless their waiting time counts: waking the driver for each of them would cost more than their appends.
    pub fn awaits_appends(&self) -> bool {
        self.accepts() && (matches!(self.newest, Newest::None) || !self.limits.batch_wait.is_zero())
    }

    fn is_full(&self) -> bool {
        self.group.size.bytes >= self.limits.commit_bytes || self.group.next.is_some()
    }

    /// Takes an append.
    pub fn push(&mut self, append: A, size: Size, now: Duration) {
        assert!(self.accepts(), "an append was pushed into a log that accepts none");
        assert!(
            size.records > 0 && (1..=OBJECT_BATCHES_MAX).contains(&size.batches),
            "{size:?} can't be part of an object"
        );
        let bytes_max = self.limits.object_bytes_max;
        assert!(size.bytes > 0 && size.bytes <= bytes_max, "{size:?}: an object has at most {bytes_max} bytes");
        self.group.push(append, size, now, bytes_max);
    }

    /// Number of commits that were begun and are not confirmed.
    pub fn confirming(&self) -> usize {
        self.confirming.len()
    }

    /// No more appends will arrive: what is pending is stored without waiting for more.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    /// What to do next.
    pub fn next(&mut self, now: Duration) -> Step {
        match std::mem::replace(&mut self.newest, Newest::None) {
            Newest::None => self.next_group(now),
            // A commit's offset follows from its predecessors, so the place of one that lost is known only then.
            Newest::Lost(commit) if self.confirming.is_empty() => {
                if self.next_offset == commit.first_offset {
                    let from = commit.first_offset;
                    self.newest = Newest::CatchingUp(commit);
                    return Step::CatchUp { from };
                }
                self.store(commit)
            }
            newest => {
                self.newest = newest;
                Step::Wait { until: None }
            }
        }
    }

    fn next_group(&mut self, now: Duration) -> Step {
        if self.group.appends.is_empty() {
            assert!(self.group.next.is_none(), "an append waits for a group that does not exist");
            let is_done = !self.is_open && self.confirming.is_empty();
            return if is_done { Step::Done } else { Step::Wait { until: None } };
        }
        let due_at = self.group.since + self.limits.batch_wait;
        if !self.is_due(due_at, now) {
            // After that time the group waits for a confirmation, and no longer for the clock.
            return Step::Wait { until: Some(due_at).filter(|&due_at| due_at > now) };
        }
        let group = std::mem::replace(&mut self.group, Group::new());
        if let Some((append, size, since)) = group.next {
            self.group.push(append, size, since, self.limits.object_bytes_max);
        }
        self.store(Commit { first_offset: 0, records: group.size.records, appends: group.appends })
    }

    /// Whether the group should be stored now: it is full or has waited long enough, and the store is idle or the group
    /// is large enough to be written while the store confirms the one before.
    fn is_due(&self, due_at: Duration, now: Duration) -> bool {
        let has_waited = !self.is_open || now >= due_at;
        let is_worth_it = self.confirming.is_empty() || self.group.size.bytes >= self.limits.commit_bytes / 2;
        self.confirming.len() < COMMITS_CONFIRMING_MAX && (self.is_full() || has_waited && is_worth_it)
    }

    /// Stores `commit` after everything that was begun.
    fn store(&mut self, mut commit: Commit<A>) -> Step {
        let first_offset = self.confirming.back().map_or(self.next_offset, Commit::next_offset);
        assert!(first_offset >= self.next_offset, "a commit at {first_offset} before the end {}", self.next_offset);
        commit.first_offset = first_offset;
        self.newest = Newest::Storing(commit);
        Step::Store { first_offset }
    }

    /// The appends to store, after [`Step::Store`].
    pub fn storing(&mut self) -> impl ExactSizeIterator<Item = &mut A> {
        let Newest::Storing(commit) = &mut self.newest else {
            unreachable!("the appends of a commit were asked for, but none is to be stored")
        };
        commit.appends.iter_mut().map(|pending| &mut pending.append)
    }

    /// The store has begun to store the newest commit: the next may begin.
    pub fn begun(&mut self) {
        match std::mem::replace(&mut self.newest, Newest::None) {
            Newest::Storing(commit) => self.confirming.push_back(commit),
            _ => unreachable!("the store has begun a commit that it was not asked to store"),
        }
        assert!(self.confirming.len() <= COMMITS_CONFIRMING_MAX, "{} commits at once", self.confirming.len());
    }

    /// Another writer has an object where the newest commit should go.
    pub fn lost_race(&mut self) {
        match std::mem::replace(&mut self.newest, Newest::None) {
            Newest::Storing(commit) => self.newest = Newest::Lost(commit),
            _ => unreachable!("a commit lost a race that the store was not asked to store"),
        }
    }

    /// Other writers' records up to `next_offset` are known now: the newest commit goes after them.
    pub fn caught_up(&mut self, next_offset: u64) {
        let commit = self.caught(next_offset);
        assert!(next_offset > commit.first_offset, "nothing is at {}, where a race was lost", commit.first_offset);
        self.newest = Newest::Lost(commit);
    }

    /// What is stored where the newest commit should go is that commit itself: an earlier request had succeeded. Other
    /// writers may have gone on up to `next_offset`.
    pub fn found_own(&mut self, next_offset: u64) -> Commit<A> {
        let commit = self.caught(next_offset);
        assert!(next_offset >= commit.next_offset(), "a stored commit ends after the log's end {next_offset}");
        commit
    }

    fn caught(&mut self, next_offset: u64) -> Commit<A> {
        assert!(self.confirming.is_empty(), "caught up before {} commits were resolved", self.confirming.len());
        assert!(next_offset >= self.next_offset, "the end went back from {} to {next_offset}", self.next_offset);
        self.next_offset = next_offset;
        match std::mem::replace(&mut self.newest, Newest::None) {
            Newest::CatchingUp(commit) => commit,
            _ => unreachable!("caught up with other writers without being asked to"),
        }
    }

    /// The newest commit was not stored. Returns it, so that its callers learn that.
    pub fn not_stored(&mut self) -> Commit<A> {
        match std::mem::replace(&mut self.newest, Newest::None) {
            Newest::Storing(commit) | Newest::CatchingUp(commit) => commit,
            Newest::None | Newest::Lost(_) => unreachable!("a commit failed that the store was not asked to store"),
        }
    }

    /// The oldest commit that was begun has been stored, or not.
    pub fn confirmed(&mut self, is_stored: bool) -> Resolved<A> {
        let Some(commit) = self.confirming.pop_front() else {
            unreachable!("a commit was confirmed that was not begun")
        };
        if !is_stored {
            return Resolved::Failed(commit);
        }
        if commit.first_offset != self.next_offset {
            return Resolved::Orphaned { commit, next_offset: self.next_offset };
        }
        self.next_offset = commit.next_offset();
        Resolved::Stored(commit)
    }
}

#[cfg(test)]
mod tests;
