//! `rawline bench memory`: the broker's memory while clients behave badly, and whether healthy ones are served.

mod healthy;
mod plot;
mod raw;
mod samples;
mod slow;
mod stuck;
mod tally;

use super::args::OutputArgs;
use super::data::Workload;
use super::environment::temporary_directory;
use super::history::{MainFigures, Measured};
use super::local_broker::{LocalBroker, Settings};
use super::report::Report;
use super::statistics::{Latency, new_histogram};
use super::target::{as_name, durability, failed};
use crate::error::BenchError;
use bytes::Bytes;
use healthy::Worker;
use rawline_broker::raise_files_limit;
use rawline_broker::store::disk::Durability;
use rawline_client::{Client, ClientConfig, Fetched, ReadOptions};
use samples::{Sample, gauge};
use serde::Serialize;
use slow::Slow;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stuck::Stuck;
use tally::{Counts, Tally};
use tokio::task::JoinSet;

/// How much anonymous memory the broker may have in addition to `--memory`: connections, indexes, the program's own.
const SLACK_BYTES: u64 = 64_000_000;

/// Samples are taken this much longer than the load lasts: memory that stays is seen too.
const AFTER_LOAD: Duration = Duration::from_secs(5);

/// Bad clients begin within this time.
const RAMP: Duration = Duration::from_secs(5);

/// Measure the broker's memory under clients that send slowly or never read
///
/// Slow senders send large bodies as slowly as the broker allows, stuck readers request stored records and never read
/// them, and workers append at full speed, read the acknowledged records back and compare them. The benchmark fails if
/// the broker's anonymous memory exceeds --memory by more than 64 MB, if a worker isn't served, or if anything that
/// was acknowledged is missing. A local broker is started for it.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench memory --svg memory.svg
  rawline bench memory --slow 200 --stuck 20 --workers 4 --seconds 10 --memory 64MiB")]
pub struct Args {
    /// Number of slow senders
    #[arg(long, value_name = "N", default_value_t = 2000)]
    slow: u32,

    /// Size of a slow sender's body in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 10 << 20, value_parser = clap::value_parser!(u32).range(8..))]
    slow_bytes: u32,

    /// Rate of a slow sender in bytes per second; the broker's minimum is 65536
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 10)]
    slow_rate: u32,

    /// Number of IP addresses that slow senders and stuck readers have together, of 127.0.0.0/8
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..60_000))]
    addresses: u32,

    /// Number of readers that never read
    #[arg(long, value_name = "N", default_value_t = 200)]
    stuck: u32,

    /// Number of healthy workers, each with one request in flight
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    workers: u32,

    /// Number of records per batch of a healthy worker
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    records_per_batch: u32,

    /// Size of a healthy worker's record in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    record_size: u32,

    /// Length of the load in seconds
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,

    /// Size of the topic that stuck readers request, in batches of 1 MiB
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    filled_batches: u32,

    /// The broker's --memory
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: String,

    /// The broker's --connections-max [default: the broker's, or more if the load needs it]
    #[arg(long, value_name = "N")]
    connections_max: Option<u32>,

    /// Directory of a control group in which the broker runs, so that the kernel limits its memory and its page cache
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,

    /// Directory in which the broker's directory is created [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    storage: Option<String>,

    /// When the broker acknowledges an append: after fdatasync or after the write into the page cache
    #[arg(long, value_name = "WHEN", default_value_t, value_parser = durability())]
    #[serde(serialize_with = "as_name")]
    durability: Durability,

    /// Write the samples to this file as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw the broker's memory over time to this file as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    #[serde(flatten)]
    output: OutputArgs,
}

/// The result of the benchmark.
#[derive(Debug, Serialize)]
struct Figures {
    /// The broker's `--memory` in bytes.
    budget_bytes: u64,
    anonymous_bytes_max: u64,
    file_bytes_max: u64,
    resident_bytes_max: u64,
    /// Maximum between samples too, as the kernel counted it.
    peak_rss_bytes: u64,
    /// Of each healthy worker, the number of its batches.
    worker_batches: Vec<u64>,
    latency_us: Latency,
    counts: Counts,
    samples: Vec<Sample>,
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        figures.add("anonymous_bytes_max", self.anonymous_bytes_max as f64);
        figures.add("file_bytes_max", self.file_bytes_max as f64);
        figures.add("resident_bytes_max", self.resident_bytes_max as f64);
        figures.add("batches_appended", self.counts.appended as f64);
        self.latency_us.add_to(&mut figures, "");
        figures
    }
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    raise_files_limit();
    let directory = args.storage.as_deref().map_or_else(temporary_directory, PathBuf::from);
    let report = Report::begin("memory", Some(&directory), &args, &args.output)?;
    let clients = args.slow + args.stuck + args.workers;
    let broker = LocalBroker::start(&Settings {
        storage: args.storage.clone(),
        durability: args.durability,
        memory: Some(args.memory.clone()),
        batch_wait: None,
        batch_bytes: None,
        endpoint: None,
        cgroup: args.cgroup.clone(),
        kafka: false,
        // Each worker has one for appends and one for reads at most, and a few are for the benchmark itself.
        connections_max: Some(args.connections_max.unwrap_or_else(|| (clients + args.workers + 16).max(1024))),
    })
    .await?;
    let figures = match measure(&args, &broker).await {
        Ok(figures) => figures,
        Err(BenchError::Failed(message)) => {
            return Err(BenchError::Failed(format!("{message}\n{}", broker.last_lines())));
        }
        Err(error) => return Err(error),
    };
    figures.print();
    if let Some(path) = &args.csv {
        write(path, "--csv", &samples::csv(&figures.samples))?;
    }
    if let Some(path) = &args.svg {
        let title = format!(
            "{} slow senders, {} stuck readers, {} workers, --memory {}",
            args.slow, args.stuck, args.workers, args.memory
        );
        let (budget, bound) = (figures.budget_bytes, figures.budget_bytes + SLACK_BYTES);
        write(path, "--svg", &plot::svg(&title, &figures.samples, budget, bound))?;
    }
    report.finish(&figures)?;
    figures.judge()
}

fn write(path: &Path, flag: &str, text: &str) -> Result<(), BenchError> {
    std::fs::write(path, text).map_err(|error| {
        let path = path.display();
        BenchError::Failed(format!("can't write {path}: {error}; give {flag} a file that can be written"))
    })
}

async fn measure(args: &Args, broker: &LocalBroker) -> Result<Figures, BenchError> {
    let client =
        Client::new(ClientConfig::new(broker.url.clone())).map_err(|error| BenchError::Failed(error.to_string()))?;
    let address = broker.url.trim_start_matches("http://");
    let address: SocketAddr =
        address.parse().map_err(|error| BenchError::Failed(format!("the broker's address {address}: {error}")))?;
    let workload = Arc::new(Workload::new(1, args.records_per_batch, args.record_size));
    let mut body = vec![0; args.slow_bytes as usize];
    fastrand::Rng::with_seed(2).fill(&mut body);
    let body = Bytes::from(body);
    let metrics = client.metrics().await.map_err(|error| failed("reading metrics", error))?;
    let known = |name| {
        let missing = || BenchError::Failed(format!("the broker's metrics have no {name}"));
        gauge(&metrics, name).ok_or_else(missing)
    };
    let (budget_bytes, pool_bytes) = (known("rawline_memory_bytes")?, known("rawline_pool_bytes")?);
    fill(&client, args.filled_batches).await?;

    let tally = Arc::new(Tally::default());
    let began = Instant::now();
    let until = began + Duration::from_secs(args.seconds.into());
    let mut healthy = JoinSet::new();
    for number in 0..args.workers {
        healthy.spawn(Worker::new(number, &client, &workload, &tally).run(until));
    }
    // Dropping it ends the bad clients.
    let mut bad = JoinSet::new();
    bad_clients(args, address, &body, &tally, &mut bad);
    let mut samples = Vec::new();
    let mut second = tokio::time::interval(Duration::from_secs(1));
    while Instant::now() < until + AFTER_LOAD {
        second.tick().await;
        let at = began.elapsed().as_secs_f64();
        let metrics = tokio::time::timeout(Duration::from_millis(500), client.metrics()).await;
        let free = metrics.ok().and_then(Result::ok).and_then(|metrics| gauge(&metrics, "rawline_pool_free_bytes"));
        let used = free.map(|free| pool_bytes.saturating_sub(free));
        samples.push(Sample::take(at, &broker.meter, used, tally.counts()));
        if Instant::now() >= until {
            bad.abort_all();
        }
    }
    let mut workers = Vec::new();
    while let Some(worker) = healthy.join_next().await {
        workers.push(worker.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))??);
    }
    let mut latency = new_histogram();
    for worker in &mut workers {
        worker.check_kept().await?;
        latency += worker.latency();
    }
    check_slow(&client, &body, &tally).await?;
    let maximum = |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or(0);
    Ok(Figures {
        budget_bytes,
        anonymous_bytes_max: maximum(|sample| sample.memory.anonymous_bytes),
        file_bytes_max: maximum(|sample| sample.memory.file_bytes),
        resident_bytes_max: maximum(Sample::resident_bytes),
        peak_rss_bytes: broker.meter.memory().peak_rss_bytes,
        worker_batches: workers.iter().map(Worker::batches).collect(),
        latency_us: Latency::of(&latency),
        counts: tally.counts(),
        samples,
    })
}

/// Fills the topic that stuck readers request.
async fn fill(client: &Client, batches: u32) -> Result<(), BenchError> {
    let workload = Workload::new(3, 1024, 1024);
    for number in 0..batches {
        let appended = client.append_records(stuck::TOPIC, workload.sizes(), workload.data(number.into())).await;
        appended.map_err(|error| failed("filling a topic", error))?;
    }
    Ok(())
}

/// Starts the slow senders and the stuck readers, little by little.
fn bad_clients(args: &Args, broker: SocketAddr, body: &Bytes, tally: &Arc<Tally>, bad: &mut JoinSet<()>) {
    let address = |number: u32| {
        let number = number % args.addresses;
        // 127.0.0.1 is the healthy workers'.
        Ipv4Addr::new(127, 0, 1 + (number / 250) as u8, 1 + (number % 250) as u8)
    };
    for number in 0..args.slow {
        let slow = Slow {
            number,
            from: address(number),
            broker,
            body: body.clone(),
            rate: args.slow_rate as usize,
            tally: tally.clone(),
        };
        let delay = RAMP.mul_f64(f64::from(number) / f64::from(args.slow));
        bad.spawn(async move {
            tokio::time::sleep(delay).await;
            slow.run().await;
        });
    }
    for number in 0..args.stuck {
        let accept = if number % 2 == 0 { "application/vnd.rawline.batch" } else { "application/x-ndjson" };
        let stuck = Stuck { from: address(number), broker, accept, tally: tally.clone() };
        bad.spawn(stuck.run());
    }
}

/// Fails unless every acknowledged record of slow senders can be read.
async fn check_slow(client: &Client, body: &Bytes, tally: &Tally) -> Result<(), BenchError> {
    let mut fetched = Fetched::default();
    for stored in tally.stored() {
        let options = ReadOptions { offset: stored.offset, records_max: 1, ..ReadOptions::default() };
        fetched = client.read(slow::TOPIC, &options, fetched).await.map_err(|error| failed("reading back", error))?;
        let record = fetched.records().next_record().map(|record| record.map(|record| record.bytes.to_vec()));
        let sent = slow::stamped(body, stored.sender).concat();
        if !matches!(&record, Ok(Some(record)) if *record == sent) {
            return Err(BenchError::Failed(format!("the broker lost {stored:?}, which it had acknowledged")));
        }
    }
    Ok(())
}

impl Figures {
    fn print(&self) {
        let mb = |name: &str, bytes: u64| println!("  {name:<30} {:.1} MB", bytes as f64 / 1e6);
        mb("--memory", self.budget_bytes);
        mb("anonymous memory, maximum", self.anonymous_bytes_max);
        mb("mapped files, maximum", self.file_bytes_max);
        mb("resident memory, maximum", self.resident_bytes_max);
        mb("peak RSS since the start", self.peak_rss_bytes);
        let counts = &self.counts;
        let (least, most) = (self.worker_batches.iter().min(), self.worker_batches.iter().max());
        println!(
            "  {:<30} {} appended and read back, {} to {} per worker, {} refused for the moment",
            "healthy workers, batches",
            counts.appended,
            least.unwrap_or(&0),
            most.unwrap_or(&0),
            counts.refused
        );
        self.latency_us.print("healthy append");
        println!(
            "  {:<30} {} stored and read back, {} got 503, {} got 408, {} disconnected, {} other",
            "slow senders, bodies",
            counts.slow_stored,
            counts.slow_503,
            counts.slow_408,
            counts.slow_cut,
            counts.slow_other
        );
        println!(
            "  {:<30} {} were sent records, {} got 503, {} disconnected or other",
            "stuck readers, requests", counts.stuck_200, counts.stuck_503, counts.stuck_other
        );
    }

    /// Fails if the broker exceeds its memory or starves a worker. That nothing is lost was checked before.
    fn judge(&self) -> Result<(), BenchError> {
        let bound = self.budget_bytes + SLACK_BYTES;
        if self.anonymous_bytes_max > bound {
            return Err(BenchError::Failed(format!(
                "the broker's anonymous memory reached {} bytes; its bound is {bound}",
                self.anonymous_bytes_max
            )));
        }
        if self.worker_batches.contains(&0) {
            let served = &self.worker_batches;
            return Err(BenchError::Failed(format!("healthy workers were not served; batches by worker: {served:?}")));
        }
        Ok(())
    }
}
