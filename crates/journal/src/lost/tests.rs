//! Replacements of lost objects, and the effect of the objects after them.

use super::*;
use crate::chain::Chain;
use crate::limits::PUTS_IN_FLIGHT_MAX;

const PARTITION: PartitionId = PartitionId { topic: 1, number: 0 };

fn id(run: u64, commit: u64) -> Id {
    Id { run, commit }
}

/// An object of this many records.
fn object(link: Link, first_offset: u64, records: u32) -> Index {
    let batch = Batch { records, ..lost_batches(&(0..1))[0] };
    let section = Section { partition: PARTITION, first_offset };
    let mut bytes = build_index(link, link.number, &[], &[(section, &[batch])]);
    bytes.resize(bytes.len() + LOST_BYTES as usize, 0);
    Index::parse(&bytes).unwrap()
}

/// The state after an object that creates a topic.
fn created() -> State {
    let link = Link { number: 1, id: id(1, 1), prev: Id::ROOT, in_flight: 0 };
    let control = Control::Create { topic: 1, name: "t".into(), partitions: 1, settings: [].into() };
    let mut state = State::default();
    let index = Index::parse(&build_index(link, 1, &[control], &[])).unwrap();
    assert_eq!(state.observe(link, &index.changes()), Ok(true));
    state
}

/// Puts objects in the place of the lost ones, and returns where the partition ends after all.
fn follow(lost: &[u64], later: &[Index]) -> u64 {
    let mut state = created();
    let later: BTreeMap<u64, &Index> = later.iter().map(|index| (index.header.link.number, index)).collect();
    let replaced = Lost::between(state.chain().last(), state.times().newest_us(), &state, lost, &later);
    let end = *later.keys().next_back().unwrap();
    for number in state.chain().next()..=end {
        let index = replaced.object(number, &state).map_or_else(|| later[&number].clone(), |(index, _)| index);
        assert_eq!(index.header.link.number, number);
        state.observe(index.header.link, &index.changes()).unwrap();
    }
    assert_eq!(*state.chain(), Chain::after(end + 1, state.chain().last()).unwrap());
    state.next_offset(PARTITION)
}

#[test]
fn later_objects_keep_their_numbers_and_offsets() {
    let link = |number| Link { number, id: id(1, number), prev: id(1, number - 1), in_flight: 0 };
    assert_eq!(follow(&[2, 3], &[object(link(4), 7, 2), object(link(5), 9, 1)]), 10);
}

#[test]
fn void_objects_after_lost_ones_stay_void() {
    // A writer had three objects in flight when another took the first one's number. That one is lost.
    let void = |number| Link { number, id: id(2, number), prev: id(2, number - 1), in_flight: (number - 2) as u8 };
    let next = Link { number: 5, id: id(3, 2), prev: id(3, 1), in_flight: 0 };
    let later = [object(void(3), 100, 1), object(void(4), 101, 1), object(next, 7, 2)];
    assert_eq!(follow(&[2], &later), 9);
    assert!(usize::from(void(4).in_flight) < PUTS_IN_FLIGHT_MAX);
}

#[test]
fn void_objects_at_the_end_change_nothing() {
    let valid = |number| Link { number, id: id(1, number), prev: id(1, number - 1), in_flight: 0 };
    let void = Link { number: 4, id: id(2, 3), prev: id(2, 2), in_flight: 1 };
    assert_eq!(follow(&[2], &[object(valid(3), 5, 1), object(void, 100, 1)]), 6);
}
