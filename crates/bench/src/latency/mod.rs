//! `rawline bench latency`: appends single records at a fixed rate and measures the time to each acknowledgement.

mod trace;

use super::append::{Appended, check_dense, check_value_of};
use super::args::RunArgs;
use super::bucket::{self, BucketFolder};
use super::data::Workload;
use super::environment::variables;
use super::history::{MainFigures, Measured};
use super::read_back::{Sent, read_back};
use super::report::{Report, progress};
use super::runs::{Moved, Run, Runs};
use super::statistics::{Latency, Spread, new_histogram, record};
use super::target::{Target, failed};
use super::tasks::blocking;
use super::time::{as_text, parse_time};
use super::topics::{self, topic_name};
use crate::error::BenchError;
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use rawline_broker::STAGES;
use rawline_client::{Client, ClientConfig};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// A sleeping thread wakes up late by about this much; it spends the rest of the wait spinning.
const SLEEP_LATE: Duration = Duration::from_micros(120);

/// Default of `--rate`.
const RATE: u64 = 500;

/// Measure append latency: single records at a fixed rate, however long the responses take
///
/// Response times count from the moment at which a record was due to be sent, so that a broker that stalls can't hide
/// the requests that would have been sent in the meantime. Service times, from the actual send, are printed too.
///
/// On a bucket, an append can't be faster than a PUT. Between the appends of a local broker, the benchmark itself
/// stores objects of the same size in the same bucket, one at a time, and prints how long these take and how much
/// longer an append takes. With an --interval that is longer than the broker's --batch-wait and a PUT together, each
/// append comes after a quiet period.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench latency
  rawline bench latency --rate 500 --seconds 30 --durability page-cache --json latency.json
  rawline bench latency --trace --rate 2000
  rawline bench latency --interval 500ms --seconds 60 --storage s3://BUCKET/PREFIX --store-delay 50ms
  rawline bench latency --runs 3 --append history.jsonl")]
pub struct Args {
    /// Number of records per second [default: 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate: Option<u64>,

    /// Time from one record to the next, such as 500ms, instead of --rate
    #[arg(long, value_name = "TIME", conflicts_with = "rate", value_parser = parse_time)]
    #[serde(serialize_with = "as_text")]
    interval: Option<Duration>,

    /// Length of a run in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Size of a record in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    record_size: u32,

    /// Number of sending threads, each with its own connection; with several, a record is sent while earlier ones wait
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    workers: u32,

    /// Length of the warm-up in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    warmup_seconds: u64,

    /// Print the time and the thread of each stage of an append, with one run of one sender and a broker in this
    /// process
    #[arg(long, conflicts_with_all = ["workers", "runs", "memory"])]
    trace: bool,

    #[command(flatten)]
    #[serde(flatten)]
    run: RunArgs,
}

/// Contents of `--json` in addition to the runs, whose `latency_us` counts from the due time.
#[derive(Debug, Serialize)]
struct Figures {
    #[serde(flatten)]
    runs: Runs,
    /// Time from the actual send to the response, of all measured runs.
    service_us: Latency,
    /// How late requests were sent: the part of the difference that the benchmark itself causes.
    send_lag_us: Latency,
    /// Records per second that were reached.
    rate_reached: Spread,
    /// Time of a PUT of the same size, sent by the benchmark itself between the appends, if the store is a bucket.
    put_us: Option<Latency>,
    /// Number of retries of these PUTs that the bucket refused; their time is part of `put_us`.
    put_retries: Option<u64>,
    /// CPU time of the client per append, spinning included, in microseconds.
    client_cpu_us_per_append: f64,
    /// CPU time of the broker per append, in microseconds.
    broker_cpu_us_per_append: Option<f64>,
}

/// Runs the benchmark.
pub async fn run(mut args: Args) -> Result<(), BenchError> {
    if args.interval.is_none() {
        args.rate.get_or_insert(RATE);
    }
    if args.trace {
        return trace::run(&args).await;
    }
    let RunArgs { output, target, .. } = &args.run;
    let report = Report::begin("latency", target.storage_directory().as_deref(), &args, output)?;
    let target = target.start().await?;
    match measure(&args, &target).await {
        Ok(figures) => report.finish(&figures),
        Err(error) => Err(target.explain(error)),
    }
}

async fn measure(args: &Args, target: &Target) -> Result<Figures, BenchError> {
    let Some(url) = args.run.target.bucket() else { return measure_runs(args, target, None).await };
    let variables = match target.delay() {
        Some(delay) => delay.variables(variables()),
        None => variables(),
    };
    let folder = BucketFolder::new(url, &variables, "latency")?;
    let figures = measure_runs(args, target, Some(&folder)).await;
    // The stored objects are deleted even after a failure.
    let deleted = folder.delete().await;
    let figures = figures?;
    deleted.map_err(bucket::failed)?;
    Ok(figures)
}

async fn measure_runs(args: &Args, target: &Target, folder: Option<&BucketFolder>) -> Result<Figures, BenchError> {
    let workload = Arc::new(Workload::new(args.run.seed, 1, args.record_size));
    let mut runs = Vec::new();
    let mut times = Times::new();
    let mut rates = Vec::new();
    let warmup_runs = u32::from(args.warmup_seconds > 0);
    for number in 1..=warmup_runs + args.run.runs {
        let warmup = number <= warmup_runs;
        let (run, run_times) = run_once(args, target, folder, &workload, number).await?;
        if !warmup {
            times.add(&run_times)?;
            rates.push(run.records as f64 / run_times.length.as_secs_f64());
        }
        runs.push(run);
    }
    let figures = Figures::new(runs, &times, &rates);
    figures.print();
    Ok(figures)
}

impl Args {
    /// Time from one record to the next.
    fn interval(&self) -> Duration {
        self.interval.unwrap_or_else(|| Duration::from_secs_f64(1.0 / self.rate.unwrap_or(RATE) as f64))
    }
}

async fn run_once(
    args: &Args,
    target: &Target,
    folder: Option<&BucketFolder>,
    workload: &Arc<Workload>,
    number: u32,
) -> Result<(Run, Times), BenchError> {
    let warmup_runs = u32::from(args.warmup_seconds > 0);
    let warmup = number <= warmup_runs;
    let interval = args.interval();
    let seconds = if warmup { args.warmup_seconds } else { args.seconds };
    let count = ((seconds as f64 / interval.as_secs_f64()).round() as u64).max(1);
    let topic = topic_name("latency", number);
    topics::create(&target.client, std::slice::from_ref(&topic)).await?;
    let plan = Plan {
        config: target.client.config().clone(),
        topic: topic.clone(),
        count,
        interval,
        workers: args.workers,
        workload: workload.clone(),
        bar: progress(format!("run {number}/{}", warmup_runs + args.run.runs), count),
    };

    let stopwatch = target.stopwatch();
    let (mut appended, times) = match folder {
        Some(folder) => {
            let mut put = new_histogram();
            let (name, retries) = (number.to_string(), folder.retries());
            let done = tokio::select! {
                done = blocking(move || send_all(plan)) => done,
                Err(error) = folder.put_between(&name, interval, args.record_size, &mut put) => {
                    Err(bucket::failed(error))
                }
            };
            let put_retries = folder.retries() - retries;
            done.map(|(appended, times)| (appended, Times { put, put_retries, ..times }))?
        }
        None => blocking(move || send_all(plan)).await?,
    };
    let elapsed = stopwatch.stop();

    check_dense(&mut appended, 1)?;
    let sent = Sent { topic, batches: count, check: check_value_of(&appended, workload) };
    let found = read_back(&target.client, vec![sent], 1).await?;
    let moved = Moved { requests: count, batches: count, records: count, bytes: count * u64::from(args.record_size) };
    let shown = if warmup { number } else { number - warmup_runs };
    let run = Run::new(shown, warmup, moved, elapsed, &times.response, found);
    let name = if warmup { "warm-up".to_owned() } else { format!("run {shown}") };
    println!("{name:<8} {count} appends in {:.3} s", run.seconds);
    Latency::of(&times.response).print("from the due time");
    Latency::of(&times.service).print("from the send");
    if !times.put.is_empty() {
        Latency::of(&times.put).print("a PUT of the same size");
    }
    Ok((run, times))
}

impl Figures {
    fn new(runs: Vec<Run>, times: &Times, rates: &[f64]) -> Figures {
        let measured = || runs.iter().filter(|run| !run.warmup);
        let appends = measured().map(|run| run.requests).sum::<u64>() as f64;
        let client_cpu = measured().map(|run| run.client_cpu_seconds).sum::<f64>();
        let broker_cpu = measured().map(|run| run.broker_cpu_seconds).sum::<Option<f64>>();
        Figures {
            service_us: Latency::of(&times.service),
            send_lag_us: Latency::of(&times.lag),
            put_us: (!times.put.is_empty()).then(|| Latency::of(&times.put)),
            put_retries: (!times.put.is_empty()).then_some(times.put_retries),
            rate_reached: Spread::of(rates.iter().copied()).unwrap_or_default(),
            client_cpu_us_per_append: client_cpu / appends * 1e6,
            broker_cpu_us_per_append: broker_cpu.map(|seconds| seconds / appends * 1e6),
            runs: Runs::new(runs, &times.response),
        }
    }

    fn print(&self) {
        let summary = &self.runs.summary;
        println!("\n{} runs", summary.runs);
        println!("  {:<22} {:.1} (minimum {:.1})", "records/s", self.rate_reached.avg, self.rate_reached.min);
        summary.latency_us.print("from the due time");
        self.service_us.print("from the send");
        self.send_lag_us.print("sent late by");
        if let Some(put) = &self.put_us {
            put.print("a PUT of the same size");
            if let Some(retries @ 1..) = self.put_retries {
                println!("  {:<22} {retries} retries of PUTs that the bucket refused, part of their times", "");
            }
            let over = |append: f64, put: f64| (append - put) / 1e3;
            println!(
                "  {:<22} p50 {:+.3} ms over the p50 of a PUT, p99 {:+.3} ms over two of them",
                "a lone append costs",
                over(summary.latency_us.p50, put.p50),
                over(summary.latency_us.p99, 2.0 * put.p50)
            );
        }
        println!("  {:<22} {:.0} us, spinning included", "client CPU per append", self.client_cpu_us_per_append);
        if let Some(broker) = self.broker_cpu_us_per_append {
            println!("  {:<22} {broker:.0} us", "broker CPU per append");
        }
        println!("  {:<22} {:.1} MB", "peak RSS, client", summary.client_peak_rss_bytes as f64 / 1e6);
        if let (Some(peak), Some(own)) = (summary.broker_peak_rss_bytes, summary.broker_anonymous_bytes) {
            let (peak, own) = (peak as f64 / 1e6, own as f64 / 1e6);
            println!("  {:<22} {peak:.1} MB with mapped files, {own:.1} MB anonymous", "peak RSS, broker");
        }
    }
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        figures.add("records_per_second", self.rate_reached.avg);
        self.runs.summary.latency_us.add_to(&mut figures, "");
        self.service_us.add_to(&mut figures, "service_");
        self.send_lag_us.add_to(&mut figures, "send_lag_");
        if let Some(put) = &self.put_us {
            put.add_to(&mut figures, "put_");
        }
        figures.add_some("put_retries", self.put_retries.map(|retries| retries as f64));
        figures.add("client_cpu_us_per_append", self.client_cpu_us_per_append);
        figures.add_some("broker_cpu_us_per_append", self.broker_cpu_us_per_append);
        let summary = &self.runs.summary;
        figures.add("client_peak_rss_bytes", summary.client_peak_rss_bytes as f64);
        figures.add_some("broker_peak_rss_bytes", summary.broker_peak_rss_bytes.map(|bytes| bytes as f64));
        figures.add_some("broker_anonymous_bytes", summary.broker_anonymous_bytes.map(|bytes| bytes as f64));
        figures
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
    /// Of the benchmark's own requests to the bucket.
    put: Histogram<u64>,
    put_retries: u64,
    /// From the first due time to the last response.
    length: Duration,
}

impl Times {
    fn new() -> Times {
        let [response, service, lag, put] = std::array::from_fn(|_| new_histogram());
        Times { response, service, lag, put, put_retries: 0, length: Duration::ZERO }
    }

    fn add(&mut self, other: &Times) -> Result<(), BenchError> {
        self.length = self.length.max(other.length);
        self.put_retries += other.put_retries;
        for (mine, theirs) in [
            (&mut self.response, &other.response),
            (&mut self.service, &other.service),
            (&mut self.lag, &other.lag),
            (&mut self.put, &other.put),
        ] {
            mine.add(theirs).map_err(|error| BenchError::Failed(format!("can't add up the latencies: {error}")))?;
        }
        Ok(())
    }
}

/// Sends every record when it is due. Each sender is a thread with its own runtime and connection: it wakes up at the
/// due time itself, and no other thread's queue is measured.
fn send_all(plan: Plan) -> Result<(Vec<Appended>, Times), BenchError> {
    let next = AtomicU64::new(0);
    // Connections are opened before the first record is due.
    let start = Instant::now() + Duration::from_millis(100);
    let (mut appended, mut times) = (Vec::new(), Times::new());
    let senders = std::thread::scope(|scope| {
        let thread = |_| Builder::new().name("client".into()).spawn_scoped(scope, || send(&plan, &next, start));
        let senders: Result<Vec<_>, _> = (0..plan.workers).map(thread).collect();
        senders.map(|senders| senders.into_iter().map(|sender| sender.join()).collect::<Vec<_>>())
    });
    for sender in senders.map_err(|error| BenchError::Failed(format!("can't start a sender: {error}")))? {
        let (mut batches, more) =
            sender.map_err(|_| BenchError::Failed("a sender stopped; please report this".to_owned()))??;
        appended.append(&mut batches);
        times.add(&more)?;
    }
    plan.bar.finish_and_clear();
    assert_eq!(appended.len() as u64, plan.count, "each record is appended once");
    Ok((appended, times))
}

fn send(plan: &Plan, next: &AtomicU64, start: Instant) -> Result<(Vec<Appended>, Times), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| BenchError::Failed(format!("can't start a runtime: {error}")))?;
    let client = Client::new(plan.config.clone()).map_err(|error| failed("starting the client", error))?;
    runtime.block_on(client.health()).map_err(|error| failed("the health check", error))?;
    let (mut appended, mut times) = (Vec::new(), Times::new());
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= plan.count {
            return Ok((appended, times));
        }
        let due = start + plan.interval.mul_f64(number as f64);
        wait_until(due);
        let data = plan.workload.data(number);
        let sent = Instant::now();
        tracing::trace!(name: trace::SENT, target: STAGES, "");
        let place = runtime
            .block_on(client.append_records(&plan.topic, plan.workload.sizes(), data))
            .map_err(|error| failed("an append", error))?;
        tracing::trace!(name: trace::RETURNED, target: STAGES, "");
        let done = Instant::now();
        record(&mut times.response, done - due);
        record(&mut times.service, done - sent);
        record(&mut times.lag, sent - due);
        times.length = done - start;
        appended.push(Appended { number, first_offset: place.first_offset, next_offset: place.next_offset });
        plan.bar.inc(1);
    }
}

/// Waits until then, exact to a microsecond.
#[allow(clippy::disallowed_methods)] // This thread runs nothing else, and tokio's timer knows only milliseconds.
pub fn wait_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if left > SLEEP_LATE {
        std::thread::sleep(left - SLEEP_LATE);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}
