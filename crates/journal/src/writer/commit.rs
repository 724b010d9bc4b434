//! The end is known: appends become objects, objects are put, confirmed, sent again, or given up.

use crate::chain::{Id, Link};
use crate::limits::OBJECT_APPENDS_MAX;
use crate::producers::Verdict;
use crate::state::Entry;
use crate::writer::flight::{Flight, Put, Queued};
use crate::writer::{Action, Answer, Outcome, Phase, PutResult, Writer};
use std::sync::Arc;
use std::time::Duration;

impl<T: Copy + PartialEq + std::fmt::Debug> Writer<T> {
    /// When the group is put, unless it is full before: at once after a quiet period.
    pub(super) fn group_due_at(&self) -> Option<Duration> {
        let can_put = self.group.front().is_some() && self.flights.len() < self.window && self.void.is_empty();
        can_put.then(|| self.put_at.map_or(Duration::ZERO, |put_at| put_at + self.limits.batch_wait))
    }

    /// Puts what is due.
    pub(super) fn put_groups(&mut self, now: Duration, actions: &mut Vec<Action<T>>) {
        while self.phase == Phase::Writing
            && self.group_due_at().is_some_and(|due_at| due_at <= now || self.group.bytes() >= self.limits.object_bytes)
        {
            self.put_group(now, actions);
        }
    }

    /// Puts an object of the oldest appends.
    fn put_group(&mut self, now: Duration, actions: &mut Vec<Action<T>>) {
        let (mut appends, mut sizes, mut undo, mut duplicates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        while appends.len() < OBJECT_APPENDS_MAX {
            let Some(next) = self.group.front() else { break };
            if !appends.is_empty() && bytes + next.append.bytes > self.limits.object_bytes {
                break;
            }
            let Some(Queued { append, maybe_stored }) = self.group.pop() else {
                unreachable!("the oldest append left")
            };
            let verdict = self.state.judge(append.partition, append.records, append.producer);
            match verdict {
                Verdict::Unknown if maybe_stored && self.rules.sequences() => {
                    actions.push(Action::Answer { ticket: append.ticket, outcome: Outcome::Unknown });
                }
                Verdict::Duplicate { first_offset } if self.rules.sequences() => {
                    duplicates.push((append, first_offset));
                }
                Verdict::Rejected(rejected) if self.rules.sequences() => {
                    actions.push(Action::Answer { ticket: append.ticket, outcome: Outcome::Rejected(rejected) });
                }
                Verdict::New | Verdict::Unknown | Verdict::Duplicate { .. } | Verdict::Rejected(_) => {
                    let entry = Entry {
                        partition: append.partition,
                        first_offset: self.state.next_offset(append.partition),
                        records: append.records,
                        producer: append.producer,
                    };
                    undo.push(self.state.add(&entry));
                    bytes += append.bytes;
                    sizes.push(append.bytes);
                    appends.push((append.ticket, entry));
                }
            }
        }
        if appends.is_empty() {
            // What they repeat is stored, or in the newest object in flight at the latest.
            match self.flights.back_mut() {
                Some(newest) => newest.duplicates.extend(duplicates),
                None => actions.extend(duplicates.into_iter().map(|(append, first_offset)| {
                    let outcome = Outcome::Stored(Answer { first_offset, is_duplicate: true });
                    Action::Answer { ticket: append.ticket, outcome }
                })),
            }
            return;
        }
        let link = self.next_link();
        let appends: Arc<[_]> = appends.into();
        actions.push(Action::Put { link, appends: appends.clone() });
        self.put_at = Some(now);
        self.flights.push_back(Flight {
            link,
            appends,
            sizes: sizes.into(),
            duplicates,
            put: Put::Sent,
            unknown_since: None,
            is_given_up: false,
            undo,
        });
    }

    /// The place after everything in flight.
    fn next_link(&mut self) -> Link {
        let (number, prev) = match self.flights.back() {
            Some(newest) => (newest.link.number + 1, newest.id()),
            None => (self.state.chain().next(), self.state.chain().last()),
        };
        Link { number, id: self.next_id(), prev }
    }

    /// A PUT ended. Objects that are no longer in flight don't matter: another way showed what became of them.
    pub(super) fn put_ended(&mut self, now: Duration, id: Id, result: PutResult, actions: &mut Vec<Action<T>>) {
        let retry = Put::Retry { at: now + self.limits.retry_after };
        if let Phase::Settling { link, ref mut put } = self.phase
            && link.id == id
        {
            match result {
                PutResult::Created { date } => self.settled(link, date, actions),
                PutResult::Exists => self.follow(actions),
                PutResult::Unknown => *put = retry,
            }
            return;
        }
        if let Some(at) = self.void.iter().position(|void| *void == id) {
            self.void.swap_remove(at);
            if self.void.is_empty() && self.phase == Phase::Writing {
                assert!(
                    self.flights.is_empty(),
                    "{} objects were put while void ones could arrive",
                    self.flights.len()
                );
                self.follow(actions);
            }
            return;
        }
        let lose_races = self.rules.lose_races();
        let Some(flight) = self.flights.iter_mut().find(|flight| flight.id() == id) else { return };
        match (result, flight.put) {
            (_, Put::Created { .. }) => {}
            (PutResult::Created { date }, _) => flight.put = Put::Created { date },
            (PutResult::Exists, _) if !lose_races => flight.put = Put::Created { date: self.end_seen },
            (PutResult::Exists, _) => flight.put = Put::Exists,
            (PutResult::Unknown, Put::Exists) => {}
            (PutResult::Unknown, _) => {
                flight.put = retry;
                flight.unknown_since.get_or_insert(now);
            }
        }
        if self.phase == Phase::Writing {
            self.confirm(actions);
        }
    }

    /// Acknowledges the oldest objects, as far as they are stored.
    pub(super) fn confirm(&mut self, actions: &mut Vec<Action<T>>) {
        if self.flights.iter().any(|flight| flight.put == Put::Exists) {
            // The object that is there may be ours, by a request whose response was lost, or another writer's.
            self.take_out();
            return self.follow(actions);
        }
        if !self.rules.acknowledge_in_order() {
            for flight in &self.flights {
                if matches!(flight.put, Put::Created { .. }) {
                    flight.answer_stored(actions);
                }
            }
        }
        while let Some(Put::Created { date }) = self.flights.front().map(|flight| flight.put) {
            let age = date.saturating_sub(self.end_seen);
            if age > self.limits.acknowledge_within() && self.rules.acknowledge_within() {
                // While nobody looked, others may have gone on, and deleted what was at this number.
                self.take_out();
                return self.load(actions);
            }
            self.end_seen = self.end_seen.max(date);
            let Some(flight) = self.flights.pop_front() else { unreachable!("the oldest object left") };
            self.state.confirm(flight.link, self.rules);
            self.publish(&flight, actions);
        }
    }

    /// An object in flight is part of the chain, and everything before it is.
    pub(super) fn publish(&mut self, flight: &Flight<T>, actions: &mut Vec<Action<T>>) {
        self.window = self.limits.in_flight_max;
        actions.push(Action::Publish { number: flight.link.number, entries: flight.entries() });
        flight.answer_stored(actions);
    }

    /// Takes the entries in flight out of the state, newest first: the end isn't known any more.
    pub(super) fn take_out(&mut self) {
        for flight in self.flights.iter_mut().rev() {
            for undo in flight.undo.drain(..).rev() {
                self.state.undo(undo);
            }
        }
    }

    /// Sends again what is due. If the oldest object's outcome stays unknown, settles its number.
    pub(super) fn retry(&mut self, now: Duration, actions: &mut Vec<Action<T>>) {
        let give_up_after = self.limits.give_up_after;
        let oldest = self.flights.front().filter(|flight| matches!(flight.put, Put::Retry { .. }));
        if oldest.and_then(|flight| flight.unknown_since).is_some_and(|since| now >= since + give_up_after) {
            self.take_out();
            return self.settle(actions);
        }
        for flight in &mut self.flights {
            if matches!(flight.put, Put::Retry { at } if at <= now) {
                flight.put = Put::Sent;
                actions.push(Action::Put { link: flight.link, appends: flight.appends.clone() });
            }
        }
    }

    /// Gives up what is in flight. Where the oldest object may still arrive, an empty one is put, so that either it is
    /// void or it is there already.
    pub(super) fn settle(&mut self, actions: &mut Vec<Action<T>>) {
        for flight in &mut self.flights {
            flight.is_given_up = true;
        }
        if !self.rules.settle() {
            self.drop_given_up(actions);
            self.phase = Phase::Writing;
            return;
        }
        let (number, prev) = (self.state.chain().next(), self.state.chain().last());
        let link = Link { number, id: self.next_id(), prev };
        self.put_empty(link, actions);
    }

    pub(super) fn put_empty(&mut self, link: Link, actions: &mut Vec<Action<T>>) {
        self.phase = Phase::Settling { link, put: Put::Sent };
        actions.push(Action::Put { link, appends: [].into() });
    }

    /// The empty object is there.
    fn settled(&mut self, link: Link, date: u64, actions: &mut Vec<Action<T>>) {
        let age = date.saturating_sub(self.end_seen);
        if age > self.limits.acknowledge_within() && self.rules.acknowledge_within() {
            return self.load(actions);
        }
        self.end_seen = self.end_seen.max(date);
        self.drop_given_up(actions);
        self.state.confirm(link, self.rules);
        actions.push(Action::Publish { number: link.number, entries: [].into() });
        self.phase = Phase::Writing;
    }

    fn drop_given_up(&mut self, actions: &mut Vec<Action<T>>) {
        for flight in self.flights.drain(..) {
            assert!(flight.is_given_up && flight.undo.is_empty(), "{:?} was not given up", flight.link);
            if flight.put == Put::Sent {
                self.void.push(flight.id());
            }
            flight.answer_all(Outcome::NotStored, actions);
        }
    }
}
