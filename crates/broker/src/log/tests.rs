//! Interleavings of a log's events.

use super::*;

const LIMITS: GroupLimits = GroupLimits { batch_wait: Duration::ZERO, commit_bytes: 100, object_bytes_max: 150 };
const NOW: Duration = Duration::ZERO;

fn size(bytes: u64) -> Size {
    Size { bytes, batches: 1, records: 1 }
}

/// A log with `appends` of ten bytes and one record each.
fn log(appends: std::ops::Range<u32>) -> Log<u32> {
    let mut log = Log::new(0, LIMITS);
    appends.for_each(|number| log.push(number, size(10), NOW));
    log
}

fn storing(log: &mut Log<u32>) -> Vec<u32> {
    log.storing().map(|append| *append).collect()
}

fn appended(commit: Commit<u32>) -> Vec<(u32, u64)> {
    commit.into_appended().map(|(append, appended)| (append, appended.first_offset)).collect()
}

fn stored(resolved: Resolved<u32>) -> Commit<u32> {
    match resolved {
        Resolved::Stored(commit) => commit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn appends_that_arrive_during_a_commit_are_the_next_commit() {
    let mut log = log(0..1);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 0 });
    (1..4).for_each(|number| log.push(number, size(10), NOW));
    assert_eq!(log.next(NOW), Step::Wait { until: None }, "one is being stored");
    log.begun();
    assert_eq!(log.next(NOW), Step::Wait { until: None }, "too few bytes to be written while the first is confirmed");
    assert_eq!(appended(stored(log.confirmed(true))), [(0, 0)]);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 1 });
    assert_eq!(storing(&mut log), [1, 2, 3]);
}

#[test]
fn a_large_group_is_stored_while_the_one_before_is_confirmed_but_no_third() {
    let mut log = log(0..1);
    log.next(NOW);
    log.begun();
    log.push(1, size(60), NOW);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 1 });
    log.begun();
    log.push(2, size(100), NOW);
    assert!(!log.accepts(), "the group is full");
    assert_eq!(log.next(NOW), Step::Wait { until: None });
    assert_eq!(appended(stored(log.confirmed(true))), [(0, 0)]);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 2 });
}

#[test]
fn a_group_waits_for_more_appends_until_it_is_full_or_the_log_is_closed() {
    let wait = Duration::from_secs(5);
    let limits = GroupLimits { batch_wait: wait, ..LIMITS };
    let at = Duration::from_secs;
    let mut log = Log::new(0, limits);
    log.push(0, size(10), at(1));
    log.push(1, size(10), at(3));
    assert_eq!(log.next(at(3)), Step::Wait { until: Some(at(6)) });
    assert_eq!(log.next(at(6)), Step::Store { first_offset: 0 });
    log.begun();
    log.push(2, size(10), at(7));
    assert_eq!(log.next(at(20)), Step::Wait { until: None }, "it waits for the confirmation, not for the clock");
    log.confirmed(true);
    assert_eq!(log.next(at(20)), Step::Store { first_offset: 2 });
    log.begun();
    log.confirmed(true);
    log.push(3, size(100), at(21));
    assert_eq!(log.next(at(21)), Step::Store { first_offset: 3 }, "full");
    log.begun();
    log.confirmed(true);
    log.push(4, size(10), at(22));
    log.close();
    assert_eq!(log.next(at(22)), Step::Store { first_offset: 4 }, "closed");
    log.begun();
    assert_eq!(log.next(at(22)), Step::Wait { until: None });
    log.confirmed(true);
    assert_eq!(log.next(at(22)), Step::Done);
}

#[test]
fn an_append_that_does_not_fit_begins_the_next_group() {
    let mut log = log(0..1);
    log.push(1, size(60), NOW);
    log.push(2, size(120), NOW);
    assert!(!log.accepts());
    log.next(NOW);
    assert_eq!(storing(&mut log), [0, 1]);
    log.begun();
    assert_eq!(log.next(NOW), Step::Store { first_offset: 2 });
    assert_eq!(storing(&mut log), [2]);
    assert!(log.accepts());
}

#[test]
fn a_commit_that_lost_a_race_is_stored_after_the_winner() {
    let mut log = log(0..2);
    log.next(NOW);
    log.lost_race();
    assert_eq!(log.next(NOW), Step::CatchUp { from: 0 });
    log.push(2, size(10), NOW);
    assert_eq!(log.next(NOW), Step::Wait { until: None });
    log.caught_up(7);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 7 });
    assert_eq!(storing(&mut log), [0, 1]);
    log.begun();
    assert_eq!(appended(stored(log.confirmed(true))), [(0, 7), (1, 8)]);
}

#[test]
fn a_commit_that_lost_a_race_waits_for_those_before_it() {
    let mut log = log(0..1);
    log.next(NOW);
    log.begun();
    log.push(1, size(60), NOW);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 1 });
    log.lost_race();
    assert_eq!(log.next(NOW), Step::Wait { until: None });
    assert!(matches!(log.confirmed(false), Resolved::Failed(_)));
    // The place that was taken is not the end any more.
    assert_eq!(log.next(NOW), Step::Store { first_offset: 0 });
    log.lost_race();
    assert_eq!(log.next(NOW), Step::CatchUp { from: 0 });
}

#[test]
fn a_commit_that_is_found_in_the_store_is_acknowledged_and_not_stored_again() {
    let mut log = log(0..3);
    log.next(NOW);
    log.lost_race();
    log.next(NOW);
    let commit = log.found_own(9);
    assert_eq!(appended(commit), [(0, 0), (1, 1), (2, 2)]);
    log.push(3, size(10), NOW);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 9 });
}

#[test]
fn records_after_a_commit_that_failed_are_not_acknowledged() {
    let mut log = log(0..1);
    log.next(NOW);
    log.begun();
    log.push(1, size(60), NOW);
    log.next(NOW);
    log.begun();
    assert!(matches!(log.confirmed(false), Resolved::Failed(_)));
    assert!(matches!(log.confirmed(true), Resolved::Orphaned { next_offset: 0, .. }));
    log.push(2, size(10), NOW);
    assert_eq!(log.next(NOW), Step::Store { first_offset: 0 });
}

#[test]
fn a_commit_that_could_not_be_stored_goes_back_to_its_callers() {
    let mut log = log(0..2);
    log.next(NOW);
    assert_eq!(log.not_stored().into_appends().collect::<Vec<_>>(), [0, 1]);
    log.push(2, size(10), NOW);
    log.next(NOW);
    log.lost_race();
    log.next(NOW);
    assert_eq!(log.not_stored().into_appends().collect::<Vec<_>>(), [2]);
    log.close();
    assert_eq!(log.next(NOW), Step::Done);
}

/// A generator of test schedules; the seed is in every message.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A store that several writers use, and the appends that a log's driver has acknowledged or failed.
#[derive(Default)]
struct World {
    /// Who wrote the record at each offset; `None` is another writer.
    stored: Vec<Option<u32>>,
    acknowledged: Vec<(u32, u64)>,
    failed: Vec<u32>,
}

impl World {
    fn store(&mut self, log: &mut Log<u32>) {
        self.stored.extend(log.storing().map(|append| Some(*append)));
    }

    fn resolve(&mut self, resolved: Resolved<u32>) {
        match resolved {
            Resolved::Stored(commit) => self.acknowledged.extend(appended(commit)),
            Resolved::Failed(commit) | Resolved::Orphaned { commit, .. } => self.failed.extend(commit.into_appends()),
        }
    }
}

/// One schedule: appends, races, lost responses and confirmations in any order.
fn run(seed: u64) {
    let mut random = Random(seed * 2 + 1);
    let (mut log, mut world) = (Log::new(0, LIMITS), World::default());
    let (mut pushed, mut in_flight, mut unseen) = (0u32, 0, false);
    for round in 0..400 {
        if round > 300 {
            log.close();
        }
        while log.accepts() && random.below(3) > 0 {
            log.push(pushed, size(1 + random.below(120)), NOW);
            pushed += 1;
        }
        match log.next(NOW) {
            Step::Store { first_offset } => match random.below(6) {
                0 if in_flight == 0 => {
                    // Another writer is first, if it is not there already.
                    world
                        .stored
                        .resize(world.stored.len().max(first_offset as usize + 1 + random.below(3) as usize), None);
                    log.lost_race();
                }
                1 if in_flight == 0 && first_offset as usize == world.stored.len() => {
                    // Stored, but the response is lost and the retry finds the place taken.
                    world.store(&mut log);
                    unseen = true;
                    log.lost_race();
                }
                2 => world.failed.extend(log.not_stored().into_appends()),
                _ if (first_offset as usize) < world.stored.len() => log.lost_race(),
                _ => {
                    assert_eq!(first_offset as usize, world.stored.len(), "seed {seed}");
                    world.store(&mut log);
                    log.begun();
                    in_flight += 1;
                }
            },
            Step::CatchUp { from } => {
                assert!((from as usize) < world.stored.len(), "seed {seed}");
                let end = world.stored.len() as u64;
                if std::mem::take(&mut unseen) {
                    world.acknowledged.extend(appended(log.found_own(end)));
                } else {
                    log.caught_up(end);
                }
            }
            Step::Wait { .. } if in_flight > 0 => {
                in_flight -= 1;
                world.resolve(log.confirmed(true));
            }
            Step::Wait { .. } => {}
            Step::Done => break,
        }
    }
    assert_eq!(log.next(NOW), Step::Done, "seed {seed}");
    for (append, offset) in &world.acknowledged {
        assert_eq!(world.stored[*offset as usize], Some(*append), "seed {seed}");
    }
    let mut all: Vec<u32> = world.acknowledged.iter().map(|(append, _)| *append).chain(world.failed).collect();
    assert!(world.acknowledged.is_sorted(), "seed {seed}: appends keep their order");
    all.sort_unstable();
    assert_eq!(all, (0..pushed).collect::<Vec<_>>(), "seed {seed}: every append gets one response");
    let stored = world.stored.iter().flatten().count();
    assert_eq!(stored, world.acknowledged.len(), "seed {seed}: nothing is stored twice");
}

#[test]
fn any_schedule_acknowledges_what_is_stored_once_and_in_order() {
    (1..2000).for_each(run);
}
