//! The end is known: appends become objects, objects are put, confirmed, sent again, or given up.

use crate::chain::{Id, Link};
use crate::changes::{Changes, Entry};
use crate::control::Control;
use crate::limits::{OBJECT_APPENDS_MAX, OBJECT_CONTROL_BYTES_MAX, PUTS_IN_FLIGHT_MAX, TRANSACTION_PARTITIONS_MAX};
use crate::object::{CONTROL_BYTES_MAX, control_bytes};
use crate::producers::{Rejected, Verdict};
use crate::state::Undo;
use crate::times::next_time;
use crate::transactions::TransactionPart;
use crate::writer::flight::{Flight, Judged, Put, Queued};
use crate::writer::{Action, Answer, Append, Outcome, Phase, PutResult, Size, Writer};
use std::sync::Arc;
use std::time::Duration;

/// The pause before an object is put again is a part of this many of the time since it failed first: the longer the
/// store fails, the fewer requests it gets.
const RETRY_PARTS: u32 = 8;

/// Maximum number of markers in an object before the end of another transaction.
const MARKERS_MAX: usize = OBJECT_APPENDS_MAX / 2 - TRANSACTION_PARTITIONS_MAX;

/// The contents of the next object.
struct Gathered<T> {
    controls: Vec<Control>,
    entries: Vec<Entry>,
    /// The callers of the control records, then those of the appends.
    tickets: Vec<T>,
    sizes: Vec<Size>,
    undo: Vec<Undo>,
    judged: Vec<(Judged<T>, Outcome)>,
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Gathered {
            controls: Vec::new(),
            entries: Vec::new(),
            tickets: Vec::new(),
            sizes: Vec::new(),
            undo: Vec::new(),
            judged: Vec::new(),
        }
    }
}

impl<T: Copy + PartialEq + std::fmt::Debug> Writer<T> {
    /// When the group is put, unless it is full before: at once after a quiet period.
    pub(super) fn group_due_at(&self) -> Option<Duration> {
        let has_room = self.flights.len() < self.window && self.void.is_empty();
        let is_worth_it = self.flights.is_empty() || self.group.bytes() >= self.limits.concurrent_bytes;
        let can_put = !self.group.is_empty() && has_room && is_worth_it;
        can_put.then(|| self.put_at.map_or(Duration::ZERO, |put_at| put_at + self.pause()))
    }

    /// Minimum time between the newest PUT and the next one, unless that is full: a batch wait for each object in
    /// flight.
    ///
    /// Objects are confirmed in order, so one that is put while others take long is confirmed no earlier for it, and
    /// each of them may be the next that takes long. Objects with many bytes don't wait: fewer of them would be larger.
    fn pause(&self) -> Duration {
        let is_small = self.group.bytes() < self.limits.object_bytes / PUTS_IN_FLIGHT_MAX as u64;
        let waits = if is_small { self.flights.len().max(1) } else { 1 };
        self.limits.batch_wait * waits as u32
    }

    /// Counts the batch waits in which requests waited and no PUT began.
    fn count_spared(&mut self, now: Duration) {
        let (Some(put_at), Some(since)) = (self.put_at, self.waiting_since) else { return };
        let due_at = since.max(put_at + self.limits.batch_wait);
        let waited = now.saturating_sub(due_at).as_micros();
        let spared = waited.checked_div(self.limits.batch_wait.as_micros()).unwrap_or(0);
        self.spared = self.spared.saturating_add(spared as u32);
    }

    /// Puts the due objects.
    pub(super) fn put_groups(&mut self, now: Duration, actions: &mut Vec<Action<T>>) {
        while self.phase == Phase::Writing
            && self.group_due_at().is_some_and(|due_at| due_at <= now || self.group.bytes() >= self.limits.object_bytes)
        {
            self.put_group(now, actions);
        }
    }

    /// Puts an object with the oldest pending requests.
    fn put_group(&mut self, now: Duration, actions: &mut Vec<Action<T>>) {
        self.group.extend_front(std::mem::take(&mut self.suspects));
        let mut object = Gathered::default();
        let appended_us = next_time(self.state.times.newest_us(), self.clock_us);
        object.undo.push(self.state.advance(appended_us));
        self.gather_controls(&mut object);
        if object.controls.is_empty() || !self.puts_changes_alone {
            self.gather_appends(&mut object, actions);
        }
        let Gathered { controls, entries, tickets, sizes, undo, judged } = object;
        if tickets.is_empty() {
            undo.into_iter().rev().for_each(|undo| self.state.undo(undo));
            return self.keep_judged(judged, actions);
        }
        let appends = entries.iter().filter(|entry| !entry.is_marker()).count();
        assert_eq!(tickets.len(), controls.len() + appends, "callers of an object");
        let link = self.next_link();
        let changes = Changes { appended_us, controls: controls.into(), entries: entries.into() };
        let tickets: Arc<[T]> = tickets.into();
        actions.push(Action::Put { link, changes: changes.clone(), tickets: tickets.clone() });
        self.count_spared(now);
        self.put_at = Some(now);
        self.flights.push_back(Flight {
            link,
            changes,
            tickets,
            sizes: sizes.into(),
            judged,
            put: Put::Sent,
            unknown_since: None,
            is_given_up: false,
            undo,
        });
    }

    /// Nothing is put that could show whether what was judged is true. A duplicate's original is certain or in flight,
    /// so it is true as soon as all of that is certain; anything else has to be checked.
    fn keep_judged(&mut self, judged: Vec<(Judged<T>, Outcome)>, actions: &mut Vec<Action<T>>) {
        for (request, outcome) in judged {
            match (outcome, self.flights.back_mut()) {
                (Outcome::Stored(_), Some(newest)) => newest.judged.push((request, outcome)),
                (Outcome::Stored(_), None) => actions.push(Action::Answer { ticket: request.ticket(), outcome }),
                _ => self.suspects.push(request),
            }
        }
    }

    /// Reads the chain's end again if requests wait for it.
    pub(super) fn check_suspects(&mut self, actions: &mut Vec<Action<T>>) {
        let is_idle =
            self.phase == Phase::Writing && self.flights.is_empty() && self.void.is_empty() && self.group.is_empty();
        if is_idle && !self.suspects.is_empty() {
            self.follow(actions);
        }
    }

    /// The end was read after these requests had arrived, and nothing is in flight: what is impossible now is answered.
    pub(super) fn judge_suspects(&mut self, actions: &mut Vec<Action<T>>) {
        let mut possible = Vec::new();
        for request in std::mem::take(&mut self.suspects) {
            match self.judge_again(&request) {
                Some(outcome) => actions.push(Action::Answer { ticket: request.ticket(), outcome }),
                None => possible.push(request),
            }
        }
        self.group.extend_front(possible);
    }

    /// The result of a request without changes; `None` if it has changes.
    fn judge_again(&mut self, request: &Judged<T>) -> Option<Outcome> {
        match request {
            Judged::Append(append) => outcome(self.judge(append)),
            Judged::Control(_, request) => {
                let control = self.state.record(request.clone());
                match self.state.apply(&control, self.rules) {
                    Ok(undo) => {
                        self.state.undo(undo);
                        None
                    }
                    Err(refused) => Some(Outcome::Refused(refused)),
                }
            }
        }
    }

    /// Checks an append.
    fn judge(&self, append: &Append<T>) -> Verdict {
        let Append { partition, content, producer, is_transactional, .. } = *append;
        match self.state.judge(partition, content, producer, self.rules) {
            verdict @ (Verdict::New | Verdict::Unknown) => {
                let rejected = self.state.judge_transaction(partition, producer, is_transactional);
                rejected.map_or(verdict, Verdict::Rejected)
            }
            verdict => verdict,
        }
    }

    /// Counts the changes in that wait, as many as an object takes, and the markers that they lead to.
    fn gather_controls(&mut self, object: &mut Gathered<T>) {
        let (mut bytes, mut markers, mut count) = (0, Vec::new(), 0);
        while bytes < OBJECT_CONTROL_BYTES_MAX - CONTROL_BYTES_MAX && count <= MARKERS_MAX {
            if self.puts_changes_alone && !object.controls.is_empty() {
                break;
            }
            let Some((ticket, request)) = self.group.pop_control() else { break };
            let control = self.state.record(request);
            let due = self.state.markers(&control);
            match self.state.apply(&control, self.rules) {
                Ok(undo) => {
                    count += due.as_ref().map_or(0, |due| due.partitions.len());
                    markers.extend(due);
                    bytes += control_bytes(&control);
                    object.undo.push(undo);
                    object.controls.push(control);
                    object.tickets.push(ticket);
                }
                Err(refused) => object.judged.push((Judged::Control(ticket, control), Outcome::Refused(refused))),
            }
        }
        for entry in self.state.marker_entries(&markers) {
            object.undo.push(self.state.add(&entry));
            object.entries.push(entry);
        }
    }

    /// Counts the oldest appends in, as many as an object takes.
    fn gather_appends(&mut self, object: &mut Gathered<T>, actions: &mut Vec<Action<T>>) {
        let (mut bytes, mut batches) = (0, object.entries.len());
        while let Some(next) = self.group.front() {
            let Size { batches: more_batches, bytes: more_bytes } = next.append.size;
            let is_full =
                bytes + more_bytes > self.limits.object_bytes || batches + more_batches as usize > OBJECT_APPENDS_MAX;
            if is_full && !object.entries.is_empty() {
                break;
            }
            let Some(Queued { append, maybe_stored }) = self.group.pop() else {
                unreachable!("the oldest append left")
            };
            let verdict = self.judge(&append);
            let is_judged = self.rules.sequences() || matches!(verdict, Verdict::Rejected(Rejected::Partition(_)));
            match verdict {
                Verdict::Unknown
                | Verdict::Rejected(Rejected::Partition(_) | Rejected::Fenced { .. } | Rejected::NotOpen { .. })
                    if maybe_stored && is_judged =>
                {
                    actions.push(Action::Answer { ticket: append.ticket, outcome: Outcome::Unknown });
                }
                _ if is_judged && let Some(outcome) = outcome(verdict) => {
                    object.judged.push((Judged::Append(append), outcome));
                }
                Verdict::New | Verdict::Unknown | Verdict::Duplicate { .. } | Verdict::Rejected(_) => {
                    let entry = Entry {
                        partition: append.partition,
                        first_offset: self.state.next_offset(append.partition),
                        content: append.content,
                        producer: append.producer,
                        transaction: append.is_transactional.then_some(TransactionPart::Records),
                    };
                    object.undo.push(self.state.add(&entry));
                    object.entries.push(entry);
                    object.tickets.push(append.ticket);
                    object.sizes.push(append.size);
                    bytes += more_bytes;
                    batches += more_batches as usize;
                }
            }
        }
    }

    /// The place after everything in flight.
    fn next_link(&mut self) -> Link {
        let (number, prev) = match self.flights.back() {
            Some(newest) => (newest.link.number + 1, newest.id()),
            None => (self.state.chain().next(), self.state.chain().last()),
        };
        let in_flight = self.flights.len() as u8;
        Link { number, id: self.next_id(), prev, in_flight }
    }

    /// A PUT ended. Objects that are no longer in flight don't matter: their outcome became known otherwise.
    pub(super) fn put_ended(&mut self, now: Duration, id: Id, result: PutResult, actions: &mut Vec<Action<T>>) {
        let retry_after = self.limits.retry_after;
        if let Phase::Settling { link, ref mut put } = self.phase
            && link.id == id
        {
            match (result.created(), result) {
                (Some(created), _) => self.settled(link, created, actions),
                (None, PutResult::Exists) => self.follow(actions),
                (None, _) => *put = Put::Retry { at: now + retry_after },
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
            (PutResult::Created { .. } | PutResult::Found { .. }, _) => {
                let Some(date) = result.created() else { unreachable!("{result:?} has no time") };
                flight.put = Put::Created { date };
            }
            (PutResult::Exists, _) if !lose_races => flight.put = Put::Created { date: self.end_seen },
            (PutResult::Exists, _) => flight.put = Put::Exists,
            (PutResult::NotStored | PutResult::Unknown, Put::Exists) => {}
            // The outcome of an earlier request for it is known too.
            (PutResult::NotStored, _) if flight.unknown_since.is_none() => flight.put = Put::NotStored,
            (PutResult::NotStored | PutResult::Unknown, _) => {
                // A busy store refuses every other request for seconds, and all later objects wait for this one.
                let since = *flight.unknown_since.get_or_insert(now);
                let pause = (now.saturating_sub(since) / RETRY_PARTS).max(self.limits.first_retry_after);
                let pause = pause.min(retry_after);
                flight.put = Put::Retry { at: now + pause };
            }
        }
        if self.phase == Phase::Writing {
            self.confirm(actions);
        }
    }

    /// Acknowledges the oldest objects, as far as they are stored.
    pub(super) fn confirm(&mut self, actions: &mut Vec<Action<T>>) {
        if self.flights.iter().any(|flight| flight.put == Put::Exists) {
            // The existing object may be ours, by a request whose response was lost, or another writer's.
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
                // Meanwhile other writers may have gone on, and deleted the object with this number.
                self.take_out();
                return self.load(actions);
            }
            self.end_seen = self.end_seen.max(date);
            let Some(flight) = self.flights.pop_front() else { unreachable!("the oldest object left") };
            self.state.confirm(flight.link, self.rules);
            self.publish(&flight, actions);
        }
        if self.flights.front().is_some_and(|flight| flight.put == Put::NotStored) {
            // Nothing has to be put at its number to show that it isn't there.
            self.take_out();
            self.flights.iter_mut().for_each(|flight| flight.is_given_up = true);
            self.puts_changes_alone = true;
            self.drop_given_up(actions);
        }
    }

    /// An object in flight is part of the chain, and everything before it is.
    pub(super) fn publish(&mut self, flight: &Flight<T>, actions: &mut Vec<Action<T>>) {
        self.window = self.limits.in_flight_max;
        self.puts_changes_alone &= flight.changes.entries.is_empty();
        actions.push(Action::Publish { link: flight.link, changes: flight.changes.clone() });
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

    /// Retries due requests. If the oldest object's outcome stays unknown, puts an empty object with its number.
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
                let (changes, tickets) = (flight.changes.clone(), flight.tickets.clone());
                actions.push(Action::Put { link: flight.link, changes, tickets });
            }
        }
    }

    /// Gives up the objects in flight. If the oldest object may still arrive, an empty one is put, so that either it is
    /// void or already exists.
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
        let link = Link { number, id: self.next_id(), prev, in_flight: 0 };
        self.put_empty(link, actions);
    }

    pub(super) fn put_empty(&mut self, link: Link, actions: &mut Vec<Action<T>>) {
        self.phase = Phase::Settling { link, put: Put::Sent };
        actions.push(Action::Put { link, changes: self.empty(), tickets: [].into() });
    }

    /// An empty object, which resolves a number without a change.
    fn empty(&self) -> Changes {
        Changes { appended_us: self.state.times.newest_us(), ..Changes::default() }
    }

    /// The empty object exists.
    fn settled(&mut self, link: Link, date: u64, actions: &mut Vec<Action<T>>) {
        let age = date.saturating_sub(self.end_seen);
        if age > self.limits.acknowledge_within() && self.rules.acknowledge_within() {
            return self.load(actions);
        }
        self.end_seen = self.end_seen.max(date);
        self.drop_given_up(actions);
        self.state.confirm(link, self.rules);
        actions.push(Action::Publish { link, changes: self.empty() });
        self.phase = Phase::Writing;
    }

    fn drop_given_up(&mut self, actions: &mut Vec<Action<T>>) {
        for flight in std::mem::take(&mut self.flights).into_iter().rev() {
            assert!(flight.is_given_up && flight.undo.is_empty(), "{:?} was not given up", flight.link);
            if flight.put == Put::Sent {
                self.void.push(flight.id());
            }
            self.deny(flight, actions);
        }
    }

    /// An object that was given up is void. Its appends will never be stored, unless another request has stored
    /// the same. What was judged by it is judged again: the original of a duplicate, for example, may well be stored.
    pub(super) fn deny(&mut self, flight: Flight<T>, actions: &mut Vec<Action<T>>) {
        let denied = |ticket| Action::Answer { ticket, outcome: Outcome::NotStored };
        actions.extend(flight.controls().map(|(ticket, _)| denied(ticket)));
        actions.extend(flight.appends().map(|(ticket, entry)| {
            match outcome(self.state.recall(entry.partition, entry.content, entry.producer)) {
                Some(outcome @ Outcome::Stored(_)) => Action::Answer { ticket, outcome },
                _ => denied(ticket),
            }
        }));
        self.group.extend_front(flight.judged.into_iter().map(|(request, _)| request).collect());
    }
}

/// The result of an append without changes; `None` if it has changes.
fn outcome(verdict: Verdict) -> Option<Outcome> {
    match verdict {
        Verdict::New | Verdict::Unknown => None,
        Verdict::Duplicate { first_offset } => Some(Outcome::Stored(Answer { first_offset, is_duplicate: true })),
        Verdict::Rejected(rejected) => Some(Outcome::Rejected(rejected)),
    }
}
