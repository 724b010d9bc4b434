//! `rawline bench write`: appends batches from several workers and measures how fast they are answered.

use super::append::{Appends, append_all, check_dense};
use super::data::{Workload, check_value};
use super::read_back::read_back;
use super::report::{Moved, Report, Run, Runs, Stopwatch, new_histogram};
use super::target::{Target, TargetArgs};
use super::{default_workers, topic_name};
use crate::BenchError;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Append batches from several workers; each batch's answer is awaited
///
/// Every run appends to a topic of its own. A local broker is started anew for each run on an empty folder, so that
/// runs are alike and the disk holds one run at a time; before the clock starts it is warmed up with --warmup-batches.
/// The records exist before they are sent; the client makes each batch's header, sizes and checksum in the timed part.
/// Then the whole topic is read back and compared with what was sent.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench write -r 10 -w 16
  rawline bench write -r 10 -w 16 --durability page-cache --json write.json
  rawline bench write --local-broker=false --remote-broker-address http://127.0.0.1:51313

A small --batcher-block-time, which other brokers need to gather batches, is not needed here: while one commit is being
synced, what arrives becomes the next.")]
pub struct Args {
    /// Number of runs that count
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// Number of workers [default: two for each core]
    #[arg(short, long, default_value_t = default_workers(), hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: u32,

    /// Batches to append in each run
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    pub batches: u64,

    /// Records in each batch
    #[arg(short = 'b', long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub records_per_batch: u32,

    /// Bytes of each record
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub record_size: u32,

    /// Runs before those that count: memory that nobody has used for a while is slow on virtual machines
    #[arg(long, default_value_t = 1)]
    pub warmup_runs: u32,

    /// Batches appended to another topic of each new local broker before the clock starts
    #[arg(long, default_value_t = 512)]
    pub warmup_batches: u64,

    /// The records' bytes follow from it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Write the same figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Which broker, with which settings.
    #[command(flatten)]
    #[serde(flatten)]
    pub target: TargetArgs,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let report = Report::begin("write", args.target.storage_folder().as_deref(), &args)?;
    let workload = Arc::new(Workload::new(args.seed, args.records_per_batch, args.record_size));
    let mut runs = Vec::new();
    let mut latency = new_histogram();
    for number in 1..=args.warmup_runs + args.runs {
        let warmup = number <= args.warmup_runs;
        let target = args.target.start().await?;
        let (run, times) = match run_once(&args, &target, &workload, number).await {
            Ok(done) => done,
            Err(error) => return Err(target.explain(error)),
        };
        let run = Run { warmup, number: if warmup { number } else { number - args.warmup_runs }, ..run };
        run.print();
        runs.push(run);
        if !warmup {
            latency += times;
        }
    }
    let runs = Runs::new(runs, &latency);
    runs.print();
    report.finish(&runs, args.json.as_deref())
}

async fn run_once(
    args: &Args,
    target: &Target,
    workload: &Arc<Workload>,
    number: u32,
) -> Result<(Run, Histogram<u64>), BenchError> {
    let appends = |what: &str, topic: &str, batches: u64| {
        let workload = workload.clone();
        Appends {
            what: what.to_owned(),
            topic: topic.to_owned(),
            batches,
            workers: args.workers,
            sizes: workload.sizes().to_vec(),
            data: Box::new(move |number| workload.data(number)),
        }
    };
    if args.target.local_broker {
        append_all(&target.client, appends("warming up", "warm-up", args.warmup_batches)).await?;
    }
    let topic = topic_name("write", number);
    let what = format!("run {number}/{}", args.warmup_runs + args.runs);

    let stopwatch = Stopwatch::start(target.meter());
    let (mut answered, latency) = append_all(&target.client, appends(&what, &topic, args.batches)).await?;
    let elapsed = stopwatch.stop();

    check_dense(&mut answered, workload.records_per_batch())?;
    let crcs = workload.data_crcs();
    let sent = answered.iter().fold(0u64, |sum, answer| {
        let crc = crcs.get((answer.number % crcs.len() as u64) as usize).copied().unwrap_or_default();
        sum.wrapping_add(check_value(answer.first_offset, crc))
    });
    let found = read_back(&target.client, &topic, args.batches, workload.records_per_batch()).await?;
    if found != sent {
        return Err(BenchError::Failed(format!(
            "the broker's bytes are not those that were sent: check value {found:016x}, expected {sent:016x}"
        )));
    }
    let records = args.batches * workload.records_per_batch();
    let moved =
        Moved { requests: args.batches, batches: args.batches, records, bytes: records * u64::from(args.record_size) };
    Ok((Run::new(number, false, moved, elapsed, &latency, found), latency))
}
