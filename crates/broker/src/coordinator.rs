//! Coordinates groups of consumers: carries out what the rules of groups decide, and stores the offsets that groups
//! commit.

use crate::Kind;
use crate::broker::Broker;
use crate::end::in_store;
use crate::group_status::GroupStatus;
use crate::groups::consumer::{ConsumerHeartbeat, Kept, Leaving, Partitions, TopicList};
use crate::groups::{Answer, GroupError, GroupLimits, Groups, Join, Membership, Outcome, check_name};
use crate::journal::{Journal, JournalError};
use crate::journals::Journals;
use crate::producer::ProducerInstance;
use crate::store::StoreError;
use crate::tasks;
use crate::topic::TopicError;
use crate::transactions::TransactionError;
use bytes::Bytes;
use futures_util::future::join_all;
use rawline_journal::{Committed, Control, PartitionId, Refused};
use slab::Slab;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// The groups of a broker.
pub(crate) struct Coordinator {
    shared: Arc<Shared>,
    /// Waits for the time.
    task: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes up the task that waits for the time, because something happens earlier.
    earlier: Notify,
}

struct State {
    groups: Groups<usize>,
    /// Members whose requests wait for a response.
    waiting: Slab<oneshot::Sender<Outcome>>,
    began: Instant,
    /// When the task looks again, unless it is woken up before.
    looks_at: Option<Duration>,
}

/// Why an offset is not committed, or why it isn't known whether it is.
#[derive(Debug, Clone, Error)]
pub enum OffsetError {
    /// The rules of groups refuse it.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// There is no such topic or partition.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// What is committed with the offset is too long.
    #[error("{bytes} bytes are committed with an offset, where {limit} can be; commit fewer")]
    Metadata {
        /// Their number.
        bytes: usize,
        /// The maximum.
        limit: usize,
    },
    /// Nothing is committed there.
    #[error("the group has no such offset; nothing was deleted")]
    NotCommitted,
    /// It can't be committed in this transaction.
    #[error(transparent)]
    Transaction(TransactionError),
    /// Too many offsets.
    #[error(transparent)]
    TooMany(Refused),
    /// The store failed, or has no journal.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An offset to be committed.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: u64,
    /// Offset of the next record that the group wants; negative if it is to have none.
    pub offset: i64,
    /// What its consumer wants to find again with it.
    pub metadata: Arc<[u8]>,
}

/// Offsets of one request that are committed at once.
const COMMITS_AT_ONCE: usize = 1_024;

/// Maximum size of what is committed with an offset in bytes.
pub const OFFSET_METADATA_BYTES_MAX: usize = 4096;

impl Coordinator {
    /// With this time after which a silent member of a consumer group is gone.
    pub fn new(consumer_session: Duration) -> Coordinator {
        let groups = Groups::new(GroupLimits::with_session(consumer_session));
        let state = State { groups, waiting: Slab::new(), began: Instant::now(), looks_at: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), earlier: Notify::new() });
        let waits = shared.clone();
        let task = tasks::spawn(async move {
            loop {
                waits.wait().await;
            }
        });
        Coordinator { shared, task }
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

    /// Carries out what the time changes, and waits until it may change something more.
    async fn wait(&self) {
        let due_at = {
            let mut state = self.lock();
            let now = state.began.elapsed();
            let answers = state.groups.tick(now);
            state.answer(answers);
            state.looks_at = state.groups.due_at();
            state.looks_at.map(|looks_at| state.began + looks_at)
        };
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

    /// Asks the rules with a ticket, and waits for the answer.
    async fn ask(&self, ask: impl FnOnce(&mut Groups<usize>, usize, Duration) -> Vec<Answer<usize>>) -> Outcome {
        let (answer, answered) = oneshot::channel();
        self.change(|state, now| {
            let ticket = state.waiting.insert(answer);
            let answers = ask(&mut state.groups, ticket, now);
            state.answer(answers);
        });
        // Unanswered, the broker is being closed.
        answered.await.unwrap_or(Outcome::Refused(GroupError::UnknownMember))
    }

    /// Looks at groups, or takes heartbeats of members, which are due later then.
    fn look<R>(&self, look: impl FnOnce(&mut Groups<usize>, Duration) -> R) -> R {
        let mut state = self.lock();
        let now = state.began.elapsed();
        look(&mut state.groups, now)
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
    fn answer(&mut self, answers: Vec<Answer<usize>>) {
        for Answer { ticket, outcome } in answers {
            // Whoever waited may be gone.
            drop(self.waiting.remove(ticket).send(outcome));
        }
    }
}

impl Broker {
    /// A member joins a group. Returns once all members have joined, or the member is refused.
    pub async fn join_group(&self, group: &Arc<str>, join: Join, new_id: impl FnOnce() -> Arc<str>) -> Outcome {
        self.coordinator.shared.ask(|groups, ticket, now| groups.join(group, ticket, join, new_id, now)).await
    }

    /// A member asks for its share; the leader sends those of all members. Returns once the leader has.
    pub async fn sync_group(&self, group: &str, sync: &Membership, assignments: Vec<(Arc<str>, Bytes)>) -> Outcome {
        self.coordinator.shared.ask(|groups, ticket, now| groups.sync(group, ticket, sync, assignments, now)).await
    }

    /// A member gives a sign.
    pub fn heartbeat(&self, group: &str, sync: &Membership) -> Result<(), GroupError> {
        self.coordinator.shared.look(|groups, now| groups.heartbeat(group, sync, now))
    }

    /// A member leaves: by its id, or by its instance if the id is empty.
    pub fn leave_group(&self, group: &str, member: &str, instance: Option<&str>) -> Result<(), GroupError> {
        self.coordinator.shared.change(|state, now| {
            let (left, answers) = state.groups.leave(group, member, instance, now);
            state.answer(answers);
            left
        })
    }

    /// A member of a consumer group joins or gives a sign.
    pub fn consumer_heartbeat(&self, group: &Arc<str>, beat: &ConsumerHeartbeat) -> Result<Kept, OffsetError> {
        if self.journals.all().is_empty() {
            return Err(no_journal().into());
        }
        let kept = self.coordinator.shared.change_due(|state, now| {
            let version = self.journals.topics_version();
            if state.groups.topics_version() != Some(version) {
                state.groups.set_topics(topics(&self.journals, version));
            }
            let kept = state.groups.beat(group, beat, now);
            (kept, state.groups.consumers_due_at(group))
        });
        Ok(kept?)
    }

    /// A member of a consumer group leaves.
    pub fn leave_consumers(
        &self,
        group: &str,
        member: &str,
        instance: Option<&str>,
        leaving: Leaving,
    ) -> Result<(), GroupError> {
        self.coordinator.shared.look(|groups, _| groups.leave_consumers(group, member, instance, leaving))
    }

    /// Whether this is a consumer group, and has members.
    pub fn is_consumer_group(&self, group: &str) -> bool {
        self.coordinator.shared.look(|groups, _| groups.consumer_group(group).is_some_and(|found| !found.is_empty()))
    }

    /// Whether a member of a consumer group wants the topic with this name.
    pub fn is_wanted(&self, group: &str, topic: &str) -> bool {
        self.coordinator.shared.look(|groups, _| groups.consumer_group(group).is_some_and(|found| found.wants(topic)))
    }

    /// Whether this member may commit offsets, and be sure of those that it gets.
    pub fn may_commit(&self, group: &str, member: &Membership) -> Result<(), GroupError> {
        self.coordinator.shared.look(|groups, now| groups.may_commit(group, Some(member), now))
    }

    /// Commits offsets of a group, each by itself: for a member of this generation, or for nobody while there are none.
    /// `owner` is the name of the key that asks; empty if it has none.
    pub async fn commit_offsets(
        &self,
        group: &Arc<str>,
        owner: &str,
        member: Option<&Membership>,
        commits: &[Commit],
    ) -> Result<Vec<Result<(), OffsetError>>, OffsetError> {
        check_name(group)?;
        self.check_committer(group, member, commits).await?;
        self.commit_all((group, &owner.into()), None, commits).await
    }

    /// Checks that a member may commit these offsets, or that nobody has to be a member.
    async fn check_committer(
        &self,
        group: &str,
        member: Option<&Membership>,
        commits: &[Commit],
    ) -> Result<(), OffsetError> {
        let shared = &self.coordinator.shared;
        let checked = shared.look(|groups, now| groups.may_commit(group, member, now));
        let (Err(GroupError::StaleEpoch { .. }), Some(member)) = (&checked, member) else { return Ok(checked?) };
        let mut partitions = Partitions::default();
        for commit in commits {
            let (Ok(topic), Ok(number)) = (self.topic(&commit.topic).await, u32::try_from(commit.partition)) else {
                return Ok(checked?);
            };
            partitions.insert(topic.topic_id(), number);
        }
        let still_has = shared.look(|groups, _| {
            let found = groups.consumer_group(group);
            found.is_some_and(|found| found.still_has(&member.member, member.generation, &partitions))
        });
        if still_has { Ok(()) } else { Ok(checked?) }
    }

    async fn commit_all(
        &self,
        group: (&Arc<str>, &Arc<str>),
        producer: Option<ProducerInstance>,
        commits: &[Commit],
    ) -> Result<Vec<Result<(), OffsetError>>, OffsetError> {
        let mut committed = Vec::with_capacity(commits.len());
        for commits in commits.chunks(COMMITS_AT_ONCE) {
            committed.extend(join_all(commits.iter().map(|commit| self.commit_offset(group, producer, commit))).await);
        }
        Ok(committed)
    }

    /// As [`Broker::commit_offsets`], in the transaction of a producer: they count once it is committed. Without a
    /// member, nobody checks whether the group has others.
    pub async fn commit_offsets_in_transaction(
        &self,
        group: &Arc<str>,
        owner: &str,
        member: Option<&Membership>,
        producer: ProducerInstance,
        commits: &[Commit],
    ) -> Result<Vec<Result<(), OffsetError>>, OffsetError> {
        check_name(group)?;
        if member.is_some() {
            self.check_committer(group, member, commits).await?;
        }
        self.commit_all((group, &owner.into()), Some(producer), commits).await
    }

    /// The partitions in which open transactions commit offsets of a group: topic and partition.
    pub fn unstable_offsets(&self, group: &str) -> Vec<(Arc<str>, u32)> {
        let Some(journal) = self.journals.of(group) else { return Vec::new() };
        let all: Vec<_> = journal.with_offsets(|offsets| offsets.unstable(group).collect());
        let named = |id: PartitionId| Some((self.journals.topic(id.topic)?.name.clone(), id.number));
        all.into_iter().filter_map(named).collect()
    }

    async fn commit_offset(
        &self,
        (group, owner): (&Arc<str>, &Arc<str>),
        producer: Option<ProducerInstance>,
        commit: &Commit,
    ) -> Result<(), OffsetError> {
        let bytes = commit.metadata.len();
        if bytes > OFFSET_METADATA_BYTES_MAX {
            return Err(OffsetError::Metadata { bytes, limit: OFFSET_METADATA_BYTES_MAX });
        }
        let partition = self.partition_id(&commit.topic, commit.partition).await?;
        let committed = Committed { offset: commit.offset, metadata: commit.metadata.clone() };
        let (group, owner) = (group.clone(), owner.clone());
        let producer = producer.map(|ProducerInstance { id, epoch }| (id, epoch));
        let journal = self.journals.of(&group);
        change_offsets(journal, Control::CommitOffset { group, partition, committed, owner, producer }).await
    }

    /// Deletes a group's offset in a partition, while the group has no members.
    pub async fn delete_offset(&self, group: &Arc<str>, topic: &str, partition: u64) -> Result<(), OffsetError> {
        self.check_no_members(group)?;
        self.delete_unread_offset(group, topic, partition).await
    }

    /// Deletes a group's offset in a partition of a topic that no member wants, as far as the caller knows.
    pub async fn delete_unread_offset(&self, group: &Arc<str>, topic: &str, partition: u64) -> Result<(), OffsetError> {
        let partition = Some(self.partition_id(topic, partition).await?);
        change_offsets(self.journals.of(group), Control::ForgetOffset { group: group.clone(), partition }).await
    }

    /// Deletes a group: its offsets. It may have no members.
    pub async fn delete_group(&self, group: &Arc<str>) -> Result<(), OffsetError> {
        self.check_no_members(group)?;
        let forget = Control::ForgetOffset { group: group.clone(), partition: None };
        change_offsets(self.journals.of(group), forget).await?;
        self.coordinator.shared.look(|groups, _| groups.forget(group));
        Ok(())
    }

    fn check_no_members(&self, group: &str) -> Result<(), OffsetError> {
        check_name(group)?;
        Ok(self.coordinator.shared.look(|groups, _| groups.check_empty(group))?)
    }

    async fn partition_id(&self, topic: &str, partition: u64) -> Result<PartitionId, OffsetError> {
        let found = self.topic(topic).await?.partition(partition).await?;
        found.id().ok_or_else(|| no_journal().into())
    }

    /// The offsets that a group has committed: topic, partition, offset.
    pub fn committed_offsets(&self, group: &str) -> Vec<(Arc<str>, u32, Committed)> {
        let Some(journal) = self.journals.of(group) else { return Vec::new() };
        let all: Vec<_> =
            journal.with_offsets(|offsets| offsets.of(group).map(|(id, found)| (id, found.clone())).collect());
        let named = |(id, committed): (PartitionId, Committed)| {
            Some((self.journals.topic(id.topic)?.name.clone(), id.number, committed))
        };
        all.into_iter().filter_map(named).collect()
    }

    /// A group that has members or committed offsets.
    pub fn group(&self, group: &str) -> Option<GroupStatus> {
        let known = self.coordinator.shared.look(|groups, _| known(groups, group));
        let known = match known {
            Some(known) if !known.members.is_empty() || known.has_promises => return Some(known),
            known => known,
        };
        let has_committed = self.journals.of(group)?.with_offsets(|offsets| offsets.of(group).next().is_some());
        has_committed.then(|| known.unwrap_or_else(GroupStatus::of_offsets))
    }

    /// The groups that have members or committed offsets, in order of name.
    pub fn groups(&self) -> Vec<(Arc<str>, GroupStatus)> {
        let mut all: BTreeMap<Arc<str>, GroupStatus> = BTreeMap::new();
        for journal in self.journals.all() {
            let named = |name: &Arc<str>| (name.clone(), GroupStatus::of_offsets());
            journal.with_offsets(|offsets| all.extend(offsets.groups().map(named)));
        }
        let state = self.coordinator.shared.lock();
        let classic = state.groups.iter().map(|(name, group)| (name, GroupStatus::of_classic(group)));
        let consumer = state.groups.consumer_groups().map(|(name, group)| (name, GroupStatus::of_consumer(group)));
        for (name, status) in classic.chain(consumer) {
            if !status.members.is_empty() || status.has_promises || all.contains_key(name) {
                all.insert(name.clone(), status);
            }
        }
        all.into_iter().collect()
    }
}

/// A group that has or had members.
fn known(groups: &Groups<usize>, name: &str) -> Option<GroupStatus> {
    let consumer = || groups.consumer_group(name).map(GroupStatus::of_consumer);
    groups.get(name).map(GroupStatus::of_classic).or_else(consumer)
}

/// Changes the offsets of a group, which are in this journal.
async fn change_offsets(journal: Option<&Journal>, change: Control) -> Result<(), OffsetError> {
    let Some(journal) = journal else { return Err(no_journal().into()) };
    match journal.change(change).await {
        Ok(_) => Ok(()),
        Err(JournalError::Refused(Refused::NoCommitted)) => Err(OffsetError::NotCommitted),
        Err(JournalError::Refused(refused @ Refused::Committed { .. })) => Err(OffsetError::TooMany(refused)),
        Err(JournalError::Refused(Refused::NoTopic { .. })) => {
            Err(OffsetError::Topic(TopicError::NotFound { name: "of this offset".to_owned() }))
        }
        Err(JournalError::Refused(refused)) => Err(OffsetError::Transaction(refused.into())),
        Err(error) => Err(in_store(&error).into()),
    }
}

/// The topics of the journals, as consumer groups look for them.
fn topics(journals: &Journals, version: u64) -> TopicList {
    let topics = journals.topics();
    TopicList::new(version, topics.iter().map(|topic| (topic.name.clone(), topic.topic_id, topic.partitions())))
}

fn no_journal() -> StoreError {
    let reason = "groups need a storage with a journal, which this one doesn't have: use a broker on an empty \
                  directory or prefix";
    StoreError::new(Kind::FixRequest, reason)
}
