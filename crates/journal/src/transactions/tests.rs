//! Random transactions on one state, which other states follow through its objects: the result is compared with a list
//! of all records and their fates.

use super::*;
use crate::chain::{Id, Link};
use crate::changes::{Changes, Entry};
use crate::control::{Committed, Control, Fence};
use crate::limits::NAMED_IDS;
use crate::object::{Batch, BatchKind, Index, Section, build_index};
use crate::producers::{Content, Producer, Rejected, Verdict};
use crate::refused::Refused;
use crate::rules::Rules;
use crate::snapshot::{Snapshot, build_snapshot};
use crate::state::{State, Undo};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const RULES: fn() -> Rules = Rules::default;
const P: PartitionId = PartitionId { topic: 1, number: 0 };
const Q: PartitionId = PartitionId { topic: 1, number: 1 };

/// The fate of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Committed,
    Aborted,
    Marker,
}

#[derive(Debug, Clone)]
struct Written {
    partition: PartitionId,
    offset: u64,
    producer: u64,
    fate: Fate,
}

/// A state as its writer has it, and one that follows it by its objects.
#[derive(Default)]
struct World {
    state: State,
    follower: State,
    /// The view of a catalog, which follows sections only.
    seen: BTreeMap<PartitionId, PartitionTransactions>,
    written: Vec<Written>,
    now_us: u64,
}

/// The id that the first name gets if none was drawn.
const FIRST: u64 = NAMED_IDS.start;

fn of(records: u32) -> Content {
    Content { records, crc32c: 0 }
}

fn open(name: &str, timeout_ms: u32) -> Control {
    Control::OpenProducer { name: name.into(), id: 0, epoch: 0, timeout_ms, owner: "o".into(), from: None, ends: 0 }
}

fn end(name: &str, (id, epoch): (u64, u16), end: TransactionEnd) -> Control {
    Control::EndTransaction { name: name.into(), id, epoch, end, next: (0, 0) }
}

fn commit(group: &str, partition: PartitionId, offset: i64, producer: Option<(u64, u16)>) -> Control {
    let committed = Committed { offset, metadata: b"m"[..].into() };
    let (group, owner, fence) = (group.into(), "o".into(), Fence::Open);
    Control::CommitOffset { group, partition, committed, owner, producer, fence }
}

impl World {
    fn new() -> World {
        let mut world = World::default();
        let topic =
            |topic, name: &str| Control::Create { topic, name: name.into(), partitions: 2, settings: [].into() };
        world.object(vec![topic(1, "one")], &[]).unwrap();
        world
    }

    /// Puts an object of these requests and transactional appends: of which producer, to which partition.
    fn object(
        &mut self,
        requests: Vec<Control>,
        appends: &[(PartitionId, (u64, u16), u64)],
    ) -> Result<Vec<Control>, Refused> {
        self.now_us += 1;
        let before = self.state.clone();
        let mut undo = vec![self.state.advance(self.now_us)];
        let (mut controls, mut due) = (Vec::new(), Vec::new());
        for request in requests {
            let control = self.state.record(request);
            let markers = self.state.markers(&control);
            match self.state.apply(&control, RULES()) {
                Ok(applied) => undo.push(applied),
                Err(refused) => {
                    self.take_back(undo);
                    assert_eq!(self.state, before, "after {refused:?}");
                    return Err(refused);
                }
            }
            due.extend(markers);
            controls.push(control);
        }
        let mut entries = self.state.marker_entries(&due);
        for entry in &entries {
            undo.push(self.state.add(entry));
        }
        for (partition, (id, epoch), sequence) in appends {
            let producer = Some(Producer { id: *id, epoch: *epoch, sequence: *sequence, wraps: true });
            let first_offset = self.state.next_offset(*partition);
            let transaction = Some(TransactionPart::Records);
            let entry = Entry { partition: *partition, first_offset, content: of(2), producer, transaction };
            undo.push(self.state.add(&entry));
            entries.push(entry);
        }
        let after = self.state.clone();
        self.take_back(undo);
        assert_eq!(self.state, before, "{controls:?} {entries:?} taken back");
        self.state = after;
        self.follow(&controls, &entries);
        Ok(controls)
    }

    fn take_back(&mut self, undo: Vec<Undo>) {
        undo.into_iter().rev().for_each(|undo| self.state.undo(undo));
    }

    /// Others read the object's bytes.
    fn follow(&mut self, controls: &[Control], entries: &[Entry]) {
        let chain = *self.state.chain();
        let link =
            Link { number: chain.next(), id: Id { run: 1, commit: chain.next() }, prev: chain.last(), in_flight: 0 };
        let mut sections: BTreeMap<PartitionId, (Section, Vec<Batch>)> = BTreeMap::new();
        for Entry { partition, first_offset, content, producer, transaction } in entries.iter().copied() {
            let section = (Section { partition, first_offset }, Vec::new());
            sections.entry(partition).or_insert(section).1.push(Batch {
                kind: BatchKind::Kafka,
                records: content.records,
                bytes: 61,
                crc32c: 0,
                continues: false,
                producer,
                max_timestamp_us: 0,
                transaction,
            });
        }
        let sections: Vec<_> = sections.values().map(|(section, batches)| (*section, &batches[..])).collect();
        let mut bytes = build_index(link, self.now_us, controls, &sections);
        bytes.resize(bytes.len() + 61 * entries.len(), 0);
        let index = Index::parse(&bytes).unwrap();
        assert_eq!(index.controls(), controls);
        self.state.confirm(link, RULES());
        assert_eq!(self.follower.observe(link, &index.changes()), Ok(true));
        assert_eq!(self.follower, self.state);
        for control in controls {
            if let Control::Trim { partition, first_offset } = control {
                self.seen.entry(*partition).or_default().trim(*first_offset);
            }
        }
        for entry in entries {
            let part = entry.transaction.unwrap();
            let producer = entry.producer.unwrap().id;
            let offsets = entry.first_offset..entry.next_offset();
            self.seen.entry(entry.partition).or_default().note(part, producer, offsets.clone());
            let fate = match part {
                TransactionPart::Records => Fate::Open,
                TransactionPart::Commit | TransactionPart::Abort => Fate::Marker,
            };
            if fate == Fate::Marker {
                let ended = if part == TransactionPart::Commit { Fate::Committed } else { Fate::Aborted };
                let of_it = |written: &&mut Written| {
                    (written.partition, written.producer, written.fate) == (entry.partition, producer, Fate::Open)
                };
                self.written.iter_mut().filter(of_it).for_each(|written| written.fate = ended);
            }
            let partition = entry.partition;
            self.written.extend(offsets.map(|offset| Written { partition, offset, producer, fate }));
        }
        self.check();
    }

    fn check(&self) {
        let mut noted = 0;
        for (id, partition) in &self.state.partitions {
            let transactions = partition.transactions();
            let seen = self.seen.get(id).cloned().unwrap_or_default();
            assert_eq!(*transactions, seen, "{id:?}");
            noted += transactions.count();
            let offsets = partition.first_offset..partition.next_offset;
            let all =
                self.written.iter().filter(|written| written.partition == *id && offsets.contains(&written.offset));
            let is_open = |written: &&Written| (written.partition, written.fate) == (*id, Fate::Open);
            let first_open = self.written.iter().find(is_open).map(|written| written.offset.max(offsets.start));
            assert_eq!(transactions.stable_offset(offsets.clone()), first_open.unwrap_or(offsets.end), "{id:?}");
            let range = offsets.start + offsets.end / 3..offsets.end - offsets.end / 4;
            let aborted: Vec<&Aborted> = transactions.aborted_among(range.clone()).collect();
            for written in all.clone().filter(|written| range.contains(&written.offset)) {
                let is_aborted = aborted.iter().any(|aborted| {
                    aborted.producer == written.producer
                        && (aborted.first_offset..aborted.last_offset).contains(&written.offset)
                });
                assert_eq!(is_aborted, written.fate == Fate::Aborted, "{written:?} of {aborted:?}");
            }
            assert!(all.clone().all(|written| transactions.may_concern(&(written.offset..written.offset + 1))));
        }
        assert_eq!(self.state.transactions.noted, noted);
        let pieces = BTreeMap::new();
        let bytes = build_snapshot(&self.state, &pieces);
        assert_eq!(Snapshot::parse(&bytes), Ok(Snapshot { state: self.state.clone(), pieces }));
    }

    fn offset(&self, group: &str, partition: PartitionId) -> Option<i64> {
        let mut offsets = self.state.offsets().of(group);
        offsets.find(|(id, _)| *id == partition).map(|(_, committed)| committed.offset)
    }
}

#[test]
fn random_transactions_are_what_they_were_made_of() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new();
        let mut instances: BTreeMap<&str, (u64, u16)> = BTreeMap::new();
        let mut next_sequence: BTreeMap<((u64, u16), PartitionId), u64> = BTreeMap::new();
        for _ in 0..60 {
            let name = ["a", "b", "c"][random.usize(0..3)];
            let partition = [P, Q][random.usize(0..2)];
            let instance = instances.get(name).copied();
            let (requests, appends) = match (random.u8(0..12), instance) {
                (0, _) | (_, None) => (vec![open(name, 1000)], Vec::new()),
                (1, _) => {
                    let (first, next) = (world.state.first_offset(partition), world.state.next_offset(partition));
                    (vec![Control::Trim { partition, first_offset: random.u64(first..=next) }], Vec::new())
                }
                (2, Some(instance)) => (vec![commit("g", partition, random.i64(-1..9), Some(instance))], Vec::new()),
                (3, Some(instance)) => (vec![end(name, instance, TransactionEnd::Abort)], Vec::new()),
                (4, Some(instance)) => (vec![end(name, instance, TransactionEnd::Expire)], Vec::new()),
                (5 | 6, Some(instance)) => {
                    // Two that end at once.
                    let mut ends = vec![end(name, instance, TransactionEnd::Commit)];
                    if let Some(other) = instances.get("a").filter(|_| name != "a") {
                        ends.push(end("a", *other, TransactionEnd::Abort));
                    }
                    (ends, Vec::new())
                }
                (7, Some(_)) if random.u8(0..8) == 0 => (vec![Control::Delete { topic: 1 }], Vec::new()),
                (_, Some(instance)) => {
                    let sequence = next_sequence.entry((instance, partition)).or_default();
                    let append = (partition, instance, *sequence);
                    *sequence += 2;
                    (Vec::new(), vec![append])
                }
            };
            let is_deletion = matches!(requests[..], [Control::Delete { .. }]);
            let Ok(controls) = world.object_after(requests, &appends, is_deletion) else { continue };
            for control in controls {
                match control {
                    Control::OpenProducer { name, id, epoch, .. }
                    | Control::EndTransaction { name, next: (id, epoch), .. } => {
                        let name = ["a", "b", "c"].into_iter().find(|known| **known == *name).unwrap();
                        instances.insert(name, (id, epoch));
                    }
                    _ => {}
                }
            }
            if is_deletion {
                break;
            }
        }
    }
}

impl World {
    /// As [`World::object`]; a deleted topic has no records.
    fn object_after(
        &mut self,
        requests: Vec<Control>,
        appends: &[(PartitionId, (u64, u16), u64)],
        is_deletion: bool,
    ) -> Result<Vec<Control>, Refused> {
        if is_deletion {
            self.written.clear();
            self.seen.clear();
        }
        self.object(requests, appends)
    }
}

#[test]
fn an_end_is_one_object_for_all_partitions_and_offsets() {
    let mut world = World::new();
    world.object(vec![open("t", 1000)], &[]).unwrap();
    let first = (FIRST, 0);
    world.object(vec![commit("g", P, 7, Some(first))], &[(P, first, 0), (Q, first, 0)]).unwrap();
    assert_eq!(world.offset("g", P), None);
    assert_eq!(world.state.offsets().unstable("g").collect::<Vec<_>>(), [P]);
    let ended = world.object(vec![end("t", first, TransactionEnd::Commit)], &[]).unwrap();
    assert!(matches!(ended[0], Control::EndTransaction { next: (FIRST, 1), .. }), "{ended:?}");
    assert_eq!((world.offset("g", P), world.state.offsets().unstable("g").count()), (Some(7), 0));
    assert_eq!((world.state.next_offset(P), world.state.next_offset(Q)), (3, 3));
    assert!(world.written.iter().all(|written| matches!(written.fate, Fate::Committed | Fate::Marker)));
}

#[test]
fn a_repeated_end_gets_the_same_response_and_zombies_get_none() {
    let mut world = World::new();
    world.object(vec![open("t", 1000)], &[]).unwrap();
    let (first, second) = ((FIRST, 0), (FIRST, 1));
    world.object(vec![], &[(P, first, 0)]).unwrap();
    let mut ask = |instance, how| world.object(vec![end("t", instance, how)], &[]).map(drop);
    assert_eq!(ask((FIRST, 1), TransactionEnd::Commit), Err(Refused::NotOpen { id: FIRST, found: 1 }));
    assert_eq!(ask(first, TransactionEnd::Commit), Ok(()));
    assert_eq!(ask(first, TransactionEnd::Commit), Err(Refused::AlreadyEnded { id: second.0, epoch: second.1 }));
    assert_eq!(ask(first, TransactionEnd::Abort), Err(Refused::OtherEnd));
    assert_eq!(ask(second, TransactionEnd::Commit), Err(Refused::NoTransaction));
    assert_eq!(ask(second, TransactionEnd::Abort), Ok(()), "an empty one is aborted: a new epoch");
    assert_eq!(ask(first, TransactionEnd::Commit), Err(Refused::Fenced { current: 2, found: 0 }));
    let unknown = world.object(vec![end("u", first, TransactionEnd::Abort)], &[]);
    assert_eq!(unknown, Err(Refused::NotOpen { id: FIRST, found: 0 }));
}

/// A producer that continues from a checkpoint after a failure ends its transaction, which may have ended before.
#[test]
fn an_end_is_judged_alike_after_a_restart() {
    let mut world = World::new();
    world.object(vec![open("t", 1000)], &[]).unwrap();
    let (first, second) = ((FIRST, 0), (FIRST, 1));
    let restart = |world: &mut World| {
        let bytes = build_snapshot(&world.state, &BTreeMap::new());
        world.state = Snapshot::parse(&bytes).unwrap().state;
    };
    world.object(vec![], &[(P, first, 0), (Q, first, 0)]).unwrap();
    restart(&mut world);
    world.object(vec![end("t", first, TransactionEnd::Commit)], &[]).unwrap();
    restart(&mut world);
    let same = Err(Refused::AlreadyEnded { id: second.0, epoch: second.1 });
    assert_eq!(world.object(vec![end("t", first, TransactionEnd::Commit)], &[]), same);
    assert_eq!(world.object(vec![end("t", first, TransactionEnd::Abort)], &[]), Err(Refused::OtherEnd));
    // A late batch doesn't get into the next transaction, and a retry of the end doesn't end that.
    let late = Some(Producer { id: first.0, epoch: first.1, sequence: 2, wraps: true });
    let fenced = Verdict::Rejected(Rejected::Fenced { current: 1, found: 0 });
    assert_eq!(world.state.judge(P, of(1), late, RULES()), fenced);
    world.object(vec![], &[(P, second, 0)]).unwrap();
    restart(&mut world);
    assert_eq!(world.state.judge(P, of(1), late, RULES()), fenced);
    assert_eq!(world.object(vec![end("t", first, TransactionEnd::Commit)], &[]), same);
    assert_eq!(world.state.transactional_producer("t").map(|one| one.epoch), Some(1));
    assert_eq!(world.state.partitions_of_transaction(FIRST).collect::<Vec<_>>(), [P], "still open");
    world.object(vec![end("t", second, TransactionEnd::Abort)], &[]).unwrap();
    let late = world.object(vec![end("t", first, TransactionEnd::Commit)], &[]);
    assert_eq!(late, Err(Refused::Fenced { current: 2, found: 0 }));
}

#[test]
fn an_append_outside_its_producers_transaction_is_rejected_where_that_writes() {
    let mut world = World::new();
    world.object(vec![open("t", 1000)], &[]).unwrap();
    let first = (FIRST, 0);
    world.object(vec![], &[(P, first, 0)]).unwrap();
    let outside = |world: &World, partition, id| {
        let producer = Producer { id, epoch: 0, sequence: 2, wraps: true };
        world.state.judge_transaction(partition, Some(producer), false)
    };
    assert_eq!(outside(&world, P, first.0), Some(Rejected::InTransaction { id: first.0 }));
    assert_eq!((outside(&world, Q, first.0), outside(&world, P, 7)), (None, None));
    assert_eq!(world.state.judge_transaction(P, None, false), None);
    world.object(vec![end("t", first, TransactionEnd::Commit)], &[]).unwrap();
    assert_eq!(outside(&world, P, first.0), None);
}

#[test]
fn a_new_instance_aborts_the_transaction_of_the_older_one() {
    let mut world = World::new();
    world.object(vec![open("t", 1000)], &[]).unwrap();
    let first = (FIRST, 0);
    world.object(vec![commit("g", P, 7, Some(first))], &[(P, first, 0)]).unwrap();
    world.object(vec![open("t", 1000)], &[]).unwrap();
    assert_eq!((world.offset("g", P), world.state.offsets().unstable("g").count()), (None, 0));
    assert_eq!(world.written[0].fate, Fate::Aborted);
    let late = world.object(vec![end("t", first, TransactionEnd::Commit)], &[]);
    assert_eq!(late, Err(Refused::Fenced { current: 1, found: 0 }));
    let zombie = Some(Producer { id: first.0, epoch: 0, sequence: 2, wraps: true });
    let fenced = Verdict::Rejected(Rejected::Fenced { current: 1, found: 0 });
    assert_eq!(world.state.judge(P, of(1), zombie, RULES()), fenced);
    let from = |from| {
        let name: Arc<str> = "t".into();
        Control::OpenProducer { name, id: 0, epoch: 0, timeout_ms: 1, owner: "".into(), from: Some(from), ends: 0 }
    };
    assert_eq!(world.object(vec![from(first)], &[]), Err(Refused::Fenced { current: 1, found: 0 }));
    assert!(world.object(vec![from((first.0, 1))], &[]).is_ok());
}

#[test]
fn a_transaction_expires_by_the_journals_time_and_its_producer_is_fenced() {
    let mut world = World::new();
    world.object(vec![open("t", 3)], &[]).unwrap();
    let first = (FIRST, 0);
    assert_eq!(world.state.open_transactions().count(), 0);
    world.object(vec![], &[(P, first, 0)]).unwrap();
    let began_us = world.state.times().age_us();
    assert_eq!(world.state.open_transactions().collect::<Vec<_>>(), [(first.0, began_us)]);
    let expired = || vec![crate::state::Expired { name: "t".into(), id: first.0, epoch: 0 }];
    let seen_for = |state: &State, us: u64| state.expired(|_, _| Duration::from_micros(us));
    let mut later = world.state.clone();
    assert_eq!((seen_for(&later, 2999), seen_for(&later, 3000)), (vec![], expired()), "by the driver's time");
    later.advance(world.now_us + 2999);
    assert_eq!(seen_for(&later, 0), []);
    later.advance(world.now_us + 3000);
    assert_eq!(seen_for(&later, 0), expired(), "by the objects' times");
    world.object(vec![end("t", first, TransactionEnd::Expire)], &[]).unwrap();
    let late = world.object(vec![end("t", first, TransactionEnd::Commit)], &[]);
    assert_eq!(late, Err(Refused::Fenced { current: 1, found: 0 }));
    assert_eq!(world.state.open_transactions().count(), 0);
}

#[test]
fn a_producer_without_transactions_has_none() {
    let mut world = World::new();
    world.object(vec![open("t", 0)], &[]).unwrap();
    let id = FIRST;
    let ended = world.object(vec![end("t", (id, 0), TransactionEnd::Abort)], &[]);
    assert_eq!(ended, Err(Refused::NoTransactions { id }));
    let committed = world.object(vec![commit("g", P, 1, Some((id, 0)))], &[]);
    assert_eq!(committed, Err(Refused::NoTransactions { id }));
    let rejected = |id| {
        let producer = Producer { id, epoch: 0, sequence: 0, wraps: true };
        world.state.judge_transaction(P, Some(producer), true)
    };
    assert_eq!(rejected(id), Some(Rejected::NoTransactions { id }));
    assert_eq!(rejected(7), Some(Rejected::NoTransactions { id: 7 }));
}

#[test]
fn an_object_without_the_markers_that_are_due_is_a_contradiction() {
    let mut world = World::new();
    world.object(vec![open("t", 1000)], &[]).unwrap();
    let first = (FIRST, 0);
    world.object(vec![], &[(P, first, 0)]).unwrap();
    let control = world.state.record(end("t", first, TransactionEnd::Commit));
    let chain = *world.state.chain();
    let link = Link { number: chain.next(), id: Id { run: 1, commit: 99 }, prev: chain.last(), in_flight: 0 };
    let changes = Changes { appended_us: 0, controls: [control].into(), entries: [].into() };
    let wrong = world.state.observe(link, &changes).unwrap_err().what;
    assert_eq!(wrong, crate::state::Wrong::Markers { expected: 1, found: 0 });
}
