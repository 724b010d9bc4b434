//! Times several ways to do the same work. They take turns, so that other load on the machine affects all alike.

use indicatif::ProgressBar;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::hint::black_box;

/// Minimum length of one turn of one contender, about.
const TURN_NS: f64 = 2e6;

/// One way to do the work.
struct Contender<'a> {
    name: &'static str,
    work: Box<dyn FnMut() -> u64 + 'a>,
    turns_ns: Vec<f64>,
    operations: u32,
    check: u64,
}

/// The contenders.
pub struct Race<'a> {
    contenders: Vec<Contender<'a>>,
    /// Number of operations in one call of a contender.
    scale: f64,
}

/// CPU time of one operation, of the thread that does it.
#[derive(Debug, Clone, Serialize)]
pub struct Time {
    /// Name of the contender.
    pub name: &'static str,
    /// Median of its turns in nanoseconds.
    pub median_ns: f64,
    /// Its fastest turn.
    pub min_ns: f64,
    /// Its slowest turn.
    pub max_ns: f64,
    /// Result of the work: equal for contenders that did the same.
    pub check: u64,
}

impl<'a> Race<'a> {
    /// A race in which one call of a contender does this many operations.
    pub fn new(operations_per_call: usize) -> Race<'a> {
        Race { contenders: Vec::new(), scale: operations_per_call.max(1) as f64 }
    }

    /// Adds a contender. Its result must be the same at every call.
    pub fn add(&mut self, name: &'static str, work: impl FnMut() -> u64 + 'a) {
        self.contenders.push(Contender { name, work: Box::new(work), turns_ns: Vec::new(), operations: 1, check: 0 });
    }

    /// Each contender takes `rounds` turns, after some that warm up and find the number of calls that fit into one.
    pub fn run(mut self, rounds: u32, bar: &ProgressBar) -> Vec<Time> {
        for contender in &mut self.contenders {
            contender.check = (contender.work)();
            let mut turn = contender.turn();
            while turn * f64::from(contender.operations) < TURN_NS / 2.0 {
                contender.operations *= 2;
                turn = contender.turn();
            }
        }
        for _ in 0..rounds {
            for contender in &mut self.contenders {
                let turn = contender.turn();
                contender.turns_ns.push(turn / self.scale);
            }
            bar.inc(1);
        }
        self.contenders.into_iter().map(Contender::time).collect()
    }
}

impl Contender<'_> {
    /// Nanoseconds per call.
    fn turn(&mut self) -> f64 {
        let start = thread_ns();
        for _ in 0..self.operations {
            black_box((self.work)());
        }
        (thread_ns() - start) / f64::from(self.operations)
    }

    fn time(mut self) -> Time {
        self.turns_ns.sort_by(f64::total_cmp);
        let at = |place: usize| self.turns_ns.get(place).copied().unwrap_or_default();
        let last = self.turns_ns.len().saturating_sub(1);
        Time { name: self.name, median_ns: at(last / 2), min_ns: at(0), max_ns: at(last), check: self.check }
    }
}

fn thread_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
