//! `rawline bench write`: appends batches from several workers and measures throughput and latency.

use super::append::{Appends, append_all, check_dense, check_value_of};
use super::args::BatchArgs;
use super::data::Workload;
use super::read_back::read_back;
use super::report::Report;
use super::runs::{Moved, Run, Runs, Stopwatch};
use super::statistics::new_histogram;
use super::target::Target;
use super::topic_name;
use crate::BenchError;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::sync::Arc;

/// Measure appends: batches from several workers, one request in flight per worker
///
/// Every run appends to its own topic. A local broker is started on an empty directory for each run, so that runs are
/// alike and the disk holds one run at a time; it is warmed up with --warmup-batches before the clock starts. Records
/// exist before they are sent; the timed part includes the client's work of making each batch's header, sizes and
/// checksum. Afterwards the whole topic is read back and compared with what was sent.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench write --runs 10 --workers 16
  rawline bench write --runs 10 --durability page-cache --json write.json
  rawline bench write --runs 3 --append history.jsonl
  rawline bench write --local-broker=false --remote-broker-address http://127.0.0.1:51313

A small --batcher-block-time, which other brokers need to gather batches, is not needed here: \
appends that arrive while a commit is synced form the next commit.")]
pub struct Args {
    /// Number of batches appended to another topic of each local broker before the clock starts
    #[arg(long, value_name = "N", default_value_t = 512)]
    warmup_batches: u64,

    #[command(flatten)]
    #[serde(flatten)]
    batch: BatchArgs,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let BatchArgs { warmup_runs, run: common, .. } = &args.batch;
    let report = Report::begin("write", common.target.storage_directory().as_deref(), &args, &common.output)?;
    let workload = Arc::new(Workload::new(common.seed, args.batch.records_per_batch, args.batch.record_size));
    let mut runs = Vec::new();
    let mut latency = new_histogram();
    for number in 1..=args.batch.all_runs() {
        let warmup = number <= *warmup_runs;
        let target = common.target.start().await?;
        let (run, times) = match run_once(&args, &target, &workload, number).await {
            Ok(done) => done,
            Err(error) => return Err(target.explain(error)),
        };
        let run = Run { warmup, number: if warmup { number } else { number - warmup_runs }, ..run };
        run.print();
        runs.push(run);
        if !warmup {
            latency += times;
        }
    }
    let runs = Runs::new(runs, &latency);
    runs.print();
    report.finish(&runs)
}

async fn run_once(
    args: &Args,
    target: &Target,
    workload: &Arc<Workload>,
    number: u32,
) -> Result<(Run, Histogram<u64>), BenchError> {
    let BatchArgs { workers, batches, record_size, .. } = args.batch;
    let appends = |what: &str, topic: &str, batches: u64| {
        let workload = workload.clone();
        Appends {
            what: what.to_owned(),
            topic: topic.to_owned(),
            batches,
            workers,
            sizes: workload.sizes().to_vec(),
            data: Box::new(move |number| workload.data(number)),
        }
    };
    if args.batch.run.target.local_broker {
        append_all(&target.client, appends("warming up", "warm-up", args.warmup_batches)).await?;
    }
    let topic = topic_name("write", number);
    let what = format!("run {number}/{}", args.batch.all_runs());

    // A broker of an earlier version counts no requests.
    let used_before = target.client.bucket_usage().await.ok();
    let stopwatch = Stopwatch::start(target.meter());
    let (mut appended, latency) = append_all(&target.client, appends(&what, &topic, batches)).await?;
    let elapsed = stopwatch.stop();
    let used = target.client.bucket_usage().await.ok();
    let used = used.zip(used_before).and_then(|(after, before)| after.since(&before));

    check_dense(&mut appended, workload.records_per_batch())?;
    let sent = check_value_of(&appended, workload);
    let found = read_back(&target.client, &topic, batches, workload.records_per_batch(), sent).await?;
    let records = batches * workload.records_per_batch();
    let moved = Moved { requests: batches, batches, records, bytes: records * u64::from(record_size) };
    Ok((Run::new(number, false, moved, elapsed, &latency, found).with_bucket(used), latency))
}
