//! The offsets that groups commit. A commit is checked and submitted in one step, and the journal refuses it if the
//! group's members have changed in between: a member that reads offsets after such a change reads the last ones that
//! could be committed before.

use super::{Coordinator, State};
use crate::journal::request::ProducerInstance;
use crate::journal::{Journal, JournalError, Submitted};
use crate::store_error::StoreError;
use crate::topic_error::TopicError;
use crate::transaction_error::TransactionError;
use futures_util::future::join_all;
use rawline_groups::consumer::Partitions;
use rawline_groups::{GroupError, Membership, check_name};
use rawline_journal::{Committed, Control, Fence, PartitionId, Refused, TopicId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why an offset is not committed, or why it isn't known whether it is.
#[derive(Debug, Clone, Error)]
pub enum OffsetError {
    /// The rules of groups refuse it.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// The topic or partition doesn't exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The offset's metadata is too long.
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
    /// The store failed.
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
    /// Offset of the group's next record; negative for no offset.
    pub offset: i64,
    /// Metadata that its consumer stores with it.
    pub metadata: Arc<[u8]>,
}

/// Offsets of one request that are committed at once.
const COMMITS_AT_ONCE: usize = 1_024;

/// Maximum size of an offset's metadata in bytes.
pub const OFFSET_METADATA_BYTES_MAX: usize = 4096;

/// A group's committed offset in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupOffset {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: u32,
    /// The offset, if one is committed.
    pub committed: Option<Committed>,
    /// Whether an open transaction may commit another one.
    pub is_unstable: bool,
}

/// On whose behalf offsets are committed.
#[derive(Clone, Copy)]
enum Committer<'a> {
    Member(&'a Membership),
    /// An administrator: possible while the group has no members.
    NoMember,
    /// A producer without a member: whether the group has members isn't checked.
    Producer,
}

/// A commit whose partition was found.
struct Prepared {
    id: PartitionId,
    topic: TopicId,
    committed: Committed,
}

impl Coordinator {
    /// Commits offsets of a group, each by itself: for a member of this generation, or without a member while
    /// there are none. `owner` is the name of the key that asks; empty if it has none.
    pub async fn commit_offsets(
        &self,
        group: &Arc<str>,
        owner: &str,
        member: Option<&Membership>,
        commits: &[Commit],
    ) -> Result<Vec<Result<(), OffsetError>>, OffsetError> {
        let committer = member.map_or(Committer::NoMember, Committer::Member);
        self.commit_all((group, &owner.into()), committer, None, commits).await
    }

    /// As [`Coordinator::commit_offsets`], in the transaction of a producer: they count once it is committed. Without a
    /// member, whether the group has others isn't checked.
    pub async fn commit_offsets_in_transaction(
        &self,
        group: &Arc<str>,
        owner: &str,
        member: Option<&Membership>,
        producer: ProducerInstance,
        commits: &[Commit],
    ) -> Result<Vec<Result<(), OffsetError>>, OffsetError> {
        let committer = member.map_or(Committer::Producer, Committer::Member);
        self.commit_all((group, &owner.into()), committer, Some(producer), commits).await
    }

    async fn commit_all(
        &self,
        (group, owner): (&Arc<str>, &Arc<str>),
        committer: Committer<'_>,
        producer: Option<ProducerInstance>,
        commits: &[Commit],
    ) -> Result<Vec<Result<(), OffsetError>>, OffsetError> {
        check_name(group)?;
        let journal = self.journals.one(group);
        let mut done = Vec::with_capacity(commits.len());
        // Without offsets, the member is checked all the same.
        let (first, others) = commits.split_at(commits.len().min(COMMITS_AT_ONCE));
        for commits in [first].into_iter().chain(others.chunks(COMMITS_AT_ONCE)) {
            let prepared = join_all(commits.iter().map(|commit| self.prepare(commit))).await;
            let submitted = self.with_group(group, |state, now| {
                submit(state, journal, (group, owner), committer, producer, prepared, now)
            })??;
            done.extend(join_all(submitted.into_iter().map(stored)).await);
        }
        Ok(done)
    }

    async fn prepare(&self, commit: &Commit) -> Result<Prepared, OffsetError> {
        let bytes = commit.metadata.len();
        if bytes > OFFSET_METADATA_BYTES_MAX {
            return Err(OffsetError::Metadata { bytes, limit: OFFSET_METADATA_BYTES_MAX });
        }
        let (topic, id) = self.journals.partition(&commit.topic, commit.partition).await?;
        let committed = Committed { offset: commit.offset, metadata: commit.metadata.clone() };
        Ok(Prepared { id, topic: topic.topic_id, committed })
    }

    /// Deletes a group's offset in a partition, while the group has no members.
    pub async fn delete_offset(&self, group: &Arc<str>, topic: &str, partition: u64) -> Result<(), OffsetError> {
        check_name(group)?;
        let (_, id) = self.journals.partition(topic, partition).await?;
        self.forget(group, Some(id), |state, _, _| {
            state.groups.check_empty(group)?;
            Ok(Fence::NoMembers)
        })
        .await
    }

    /// Deletes a group's offset in a partition of a topic that no member wants. `wants` is whether a member of a
    /// classic group does, by its metadata.
    pub async fn delete_unread_offset(
        &self,
        group: &Arc<str>,
        topic: &str,
        partition: u64,
        wants: impl Fn(&[u8]) -> bool,
    ) -> Result<(), OffsetError> {
        check_name(group)?;
        let (_, id) = self.journals.partition(topic, partition).await?;
        self.forget(group, Some(id), |state, journal, now| {
            let by_classic =
                state.groups.get(group).is_some_and(|found| found.members().any(|member| wants(&member.3)));
            if by_classic || state.groups.consumer_group(group).is_some_and(|found| found.wants(topic)) {
                return Err(GroupError::Subscribed);
            }
            state.fence(journal, group, now)
        })
        .await
    }

    /// Deletes a group's offsets and members. It may have no members.
    pub async fn delete_group(&self, group: &Arc<str>) -> Result<(), OffsetError> {
        check_name(group)?;
        self.forget(group, None, |state, _, _| {
            state.groups.check_empty(group)?;
            Ok(Fence::NoMembers)
        })
        .await
    }

    async fn forget(
        &self,
        group: &Arc<str>,
        partition: Option<PartitionId>,
        check: impl FnOnce(&mut State, &Journal, Duration) -> Result<Fence, GroupError>,
    ) -> Result<(), OffsetError> {
        let journal = self.journals.one(group);
        let submitted = self.with_group(group, |state, now| {
            let fence = check(state, journal, now)?;
            Ok::<_, GroupError>(journal.submit(Control::ForgetOffset { group: group.clone(), partition, fence }))
        })??;
        match stored(submitted.map_err(|error| of_journal(&error))).await {
            Err(OffsetError::Group(GroupError::UnknownMember)) => Err(GroupError::NotEmpty.into()),
            done => done,
        }
    }

    /// Waits until no other coordinator of the group can commit any more what this one doesn't know: to be called
    /// before its members read the offsets at which they continue.
    pub async fn settle_offsets(&self, group: &str) -> Result<(), GroupError> {
        let journal = self.journals.of(group);
        let settled = self.with_group(group, |state, now| state.when_stored(journal, group, now))?;
        settled.await.unwrap_or(Err(GroupError::Moved))
    }

    /// A group's committed offsets, and those that open transactions may commit, at one moment.
    pub fn group_offsets(&self, group: &str) -> Vec<GroupOffset> {
        let journal = self.journals.one(group);
        let found: BTreeMap<PartitionId, (Option<Committed>, bool)> = journal.with_offsets(|offsets| {
            let committed = offsets.of(group).map(|(id, found)| (id, (Some(found.clone()), false)));
            let mut all: BTreeMap<_, _> = committed.collect();
            offsets.unstable(group).for_each(|id| all.entry(id).or_insert((None, false)).1 = true);
            all
        });
        let named = |(id, (committed, is_unstable)): (PartitionId, (Option<Committed>, bool))| {
            let topic = self.journals.topic(id.topic)?.name.clone();
            Some(GroupOffset { topic, partition: id.number, committed, is_unstable })
        };
        found.into_iter().filter_map(named).collect()
    }

    /// The offsets that a group has committed: topic, partition, offset.
    pub fn committed_offsets(&self, group: &str) -> Vec<(Arc<str>, u32, Committed)> {
        let all = self.group_offsets(group).into_iter();
        all.filter_map(|found| Some((found.topic, found.partition, found.committed?))).collect()
    }
}

/// Checks a commit, and submits it in the version of the group in which it is possible.
fn submit(
    state: &mut State,
    journal: &Journal,
    (group, owner): (&Arc<str>, &Arc<str>),
    committer: Committer<'_>,
    producer: Option<ProducerInstance>,
    commits: Vec<Result<Prepared, OffsetError>>,
    now: Duration,
) -> Result<Vec<Result<Submitted, OffsetError>>, GroupError> {
    let fence = match committer {
        Committer::Producer => Fence::Open,
        Committer::NoMember => {
            state.groups.may_commit(group, None, now)?;
            Fence::NoMembers
        }
        Committer::Member(member) => {
            check_member(state, group, member, &commits, now)?;
            state.fence(journal, group, now)?
        }
    };
    let producer = producer.map(|ProducerInstance { id, epoch }| (id, epoch));
    let submit = |commit: Result<Prepared, OffsetError>| {
        let Prepared { id: partition, committed, .. } = commit?;
        let (group, owner) = (group.clone(), owner.clone());
        let control = Control::CommitOffset { group, partition, committed, owner, producer, fence };
        journal.submit(control).map_err(|error| of_journal(&error))
    };
    Ok(commits.into_iter().map(submit).collect())
}

/// Whether a member may commit these offsets. A heartbeat changes its epoch while a commit is in flight.
fn check_member(
    state: &mut State,
    group: &str,
    member: &Membership,
    commits: &[Result<Prepared, OffsetError>],
    now: Duration,
) -> Result<(), GroupError> {
    let checked = state.groups.may_commit(group, Some(member), now);
    let Err(GroupError::StaleEpoch { .. }) = checked else { return checked };
    let mut partitions = Partitions::default();
    for commit in commits {
        let Ok(Prepared { id, topic, .. }) = commit else { return checked };
        partitions.insert(*topic, id.number);
    }
    let still_has = state
        .groups
        .consumer_group(group)
        .is_some_and(|found| found.still_has(&member.member, member.generation, &partitions));
    if still_has { Ok(()) } else { checked }
}

/// Waits for a change of a group's offsets.
async fn stored(submitted: Result<Submitted, OffsetError>) -> Result<(), OffsetError> {
    submitted?.stored().await.map(drop).map_err(|error| of_journal(&error))
}

fn of_journal(error: &JournalError) -> OffsetError {
    match error {
        JournalError::Refused(Refused::NoCommitted) => OffsetError::NotCommitted,
        JournalError::Refused(refused @ Refused::Committed { .. }) => OffsetError::TooMany(*refused),
        JournalError::Refused(Refused::NoTopic { .. }) => {
            OffsetError::Topic(TopicError::NotFound { name: "of this offset".to_owned() })
        }
        // Members have come, gone or got other partitions since, perhaps by another broker.
        JournalError::Refused(Refused::GroupChanged { .. }) => OffsetError::Group(GroupError::Moved),
        JournalError::Refused(Refused::Members { .. }) => OffsetError::Group(GroupError::UnknownMember),
        JournalError::Refused(refused) => OffsetError::Transaction((*refused).into()),
        error => OffsetError::Store(error.clone().into()),
    }
}
