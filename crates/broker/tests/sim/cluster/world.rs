//! One world: brokers on machines, a store, a network, and what clients have seen.

use super::cards::Cards;
use super::groups::Wrong;
use super::log::{Acting, Append, Calls, Fault, Found, Moment, Outcome, Read, Run, faults};
use super::machine::Machine;
use super::network::Cuts;
use super::node::Node;
use super::seen::Seen;
use crate::store::{Connection, Lie, SharedStore};
use rawline_journal::PartitionId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The store lies.
    Store(Lie),
    /// A forwarded append loses its producer and sequence.
    ForgetSequence,
    /// A forwarded append is sent again although it may have arrived.
    ForwardAgain,
    /// An append is acknowledged before its owner has confirmed it.
    AnswerEarly,
    /// A broker says that an offset doesn't exist without having looked at what others have stored.
    DenyWhatIsNew,
    /// A broker has its reads answered by any.
    ReadAnywhere,
    /// A new owner acts before it has read what was stored.
    ActAtOnce,
    /// Each broker counts a group's generations from 1.
    GenerationsFromOne,
    /// Committed offsets are read before those that transactions may still commit.
    CommittedFirst,
    /// A member is checked, and then what it commits is stored whatever has happened to it since.
    CheckFirst,
}

/// What must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// The history of a partition is that of no log.
    Fault { partition: u32, fault: Fault },
    /// A broker panicked or contradicts itself.
    Broken(String),
    /// Something doesn't happen although all is well.
    Stuck(String),
    /// What a group has committed is wrong.
    Group(Wrong),
}

/// What happened in a world.
pub struct History {
    pub violations: Vec<Violation>,
    pub trace: Vec<String>,
    pub seen: Seen,
}

/// One machine, on which one broker after the other runs.
#[derive(Default)]
pub struct Slot {
    pub running: Option<Arc<Machine>>,
    /// When it takes requests.
    node: Option<Arc<Node>>,
    runs: u64,
    pub is_stopping: bool,
    /// Its way to the bucket is open from then on.
    pub bucket_from: Option<Arc<Mutex<Instant>>>,
}

/// A world.
pub struct World {
    pub store: Arc<SharedStore>,
    pub bug: Option<Bug>,
    pub cuts: Cuts,
    pub cards: Cards,
    /// Whether clients begin nothing more.
    pub is_over: AtomicBool,
    pub slots: Mutex<Vec<Slot>>,
    calls: Mutex<Vec<Calls>>,
    moment: Mutex<Moment>,
    violations: Mutex<Vec<Violation>>,
    seen: Mutex<Seen>,
}

impl World {
    pub fn new(seed: u64, bug: Option<Bug>, machines: usize, partitions: u32) -> Arc<World> {
        let lie = if let Some(Bug::Store(lie)) = bug { Some(lie) } else { None };
        Arc::new(World {
            store: SharedStore::new(seed, lie),
            bug,
            cuts: Cuts::default(),
            cards: Cards::default(),
            is_over: AtomicBool::new(false),
            slots: Mutex::new((0..machines).map(|_| Slot::default()).collect()),
            calls: Mutex::new((0..partitions).map(|_| Calls::default()).collect()),
            moment: Mutex::default(),
            violations: Mutex::default(),
            seen: Mutex::default(),
        })
    }

    pub fn saw(&self, count: impl FnOnce(&mut Seen)) {
        count(&mut self.seen.lock().unwrap());
    }

    pub fn broken(&self, reason: String) {
        self.store.note(|| reason.clone());
        self.violations.lock().unwrap().push(Violation::Broken(reason));
    }

    pub fn stuck(&self, what: String) {
        self.violations.lock().unwrap().push(Violation::Stuck(what));
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// A moment that follows all before it.
    pub fn moment(&self) -> Moment {
        let mut moment = self.moment.lock().unwrap();
        *moment += 1;
        *moment
    }

    pub fn appended(&self, partition: u32, append: Append) {
        self.calls.lock().unwrap()[partition as usize].appends.push(append);
    }

    pub fn read(&self, partition: u32, read: Read) {
        self.calls.lock().unwrap()[partition as usize].reads.push(read);
    }

    pub fn acted(&self, partition: u32, acting: Acting) {
        self.calls.lock().unwrap()[partition as usize].actings.push(acting);
    }

    /// The greatest end of a partition that a client knows.
    pub fn known_end(&self, partition: u32) -> u64 {
        let calls = &self.calls.lock().unwrap()[partition as usize];
        let acknowledged = calls.appends.iter().filter_map(|append| match append.outcome {
            Outcome::Stored { first_offset, .. } => Some(first_offset + append.records.len() as u64),
            Outcome::NotStored | Outcome::Unknown => None,
        });
        let read = calls.reads.iter().filter_map(|read| match read.found {
            Found::Records { next_offset, .. } => Some(next_offset),
            Found::OutOfRange => None,
        });
        acknowledged.chain(read).max().unwrap_or(0)
    }

    pub fn machines(&self) -> usize {
        self.slots.lock().unwrap().len()
    }

    /// The broker on a machine, if one takes requests there.
    pub fn node(&self, machine: usize) -> Option<Arc<Node>> {
        self.slots.lock().unwrap()[machine].node.clone()
    }

    /// Any broker that takes requests.
    pub fn any_node(&self) -> Option<Arc<Node>> {
        let nodes: Vec<_> = self.slots.lock().unwrap().iter().filter_map(|slot| slot.node.clone()).collect();
        (!nodes.is_empty()).then(|| nodes[self.store.random(|random| random.usize(0..nodes.len()))].clone())
    }

    /// A broker takes requests from now on.
    pub fn serves(&self, node: Arc<Node>) {
        let machine = node.run.machine;
        self.slots.lock().unwrap()[machine].node = Some(node);
    }

    /// A broker takes no requests any more.
    pub fn ends(&self, node: &Arc<Node>) {
        self.slots.lock().unwrap()[node.run.machine].node.take_if(|serving| serving.run == node.run);
    }

    pub fn start(self: &Arc<Self>, number: usize) {
        let mut slots = self.slots.lock().unwrap();
        let slot = &mut slots[number];
        assert!(slot.running.is_none() && slot.node.is_none(), "machine {number} has a broker");
        slot.runs += 1;
        self.store.note(|| format!("machine {number}: starts"));
        let machine = Machine::new();
        slot.running = Some(machine.clone());
        let bucket_from = Arc::new(Mutex::new(Instant::now()));
        slot.bucket_from = Some(bucket_from.clone());
        let run = Run { machine: number, number: slot.runs };
        let connection = Connection::new(self.store.clone(), number, bucket_from);
        let running = machine.clone().spawn(Node::start(self.clone(), machine, run, connection));
        let world = self.clone();
        tokio::spawn(async move {
            if let Err(ended) = running.await
                && ended.is_panic()
            {
                world.broken(format!("the broker on machine {number} panicked: {ended}"));
            }
        });
    }

    pub fn kill(&self, number: usize) {
        let mut slots = self.slots.lock().unwrap();
        let slot = &mut slots[number];
        if let Some(machine) = slot.running.take() {
            self.store.note(|| format!("machine {number}: its broker is killed"));
            self.saw(|seen| seen.crashes += 1);
            (slot.node, slot.is_stopping) = (None, false);
            machine.kill();
        }
    }

    /// A broker is paused for a while.
    pub fn pause(&self, number: usize, time: Duration) {
        let Some(machine) = self.slots.lock().unwrap()[number].running.clone() else { return };
        if machine.is_paused() {
            return;
        }
        self.store.note(|| format!("machine {number}: stands still for {time:?}"));
        self.saw(|seen| seen.pauses += 1);
        machine.pause();
        let store = self.store.clone();
        tokio::spawn(async move {
            sleep(time).await;
            if machine.is_paused() {
                store.note(|| format!("machine {number}: resumed"));
                machine.resume();
            }
        });
    }

    /// A broker stops as it does when it is asked to.
    pub fn stop(self: &Arc<Self>, number: usize) {
        let mut slots = self.slots.lock().unwrap();
        let slot = &mut slots[number];
        let (Some(machine), Some(node), false) = (slot.running.clone(), slot.node.clone(), slot.is_stopping) else {
            return;
        };
        self.store.note(|| format!("machine {number}: its broker stops"));
        self.saw(|seen| seen.stops += 1);
        slot.is_stopping = true;
        let world = self.clone();
        tokio::spawn(async move {
            let stopped = machine.spawn(node.stop()).await;
            let mut slots = world.slots.lock().unwrap();
            let slot = &mut slots[number];
            if slot.running.as_ref().is_some_and(|running| Arc::ptr_eq(running, &machine)) {
                world.store.note(|| format!("machine {number}: its broker has stopped"));
                (slot.running, slot.node, slot.is_stopping) = (None, None, false);
            }
            machine.kill();
            if stopped.is_err_and(|ended| ended.is_panic()) {
                world.broken(format!("machine {number} panicked while it stopped"));
            }
        });
    }

    /// Nothing gets from a broker to the bucket, or back, for a while.
    pub fn cut_bucket(&self, number: usize, time: Duration) {
        self.store.note(|| format!("machine {number}: no bucket for {time:?}"));
        self.saw(|seen| seen.bucket_cuts += 1);
        if let Some(from) = &self.slots.lock().unwrap()[number].bucket_from {
            *from.lock().unwrap() = Instant::now() + time;
        }
    }

    /// Nothing gets from one machine to another for a while.
    pub fn cut(&self, from: usize, to: usize, time: Duration) {
        self.store.note(|| format!("machine {from} doesn't get through to {to} for {time:?}"));
        self.saw(|seen| seen.cuts += 1);
        self.cuts.cut(from, to, Instant::now() + time);
    }

    /// The records of each partition in the chain.
    pub fn logs(&self) -> Vec<Vec<String>> {
        let truth = self.store.truth();
        let of = |number: u32| {
            let records = truth.iter().filter(|((PartitionId { number: of, .. }, _), _)| *of == number);
            records.map(|(_, text)| text.clone()).collect()
        };
        (0..self.calls.lock().unwrap().len() as u32).map(of).collect()
    }

    pub fn end(&self) -> History {
        let mut violations = std::mem::take(&mut *self.violations.lock().unwrap());
        let (trace, broken, store_seen) = self.store.report();
        violations.extend(broken.into_iter().map(Violation::Broken));
        violations.extend(super::groups::wrong(&self.store.commits()).into_iter().map(Violation::Group));
        let (logs, calls) = (self.logs(), self.calls.lock().unwrap());
        for ((partition, calls), log) in (0..).zip(&*calls).zip(logs) {
            let found = faults(calls, &log);
            violations.extend(found.into_iter().map(|fault| Violation::Fault { partition, fault }));
        }
        let mut seen = self.seen.lock().unwrap().clone();
        seen.of_calls(&calls);
        seen.groups.commits = self.store.commits().len();
        seen.void = store_seen.void;
        History { violations, trace, seen }
    }
}
