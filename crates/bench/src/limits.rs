//! `rawline bench limits`: what the machine itself achieves over loopback, in memory and on disk, or a bucket.

use super::args::OutputArgs;
use super::bucket_limits;
use super::environment::{cores, temporary_directory, variables};
use super::history::{MainFigures, Measured};
use super::loopback::{CALL_BYTES, LoopbackFigure, LoopbackMethod, SentFile, write_blocks};
use super::report::Report;
use super::statistics::{Latency, new_histogram, record};
use super::store_delay::DelayArgs;
use super::tasks::blocking;
use crate::error::BenchError;
use rawline_broker::store::s3::Service;
use serde::Serialize;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::Instant;

/// Measure this machine without a broker: loopback, memory, disk; or a bucket
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench limits
  rawline bench limits --storage /mnt/data --json limits.json
  rawline bench limits --storage s3://BUCKET/PREFIX
  rawline bench limits --storage s3://BUCKET/PREFIX --store-delay 50ms    a test server, as slow as a real bucket
  rawline bench limits --append history.jsonl")]
pub struct Args {
    /// Directory whose disk is measured, in a temporary subdirectory, or s3://BUCKET/PREFIX to measure only the bucket,
    /// with keys that are deleted afterwards [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR|URL")]
    pub storage: Option<String>,

    /// How slow the bucket is.
    #[command(flatten)]
    #[serde(flatten)]
    pub delay: DelayArgs,

    /// Number of objects to store for each figure of a bucket
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    pub objects: u64,

    /// Number of bytes to move over loopback for each figure
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub loopback_bytes: u64,

    /// Size in bytes of the file that is sent from the page cache
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub file_bytes: u64,

    /// Size in bytes of the areas that each thread copies between; larger than the CPU's caches
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub copy_bytes: u64,

    /// Size in bytes of the sequential write
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub disk_bytes: u64,

    /// Number of appends with fdatasync, for each size
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pub syncs: u64,

    /// Where the figures go.
    #[command(flatten)]
    #[serde(flatten)]
    pub output: OutputArgs,
}

/// Every limit.
#[derive(Debug, Serialize)]
pub struct Limits {
    /// Page cache to loopback connections.
    pub loopback: Vec<LoopbackFigure>,
    /// Copying in memory.
    pub memory_copy: Vec<CopyFigure>,
    /// Writing one large file.
    pub disk_write: DiskFigure,
    /// Appending to one file, each append synced.
    pub disk_sync: Vec<SyncFigure>,
}

/// Copying between two areas larger than the caches.
#[derive(Debug, Serialize)]
pub struct CopyFigure {
    /// Number of threads, each copying between its own areas.
    pub threads: usize,
    /// 10^9 bytes copied per second; each byte is read and written.
    pub gb_per_second: f64,
}

/// Writing a new file in calls of 1 MiB.
#[derive(Debug, Serialize)]
pub struct DiskFigure {
    /// Length of the file.
    pub bytes: u64,
    /// 10^9 bytes per second into the page cache.
    pub page_cache_gb_per_second: f64,
    /// 10^9 bytes per second with one fsync at the end.
    pub synced_gb_per_second: f64,
}

/// Appends to a preallocated file, each followed by fdatasync.
#[derive(Debug, Serialize)]
pub struct SyncFigure {
    /// Length of an append.
    pub bytes: u64,
    /// Time of write and fdatasync together.
    pub latency_us: Latency,
    /// 10^9 bytes per second.
    pub gb_per_second: f64,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let variables = variables();
    let delay = args.delay.start(args.storage.as_deref(), &variables).await?;
    if let Some(url) = args.storage.as_deref().filter(|storage| Service::of(storage).is_some()) {
        let report = Report::begin("limits", None, &args, &args.output)?;
        let variables = match &delay {
            Some(delay) => delay.variables(variables),
            None => variables,
        };
        let limits = bucket_limits::measure(url, &variables, args.objects, delay.as_ref()).await?;
        return report.finish(&limits);
    }
    let parent = args.storage.as_ref().map_or_else(temporary_directory, PathBuf::from);
    let directory = super::local_broker::new_directory(&parent)?;
    let report = Report::begin("limits", Some(&parent), &args, &args.output)?;
    let path = directory.path().to_owned();
    let sizes = args.clone();
    let limits = blocking(move || measure(&sizes, &path)).await?;
    report.finish(&limits)
}

fn measure(args: &Args, directory: &Path) -> Result<Limits, BenchError> {
    let loopback = measure_loopback(args, directory)?;

    println!("memory copy, {} MiB to {0} MiB per thread", args.copy_bytes >> 20);
    let mut memory_copy = Vec::new();
    for threads in if cores() > 1 { vec![1, cores()] } else { vec![1] } {
        let figure = copy(threads, args.copy_bytes);
        println!("  {:>2} threads  {:>6.2} GB/s", figure.threads, figure.gb_per_second);
        memory_copy.push(figure);
    }

    println!("disk");
    // The first file pays for memory and blocks that are used for the first time.
    write_disk(directory, args.disk_bytes).map_err(failed("writing to the disk"))?;
    let disk_write = write_disk(directory, args.disk_bytes).map_err(failed("writing to the disk"))?;
    println!(
        "  new file of {:.2} GB  {:>6.2} GB/s into the page cache  {:.2} GB/s with one sync at the end",
        disk_write.bytes as f64 / 1e9,
        disk_write.page_cache_gb_per_second,
        disk_write.synced_gb_per_second
    );
    let mut disk_sync = Vec::new();
    for bytes in [1 << 10, 64 << 10, 1 << 20] {
        let figure = sync_disk(directory, bytes, args.syncs).map_err(failed("syncing to the disk"))?;
        println!(
            "  append + fdatasync of {:>4} KiB  p50 {:.3} ms  p99 {:.3} ms  {:>6.3} GB/s",
            bytes >> 10,
            figure.latency_us.p50 / 1e3,
            figure.latency_us.p99 / 1e3,
            figure.gb_per_second
        );
        disk_sync.push(figure);
    }
    Ok(Limits { loopback, memory_copy, disk_write, disk_sync })
}

fn measure_loopback(args: &Args, directory: &Path) -> Result<Vec<LoopbackFigure>, BenchError> {
    let file = SentFile::create(directory, args.file_bytes).map_err(failed("writing the file to send"))?;
    println!("loopback, from the page cache, {} MiB per call", CALL_BYTES >> 20);
    let send =
        |method, connections, bytes| file.send(method, connections, bytes).map_err(failed("sending over loopback"));
    // The first pass of each method touches unused memory, which a virtual machine may have to fetch from its host.
    for method in [LoopbackMethod::MappedWrite, LoopbackMethod::PreadWrite, LoopbackMethod::Sendfile] {
        send(method, 16, args.loopback_bytes / 4)?;
    }
    let mut figures = Vec::new();
    for method in [LoopbackMethod::Sendfile, LoopbackMethod::MappedWrite, LoopbackMethod::PreadWrite] {
        for connections in [1, 4, 16] {
            let figure = send(method, connections, args.loopback_bytes)?;
            println!(
                "  {:<22} {:>2} connections  {:>6.2} GB/s  {:.2} CPU s/GB both ends",
                method.name(),
                connections,
                figure.gb_per_second,
                figure.cpu_seconds_per_gb
            );
            figures.push(figure);
        }
    }
    Ok(figures)
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> BenchError {
    move |error| {
        BenchError::Failed(format!("{what} failed: {error}; free some space, or use another disk with --storage"))
    }
}

impl Measured for Limits {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        for LoopbackFigure { method, connections, gb_per_second, .. } in &self.loopback {
            let name = format!("loopback {} {connections} connections GB per second", method.name());
            figures.add(&name, *gb_per_second);
        }
        for CopyFigure { threads, gb_per_second } in &self.memory_copy {
            figures.add(&format!("memory copy {threads} threads GB per second"), *gb_per_second);
        }
        figures.add("disk_page_cache_gb_per_second", self.disk_write.page_cache_gb_per_second);
        figures.add("disk_synced_gb_per_second", self.disk_write.synced_gb_per_second);
        for SyncFigure { bytes, latency_us, .. } in &self.disk_sync {
            latency_us.add_to(&mut figures, &format!("sync_{}_kib_", bytes >> 10));
        }
        figures
    }
}

fn copy(threads: usize, bytes: u64) -> CopyFigure {
    // About one second of work; the first round touches the memory and is not timed.
    let rounds = (10_000_000_000 / bytes).clamp(1, 200);
    let barrier = Barrier::new(threads);
    let seconds = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let from = vec![1u8; bytes as usize];
                    let mut to = vec![0u8; bytes as usize];
                    to.copy_from_slice(&from);
                    barrier.wait();
                    let began = Instant::now();
                    for _ in 0..rounds {
                        std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from));
                    }
                    // Freeing hundreds of megabytes is not part of the copy.
                    (began, Instant::now())
                })
            })
            .collect();
        let spans: Vec<_> = workers.into_iter().filter_map(|worker| worker.join().ok()).collect();
        let began = spans.iter().map(|span| span.0).min();
        let ended = spans.iter().map(|span| span.1).max();
        began.zip(ended).map_or(f64::NAN, |(began, ended)| (ended - began).as_secs_f64())
    });
    CopyFigure { threads, gb_per_second: (threads as u64 * rounds * bytes) as f64 / seconds / 1e9 }
}

fn write_disk(directory: &Path, bytes: u64) -> io::Result<DiskFigure> {
    let path = directory.join("sequential");
    let mut block = vec![0u8; CALL_BYTES];
    fastrand::Rng::with_seed(2).fill(&mut block);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let began = Instant::now();
    write_blocks(&mut file, &block, bytes)?;
    let written = began.elapsed().as_secs_f64();
    file.sync_all()?;
    let synced = began.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(DiskFigure {
        bytes,
        page_cache_gb_per_second: bytes as f64 / written / 1e9,
        synced_gb_per_second: bytes as f64 / synced / 1e9,
    })
}

fn sync_disk(directory: &Path, bytes: u64, count: u64) -> io::Result<SyncFigure> {
    // The first appends also allocate the file's first blocks.
    const WARMUP: u64 = 20;
    let path = directory.join("synced");
    let mut block = vec![0u8; bytes as usize];
    fastrand::Rng::with_seed(3).fill(&mut block);
    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let length = bytes * (count + WARMUP);
    // Where blocks can't be preallocated, the length alone is set.
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, length).or_else(|_| file.set_len(length))?;
    file.sync_all()?;
    let mut latency = new_histogram();
    let mut began = Instant::now();
    for i in 0..count + WARMUP {
        if i == WARMUP {
            latency.reset();
            began = Instant::now();
        }
        let sent = Instant::now();
        file.write_all_at(&block, i * bytes)?;
        file.sync_data()?;
        record(&mut latency, sent.elapsed());
    }
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(latency.len(), count, "each append has one latency");
    std::fs::remove_file(&path)?;
    Ok(SyncFigure { bytes, latency_us: Latency::of(&latency), gb_per_second: (bytes * count) as f64 / seconds / 1e9 })
}
