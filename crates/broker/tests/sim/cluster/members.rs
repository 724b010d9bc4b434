//! Members of groups, as clients with a cooperative strategy are: each says which partitions it has and since which
//! generation, also if it was late and the group has gone on without it; the leader believes the newest claim. A member
//! that keeps a partition from one generation to the next continues at its own position; of a new one, or after a gap,
//! it reads the committed offset.

use super::groups::{EXACT, PLAIN, metadata};
use super::log::Run;
use super::network::From;
use super::node::{Node, TOPIC};
use super::world::{Bug, World};
use crate::settings::JOURNAL;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use rawline_broker::{
    Broker, Commit, GroupError, Identity, Join, Joined, Membership, OffsetError, Outcome, ProducerInstance,
    TransactionError,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const SESSION: Duration = Duration::from_secs(6);
const REBALANCE: Duration = Duration::from_secs(8);
const RESPONSE_WAIT: Duration = Duration::from_secs(30);
const TRANSACTION: Duration = Duration::from_secs(60);

/// Why a member's request had no effect, or may have had none.
#[derive(Debug, Clone)]
enum Failed {
    Group(GroupError),
    /// Another broker, or later.
    Elsewhere,
    /// The transaction can't continue.
    Transaction,
}

impl std::convert::From<GroupError> for Failed {
    fn from(error: GroupError) -> Failed {
        match error {
            GroupError::Moved | GroupError::NotStored { .. } | GroupError::Unconfirmed => Failed::Elsewhere,
            error => Failed::Group(error),
        }
    }
}

impl std::convert::From<OffsetError> for Failed {
    fn from(error: OffsetError) -> Failed {
        match error {
            OffsetError::Group(error) => error.into(),
            OffsetError::Transaction(_) => Failed::Transaction,
            _ => Failed::Elsewhere,
        }
    }
}

type Answer<T> = Result<T, Failed>;

/// What a member knows.
struct Member {
    world: Arc<World>,
    group: &'static str,
    name: String,
    /// The machine of the coordinator, as far as it knows.
    at: usize,
    id: Arc<str>,
    generation: u32,
    /// The generation in which it got what it has.
    claimed: u32,
    /// Its partitions, and the first input that it hasn't processed; none if it has to ask.
    owned: BTreeMap<u32, Option<i64>>,
    is_member: bool,
    /// How many inputs it processes next: as many again until it knows that they are committed.
    step: Option<i64>,
    producer: Option<ProducerInstance>,
    heard_from: Option<Run>,
}

impl World {
    /// Starts members of two groups, one of which commits in transactions.
    pub fn members(self: &Arc<Self>, partitions: u32) -> Vec<JoinHandle<()>> {
        let mut members = Vec::new();
        for (group, count) in [(EXACT, 3), (PLAIN, 2)] {
            for number in 0..count {
                let member = Member {
                    world: self.clone(),
                    group,
                    name: format!("{group}-{number}"),
                    at: 0,
                    id: "".into(),
                    generation: 0,
                    claimed: 0,
                    owned: BTreeMap::new(),
                    is_member: false,
                    step: None,
                    producer: None,
                    heard_from: None,
                };
                members.push(tokio::spawn(member.run(partitions)));
            }
        }
        members
    }
}

impl Member {
    async fn run(mut self, partitions: u32) {
        while !self.world.is_over() {
            let step = match self.is_member {
                false => self.join(partitions).await,
                true => self.work().await,
            };
            if let Err(failed) = step {
                self.failed(&failed);
            }
            let pause = self.world.store.random(|random| match random.u8(..30) {
                // It is late.
                0 => random.u64(6_000..14_000),
                _ => random.u64(10..1_200),
            });
            sleep(Duration::from_millis(pause)).await;
        }
    }

    fn failed(&mut self, failed: &Failed) {
        self.world.store.note(|| format!("{} {}: {failed:?}", self.name, self.id));
        match failed {
            Failed::Group(GroupError::UnknownMember | GroupError::FencedInstance) => {
                self.world.saw(|seen| seen.groups.late += 1);
                (self.id, self.is_member) = ("".into(), false);
            }
            Failed::Group(GroupError::NeedsId { member }) => self.id = member.clone(),
            Failed::Group(_) => self.is_member = false,
            Failed::Elsewhere => self.at = self.world.store.random(|random| random.usize(..self.world.machines())),
            Failed::Transaction => {
                self.producer = None;
                self.owned.values_mut().for_each(|position| *position = None);
            }
        }
    }

    /// Has the coordinator do something.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Node>, Arc<Broker>) -> BoxFuture<'static, Answer<T>> + Send + 'static,
    ) -> Answer<T> {
        let work = move |node: Arc<Node>| -> BoxFuture<'static, Answer<T>> {
            Box::pin(async move {
                let broker = node.coordinator().await.ok_or(Failed::Elsewhere)?;
                work(node, broker).await
            })
        };
        match timeout(RESPONSE_WAIT, self.world.call(From::Client, self.at, Box::new(work))).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => Err(Failed::Elsewhere),
        }
    }

    fn membership(&self) -> Membership {
        Membership { member: self.id.clone(), instance: None, generation: self.generation }
    }

    async fn join(&mut self, partitions: u32) -> Answer<()> {
        let says = format!("{}:{}", self.claimed, list(self.owned.keys().copied()));
        let join = Join {
            member: self.id.clone(),
            instance: None,
            identity: Identity { client: self.name.as_str().into(), host: "host".into() },
            session: SESSION,
            rebalance: REBALANCE,
            protocol_type: "consumer".into(),
            protocols: vec![("claims".into(), says.into_bytes().into())],
            needs_id: true,
        };
        let (group, id) = (Arc::<str>::from(self.group), format!("{}-{}", self.name, self.world.moment()));
        let joined = self.ask(move |node, broker| {
            Box::pin(async move {
                match broker.coordinator().join_group(&group, join, || id.as_str().into()).await {
                    Outcome::Joined(joined) => {
                        Ok(Joined { generation: node.shown(&group, joined.generation), ..joined })
                    }
                    Outcome::Refused(error) => Err(error.into()),
                    Outcome::Synced { .. } => unreachable!("a share for a member that joins"),
                }
            })
        });
        let joined = joined.await?;
        (self.id, self.generation) = (joined.member.clone(), joined.generation);
        let shares = self.divide(&joined, partitions);
        let (group, membership) = (self.group, self.membership());
        let synced = self.ask(move |node, broker| {
            Box::pin(async move {
                match broker.coordinator().sync_group(group, &node.meant(group, membership), shares).await {
                    Outcome::Synced { assignment, .. } => Ok(assignment),
                    Outcome::Refused(error) => Err(error.into()),
                    Outcome::Joined(_) => unreachable!("a member joins that asks for its share"),
                }
            })
        });
        let share = numbers(str::from_utf8(&synced.await?).unwrap());
        let lost = self.owned.keys().filter(|number| !share.contains(number)).count();
        self.world.saw(|seen| seen.groups.lost_claims += lost);
        let mut before = std::mem::take(&mut self.owned);
        if self.generation != self.claimed + 1 {
            // Others may have had them in between, and be gone: where it was says nothing.
            before.values_mut().for_each(|position| *position = None);
        }
        self.owned = share.into_iter().map(|number| (number, before.get(&number).copied().flatten())).collect();
        self.claimed = self.generation;
        // What it has given up is divided once it has said so.
        self.is_member = lost == 0;
        self.world.store.note(|| format!("{} {} at {}: {:?}", self.name, self.id, self.generation, self.owned));
        Ok(())
    }

    /// The shares of all members, if this one leads: each keeps what it has got last, up to its part.
    fn divide(&self, joined: &Joined, partitions: u32) -> Vec<(Arc<str>, Bytes)> {
        if joined.members.is_empty() {
            return Vec::new();
        }
        self.world.saw(|seen| seen.groups.divisions += 1);
        let part = (partitions as usize).div_ceil(joined.members.len());
        let mut newest: BTreeMap<u32, (u32, &Arc<str>)> = BTreeMap::new();
        for (id, _, says) in &joined.members {
            let (claimed, owned) = str::from_utf8(says).unwrap().split_once(':').unwrap();
            let claim = (claimed.parse().unwrap(), id);
            for number in numbers(owned) {
                let newest = newest.entry(number).or_insert(claim);
                *newest = claim.max(*newest);
            }
        }
        let mut shares: BTreeMap<&Arc<str>, Vec<u32>> = joined.members.iter().map(|(id, ..)| (id, vec![])).collect();
        for (number, (_, id)) in &newest {
            let share = shares.get_mut(id).unwrap();
            if share.len() < part {
                share.push(*number);
            }
        }
        for number in (0..partitions).filter(|number| !newest.contains_key(number)) {
            shares.values_mut().min_by_key(|share| share.len()).unwrap().push(number);
        }
        shares.into_iter().map(|(id, share)| (id.clone(), list(share.into_iter()).into_bytes().into())).collect()
    }

    /// A heartbeat, the offsets that it doesn't know, and a commit.
    async fn work(&mut self) -> Answer<()> {
        let (group, membership) = (self.group, self.membership());
        let beat = self.ask(move |node, broker| {
            Box::pin(async move {
                Ok(broker.coordinator().heartbeat(group, &node.meant(group, membership)).map(|()| node.run)?)
            })
        });
        let run = beat.await?;
        let went_on = self.heard_from.replace(run).is_some_and(|before| before != run);
        self.world.saw(|seen| seen.groups.went_on += usize::from(went_on));
        if self.owned.values().any(Option::is_none) {
            self.fetch().await?;
        }
        let step = self.step.unwrap_or_else(|| self.world.store.random(|random| random.i64(1..4)));
        self.step = Some(step);
        let known = self.owned.iter().filter_map(|(number, position)| Some((*number, (*position)?)));
        let inputs: Vec<(u32, i64)> = known.collect();
        if inputs.is_empty() {
            return Ok(());
        }
        let commits: Vec<Commit> = inputs
            .iter()
            .map(|(number, from)| Commit {
                topic: TOPIC.into(),
                partition: u64::from(*number),
                offset: from + step,
                metadata: metadata(&self.id, *from),
            })
            .collect();
        match self.group {
            EXACT => self.transact(commits).await?,
            _ => self.commit(None, commits).await?,
        }
        self.step = None;
        for (number, from) in inputs {
            self.owned.insert(number, Some(from + step));
        }
        Ok(())
    }

    /// Reads the committed offsets of partitions that it has got. Those that aren't stable it reads later.
    async fn fetch(&mut self) -> Answer<()> {
        let (group, world) = (self.group, self.world.clone());
        let found = self.ask(move |_, broker| {
            Box::pin(async move {
                broker.coordinator().settle_offsets(group).await?;
                let found = broker.coordinator().group_offsets(group);
                let unstable = match world.bug {
                    Some(Bug::CommittedFirst) => {
                        sleep(Duration::from_millis(300)).await;
                        broker.coordinator().group_offsets(group)
                    }
                    _ => found.clone(),
                };
                let is_unstable =
                    |number: u32| unstable.iter().any(|found| found.partition == number && found.is_unstable);
                let committed = |number: u32| {
                    let found = found.iter().find(|found| found.partition == number);
                    found.and_then(|found| found.committed.as_ref()).map_or(0, |committed| committed.offset)
                };
                Ok((0..8).map(|number| (!is_unstable(number)).then(|| committed(number))).collect::<Vec<_>>())
            })
        });
        let found = found.await?;
        for (number, position) in &mut self.owned {
            if position.is_none() {
                *position = found[*number as usize];
                self.world.saw(|seen| seen.groups.unstable += usize::from(position.is_none()));
            }
        }
        Ok(())
    }

    async fn commit(&self, producer: Option<ProducerInstance>, commits: Vec<Commit>) -> Answer<()> {
        let (group, membership) = (Arc::<str>::from(self.group), self.membership());
        let bug = self.world.bug;
        let committed = self.ask(move |node, broker| {
            Box::pin(async move {
                let member = node.meant(&group, membership);
                let committed = match (bug, producer) {
                    (Some(Bug::CheckFirst), Some(producer)) => {
                        broker.coordinator().may_commit(&group, &member)?;
                        sleep(Duration::from_millis(500)).await;
                        broker.coordinator().commit_offsets_in_transaction(&group, "", None, producer, &commits).await
                    }
                    (_, Some(producer)) => {
                        broker
                            .coordinator()
                            .commit_offsets_in_transaction(&group, "", Some(&member), producer, &commits)
                            .await
                    }
                    (_, None) => broker.coordinator().commit_offsets(&group, "", Some(&member), &commits).await,
                };
                committed?.into_iter().collect::<Result<(), _>>()?;
                Ok(())
            })
        });
        committed.await
    }

    /// Output and offsets, committed together or not at all.
    async fn transact(&mut self, commits: Vec<Commit>) -> Answer<()> {
        let name = self.name.clone();
        let producer = match self.producer {
            Some(producer) => producer,
            None => {
                let open = self.ask(move |_, broker| {
                    Box::pin(async move {
                        broker.open_transactional(&name, "", TRANSACTION, None).await.map_err(|_| Failed::Transaction)
                    })
                });
                open.await?
            }
        };
        // Whatever goes wrong from here on, its next instance aborts it.
        self.producer = None;
        let committed = self.commit(Some(producer), commits).await;
        if let Err(failed) = committed {
            self.owned.values_mut().for_each(|position| *position = None);
            return Err(failed);
        }
        if self.world.store.random(|random| random.u8(..12)) == 0 {
            // It is late, and others have its partitions by now. What it has committed counts.
            sleep(Duration::from_millis(self.world.store.random(|random| random.u64(6_000..14_000)))).await;
        }
        let ended = loop {
            let name = self.name.clone();
            let end = self.ask(move |_, broker| {
                Box::pin(async move {
                    broker.end_transaction(&name, producer, true).await.map_err(|error| match error {
                        TransactionError::Store(_) => Failed::Elsewhere,
                        _ => Failed::Transaction,
                    })
                })
            });
            match end.await {
                Err(failed @ Failed::Elsewhere) => {
                    self.failed(&failed);
                    sleep(Duration::from_millis(200)).await;
                }
                ended => break ended,
            }
        };
        if ended.is_err() {
            self.owned.values_mut().for_each(|position| *position = None);
        }
        self.producer = Some(ended?);
        Ok(())
    }
}

fn list(numbers: impl Iterator<Item = u32>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

fn numbers(list: &str) -> Vec<u32> {
    list.split(',').filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

impl Node {
    /// The broker, if it coordinates groups.
    async fn coordinator(&self) -> Option<Arc<Broker>> {
        let acts = !self.cluster().is_owned_by_other(JOURNAL) && self.cluster().acts(JOURNAL).await;
        self.broker().filter(|_| acts)
    }

    /// A generation as this broker shows it.
    fn shown(&self, group: &str, generation: u32) -> u32 {
        if !self.has_bug(Bug::GenerationsFromOne) {
            return generation;
        }
        let mut first = self.first_generations.lock().unwrap();
        generation - *first.entry(group.to_owned()).or_insert(generation - 1)
    }

    /// A membership with the generation that is meant.
    fn meant(&self, group: &str, mut membership: Membership) -> Membership {
        if self.has_bug(Bug::GenerationsFromOne) {
            match self.first_generations.lock().unwrap().get(group) {
                // It has forgotten its members, too.
                None => membership.member = "forgotten".into(),
                Some(first) => membership.generation += first,
            }
        }
        membership
    }
}
