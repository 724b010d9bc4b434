//! The journal's own code in simulated worlds with a disk that fails, becomes full and loses unsynced data:
//! virtual time, one thread, real files. The same seed gives the same history.
//!
//! `RAWLINE_SIM_SEEDS=FIRST..END` runs other seeds; `make sim` runs many.
#![allow(clippy::disallowed_methods)] // A test.

mod disk;
mod history;
mod image;
mod producers;
mod world;

use disk::{Lie, Seen};
use history::Violation;
use rawline_testkit::seeds::{SEEDS, find, seeds};
use world::run;

#[test]
fn nothing_acknowledged_is_lost_when_power_fails() {
    let mut all = Seen::default();
    let seeds = seeds();
    for seed in seeds.clone() {
        let told = run(seed, None);
        assert_eq!(told.violations, [], "seed {seed}:\n{}", told.trace.join("\n"));
        all.add(&told.seen);
    }
    println!("{all:?}");
    // A world in which nothing goes wrong proves nothing.
    assert!(seeds.count() < SEEDS.count() || all.is_eventful(), "too little happened: {all:?}");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in [3, 8] {
        let (one, other) = (run(seed, None), run(seed, None));
        assert!(one.trace.len() > 200, "{} events", one.trace.len());
        assert_eq!(one.trace, other.trace, "seed {seed}");
    }
    assert_ne!(run(3, None).trace, run(4, None).trace);
}

/// The disk or the reader has a bug; some seed finds it.
fn is_found(lie: Lie, expected: fn(&Violation) -> bool) {
    find(lie, |seed| run(seed, Some(lie)).violations, expected);
}

#[test]
fn a_segment_that_is_not_synced_is_found() {
    is_found(Lie::SkipSegmentSync, |violation| matches!(violation, Violation::Lost { .. }));
}

#[test]
fn a_snapshot_whose_name_is_not_synced_is_found() {
    is_found(Lie::SkipSnapshotNameSync, |violation| matches!(violation, Violation::Refused { .. }));
}

#[test]
fn a_segment_whose_name_is_not_synced_is_found() {
    is_found(Lie::SkipSegmentNameSync, |_| true);
}

#[test]
fn a_start_that_takes_a_torn_object_is_found() {
    is_found(Lie::TakeTorn, |_| true);
}

#[test]
fn an_orderly_end_without_a_snapshot_is_found() {
    is_found(Lie::ForgetEnd, |violation| matches!(violation, Violation::Lost { .. }));
}

#[test]
fn zeros_that_overwrite_objects_are_found() {
    is_found(Lie::OverwriteObjects, |_| true);
}
