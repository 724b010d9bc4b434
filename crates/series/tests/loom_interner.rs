//! Every order in which threads can meet in an interner, tried by loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p rawline-avro --test loom_interner --release`

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // A test.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use rawline_series::{InternError, Interner, InternerLimits};

fn interner(strings_max: u32, bytes_max: usize) -> Arc<Interner> {
    Arc::new(Interner::new(InternerLimits { strings_max, bytes_max }, 7).unwrap())
}

#[test]
fn the_same_string_from_two_threads_has_one_id() {
    loom::model(|| {
        let interner = interner(2, 32);
        let other = Arc::clone(&interner);
        let thread = thread::spawn(move || {
            let id = other.intern(b"a").unwrap();
            assert_eq!(other.get(id), Some("a"));
            id
        });
        let id = interner.intern(b"a").unwrap();
        assert_eq!(interner.get(id), Some("a"));
        assert!(interner.len() > id);
        assert_eq!(thread.join().unwrap(), id);
        assert_eq!(interner.len(), 1);
    });
}

#[test]
fn different_strings_from_two_threads_have_different_ids() {
    loom::model(|| {
        let interner = interner(2, 32);
        let other = Arc::clone(&interner);
        let thread = thread::spawn(move || other.intern(b"a").unwrap());
        let b = interner.intern(b"b").unwrap();
        let a = thread.join().unwrap();
        assert_eq!((a + b, interner.len()), (1, 2));
        assert_eq!((interner.get(a), interner.get(b)), (Some("a"), Some("b")));
        assert_eq!((interner.find(b"a"), interner.find(b"b")), (Some(a), Some(b)));
    });
}

/// A reader sees a string whole or not at all, by its bytes and by its id.
#[test]
fn a_reader_sees_nothing_half_inserted() {
    loom::model(|| {
        let interner = interner(2, 32);
        let by_bytes = Arc::clone(&interner);
        let by_id = Arc::clone(&interner);
        let readers = [
            thread::spawn(move || {
                if let Some(id) = by_bytes.find(b"a") {
                    assert_eq!((id, by_bytes.get(id)), (0, Some("a")));
                    assert_eq!(by_bytes.len(), 1, "an id that was given out is below the length");
                }
            }),
            thread::spawn(move || {
                for (id, text) in by_id.iter_since(0) {
                    assert_eq!((id, text), (0, "a"));
                }
            }),
        ];
        interner.intern(b"a").unwrap();
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

/// One of two threads gets the last slot; the other gets the error that it is full, and both see the same contents.
#[test]
fn the_last_place_is_given_once() {
    loom::model(|| {
        let interner = interner(1, 32);
        let other = Arc::clone(&interner);
        let thread = thread::spawn(move || other.intern(b"a"));
        let b = interner.intern(b"b");
        let a = thread.join().unwrap();
        match (a, b) {
            (Ok(0), Err(InternError::Full)) => assert_eq!(interner.get(0), Some("a")),
            (Err(InternError::Full), Ok(0)) => assert_eq!(interner.get(0), Some("b")),
            other => panic!("{other:?}"),
        }
        assert_eq!(interner.len(), 1);
    });
}
