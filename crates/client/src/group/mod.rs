//! Consumer groups: members share the partitions of topics and commit their offsets.

mod config;
mod member;
mod progress;
mod requests;

pub use config::GroupConfig;

use crate::client::Client;
use crate::consumer::{Consumer, ConsumerConfig, PartitionRange};
use crate::error::ClientError;
use crate::fetched::Fetched;
use crate::tasks;
use member::{Event, Member, Polls};
use progress::Progress;
use rawline_contract::code::{
    Code, GROUP_REBALANCING, MEMBER_FENCED, MEMBER_NOT_FOUND, OFFSET_OUT_OF_BOUNDS, PARTITION_NOT_FOUND,
    TOPIC_NOT_FOUND,
};
use rawline_contract::{CommitOffset, CommitRequest, MemberPartition, Membership};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Errors of a commit whose partitions another member or no member reads now. They are read again from the last commit.
const LAPSED: [Code; 5] = [GROUP_REBALANCING, MEMBER_NOT_FOUND, MEMBER_FENCED, TOPIC_NOT_FOUND, PARTITION_NOT_FOUND];

/// Errors of a read after which the offsets of the partitions are looked up again.
const MOVED: [Code; 3] = [OFFSET_OUT_OF_BOUNDS, PARTITION_NOT_FOUND, TOPIC_NOT_FOUND];

/// Reads the partitions of topics as a member of a group: each partition is read by one of its members, in order.
///
/// **At least once.** What [`GroupConsumer::next`] has returned counts as processed when it is called again. The
/// offsets of processed records are committed in the background ([`GroupConfig::commit_interval`]), before another
/// member gets the partition, and by [`GroupConsumer::close`]. After a crash, records since the last commit are read
/// again.
///
/// **Members come and go**, and topics get partitions: the members then stop reading, commit, and divide the partitions
/// anew. This happens within [`GroupConsumer::next`]: a caller that processes records for long delays the other
/// members, and loses its partitions after [`GroupConfig::poll_interval_max`].
///
/// **Topics** need not exist yet. Records that were deleted before the group came to them are skipped.
///
/// Dropping it cancels everything; the other members get its partitions when its session is over.
/// [`GroupConsumer::close`] gives them back at once.
#[derive(Debug)]
pub struct GroupConsumer {
    client: Client,
    group: Arc<str>,
    config: GroupConfig,
    member: JoinHandle<()>,
    events: mpsc::UnboundedReceiver<Event>,
    releases: mpsc::UnboundedSender<()>,
    polls: Arc<Polls>,
    step: Step,
    /// The last share that the member got.
    membership: Option<Membership>,
    /// One for each topic.
    consumers: Vec<Consumer>,
    /// The one that is asked first.
    turn: usize,
    progress: Progress,
    /// The commit in flight.
    committing: Option<Commit>,
    /// When the next automatic commit begins.
    commit_at: Instant,
}

/// The state of a consumer.
#[derive(Debug)]
enum Step {
    /// It waits for its partitions.
    Joining,
    /// It has partitions, and doesn't know all their first offsets.
    Assigned,
    Reading,
    /// It commits, and gives its partitions back.
    Revoking,
    /// Another process has its place.
    Fenced(ClientError),
}

/// A commit in flight.
#[derive(Debug)]
struct Commit {
    offsets: Vec<CommitOffset>,
    task: JoinHandle<Result<(), ClientError>>,
}

impl GroupConsumer {
    /// Joins a group, in the current tokio runtime. Returns at once: [`GroupConsumer::next`] waits for the other
    /// members, and says what is wrong.
    pub fn new(
        client: Client,
        group: impl Into<String>,
        topics: impl IntoIterator<Item = impl Into<String>>,
        config: GroupConfig,
    ) -> GroupConsumer {
        let client = client.with_retries(config.retries);
        let group: Arc<str> = group.into().into();
        let (sender, events) = mpsc::unbounded_channel();
        let (releases, released) = mpsc::unbounded_channel();
        let polls = Arc::new(Polls::new());
        let member = Member {
            client: client.clone(),
            group: group.clone(),
            topics: topics.into_iter().map(Into::into).collect(),
            config: config.clone(),
            polls: polls.clone(),
            events: sender,
            releases: released,
        };
        GroupConsumer {
            client,
            group,
            config,
            member: tasks::spawn(member.run()),
            events,
            releases,
            polls,
            step: Step::Joining,
            membership: None,
            consumers: Vec::new(),
            turn: 0,
            progress: Progress::default(),
            committing: None,
            commit_at: Instant::now(),
        }
    }

    /// Its id in the group, once it has one.
    pub fn member(&self) -> Option<&str> {
        self.membership.as_ref().map(|membership| membership.member.as_str())
    }

    /// The partitions that it reads, as topic and number, with the offset of the next record that
    /// [`GroupConsumer::next`] returns.
    pub fn positions(&self) -> impl Iterator<Item = (&str, u32, u64)> {
        self.progress.positions()
    }

    /// The next records of some partition, at least one; waits for them. Records returned before count as processed.
    ///
    /// Cancel safe: if the future is dropped, the next call continues without a loss. After an error, the next call
    /// continues at the same offset; a member whose `instance` another process has taken over keeps failing.
    pub async fn next(&mut self) -> Result<&mut Fetched, ClientError> {
        self.progress.set_all_processed();
        self.next_more().await
    }

    /// Like [`GroupConsumer::next`], for a caller that collects records: those returned before don't count as
    /// processed.
    pub async fn next_more(&mut self) -> Result<&mut Fetched, ClientError> {
        let _polling = self.polls.begin();
        let index = self.wait().await?;
        let Some(consumer) = self.consumers.get_mut(index) else { unreachable!("records of consumer {index}") };
        Ok(consumer.current())
    }

    /// Commits the offsets after all records that were returned. Fails with the code `group_rebalancing`,
    /// `member_not_found` or `member_fenced` if the partitions are others' by now.
    pub async fn commit(&mut self) -> Result<(), ClientError> {
        self.progress.set_all_processed();
        self.commit_processed().await
    }

    /// Commits these offsets: in each partition, the offset of the group's next record.
    pub async fn commit_offsets(&mut self, offsets: Vec<CommitOffset>) -> Result<(), ClientError> {
        self.end_commit().await?;
        self.start_commit_of(offsets);
        self.end_commit().await
    }

    /// Continues in a partition at this offset. Fails if the partition isn't one of [`GroupConsumer::positions`].
    pub fn seek(&mut self, topic: &str, partition: u32, offset: u64) -> Result<(), ClientError> {
        if !self.progress.seek(topic, partition, offset) {
            let reason =
                format!("partition {partition} of topic {topic:?} is not this member's; seek in those it reads");
            return Err(ClientError::Config { reason });
        }
        if matches!(self.step, Step::Reading) {
            self.consumers.clear();
            self.step = Step::Assigned;
        }
        Ok(())
    }

    /// Commits the returned records, unless the caller commits ([`GroupConfig::commit_interval`] is none), and leaves
    /// the group.
    pub async fn close(mut self) -> Result<(), ClientError> {
        self.progress.set_all_processed();
        self.leave().await
    }

    /// Like [`GroupConsumer::close`], but what [`GroupConsumer::next`] returned last doesn't count as processed: the
    /// next member reads it again. A member with an `instance` doesn't leave: it may come back.
    pub async fn leave(mut self) -> Result<(), ClientError> {
        let committed = self.commit_automatically().await;
        self.member.abort();
        let Some(membership) = self.membership.as_ref().filter(|_| self.config.instance.is_none()) else {
            return committed;
        };
        match self.client.leave_group(&self.group, &membership.member, None).await {
            Err(error) if error.code() != Some(MEMBER_NOT_FOUND.name) => committed.and(Err(error)),
            _ => committed,
        }
    }

    /// Waits until it has its partitions, which may be none. Cancel safe.
    pub async fn joined(&mut self) -> Result<(), ClientError> {
        let _polling = self.polls.begin();
        while !matches!(self.step, Step::Reading) {
            self.proceed().await?;
        }
        Ok(())
    }

    /// Waits for records; returns which consumer has them.
    async fn wait(&mut self) -> Result<usize, ClientError> {
        loop {
            match &self.step {
                Step::Reading => {
                    if let Some(index) = self.read().await? {
                        return Ok(index);
                    }
                }
                _ => self.proceed().await?,
            }
        }
    }

    /// One step towards reading.
    async fn proceed(&mut self) -> Result<(), ClientError> {
        match &self.step {
            Step::Joining => {
                let event = self.events.recv().await;
                self.meet(event)
            }
            Step::Assigned => match self.events.try_recv() {
                Ok(event) => self.meet(Some(event)),
                Err(_) => self.find_offsets().await,
            },
            Step::Reading => Ok(()),
            Step::Revoking => {
                let committed = self.commit_automatically().await;
                self.release();
                committed
            }
            Step::Fenced(error) => Err(error.clone()),
        }
    }

    fn meet(&mut self, event: Option<Event>) -> Result<(), ClientError> {
        let Some(event) = event else { unreachable!("the task of a member has ended") };
        match event {
            Event::Assigned(membership) => {
                let Membership { member, generation, .. } = &membership;
                let follows = |last: &Membership| last.member == *member && last.generation + 1 == *generation;
                // Otherwise others may have read its partitions meanwhile.
                if !self.membership.as_ref().is_some_and(follows) {
                    self.progress = Progress::default();
                }
                self.membership = Some(membership);
                self.step = Step::Assigned;
            }
            Event::Revoked => self.step = Step::Revoking,
            Event::Lost => self.lose(),
            Event::Failed(error) => {
                self.lose();
                if error.code() == Some(MEMBER_FENCED.name) {
                    self.step = Step::Fenced(error.clone());
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// The partitions are others'.
    fn lose(&mut self) {
        self.membership = None;
        self.progress = Progress::default();
        self.release();
    }

    /// Stops reading, so that the member can join again.
    fn release(&mut self) {
        self.consumers.clear();
        self.step = Step::Joining;
        // A member that is fenced doesn't join again.
        let _ = self.releases.send(());
    }

    /// Finds where the partitions begin, and reads them.
    async fn find_offsets(&mut self) -> Result<(), ClientError> {
        let mut topics: BTreeMap<&str, Vec<&MemberPartition>> = BTreeMap::new();
        for partition in self.membership.iter().flat_map(|membership| &membership.partitions) {
            topics.entry(&partition.topic).or_default().push(partition);
        }
        let config = ConsumerConfig {
            bytes_max: self.config.bytes_max / topics.len().max(1) as u64,
            wait: self.config.wait,
            retries: self.config.retries,
            values_only: self.config.values_only,
            ..ConsumerConfig::default()
        };
        let mut progress = Progress::default();
        let mut consumers = Vec::new();
        for (topic, partitions) in topics {
            let extents = match self.client.topic(topic).await {
                Ok(info) => info.extents(),
                // The members hear of it when there is such a topic again.
                Err(error) if error.code() == Some(TOPIC_NOT_FOUND.name) => continue,
                Err(error) => return Err(error),
            };
            let mut ranges = Vec::new();
            for MemberPartition { partition, offset: committed, .. } in partitions {
                let Some(extent) = extents.get(*partition as usize).copied() else { continue };
                let known = self.progress.position(topic, *partition).or(*committed);
                // A greater offset is of a topic that was deleted, or was set by mistake.
                let offset = match known.filter(|offset| *offset <= extent.next_offset) {
                    Some(offset) => offset,
                    None => self.config.start.offset(&self.client, (topic, *partition).into(), &extents).await?,
                };
                let offset = offset.max(extent.first_offset);
                progress.insert(topic.to_owned(), *partition, offset, *committed);
                ranges.push(PartitionRange { partition: *partition, offset, end_offset: None });
            }
            let partitions = ranges.iter().map(|range| range.partition).collect();
            let config = ConsumerConfig { partitions, ..config.clone() };
            consumers.push(Consumer::of_ranges(self.client.clone(), topic, ranges, config));
        }
        (self.progress, self.consumers, self.turn) = (progress, consumers, 0);
        self.step = Step::Reading;
        Ok(())
    }

    /// Waits until a consumer has records, or something else has happened.
    async fn read(&mut self) -> Result<Option<usize>, ClientError> {
        let commit_at = self.commit_at;
        tokio::select! {
            biased;
            event = self.events.recv() => self.meet(event)?,
            committed = committed(&mut self.committing), if self.committing.is_some() => {
                unless_lapsed(self.committed(committed))?;
            }
            () = tokio::time::sleep_until(commit_at), if self.config.commit_interval.is_some() => {
                self.start_commit();
            }
            (index, waited) = first_ready(&mut self.consumers, self.turn) => match waited {
                Ok(has_more) => {
                    assert!(has_more, "consumer {index} has ended");
                    self.turn = index + 1;
                    let Some(consumer) = self.consumers.get_mut(index) else { unreachable!("consumer {index}") };
                    let fetched = consumer.current();
                    self.progress.set_returned(fetched.topic(), fetched.partition(), fetched.next_offset());
                    return Ok(Some(index));
                }
                Err(error) if is_one_of(&error, &MOVED) => {
                    if error.code() == Some(TOPIC_NOT_FOUND.name) {
                        self.forget(index);
                    }
                    self.consumers.clear();
                    self.step = Step::Assigned;
                }
                Err(error) => return Err(error),
            },
        }
        Ok(None)
    }

    /// A topic was deleted: in another one of its name, offsets begin at 0 again.
    fn forget(&mut self, index: usize) {
        let Some(topic) = self.consumers.get(index).map(|consumer| consumer.topic().to_owned()) else {
            unreachable!("consumer {index} of {}", self.consumers.len())
        };
        self.progress.forget(&topic);
        let partitions = self.membership.iter_mut().flat_map(|membership| &mut membership.partitions);
        partitions.filter(|at| at.topic == topic).for_each(|at| at.offset = None);
    }

    /// Commits the processed records unless the caller commits.
    async fn commit_automatically(&mut self) -> Result<(), ClientError> {
        match self.config.commit_interval {
            Some(_) => unless_lapsed(self.commit_processed().await),
            None => Ok(()),
        }
    }

    async fn commit_processed(&mut self) -> Result<(), ClientError> {
        self.end_commit().await?;
        self.start_commit();
        self.end_commit().await
    }

    /// Starts to commit the processed records, unless a commit is in flight.
    fn start_commit(&mut self) {
        if let Some(interval) = self.config.commit_interval {
            self.commit_at = Instant::now() + interval;
        }
        if self.committing.is_none() {
            self.start_commit_of(self.progress.uncommitted());
        }
    }

    fn start_commit_of(&mut self, offsets: Vec<CommitOffset>) {
        assert!(self.committing.is_none(), "two commits at once: {:?}", self.committing);
        let Some(membership) = self.membership.as_ref().filter(|_| !offsets.is_empty()) else { return };
        let request = CommitRequest {
            member: Some(membership.member.clone()),
            generation: Some(membership.generation),
            instance: self.config.instance.clone(),
            offsets: offsets.clone(),
        };
        let (client, group) = (self.client.clone(), self.group.clone());
        let task = tasks::spawn(async move { client.commit_to_group(&group, &request).await });
        self.committing = Some(Commit { offsets, task });
    }

    /// Waits for the commit in flight.
    async fn end_commit(&mut self) -> Result<(), ClientError> {
        if self.committing.is_none() {
            return Ok(());
        }
        let committed = committed(&mut self.committing).await;
        self.committed(committed)
    }

    /// Takes the result of a commit.
    fn committed(&mut self, committed: Result<(), ClientError>) -> Result<(), ClientError> {
        let Some(commit) = self.committing.take() else { unreachable!("a commit ended that wasn't in flight") };
        committed?;
        self.progress.set_committed(&commit.offsets);
        Ok(())
    }
}

impl Drop for GroupConsumer {
    fn drop(&mut self) {
        self.member.abort();
        if let Some(commit) = &self.committing {
            commit.task.abort();
        }
    }
}

/// Waits for the commit in flight. Cancel safe.
async fn committed(committing: &mut Option<Commit>) -> Result<(), ClientError> {
    let Some(commit) = committing else { unreachable!("no commit is in flight") };
    match (&mut commit.task).await {
        Ok(committed) => committed,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => unreachable!("a commit was cancelled"),
        },
    }
}

/// A failed commit after which the records are read again isn't an error.
fn unless_lapsed(committed: Result<(), ClientError>) -> Result<(), ClientError> {
    match committed {
        Err(error) if is_one_of(&error, &LAPSED) => Ok(()),
        committed => committed,
    }
}

fn is_one_of(error: &ClientError, codes: &[Code]) -> bool {
    codes.iter().any(|code| error.code() == Some(code.name))
}

/// Waits until one of the consumers has records, beginning with the one at `first`. Without a consumer, forever.
async fn first_ready(consumers: &mut [Consumer], first: usize) -> (usize, Result<bool, ClientError>) {
    let count = consumers.len();
    let mut waits: Vec<_> = consumers.iter_mut().map(|consumer| Box::pin(consumer.wait())).collect();
    poll_fn(|context| {
        for index in (0..count).map(|step| (first + step) % count) {
            let Some(wait) = waits.get_mut(index) else { unreachable!("consumer {index} of {count}") };
            if let Poll::Ready(waited) = wait.as_mut().poll(context) {
                return Poll::Ready((index, waited));
            }
        }
        Poll::Pending
    })
    .await
}
