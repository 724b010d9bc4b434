//! The seeds of simulations: those of a run in `make test`, or those that `RAWLINE_SIM_SEEDS` names, and the search for
//! one that finds a planted bug.

use std::fmt::Debug;
use std::ops::Range;

/// Seeds of a run in `make test`.
pub const SEEDS: Range<u64> = 0..100;

/// A planted bug is found within this many seeds.
const SEEDS_TO_FIND: u64 = 1000;

/// The seeds to run.
pub fn seeds() -> Range<u64> {
    seeds_or(SEEDS)
}

/// As [`seeds`], with others in `make test`.
pub fn seeds_or(default: Range<u64>) -> Range<u64> {
    let Ok(named) = std::env::var("RAWLINE_SIM_SEEDS") else { return default };
    let parsed = named.split_once("..").and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
    parsed.unwrap_or_else(|| panic!("RAWLINE_SIM_SEEDS={named} is not FIRST..END, for example 0..10000"))
}

/// Runs worlds with a planted bug until one finds a violation as expected.
pub fn find<B: Debug, V: Debug>(bug: B, violations: impl Fn(u64) -> Vec<V>, expected: fn(&V) -> bool) {
    find_from(0, bug, violations, expected);
}

/// The same for a bug that few worlds meet: begins with a seed that has found it, since the search takes a minute.
/// After a change to the simulation it may be another one, which the test prints.
pub fn find_from<B: Debug, V: Debug>(first: u64, bug: B, violations: impl Fn(u64) -> Vec<V>, expected: fn(&V) -> bool) {
    for seed in (first..SEEDS_TO_FIND).chain(0..first) {
        if let Some(violation) = violations(seed).iter().find(|violation| expected(violation)) {
            println!("{bug:?}: seed {seed} finds {violation:?}");
            return;
        }
    }
    panic!("{SEEDS_TO_FIND} seeds don't find {bug:?}");
}
