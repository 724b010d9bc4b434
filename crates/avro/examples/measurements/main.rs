//! Messages a second of each stage of the article's table, and of ours, over three sets of messages.
//!
//! `cargo run --release -p rawline-avro --example measurements [-- SET [STAGE]]`, SET being `article`, `zipf` or
//! `uniform`, STAGE the first letters of a row. Medians of 7 rounds.

mod allocated;
mod data;
mod stages;

use std::env;
use std::error::Error;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use data::Messages;
use stages::{STAGES, Shared, Stage, Worker};

const SEED: u64 = 42;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let set = env::args().nth(1).unwrap_or_default();
    let stage = env::args().nth(2).unwrap_or_default();
    for (name, make) in SETS.iter().filter(|(name, _)| name.starts_with(&set)) {
        let messages = make();
        let average = messages.bytes() as f64 / messages.len() as f64;
        println!("{name}: {} messages of {average:.0} bytes, {} series", messages.len(), messages.series);
        println!("{:32} {:>12} {:>12} {:>7} {:>12}", "", "M/s 1 thread", "4 threads", "ratio", "bytes/record");
        for stage in STAGES.into_iter().filter(|it| it.name().starts_with(&stage)) {
            report(stage, &messages)?;
        }
    }
    Ok(())
}

type Make = fn() -> Messages;

const SETS: [(&str, Make); 3] = [
    ("article", || Messages::article(65_536)),
    ("zipf", || Messages::zipf(10_000, 500_000, SEED)),
    ("uniform", || Messages::uniform(1_000_000, 2_000_000, SEED)),
];

fn report(stage: Stage, messages: &Messages) -> Result<(), Box<dyn Error>> {
    let shared = Shared::new(messages.series, SEED)?;
    let one = median(stage, messages, &shared, 1);
    let four = median(stage, messages, &shared, 4);
    let mut worker = Worker::new(stage, &shared)?;
    worker.run(messages, 0);
    let bytes = allocated::bytes_of(|| {
        worker.run(messages, 0);
    });
    let bytes = bytes as f64 / messages.len() as f64;
    let check = worker.sum_of_columns();
    println!("{:32} {one:12.2} {four:12.2} {:7.2} {bytes:12.1}   check {check}", stage.name(), four / one);
    Ok(())
}

/// Million messages a second of all threads together, the median of the rounds.
fn median(stage: Stage, messages: &Messages, shared: &Shared, threads: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let rates: Vec<Vec<f64>> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    // Made here, so that no two threads' workers share a cache line.
                    let Ok(mut worker) = Worker::new(stage, shared) else { return Vec::new() };
                    // Threads begin at different places, as readers of different partitions do.
                    let begin = messages.len() / threads * thread;
                    worker.run(messages, begin);
                    barrier.wait();
                    (0..ROUNDS).map(|_| rate(&mut worker, messages, begin)).collect()
                })
            })
            .collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut sums: Vec<f64> =
        (0..ROUNDS).map(|round| rates.iter().filter_map(|thread| thread.get(round)).sum()).collect();
    sums.sort_by(f64::total_cmp);
    sums.get(ROUNDS / 2).copied().unwrap_or_default()
}

fn rate(worker: &mut Worker<'_>, messages: &Messages, begin: usize) -> f64 {
    let start = Instant::now();
    let mut good = 0;
    while start.elapsed() < ROUND {
        good += worker.run(messages, begin).0;
    }
    good as f64 / start.elapsed().as_secs_f64() / 1e6
}
