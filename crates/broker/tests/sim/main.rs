//! The journal's driver in a simulated world: virtual time, one thread, and a store that delays, loses, throttles and
//! deletes as a seed says. The same seed gives the same history.
//!
//! `RAWLINE_SIM_SEEDS=FIRST..END` runs other seeds; `make sim` runs many.
// Helpers may fail a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod brokers;
mod clocks;
mod cluster;
mod history;
mod operator;
mod producers;
mod settings;
mod store;
mod world;

use history::Violation;
use operator::{Deed, Failure};
use rawline_testkit::seeds::{find, seeds};
use store::Lie;
use world::{World, run};

#[test]
fn nothing_acknowledged_is_lost_or_duplicated() {
    let mut seen = world::Seen::default();
    for seed in seeds() {
        let history = run(seed, None);
        assert_eq!(history.violations, [], "seed {seed}:\n{}", history.trace.join("\n"));
        seen.add(&history.seen);
    }
    println!("{seen:?}");
    // A world in which nothing goes wrong proves nothing.
    assert!(seen.is_eventful(), "too little happened: {seen:?}");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in [3, 8] {
        let (one, other) = (run(seed, None), run(seed, None));
        assert!(one.trace.len() > 500, "{} events", one.trace.len());
        assert_eq!(one.trace, other.trace, "seed {seed}");
    }
    assert_ne!(run(3, None).trace, run(4, None).trace);
}

/// The store lies in one way; some seed finds it.
fn is_found(lie: Lie, expected: fn(&Violation) -> bool) {
    find(lie, |seed| run(seed, Some(lie)).violations, expected);
}

#[test]
fn an_acknowledgement_before_the_put_is_found() {
    is_found(Lie::ConfirmFirst, |violation| matches!(violation, Violation::Lost { .. }));
}

#[test]
fn an_ignored_lost_race_is_found() {
    is_found(Lie::IgnoreRaces, |violation| matches!(violation, Violation::Lost { .. }));
}

#[test]
fn the_conflict_of_a_hedge_taken_for_a_refusal_is_found() {
    is_found(Lie::HedgeIsRefused, |violation| matches!(violation, Violation::Denied { .. }));
}

#[test]
fn a_foreign_object_taken_for_that_of_a_hedge_is_found() {
    is_found(Lie::HedgeIsStored, |violation| matches!(violation, Violation::Lost { .. }));
}

#[test]
fn a_step_over_a_hole_is_found() {
    is_found(Lie::StepOverHoles, |violation| matches!(violation, Violation::Lost { .. }));
}

#[test]
fn trust_in_the_local_clock_is_found() {
    is_found(Lie::LocalClock, |_| true);
}

/// Objects with times that the store's dates contradict.
#[test]
fn trust_in_the_brokers_clocks_is_found() {
    is_found(
        Lie::TrustClocks,
        |violation| matches!(violation, Violation::Broken { reason } if reason.contains("time")),
    );
}

#[test]
fn a_root_without_its_parts_is_found() {
    is_found(Lie::ForgetParts, |violation| matches!(violation, Violation::Stuck { .. }));
}

#[test]
fn a_sequence_dropped_from_a_snapshot_is_found() {
    is_found(Lie::ForgetProducers, |violation| matches!(violation, Violation::Duplicate { .. }));
}

#[test]
fn a_name_dropped_from_a_snapshot_is_found() {
    is_found(Lie::ForgetNames, |violation| matches!(violation, Violation::Broken { .. }));
}

#[test]
fn an_instance_dropped_from_a_snapshot_is_found() {
    is_found(Lie::ForgetInstances, |violation| matches!(violation, Violation::Unfenced { .. }));
}

#[test]
fn a_deletion_before_its_time_is_found() {
    is_found(Lie::DeleteEarly, |_| true);
}

#[test]
fn a_merge_that_ends_before_its_put_is_found() {
    is_found(Lie::ConfirmMergedFirst, |violation| matches!(violation, Violation::Disagreement { .. }));
}

#[test]
fn whatever_an_operator_does_no_loss_is_silent() {
    for deed in Deed::ALL {
        let mut lost = 0;
        for seed in seeds() {
            let (failures, has_lost) = operator::run(seed, deed, None);
            assert_eq!(failures, [], "seed {seed}, {deed:?}");
            lost += usize::from(has_lost);
        }
        // A world in which nothing is lost proves nothing.
        assert!(lost > 0, "{deed:?} has lost nothing");
    }
}

#[test]
fn a_start_that_does_not_look_beyond_the_end_is_found() {
    let run = |seed| operator::run(seed, Deed::DeleteAfterCrash, Some(Lie::NoLook)).0;
    find(Lie::NoLook, run, |failure| matches!(failure, Failure::Reused { .. }));
}

#[test]
fn a_running_broker_that_does_not_look_at_its_storage_is_found() {
    for deed in [Deed::DeleteNewest, Deed::Wipe, Deed::Restore] {
        let run = |seed| operator::run(seed, deed, Some(Lie::NoCheck)).0;
        find(Lie::NoCheck, run, |failure| matches!(failure, Failure::Unnoticed { .. }));
    }
}

/// A world is a few brokers, a store and producers.
#[test]
fn a_world_differs_from_the_next() {
    let worlds: Vec<World> = (0..20).map(World::of).collect();
    assert!(worlds.iter().any(|world| world.brokers == 1) && worlds.iter().any(|world| world.brokers == 3));
}
