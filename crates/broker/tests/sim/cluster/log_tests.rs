//! Tests of the checker: histories of a log, histories of none by the fault that each has, and random ones that a
//! search through all orders judges too.

use super::log::{Acting, Append, Calls, Fault, Found, Moment, Outcome, Read, Run, faults};
use std::ops::Range;

const A: Run = Run { machine: 0, number: 1 };
const B: Run = Run { machine: 1, number: 1 };

fn texts(names: &str) -> Vec<String> {
    names.split_whitespace().map(str::to_owned).collect()
}

fn stored(first_offset: u64) -> Outcome {
    Outcome::Stored { first_offset, by: A }
}

/// What happened, in any order: each call has its own moments.
#[derive(Default)]
struct Told(Calls);

impl Told {
    fn append(mut self, span: Range<Moment>, names: &str, outcome: Outcome) -> Told {
        let (records, called, returned) = (texts(names), span.start, span.end);
        self.0.appends.push(Append { records, called, returned, outcome });
        self
    }

    fn read(mut self, at: Run, span: Range<Moment>, offset: u64, names: &str, next_offset: u64) -> Told {
        let found = Found::Records { records: texts(names), next_offset };
        self.0.reads.push(Read { at, offset, found, called: span.start, returned: span.end });
        self
    }

    fn out_of_range(mut self, at: Run, span: Range<Moment>, offset: u64) -> Told {
        self.0.reads.push(Read { at, offset, found: Found::OutOfRange, called: span.start, returned: span.end });
        self
    }

    fn acts(mut self, at: Run, since: Moment, next_offset: u64) -> Told {
        self.0.actings.push(Acting { at, since, next_offset });
        self
    }

    /// The faults that it has if this is the log.
    fn faults(&self, log: &str) -> Vec<Fault> {
        faults(&self.0, &texts(log))
    }
}

/// Two appends, one after the other.
fn two() -> Told {
    Told::default().append(1..2, "a", stored(0)).append(3..4, "b", stored(1))
}

#[test]
fn histories_of_a_log_have_no_faults() {
    assert_eq!(Told::default().faults(""), []);
    assert_eq!(two().faults("a b"), []);
    // At the same time, in either order; several records.
    let both = |a, b| Told::default().append(1..5, "a", stored(a)).append(2..4, "b c", stored(b));
    assert_eq!(both(0, 1).faults("a b c"), []);
    assert_eq!(both(2, 0).faults("b c a"), []);
    // An unknown outcome: stored before, between or long after others, or never.
    for (log, a, b) in [("x a b", 1, 2), ("a x b", 0, 2), ("a b x", 0, 1), ("a b", 0, 1)] {
        let told = Told::default().append(1..2, "x", Outcome::Unknown);
        assert_eq!(told.append(3..4, "a", stored(a)).append(5..6, "b", stored(b)).faults(log), [], "{log}");
    }
    assert_eq!(two().append(1..2, "x", Outcome::NotStored).faults("a b"), []);
}

#[test]
fn reads_may_be_late_at_another_broker() {
    let late = two().read(A, 5..6, 0, "a b", 2).read(B, 7..8, 0, "", 0).read(B, 9..10, 0, "a", 1);
    assert_eq!(late.faults("a b"), []);
    // Two at once at one broker may be answered in either order.
    assert_eq!(two().read(B, 5..9, 0, "a", 1).read(B, 6..8, 0, "a b", 2).faults("a b"), []);
    // A new run begins anew.
    let again = Run { number: 2, ..A };
    assert_eq!(two().read(again, 5..6, 0, "", 0).faults("a b"), []);
    // The offset is unused yet.
    assert_eq!(two().out_of_range(B, 1..9, 2).faults("a b"), []);
}

#[test]
fn a_lost_append_is_a_fault() {
    let lost = Fault::Lost { text: "b".into(), offset: 1, found: None };
    assert_eq!(two().faults("a"), [lost]);
    let (text, found) = ("b".to_owned(), Some("c".to_owned()));
    assert!(two().append(3..4, "c", Outcome::Unknown).faults("a c b").contains(&Fault::Lost {
        text,
        offset: 1,
        found
    }));
}

#[test]
fn an_append_that_is_stored_twice_is_a_fault() {
    assert!(two().faults("a b b").contains(&Fault::Twice { text: "b".into() }));
}

#[test]
fn a_record_that_nobody_has_appended_is_a_fault() {
    assert_eq!(two().faults("a b x"), [Fault::Phantom { text: "x".into(), offset: 2 }]);
}

#[test]
fn an_append_that_was_reported_as_not_stored_and_is_there_is_a_fault() {
    let denied = Fault::Denied { text: "x".into() };
    assert_eq!(two().append(5..6, "x", Outcome::NotStored).faults("a b x"), [denied]);
}

#[test]
fn an_append_in_parts_is_a_fault() {
    for (log, text) in [("a b x", "x"), ("a b y", "y"), ("a b y x", "x"), ("a b x c y", "x")] {
        let told = two().append(1..6, "x y", Outcome::Unknown).append(1..6, "c", Outcome::Unknown);
        assert_eq!(told.faults(log), [Fault::Torn { text: text.into() }], "{log}");
    }
}

#[test]
fn an_append_below_one_that_had_returned_is_a_fault() {
    let order = |below: &str, above: &str| Fault::Order { below: below.into(), above: above.into() };
    let swapped = Told::default().append(1..2, "a", stored(1)).append(3..4, "b", stored(0));
    assert_eq!(swapped.faults("b a"), [order("b", "a")]);
    // Not next to each other, and of an unknown outcome.
    let far = Told::default().append(1..2, "a", stored(2)).append(1..9, "m", stored(1));
    assert_eq!(far.append(3..4, "b", Outcome::Unknown).faults("b m a"), [order("b", "a")]);
}

#[test]
fn an_append_below_one_that_was_read_is_a_fault() {
    let order = |above: &str| Fault::Order { below: "b".into(), above: above.into() };
    let read = |log| {
        let told = Told::default().append(1..9, "x", Outcome::Unknown).read(B, 2..3, 0, "x", 1);
        told.append(4..5, "b", Outcome::Unknown).faults(log)
    };
    assert_eq!(read("x b"), []);
    // Its record was at another offset when it was read.
    let misread = Fault::Misread { at: B, offset: 0, found: "x".into(), expected: Some("b".into()) };
    assert_eq!(read("b x"), [misread, order("b")]);
    let seen = Told::default().append(1..9, "x", Outcome::Unknown).read(B, 2..3, 2, "", 2);
    assert_eq!(seen.append(4..5, "b", Outcome::Unknown).faults("b x"), [order("b"), order("x")]);
}

#[test]
fn a_record_that_was_read_before_its_append_is_a_fault() {
    let early = Told::default().read(A, 1..2, 0, "a", 1).append(3..4, "a", stored(0));
    assert_eq!(early.faults("a"), [Fault::Order { below: "a".into(), above: "a".into() }]);
}

#[test]
fn a_read_that_contradicts_the_log_is_a_fault() {
    let misread = Fault::Misread { at: B, offset: 1, found: "x".into(), expected: Some("b".into()) };
    assert_eq!(two().read(B, 5..6, 0, "a x", 2).faults("a b"), [misread]);
    assert_eq!(two().read(B, 5..6, 1, "", 2).faults("a b"), [Fault::Hole { at: B, offset: 1 }]);
    assert_eq!(two().read(B, 5..6, 3, "", 3).faults("a b"), [Fault::Beyond { at: B, next_offset: 3 }]);
}

#[test]
fn a_broker_whose_end_goes_back_is_a_fault() {
    let backwards = Fault::Backwards { at: B, before: 2, next_offset: 1 };
    assert_eq!(two().read(B, 5..6, 0, "a b", 2).read(B, 7..8, 0, "a", 1).faults("a b"), [backwards]);
}

#[test]
fn a_broker_that_does_not_show_what_it_has_acknowledged_is_a_fault() {
    let unseen = Fault::Unseen { at: A, acknowledged: 2, next_offset: 1 };
    assert_eq!(two().read(A, 5..6, 0, "a", 1).faults("a b"), [unseen]);
    assert_eq!(two().read(A, 3..6, 0, "a", 1).faults("a b"), [], "it was asked before");
}

#[test]
fn an_offset_that_somebody_has_seen_is_not_out_of_range() {
    for offset in 0..=2 {
        assert_eq!(two().out_of_range(B, 5..6, offset).faults("a b"), [Fault::OutOfRange { at: B, offset }]);
    }
    assert_eq!(two().out_of_range(B, 5..6, 3).faults("a b"), []);
}

#[test]
fn an_owner_that_has_not_seen_what_others_acknowledged_before_is_a_fault() {
    let unready = Fault::Unready { at: B, acknowledged: 2, next_offset: 1 };
    assert_eq!(two().acts(B, 5, 1).faults("a b"), [unready]);
    // It may have been the owner when the second was acknowledged.
    assert_eq!(two().acts(B, 3, 1).acts(B, 5, 2).faults("a b"), []);
}

/// Whether the appends and what was seen of them can have happened in some order: tries all.
fn has_an_order(calls: &Calls, log: &[String]) -> bool {
    // A read is a moment before its return at which the log had at least these many records; an append, one between
    // its call and its return at which the log grows by its record.
    let (mut left, mut ends): (Vec<&Append>, Vec<(Moment, u64)>) = (Vec::new(), Vec::new());
    left.extend(calls.appends.iter().filter(|append| log.contains(&append.records[0])));
    for read in &calls.reads {
        let Found::Records { next_offset, .. } = read.found else { continue };
        ends.push((read.returned, next_offset));
    }
    fn goes_on(now: Moment, length: u64, left: &[&Append], ends: &[(Moment, u64)], log: &[String]) -> bool {
        if left.is_empty() {
            return true;
        }
        (0..left.len()).any(|next| {
            let append = left[next];
            if log[length as usize] != append.records[0] {
                return false;
            }
            // As early as possible.
            let now = now.max(append.called);
            let returned = if matches!(append.outcome, Outcome::Stored { .. }) { append.returned } else { Moment::MAX };
            let is_seen_early = ends.iter().any(|(seen, end)| *end > length && *seen < now);
            let mut left = left.to_vec();
            left.remove(next);
            now <= returned && !is_seen_early && goes_on(now, length + 1, &left, ends, log)
        })
    }
    goes_on(0, 0, &left, &ends, log)
}

#[test]
fn a_search_through_all_orders_finds_the_same() {
    let (mut with, mut without) = (0, 0);
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.u64(1..6);
        let mut moments: Vec<Moment> = (0..count * 3).collect();
        random.shuffle(&mut moments);
        let mut log: Vec<u64> = (0..count).collect();
        if random.bool() {
            let (one, other) = (random.usize(0..log.len()), random.usize(0..log.len()));
            log.swap(one, other);
        }
        let mut calls = Calls::default();
        let mut spans: Vec<_> =
            moments.chunks(3).map(|span| (span[0].min(span[1]), span[0].max(span[1]), span[2])).collect();
        spans.sort_unstable();
        for (name, (called, returned, seen)) in (0..).zip(spans) {
            let first_offset = log.iter().position(|at| *at == name).unwrap() as u64;
            let outcome = if random.u8(0..4) == 0 { Outcome::Unknown } else { Outcome::Stored { first_offset, by: A } };
            calls.appends.push(Append { records: vec![name.to_string()], called, returned, outcome });
            if random.u8(0..4) == 0 {
                let found = Found::Records { records: vec![], next_offset: first_offset + 1 };
                let at = Run { machine: name as usize, number: 2 };
                calls.reads.push(Read { at, offset: count, found, called: seen, returned: seen });
            }
        }
        let log: Vec<String> = log.iter().map(u64::to_string).collect();
        let found = faults(&calls, &log);
        assert!(found.iter().all(|fault| matches!(fault, Fault::Order { .. })), "seed {seed}: {found:?}");
        assert_eq!(found.is_empty(), has_an_order(&calls, &log), "seed {seed}: {calls:?} as {log:?}: {found:?}");
        *if found.is_empty() { &mut without } else { &mut with } += 1;
    }
    assert!(with > 1_000 && without > 1_000, "{with} histories with faults, {without} without");
}
