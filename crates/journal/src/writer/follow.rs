//! A writer that doesn't know the end: it reads the newest snapshot and the objects after it, its own objects
//! included.

use crate::chain::Link;
use crate::changes::Changes;
use crate::state::State;
use crate::writer::flight::{Flight, Put};
use crate::writer::{Action, Outcome, Phase, ReadResult, Writer};
use std::time::Duration;

impl<T: Copy + PartialEq + std::fmt::Debug> Writer<T> {
    /// Loads the newest snapshot.
    pub(super) fn load(&mut self, actions: &mut Vec<Action<T>>) {
        self.phase = Phase::Loading { at: None };
        actions.push(Action::LoadSnapshot);
    }

    pub(super) fn load_failed(&mut self, now: Duration) {
        if self.phase == (Phase::Loading { at: None }) {
            self.phase = Phase::Loading { at: Some(now + self.limits.retry_after) };
        }
    }

    /// The newest snapshot is known. Continues with it if it is newer than this writer's view.
    pub(super) fn loaded(&mut self, state: Option<Box<State>>, date: u64, actions: &mut Vec<Action<T>>) {
        assert_eq!(self.phase, Phase::Loading { at: None }, "a snapshot was loaded without a request");
        self.end_seen = self.end_seen.max(date);
        if let Some(state) = state
            && state.chain().next() > self.state.chain().next()
        {
            self.state = *state;
            actions.push(Action::Restore);
            if self.flights.front().is_some_and(Flight::is_refused) {
                self.lose(actions);
            }
            let next = self.state.chain().next();
            let covered = self.flights.iter().take_while(|flight| flight.link.number < next).count();
            let covered: Vec<_> = self.flights.drain(..covered).collect();
            for flight in covered.into_iter().rev() {
                self.look_up(&flight, actions);
            }
        }
        self.follow(actions);
    }

    /// Appends an object's appends again as far as their producers' sequences say that they are not stored. The object
    /// may have been valid, but it is too old to be found.
    fn look_up(&mut self, flight: &Flight<T>, actions: &mut Vec<Action<T>>) {
        let is_given_up = flight.is_given_up;
        for (ticket, _) in flight.queued_controls() {
            actions.push(Action::Answer { ticket, outcome: Outcome::Unknown });
        }
        for queued in flight.queued(true).rev() {
            if is_given_up || queued.append.producer.is_none() && self.rules.sequences() {
                actions.push(Action::Answer { ticket: queued.append.ticket, outcome: Outcome::Unknown });
            } else {
                self.group.push_front(queued);
            }
        }
    }

    /// Reads objects that another writer has reported.
    pub(super) fn follow_told(&mut self, actions: &mut Vec<Action<T>>) {
        // The objects in flight will show whether other writers were faster.
        let is_idle = self.phase == Phase::Writing && self.flights.is_empty() && self.void.is_empty();
        if is_idle && self.told > self.state.chain().next() {
            self.follow(actions);
        }
    }

    /// Reads the object after those that are certain.
    pub(super) fn follow(&mut self, actions: &mut Vec<Action<T>>) {
        self.phase = Phase::Following { at: None };
        actions.push(Action::Read { number: self.state.chain().next() });
    }

    /// A read ended.
    pub(super) fn read_ended(&mut self, now: Duration, number: u64, result: ReadResult, actions: &mut Vec<Action<T>>) {
        assert_eq!(self.phase, Phase::Following { at: None }, "object {number} was read without a request");
        assert_eq!(number, self.state.chain().next(), "the wrong object was read");
        match result {
            ReadResult::Failed => self.phase = Phase::Following { at: Some(now + self.limits.retry_after) },
            ReadResult::Covered => self.load(actions),
            // Since the end was seen, others may have deleted this number, and a writer that was paused may have put
            // an object there that no other writer will ever read.
            ReadResult::Found { date, .. } | ReadResult::Missing { date } if self.is_outdated(date) => {
                self.load(actions);
            }
            ReadResult::Found { link, changes, created, date } => {
                // Later objects become part of the chain, and are covered by a snapshot, after this one was stored.
                // That this one still exists proves nothing about them: a reader that lags may read for longer than
                // the deletion delay before it reaches the end.
                let seen = if self.rules.age_of_objects() { created.min(date) } else { date };
                self.found(link, changes, seen, actions);
            }
            ReadResult::Missing { date } => {
                self.end_seen = self.end_seen.max(date);
                self.end_reached(actions);
            }
        }
    }

    /// Whether a read at this time, in seconds of the store's clock, says nothing of what was stored: so long after the
    /// end was seen, objects that are missing may have been stored and deleted.
    pub fn is_outdated(&self, date: u64) -> bool {
        date.saturating_sub(self.end_seen) > self.limits.believe_within() && self.rules.believe_within()
    }

    /// The next object of the chain, valid or void, ours or another writer's. It was the end at `seen`.
    fn found(&mut self, link: Link, changes: Changes, seen: u64, actions: &mut Vec<Action<T>>) {
        self.end_seen = self.end_seen.max(seen);
        self.stalled_since = None;
        let is_valid = match self.state.observe_by(link, &changes, self.rules) {
            Ok(is_valid) => is_valid,
            Err(contradiction) => {
                self.contradiction = Some(contradiction);
                return;
            }
        };
        let oldest = self.flights.front().map(Flight::id);
        if oldest == Some(link.id) && is_valid {
            let Some(flight) = self.flights.pop_front() else { unreachable!("the oldest object left") };
            self.publish(&flight, actions);
        } else {
            if oldest.is_some() {
                self.lose(actions);
            }
            if is_valid {
                actions.push(Action::Publish { link, changes });
            }
        }
        let is_idle = self.flights.is_empty() && self.void.is_empty() && !self.is_awaited();
        if is_idle && self.state.chain().next() == self.told {
            self.phase = Phase::Writing;
        } else {
            self.follow(actions);
        }
    }

    /// Everything in flight is void. Requests that weren't given up are pending again, before the others.
    fn lose(&mut self, actions: &mut Vec<Action<T>>) {
        self.window = 1;
        for flight in std::mem::take(&mut self.flights).into_iter().rev() {
            assert!(flight.undo.is_empty(), "{:?} is lost and still counted in", flight.link);
            if flight.put == Put::Sent {
                self.void.push(flight.id());
            }
            if flight.is_given_up {
                self.deny(flight, actions);
            } else {
                let controls = flight.queued_controls().rev();
                controls.for_each(|(ticket, control)| self.group.push_control_front(ticket, control));
                flight.queued(false).rev().for_each(|queued| self.group.push_front(queued));
            }
        }
    }

    /// The next number is missing, and this writer's view is recent: this is the end.
    fn end_reached(&mut self, actions: &mut Vec<Action<T>>) {
        self.told = self.told.min(self.state.chain().next());
        let (prev, last) = (self.flights.front().map(|flight| flight.link.prev), self.state.chain().last());
        self.phase = Phase::Writing;
        if prev.is_some_and(|prev| prev != last) {
            self.lose(actions);
        } else if self.flights.front().is_some_and(|flight| flight.is_given_up) {
            self.settle(actions);
        } else {
            self.count_in_again();
            self.confirm(actions);
        }
        if self.phase == Phase::Writing && self.flights.is_empty() {
            self.judge_suspects(actions);
        }
    }

    /// Objects in flight may still become part of the chain.
    fn count_in_again(&mut self) {
        for flight in &mut self.flights {
            assert!(flight.undo.is_empty(), "{:?} is counted in already", flight.link);
            flight.undo.push(self.state.advance(flight.changes.appended_us));
            for control in &*flight.changes.controls {
                let applied = self.state.apply(control, self.rules);
                let Ok(undo) = applied else { unreachable!("{control:?} was possible before: {applied:?}") };
                flight.undo.push(undo);
            }
            flight.undo.extend(flight.changes.entries.iter().map(|entry| self.state.add(entry)));
            // Something was at its number when the response came, and is not the chain's: it was this very object, read
            // too early, or the number is read again after the next PUT.
            if flight.put == Put::Exists {
                flight.put = Put::Retry { at: Duration::ZERO };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Id;
    use crate::limits::Limits;
    use crate::rules::{Broken, Rules};
    use crate::writer::Event;

    const DELETION_DELAY: u64 = 40;

    /// Another writer has stored an object each second. A reader begins 60 s later and reads as fast, while the objects
    /// after the fiftieth are deleted. Returns when it has loaded the newest snapshot, and when it believed that the
    /// fiftieth is the last.
    fn read_late(rules: Rules) -> (Vec<u64>, u64) {
        const LAST: u64 = 50;
        let limits = Limits { deletion_delay: DELETION_DELAY, ..Limits::default() };
        let (mut actions, mut loads, mut date) = (Vec::new(), Vec::new(), 60);
        let mut reader: Writer<u8> = Writer::with_rules(limits, 2, rules, &mut actions);
        while !reader.is_end_known() {
            assert!(date < 1_000, "it doesn't come to an end: {loads:?}");
            let event = match actions.pop() {
                Some(Action::LoadSnapshot) => {
                    loads.push(date);
                    Event::Snapshot { state: None, date }
                }
                Some(Action::Read { number }) if number <= LAST => {
                    let id = |commit| if commit == 0 { Id::ROOT } else { Id { run: 1, commit } };
                    let link = Link { number, id: id(number), prev: id(number - 1), in_flight: 0 };
                    let changes = Changes { appended_us: number * 1_000_000, ..Changes::default() };
                    Event::Read { number, result: ReadResult::Found { link, changes, created: number, date } }
                }
                Some(Action::Read { number }) => Event::Read { number, result: ReadResult::Missing { date } },
                other => panic!("{other:?} at {date}"),
            };
            actions.clear();
            reader.on(Duration::from_secs(date), event, &mut actions);
            date += 1;
            actions.retain(|action| !matches!(action, Action::Publish { .. }));
        }
        (loads, date - 1)
    }

    #[test]
    fn a_reader_that_lags_looks_for_a_newer_snapshot_again_and_again() {
        let (loads, believed) = read_late(Rules::default());
        let gaps = loads.iter().zip(loads.iter().skip(1).chain([&believed])).map(|(from, to)| to - from);
        // The read that shows that it is time for it takes a second here, and so does the load.
        assert!(gaps.clone().all(|gap| gap <= DELETION_DELAY / 4 + 2), "loaded at {loads:?}, believed at {believed}");
        assert!(loads.len() > 4, "loaded at {loads:?}, believed at {believed}");
    }

    #[test]
    fn without_the_age_of_objects_it_takes_a_deleted_number_for_the_end() {
        let (loads, believed) = read_late(Rules { broken: Some(Broken::AgeOfObjects) });
        assert_eq!(loads, [60], "it looked once");
        assert!(believed > 60 + DELETION_DELAY, "believed at {believed}: nothing can be deleted so early");
    }
}
