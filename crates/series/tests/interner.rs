//! The interner: same bytes, same id; limits that answer; ids that outlive a restart.

// A test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use rawline_series::{InternError, Interner, InternerLimits, STRING_BYTES_MAX, SnapshotError};

const SEED: u64 = 7;

fn interner(strings_max: u32, bytes_max: usize) -> Interner {
    Interner::new(InternerLimits { strings_max, bytes_max }, SEED).unwrap()
}

#[test]
fn ids_are_dense_and_stay() {
    let interner = interner(100, 10_000);
    let words = ["", "a", "b", "metric.name", "a\0", "ä", &"long".repeat(50)];
    for _ in 0..3 {
        for (id, word) in words.iter().enumerate() {
            assert_eq!(interner.intern(word.as_bytes()), Ok(id as u32));
            assert_eq!(interner.find(word.as_bytes()), Some(id as u32));
            assert_eq!(interner.get(id as u32), Some(*word));
        }
    }
    assert_eq!(interner.len(), words.len() as u32);
    assert_eq!(interner.get(words.len() as u32), None);
    assert_eq!(interner.get(u32::MAX), None);
    assert_eq!(interner.find(b"unknown"), None);
    assert_eq!(interner.iter_since(5).collect::<Vec<_>>(), [(5, "ä"), (6, words[6])]);
}

#[test]
fn a_string_that_is_not_utf8_leaves_nothing() {
    let interner = interner(4, 1000);
    assert_eq!(interner.intern(b"\xff"), Err(InternError::Utf8));
    assert_eq!(interner.intern(&vec![b'x'; STRING_BYTES_MAX + 1]), Err(InternError::TooLong));
    assert_eq!((interner.len(), interner.find(b"\xff")), (0, None));
}

#[test]
fn full_of_strings_is_an_answer_and_known_strings_resolve() {
    let interner = interner(50, 100_000);
    for n in 0..50 {
        assert_eq!(interner.intern(format!("s{n}").as_bytes()), Ok(n));
    }
    for n in 50..500 {
        assert_eq!(interner.intern(format!("s{n}").as_bytes()), Err(InternError::Full));
    }
    for n in 0..50 {
        assert_eq!(interner.intern(format!("s{n}").as_bytes()), Ok(n));
        assert_eq!(interner.get(n), Some(format!("s{n}").as_str()));
    }
    assert_eq!(interner.len(), 50);
}

#[test]
fn full_of_bytes_is_an_answer_and_a_shorter_string_may_still_fit() {
    let interner = interner(1000, 64);
    assert_eq!(interner.intern(&[b'a'; 32]), Ok(0));
    assert_eq!(interner.intern(&[b'b'; 32]), Err(InternError::Full));
    assert_eq!(interner.intern(b"c"), Ok(1));
    assert_eq!(interner.intern(b"d"), Err(InternError::Full));
    assert_eq!(interner.find(&[b'b'; 32]), None);
    assert_eq!(interner.intern(&[b'a'; 32]), Ok(0));
    assert!(interner.bytes_used() <= 64 + 8);
}

#[test]
fn limits_that_cannot_be_met_are_refused() {
    for (strings_max, bytes_max) in [(0, 10), (u32::MAX, 10), (10, usize::MAX), (10, 33 << 30)] {
        assert!(Interner::new(InternerLimits { strings_max, bytes_max }, SEED).is_err());
    }
}

/// Every thread interns every string, each in its own order; in the end all have the same ids.
#[test]
fn a_million_strings_have_one_id_on_all_cores() {
    let count: u32 = if cfg!(miri) { 60 } else { 1_000_000 };
    let threads = thread::available_parallelism().map_or(4, usize::from).clamp(2, 8) as u32;
    let interner = Arc::new(interner(count, count as usize * 24));
    let all: Vec<Vec<u32>> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let interner = Arc::clone(&interner);
                scope.spawn(move || {
                    let mut ids = vec![u32::MAX; count as usize];
                    let begin = count / threads * thread;
                    for step in 0..count {
                        let n = (begin + step) % count;
                        let id = interner.intern(&name(n)).unwrap();
                        ids[n as usize] = id;
                        if step % 64 == 0 {
                            assert_eq!(interner.get(id).unwrap().as_bytes(), name(n));
                        }
                    }
                    ids
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for ids in &all {
        assert!(ids == &all[0]);
    }
    let mut seen = vec![false; count as usize];
    for (n, id) in all[0].iter().enumerate() {
        assert!(!std::mem::replace(&mut seen[*id as usize], true));
        assert_eq!(interner.get(*id).unwrap().as_bytes(), name(n as u32));
    }
    assert_eq!(interner.len(), count);
    assert_eq!(interner.intern(b"one more"), Err(InternError::Full));
}

fn name(n: u32) -> [u8; 9] {
    let mut name = *b"s00000000";
    for (i, byte) in name[1..].iter_mut().enumerate() {
        *byte = b"0123456789abcdef"[(n >> (4 * i)) as usize & 15];
    }
    name
}

/// While one thread fills the table to its end and beyond, others read what is there.
#[test]
fn readers_see_whole_strings_while_the_table_fills() {
    let count = if cfg!(miri) { 40 } else { 20_000 };
    let interner = interner(count, 1 << 24);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..count + 100 {
                let _ = interner.intern(format!("{n}:{n}:{n}").as_bytes());
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while interner.len() < count {
                    let held = interner.len();
                    if let Some(id) = held.checked_sub(1) {
                        assert_eq!(interner.get(id), Some(format!("{id}:{id}:{id}").as_str()));
                        if held < count {
                            assert_eq!(interner.intern(format!("{id}:{id}:{id}").as_bytes()), Ok(id));
                        }
                    }
                    thread::yield_now();
                }
            });
        }
    });
}

#[test]
#[cfg_attr(miri, ignore)] // Too slow there, and no other memory is touched.
fn a_snapshot_and_later_series_load_with_the_same_ids() {
    let limits = InternerLimits { strings_max: 50_000, bytes_max: 8 << 20 };
    let interner = Interner::new(limits, SEED).unwrap();
    let mut saved = Vec::new();
    let mut mark = 0;
    // The last step is larger than a segment.
    for end in [0, 1, 10, 10, 1000, 30_000] {
        while interner.len() < end {
            interner.intern(format!("string {} {}", interner.len(), "x".repeat(40)).as_bytes()).unwrap();
        }
        mark = interner.save_since(mark, &mut saved).unwrap();
        assert_eq!(mark, end);
    }
    let loaded = Interner::load(limits, SEED + 1, &mut saved.as_slice()).unwrap();
    assert!(loaded.iter_since(0).eq(interner.iter_since(0)));
    assert_eq!(loaded.intern(b"new"), Ok(30_000));
}

#[test]
#[cfg_attr(miri, ignore)] // Too slow there, and no other memory is touched.
fn a_damaged_snapshot_is_refused_wherever_the_damage_is() {
    let limits = InternerLimits { strings_max: 10, bytes_max: 1000 };
    let interner = Interner::new(limits, SEED).unwrap();
    let mut saved = Vec::new();
    for word in ["eins", "zwei", ""] {
        interner.intern(word.as_bytes()).unwrap();
        let mark = interner.len() - 1;
        interner.save_since(mark, &mut saved).unwrap();
    }
    let load = |bytes: &[u8]| Interner::load(limits, SEED, &mut &*bytes);
    let words: HashMap<u32, String> =
        load(&saved).unwrap().iter_since(0).map(|(id, word)| (id, word.to_owned())).collect();
    assert_eq!(words.len(), 3);
    for at in 0..saved.len() {
        for bit in 0..8 {
            let mut damaged = saved.clone();
            damaged[at] ^= 1 << bit;
            assert!(
                matches!(load(&damaged), Err(SnapshotError::Corrupt { .. } | SnapshotError::Version { .. })),
                "byte {at}, bit {bit}"
            );
        }
    }
    let mut whole = 0;
    for length in 0..saved.len() {
        match load(&saved[..length]) {
            Ok(_) => whole = length as u64,
            // The segments before the damaged one are intact.
            Err(SnapshotError::Corrupt { position, .. }) => assert_eq!(position, whole),
            Err(error) => panic!("{error}"),
        }
    }
    let small = InternerLimits { strings_max: 2, bytes_max: 1000 };
    assert!(matches!(Interner::load(small, SEED, &mut saved.as_slice()), Err(SnapshotError::Full)));
    let twice = [saved.clone(), saved.clone()].concat();
    assert!(matches!(load(&twice), Err(SnapshotError::Corrupt { .. })));
}
