//! Whether the history of a partition is that of one log. Pure: calls and returns in, contradictions out.
//!
//! What is checked, no more and no less than what `docs/cluster.md` promises:
//!
//! - **Appends are linearizable.** Each takes effect once, whole, between its call and its return, in the order of the
//!   offsets: one that was called after another had returned lies above it, and so does one that was called after
//!   the other had been read. One whose outcome is unknown takes effect at any time after its call, or never.
//! - **Reads return the log.** Whatever a broker returns for an offset is the record there, for everybody and always.
//! - **A broker sees a beginning of the log,** which may be older than what others see, and which only grows: a read
//!   sees no less than an earlier one at the same run of a broker, and no less than what this run has acknowledged.
//! - **No broker denies an offset** that was seen before.
//! - **A new owner has seen what was acknowledged** while it wasn't the owner, before it acts for groups.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A record's text, unique in a world.
pub type Text = String;

/// When something happened: moments are numbered in their order.
pub type Moment = u64;

/// One run of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    pub machine: usize,
    pub number: u64,
}

/// How an append ended for its producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged by this run.
    Stored { first_offset: u64, by: Run },
    /// Reported as having no effect.
    NotStored,
    /// Unknown.
    Unknown,
}

/// An append, with all of its retries.
#[derive(Debug, Clone)]
pub struct Append {
    pub records: Vec<Text>,
    pub called: Moment,
    pub returned: Moment,
    pub outcome: Outcome,
}

/// What a reader got.
#[derive(Debug, Clone)]
pub enum Found {
    /// The records from the offset on, none if the partition ends there, and the end as the broker sees it.
    Records { records: Vec<Text>, next_offset: u64 },
    /// The partition has no such offset.
    OutOfRange,
}

/// A read at one run of a broker.
#[derive(Debug, Clone)]
pub struct Read {
    pub at: Run,
    pub offset: u64,
    pub found: Found,
    pub called: Moment,
    pub returned: Moment,
}

/// A broker acts as the owner.
#[derive(Debug, Clone)]
pub struct Acting {
    pub at: Run,
    /// The newest moment at which it took another broker for the owner.
    pub since: Moment,
    /// The end of the partition as it sees it.
    pub next_offset: u64,
}

/// What happened to a partition.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    pub appends: Vec<Append>,
    pub reads: Vec<Read>,
    pub actings: Vec<Acting>,
}

/// What can't be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An acknowledged record isn't where the acknowledgement says.
    Lost { text: Text, offset: u64, found: Option<Text> },
    /// A record is stored that was never appended.
    Phantom { text: Text, offset: u64 },
    /// A record is stored twice.
    Twice { text: Text },
    /// A record is stored that was reported as not stored.
    Denied { text: Text },
    /// The records of one append don't follow each other.
    Torn { text: Text },
    /// An append was called when the other, above it, had returned or was read.
    Order { below: Text, above: Text },
    /// A read returned something else than the log has.
    Misread { at: Run, offset: u64, found: Text, expected: Option<Text> },
    /// A read returned nothing, though the broker knows of records there.
    Hole { at: Run, offset: u64 },
    /// A broker saw an end above that of the log.
    Beyond { at: Run, next_offset: u64 },
    /// A broker saw less than it had shown before.
    Backwards { at: Run, before: u64, next_offset: u64 },
    /// A broker saw less than it had acknowledged.
    Unseen { at: Run, acknowledged: u64, next_offset: u64 },
    /// A broker denied an offset that had been seen.
    OutOfRange { at: Run, offset: u64 },
    /// A broker acts as the owner and has not seen what others had acknowledged before it was.
    Unready { at: Run, acknowledged: u64, next_offset: u64 },
}

/// What contradicts that the partition is this log.
pub fn faults(calls: &Calls, log: &[Text]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let places = contents(calls, log, &mut faults);
    reads(calls, log, &mut faults);
    order(calls, &places, log.len(), &mut faults);
    growth(calls, &mut faults);
    faults
}

/// The append at each range of offsets.
type Places<'a> = Vec<(Range<u64>, &'a Append)>;

fn at(log: &[Text], offset: u64) -> Option<&Text> {
    log.get(offset as usize)
}

/// Compares the appends with the log. Returns those that took effect, in order.
fn contents<'a>(calls: &'a Calls, log: &[Text], faults: &mut Vec<Fault>) -> Places<'a> {
    let mut offsets = BTreeMap::<&Text, u64>::new();
    for (offset, text) in (0..).zip(log) {
        if offsets.insert(text, offset).is_some() {
            faults.push(Fault::Twice { text: text.clone() });
        }
    }
    let appended: BTreeSet<&Text> = calls.appends.iter().flat_map(|append| &append.records).collect();
    for (offset, text) in (0..).zip(log) {
        if !appended.contains(text) {
            faults.push(Fault::Phantom { text: text.clone(), offset });
        }
    }
    let mut places = Vec::new();
    for append in &calls.appends {
        if let Outcome::Stored { first_offset, .. } = append.outcome {
            for (offset, text) in (first_offset..).zip(&append.records) {
                let found = at(log, offset);
                if found != Some(text) {
                    faults.push(Fault::Lost { text: text.clone(), offset, found: found.cloned() });
                }
            }
        }
        let Some(text) = append.records.iter().find(|text| offsets.contains_key(text)) else { continue };
        if append.outcome == Outcome::NotStored {
            faults.push(Fault::Denied { text: text.clone() });
        }
        let first_offset = append.records.first().and_then(|first| offsets.get(first));
        let first_offset = first_offset.filter(|first_offset| {
            (**first_offset..).zip(&append.records).all(|(offset, text)| offsets.get(text) == Some(&offset))
        });
        match first_offset {
            Some(first_offset) => places.push((*first_offset..first_offset + append.records.len() as u64, append)),
            None => faults.push(Fault::Torn { text: text.clone() }),
        }
    }
    places.sort_by_key(|(offsets, _)| offsets.start);
    places
}

/// Compares what was read with the log.
fn reads(calls: &Calls, log: &[Text], faults: &mut Vec<Fault>) {
    for read in &calls.reads {
        let Found::Records { records, next_offset } = &read.found else { continue };
        for (offset, text) in (read.offset..).zip(records) {
            let expected = at(log, offset);
            if expected != Some(text) {
                let (found, expected) = (text.clone(), expected.cloned());
                faults.push(Fault::Misread { at: read.at, offset, found, expected });
            }
        }
        if records.is_empty() && read.offset < *next_offset {
            faults.push(Fault::Hole { at: read.at, offset: read.offset });
        }
        if *next_offset > log.len() as u64 {
            faults.push(Fault::Beyond { at: read.at, next_offset: *next_offset });
        }
    }
}

/// Looks for a moment at which each append took effect, in the order of their offsets.
fn order(calls: &Calls, places: &Places<'_>, end: usize, faults: &mut Vec<Fault>) {
    // When each offset had been seen at the latest; a reader of an offset has seen those below it.
    let mut seen = vec![Moment::MAX; end];
    for read in &calls.reads {
        let Found::Records { next_offset, .. } = read.found else { continue };
        if let Some(seen) = (next_offset as usize).checked_sub(1).and_then(|newest| seen.get_mut(newest)) {
            *seen = read.returned.min(*seen);
        }
    }
    for offset in (1..end).rev() {
        seen[offset - 1] = seen[offset - 1].min(seen[offset]);
    }
    // An append takes effect after its call and after the calls of all below it.
    let mut newest: Option<&Append> = None;
    for (offsets, append) in places {
        let newest = newest.insert(newest.filter(|newest| newest.called > append.called).unwrap_or(append));
        let returned = match append.outcome {
            Outcome::Stored { .. } => append.returned,
            Outcome::NotStored | Outcome::Unknown => Moment::MAX,
        };
        if returned.min(seen[offsets.start as usize]) < newest.called {
            let (below, above) = (newest.records[0].clone(), append.records[0].clone());
            faults.push(Fault::Order { below, above });
        }
    }
}

/// What was known at each moment, of those at which something more was.
#[derive(Default)]
struct Known(Vec<(Moment, u64)>);

impl Known {
    fn of(mut returns: Vec<(Moment, u64)>) -> Known {
        returns.sort_unstable();
        let mut most = 0;
        returns.iter_mut().for_each(|(_, offset)| {
            most = most.max(*offset);
            *offset = most;
        });
        Known(returns)
    }

    /// The greatest offset that was known before a moment.
    fn before(&self, moment: Moment) -> u64 {
        let count = self.0.partition_point(|(returned, _)| *returned < moment);
        self.0[..count].last().map_or(0, |(_, offset)| *offset)
    }
}

/// Compares each read with what its broker had shown and acknowledged before.
fn growth(calls: &Calls, faults: &mut Vec<Fault>) {
    let (mut shown, mut acknowledged) = (BTreeMap::<Run, Vec<_>>::new(), BTreeMap::<Run, Vec<_>>::new());
    for read in &calls.reads {
        if let Found::Records { next_offset, .. } = read.found {
            shown.entry(read.at).or_default().push((read.returned, next_offset));
        }
    }
    for append in &calls.appends {
        if let Outcome::Stored { first_offset, by } = append.outcome {
            let next_offset = first_offset + append.records.len() as u64;
            acknowledged.entry(by).or_default().push((append.returned, next_offset));
        }
    }
    let acknowledged_by_anybody = Known::of(acknowledged.values().flatten().copied().collect());
    for Acting { at, since, next_offset } in calls.actings.iter().cloned() {
        let acknowledged = acknowledged_by_anybody.before(since);
        if next_offset < acknowledged {
            faults.push(Fault::Unready { at, acknowledged, next_offset });
        }
    }
    let by_anybody = Known::of(shown.values().chain(acknowledged.values()).flatten().copied().collect());
    let known = |returns: BTreeMap<Run, Vec<_>>| -> BTreeMap<Run, Known> {
        returns.into_iter().map(|(run, returns)| (run, Known::of(returns))).collect()
    };
    let (shown, acknowledged) = (known(shown), known(acknowledged));
    for read in &calls.reads {
        let before = |known: &BTreeMap<Run, Known>| known.get(&read.at).map_or(0, |known| known.before(read.called));
        match read.found {
            Found::Records { next_offset, .. } => {
                let (at, before, acknowledged) = (read.at, before(&shown), before(&acknowledged));
                if next_offset < before {
                    faults.push(Fault::Backwards { at, before, next_offset });
                }
                if next_offset < acknowledged {
                    faults.push(Fault::Unseen { at, acknowledged, next_offset });
                }
            }
            Found::OutOfRange if read.offset <= by_anybody.before(read.called) => {
                faults.push(Fault::OutOfRange { at: read.at, offset: read.offset });
            }
            Found::OutOfRange => {}
        }
    }
}
