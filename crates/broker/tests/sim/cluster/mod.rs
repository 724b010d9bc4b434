//! Several brokers in a simulated world: the whole broker and its part in the cluster, on two to four machines that are
//! killed, stand still, stop and start again, with a network among them and to the bucket that is cut in pieces.
//! Clients send appends and reads to any of them, and what they saw is compared with a log (`log.rs`).

mod cards;
mod clients;
mod groups;
mod log;
mod log_tests;
mod machine;
mod members;
mod network;
mod node;
mod plot;
mod seen;
mod shares;
mod world;

use crate::store::Lie;
use groups::Wrong;
use log::Fault;
use plot::{restart_all, run, run_groups};
use rawline_testkit::seeds::{find, find_from, seeds_or};
use seen::Seen;
use std::ops::Range;
use std::time::Duration;
use world::{Bug, Violation};

/// Seeds of a run in `make test`: a world takes half a second in a debug build.
const SEEDS: Range<u64> = 0..20;

#[test]
fn nothing_acknowledged_contradicts_a_log() {
    let mut seen = Seen::default();
    for seed in seeds_or(SEEDS) {
        let history = run(seed, None);
        assert_eq!(history.violations, [], "seed {seed}:\n{}", history.trace.join("\n"));
        seen.add(&history.seen);
    }
    println!("{seen:?}");
    assert!(seen.is_eventful(), "too little happened: {seen:?}");
}

#[test]
fn the_same_seed_gives_the_same_history_of_a_cluster() {
    let (one, other) = (run(3, None), run(3, None));
    assert!(one.trace.len() > 500, "{} events", one.trace.len());
    assert_eq!(one.trace, other.trace);
    assert_ne!(one.trace, run(4, None).trace);
}

#[test]
fn a_rolling_restart_delays_no_append_by_more_than_a_second() {
    for seed in 0..2 {
        let history = restart_all(seed);
        let trace = || history.trace.join("\n");
        assert_eq!(history.violations, [], "seed {seed}:\n{}", trace());
        let Seen { stops, stored, longest_append, .. } = history.seen;
        assert!(stops == 3 && stored > 50, "{:?}", history.seen);
        assert!(longest_append < Duration::from_secs(1), "seed {seed}: {longest_append:?}\n{}", trace());
    }
}

#[test]
fn groups_commit_each_input_once_and_never_go_back() {
    let mut seen = groups::Seen::default();
    for seed in seeds_or(SEEDS) {
        let history = run_groups(seed, None);
        assert_eq!(history.violations, [], "seed {seed}:\n{}", history.trace.join("\n"));
        seen.add(&history.seen.groups);
    }
    println!("{seen:?}");
    assert!(seen.is_eventful(), "too little happened: {seen:?}");
}

/// Some seed finds a planted bug of groups; the search begins with the first one.
fn is_found_by_groups(bug: Bug, first: u64, expected: fn(&Wrong) -> bool) {
    let wrong = |violation| if let Violation::Group(wrong) = violation { Some(wrong) } else { None };
    let violations = |seed| run_groups(seed, Some(bug)).violations.into_iter().filter_map(wrong).collect();
    find_from(first, bug, violations, expected);
}

#[test]
fn generations_that_begin_again_are_found() {
    is_found_by_groups(Bug::GenerationsFromOne, 67, |wrong| matches!(wrong, Wrong::Twice { .. } | Wrong::Back { .. }));
}

#[test]
fn a_committed_offset_that_is_read_before_the_pending_ones_is_found() {
    is_found_by_groups(Bug::CommittedFirst, 218, |wrong| matches!(wrong, Wrong::Twice { .. }));
}

#[test]
fn a_member_that_is_checked_before_its_commit_is_stored_is_found() {
    is_found_by_groups(Bug::CheckFirst, 285, |wrong| matches!(wrong, Wrong::Twice { .. } | Wrong::Back { .. }));
}

/// Some seed finds a planted bug, by a fault of a log.
fn is_found(bug: Bug, expected: fn(&Fault) -> bool) {
    find(bug, |seed| faults(run(seed, Some(bug)).violations), expected);
}

fn faults(violations: Vec<Violation>) -> Vec<Fault> {
    let fault = |violation| if let Violation::Fault { fault, .. } = violation { Some(fault) } else { None };
    violations.into_iter().filter_map(fault).collect()
}

#[test]
fn a_lease_trusted_for_safety_is_found() {
    is_found(Bug::Store(Lie::TrustLease), |fault| matches!(fault, Fault::Lost { .. } | Fault::Misread { .. }));
}

#[test]
fn a_lease_trusted_for_an_acknowledgement_is_found() {
    is_found(Bug::Store(Lie::TrustLeaseAndConfirm), |fault| matches!(fault, Fault::Lost { .. }));
}

#[test]
fn a_forwarded_append_without_its_sequence_is_found() {
    is_found(Bug::ForgetSequence, |fault| matches!(fault, Fault::Twice { .. }));
}

#[test]
fn a_forwarded_append_that_is_sent_again_is_found() {
    is_found(Bug::ForwardAgain, |fault| matches!(fault, Fault::Twice { .. }));
}

#[test]
fn an_acknowledgement_before_the_owners_is_found() {
    is_found(Bug::AnswerEarly, |fault| matches!(fault, Fault::Lost { .. }));
}

#[test]
fn a_follower_that_reads_past_a_hole_is_found() {
    is_found(Bug::Store(Lie::FollowOverHoles), |fault| {
        matches!(fault, Fault::Misread { .. } | Fault::Lost { .. } | Fault::Hole { .. } | Fault::Beyond { .. })
    });
}

#[test]
fn a_stale_follower_that_denies_an_offset_is_found() {
    is_found(Bug::DenyWhatIsNew, |fault| matches!(fault, Fault::OutOfRange { .. }));
}

#[test]
fn a_takeover_that_does_not_read_to_the_end_is_found() {
    is_found(Bug::ActAtOnce, |fault| matches!(fault, Fault::Unready { .. }));
}

#[test]
fn a_broker_whose_view_goes_back_is_found() {
    is_found(Bug::ReadAnywhere, |fault| matches!(fault, Fault::Backwards { .. }));
}
