//! Coordinates groups of consumers: carries out what the rules of groups decide (`keep.rs` stores it), and stores the
//! offsets that groups commit (`offsets.rs`).

mod keep;
mod lag;
mod offsets;
mod status;
#[cfg(test)]
mod tests;

pub use lag::GroupLag;
pub use offsets::{Commit, GroupOffset, OFFSET_METADATA_BYTES_MAX, OffsetError};

use crate::cluster::Cluster;
use crate::journal::Journal;
use crate::journals::{Journals, WeakJournals};
use crate::limits::{CONFIRMED_WITHIN, GROUPS_LOOK_INTERVAL};
use crate::listed::TopicsByName;
use crate::tasks;
use bytes::Bytes;
use keep::{Record, Stamps};
use rawline_groups::consumer::{ConsumerHeartbeat, Kept, Leaving, TopicList};
use rawline_groups::{Answer, GroupError, GroupLimits, Groups, Join, Membership, Outcome};
use slab::Slab;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// The groups of a broker.
pub struct Coordinator {
    shared: Arc<Shared>,
    /// Where groups and their offsets are stored.
    journals: Journals,
    /// Waits for the time.
    task: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes up the task that waits for the time, because something happens earlier.
    earlier: Notify,
    /// Where groups are kept.
    journals: WeakJournals,
    /// The other brokers on the storage, once this one has joined them.
    cluster: OnceLock<Weak<Cluster>>,
    is_read_only: bool,
}

struct State {
    groups: Groups<usize>,
    /// The stored state of the groups in memory.
    records: BTreeMap<Arc<str>, Record>,
    /// The journals whose groups with members are in memory, as of this version.
    scanned: BTreeMap<u32, u64>,
    stamps: Stamps,
    /// How often groups were read.
    loads: u64,
    /// Members whose requests wait for a response.
    waiting: Slab<oneshot::Sender<Outcome>>,
    began: Instant,
    /// When the task looks again, unless it is woken up before.
    looks_at: Option<Duration>,
    me: Weak<Shared>,
}

impl Coordinator {
    /// Goes on with the groups that these journals keep, with this time after which a silent member of a consumer group
    /// is gone, and a random number.
    pub(crate) fn new(journals: Journals, consumer_session: Duration, run: u64, is_read_only: bool) -> Coordinator {
        let shared = Arc::new_cyclic(|me| Shared {
            state: Mutex::new(State {
                groups: Groups::new(GroupLimits::with_session(consumer_session)),
                records: BTreeMap::new(),
                scanned: BTreeMap::new(),
                stamps: Stamps::new(run),
                loads: 0,
                waiting: Slab::new(),
                began: Instant::now(),
                looks_at: None,
                me: me.clone(),
            }),
            earlier: Notify::new(),
            journals: journals.downgrade(),
            cluster: OnceLock::new(),
            is_read_only,
        });
        let waits = shared.clone();
        let task = tasks::spawn(async move {
            loop {
                waits.wait().await;
            }
        });
        Coordinator { shared, journals, task }
    }

    /// From now on this broker coordinates the groups of the journals that it owns among these brokers.
    pub(crate) fn join(&self, cluster: &Arc<Cluster>) {
        assert!(self.shared.cluster.set(Arc::downgrade(cluster)).is_ok(), "a broker joins the others once");
        self.shared.earlier.notify_one();
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journals(&self) -> Journals {
        self.journals.upgrade()
    }

    /// Whether this broker coordinates the groups of a journal.
    fn coordinates(&self, journal: u32) -> bool {
        match self.cluster.get() {
            Some(cluster) => cluster.upgrade().is_some_and(|cluster| cluster.is_acting(journal)),
            None => !self.is_read_only,
        }
    }

    /// Fails unless no other broker has changed the members of a journal's groups up to a moment ago.
    fn confirm(&self, journal: Option<&Journal>) -> Result<(), GroupError> {
        let (Some(journal), Some(cluster)) = (journal, self.cluster.get().and_then(Weak::upgrade)) else {
            return Ok(());
        };
        let confirmed = cluster.confirmed(journal.number());
        let is_recent = confirmed.is_some_and(|confirmed| confirmed.elapsed() <= CONFIRMED_WITHIN);
        if is_recent { Ok(()) } else { Err(GroupError::Unconfirmed) }
    }

    /// Handles due events, and waits until the next may be due.
    async fn wait(&self) {
        let due_at = self.look_at_time();
        let due = async {
            match due_at {
                Some(due_at) => sleep_until(due_at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = self.earlier.notified() => {}
        }
    }

    fn look_at_time(&self) -> Option<Instant> {
        let journals = self.journals();
        let mut state = self.lock();
        let now = state.began.elapsed();
        state.forget_topics(&journals);
        for journal in journals.all() {
            state.look_for_groups(journal, self.coordinates(journal.number()), now);
        }
        for group in state.groups.due(now) {
            let answers = state.groups.tick_group(&group, now);
            state.answer(journals.of(&group), &group, answers, now);
        }
        let looks_again = (!journals.all().is_empty()).then(|| now + GROUPS_LOOK_INTERVAL);
        state.looks_at = state.groups.due_at().into_iter().chain(looks_again).min();
        state.looks_at.map(|looks_at| state.began + looks_at)
    }

    /// Asks the rules with a ticket, and waits for the answer.
    async fn ask(
        &self,
        journal: Option<&Journal>,
        group: &str,
        creates: bool,
        ask: impl FnOnce(&mut Groups<usize>, usize, Duration) -> Vec<Answer<usize>>,
    ) -> Outcome {
        let (answer, answered) = oneshot::channel();
        self.change(|state, now| {
            let ticket = state.waiting.insert(answer);
            match state.open(journal, group, creates, now) {
                Err(error) => state.send(ticket, Outcome::Refused(error)),
                Ok(()) => {
                    let answers = ask(&mut state.groups, ticket, now);
                    state.answer(journal, group, answers, now);
                }
            }
        });
        // Unanswered, the broker is being closed.
        answered.await.unwrap_or(Outcome::Refused(GroupError::Moved))
    }

    /// Changes groups, and wakes up the task if something is due earlier then.
    fn change<R>(&self, change: impl FnOnce(&mut State, Duration) -> R) -> R {
        self.change_due(|state, now| {
            let changed = change(state, now);
            (changed, state.groups.due_at())
        })
    }

    /// The same of a change that knows when something is due because of it.
    fn change_due<R>(&self, change: impl FnOnce(&mut State, Duration) -> (R, Option<Duration>)) -> R {
        let mut state = self.lock();
        let now = state.began.elapsed();
        let (changed, due_at) = change(&mut state, now);
        let is_earlier = match (due_at, state.looks_at) {
            (Some(due_at), Some(looks_at)) => due_at < looks_at,
            (due_at, None) => due_at.is_some(),
            (None, Some(_)) => false,
        };
        drop(state);
        if is_earlier {
            self.earlier.notify_one();
        }
        changed
    }
}

impl State {
    fn send(&mut self, ticket: usize, outcome: Outcome) {
        // The caller may be gone.
        drop(self.waiting.remove(ticket).send(outcome));
    }

    /// Consumer groups look for topics in the newest list.
    fn refresh_topics(&mut self) {
        let Some(journals) = self.me.upgrade().map(|shared| shared.journals()) else { return };
        let version = journals.topics_version();
        if self.groups.topics_version() != Some(version) {
            self.groups.set_topics(TopicList::new(version, Arc::new(TopicsByName::new(&journals))));
        }
    }

    /// Drops a list that isn't the newest: it would keep topics in memory that are deleted.
    fn forget_topics(&mut self, journals: &Journals) {
        if self.groups.topics_version().is_some_and(|known| known != journals.topics_version()) {
            self.groups.set_topics(TopicList::default());
        }
    }
}

impl Coordinator {
    /// Looks at a group, or takes a sign of a member, which is due later then.
    fn with_group<R>(&self, group: &str, look: impl FnOnce(&mut State, Duration) -> R) -> Result<R, GroupError> {
        let mut state = self.shared.lock();
        let now = state.began.elapsed();
        state.open(self.journals.of(group), group, false, now)?;
        Ok(look(&mut state, now))
    }

    /// A member joins a group. Returns once all members have joined, or the member is refused.
    pub async fn join_group(&self, group: &Arc<str>, join: Join, new_id: impl FnOnce() -> Arc<str>) -> Outcome {
        let ask = |groups: &mut Groups<usize>, ticket, now| groups.join(group, ticket, join, new_id, now);
        self.shared.ask(self.journals.of(group), group, true, ask).await
    }

    /// A member requests its share; the leader sends the shares of all members. Returns once the leader has.
    pub async fn sync_group(&self, group: &str, sync: &Membership, assignments: Vec<(Arc<str>, Bytes)>) -> Outcome {
        let ask = |groups: &mut Groups<usize>, ticket, now| groups.sync(group, ticket, sync, assignments, now);
        self.shared.ask(self.journals.of(group), group, false, ask).await
    }

    /// A member gives a sign.
    pub fn heartbeat(&self, group: &str, sync: &Membership) -> Result<(), GroupError> {
        self.with_group(group, |state, now| state.groups.heartbeat(group, sync, now))??;
        self.shared.confirm(self.journals.of(group))
    }

    /// A member leaves: by its id, or by its instance if the id is empty. Returns once it is certain that it has left.
    pub async fn leave_group(&self, group: &str, member: &str, instance: Option<&str>) -> Result<(), GroupError> {
        let journal = self.journals.of(group);
        let left = self.shared.change(|state, now| {
            state.open(journal, group, false, now)?;
            let (left, answers) = state.groups.leave(group, member, instance, now);
            state.answer(journal, group, answers, now);
            left.map(|()| state.when_stored(journal, group, now))
        })?;
        left.await.unwrap_or(Err(GroupError::Moved))
    }

    /// A member of a consumer group joins or gives a sign. Returns once what changes by that is stored.
    pub async fn consumer_heartbeat(&self, group: &Arc<str>, beat: &ConsumerHeartbeat) -> Result<Kept, OffsetError> {
        let journal = self.journals.one(group);
        let (kept, stored) = self.shared.change_due(|state, now| {
            let beaten = state.open(Some(journal), group, beat.epoch == 0, now).and_then(|()| {
                state.refresh_topics();
                let kept = state.groups.beat(group, beat, now)?;
                Ok((kept, state.when_stored(Some(journal), group, now)))
            });
            (beaten, state.groups.consumers_due_at(group))
        })?;
        stored.await.unwrap_or(Err(GroupError::Moved))?;
        self.shared.confirm(Some(journal))?;
        Ok(kept)
    }

    /// A member of a consumer group leaves. Returns once it is certain that it has left.
    pub async fn leave_consumers(
        &self,
        group: &str,
        member: &str,
        instance: Option<&str>,
        leaving: Leaving,
    ) -> Result<(), GroupError> {
        let journal = self.journals.of(group);
        let left = self.with_group(group, |state, now| {
            state.groups.leave_consumers(group, member, instance, leaving)?;
            Ok(state.when_stored(journal, group, now))
        })??;
        left.await.unwrap_or(Err(GroupError::Moved))
    }

    /// Whether this is a consumer group, and has members.
    pub fn is_consumer_group(&self, group: &str) -> bool {
        let is_one = |state: &mut State, _| state.groups.consumer_group(group).is_some_and(|found| !found.is_empty());
        self.with_group(group, is_one).unwrap_or(false)
    }

    /// Whether this member may commit offsets, and be sure of those that it gets.
    pub fn may_commit(&self, group: &str, member: &Membership) -> Result<(), GroupError> {
        self.with_group(group, |state, now| state.groups.may_commit(group, Some(member), now))??;
        self.shared.confirm(self.journals.of(group))
    }
}
