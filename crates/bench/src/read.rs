//! `rawline bench read`: reads records at random offsets from several workers and measures how fast they come.

use super::append::{Appends, append_all, check_dense};
use super::data::{Workload, check_value};
use super::limits::{LoopbackMethod, SentFile};
use super::report::{Moved, Report, Run, Runs, Stopwatch, new_histogram, progress, record};
use super::target::{Target, TargetArgs, failed};
use super::{blocking, default_workers, topic_name};
use crate::BenchError;
use hdrhistogram::Histogram;
use rawline_batch::crc32c;
use rawline_client::{Client, Fetched, ReadOptions};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The same connections for the limit whatever the workers, as `bench limits` has them.
const LIMIT_CONNECTIONS: usize = 16;

/// Read records at random offsets from several workers
///
/// Fills a topic, which is not timed, then reads from it. Of each answer the client checks the batches' checksums, the
/// offsets, the number and sizes of the records, the first and last record of each batch, and one record byte for byte.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench read --local-broker=true -r 5 -w 16 --batches=4096 --record-size=1024 --records-per-batch=256 \\
      --records-per-request=1024 --requests 20000
  rawline bench read -r 5 -w 16 --with-limit --json read.json
  rawline bench read --local-broker=false --topic-name some-topic")]
pub struct Args {
    /// Number of runs that count
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// Number of workers [default: two for each core]
    #[arg(short, long, default_value_t = default_workers(), hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: u32,

    /// Batches to fill the topic with
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    pub batches: u64,

    /// Records in each of them
    #[arg(short = 'b', long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub records_per_batch: u32,

    /// Bytes of each record
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub record_size: u32,

    /// Requests in each run
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: u64,

    /// Records that each request asks for
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..))]
    pub records_per_request: u64,

    /// Topic to read. On a remote broker it must exist; it is then not filled, and what is in its records is not known,
    /// so only checksums, offsets and counts are checked [default: a new one]
    #[arg(long, value_name = "TOPIC")]
    pub topic_name: Option<String>,

    /// Before each run, measure what plain sendfile moves from the page cache to 16 connections, and print the ratio
    #[arg(long)]
    pub with_limit: bool,

    /// Runs before those that count: memory that nobody has used for a while is slow on virtual machines
    #[arg(long, default_value_t = 1)]
    pub warmup_runs: u32,

    /// The records' bytes and the offsets follow from it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Taken for the sake of the original's command lines; RAWLINE_LOG decides what is logged
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<i32>,

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
    let report = Report::begin("read", args.target.storage_folder().as_deref(), &args)?;
    let target = args.target.start().await?;
    match measure(&args, &target).await {
        Ok(runs) => {
            runs.print();
            report.finish(&runs, args.json.as_deref())
        }
        Err(error) => Err(target.explain(error)),
    }
}

async fn measure(args: &Args, target: &Target) -> Result<Runs, BenchError> {
    let topic = match &args.topic_name {
        Some(name) if !args.target.local_broker => existing(target, name).await?,
        _ => fill(args, target).await?,
    };
    let topic = Arc::new(topic);
    let limit = if args.with_limit { Some(limit_file(args).await?) } else { None };
    let mut runs = Vec::new();
    let mut latency = new_histogram();
    for number in 1..=args.warmup_runs + args.runs {
        let warmup = number <= args.warmup_runs;
        let requests = Arc::new(requests(args, topic.records, number));
        let limit = match &limit {
            Some(file) => {
                let file = file.clone();
                let bytes = args.requests * args.records_per_request * u64::from(args.record_size);
                let sent = blocking(move || Ok(file.send(LoopbackMethod::Sendfile, LIMIT_CONNECTIONS, bytes))).await?;
                Some(sent.map_err(|error| BenchError::Failed(format!("plain sendfile failed: {error}")))?)
            }
            None => None,
        };
        let what = format!("run {number}/{}", args.warmup_runs + args.runs);

        let stopwatch = Stopwatch::start(target.meter());
        let (moved, check, times) = read_all(&target.client, &topic, requests, args.workers, what).await?;
        let elapsed = stopwatch.stop();

        let shown = if warmup { number } else { number - args.warmup_runs };
        let run = Run::new(shown, warmup, moved, elapsed, &times, check).beside(limit);
        run.print();
        runs.push(run);
        if !warmup {
            latency += times;
        }
    }
    Ok(Runs::new(runs, &latency))
}

/// What is read from.
struct Topic {
    name: String,
    records: u64,
    /// What must come back; not known of a topic that was there before.
    contents: Option<Contents>,
}

struct Contents {
    workload: Arc<Workload>,
    /// Of each batch in the topic, which one it was among those sent.
    numbers: Vec<u64>,
}

impl Contents {
    /// The place, among all records sent, of the record at an offset.
    fn place(&self, offset: u64) -> Option<u64> {
        let records_per_batch = self.workload.records_per_batch();
        let number = self.numbers.get(usize::try_from(offset / records_per_batch).ok()?)?;
        Some(number * records_per_batch + offset % records_per_batch)
    }
}

async fn existing(target: &Target, name: &str) -> Result<Topic, BenchError> {
    let info = target.client.topic(name).await.map_err(|error| failed("looking at the topic", error))?;
    if info.first_offset != 0 || info.next_offset < 2 {
        return Err(BenchError::Failed(format!(
            "topic {name} holds records {}..{}; give --topic-name one that begins at 0 and has at least two",
            info.first_offset, info.next_offset
        )));
    }
    Ok(Topic { name: name.to_owned(), records: info.next_offset, contents: None })
}

async fn fill(args: &Args, target: &Target) -> Result<Topic, BenchError> {
    let name = args.topic_name.clone().unwrap_or_else(|| topic_name("read", 1));
    let workload = Arc::new(Workload::new(args.seed, args.records_per_batch, args.record_size));
    let sent = workload.clone();
    let began = Instant::now();
    let (mut answered, _) = append_all(
        &target.client,
        Appends {
            what: "filling the topic".to_owned(),
            topic: name.clone(),
            batches: args.batches,
            workers: args.workers,
            sizes: workload.sizes().to_vec(),
            data: Box::new(move |number| sent.stamped_data(number)),
        },
    )
    .await?;
    check_dense(&mut answered, workload.records_per_batch())?;
    let records = args.batches * workload.records_per_batch();
    if records < 2 {
        return Err(BenchError::Usage("one record is too few to read from; raise --batches".to_owned()));
    }
    println!("filled topic {name} with {records} records in {:.2} s\n", began.elapsed().as_secs_f64());
    let numbers = answered.iter().map(|answer| answer.number).collect();
    Ok(Topic { name, records, contents: Some(Contents { workload, numbers }) })
}

/// A file as long as the topic's records, so that both lie as far from the processor's caches.
async fn limit_file(args: &Args) -> Result<Arc<SentFile>, BenchError> {
    let folder = args.target.storage_folder().unwrap_or_else(std::env::temp_dir);
    let bytes = args.batches * u64::from(args.records_per_batch) * u64::from(args.record_size);
    blocking(move || {
        let folder = super::local_broker::new_folder(&folder)?;
        SentFile::create(folder.path(), bytes).map(Arc::new).map_err(|error| {
            BenchError::Failed(format!("can't write the file for --with-limit: {error}; is there room on the disk?"))
        })
    })
    .await
}

/// Offset and number of records of each request, as the original's benchmark draws them: any offset but the last
/// record's, and fewer records than asked for where the topic ends.
fn requests(args: &Args, records: u64, run: u32) -> Vec<(u64, u64)> {
    let mut random = fastrand::Rng::with_seed(args.seed ^ (u64::from(run) << 32));
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
) -> Result<(Moved, u64, Histogram<u64>), BenchError> {
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
                let options = ReadOptions { offset, records_max, bytes_max: 0, wait };
                let sent = Instant::now();
                fetched = client.read(&topic.name, &options, fetched).await.map_err(|error| failed("a read", error))?;
                record(&mut latency, sent.elapsed());
                let (bytes, value) = check_answer(&topic, &fetched, offset, records_max).map_err(|what| {
                    BenchError::Failed(format!(
                        "asked for {records_max} records at offset {offset}, the broker's answer is wrong: {what}"
                    ))
                })?;
                check = check.wrapping_add(value);
                moved += Moved { requests: 1, batches: fetched.metas().len() as u64, records: records_max, bytes };
                bar.inc(1);
            }
            Ok::<_, BenchError>((moved, check, latency))
        });
    }
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
    bar.finish_and_clear();
    Ok((moved, check, latency))
}

/// Gives the answer's bytes of records and its check value, or what is wrong with it. The batches' checksums have been
/// checked by the client already, so bytes that are where they should be need not be looked at one by one.
fn check_answer(topic: &Topic, fetched: &Fetched, offset: u64, count: u64) -> Result<(u64, u64), String> {
    if (fetched.first_offset(), fetched.next_offset()) != (offset, offset + count) {
        return Err(format!("it holds records {}..{}", fetched.first_offset(), fetched.next_offset()));
    }
    let mut bytes = 0;
    let mut check = 0;
    // Another record of each answer, and the same one in each run of a seed.
    let chosen = offset + (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % count;
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
        if (first_offset..first_offset + records).contains(&chosen) {
            let record = record(chosen);
            if !contents.place(chosen).is_some_and(|place| contents.workload.is_stamped_record(record, place)) {
                return Err(format!("the record at offset {chosen} has other bytes"));
            }
            check = check_value(chosen, crc32c(record));
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
