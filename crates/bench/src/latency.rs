//! `rawline bench latency`: appends lone records at a fixed rate and measures how long each answer takes.

use super::append::{Answered, check_dense};
use super::data::{Workload, check_value};
use super::read_back::read_back;
use super::report::{Latency, Moved, Report, Run, Runs, Spread, Stopwatch, new_histogram, progress, record};
use super::target::{Target, TargetArgs, failed};
use super::{blocking, topic_name};
use crate::BenchError;
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use rawline_client::{Client, ClientConfig};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A sleeping thread wakes up late by about this much; the rest of the wait is spent awake.
const SLEEP_LATE: Duration = Duration::from_micros(120);

/// Append lone records at a fixed rate, whatever the answers take
///
/// Times count from the moment at which a record was due to be sent, so that a broker that stops for a while can't hide
/// the requests that would have been sent meanwhile. The service time, from the actual send, is printed beside it.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench latency
  rawline bench latency --rate 500 --seconds 30 --durability page-cache --json latency.json")]
pub struct Args {
    /// Records a second
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rate: u64,

    /// Length of a run
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,

    /// Bytes of each record
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub record_size: u32,

    /// Number of runs that count
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// Threads that send, each on a connection of its own; more than one lets a record be sent while an earlier one
    /// still waits for its answer
    #[arg(short, long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: u32,

    /// Length of the run before those that count
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    pub warmup_seconds: u64,

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

/// What `--json` holds beside the runs, whose `latency_us` counts from the due time.
#[derive(Debug, Serialize)]
struct Figures {
    #[serde(flatten)]
    runs: Runs,
    /// Time from the actual send to the answer, of all runs that count.
    service_us: Latency,
    /// How late requests were sent: the benchmark's own share of the difference.
    send_lag_us: Latency,
    /// Records a second that were reached.
    rate_reached: Spread,
    /// CPU time of the client for one append, its waiting awake included, in microseconds.
    client_cpu_us_per_append: f64,
    /// CPU time of the broker for one append, in microseconds.
    broker_cpu_us_per_append: Option<f64>,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let report = Report::begin("latency", args.target.storage_folder().as_deref(), &args)?;
    let target = args.target.start().await?;
    match measure(&args, &target).await {
        Ok(figures) => report.finish(&figures, args.json.as_deref()),
        Err(error) => Err(target.explain(error)),
    }
}

async fn measure(args: &Args, target: &Target) -> Result<Figures, BenchError> {
    let workload = Arc::new(Workload::new(args.seed, 1, args.record_size));
    let mut runs = Vec::new();
    let mut times = Times::new();
    let mut rates = Vec::new();
    let warmup_runs = u32::from(args.warmup_seconds > 0);
    for number in 1..=warmup_runs + args.runs {
        let warmup = number <= warmup_runs;
        let count = args.rate * if warmup { args.warmup_seconds } else { args.seconds };
        let topic = topic_name("latency", number);
        let plan = Plan {
            config: target.client.config().clone(),
            topic: topic.clone(),
            count,
            interval: Duration::from_secs_f64(1.0 / args.rate as f64),
            workers: args.workers,
            workload: workload.clone(),
            bar: progress(format!("run {number}/{}", warmup_runs + args.runs), count),
        };

        let stopwatch = Stopwatch::start(target.meter());
        let (mut answered, run_times) = blocking(move || send_all(plan)).await?;
        let elapsed = stopwatch.stop();

        check_dense(&mut answered, 1)?;
        let crcs = workload.data_crcs();
        let sent = answered.iter().fold(0u64, |sum, answer| {
            let crc = crcs.get((answer.number % crcs.len() as u64) as usize).copied().unwrap_or_default();
            sum.wrapping_add(check_value(answer.first_offset, crc))
        });
        let found = read_back(&target.client, &topic, count, 1).await?;
        if found != sent {
            return Err(BenchError::Failed(format!(
                "the broker's bytes are not those that were sent: check value {found:016x}, expected {sent:016x}"
            )));
        }
        let moved =
            Moved { requests: count, batches: count, records: count, bytes: count * u64::from(args.record_size) };
        let shown = if warmup { number } else { number - warmup_runs };
        let run = Run::new(shown, warmup, moved, elapsed, &run_times.response, found);
        println!(
            "{:<8} {count} appends in {:.3} s",
            if warmup { "warm-up".to_owned() } else { format!("run {shown}") },
            run.seconds
        );
        Latency::of(&run_times.response).print("from the due time");
        Latency::of(&run_times.service).print("from the send");
        runs.push(run);
        if !warmup {
            times.add(&run_times)?;
            rates.push(count as f64 / run_times.length.as_secs_f64());
        }
    }
    let counted = || runs.iter().filter(|run| !run.warmup);
    let appends = counted().map(|run| run.requests).sum::<u64>() as f64;
    let client_cpu = counted().map(|run| run.client_cpu_seconds).sum::<f64>();
    let broker_cpu = counted().map(|run| run.broker_cpu_seconds).sum::<Option<f64>>();
    let rate_reached = Spread::of(rates.into_iter()).unwrap_or_default();
    let figures = Figures {
        service_us: Latency::of(&times.service),
        send_lag_us: Latency::of(&times.lag),
        rate_reached,
        client_cpu_us_per_append: client_cpu / appends * 1e6,
        broker_cpu_us_per_append: broker_cpu.map(|seconds| seconds / appends * 1e6),
        runs: Runs::new(runs, &times.response),
    };
    figures.print();
    Ok(figures)
}

impl Figures {
    fn print(&self) {
        let summary = &self.runs.summary;
        println!("\n{} runs", summary.runs);
        println!("  {:<22} {:.1} (least {:.1})", "records/s", self.rate_reached.avg, self.rate_reached.min);
        summary.latency_us.print("from the due time");
        self.service_us.print("from the send");
        self.send_lag_us.print("sent late by");
        println!("  {:<22} {:.0} us, waiting awake included", "client CPU an append", self.client_cpu_us_per_append);
        if let Some(broker) = self.broker_cpu_us_per_append {
            println!("  {:<22} {broker:.0} us", "broker CPU an append");
        }
        println!("  {:<22} {:.1} MB", "peak RSS, client", summary.client_peak_rss_bytes as f64 / 1e6);
        if let (Some(peak), Some(own)) = (summary.broker_peak_rss_bytes, summary.broker_anonymous_bytes) {
            let (peak, own) = (peak as f64 / 1e6, own as f64 / 1e6);
            println!("  {:<22} {peak:.1} MB with mapped files, {own:.1} MB its own", "peak RSS, broker");
        }
    }
}

/// One run.
struct Plan {
    config: ClientConfig,
    topic: String,
    count: u64,
    interval: Duration,
    workers: u32,
    workload: Arc<Workload>,
    bar: ProgressBar,
}

/// Nanoseconds of each request.
struct Times {
    response: Histogram<u64>,
    service: Histogram<u64>,
    lag: Histogram<u64>,
    /// From the first due time to the last answer.
    length: Duration,
}

impl Times {
    fn new() -> Times {
        Times { response: new_histogram(), service: new_histogram(), lag: new_histogram(), length: Duration::ZERO }
    }

    fn add(&mut self, other: &Times) -> Result<(), BenchError> {
        self.length = self.length.max(other.length);
        for (mine, theirs) in
            [(&mut self.response, &other.response), (&mut self.service, &other.service), (&mut self.lag, &other.lag)]
        {
            mine.add(theirs).map_err(|error| BenchError::Failed(format!("times can't be added up: {error}")))?;
        }
        Ok(())
    }
}

/// Sends every record when it is due. Each sender is a thread with a runtime and a connection of its own: it then wakes
/// up at the due time itself, and no queue of another thread's is measured.
fn send_all(plan: Plan) -> Result<(Vec<Answered>, Times), BenchError> {
    let next = AtomicU64::new(0);
    // Connections are made before the first record is due.
    let start = Instant::now() + Duration::from_millis(100);
    let (mut answered, mut times) = (Vec::new(), Times::new());
    let senders = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..plan.workers).map(|_| scope.spawn(|| send(&plan, &next, start))).collect();
        senders.into_iter().map(|sender| sender.join()).collect::<Vec<_>>()
    });
    for sender in senders {
        let (mut answers, more) =
            sender.map_err(|_| BenchError::Failed("a sender stopped; please report this".to_owned()))??;
        answered.append(&mut answers);
        times.add(&more)?;
    }
    plan.bar.finish_and_clear();
    Ok((answered, times))
}

fn send(plan: &Plan, next: &AtomicU64, start: Instant) -> Result<(Vec<Answered>, Times), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| BenchError::Failed(format!("can't start a runtime: {error}")))?;
    let client = Client::new(plan.config.clone()).map_err(|error| failed("the client", error))?;
    runtime.block_on(client.health()).map_err(|error| failed("asking for the broker's health", error))?;
    let (mut answered, mut times) = (Vec::new(), Times::new());
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= plan.count {
            return Ok((answered, times));
        }
        let due = start + plan.interval.mul_f64(number as f64);
        wait_until(due);
        let sent = Instant::now();
        let data = plan.workload.data(number);
        let place = runtime
            .block_on(client.append_records(&plan.topic, plan.workload.sizes(), data))
            .map_err(|error| failed("an append", error))?;
        let done = Instant::now();
        record(&mut times.response, done - due);
        record(&mut times.service, done - sent);
        record(&mut times.lag, sent - due);
        times.length = done - start;
        answered.push(Answered { number, first_offset: place.first_offset, next_offset: place.next_offset });
        plan.bar.inc(1);
    }
}

/// Waits for a moment, to the microsecond.
#[allow(clippy::disallowed_methods)] // This thread runs nothing else, and tokio's timer knows only milliseconds.
fn wait_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if left > SLEEP_LATE {
        std::thread::sleep(left - SLEEP_LATE);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}
