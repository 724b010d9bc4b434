//! Extends the chain: batches appends of all partitions into objects, has several in flight, and finds out which were
//! stored when a request fails or another writer is faster.
//!
//! The driver reports events with [`Writer::on`] and carries out the actions it adds. A writer is always in one phase:
//!
//! ```text
//!             ┌────────────── too long since the end was seen ──────────────┐
//!             ▼                                                             │
//! start ─► loading ─► following ──── a number is missing: the end ────► writing ◄─┐
//!                         ▲                                              │   │    │
//!                         ├───── another object is at our number ────────┘   │    │ an empty
//!                         │                                    outcome stays │    │ object is there
//!                         │                                    unknown       ▼    │
//!                         └───── something is at our number ─────────────── settling
//! ```
//!
//! Objects in flight have consecutive numbers, and each names the one before as its predecessor. So as soon as one of
//! them isn't valid, all after it are void, now or when they arrive.

mod commit;
mod flight;
mod follow;
#[cfg(test)]
mod tests;

use crate::chain::{Id, Link};
use crate::changes::Changes;
use crate::control::Control;
use crate::limits::{Limits, OBJECT_APPENDS_MAX, PUTS_IN_FLIGHT_MAX};
use crate::partition_id::PartitionId;
use crate::producers::{Content, Producer, Rejected};
use crate::refused::Refused;
use crate::rules::Rules;
use crate::state::{Contradiction, State, Undo};
use flight::{Flight, Group, Judged, Put};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// An append. `T` is the type of tickets: with a ticket, the driver finds the append's bytes and the caller that waits
/// for the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Append<T> {
    /// Identifies the append to the driver. The rules only copy it.
    pub ticket: T,
    /// Its partition.
    pub partition: PartitionId,
    /// Its records.
    pub content: Content,
    /// How much of an object it takes.
    pub size: Size,
    /// The producer, in an exactly-once append. Its sequence and the records together are below 2^64.
    pub producer: Option<Producer>,
    /// Whether its records belong to a transaction of the producer.
    pub is_transactional: bool,
}

/// How much of an object an append takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Number of batches, at least 1.
    pub batches: u32,
    /// Size of the batches in bytes.
    pub bytes: u64,
}

/// How a PUT ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PutResult {
    /// The object is stored. The response's `Date` in seconds.
    Created {
        /// The store's time.
        date: u64,
    },
    /// It was stored already, by another request for it: a read has found its id.
    Found {
        /// The store's time in seconds when it was stored.
        created: u64,
        /// The store's time in seconds.
        date: u64,
    },
    /// There is an object with this number, and it isn't this one unless an earlier PUT of it has stored it.
    Exists,
    /// The store didn't take it, for example because it is full: by this request it isn't stored and never will be.
    NotStored,
    /// Anything else: the object may be there, may arrive later, or never.
    Unknown,
}

impl PutResult {
    /// The store's time in seconds when the object was stored, if it is known to be.
    ///
    /// Of an object that was found, that is not the time of the read: others may have gone on meanwhile, and the chain
    /// was seen to end with this object when it was stored.
    pub fn created(self) -> Option<u64> {
        match self {
            PutResult::Created { date } => Some(date),
            PutResult::Found { created, date } => Some(created.min(date)),
            PutResult::Exists | PutResult::NotStored | PutResult::Unknown => None,
        }
    }

    /// The date of the response that has just shown that the object is stored.
    pub fn date(self) -> Option<u64> {
        match self {
            PutResult::Created { date } | PutResult::Found { date, .. } => Some(date),
            PutResult::Exists | PutResult::NotStored | PutResult::Unknown => None,
        }
    }
}

/// How a read of an object's index ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReadResult {
    /// The object exists.
    Found {
        /// Its place in the chain.
        link: Link,
        /// Its changes if it is valid.
        changes: Changes,
        /// The store's time in seconds when it was stored.
        created: u64,
        /// The store's time in seconds.
        date: u64,
    },
    /// No object has this number.
    Missing {
        /// The store's time in seconds.
        date: u64,
    },
    /// No object has this number, and a snapshot newer than the last read covers it.
    Covered,
    /// The request failed.
    Failed,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event<T> {
    /// An append arrived.
    Append(Append<T>),
    /// A change of a topic, a step of a merge, or a new instance of a named producer was requested.
    Change {
        /// Identifies the request to the driver.
        ticket: T,
        /// The change. A topic to be created has no id, a merge that begins no number, a new instance no epoch.
        control: Control,
    },
    /// A PUT ended. The id tells the writer's objects with the same number apart.
    Put {
        /// The object's id.
        id: Id,
        /// How it ended.
        result: PutResult,
    },
    /// The requested read ended.
    Read {
        /// The object's number.
        number: u64,
        /// How it ended.
        result: ReadResult,
    },
    /// The newest snapshot was loaded; `None` if it does not exist.
    Snapshot {
        /// The state in it.
        state: Option<Box<State>>,
        /// The store's time when the snapshots were listed, in seconds.
        date: u64,
    },
    /// The newest snapshot could not be loaded.
    SnapshotFailed,
    /// Time has passed: see [`Writer::wake_at`].
    Tick,
}

/// An action of the driver. Actions may take any time, and need no order except that of responses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action<T> {
    /// Create an object, unless one with its number exists, and report [`Event::Put`].
    Put {
        /// Its place in the chain.
        link: Link,
        /// Its changes; empty in an object that resolves a number.
        changes: Changes,
        /// The callers of the control records, then those of the appends.
        tickets: Arc<[T]>,
    },
    /// Read an object's index and report [`Event::Read`].
    Read {
        /// Its number.
        number: u64,
    },
    /// List the snapshots, load the newest, and report [`Event::Snapshot`].
    LoadSnapshot,
    /// Answer a caller.
    Answer {
        /// The append's ticket.
        ticket: T,
        /// Its result.
        outcome: Outcome,
    },
    /// The snapshot that was loaded last replaces all published objects.
    Restore,
    /// An object of the chain is certain: its records can be read. Objects are published in order of their numbers.
    Publish {
        /// Its place in the chain.
        link: Link,
        /// Its changes.
        changes: Changes,
    },
}

/// The result of an append, or of the change of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is stored.
    Stored(Answer),
    /// The change is stored.
    Changed {
        /// The id of the topic that changed, or the number of the merge.
        id: u64,
    },
    /// The new instance of a named producer is stored.
    Opened {
        /// The name's id.
        id: u64,
        /// The instance's epoch.
        epoch: u16,
    },
    /// The append is not stored and never will be.
    Rejected(Rejected),
    /// The change is not stored and never will be.
    Refused(Refused),
    /// The store didn't take it. It isn't stored and never will be.
    NotStored,
    /// It may be stored or not, which can't be determined any more.
    Unknown,
}

/// The offsets of a stored append.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answer {
    /// Offset of its first record.
    pub first_offset: u64,
    /// Whether it was stored before, by an earlier request.
    pub is_duplicate: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    /// The newest snapshot is being loaded, or will be at this time.
    Loading { at: Option<Duration> },
    /// The object after the chain's end is being read, or will be at this time.
    Following { at: Option<Duration> },
    /// The end is known.
    Writing,
    /// An empty object is put where the oldest object in flight may or may not be.
    Settling { link: Link, put: Put },
}

/// The end of a journal, as one writer sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Writer<T> {
    limits: Limits,
    rules: Rules,
    run: u64,
    /// Number of objects made in this run.
    made: u64,
    /// The valid objects that are certain, and the entries of those in flight while the end is known.
    state: State,
    phase: Phase,
    group: Group<T>,
    /// Requests that are impossible in this writer's view. Another writer may have extended the chain since the end
    /// was read: they are answered once an object that is put later, or a read that begins later, shows that it
    /// hasn't.
    suspects: Vec<Judged<T>>,
    /// Objects with consecutive numbers, the oldest at `state.chain().next()`.
    flights: VecDeque<Flight<T>>,
    /// Our void objects whose PUT has not ended. One of them may take the number that the next object gets: nothing is
    /// put before they end and the end is read again. Otherwise a writer that lost a race could keep losing to itself.
    void: Vec<Id>,
    /// Number of objects that may be in flight: 1 from a lost race to the next confirmed object. Two writers that keep
    /// several in flight could otherwise make each other lose without end, each with the void objects of its last try.
    window: usize,
    /// Since when the end isn't known and nothing is found.
    stalled_since: Option<Duration>,
    /// Since when a caller waits while the end isn't known. Meanwhile objects of other writers may be found.
    awaited_since: Option<Duration>,
    /// The store's time at which the chain's end was last observed. Objects after the last one that is known now are
    /// deleted at `end_seen + D` at the earliest.
    end_seen: u64,
    /// Another writer has reported that the chain reaches to before this number; 0 without a report.
    told: u64,
    /// The local time in microseconds since the Unix epoch.
    clock_us: u64,
    /// When the newest PUT began.
    put_at: Option<Duration>,
    /// Since when requests wait for an object, where PUTs have a minimum time between them.
    waiting_since: Option<Duration>,
    /// Number of PUTs that the minimum time would have allowed and that weren't needed, since they were last taken.
    spared: u32,
    /// Whether the store didn't take the newest object with appends. Until it takes one, each change is put alone: a
    /// store that is full may still take those that make room.
    puts_changes_alone: bool,
    /// A valid object contradicts the others: nothing can be appended until a human has looked.
    contradiction: Option<Contradiction>,
    /// Where the next look for producers that are too old begins.
    forgets_from: PartitionId,
}

/// No partition is before it.
const FIRST_PARTITION: PartitionId = PartitionId { topic: 0, number: 0 };

/// The confirmed state at one moment. What was in flight then is taken out of it when it is used, on any thread.
#[derive(Debug)]
pub struct Certain {
    state: State,
    /// The changes in flight, the newest first.
    undo: Vec<Undo>,
}

impl Certain {
    /// Number of the next object.
    pub fn next(&self) -> u64 {
        self.state.chain().next()
    }

    /// Number of topics, and of partitions that have had a record. What is in flight counts.
    pub fn entries_count(&self) -> usize {
        self.state.entries_count()
    }

    /// Number of named producers. What is in flight counts.
    pub fn producers_count(&self) -> usize {
        self.state.names.len()
    }

    /// Whether a named producer has this id.
    pub fn has_producer(&self, id: u64) -> bool {
        let had = |undo: &Undo| matches!(undo, Undo::Instance { names, .. } if names.had(id));
        self.state.has_producer(id) || self.undo.iter().any(had)
    }

    /// The state.
    pub fn into_state(self) -> State {
        let Certain { mut state, undo } = self;
        undo.into_iter().for_each(|undo| state.undo(undo));
        state
    }
}

impl<T: Copy + PartialEq + std::fmt::Debug> Writer<T> {
    /// A writer with a random `run`. It begins by loading the newest snapshot: carry out the actions added.
    pub fn new(limits: Limits, run: u64, actions: &mut Vec<Action<T>>) -> Self {
        Writer::with_rules(limits, run, Rules::default(), actions)
    }

    /// As [`Writer::new`], of the journal with this number in its storage.
    pub fn of_journal(journal: u32, limits: Limits, run: u64, actions: &mut Vec<Action<T>>) -> Self {
        Writer { state: State::of_journal(journal), ..Writer::new(limits, run, actions) }
    }

    pub(crate) fn with_rules(limits: Limits, run: u64, rules: Rules, actions: &mut Vec<Action<T>>) -> Self {
        assert!(run != Id::ROOT.run, "a run is a random number other than {run}");
        assert!((1..=PUTS_IN_FLIGHT_MAX).contains(&limits.in_flight_max), "{limits:?}");
        assert!(limits.object_bytes > 0, "{limits:?}");
        actions.push(Action::LoadSnapshot);
        Writer {
            limits,
            rules,
            run,
            made: 0,
            state: State::default(),
            phase: Phase::Loading { at: None },
            group: Group::default(),
            suspects: Vec::new(),
            flights: VecDeque::new(),
            void: Vec::new(),
            window: limits.in_flight_max,
            stalled_since: None,
            awaited_since: None,
            end_seen: 0,
            told: 0,
            clock_us: 0,
            put_at: None,
            waiting_since: None,
            spared: 0,
            puts_changes_alone: false,
            contradiction: None,
            forgets_from: FIRST_PARTITION,
        }
    }

    /// The valid objects that are certain, and while the end is known those in flight.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The confirmed valid objects: the contents of a snapshot. Takes time by the objects in flight, not by the state.
    pub fn certain(&self) -> Certain {
        let undo = self.flights.iter().rev().flat_map(|flight| flight.undo.iter().rev().cloned()).collect();
        Certain { state: self.state.clone(), undo }
    }

    /// Frees the memory of some producers that are too old by the objects that are certain. The next call continues.
    pub fn forget_old(&mut self) {
        let in_flight = self.flights.iter().flat_map(|flight| &flight.undo).find_map(|undo| match undo {
            Undo::Time { before } => Some(before.age_us()),
            _ => None,
        });
        let age_us = in_flight.unwrap_or(self.state.times.age_us());
        self.forgets_from = self.state.forget_old(age_us, self.forgets_from).unwrap_or(FIRST_PARTITION);
    }

    /// Another writer has read the chain to before this number. So does this one, without reading the objects after
    /// it. If the other is wrong, nothing is lost but a read.
    pub fn tell(&mut self, next: u64) {
        self.told = self.told.max(next);
    }

    /// The number before which the chain ends at the earliest, as another writer has reported; 0 without a report.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Notes the local time, in microseconds since the Unix epoch. Objects get it, and are the only ones to use it.
    pub fn set_clock(&mut self, now_us: u64) {
        self.clock_us = now_us;
    }

    /// Takes the number of PUTs that were spared: for each batch wait in which requests waited and no object was put,
    /// one. As many requests for slow objects may be sent a second time, and there are still no more than one for each
    /// batch wait.
    pub fn take_spared(&mut self) -> u32 {
        std::mem::take(&mut self.spared)
    }

    /// Whether this writer knows the chain's end.
    pub fn is_end_known(&self) -> bool {
        self.phase == Phase::Writing
    }

    /// Why the journal takes no appends any more, if a valid object contradicts those before it.
    pub fn contradiction(&self) -> Option<&Contradiction> {
        self.contradiction.as_ref()
    }

    /// Adds an append to those that wait. The next event puts them, together with others that have arrived meanwhile.
    pub fn enqueue(&mut self, append: Append<T>) {
        let Append { content: Content { records, .. }, size, producer, .. } = append;
        assert!(records > 0 && size.batches > 0 && size.batches <= records, "{append:?}");
        assert!(size.batches as usize <= OBJECT_APPENDS_MAX, "{append:?} fits no object");
        let end = producer.map(|producer| producer.sequence.checked_add(u64::from(records)));
        assert!(end != Some(None), "{append:?} is after the last sequence");
        self.group.push(append);
    }

    /// Adds a change to those that wait, as [`Writer::enqueue`] does.
    pub fn enqueue_change(&mut self, ticket: T, control: Control) {
        self.group.push_control(ticket, control);
    }

    /// Takes an event into account at the time `now`, counted from any moment, and adds actions to `actions`.
    pub fn on(&mut self, now: Duration, event: Event<T>, actions: &mut Vec<Action<T>>) {
        match event {
            Event::Append(append) => self.enqueue(append),
            Event::Change { ticket, control } => self.enqueue_change(ticket, control),
            Event::Put { id, result } => self.put_ended(now, id, result, actions),
            Event::Read { number, result } => self.read_ended(now, number, result, actions),
            Event::Snapshot { state, date } => self.loaded(state, date, actions),
            Event::SnapshotFailed => self.load_failed(now),
            Event::Tick => {}
        }
        self.proceed(now, actions);
        if self.phase == Phase::Writing {
            self.stalled_since = None;
        } else {
            self.stalled_since.get_or_insert(now);
        }
        if self.phase == Phase::Writing || !self.is_awaited() {
            self.awaited_since = None;
        } else {
            self.awaited_since.get_or_insert(now);
        }
        if self.group.is_empty() || self.limits.batch_wait.is_zero() {
            self.waiting_since = None;
        } else {
            self.waiting_since.get_or_insert(now);
        }
        self.check();
    }

    /// When to report [`Event::Tick`], without an earlier event.
    pub fn wake_at(&self) -> Option<Duration> {
        let due_at = match self.phase {
            Phase::Loading { at } | Phase::Following { at } => at,
            Phase::Settling { put: Put::Retry { at }, .. } => Some(at),
            Phase::Settling { .. } => None,
            Phase::Writing => {
                let retries = self.flights.iter().filter_map(Flight::wake_at);
                retries.chain(self.group_due_at()).min()
            }
        };
        due_at.into_iter().chain(self.fail_at()).min()
    }

    /// When pending requests get a response in any case.
    fn fail_at(&self) -> Option<Duration> {
        let since = self.awaited_since?;
        Some(self.stalled_since.map_or(since, |stalled| stalled.min(since)) + self.limits.wait_max)
    }

    /// Whether a caller waits for a response.
    fn is_awaited(&self) -> bool {
        !self.group.is_empty() || !self.suspects.is_empty() || self.flights.iter().any(Flight::is_awaited)
    }

    /// The due actions.
    fn proceed(&mut self, now: Duration, actions: &mut Vec<Action<T>>) {
        if self.contradiction.is_some() {
            return self.refuse(actions);
        }
        if self.fail_at().is_some_and(|at| at <= now) {
            self.fail(actions);
        }
        match self.phase {
            Phase::Loading { at: Some(at) } if at <= now => self.load(actions),
            Phase::Following { at: Some(at) } if at <= now => self.follow(actions),
            Phase::Settling { link, put: Put::Retry { at } } if at <= now => self.put_empty(link, actions),
            Phase::Writing => {
                self.retry(now, actions);
                self.put_groups(now, actions);
                self.check_suspects(actions);
                self.follow_told(actions);
            }
            _ => {}
        }
    }

    /// Answers everything that waits, after a contradiction.
    fn refuse(&mut self, actions: &mut Vec<Action<T>>) {
        self.fail(actions);
        self.flights.clear();
    }

    /// Responds to all pending requests. Objects in flight may be stored or not; they aren't retried.
    fn fail(&mut self, actions: &mut Vec<Action<T>>) {
        for flight in &mut self.flights {
            flight.is_given_up = true;
            flight.answer_all(Outcome::Unknown, actions);
            flight.tickets = [].into();
            flight.judged.clear();
        }
        self.group.extend_front(std::mem::take(&mut self.suspects));
        while let Some((ticket, _)) = self.group.pop_control() {
            actions.push(Action::Answer { ticket, outcome: Outcome::NotStored });
        }
        while let Some(queued) = self.group.pop() {
            // An earlier request with the same sequence may be stored.
            let is_unknown = queued.maybe_stored || queued.append.producer.is_some();
            let outcome = if is_unknown { Outcome::Unknown } else { Outcome::NotStored };
            actions.push(Action::Answer { ticket: queued.append.ticket, outcome });
        }
    }

    fn next_id(&mut self) -> Id {
        self.made += 1;
        Id { run: self.run, commit: self.made }
    }

    /// The invariants between any two events.
    fn check(&self) {
        let (first, mut prev) = (self.state.chain().next(), None);
        for (number, flight) in (first..).zip(&self.flights) {
            let link = flight.link;
            assert_eq!(link.number, number, "objects in flight have consecutive numbers");
            assert!(prev.is_none_or(|prev| prev == link.prev), "{link:?} does not follow {prev:?}");
            prev = Some(link.id);
        }
        assert!(self.flights.len() <= self.limits.in_flight_max, "{} PUTs in flight", self.flights.len());
    }
}
