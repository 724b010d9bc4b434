//! The runs of a benchmark of a broker, each with its figures, and their summary.

use super::history::{MainFigures, Measured};
use super::loopback::LoopbackFigure;
use super::statistics::{Latency, Spread};
use super::store_delay::StoreDelay;
use super::usage::{Memory, Meter, own_cpu};
use hdrhistogram::Histogram;
use rawline_client::BucketUsage;
use serde::Serialize;
use std::time::{Duration, Instant};

/// The amounts of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Requests that succeeded.
    pub requests: u64,
    /// Batches sent or received.
    pub batches: u64,
    /// Records sent or received.
    pub records: u64,
    /// Bytes of the records, without framing.
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

/// Measures the timed part of a run.
pub struct Stopwatch<'a> {
    began: Instant,
    own_cpu: Duration,
    broker: Option<(&'a Meter, Duration)>,
    proxy: Option<(&'a StoreDelay, Duration)>,
}

impl<'a> Stopwatch<'a> {
    /// Starts. The broker's CPU time can be read only if it runs on this machine as a child of the benchmark. The
    /// proxy's is that of a thread of this process, and isn't counted as the client's.
    pub fn start(broker: Option<&'a Meter>, proxy: Option<&'a StoreDelay>) -> Stopwatch<'a> {
        let broker = broker.map(|meter| (meter, meter.cpu()));
        let proxy = proxy.map(|proxy| (proxy, proxy.cpu()));
        Stopwatch { own_cpu: own_cpu(), broker, proxy, began: Instant::now() }
    }

    /// Ends the timed part.
    pub fn stop(self) -> Elapsed {
        let seconds = self.began.elapsed().as_secs_f64();
        let proxy = self.proxy.map(|(proxy, before)| proxy.cpu() - before);
        let client_cpu = (own_cpu() - self.own_cpu).saturating_sub(proxy.unwrap_or_default());
        let broker = self.broker.map(|(meter, before)| (meter.cpu().saturating_sub(before), meter.memory()));
        Elapsed {
            seconds,
            client_cpu_seconds: client_cpu.as_secs_f64(),
            broker_cpu_seconds: broker.map(|(cpu, _)| cpu.as_secs_f64()),
            proxy_cpu_seconds: proxy.map(|cpu| cpu.as_secs_f64()),
            client_memory: Meter::own().map(|meter| meter.memory()).unwrap_or_default(),
            broker_memory: broker.map(|(_, memory)| memory),
        }
    }
}

/// The cost of the timed part of a run.
#[derive(Debug, Clone, Copy)]
pub struct Elapsed {
    seconds: f64,
    /// CPU time of this process without the proxy's.
    pub client_cpu_seconds: f64,
    /// CPU time of the broker, if it can be read.
    pub broker_cpu_seconds: Option<f64>,
    proxy_cpu_seconds: Option<f64>,
    client_memory: Memory,
    broker_memory: Option<Memory>,
}

/// One run's figures.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Counted from 1; warm-up runs have separate numbers.
    pub number: u32,
    /// Whether the summary leaves it out.
    pub warmup: bool,
    /// Length of the timed part in seconds.
    pub seconds: f64,
    /// Requests that succeeded.
    pub requests: u64,
    /// Batches sent or received.
    pub batches: u64,
    /// Records sent or received.
    pub records: u64,
    /// Bytes of the records.
    pub bytes: u64,
    /// Requests per second.
    pub requests_per_second: f64,
    /// Batches per second.
    pub batches_per_second: f64,
    /// Records per second.
    pub records_per_second: f64,
    /// 10^6 bytes of records per second.
    pub mb_per_second: f64,
    /// Time from sending a request to receiving its whole response.
    pub latency_us: Latency,
    /// CPU seconds of the client, which is this process, in the timed part.
    pub client_cpu_seconds: f64,
    /// CPU seconds of the broker in the timed part, if it is a child of the benchmark.
    pub broker_cpu_seconds: Option<f64>,
    /// CPU seconds of the proxy of `--store-delay` in the timed part.
    pub proxy_cpu_seconds: Option<f64>,
    /// CPU seconds of the client per 10^9 bytes of records.
    pub client_cpu_seconds_per_gb: f64,
    /// The same of the broker.
    pub broker_cpu_seconds_per_gb: Option<f64>,
    /// The same of both.
    pub both_cpu_seconds_per_gb: Option<f64>,
    /// Memory of the client at the end of the timed part.
    pub client_memory: Memory,
    /// Memory of the broker at the end of the timed part.
    pub broker_memory: Option<Memory>,
    /// Check value of the sent records, and equally of those read back.
    pub checksum: String,
    /// The broker's requests to its bucket in the timed part, if it has one.
    pub bucket: Option<BucketFigures>,
    /// What plain sendfile moved right before this run, if it was measured.
    pub limit: Option<LoopbackFigure>,
    /// This run's bytes per second as a share of that.
    pub limit_ratio: Option<f64>,
}

/// A broker's requests to its bucket in a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct BucketFigures {
    /// PUT requests.
    pub puts: u64,
    /// LIST requests.
    pub lists: u64,
    /// GET requests.
    pub gets: u64,
    /// Bytes sent to the bucket.
    pub sent_bytes: u64,
    /// PUT requests per 2^30 bytes of records.
    pub puts_per_gib: f64,
    /// PUT requests per second.
    pub puts_per_second: f64,
    /// PUT requests in the time that a commit waits for more appends, if that is known.
    pub puts_per_batch_wait: Option<f64>,
}

impl Run {
    /// Computes a run's figures.
    pub fn new(
        number: u32,
        warmup: bool,
        moved: Moved,
        elapsed: Elapsed,
        latency: &Histogram<u64>,
        checksum: u64,
    ) -> Run {
        assert_eq!(latency.len(), moved.requests, "each request has one latency");
        assert!(moved.records >= moved.batches, "an empty batch was moved: {moved:?}");
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
            proxy_cpu_seconds: elapsed.proxy_cpu_seconds,
            client_cpu_seconds_per_gb: per_gb(elapsed.client_cpu_seconds),
            broker_cpu_seconds_per_gb: elapsed.broker_cpu_seconds.map(per_gb),
            both_cpu_seconds_per_gb: elapsed
                .broker_cpu_seconds
                .map(|broker| per_gb(broker + elapsed.client_cpu_seconds)),
            client_memory: elapsed.client_memory,
            broker_memory: elapsed.broker_memory,
            checksum: format!("{checksum:016x}"),
            bucket: None,
            limit: None,
            limit_ratio: None,
        }
    }

    /// Adds the broker's requests to its bucket, if it has one. `batch_wait` is the broker's `--batch-wait`.
    pub fn with_bucket(mut self, used: Option<BucketUsage>, batch_wait: Option<Duration>) -> Run {
        let waits = batch_wait.filter(|wait| !wait.is_zero()).map(|wait| self.seconds / wait.as_secs_f64());
        self.bucket = used.filter(|used| used.requests() > 0).map(|used| BucketFigures {
            puts: used.puts,
            lists: used.lists,
            gets: used.gets,
            sent_bytes: used.sent_bytes,
            puts_per_gib: used.puts as f64 / (self.bytes as f64 / (1u64 << 30) as f64),
            puts_per_second: used.puts as f64 / self.seconds,
            puts_per_batch_wait: waits.map(|waits| used.puts as f64 / waits),
        });
        self
    }

    /// Adds the machine's own performance right before this run.
    pub fn with_limit(mut self, limit: Option<LoopbackFigure>) -> Run {
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
        if let Some(proxy) = self.proxy_cpu_seconds {
            line += &format!(" proxy {:.3}", proxy / (self.bytes as f64 / 1e9));
        }
        if let Some(bucket) = &self.bucket {
            let BucketFigures { puts, puts_per_gib, puts_per_second, puts_per_batch_wait, .. } = bucket;
            line += &format!("  {puts} PUTs, {puts_per_gib:.1} per GiB, {puts_per_second:.1} per second");
            if let Some(per_wait) = puts_per_batch_wait {
                line += &format!(", {per_wait:.2} per batch wait");
            }
        }
        if let (Some(limit), Some(ratio)) = (&self.limit, self.limit_ratio) {
            line += &format!("  sendfile {:.2} GB/s: ratio {ratio:.2}", limit.gb_per_second);
        }
        println!("{line}  check {}", self.checksum);
    }
}

/// Runs and their summary.
#[derive(Debug, Serialize)]
pub struct Runs {
    /// Every run, warm-up runs too.
    pub runs: Vec<Run>,
    /// Summary of the measured runs.
    pub summary: Summary,
}

/// Summary of the measured runs.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Number of measured runs.
    pub runs: usize,
    /// Seconds per run.
    pub seconds: Spread,
    /// Records per second.
    pub records_per_second: Spread,
    /// Batches per second.
    pub batches_per_second: Spread,
    /// Requests per second.
    pub requests_per_second: Spread,
    /// 10^6 bytes of records per second.
    pub mb_per_second: Spread,
    /// Requests of all measured runs.
    pub latency_us: Latency,
    /// CPU seconds of the client per 10^9 bytes.
    pub client_cpu_seconds_per_gb: Spread,
    /// CPU seconds of the broker per 10^9 bytes.
    pub broker_cpu_seconds_per_gb: Option<Spread>,
    /// CPU seconds of both per 10^9 bytes.
    pub both_cpu_seconds_per_gb: Option<Spread>,
    /// Maximum resident memory of the client since its start.
    pub client_peak_rss_bytes: u64,
    /// Maximum resident memory of the broker, mapped files included.
    pub broker_peak_rss_bytes: Option<u64>,
    /// Maximum anonymous memory of the broker at the end of a run: memory without a file.
    pub broker_anonymous_bytes: Option<u64>,
    /// PUT requests per 2^30 bytes of records, if the broker stores in a bucket.
    pub puts_per_gib: Option<Spread>,
    /// PUT requests per second.
    pub puts_per_second: Option<Spread>,
    /// PUT requests in the time that a commit waits for more appends.
    pub puts_per_batch_wait: Option<Spread>,
    /// What plain sendfile moved, in 10^9 bytes per second.
    pub limit_gb_per_second: Option<Spread>,
    /// Bytes per second as a share of what sendfile moved.
    pub limit_ratio: Option<Spread>,
}

impl Runs {
    /// Summarizes. `latency` holds the requests of the measured runs.
    pub fn new(runs: Vec<Run>, latency: &Histogram<u64>) -> Runs {
        let counted: Vec<&Run> = runs.iter().filter(|run| !run.warmup).collect();
        let requests = counted.iter().map(|run| run.requests).sum::<u64>();
        assert_eq!(latency.len(), requests, "the latencies are those of the measured runs");
        let spread = |of: fn(&Run) -> Option<f64>| Spread::of(counted.iter().filter_map(|run| of(run)));
        let all = |of: fn(&Run) -> Option<f64>| spread(of).unwrap_or_default();
        let maximum = |of: fn(&Run) -> Option<u64>| counted.iter().filter_map(|run| of(run)).max();
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
            client_peak_rss_bytes: maximum(|run| Some(run.client_memory.peak_rss_bytes)).unwrap_or_default(),
            broker_peak_rss_bytes: maximum(|run| Some(run.broker_memory?.peak_rss_bytes)),
            broker_anonymous_bytes: maximum(|run| Some(run.broker_memory?.anonymous_bytes)),
            puts_per_gib: spread(|run| Some(run.bucket?.puts_per_gib)),
            puts_per_second: spread(|run| Some(run.bucket?.puts_per_second)),
            puts_per_batch_wait: spread(|run| run.bucket?.puts_per_batch_wait),
            limit_gb_per_second: spread(|run| Some(run.limit.as_ref()?.gb_per_second)),
            limit_ratio: spread(|run| run.limit_ratio),
        };
        Runs { runs, summary }
    }

    /// Prints the summary.
    pub fn print(&self) {
        let Summary { runs, seconds, records_per_second, batches_per_second, requests_per_second, .. } = &self.summary;
        println!("\n{runs} runs                     avg / min / max");
        seconds.print("seconds per run", 3);
        records_per_second.print("records/s", 0);
        batches_per_second.print("batches/s", 1);
        requests_per_second.print("requests/s", 1);
        self.summary.mb_per_second.print("MB/s", 1);
        self.summary.client_cpu_seconds_per_gb.print("CPU s/GB, client", 3);
        for (name, spread, digits) in [
            ("CPU s/GB, broker", &self.summary.broker_cpu_seconds_per_gb, 3),
            ("CPU s/GB, both", &self.summary.both_cpu_seconds_per_gb, 3),
            ("PUTs per GiB", &self.summary.puts_per_gib, 1),
            ("PUTs per second", &self.summary.puts_per_second, 1),
            ("PUTs per batch wait", &self.summary.puts_per_batch_wait, 2),
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
            println!("  {:<22} {peak:.1} MB with mapped files, {own:.1} MB anonymous", "peak RSS, broker");
        }
    }
}

impl Measured for Runs {
    fn figures(&self) -> MainFigures {
        let summary = &self.summary;
        let mut figures = MainFigures::default();
        figures.add("records_per_second", summary.records_per_second.avg);
        figures.add("batches_per_second", summary.batches_per_second.avg);
        figures.add("requests_per_second", summary.requests_per_second.avg);
        figures.add("mb_per_second", summary.mb_per_second.avg);
        summary.latency_us.add_to(&mut figures, "");
        figures.add("client_cpu_seconds_per_gb", summary.client_cpu_seconds_per_gb.avg);
        let mean = |spread: Option<Spread>| spread.map(|spread| spread.avg);
        figures.add_some("broker_cpu_seconds_per_gb", mean(summary.broker_cpu_seconds_per_gb));
        figures.add("client_peak_rss_bytes", summary.client_peak_rss_bytes as f64);
        figures.add_some("broker_peak_rss_bytes", summary.broker_peak_rss_bytes.map(|bytes| bytes as f64));
        figures.add_some("broker_anonymous_bytes", summary.broker_anonymous_bytes.map(|bytes| bytes as f64));
        figures.add_some("puts_per_gib", mean(summary.puts_per_gib));
        figures.add_some("puts_per_second", mean(summary.puts_per_second));
        figures.add_some("puts_per_batch_wait", mean(summary.puts_per_batch_wait));
        figures.add_some("limit_gb_per_second", mean(summary.limit_gb_per_second));
        figures.add_some("limit_ratio", mean(summary.limit_ratio));
        figures
    }
}
