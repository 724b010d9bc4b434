//! `rawline bench write`: appends batches from several workers and measures throughput and latency.

use super::append::{Appends, append_all, by_topic, check_dense, check_value_of};
use super::args::BatchArgs;
use super::data::Workload;
use super::read_back::{Sent, read_back};
use super::report::Report;
use super::runs::{Moved, Run, Runs};
use super::statistics::new_histogram;
use super::target::{Target, failed};
use super::topics::{self, topic_name};
use crate::error::BenchError;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::sync::Arc;

/// Topic of the batches before the clock starts.
const WARMUP_TOPIC: &str = "warm-up";

/// Measure appends: batches from several workers, one request in flight per worker
///
/// Every run appends to its own topic, or to --topics of them in turns. A local broker is started on an empty
/// directory for each run, so that runs are alike and the disk holds one run at a time; it is warmed up with
/// --warmup-batches before the clock starts. Records exist before they are sent; the timed part includes the client's
/// work of making each batch's header, sizes and checksum. Afterwards every topic is read back as a whole and compared
/// with the sent ones. On a bucket the PUT requests are counted: per GiB, per second, and in the time of one
/// --batch-wait.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench write --runs 10 --workers 16
  rawline bench write --runs 10 --durability page-cache --json write.json
  rawline bench write --runs 3 --append history.jsonl
  rawline bench write --workers 128 --storage s3://BUCKET/PREFIX --store-delay 50ms
  rawline bench write --workers 256 --topics 1000 --records-per-batch 1 --batches 20000 --warmup-runs 0
  rawline bench write --local-broker=false --remote-broker-address http://127.0.0.1:51313

A small --batcher-block-time, which other brokers need to gather batches, is not needed here: \
appends that arrive while a commit is synced form the next commit.")]
pub struct Args {
    /// Number of batches appended to another topic of each local broker before the clock starts
    #[arg(long, value_name = "N", default_value_t = 512)]
    warmup_batches: u64,

    /// Number of topics, which receive batches in turns; created before the clock starts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    topics: u32,

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
    let appends = |what: &str, topics: Vec<String>, batches: u64| {
        let workload = workload.clone();
        Appends {
            what: what.to_owned(),
            topics,
            batches,
            workers,
            sizes: workload.sizes().to_vec(),
            data: Box::new(move |number| workload.data(number)),
        }
    };
    if args.batch.run.target.local_broker {
        append_all(&target.client, appends("warming up", vec![WARMUP_TOPIC.to_owned()], args.warmup_batches)).await?;
        // A broker may have a maximum number of topics, and --topics can be just that.
        if args.topics > 1 && args.warmup_batches > 0 {
            let deleted = target.client.delete_topic(WARMUP_TOPIC).await;
            deleted.map_err(|error| failed("deleting the topic of the warm-up", error))?;
        }
    }
    let names = topics::names(&topic_name("write", number), args.topics);
    topics::create(&target.client, &names).await?;
    let what = format!("run {number}/{}", args.batch.all_runs());

    // The run is measured without these counts, too.
    let used_before = target.client.bucket_usage().await.ok();
    let stopwatch = target.stopwatch();
    let (appended, latency) = append_all(&target.client, appends(&what, names.clone(), batches)).await?;
    let elapsed = stopwatch.stop();
    let used = target.client.bucket_usage().await.ok();
    let used = used.zip(used_before).and_then(|(after, before)| after.since(&before));

    let mut sent = Vec::with_capacity(names.len());
    for (topic, mut appended) in names.into_iter().zip(by_topic(appended, args.topics)) {
        check_dense(&mut appended, workload.records_per_batch())?;
        sent.push(Sent { topic, batches: appended.len() as u64, check: check_value_of(&appended, workload) });
    }
    let found = read_back(&target.client, sent, workload.records_per_batch()).await?;
    let records = batches * workload.records_per_batch();
    let moved = Moved { requests: batches, batches, records, bytes: records * u64::from(record_size) };
    let batch_wait = args.batch.run.target.batch_wait();
    Ok((Run::new(number, false, moved, elapsed, &latency, found).with_bucket(used, batch_wait), latency))
}
