//! Every change has an effect, and an undone change has none.

use super::*;
use crate::chain::Id;
use crate::control::Committed;
use crate::limits::{AGE_STEP_MAX_US, NAMED_IDS};
use crate::producers::Content;
use crate::rules::Broken;

const ONE: PartitionId = PartitionId { topic: 1, number: 0 };

fn create(topic: u64, name: &str) -> Control {
    Control::Create { topic, name: name.into(), partitions: 2, settings: [].into() }
}

fn of(records: u32) -> Content {
    Content { records, crc32c: 0 }
}

fn entry(partition: PartitionId, first_offset: u64, records: u32) -> Entry {
    Entry { partition, first_offset, content: of(records), producer: None, transaction: None }
}

/// A state with the topic 1, whose partition 0 has ten records.
fn state() -> State {
    let mut state = State::default();
    observe(&mut state, &[create(1, "one")], &[entry(ONE, 0, 10)]).unwrap();
    state
}

fn observe(state: &mut State, controls: &[Control], entries: &[Entry]) -> Result<bool, Contradiction> {
    let number = state.chain().next();
    let link = Link { number, id: Id { run: 1, commit: number }, prev: state.chain().last(), in_flight: 0 };
    state.observe(link, &Changes { appended_us: 0, controls: controls.into(), entries: entries.into() })
}

#[test]
fn control_records_come_before_appends() {
    let mut state = state();
    let two = PartitionId { topic: 2, number: 1 };
    assert_eq!(observe(&mut state, &[create(2, "two")], &[entry(two, 0, 3)]), Ok(true));
    assert_eq!((state.next_offset(two), state.topic_id("two")), (3, Some(2)));
}

#[test]
fn a_deleted_topic_shares_nothing_with_its_successor() {
    let mut state = state();
    let controls = [Control::Delete { topic: 1 }, create(2, "one")];
    assert_eq!(observe(&mut state, &controls, &[]), Ok(true));
    let successor = PartitionId { topic: 2, number: 0 };
    assert_eq!((state.next_offset(ONE), state.next_offset(successor)), (0, 0));
    assert_eq!(state.topic_id("one"), Some(2));
    let refused = Rejected::Partition(Refused::NoTopic { topic: 1 });
    assert_eq!(state.judge(ONE, of(1), None, Rules::default()), Verdict::Rejected(refused));
}

#[test]
fn a_trim_moves_the_first_offset_and_nothing_else() {
    let mut state = state();
    let trim = |first_offset| Control::Trim { partition: ONE, first_offset };
    observe(&mut state, &[trim(4), trim(3)], &[]).unwrap();
    assert_eq!((state.first_offset(ONE), state.next_offset(ONE)), (4, 10));
    let after_end = Refused::AfterEnd { found: 11, next_offset: 10 };
    assert_eq!(state.apply(&trim(11), Rules::default()), Err(after_end));
}

#[test]
fn a_valid_object_that_does_not_follow_is_a_contradiction() {
    let wrong = |controls: &[Control], entries: &[Entry]| observe(&mut state(), controls, entries).unwrap_err().what;
    let offset = Wrong::Offset { partition: ONE, expected: 10, found: 11 };
    assert_eq!(wrong(&[], &[entry(ONE, 11, 1)]), offset);
    let id = Refused::Id { expected: 2, found: 3 };
    assert_eq!(wrong(&[create(3, "two")], &[]), Wrong::Control(id));
    let partition = PartitionId { topic: 1, number: 2 };
    let refused = Refused::NoPartition { found: 2, last: 1 };
    assert_eq!(wrong(&[], &[entry(partition, 0, 1)]), Wrong::Partition { partition, refused });
}

fn commit(random: &mut fastrand::Rng, partition: PartitionId) -> Control {
    let committed = Committed { offset: random.i64(-2..100), metadata: vec![0; random.usize(..3)].into() };
    let (group, fence) = (["g", "h"][random.usize(0..2)].into(), Fence::Open);
    let owner = ["", "o", "p"][random.usize(0..3)].into();
    Control::CommitOffset { group, partition, committed, owner, producer: None, fence }
}

/// Stores the next version of a group's members, or one that doesn't follow.
fn store(state: &State, random: &mut fastrand::Rng) -> Control {
    let group: Arc<str> = ["g", "h"][random.usize(0..2)].into();
    let version = state.groups().version(&group) + random.u64(1..8) / 7 + 1;
    let after = state.groups().get(&group).map_or(0, |found| found.stamp);
    let (members, stamp) = (random.u32(0..2), random.u64(1..));
    Control::StoreGroup { group, version, after, stamp, members, state: vec![1; random.usize(..5)].into() }
}

/// A member commits, and another version of the group is stored before: the commit has no effect.
#[test]
fn a_commit_counts_in_the_version_of_the_group_that_allowed_it_and_in_no_other() {
    let late = |rules| {
        let mut state = state();
        let group: Arc<str> = "g".into();
        let store = |version, after, stamp, members| {
            let state = [][..].into();
            Control::StoreGroup { group: group.clone(), version, after, stamp, members, state }
        };
        let commit = |fence| {
            let committed = Committed { offset: 5, metadata: [][..].into() };
            let (group, owner) = (group.clone(), "".into());
            Control::CommitOffset { group, partition: ONE, committed, owner, producer: None, fence }
        };
        observe(&mut state, &[store(1, 0, 11, 1), commit(Fence::At(11)), store(2, 11, 12, 1)], &[]).unwrap();
        let before = state.clone();
        let applied = [Fence::At(11), Fence::NoMembers].map(|fence| state.apply(&commit(fence), rules).map(drop));
        let forget = Control::ForgetOffset { group: group.clone(), partition: None, fence: Fence::NoMembers };
        if applied[0].is_err() {
            assert_eq!(state.apply(&forget, rules), Err(Refused::Members { members: 1 }));
            assert_eq!(state, before);
            assert!(state.apply(&commit(Fence::At(12)), rules).is_ok());
            state.apply(&store(3, 12, 13, 0), rules).unwrap();
            assert!(state.apply(&commit(Fence::NoMembers), rules).is_ok());
            assert!(state.apply(&forget, rules).is_ok());
            assert_eq!((state.offsets().groups().count(), state.groups().get("g")), (0, None));
            assert_eq!(state.groups().version("g"), 3);
            assert_eq!(state.apply(&forget, rules), Err(Refused::NoCommitted));
        }
        applied
    };
    let refused = [Err(Refused::GroupChanged { version: 2 }), Err(Refused::Members { members: 1 })];
    assert_eq!(late(Rules::default()), refused);
    assert_eq!(late(Rules { broken: Some(Broken::GroupFences) }), [Ok(()); 2]);
}

fn open_producer(name: Arc<str>) -> Control {
    Control::OpenProducer { name, id: 0, epoch: 0, timeout_ms: 0, owner: "o".into(), from: None, ends: 0 }
}

/// Makes a random change if it is possible.
fn change(state: &mut State, random: &mut fastrand::Rng) -> Option<Undo> {
    let topic = random.u64(1..5);
    let partition = PartitionId { topic, number: random.u32(0..3) };
    let open = state.merges().open().unwrap_or(random.u64(0..3));
    let control = match random.u8(0..20) {
        17..20 => store(state, random),
        13..16 => commit(random, partition),
        16 => {
            let partition = random.bool().then_some(partition);
            Control::ForgetOffset { group: ["g", "h"][random.usize(0..2)].into(), partition, fence: Fence::NoMembers }
        }
        10 => return Some(state.advance(random.u64(0..20 * AGE_STEP_MAX_US))),
        11 | 12 => {
            let name = ["p", "q", "r"][random.usize(0..3)].into();
            state.record(open_producer(name))
        }
        8 => state.record(Control::BeginMerge { merge: 0 }),
        9 => Control::AbandonMerge { merge: open },
        0 => state.record(create(0, ["one", "two", "three"][random.usize(0..3)])),
        1 => Control::Alter { topic, partitions: random.u32(1..4), settings: [random.u8(..)].into() },
        2 => Control::Delete { topic },
        3 => Control::Trim { partition, first_offset: random.u64(0..30) },
        _ => {
            let (records, first_offset) = (random.u32(1..10), state.next_offset(partition));
            let id = random.u64(0..4) + if random.bool() { NAMED_IDS.start } else { 0 };
            let producer = Producer { id, epoch: 0, sequence: first_offset, wraps: false };
            let producer = random.bool().then_some(producer);
            let is_possible = state.judge(partition, of(records), None, Rules::default()) == Verdict::New;
            return is_possible.then(|| state.add(&Entry { producer, ..entry(partition, first_offset, records) }));
        }
    };
    state.apply(&control, Rules::default()).ok()
}

#[test]
fn what_is_taken_back_has_never_been() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut taken_back = 0;
    for round in 0..2_000 {
        let mut state = State::default();
        for _ in 0..random.usize(0..20) {
            change(&mut state, &mut random);
        }
        let kept = state.clone();
        let undo: Vec<_> = (0..20).filter_map(|_| change(&mut state, &mut random)).collect();
        taken_back += undo.len();
        for undo in undo.into_iter().rev() {
            state.undo(undo);
        }
        assert_eq!(state, kept, "round {round}");
    }
    assert!(taken_back > 5_000, "only {taken_back} changes were possible");
}

#[test]
fn a_merge_ends_once_and_what_was_deleted_meanwhile_does_not_matter() {
    let mut state = state();
    let begin = Control::BeginMerge { merge: 0 };
    let begun = state.record(begin.clone());
    assert_eq!(begun, Control::BeginMerge { merge: 1 });
    observe(&mut state, &[begun], &[]).unwrap();
    let open = Refused::MergeOpen { merge: 1 };
    assert_eq!(state.apply(&state.record(begin), Rules::default()), Err(open));
    let merged = |topic, next_offset| {
        let (source, object_bytes) = (crate::place::Source::Merged(1), 300);
        let place = crate::place::Place {
            source,
            tag: 1,
            object_bytes,
            entries_at: 104,
            batches: crate::place::BatchCount::from_bits(1),
            batches_at: 144,
            bytes: 72,
        };
        let piece = crate::place::Piece { first_offset: 0, appended_us: 7, newest_us: 7, place };
        let partition = PartitionId { topic, number: 0 };
        Control::EndMerge { merge: 1, pieces: [MergedPiece { partition, piece, next_offset }].into() }
    };
    let after_end = Refused::AfterEnd { found: 11, next_offset: 10 };
    assert_eq!(state.apply(&merged(1, 11), Rules::default()), Err(after_end));
    let mut other = state.clone();
    observe(&mut state, &[merged(1, 10)], &[]).unwrap();
    let closed = Refused::MergeClosed { merge: 1 };
    assert_eq!(state.apply(&merged(1, 10), Rules::default()), Err(closed));
    let before = *other.merges();
    let of_a_deleted_topic = other.apply(&merged(9, 11), Rules::default());
    assert_eq!(of_a_deleted_topic, Ok(Undo::Merges { before }));
    let wrong = observe(&mut other, &[Control::AbandonMerge { merge: 1 }], &[]).unwrap_err().what;
    assert_eq!(wrong, Wrong::Control(closed), "what has ended can't be abandoned");
}

/// An object at a time.
fn observe_at(state: &mut State, appended_us: u64, controls: &[Control], entries: &[Entry]) {
    let number = state.chain().next();
    let link = Link { number, id: Id { run: 1, commit: number }, prev: state.chain().last(), in_flight: 0 };
    let changes = Changes { appended_us, controls: controls.into(), entries: entries.into() };
    assert_eq!(state.observe(link, &changes), Ok(true));
}

#[test]
fn an_instance_is_fenced_in_partitions_where_its_successor_has_not_appended() {
    let mut state = state();
    let open = |state: &State| state.record(open_producer("orders".into()));
    let (first, id) = (open(&state), NAMED_IDS.start);
    assert_eq!(
        first,
        Control::OpenProducer {
            name: "orders".into(),
            id,
            epoch: 0,
            timeout_ms: 0,
            owner: "o".into(),
            from: None,
            ends: 0
        }
    );
    let producer = |epoch, sequence| Some(Producer { id, epoch, sequence, wraps: false });
    let judge = |state: &State, epoch, sequence| state.judge(ONE, of(1), producer(epoch, sequence), Rules::default());
    let not_open = |found| Verdict::Rejected(Rejected::NotOpen { id, found });
    assert_eq!(judge(&state, 0, 0), not_open(0), "an id that no name has yet");
    let appended = Entry { producer: producer(0, 0), ..entry(ONE, 10, 1) };
    observe_at(&mut state, 1, &[first], &[appended]);
    assert_eq!(judge(&state, 0, 1), Verdict::New);
    assert_eq!(judge(&state, 1, 0), not_open(1));
    let second = open(&state);
    observe_at(&mut state, 2, &[second], &[]);
    let fenced = Verdict::Rejected(Rejected::Fenced { current: 1, found: 0 });
    assert_eq!(judge(&state, 0, 1), fenced);
    assert_eq!(judge(&state, 0, 0), fenced, "the retry of an append that is stored");
    let elsewhere = PartitionId { topic: 1, number: 1 };
    assert_eq!(state.judge(elsewhere, of(1), producer(0, 0), Rules::default()), fenced);
    assert_eq!((judge(&state, 1, 0), judge(&state.without_names(), 0, 1)), (Verdict::New, not_open(0)));
}

#[test]
fn age_comes_from_the_objects_and_never_goes_back() {
    let mut state = state();
    let producer = |sequence| Some(Producer { id: 7, epoch: 0, sequence, wraps: false });
    observe_at(&mut state, 1_000, &[], &[Entry { producer: producer(0), ..entry(ONE, 10, 1) }]);
    observe_at(&mut state, 500, &[], &[]);
    let gap = Verdict::Rejected(Rejected::Gap { expected: 1, found: 5 });
    assert_eq!((state.times.newest_us(), state.times.age_us()), (500, 1_001));
    assert_eq!(state.judge(ONE, of(1), producer(5), Rules::default()), gap);
    for day in 1..=7 {
        observe_at(&mut state, 499 + day * AGE_STEP_MAX_US, &[], &[]);
    }
    assert_eq!(state.judge(ONE, of(1), producer(5), Rules::default()), gap);
    observe_at(&mut state, 500 + 7 * AGE_STEP_MAX_US, &[], &[]);
    assert_eq!(state.judge(ONE, of(1), producer(5), Rules::default()), Verdict::Unknown);
}

/// Long after the epoch.
const NOW_US: u64 = 20_000 * AGE_STEP_MAX_US;

/// A random object that is possible in this state.
fn object(state: &State, random: &mut fastrand::Rng) -> Changes {
    // Some clocks are ahead by days, one by years, and later objects have earlier times.
    let newest_us = state.times.newest_us();
    let appended_us = match random.u8(0..16) {
        0..3 => newest_us + random.u64(1..4) * AGE_STEP_MAX_US,
        3 => newest_us + 3650 * AGE_STEP_MAX_US,
        4 => newest_us - random.u64(0..5) * AGE_STEP_MAX_US,
        5 => NOW_US,
        _ => newest_us + random.u64(0..2),
    };
    let (mut controls, mut entries, mut offset) = (Vec::new(), Vec::new(), state.next_offset(ONE));
    if random.u8(0..4) == 0 {
        let name = ["p", "q"][random.usize(0..2)].into();
        controls.push(state.record(open_producer(name)));
    }
    if random.bool() {
        let partition = PartitionId { topic: 1, number: random.u32(0..2) };
        controls.push(commit(random, partition));
    }
    for _ in 0..random.usize(0..3) {
        let (id, sequence) = (random.u64(0..6), random.u64(0..100));
        entries
            .push(Entry { producer: Some(Producer { id, epoch: 0, sequence, wraps: false }), ..entry(ONE, offset, 2) });
        offset += 2;
    }
    Changes { appended_us, controls: controls.into(), entries: entries.into() }
}

#[test]
fn every_observer_forgets_the_same() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut forgotten = 0;
    for round in 0..200 {
        let mut plain = state();
        plain.advance(NOW_US);
        // One frees memory now and then, one begins at snapshots.
        let (mut tidy, mut fresh) = (plain.clone(), plain.clone());
        for number in 2..60 {
            let link = Link { number, id: Id { run: 1, commit: number }, prev: plain.chain().last(), in_flight: 0 };
            let changes = object(&plain, &mut random);
            for observer in [&mut plain, &mut tidy, &mut fresh] {
                assert_eq!(observer.observe(link, &changes), Ok(true), "round {round}, object {number}");
            }
            if random.bool() {
                assert_eq!(tidy.forget_old(tidy.times.age_us(), ONE), None);
            }
            if random.u8(0..5) == 0 {
                let snapshot = crate::build_snapshot(&tidy, &std::collections::BTreeMap::new());
                fresh = crate::Snapshot::parse(&snapshot).unwrap().state;
            }
            for _ in 0..20 {
                let (id, sequence) = (random.u64(0..6), random.u64(0..100));
                let judge = |state: &State| {
                    state.judge(ONE, of(2), Some(Producer { id, epoch: 0, sequence, wraps: false }), Rules::default())
                };
                assert_eq!([judge(&tidy), judge(&fresh)], [judge(&plain); 2], "round {round}, object {number}");
            }
            assert_eq!((&tidy.names, &tidy.offsets), (&plain.names, &plain.offsets));
            // An observer that began at a snapshot counts the age from elsewhere, and stores the same.
            let stored = |state: &State| {
                crate::build_snapshot(&state.clone().without_producers(), &std::collections::BTreeMap::new())
            };
            assert_eq!(stored(&fresh), stored(&plain), "round {round}, object {number}");
            let kept = |state: &State| state.partitions.values().map(|partition| partition.producers().0.len()).sum();
            let (kept, all): (usize, usize) = (kept(&tidy), kept(&plain));
            forgotten += all - kept;
        }
    }
    assert!(forgotten > 500, "only {forgotten} producers were too old");
}
