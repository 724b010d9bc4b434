//! One world: brokers, a store and producers for some minutes of virtual time, and then what must hold.

use crate::brokers::Broker;
use crate::history::{Responses, Violation};
use crate::producers::{Surroundings, received};
use crate::store::{DELETION_DELAY, Lie, SharedStore};
use rawline_batch::{Checker, Limits};
use rawline_broker::journal::{Journal, JournalError};
use rawline_journal::PartitionId;
use rawline_testkit::batches::records_of;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long brokers may take to answer everything once all is well.
const CALM: Duration = Duration::from_secs(600);

/// How often something went wrong.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub lost_requests: usize,
    pub lost_responses: usize,
    pub failed_reads: usize,
    pub void: usize,
    pub settled: usize,
    pub merged: usize,
    pub abandoned: usize,
    pub deleted_merged: usize,
    pub snapshots: usize,
    /// Parts of snapshots that were stored separately.
    pub parts: usize,
    pub deleted: usize,
    pub crashes: usize,
    pub pauses: usize,
    pub acknowledged: usize,
    pub denied: usize,
    pub opened: usize,
    pub fenced: usize,
    /// PUTs that were sent a second time, and those of them whose object was found by its id.
    pub hedges: usize,
    pub found: usize,
    /// PUTs that were not sent because others were in flight.
    pub spared: usize,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        self.lost_requests += other.lost_requests;
        self.lost_responses += other.lost_responses;
        self.failed_reads += other.failed_reads;
        self.void += other.void;
        self.settled += other.settled;
        self.merged += other.merged;
        self.abandoned += other.abandoned;
        self.deleted_merged += other.deleted_merged;
        self.snapshots += other.snapshots;
        self.parts += other.parts;
        self.deleted += other.deleted;
        self.crashes += other.crashes;
        self.pauses += other.pauses;
        self.acknowledged += other.acknowledged;
        self.denied += other.denied;
        self.opened += other.opened;
        self.fenced += other.fenced;
        self.hedges += other.hedges;
        self.found += other.found;
        self.spared += other.spared;
    }

    /// Whether everything that can happen has happened.
    pub fn is_eventful(&self) -> bool {
        let Seen {
            lost_requests,
            lost_responses,
            failed_reads,
            void,
            settled,
            merged,
            abandoned,
            deleted_merged,
            snapshots,
            parts,
            deleted,
            crashes,
            pauses,
            opened,
            fenced,
            hedges,
            found,
            spared,
            ..
        } = *self;
        let faults = [lost_requests, lost_responses, failed_reads, void, settled, snapshots, deleted, crashes, pauses];
        let rules = [merged, abandoned, deleted_merged, opened, fenced, hedges, found, spared, parts];
        faults.iter().chain(&rules).all(|count| *count > 0) && self.acknowledged > 1000 && self.denied > 0
    }
}

/// What happened in a world.
pub struct History {
    pub violations: Vec<Violation>,
    pub trace: Vec<String>,
    pub seen: Seen,
}

/// What a world consists of.
pub struct World {
    pub brokers: usize,
    pub partitions: u32,
    pub producers: usize,
    /// Whether there is a named producer.
    pub is_named: bool,
}

impl World {
    /// The world of a seed.
    pub fn of(seed: u64) -> World {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
        World {
            brokers: random.usize(1..=3),
            partitions: random.u32(1..=3),
            producers: random.usize(2..=6),
            is_named: random.bool(),
        }
    }
}

/// Runs the world of a seed.
pub fn run(seed: u64, lie: Option<Lie>) -> History {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(live(World::of(seed), seed, lie))
}

async fn live(world: World, seed: u64, lie: Option<Lie>) -> History {
    let store = SharedStore::new(seed, lie);
    let mut brokers: Vec<_> = (0..world.brokers).map(|number| Broker::new(store.clone(), number)).collect();
    brokers.iter_mut().for_each(Broker::start);
    let surroundings = Surroundings {
        store: store.clone(),
        brokers: Arc::new(Mutex::new(brokers)),
        responses: Arc::new(Mutex::new(Responses::default())),
        violations: Arc::default(),
    };
    let chaos = tokio::spawn(chaos(surroundings.clone()));
    let topic = surroundings.create(world.partitions).await;
    let partitions: Vec<_> = (0..world.partitions).map(|number| PartitionId { topic, number }).collect();
    let trimming = tokio::spawn(surroundings.clone().trim(partitions.clone()));
    let mut producers = Vec::new();
    for name in 0..world.producers {
        let partition = partitions[name % partitions.len()];
        producers.push(if name % 2 == 0 {
            tokio::spawn(surroundings.clone().append_once(name, partition))
        } else {
            tokio::spawn(surroundings.clone().append_plainly(name, partition))
        });
    }
    if world.is_named {
        producers.push(tokio::spawn(surroundings.clone().append_named(partitions.clone())));
    }
    sleep(Duration::from_secs(store.random(|random| random.u64(30..300)))).await;
    chaos.abort();
    trimming.abort();
    calm(&surroundings);
    let finished = timeout(CALM, futures_util::future::join_all(producers)).await;
    if finished.is_err() {
        let what = "a producer waits although all is well".to_owned();
        surroundings.violations.lock().unwrap().push(Violation::Stuck { what });
    } else {
        agree(&surroundings, &partitions).await;
    }
    end(&surroundings)
}

/// Kills brokers, and puts them to sleep.
async fn chaos(surroundings: Surroundings) {
    let Surroundings { store, brokers, .. } = surroundings;
    loop {
        sleep(Duration::from_millis(store.random(|random| random.u64(200..8_000)))).await;
        let (event, at, seconds) =
            store.random(|random| (random.u8(0..10), random.usize(..), random.u64(1..3 * DELETION_DELAY)));
        let mut brokers = brokers.lock().unwrap();
        let count = brokers.len();
        let broker = &mut brokers[at % count];
        match (event, broker.journal().is_some()) {
            (_, false) => broker.start(),
            (0..2, true) => broker.kill(),
            (2, true) => broker.pause(Duration::from_secs(seconds)),
            _ => {}
        }
    }
}

/// From now on all is well.
fn calm(surroundings: &Surroundings) {
    surroundings.store.calm();
    for broker in surroundings.brokers.lock().unwrap().iter_mut() {
        broker.resume();
        if broker.journal().is_none() {
            broker.start();
        }
    }
}

/// Every broker and a new one see the same records: those of the chain.
async fn agree(surroundings: &Surroundings, partitions: &[PartitionId]) {
    let mut newcomer = Broker::new(surroundings.store.clone(), 9);
    newcomer.start();
    let mut brokers = surroundings.brokers.lock().unwrap().iter().filter_map(Broker::journal).collect::<Vec<_>>();
    brokers.extend(newcomer.journal());
    surroundings.brokers.lock().unwrap().push(newcomer);
    for (broker, journal) in brokers.iter().enumerate() {
        // An append makes a broker catch up with the others.
        for partition in partitions {
            let appended = timeout(CALM, append_at_last(journal, *partition, broker)).await;
            if appended.is_err() {
                let what = format!("broker {broker} takes no append when all is well");
                surroundings.violations.lock().unwrap().push(Violation::Stuck { what });
                return;
            }
        }
        let (truth, state) = (surroundings.store.truth(), surroundings.store.state());
        for &partition in partitions {
            let seen = read_all(journal, partition).await;
            let chain = truth.range((partition, state.first_offset(partition))..=(partition, u64::MAX));
            let expected: BTreeMap<u64, &String> = chain.map(|((_, offset), text)| (*offset, text)).collect();
            let offsets = seen.keys().chain(expected.keys());
            let differs = offsets.copied().find(|offset| seen.get(offset) != expected.get(offset).copied());
            if let Some(offset) = differs {
                let (found, expected) = (seen.get(&offset).cloned(), expected.get(&offset).map(|text| (*text).clone()));
                let violation = Violation::Disagreement { broker, partition, offset, found, expected };
                surroundings.violations.lock().unwrap().push(violation);
            }
        }
    }
}

/// Appends a record, again until it is stored: a broker may have to find out first that all is well.
async fn append_at_last(journal: &Journal, partition: PartitionId, broker: usize) {
    let text = [format!("last of {broker}")];
    while let Err(error) = journal.append(partition, None, received(&text)).await {
        match error {
            JournalError::NotStored | JournalError::Unknown => sleep(Duration::from_secs(1)).await,
            // Its task has panicked, which is reported.
            _ => return,
        }
    }
}

/// The records of a partition that a broker sees.
async fn read_all(journal: &Journal, partition: PartitionId) -> BTreeMap<u64, String> {
    let mut seen = BTreeMap::new();
    let offsets = journal.offsets(partition);
    let (mut offset, until) = (offsets.start, Instant::now() + CALM);
    while offset < offsets.end && Instant::now() < until {
        match journal.read(partition, offset).await {
            // Where the store lies, other bytes may be in that place.
            Ok(Some(piece)) if !is_intact(&piece.batches) => break,
            Ok(Some(piece)) => {
                let texts = records_of(&piece.batches).into_iter().map(|record| String::from_utf8(record).unwrap());
                let here = (piece.first_offset..).zip(texts).filter(|(at, _)| *at >= offset);
                seen.extend(here);
                offset = piece.next_offset;
            }
            Ok(None) => break,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
    seen
}

fn is_intact(batches: &[u8]) -> bool {
    let mut checker = Checker::new(Limits::FORMAT);
    checker.push(batches).is_ok() && checker.finish().is_ok()
}

fn end(surroundings: &Surroundings) -> History {
    let mut violations = std::mem::take(&mut *surroundings.violations.lock().unwrap());
    for (number, broker) in surroundings.brokers.lock().unwrap().iter().enumerate() {
        if broker.has_panicked() {
            violations.push(Violation::Broken { reason: format!("broker {number} panicked") });
        }
    }
    let (trace, broken, mut seen) = surroundings.store.report();
    violations.extend(broken.into_iter().map(|reason| Violation::Broken { reason }));
    let responses = surroundings.responses.lock().unwrap();
    violations.extend(responses.violations(&surroundings.store.truth()));
    seen.acknowledged = responses.acknowledged.len();
    seen.denied = responses.denied.len();
    History { violations, trace, seen }
}
