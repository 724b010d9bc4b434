//! `rawline bench read`: reads records at random offsets, or all in order, from several workers and measures throughput
//! and latency.

mod sequential;

use crate::append::{Appends, append_all, check_dense};
use crate::args::BatchArgs;
use crate::data::{Workload, check_value};
use crate::environment;
use crate::error::BenchError;
use crate::loopback::{LoopbackFigure, LoopbackMethod, SentFile};
use crate::report::{Report, progress};
use crate::runs::{Moved, Run, Runs};
use crate::statistics::{new_histogram, record};
use crate::target::{Target, failed};
use crate::tasks::blocking;
use crate::topics::topic_name;
use hdrhistogram::Histogram;
use rawline_batch::crc32c;
use rawline_client::{Client, Fetched, ReadOptions};
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Number of connections of --with-limit, for any number of workers: that of `bench limits`.
const LIMIT_CONNECTIONS: usize = 16;

/// Measure reads: records at random offsets, one request in flight per worker
///
/// Appends --batches batches to a topic, which is not timed, then reads from it. The client checks each response: the
/// checksums of the batches, the offsets, the number and sizes of the records, the first and last record of each batch,
/// and one record byte for byte.
///
/// With --sequential, each worker reads its part of the topic from the first record to the last, with a consumer.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench read --runs 5 --workers 16 --records-per-batch 256 --requests 20000
  rawline bench read --runs 5 --workers 16 --with-limit --json read.json
  rawline bench read --sequential --workers 1 --records-per-batch 1 --record-size 100 --batches 100000 --passes 10
  rawline bench read --runs 3 --append history.jsonl
  rawline bench read --local-broker=false --topic-name some-topic")]
pub struct Args {
    /// Number of requests per run
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    requests: u64,

    /// Number of records per request
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..))]
    records_per_request: u64,

    /// Read all records in order instead of some at random offsets. With one worker and one record per batch, the topic
    /// is filled with one object per record
    #[arg(long, conflicts_with_all = ["requests", "records_per_request", "with_limit"])]
    sequential: bool,

    /// With --sequential, number of times that a run reads the topic
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    passes: u64,

    /// Topic to read. A topic of a remote broker must exist; it is not filled, and since its records are unknown, only
    /// checksums, offsets and counts are checked [default: a new one]
    #[arg(long, value_name = "TOPIC")]
    topic_name: Option<String>,

    /// Before each run, measure plain sendfile from the page cache to 16 connections, and print the ratio
    #[arg(long)]
    with_limit: bool,

    /// Ignored; RUST_LOG sets the log level. Accepted for the command lines of Seb's benchmark
    #[arg(long, value_name = "LEVEL", hide = true)]
    log_level: Option<i32>,

    #[command(flatten)]
    #[serde(flatten)]
    batch: BatchArgs,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let common = &args.batch.run;
    let report = Report::begin("read", common.target.storage_directory().as_deref(), &args, &common.output)?;
    let target = common.target.start().await?;
    match measure(&args, &target).await {
        Ok(runs) => {
            runs.print();
            report.finish(&runs)
        }
        Err(error) => Err(target.explain(error)),
    }
}

async fn measure(args: &Args, target: &Target) -> Result<Runs, BenchError> {
    let topic = match &args.topic_name {
        Some(name) if !args.batch.run.target.local_broker => existing(target, name).await?,
        _ => fill(args, target).await?,
    };
    let topic = Arc::new(topic);
    let limit_file = if args.with_limit { Some(limit_file(args).await?) } else { None };
    let mut runs = Vec::new();
    let mut latency = new_histogram();
    let BatchArgs { workers, warmup_runs, .. } = args.batch;
    for number in 1..=args.batch.all_runs() {
        let warmup = number <= warmup_runs;
        let requests = Arc::new(if args.sequential { Vec::new() } else { requests(args, topic.records, number) });
        let limit = match &limit_file {
            Some(file) => Some(limit(args, file).await?),
            None => None,
        };
        let what = format!("run {number}/{}", args.batch.all_runs());

        let stopwatch = target.stopwatch();
        let (moved, check, times) = match args.sequential {
            false => read_all(&target.client, &topic, requests, workers, what).await?,
            true => sequential::read_through(&target.client, &topic, args.passes, workers, what).await?,
        };
        let elapsed = stopwatch.stop();

        match args.sequential {
            false => assert_eq!(moved.requests, args.requests, "each request is sent once"),
            true => assert_eq!(moved.records, topic.records * args.passes, "each record is read once in a pass"),
        }
        let shown = if warmup { number } else { number - warmup_runs };
        let run = Run::new(shown, warmup, moved, elapsed, &times, check).with_limit(limit);
        run.print();
        runs.push(run);
        if !warmup {
            latency += times;
        }
    }
    Ok(Runs::new(runs, &latency))
}

/// What plain sendfile moves of as many bytes as a run requests.
async fn limit(args: &Args, file: &Arc<SentFile>) -> Result<LoopbackFigure, BenchError> {
    let file = file.clone();
    let bytes = args.requests * args.records_per_request * u64::from(args.batch.record_size);
    let sent = blocking(move || Ok(file.send(LoopbackMethod::Sendfile, LIMIT_CONNECTIONS, bytes))).await?;
    sent.map_err(|error| BenchError::Failed(format!("plain sendfile failed: {error}")))
}

/// The topic that is read.
struct Topic {
    name: String,
    records: u64,
    /// Its records; unknown of a topic that existed before.
    contents: Option<Contents>,
}

struct Contents {
    workload: Arc<Workload>,
    /// For each batch of the topic, its number among those sent.
    numbers: Vec<u64>,
}

impl Contents {
    /// The number, among all records sent, of the record at an offset.
    fn place(&self, offset: u64) -> Option<u64> {
        let records_per_batch = self.workload.records_per_batch();
        let number = self.numbers.get(usize::try_from(offset / records_per_batch).ok()?)?;
        Some(number * records_per_batch + offset % records_per_batch)
    }
}

async fn existing(target: &Target, name: &str) -> Result<Topic, BenchError> {
    let info = target.client.topic(name).await.map_err(|error| failed("reading the topic's state", error))?;
    if info.first_offset != 0 || info.next_offset < 2 {
        return Err(BenchError::Failed(format!(
            "topic {name} holds records {}..{}; give --topic-name a topic that begins at offset 0 and has at least 2",
            info.first_offset, info.next_offset
        )));
    }
    Ok(Topic { name: name.to_owned(), records: info.next_offset, contents: None })
}

async fn fill(args: &Args, target: &Target) -> Result<Topic, BenchError> {
    let name = args.topic_name.clone().unwrap_or_else(|| topic_name("read", 1));
    let BatchArgs { workers, batches, records_per_batch, record_size, .. } = args.batch;
    let workload = Arc::new(Workload::new(args.batch.run.seed, records_per_batch, record_size));
    let sent = workload.clone();
    let began = Instant::now();
    let (mut appended, _) = append_all(
        &target.client,
        Appends {
            what: "filling the topic".to_owned(),
            topics: vec![name.clone()],
            batches,
            workers,
            sizes: workload.sizes().to_vec(),
            data: Box::new(move |number| sent.stamped_data(number)),
        },
    )
    .await?;
    check_dense(&mut appended, workload.records_per_batch())?;
    let records = batches * workload.records_per_batch();
    if records < 2 {
        return Err(BenchError::Usage("reads need a topic of at least 2 records; raise --batches".to_owned()));
    }
    println!("filled topic {name} with {records} records in {:.2} s\n", began.elapsed().as_secs_f64());
    let numbers = appended.iter().map(|batch| batch.number).collect();
    Ok(Topic { name, records, contents: Some(Contents { workload, numbers }) })
}

/// A file as long as the topic's records, so that both fit the CPU's caches equally badly.
async fn limit_file(args: &Args) -> Result<Arc<SentFile>, BenchError> {
    let parent = args.batch.run.target.storage_directory().unwrap_or_else(environment::temporary_directory);
    let BatchArgs { batches, records_per_batch, record_size, .. } = args.batch;
    let bytes = batches * u64::from(records_per_batch) * u64::from(record_size);
    blocking(move || {
        let directory = crate::local_broker::new_directory(&parent)?;
        SentFile::create(directory.path(), bytes).map(Arc::new).map_err(|error| {
            BenchError::Failed(format!(
                "can't write the file for --with-limit: {error}; free some space, or use another disk with --storage"
            ))
        })
    })
    .await
}

/// Offset and number of records of each request, as Seb's benchmark draws them: any offset except the last
/// record's, and fewer records where the topic ends.
fn requests(args: &Args, records: u64, run: u32) -> Vec<(u64, u64)> {
    let mut random = fastrand::Rng::with_seed(args.batch.run.seed ^ (u64::from(run) << 32));
    (0..args.requests)
        .map(|_| {
            let offset = random.u64(0..records - 1);
            (offset, args.records_per_request.min(records - 1 - offset))
        })
        .collect()
}

async fn read_all(
    client: &Client,
    topic: &Arc<Topic>,
    requests: Arc<Vec<(u64, u64)>>,
    workers: u32,
    what: String,
) -> Result<Tally, BenchError> {
    let bar = progress(what, requests.len() as u64);
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (client, topic, requests, next, bar) =
            (client.clone(), topic.clone(), requests.clone(), next.clone(), bar.clone());
        tasks.spawn(async move {
            let mut moved = Moved::default();
            let mut check = 0u64;
            let mut latency = new_histogram();
            let mut fetched = Fetched::default();
            while let Some(&(offset, records_max)) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let wait = Duration::from_secs(5);
                let options = ReadOptions { offset, records_max, wait, ..ReadOptions::default() };
                let sent = Instant::now();
                fetched = client.read(&topic.name, &options, fetched).await.map_err(|error| failed("a read", error))?;
                record(&mut latency, sent.elapsed());
                // One record of each response; the same one in each run of a seed.
                let chosen = offset + (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % records_max;
                let records = offset..offset + records_max;
                let (bytes, value) = check_response(&topic, &fetched, &records, [chosen]).map_err(|what| {
                    BenchError::Failed(format!(
                        "requested {records_max} records at offset {offset}, but the response is wrong: {what}"
                    ))
                })?;
                check = check.wrapping_add(value);
                moved += Moved { requests: 1, batches: fetched.metas().len() as u64, records: records_max, bytes };
                bar.inc(1);
            }
            Ok::<_, BenchError>((moved, check, latency))
        });
    }
    let read = joined(tasks).await?;
    bar.finish_and_clear();
    Ok(read)
}

/// The read records, their check value, and the latencies.
type Tally = (Moved, u64, Histogram<u64>);

/// The sum of all workers.
async fn joined(mut tasks: JoinSet<Result<Tally, BenchError>>) -> Result<Tally, BenchError> {
    let mut moved = Moved::default();
    let mut check = 0u64;
    let mut latency = new_histogram();
    while let Some(task) = tasks.join_next().await {
        let task = task.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))?;
        let (more, value, times) = task?;
        moved += more;
        check = check.wrapping_add(value);
        latency += times;
    }
    Ok((moved, check, latency))
}

/// Returns the bytes of the response's records and its check value, or its error. It must hold the records
/// `expected`; those that are `chosen`, in order, are compared byte for byte. The client has checked the batches'
/// checksums already, so not every byte is compared again.
fn check_response(
    topic: &Topic,
    fetched: &Fetched,
    expected: &Range<u64>,
    chosen: impl IntoIterator<Item = u64>,
) -> Result<(u64, u64), String> {
    let found = fetched.first_offset()..fetched.next_offset();
    if found != *expected {
        return Err(format!("it holds records {found:?}"));
    }
    let mut bytes = 0;
    let mut check = 0u64;
    let mut chosen = chosen.into_iter().peekable();
    for (first_offset, batch) in fetched.batches() {
        let records = u64::from(batch.header().records);
        bytes += u64::from(batch.header().raw_bytes);
        let Some(contents) = &topic.contents else {
            check ^= check_value(first_offset, batch.header().raw_bytes);
            continue;
        };
        let record_bytes = contents.workload.sizes().first().copied().unwrap_or_default();
        if batch.sizes().iter().any(|size| size.get() != record_bytes) {
            return Err(format!("a size in the batch at offset {first_offset} is not {record_bytes}"));
        }
        let record = |offset: u64| {
            let start = (offset - first_offset) as usize * record_bytes as usize;
            batch.data().get(start..start + record_bytes as usize).unwrap_or_default()
        };
        for offset in [first_offset, first_offset + records - 1] {
            if !contents.place(offset).is_some_and(|place| contents.workload.has_stamp(record(offset), place)) {
                return Err(format!("the record at offset {offset} is another one"));
            }
        }
        while let Some(chosen) = chosen.next_if(|chosen| *chosen < first_offset + records) {
            let record = record(chosen);
            if !contents.place(chosen).is_some_and(|place| contents.workload.is_stamped_record(record, place)) {
                return Err(format!("the record at offset {chosen} has other bytes"));
            }
            check = check.wrapping_add(check_value(chosen, crc32c(record)));
        }
    }
    Ok((bytes, check))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn requests_follow_from_the_seed_and_stay_inside_the_topic() {
        let args = Cli::parse_from(["x", "--requests", "1000", "--records-per-request", "50"]).args;
        let drawn = requests(&args, 200, 1);
        assert_eq!(drawn, requests(&args, 200, 1));
        assert_ne!(drawn, requests(&args, 200, 2));
        for &(offset, count) in &drawn {
            assert!((1..=50).contains(&count) && offset + count <= 199, "{offset} {count}");
        }
        assert!(drawn.iter().any(|&(_, count)| count < 50));
    }
}
