//! `rawline bench measurements`: throughput of each stage of the article's table, of Rawline's decoder, and of others.

mod data;
mod others;
mod stages;

use super::allocated;
use super::args::OutputArgs;
use super::blocking;
use super::history::{MainFigures, Measured};
use super::report::{Report, progress};
use crate::BenchError;
use data::Messages;
use indicatif::ProgressBar;
use others::Other;
use serde::Serialize;
use stages::{STAGES, Shared, Stage, Worker};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Measure decoders of measurements: those of the article on them, Rawline's, and other libraries
///
/// Three sets of messages: `article`, the one message of 81 bytes of the article's benchmark; `zipf`, 10,000 series
/// with five tags, Zipf-distributed; `uniform`, 1,000,000 series, equally frequent. Stages 1 to 4 are the article's,
/// each with the output of its original: records of strings (1, 2), records of ids from an interner (3a, 3b, 4). Stage
/// 5 is Rawline's: columns of series ids, times and values. Other libraries decode the first two sets.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench measurements
  rawline bench measurements --set article --stage 5 --rounds 21 --json measurements.json
  rawline bench measurements --append history.jsonl")]
pub struct Args {
    /// Set of messages to measure; repeatable [default: all]
    #[arg(long, value_enum, value_name = "SET")]
    set: Vec<Set>,

    /// Prefix of the names of the stages and libraries to measure [default: all]
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    stage: String,

    /// Number of threads that share one interner or table, compared with one thread alone
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=64))]
    threads: u32,

    /// Number of turns of each stage; their median is reported
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Length of a turn in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    round_ms: u64,

    /// Seed of the series, messages and times
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// Where the figures go.
    #[command(flatten)]
    #[serde(flatten)]
    output: OutputArgs,
}

/// A set of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// One message of 81 bytes, repeated
    Article,
    /// 10,000 series, Zipf-distributed
    Zipf,
    /// 1,000,000 series, equally frequent
    Uniform,
}

impl Set {
    fn messages(self, seed: u64) -> Messages {
        match self {
            Set::Article => Messages::article(65_536),
            Set::Zipf => Messages::zipf(10_000, 500_000, seed),
            Set::Uniform => Messages::uniform(1_000_000, 2_000_000, seed),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Set::Article => "article",
            Set::Zipf => "zipf",
            Set::Uniform => "uniform",
        }
    }
}

/// Contents of `--json`.
#[derive(Debug, Default, Serialize)]
struct Figures {
    sets: Vec<SetFigures>,
}

#[derive(Debug, Serialize)]
struct SetFigures {
    set: Set,
    messages: usize,
    message_bytes: f64,
    series: u32,
    stages: Vec<Row>,
    others: Vec<Row>,
}

/// One stage or library.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    /// Million messages per second of one thread.
    one_thread: f64,
    /// Million messages per second of all threads together, if they were run.
    all_threads: Option<f64>,
    /// Bytes allocated per message after warm-up.
    allocated_bytes: f64,
    /// Sum of the decoded values.
    check: f64,
}

/// The article's decoders in million records per second, on 1 thread and on 4: Agoda's AvroDeserialize, commit ab858a0,
/// OpenJDK 17, on an idle virtual machine with 4 cores (AMD EPYC).
const ORIGINAL: [(&str, [f64; 2]); 5] = [
    ("1  Avro library", [2.46, 8.16]),
    ("2  hand-written", [3.81, 15.05]),
    ("3a interning, HashMap tags", [3.48, 14.32]),
    ("3b interning, array tags", [3.95, 15.04]),
    ("4  shared concurrent interner", [5.51, 22.28]),
];

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let report = Report::begin("measurements", None, &args, &args.output)?;
    let figures = blocking(move || measure(&args)).await?;
    report.finish(&figures)
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        for set in &self.sets {
            for row in set.stages.iter().chain(&set.others) {
                let name = format!("{} {}", set.set.name(), row.name);
                let all_threads = row.all_threads.map(|millions| millions * 1e6);
                figures.add(&format!("{name} messages per second"), row.one_thread * 1e6);
                figures.add_some(&format!("{name} all threads messages per second"), all_threads);
                figures.add(&format!("{name} allocated bytes per message"), row.allocated_bytes);
            }
        }
        figures
    }
}

fn measure(args: &Args) -> Result<Figures, BenchError> {
    let mut figures = Figures::default();
    for set in [Set::Article, Set::Zipf, Set::Uniform] {
        if args.set.is_empty() || args.set.contains(&set) {
            figures.sets.push(measure_set(args, set)?);
        }
    }
    Ok(figures)
}

fn measure_set(args: &Args, set: Set) -> Result<SetFigures, BenchError> {
    let failed = |error: Box<dyn std::error::Error>| BenchError::Failed(error.to_string());
    let messages = set.messages(args.seed);
    let message_bytes = messages.bytes() as f64 / messages.len() as f64;
    println!(
        "{}: {} messages of {message_bytes:.0} bytes, {} series; million messages per second",
        set.name(),
        messages.len(),
        messages.series
    );
    let threads = format!("{} threads", args.threads);
    println!("{:<36} {:>9} {threads:>10} {:>6} {:>11}   the original, JVM", "", "1 thread", "ratio", "B/message");
    let chosen: Vec<Stage> = STAGES.into_iter().filter(|stage| stage.name().starts_with(&args.stage)).collect();
    // The others keep no table, so a million series are the same to them as ten thousand.
    let others_in_turn = others::ALL.into_iter().filter(|_| set != Set::Uniform);
    let other: Vec<Other> = others_in_turn.filter(|other| other.name().starts_with(&args.stage)).collect();
    let bar = progress(set.name().to_owned(), (chosen.len() + other.len()) as u64);
    let mut stages = Vec::new();
    for stage in chosen {
        let row = stage_row(args, stage, &messages).map_err(failed)?;
        let original = ORIGINAL.iter().find(|(name, _)| *name == row.name).filter(|_| set == Set::Article);
        let original = original.map_or(String::new(), |(_, [one, four])| format!("{one:.2} / {four:.2}"));
        print(&bar, &row, &original);
        stages.push(row);
        bar.inc(1);
    }
    let mut others = Vec::new();
    for other in other {
        let row = other_row(args, other, &messages).map_err(failed)?;
        print(&bar, &row, "");
        others.push(row);
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!();
    Ok(SetFigures { set, messages: messages.len(), message_bytes, series: messages.series, stages, others })
}

fn print(bar: &ProgressBar, row: &Row, original: &str) {
    let all = row.all_threads.map_or(String::new(), |all| format!("{all:.2}"));
    let ratio = row.all_threads.map_or(String::new(), |all| format!("{:.2}", all / row.one_thread));
    bar.suspend(|| {
        println!(
            "{:<36} {:>9.2} {all:>10} {ratio:>6} {:>11.1}   {original:<14} check {}",
            row.name, row.one_thread, row.allocated_bytes, row.check
        );
    });
}

fn stage_row(args: &Args, stage: Stage, messages: &Messages) -> Result<Row, Box<dyn std::error::Error>> {
    let shared = Shared::new(messages.series, args.seed)?;
    let one_thread = median(args, stage, messages, &shared, 1);
    let all_threads = Some(median(args, stage, messages, &shared, args.threads as usize));
    let mut worker = Worker::new(stage, &shared)?;
    worker.run(messages);
    let (mut good, mut check) = (0, 0.0);
    let bytes = allocated::bytes_of(|| (good, check) = worker.run(messages));
    check_all_decoded(stage.name(), good, messages)?;
    let allocated_bytes = bytes as f64 / messages.len() as f64;
    Ok(Row { name: stage.name(), one_thread, all_threads, allocated_bytes, check })
}

/// Million messages a second of all threads together, the median of the rounds.
fn median(args: &Args, stage: Stage, messages: &Messages, shared: &Shared, threads: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let rates: Vec<Vec<f64>> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    // Created here, so that the workers of two threads don't share a cache line.
                    let mut worker = Worker::new(stage, shared).ok();
                    // Threads begin at different messages, as readers of different partitions do.
                    let mut at = messages.len() / threads * thread;
                    if let Some(worker) = &mut worker {
                        worker.run(messages);
                    }
                    barrier.wait();
                    let Some(worker) = &mut worker else { return Vec::new() };
                    (0..args.rounds).map(|_| rate(args, || worker.run_batch(messages, &mut at))).collect()
                })
            })
            .collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let round = |round: u32| rates.iter().filter_map(|thread| thread.get(round as usize)).sum();
    middle((0..args.rounds).map(round).collect())
}

fn other_row(args: &Args, other: Other, messages: &Messages) -> Result<Row, Box<dyn std::error::Error>> {
    let mut reader = other.reader(messages.series, args.seed)?;
    let (good, check) = reader.run(messages);
    check_all_decoded(other.name(), good, messages)?;
    let rates = (0..args.rounds).map(|_| rate(args, || reader.run(messages).0)).collect();
    let bytes = allocated::bytes_of(|| {
        reader.run(messages);
    });
    let allocated_bytes = bytes as f64 / messages.len() as f64;
    Ok(Row { name: other.name(), one_thread: middle(rates), all_threads: None, allocated_bytes, check })
}

/// Fails unless every message was decoded: a figure of fewer would be wrong.
fn check_all_decoded(name: &str, good: u64, messages: &Messages) -> Result<(), String> {
    let all = messages.len() as u64;
    if good == all { Ok(()) } else { Err(format!("{name} decoded {good} of {all} messages")) }
}

fn rate(args: &Args, mut run: impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    let mut good = 0;
    while start.elapsed() < Duration::from_millis(args.round_ms) {
        good += run();
    }
    good as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}
