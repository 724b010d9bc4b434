//! The properties that hold in every state of the model, and tests that each rule is necessary.

use crate::model::world::{Bounds, DELETION_DELAY, World};
use crate::rules::{Broken, Rules};
use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};
use std::collections::BTreeSet;

const READABLE: &str = "acknowledged records stay readable at their offset";
const ONCE: &str = "no append is stored twice";
const AGREE: &str = "all observers agree";
const CREATED: &str = "a topic keeps its id";
const DENIED: &str = "what is reported as not stored is not stored";
const FENCED: &str = "no older instance of a producer appends after a newer one was opened";
const ANSWERED: &str = "no append waits for nothing";

pub fn properties() -> Vec<Property<Bounds>> {
    vec![
        Property::always(READABLE, |_, world: &World| {
            let (log, _) = world.fresh();
            let is_there = |ticket, offset| log.iter().any(|((_, at), found)| at == offset && found == ticket);
            world.acknowledged.iter().all(|(ticket, offset)| is_there(ticket, offset))
        }),
        Property::always(ONCE, |_, world: &World| {
            let tickets: BTreeSet<_> = world.log.values().collect();
            tickets.len() == world.log.len()
        }),
        Property::always(AGREE, |_, world: &World| {
            !world.is_disagreeing && world.fresh() == (world.log.clone(), world.new_topic())
        }),
        Property::always(CREATED, |_, world: &World| {
            world.created.iter().all(|topic| Some(*topic) == world.new_topic())
        }),
        Property::always(DENIED, |_, world: &World| world.denied.iter().all(|ticket| !world.has(*ticket))),
        Property::always(FENCED, |_, world: &World| !world.is_unfenced),
        Property::always(ANSWERED, |_, world: &World| !world.is_stuck()),
        Property::sometimes("an object is void", |_, world: &World| world.reached.void),
        Property::sometimes("a number is settled", |_, world: &World| world.reached.settled),
        Property::sometimes("objects are deleted", |_, world: &World| world.reached.deleted),
        Property::sometimes("a duplicate is recognized", |_, world: &World| world.reached.duplicate),
        Property::sometimes("an outcome stays unknown", |_, world: &World| world.reached.unknown),
        Property::sometimes("a topic exists already", |_, world: &World| world.reached.refused),
        Property::sometimes("an older instance is refused", |_, world: &World| world.reached.fenced),
        Property::sometimes("a PUT is refused because of its other request", |_, world: &World| world.reached.found),
        Property::sometimes("a merge ends", |_, world: &World| world.merging.ended),
        Property::sometimes("a merge is abandoned", |_, world: &World| world.merging.abandoned),
        Property::sometimes("a merged object is deleted", |_, world: &World| world.merging.deleted),
    ]
}

/// Two writers with one append each, and nothing that fails.
fn small() -> Bounds {
    Bounds {
        appends: &[1, 1],
        creates: false,
        opens: false,
        sequences: false,
        in_flight_max: 2,
        lost: 0,
        crashes: 0,
        hedges: 0,
        ticks: 0,
        clock: 0,
        snapshots: 0,
        merges: &[],
        abandons: 0,
        create_only: true,
        deletion_delay: DELETION_DELAY,
        rules: Rules::default(),
    }
}

/// Pipelined objects in a race.
fn races() -> Bounds {
    Bounds { appends: &[2, 1], ..small() }
}

/// Requests and responses get lost, and writers give up.
fn losses() -> Bounds {
    Bounds { lost: 2, ticks: 3, ..small() }
}

/// Two writers create the same topic, while one of them appends.
fn creations() -> Bounds {
    Bounds { appends: &[1, 0], creates: true, ..small() }
}

/// A writer dies, and its producer asks the other one.
fn crashes() -> Bounds {
    Bounds { crashes: 1, sequences: true, ..small() }
}

/// Writers sleep while others append and delete.
fn sleeps() -> Bounds {
    Bounds { clock: DELETION_DELAY + 2, snapshots: 1, ..small() }
}

/// A PUT is sent on two connections, also after the writer has given it up.
fn hedges() -> Bounds {
    Bounds { hedges: 1, ..small() }
}

/// The same while its writer sleeps, and others append and delete.
fn late_hedges() -> Bounds {
    Bounds { hedges: 1, clock: DELETION_DELAY + 1, ..sleeps() }
}

/// Two instances of a named producer append through different writers.
fn instances() -> Bounds {
    Bounds { opens: true, sequences: true, ..small() }
}

/// A writer merges, its merge may be abandoned, and unreferenced objects are deleted.
fn merges() -> Bounds {
    Bounds { appends: &[1], merges: &[true], abandons: 1, clock: DELETION_DELAY + 2, snapshots: 1, ..small() }
}

/// Two writers merge the same records.
fn two_merges() -> Bounds {
    Bounds { appends: &[1, 0], merges: &[true, true], abandons: 1, ..small() }
}

fn all() -> Vec<Bounds> {
    vec![
        races(),
        losses(),
        crashes(),
        sleeps(),
        creations(),
        Bounds { lost: 1, ticks: 3, ..creations() },
        Bounds { crashes: 1, ..creations() },
        Bounds { appends: &[0, 0], clock: DELETION_DELAY + 2, snapshots: 1, ..creations() },
        Bounds { appends: &[1, 1, 1], ..small() },
        Bounds { appends: &[2, 2], ..small() },
        Bounds { appends: &[3, 2], in_flight_max: 3, ..small() },
        Bounds { lost: 1, ..races() },
        Bounds { appends: &[2], lost: 3, ticks: 4, ..small() },
        Bounds { sequences: true, ..losses() },
        Bounds { sequences: true, ..sleeps() },
        Bounds { lost: 1, ..sleeps() },
        Bounds { appends: &[1], crashes: 1, sequences: true, ..sleeps() },
        instances(),
        Bounds { appends: &[1, 0], crashes: 1, ..instances() },
        Bounds { appends: &[1, 0], lost: 1, ticks: 3, ..instances() },
        merges(),
        two_merges(),
        Bounds { crashes: 1, abandons: 0, ..merges() },
        Bounds { lost: 1, ..two_merges() },
        Bounds { merges: &[true, false], crashes: 1, sequences: true, ..two_merges() },
        Bounds { appends: &[1, 0], lost: 2, crashes: 1, ticks: 3, sequences: true, ..small() },
        Bounds { hedges: 1, ..races() },
        Bounds { hedges: 2, ..hedges() },
        Bounds { appends: &[2], hedges: 2, ..hedges() },
        Bounds { lost: 1, ticks: 3, ..hedges() },
        Bounds { appends: &[1], lost: 2, ticks: 3, hedges: 2, ..hedges() },
        Bounds { appends: &[1], lost: 1, ticks: 3, hedges: 3, ..hedges() },
        late_hedges(),
        Bounds { appends: &[1, 1], crashes: 1, sequences: true, ..hedges() },
        Bounds { hedges: 1, ..two_merges() },
    ]
}

/// Explores every state. Returns the properties that must hold and don't, and those that occur.
fn explore(bounds: Bounds) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    explore_until(bounds, HasDiscoveries::All)
}

fn explore_until(bounds: Bounds, end: HasDiscoveries) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let checker = bounds.clone().checker().finish_when(end).spawn_bfs().join();
    println!("{} states, {} deep: {bounds:?}", checker.unique_state_count(), checker.max_depth());
    let found = checker.discoveries().into_keys();
    let is_always = |name: &&'static str| checker.model().property(name).expectation == Expectation::Always;
    found.partition(is_always)
}

#[test]
fn everything_holds_in_every_state() {
    let mut reached = BTreeSet::new();
    for bounds in all() {
        let (violated, found) = explore(bounds.clone());
        assert_eq!(violated, BTreeSet::new(), "{bounds:?}");
        reached.extend(found);
    }
    assert_eq!(reached.len(), 11, "the model reaches only {reached:?}");
}

/// Without a rule, some property is violated.
fn is_needed(broken: Broken, bounds: Bounds, property: &'static str) {
    let rules = Rules { broken: Some(broken) };
    let (violated, _) = explore_until(Bounds { rules, ..bounds }, HasDiscoveries::AllOf([property].into()));
    assert!(violated.contains(property), "without {broken:?} only {violated:?} is violated");
}

#[test]
fn objects_outside_the_chain_are_void() {
    is_needed(Broken::VoidObjects, races(), AGREE);
}

#[test]
fn a_foreign_topic_is_a_lost_race() {
    is_needed(Broken::LoseRaces, creations(), CREATED);
}

#[test]
fn objects_are_acknowledged_in_order() {
    is_needed(Broken::AcknowledgeInOrder, crashes(), READABLE);
}

#[test]
fn a_foreign_object_is_a_lost_race() {
    is_needed(Broken::LoseRaces, races(), READABLE);
}

#[test]
fn the_conflict_of_a_hedge_is_no_lost_race() {
    // A writer that reads on finds its object; one that has slept for too long finds a snapshot instead.
    is_needed(Broken::HedgeReadsId, late_hedges(), ONCE);
}

#[test]
fn a_foreign_object_is_a_lost_race_for_a_hedge_too() {
    is_needed(Broken::HedgeComparesId, hedges(), READABLE);
}

#[test]
fn another_object_in_the_place_of_a_hedge_proves_nothing() {
    // It was stored and deleted, and another writer has used its number once more.
    is_needed(Broken::HedgeDoubts, late_hedges(), ONCE);
}

#[test]
fn unknown_outcomes_are_settled() {
    is_needed(Broken::Settle, losses(), DENIED);
}

#[test]
fn a_writer_that_slept_verifies_before_it_acknowledges() {
    is_needed(Broken::AcknowledgeWithin, sleeps(), READABLE);
}

#[test]
fn a_reader_that_slept_loads_a_snapshot() {
    is_needed(Broken::BelieveWithin, sleeps(), READABLE);
}

#[test]
fn sequences_decide_what_is_appended_again() {
    is_needed(Broken::Sequences, crashes(), ONCE);
}

#[test]
fn a_new_instance_of_a_named_producer_fences_the_older_ones() {
    is_needed(Broken::Names, instances(), FENCED);
}

#[test]
fn an_abandoned_merge_never_ends() {
    is_needed(Broken::ClosedMerges, merges(), READABLE);
}

#[test]
fn the_object_of_an_open_merge_is_not_deleted() {
    is_needed(Broken::OpenMerges, merges(), READABLE);
}

#[test]
fn the_object_of_a_merge_that_a_snapshot_does_not_know_is_not_deleted() {
    is_needed(Broken::UnknownMerges, merges(), READABLE);
}

#[test]
fn a_merge_ends_after_its_data_is_stored() {
    is_needed(Broken::StoredMerges, merges(), READABLE);
}

#[test]
fn what_is_copied_is_deleted_after_the_merge_has_ended() {
    is_needed(Broken::EndedMerges, merges(), READABLE);
}

#[test]
fn the_store_creates_and_never_overwrites() {
    let (violated, _) = explore(Bounds { create_only: false, ..small() });
    assert!(violated.contains(READABLE) && violated.contains(AGREE), "{violated:?}");
}

#[test]
fn deletion_waits() {
    let (violated, _) = explore(Bounds { deletion_delay: 0, ..sleeps() });
    assert!(violated.contains(READABLE), "{violated:?}");
}
