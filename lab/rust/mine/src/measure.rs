//! Measures rows in interleaved rounds, so that the machine's noise affects all alike; medians with bootstrapped
//! intervals.

use crate::candidate::Candidate;
use std::time::{Duration, Instant};

/// The timed operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Message to bytes.
    Encode,
    /// Bytes to message.
    Decode,
    /// Bytes to one field.
    Field,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 3] = [Operation::Encode, Operation::Decode, Operation::Field];

    /// The name in result lines.
    pub fn key(self) -> &'static str {
        match self {
            Operation::Encode => "encode",
            Operation::Decode => "decode",
            Operation::Field => "field",
        }
    }
}

/// Rounds: enough for an interval of a median, and each row's samples are spread over the whole run.
pub const ROUNDS: usize = 40;
/// A sample shorter than this is mostly the clock.
const SAMPLE_MIN: Duration = Duration::from_micros(200);
const RESAMPLES: usize = 1000;

/// Nanoseconds an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// The median of the rounds.
    pub ns: f64,
    /// Lower end of the interval of 95 %.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One row's operation.
struct Task {
    candidate: usize,
    operation: Operation,
    /// Operations a sample.
    count: usize,
    /// The message with which the next sample begins.
    next: usize,
    samples: Vec<f64>,
}

/// Times every operation of every candidate in about `budget`. `told` gets the number of completed rounds. Gives each
/// candidate's timings in the order of [`Operation::ALL`].
pub fn measure(candidates: &mut [Box<dyn Candidate>], budget: Duration, mut told: impl FnMut(u64)) -> Vec<Vec<Timing>> {
    let tasks_count = candidates.len() * Operation::ALL.len();
    let sample = budget.div_f64((tasks_count * (ROUNDS + 2)).max(1) as f64).max(SAMPLE_MIN);
    let mut tasks = Vec::with_capacity(tasks_count);
    for (index, candidate) in candidates.iter_mut().enumerate() {
        for operation in Operation::ALL {
            let count = calibrate(candidate.as_mut(), operation, sample);
            tasks.push(Task { candidate: index, operation, count, next: 0, samples: Vec::with_capacity(ROUNDS) });
        }
    }
    // The order is another one in each round, and the same in each run.
    let mut random = fastrand::Rng::with_seed(1);
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    for round in 0..ROUNDS {
        random.shuffle(&mut order);
        for place in &order {
            let Some(task) = tasks.get_mut(*place) else { continue };
            let Some(candidate) = candidates.get_mut(task.candidate) else { continue };
            let begin = Instant::now();
            candidate.run(task.operation, task.next, task.count);
            task.samples.push(begin.elapsed().as_nanos() as f64 / task.count as f64);
            task.next += task.count;
        }
        told(round as u64 + 1);
    }
    let mut timings = vec![Vec::new(); candidates.len()];
    for task in &mut tasks {
        if let Some(of_candidate) = timings.get_mut(task.candidate) {
            of_candidate.push(timing(&mut task.samples, &mut random));
        }
    }
    timings
}

/// The number of operations that fill a sample; finding it also warms up.
fn calibrate(candidate: &mut dyn Candidate, operation: Operation, sample: Duration) -> usize {
    let mut count = 1;
    loop {
        let begin = Instant::now();
        candidate.run(operation, 0, count);
        let elapsed = begin.elapsed();
        if elapsed >= sample / 2 || count >= 1 << 24 {
            let wanted = count as f64 * sample.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
            return (wanted as usize).max(1);
        }
        count *= 2;
    }
}

fn timing(samples: &mut [f64], random: &mut fastrand::Rng) -> Timing {
    samples.sort_by(f64::total_cmp);
    let mut medians: Vec<f64> = Vec::with_capacity(RESAMPLES);
    let mut drawn: Vec<f64> = Vec::with_capacity(samples.len());
    for _ in 0..RESAMPLES {
        drawn.clear();
        drawn.extend((0..samples.len()).filter_map(|_| samples.get(random.usize(..samples.len()))));
        drawn.sort_by(f64::total_cmp);
        medians.push(median(&drawn));
    }
    medians.sort_by(f64::total_cmp);
    let share = |share: f64| medians.get((share * RESAMPLES as f64) as usize).copied().unwrap_or_default();
    Timing { ns: median(samples), low: share(0.025), high: share(0.975) }
}

/// Of sorted samples.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    if sorted.len().is_multiple_of(2) { (at(middle.saturating_sub(1)) + at(middle)) / 2.0 } else { at(middle) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_and_outliers_do_not_move_it() {
        let mut samples: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 5)).collect();
        samples[7] = 1e6;
        let Timing { ns, low, high } = timing(&mut samples, &mut fastrand::Rng::with_seed(1));
        assert!(low <= ns && ns <= high && high < 105.0, "{low} {ns} {high}");
    }
}
