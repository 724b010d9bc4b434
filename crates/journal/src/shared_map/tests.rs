//! Maps of any history are those of the standard library, and so are their clones, which cost nothing.

use super::*;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Compares a map with its model.
fn check(map: &SharedMap<u16, u32>, model: &BTreeMap<u16, u32>, probe: u16) {
    assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
    assert!(map.iter().eq(model.iter()), "{map:?} is not {model:?}");
    assert!(map.range_from(&probe).eq(model.range(probe..)), "from {probe}");
    assert_eq!((map.get(&probe), map.contains_key(&probe)), (model.get(&probe), model.contains_key(&probe)));
    assert_eq!((map.first_key_value(), map.last_key_value()), (model.first_key_value(), model.last_key_value()));
    assert_eq!(*map, model.iter().map(|(key, value)| (*key, *value)).collect());
}

#[test]
fn changes_of_a_map_change_no_clone() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut map, mut model, mut clones) = (SharedMap::new(), BTreeMap::new(), Vec::new());
        let (keys, ascends, removes) = (random.u16(1..5_000), random.bool(), random.u8(0..7));
        for step in 0..4_000_u32 {
            let key = if ascends && step < 2_000 { step as u16 } else { random.u16(0..keys) };
            match random.u8(0..10) {
                n if n < removes => assert_eq!(map.remove_entry(&key), model.remove_entry(&key)),
                7 => {
                    *map.or_insert_with(key, || 7) += 1;
                    *model.entry(key).or_insert(7) += 1;
                }
                8 => {
                    assert_eq!(map.get_mut(&key).map(|value| *value += 1), model.get_mut(&key).map(|value| *value += 1))
                }
                _ => assert_eq!(map.insert(key, step), model.insert(key, step)),
            }
            if random.u16(0..400) == 0 {
                clones.push((map.clone(), model.clone()));
            }
        }
        clones.push((map, model));
        clones.iter().for_each(|(map, model)| check(map, model, random.u16(0..keys)));
        // The last key first, and each exactly once.
        let (mut map, model) = clones.pop().unwrap();
        for key in model.keys().rev() {
            assert_eq!(map.remove(key), model.get(key).copied());
            assert_eq!(map.remove(key), None);
        }
        assert_eq!(map, SharedMap::new());
        assert!(map.root.is_none());
        clones.iter().for_each(|(map, model)| check(map, model, 0));
    }
}

thread_local! {
    static COPIES: Cell<usize> = const { Cell::new(0) };
}

/// Counts its copies.
struct Counted;

impl Clone for Counted {
    fn clone(&self) -> Self {
        COPIES.set(COPIES.get() + 1);
        Counted
    }
}

#[test]
fn a_clone_copies_nothing_and_a_change_after_it_a_node_however_many_entries_there_are() {
    for count in [1_000, 200_000] {
        let mut map: SharedMap<u32, Counted> = (0..count).map(|key| (key, Counted)).collect();
        COPIES.set(0);
        let before = map.clone();
        assert_eq!(COPIES.get(), 0, "{count} entries");
        map.insert(count / 2, Counted);
        let copied = COPIES.get();
        assert!((1..=NODE_MAX).contains(&copied), "{copied} of {count} entries");
        map.insert(count / 2, Counted);
        assert_eq!(COPIES.get(), copied, "the node is the map's own by now");
        drop(before);
        map.insert(0, Counted);
        assert_eq!(COPIES.get(), copied, "and so are all others without the clone");
    }
}

#[test]
fn keys_that_ascend_fill_their_nodes() {
    let map: SharedMap<u32, ()> = (0..1_000).map(|key| (key, ())).collect();
    let Some(Node::Inner(children)) = &map.root else { panic!("one node has {} entries", map.len()) };
    assert_eq!(children.len(), 1_000_usize.div_ceil(NODE_MAX));
}
