//! What a benchmark prints: first everything it was run with, then each run, then what they come to; and the same as JSON.

use super::environment::Environment;
use super::limits::LoopbackFigure;
use super::usage::{Memory, Meter, own_cpu};
use crate::BenchError;
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// The head of a report, already printed.
pub struct Report {
    bench: &'static str,
    environment: Environment,
    flags: Value,
}

impl Report {
    /// Prints everything that the benchmark is run with. `storage` is the folder whose filesystem matters, if one does.
    pub fn begin(bench: &'static str, storage: Option<&Path>, flags: &impl Serialize) -> Result<Report, BenchError> {
        let environment = Environment::read(storage);
        let flags = serde_json::to_value(flags).map_err(unwritable)?;
        println!("bench {bench}");
        for (name, value) in environment.lines() {
            println!("  {name:<20} {value}");
        }
        for (name, value) in flags.as_object().into_iter().flatten() {
            if !value.is_null() {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                println!("  --{:<18} {value}", name.replace('_', "-"));
            }
        }
        println!();
        Ok(Report { bench, environment, flags })
    }

    /// Writes the JSON file, if one is asked for.
    pub fn finish(self, figures: &impl Serialize, json: Option<&Path>) -> Result<(), BenchError> {
        let Some(path) = json else { return Ok(()) };
        let mut whole = json!({ "bench": self.bench, "environment": self.environment, "flags": self.flags });
        let figures = serde_json::to_value(figures).map_err(unwritable)?;
        if let (Some(whole), Value::Object(figures)) = (whole.as_object_mut(), figures) {
            whole.extend(figures);
        }
        let mut text = serde_json::to_string_pretty(&whole).map_err(unwritable)?;
        text.push('\n');
        std::fs::write(path, text).map_err(|error| {
            BenchError::Failed(format!("can't write {}: {error}; give --json a file that can be", path.display()))
        })
    }
}

fn unwritable(error: serde_json::Error) -> BenchError {
    BenchError::Failed(format!("the figures can't be written as JSON: {error}; please report this"))
}

/// What one run moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Requests answered.
    pub requests: u64,
    /// Batches sent or received.
    pub batches: u64,
    /// Records sent or received.
    pub records: u64,
    /// Bytes of the records, without what frames them.
    pub bytes: u64,
}

impl std::ops::AddAssign for Moved {
    fn add_assign(&mut self, other: Moved) {
        self.requests += other.requests;
        self.batches += other.batches;
        self.records += other.records;
        self.bytes += other.bytes;
    }
}

/// The clocks of a run's timed part.
pub struct Stopwatch<'a> {
    began: Instant,
    client_cpu: Duration,
    broker: Option<(&'a Meter, Duration)>,
}

impl<'a> Stopwatch<'a> {
    /// Starts. The broker's CPU time can be read only if it runs on this machine as a child of the benchmark.
    pub fn start(broker: Option<&'a Meter>) -> Stopwatch<'a> {
        let broker = broker.map(|meter| (meter, meter.cpu()));
        Stopwatch { client_cpu: own_cpu(), broker, began: Instant::now() }
    }

    /// Ends the timed part.
    pub fn stop(self) -> Elapsed {
        let seconds = self.began.elapsed().as_secs_f64();
        let client_cpu_seconds = (own_cpu() - self.client_cpu).as_secs_f64();
        let broker = self.broker.map(|(meter, before)| (meter.cpu().saturating_sub(before), meter.memory()));
        Elapsed {
            seconds,
            client_cpu_seconds,
            broker_cpu_seconds: broker.map(|(cpu, _)| cpu.as_secs_f64()),
            client_memory: Meter::own().map(|meter| meter.memory()).unwrap_or_default(),
            broker_memory: broker.map(|(_, memory)| memory),
        }
    }
}

/// What the timed part of a run took.
#[derive(Debug, Clone, Copy)]
pub struct Elapsed {
    seconds: f64,
    client_cpu_seconds: f64,
    broker_cpu_seconds: Option<f64>,
    client_memory: Memory,
    broker_memory: Option<Memory>,
}

/// One run's figures.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Counted from 1, warm-up runs first.
    pub number: u32,
    /// Whether it is left out of the summary.
    pub warmup: bool,
    /// Length of the timed part.
    pub seconds: f64,
    /// Requests answered.
    pub requests: u64,
    /// Batches sent or received.
    pub batches: u64,
    /// Records sent or received.
    pub records: u64,
    /// Bytes of the records.
    pub bytes: u64,
    /// Requests a second.
    pub requests_per_second: f64,
    /// Batches a second.
    pub batches_per_second: f64,
    /// Records a second.
    pub records_per_second: f64,
    /// 10^6 bytes of records a second.
    pub mb_per_second: f64,
    /// Time from sending a request to having its whole answer.
    pub latency_us: Latency,
    /// CPU seconds of the client, which is this process, in the timed part.
    pub client_cpu_seconds: f64,
    /// CPU seconds of the broker in the timed part, if it is a child of the benchmark.
    pub broker_cpu_seconds: Option<f64>,
    /// CPU seconds of the client for 10^9 bytes of records.
    pub client_cpu_seconds_per_gb: f64,
    /// The same of the broker.
    pub broker_cpu_seconds_per_gb: Option<f64>,
    /// The same of both.
    pub both_cpu_seconds_per_gb: Option<f64>,
    /// Memory of the client at the end of the timed part.
    pub client_memory: Memory,
    /// Memory of the broker at the end of the timed part.
    pub broker_memory: Option<Memory>,
    /// Check value over what was sent, found again in what the broker gave back.
    pub checksum: String,
    /// What plain sendfile moved right before this run, if asked for.
    pub limit: Option<LoopbackFigure>,
    /// This run's bytes a second as a share of that.
    pub limit_ratio: Option<f64>,
}

impl Run {
    /// Puts a run's figures together.
    pub fn new(
        number: u32,
        warmup: bool,
        moved: Moved,
        elapsed: Elapsed,
        latency: &Histogram<u64>,
        checksum: u64,
    ) -> Run {
        let rate = |count: u64| count as f64 / elapsed.seconds;
        let per_gb = |cpu_seconds: f64| cpu_seconds / (moved.bytes as f64 / 1e9);
        Run {
            number,
            warmup,
            seconds: elapsed.seconds,
            requests: moved.requests,
            batches: moved.batches,
            records: moved.records,
            bytes: moved.bytes,
            requests_per_second: rate(moved.requests),
            batches_per_second: rate(moved.batches),
            records_per_second: rate(moved.records),
            mb_per_second: rate(moved.bytes) / 1e6,
            latency_us: Latency::of(latency),
            client_cpu_seconds: elapsed.client_cpu_seconds,
            broker_cpu_seconds: elapsed.broker_cpu_seconds,
            client_cpu_seconds_per_gb: per_gb(elapsed.client_cpu_seconds),
            broker_cpu_seconds_per_gb: elapsed.broker_cpu_seconds.map(per_gb),
            both_cpu_seconds_per_gb: elapsed
                .broker_cpu_seconds
                .map(|broker| per_gb(broker + elapsed.client_cpu_seconds)),
            client_memory: elapsed.client_memory,
            broker_memory: elapsed.broker_memory,
            checksum: format!("{checksum:016x}"),
            limit: None,
            limit_ratio: None,
        }
    }

    /// Says what the machine itself did right before this run.
    pub fn beside(mut self, limit: Option<LoopbackFigure>) -> Run {
        self.limit_ratio = limit.as_ref().map(|limit| self.mb_per_second / 1e3 / limit.gb_per_second);
        self.limit = limit;
        self
    }

    /// Prints the run's line.
    pub fn print(&self) {
        let mut line = format!(
            "{:<8} {:>7.3} s  {:>10.0} records/s  {:>7.0} batches/s  {:>7.1} MB/s  p50 {:.3} ms  p99 {:.3} ms",
            if self.warmup { "warm-up".to_owned() } else { format!("run {}", self.number) },
            self.seconds,
            self.records_per_second,
            self.batches_per_second,
            self.mb_per_second,
            self.latency_us.p50 / 1e3,
            self.latency_us.p99 / 1e3,
        );
        line += &format!("  CPU s/GB client {:.3}", self.client_cpu_seconds_per_gb);
        if let (Some(broker), Some(both)) = (self.broker_cpu_seconds_per_gb, self.both_cpu_seconds_per_gb) {
            line += &format!(" broker {broker:.3} both {both:.3}");
        }
        if let (Some(limit), Some(ratio)) = (&self.limit, self.limit_ratio) {
            line += &format!("  sendfile {:.2} GB/s: ratio {ratio:.2}", limit.gb_per_second);
        }
        println!("{line}  check {}", self.checksum);
    }
}

/// Runs and what they come to.
#[derive(Debug, Serialize)]
pub struct Runs {
    /// Every run, warm-up runs too.
    pub runs: Vec<Run>,
    /// What the runs that count come to.
    pub summary: Summary,
}

/// What the runs that count come to.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Number of runs that count.
    pub runs: usize,
    /// Seconds a run.
    pub seconds: Spread,
    /// Records a second.
    pub records_per_second: Spread,
    /// Batches a second.
    pub batches_per_second: Spread,
    /// Requests a second.
    pub requests_per_second: Spread,
    /// 10^6 bytes of records a second.
    pub mb_per_second: Spread,
    /// Requests of all runs that count.
    pub latency_us: Latency,
    /// CPU seconds of the client for 10^9 bytes.
    pub client_cpu_seconds_per_gb: Spread,
    /// CPU seconds of the broker for 10^9 bytes.
    pub broker_cpu_seconds_per_gb: Option<Spread>,
    /// CPU seconds of both for 10^9 bytes.
    pub both_cpu_seconds_per_gb: Option<Spread>,
    /// Most that was resident in the client, from its start.
    pub client_peak_rss_bytes: u64,
    /// Most that was resident in the broker, mapped files included.
    pub broker_peak_rss_bytes: Option<u64>,
    /// Most that was the broker's own at the end of a run: not backed by files.
    pub broker_anonymous_bytes: Option<u64>,
    /// What plain sendfile moved, 10^9 bytes a second.
    pub limit_gb_per_second: Option<Spread>,
    /// Bytes a second as a share of what sendfile moved.
    pub limit_ratio: Option<Spread>,
}

impl Runs {
    /// Sums up. `latency` holds the requests of the runs that count.
    pub fn new(runs: Vec<Run>, latency: &Histogram<u64>) -> Runs {
        let counted: Vec<&Run> = runs.iter().filter(|run| !run.warmup).collect();
        let spread = |of: fn(&Run) -> Option<f64>| Spread::of(counted.iter().filter_map(|run| of(run)));
        let all = |of: fn(&Run) -> Option<f64>| spread(of).unwrap_or_default();
        let most = |of: fn(&Run) -> Option<u64>| counted.iter().filter_map(|run| of(run)).max();
        let summary = Summary {
            runs: counted.len(),
            seconds: all(|run| Some(run.seconds)),
            records_per_second: all(|run| Some(run.records_per_second)),
            batches_per_second: all(|run| Some(run.batches_per_second)),
            requests_per_second: all(|run| Some(run.requests_per_second)),
            mb_per_second: all(|run| Some(run.mb_per_second)),
            latency_us: Latency::of(latency),
            client_cpu_seconds_per_gb: all(|run| Some(run.client_cpu_seconds_per_gb)),
            broker_cpu_seconds_per_gb: spread(|run| run.broker_cpu_seconds_per_gb),
            both_cpu_seconds_per_gb: spread(|run| run.both_cpu_seconds_per_gb),
            client_peak_rss_bytes: most(|run| Some(run.client_memory.peak_rss_bytes)).unwrap_or_default(),
            broker_peak_rss_bytes: most(|run| Some(run.broker_memory?.peak_rss_bytes)),
            broker_anonymous_bytes: most(|run| Some(run.broker_memory?.anonymous_bytes)),
            limit_gb_per_second: spread(|run| Some(run.limit.as_ref()?.gb_per_second)),
            limit_ratio: spread(|run| run.limit_ratio),
        };
        Runs { runs, summary }
    }

    /// Prints the summary.
    pub fn print(&self) {
        let Summary { runs, seconds, records_per_second, batches_per_second, requests_per_second, .. } = &self.summary;
        println!("\n{runs} runs                     avg / min / max");
        seconds.print("seconds a run", 3);
        records_per_second.print("records/s", 0);
        batches_per_second.print("batches/s", 1);
        requests_per_second.print("requests/s", 1);
        self.summary.mb_per_second.print("MB/s", 1);
        self.summary.client_cpu_seconds_per_gb.print("CPU s/GB, client", 3);
        for (name, spread, digits) in [
            ("CPU s/GB, broker", &self.summary.broker_cpu_seconds_per_gb, 3),
            ("CPU s/GB, both", &self.summary.both_cpu_seconds_per_gb, 3),
            ("sendfile, GB/s", &self.summary.limit_gb_per_second, 2),
            ("ratio to sendfile", &self.summary.limit_ratio, 3),
        ] {
            if let Some(spread) = spread {
                spread.print(name, digits);
            }
        }
        self.summary.latency_us.print("request latency");
        println!("  {:<22} {:.1} MB", "peak RSS, client", self.summary.client_peak_rss_bytes as f64 / 1e6);
        if let (Some(peak), Some(own)) = (self.summary.broker_peak_rss_bytes, self.summary.broker_anonymous_bytes) {
            let (peak, own) = (peak as f64 / 1e6, own as f64 / 1e6);
            println!("  {:<22} {peak:.1} MB with mapped files, {own:.1} MB its own", "peak RSS, broker");
        }
    }
}

/// How far apart the runs were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub avg: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl Spread {
    /// `None` of nothing.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.collect();
        let count = values.len();
        (count > 0).then(|| Spread {
            avg: values.iter().sum::<f64>() / count as f64,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    fn print(&self, name: &str, digits: usize) {
        println!("  {name:<22} {:.digits$} / {:.digits$} / {:.digits$}", self.avg, self.min, self.max);
    }
}

/// Times of requests in microseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Latency {
    /// Requests measured.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Half of the requests took no longer.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// The slowest.
    pub max: f64,
}

impl Latency {
    /// Reads a histogram made by [`new_histogram`].
    pub fn of(histogram: &Histogram<u64>) -> Latency {
        let at = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Latency {
            count: histogram.len(),
            mean: histogram.mean() / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max() as f64 / 1e3,
        }
    }

    /// Prints a line in milliseconds.
    pub fn print(&self, name: &str) {
        println!(
            "  {name:<22} p50 {:.3}  p90 {:.3}  p99 {:.3}  p99.9 {:.3}  max {:.3}  mean {:.3} ms",
            self.p50 / 1e3,
            self.p90 / 1e3,
            self.p99 / 1e3,
            self.p999 / 1e3,
            self.max / 1e3,
            self.mean / 1e3
        );
    }
}

/// A histogram of nanoseconds, exact to a thousandth, that grows with what it is given.
#[allow(clippy::expect_used)] // Zero to five digits are allowed, and this is a constant.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are allowed")
}

/// Notes one request's time.
pub fn record(histogram: &mut Histogram<u64>, time: Duration) {
    // It grows to hold any value; the clamped recording would not let it.
    let _ = histogram.record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

/// A bar on stderr if that is a terminal; nothing otherwise.
pub fn progress(what: String, length: u64) -> ProgressBar {
    // Four times a second is enough to see it move and too little to be measured.
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(4));
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar.with_message(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_mean_least_and_most() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0].into_iter()), Some(Spread { avg: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of(std::iter::empty()), None);
    }

    #[test]
    fn latency_is_told_in_microseconds() {
        let mut histogram = new_histogram();
        for ms in 1..=1000 {
            record(&mut histogram, Duration::from_millis(ms));
        }
        let latency = Latency::of(&histogram);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.002;
        assert_eq!(latency.count, 1000);
        assert!(close(latency.p50, 500e3) && close(latency.p99, 990e3) && close(latency.max, 1e6), "{latency:?}");
    }
}
