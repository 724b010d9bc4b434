//! Series: one id for one set of tags, however it is written.

// A test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod encoded;

use encoded::{identity, long, string};
use rawline_avro::FaultKind;
use rawline_series::{InternerLimits, Mark, Scratch, SeriesError, SeriesLimits, SeriesTable, SnapshotError, TAGS_MAX};

const SEED: u64 = 7;

fn table(series_max: u32) -> SeriesTable {
    SeriesTable::new(SeriesLimits::for_series(series_max), SEED).unwrap()
}

fn intern(table: &SeriesTable, encoded: &[u8]) -> Result<u32, SeriesError> {
    table.intern_encoded(encoded, &mut Scratch::default())
}

#[test]
fn tags_in_any_order_are_one_series() {
    let table = table(100);
    let tags = [("server", "sgp-1"), ("dc", "sgp"), ("zone", "a")];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        for _ in 0..2 {
            assert_eq!(intern(&table, &identity("cpu", &order.map(|n| tags[n]))), Ok(0));
        }
    }
    assert_eq!(table.aliases_len(), 6);
    assert_eq!(table.intern("cpu", tags), Ok(0));
    let series = table.get(0).unwrap();
    assert_eq!(series.metric(), "cpu");
    assert_eq!(series.tags().collect::<Vec<_>>(), [("dc", "sgp"), ("server", "sgp-1"), ("zone", "a")]);
    assert_eq!((series.tag("zone"), series.tag("rack")), (Some("a"), None));
    assert!(table.get(1).is_none());
}

#[test]
fn what_differs_is_another_series() {
    let table = table(100);
    let all: [(&str, &[(&str, &str)]); 7] = [
        ("cpu", &[]),
        ("cpu", &[("a", "b")]),
        ("cpu", &[("b", "a")]),
        ("cp", &[("a", "b")]),
        ("cpu", &[("a", "b"), ("c", "d")]),
        ("cpu", &[("a", "d"), ("c", "b")]),
        ("", &[("", "")]),
    ];
    for _ in 0..2 {
        for (id, (metric, tags)) in all.iter().enumerate() {
            assert_eq!(intern(&table, &identity(metric, tags)), Ok(id as u32));
        }
    }
    assert_eq!(table.iter_since(5).map(|series| series.id()).collect::<Vec<_>>(), [5, 6]);
}

#[test]
fn every_legal_encoding_of_the_tags_is_the_same_series() {
    let table = table(100);
    let (a, b) = ([string("a"), string("1")].concat(), [string("b"), string("2")].concat());
    let size = |bytes: &[u8]| long(bytes.len() as i64);
    let encodings = [
        [string("m"), long(2), a.clone(), b.clone(), long(0)].concat(),
        // Two blocks.
        [string("m"), long(1), a.clone(), long(1), b.clone(), long(0)].concat(),
        // A negative count has the block's size after it.
        [string("m"), long(-2), long((a.len() + b.len()) as i64), b.clone(), a.clone(), long(0)].concat(),
        [string("m"), long(-1), size(&b), b.clone(), long(1), a.clone(), long(0)].concat(),
        // A count and a closing zero longer than needed.
        [string("m"), vec![0x84, 0x00], a.clone(), b.clone(), vec![0x80, 0x00]].concat(),
    ];
    for encoded in &encodings {
        assert_eq!(intern(&table, encoded), Ok(0));
    }
    assert_eq!(table.aliases_len(), encodings.len() as u32);
}

#[test]
fn of_a_repeated_key_the_last_value_counts() {
    let table = table(100);
    assert_eq!(intern(&table, &identity("m", &[("a", "3"), ("b", "2")])), Ok(0));
    assert_eq!(intern(&table, &identity("m", &[("a", "1"), ("b", "2"), ("a", "2"), ("a", "3")])), Ok(0));
    assert_eq!(table.intern("m", [("a", "9"), ("b", "2"), ("a", "3")]), Ok(0));
    let many: Vec<_> = (0..TAGS_MAX).map(|n| if n == TAGS_MAX - 1 { ("a", "3") } else { ("a", "x") }).collect();
    assert_eq!(intern(&table, &identity("m", &many)), table.intern("m", [("a", "3")]));
}

#[test]
#[cfg_attr(miri, ignore)] // Too slow there, and no other memory is touched.
fn bad_bytes_are_named_and_leave_nothing() {
    let table = table(100);
    let tag = [string("a"), string("1")].concat();
    let cases: [(Vec<u8>, &str, FaultKind, usize); 9] = [
        (vec![], "metric", FaultKind::Truncated, 0),
        (long(-1), "metric", FaultKind::Length, 0),
        (vec![4, 0xff, 0xfe], "metric", FaultKind::Utf8, 0),
        (string("m"), "tags", FaultKind::Truncated, 2),
        ([string("m"), long(1), string("a"), vec![2, 0xff]].concat(), "tags", FaultKind::Utf8, 5),
        ([string("m"), long(2), tag.clone(), long(0)].concat(), "tags", FaultKind::Truncated, 8),
        // A block whose size is not what its tags take.
        ([string("m"), long(-1), long(3), tag.clone(), long(0)].concat(), "tags", FaultKind::Length, 2),
        ([identity("m", &[("a", "1")]), long(0)].concat(), "tags", FaultKind::Remainder, 8),
        ([string("m"), long(i64::MAX), [0; 1000].to_vec()].concat(), "tags", FaultKind::Elements, 524),
    ];
    for (bytes, field, kind, position) in cases {
        match intern(&table, &bytes) {
            Err(SeriesError::Bad { field: found, fault }) => {
                assert_eq!((found, fault.kind, fault.position), (field, kind, position), "{bytes:02x?}");
            }
            other => panic!("{other:?} for {bytes:02x?}"),
        }
    }
    assert_eq!((table.len(), table.aliases_len(), table.strings().len()), (0, 0, 0));
}

#[test]
#[cfg_attr(miri, ignore)] // Too slow there, and no other memory is touched.
fn a_full_table_answers_so_and_knows_what_it_knew() {
    let table = table(10);
    for n in 0..10 {
        assert_eq!(intern(&table, &identity("m", &[("n", &n.to_string())])), Ok(n));
    }
    let strings = table.strings().len();
    for n in 10..1000 {
        assert_eq!(intern(&table, &identity("m", &[("n", &n.to_string())])), Err(SeriesError::Full));
    }
    assert_eq!(table.strings().len(), strings, "strings of series that have no room are not kept");
    for n in 0..10 {
        let value = n.to_string();
        assert_eq!(intern(&table, &identity("m", &[("n", &value)])), Ok(n));
        // A new encoding of a known series.
        assert_eq!(intern(&table, &identity("m", &[("n", "x"), ("n", &value)])), Ok(n));
    }
}

#[test]
fn a_full_table_of_aliases_costs_no_message() {
    let limits = SeriesLimits { aliases_max: 3, ..SeriesLimits::for_series(10) };
    let table = SeriesTable::new(limits, SEED).unwrap();
    for _ in 0..2 {
        for n in 0..10 {
            assert_eq!(intern(&table, &identity("m", &[("n", &n.to_string())])), Ok(n));
        }
    }
    assert_eq!(table.aliases_len(), 3);
}

#[test]
fn full_of_strings_is_an_answer() {
    let strings = InternerLimits { strings_max: 3, bytes_max: 1000 };
    let table = SeriesTable::new(SeriesLimits { strings, ..SeriesLimits::for_series(10) }, SEED).unwrap();
    assert_eq!(intern(&table, &identity("m", &[("a", "1")])), Ok(0));
    assert_eq!(intern(&table, &identity("m", &[("a", "2")])), Err(SeriesError::Full));
    assert_eq!(intern(&table, &identity("m", &[("1", "a")])), Ok(1));
}

#[test]
fn all_threads_agree() {
    let count = if cfg!(miri) { 10 } else { 5000 };
    let table = table(count);
    let all: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..4)
            .map(|thread| {
                let table = &table;
                scope.spawn(move || {
                    let mut ids = vec![0; count as usize];
                    for step in 0..count {
                        let n = (step + thread * count / 4) % count;
                        let (one, two) = (format!("one {n}"), format!("two {}", n % 7));
                        let tags = [("a", one.as_str()), ("b", two.as_str())];
                        let tags = if thread % 2 == 0 { tags } else { [tags[1], tags[0]] };
                        ids[n as usize] = intern(table, &identity("m", &tags)).unwrap();
                    }
                    ids
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|ids| *ids == all[0]));
    assert_eq!(table.len(), count);
    for (n, id) in all[0].iter().enumerate() {
        assert_eq!(table.get(*id).unwrap().tag("a"), Some(format!("one {n}").as_str()));
    }
}

#[test]
#[cfg_attr(miri, ignore)] // Too slow there, and no other memory is touched.
fn a_snapshot_and_later_series_load_with_the_same_ids() {
    let limits = SeriesLimits::for_series(5000);
    let table = SeriesTable::new(limits, SEED).unwrap();
    let mut saved = Vec::new();
    let mut mark = Mark::default();
    for end in [0, 1, 100, 3000] {
        while table.len() < end {
            let n = table.len();
            table.intern("m", [("z", n.to_string().as_str()), ("a", (n % 10).to_string().as_str())]).unwrap();
        }
        mark = table.save_since(mark, &mut saved).unwrap();
        assert_eq!(mark, table.mark());
    }
    let loaded = SeriesTable::load(limits, SEED + 1, &mut saved.as_slice()).unwrap();
    assert_eq!((loaded.len(), loaded.mark()), (3000, mark));
    for (a, b) in table.iter_since(0).zip(loaded.iter_since(0)) {
        assert_eq!((a.id(), a.metric()), (b.id(), b.metric()));
        assert!(a.tags().eq(b.tags()));
    }
    assert_eq!(intern(&loaded, &identity("m", &[("z", "17"), ("a", "7")])), Ok(17));
    for at in (0..saved.len()).step_by(saved.len() / 500) {
        let mut damaged = saved.clone();
        damaged[at] ^= 0x10;
        let error = SeriesTable::load(SeriesLimits::for_series(3000), SEED, &mut damaged.as_slice()).unwrap_err();
        assert!(matches!(error, SnapshotError::Corrupt { .. } | SnapshotError::Version { .. }), "byte {at}: {error}");
    }
    assert!(matches!(
        SeriesTable::load(SeriesLimits::for_series(2999), SEED, &mut saved.as_slice()),
        Err(SnapshotError::Full)
    ));
}
