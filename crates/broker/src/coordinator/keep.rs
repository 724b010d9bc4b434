//! Keeps groups in the journal: each change of a group's members is stored before a member learns of it.
//!
//! Any broker can continue with a group: it reads the newest version, and stores the next one. A version that another
//! broker has stored in between makes the journal refuse ours; then the group is read again. While a version is being
//! stored, changes gather for the next one.

use super::{Shared, State};
use crate::journal::{Journal, JournalError, Submitted};
use crate::tasks;
use rawline_groups::{GroupError, Outcome};
use rawline_journal::{Control, Fence, GROUP_STATE_BYTES_MAX, Refused};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The revision of no group: a group with members that was read is stored again before its first change or commit. What
/// an earlier coordinator has in flight names the version before, and has no effect from then on.
const UNCLAIMED: u64 = u64::MAX;

/// A group's state in the journal.
pub(super) struct Record {
    /// The journal's number.
    journal: u32,
    /// Distinguishes this from the state when the group was read before.
    load: u64,
    /// The newest submitted version, and its stamp, which the next one follows.
    version: u64,
    stamp: u64,
    /// The stamp of the newest version that is certain to be stored.
    stored: u64,
    /// Versions that are being stored, with their stamps.
    flights: VecDeque<(u64, u64)>,
    /// The group's revision in the newest version.
    revision: u64,
    /// Callers that wait for a version.
    waiting: Vec<(u64, Waiting)>,
}

/// A caller that waits until a change is stored.
enum Waiting {
    Ticket(usize, Outcome),
    Done(oneshot::Sender<Result<(), GroupError>>),
}

/// Gives each version another stamp than all others.
pub(super) struct Stamps {
    /// Random.
    run: u64,
    count: u64,
}

impl Stamps {
    pub fn new(run: u64) -> Stamps {
        Stamps { run, count: 0 }
    }

    fn next(&mut self) -> u64 {
        loop {
            self.count += 1;
            // Odd, so that no two counts give the same.
            let stamp = self.run ^ self.count.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            if stamp != 0 {
                return stamp;
            }
        }
    }
}

/// Why a group can't be kept, to its members.
fn of_journal(error: &JournalError) -> GroupError {
    match error {
        JournalError::Refused(Refused::GroupChanged { .. }) => GroupError::Moved,
        JournalError::Refused(Refused::Groups { limit, .. }) => GroupError::Groups { limit: *limit },
        error => GroupError::NotStored { reason: error.to_string().into() },
    }
}

/// No group has had a greater generation if it has had this version: each takes a version at least.
fn generation_of(version: u64) -> u32 {
    u32::try_from(version).unwrap_or(u32::MAX).min(i32::MAX as u32)
}

impl State {
    /// Reads a group, unless what is in memory is the newest that is stored or being stored. One that isn't known is
    /// only noted if it is about to have members.
    pub fn open(
        &mut self,
        journal: Option<&Journal>,
        group: &str,
        creates: bool,
        now: Duration,
    ) -> Result<(), GroupError> {
        let Some(journal) = journal else { return Ok(()) };
        let (version, found) = journal.with_groups(|groups, _| (groups.version(group), groups.get(group).cloned()));
        let stamp = found.as_ref().map_or(0, |found| found.stamp);
        if let Some(record) = self.records.get(group) {
            let is_known = stamp == record.stored || record.flights.iter().any(|(_, flight)| *flight == stamp);
            if is_known && self.groups.contains(group) {
                return Ok(());
            }
            self.drop_group(group, &GroupError::Moved);
        }
        if found.is_none() && !creates {
            return Ok(());
        }
        self.refresh_topics();
        let name: Arc<str> = group.into();
        let state = found.as_ref().map(|found| &*found.state);
        self.groups.restore(&name, state, generation_of(version), now)?;
        self.loads += 1;
        let record = Record {
            journal: journal.number(),
            load: self.loads,
            version,
            stamp,
            stored: stamp,
            flights: VecDeque::new(),
            revision: if found.is_some_and(|found| found.members > 0) {
                UNCLAIMED
            } else {
                self.groups.revision(group)
            },
            waiting: Vec::new(),
        };
        self.records.insert(name, record);
        Ok(())
    }

    /// Reads the groups of a journal that have members, so that those that stay silent are gone in time; forgets all of
    /// it if this broker doesn't coordinate them.
    pub fn look_for_groups(&mut self, journal: &Journal, coordinates: bool, now: Duration) {
        let number = journal.number();
        if !coordinates {
            self.scanned.remove(&number);
            let is_of = |(_, record): &(&Arc<str>, &Record)| record.journal == number;
            let gone: Vec<Arc<str>> = self.records.iter().filter(is_of).map(|(name, _)| name.clone()).collect();
            gone.iter().for_each(|group| self.drop_group(group, &GroupError::Moved));
            return;
        }
        let version = journal.groups_version();
        if self.scanned.insert(number, version) == Some(version) {
            return;
        }
        let groups = &self.groups;
        self.records.retain(|name, _| groups.contains(name));
        let records = &self.records;
        let unknown: Vec<Arc<str>> = journal.with_groups(|groups, _| {
            let unknown =
                groups.iter().filter(|(name, group)| group.members > 0 && !is_known(records, name, group.stamp));
            unknown.map(|(name, _)| name.clone()).collect()
        });
        for group in unknown {
            if let Err(error) = self.open(Some(journal), &group, true, now) {
                tracing::warn!(group = &*group, %error, "can't continue with a group");
            }
        }
    }

    /// Stores a group's changes, unless a version is being stored. Returns the version to wait for, if
    /// anything isn't stored.
    fn settle(&mut self, journal: Option<&Journal>, group: &str, now: Duration) -> Result<Option<u64>, GroupError> {
        let (Some(journal), Some(record)) = (journal, self.records.get(group)) else { return Ok(None) };
        if record.flights.is_empty() {
            self.flush(journal, group, now)?;
        }
        let Some(record) = self.records.get(group) else { return Ok(None) };
        let is_changed = self.groups.revision(group) != record.revision;
        Ok(match (is_changed, record.flights.is_empty()) {
            (true, _) => Some(record.version + 1),
            (false, false) => Some(record.version),
            (false, true) => None,
        })
    }

    /// Submits a group's changes, if there are any.
    fn flush(&mut self, journal: &Journal, group: &str, now: Duration) -> Result<(), GroupError> {
        let revision = self.groups.revision(group);
        let Some((name, record)) = self.records.get_key_value(group) else { return Ok(()) };
        if revision == record.revision {
            return Ok(());
        }
        let name = name.clone();
        match self.submit(journal, &name) {
            Ok(submitted) => {
                self.groups.hold(&name, now);
                let Some(record) = self.records.get_mut(group) else { unreachable!("{group} is known") };
                record.revision = revision;
                let (shared, load, version) = (self.me.clone(), record.load, record.version);
                tasks::spawn(async move {
                    let stored = submitted.stored().await;
                    if let Some(shared) = shared.upgrade() {
                        shared.stored(&name, load, version, stored);
                    }
                });
                Ok(())
            }
            Err(error) => {
                self.drop_group(group, &error);
                Err(error)
            }
        }
    }

    fn submit(&mut self, journal: &Journal, group: &Arc<str>) -> Result<Submitted, GroupError> {
        let (members, state) = self.groups.stored(group);
        if state.len() > GROUP_STATE_BYTES_MAX {
            return Err(GroupError::Large { limit: GROUP_STATE_BYTES_MAX });
        }
        let Some(record) = self.records.get_mut(group) else { unreachable!("{group} is known") };
        let (version, after, stamp) = (record.version + 1, record.stamp, self.stamps.next());
        let state = state.into();
        let control = Control::StoreGroup { group: group.clone(), version, after, stamp, members, state };
        let submitted = journal.submit(control).map_err(|error| of_journal(&error))?;
        record.flights.push_back((version, stamp));
        (record.version, record.stamp) = (version, stamp);
        Ok(submitted)
    }

    /// Sends answers of a group's rules: those that a change leads to once it is stored.
    pub fn answer(
        &mut self,
        journal: Option<&Journal>,
        group: &str,
        answers: Vec<rawline_groups::Answer<usize>>,
        now: Duration,
    ) {
        let waits_for = self.settle(journal, group, now);
        for rawline_groups::Answer { ticket, outcome } in answers {
            match (&waits_for, self.records.get_mut(group)) {
                (Err(error), _) => self.send(ticket, Outcome::Refused(error.clone())),
                (Ok(Some(version)), Some(record)) if !matches!(outcome, Outcome::Refused(_)) => {
                    record.waiting.push((*version, Waiting::Ticket(ticket, outcome)));
                }
                (Ok(_), _) => self.send(ticket, outcome),
            }
        }
    }

    /// Calls back once everything that has changed in a group is stored.
    pub fn when_stored(
        &mut self,
        journal: Option<&Journal>,
        group: &str,
        now: Duration,
    ) -> oneshot::Receiver<Result<(), GroupError>> {
        let (done, is_done) = oneshot::channel();
        match (self.settle(journal, group, now), self.records.get_mut(group)) {
            (Ok(Some(version)), Some(record)) => record.waiting.push((version, Waiting::Done(done))),
            (settled, _) => drop(done.send(settled.map(drop))),
        }
        is_done
    }

    /// In which version of the group's members something is possible that is checked now; it is submitted before
    /// anything changes.
    pub fn fence(&mut self, journal: &Journal, group: &str, now: Duration) -> Result<Fence, GroupError> {
        if self.groups.check_empty(group).is_ok() {
            return Ok(Fence::NoMembers);
        }
        self.flush(journal, group, now)?;
        Ok(self.records.get(group).map_or(Fence::NoMembers, |record| Fence::At(record.stamp)))
    }

    /// A version is stored, and those before it.
    fn confirm(&mut self, group: &str, version: u64, now: Duration) {
        let Some(record) = self.records.get_mut(group) else { return };
        while let Some((stored, stamp)) = record.flights.front().copied().filter(|(flight, _)| *flight <= version) {
            record.stored = stamp;
            record.flights.pop_front();
            assert!(stored <= record.version, "version {stored} after {}", record.version);
        }
        let (done, waiting) = std::mem::take(&mut record.waiting).into_iter().partition(|(until, _)| *until <= version);
        record.waiting = waiting;
        let is_settled = record.flights.is_empty();
        let done: Vec<(u64, Waiting)> = done;
        for (_, waiting) in done {
            match waiting {
                Waiting::Ticket(ticket, outcome) => self.send(ticket, outcome),
                Waiting::Done(done) => drop(done.send(Ok(()))),
            }
        }
        if is_settled {
            self.groups.go_on(group, now);
        }
    }

    /// Drops a group from memory; the next request reads it again. Pending requests fail with the reason.
    pub fn drop_group(&mut self, group: &str, error: &GroupError) {
        let waiting = self.records.remove(group).map(|record| record.waiting).unwrap_or_default();
        for (_, waiting) in waiting {
            match waiting {
                Waiting::Ticket(ticket, _) => self.send(ticket, Outcome::Refused(error.clone())),
                Waiting::Done(done) => drop(done.send(Err(error.clone()))),
            }
        }
        for ticket in self.groups.forget(group) {
            self.send(ticket, Outcome::Refused(error.clone()));
        }
    }
}

fn is_known(records: &BTreeMap<Arc<str>, Record>, group: &str, stamp: u64) -> bool {
    records
        .get(group)
        .is_some_and(|record| record.stored == stamp || record.flights.iter().any(|(_, flight)| *flight == stamp))
}

impl Shared {
    /// It is known whether a version of a group is stored.
    fn stored(&self, group: &str, load: u64, version: u64, stored: Result<u64, JournalError>) {
        let journals = self.journals();
        let mut state = self.lock();
        if state.records.get(group).is_none_or(|record| record.load != load) {
            return;
        }
        let now = state.began.elapsed();
        match stored {
            Ok(_) => {
                state.confirm(group, version, now);
                // Others could continue storing until nothing is ever due.
                let is_due = state.groups.due(now).contains(group);
                let answers = if is_due { state.groups.tick_group(group, now) } else { Vec::new() };
                state.answer(journals.of(group), group, answers, now);
            }
            Err(error) => {
                tracing::debug!(group, version, %error, "a change of a group's members was not stored");
                state.drop_group(group, &of_journal(&error));
            }
        }
        drop(state);
        self.earlier.notify_one();
    }
}
