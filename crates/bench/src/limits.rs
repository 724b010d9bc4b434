//! `rawline bench limits`: what the machine itself can do over loopback, in memory and on disk, to compare a broker with.

use super::environment::cores;
use super::report::{self, Latency, Report, new_histogram, record};
use super::usage::own_cpu;
use crate::BenchError;
use memmap2::Mmap;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::Instant;

/// One call moves at most this much, as one answer of the read benchmark does.
const CALL_BYTES: usize = 1 << 20;

/// Measure what this machine can do without any broker: loopback, memory, disk
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench limits
  rawline bench limits --storage /mnt/data --json limits.json")]
pub struct Args {
    /// Folder whose disk is measured; a folder below it is made and removed [default: the system's folder for
    /// temporary files]
    #[arg(long, value_name = "DIR")]
    pub storage: Option<PathBuf>,

    /// Bytes to move over loopback for each figure
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub loopback_bytes: u64,

    /// Size of the file that is sent from the page cache
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub file_bytes: u64,

    /// Bytes that each thread copies from and to; more than the processor's caches hold
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub copy_bytes: u64,

    /// Bytes of the sequential write
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub disk_bytes: u64,

    /// Number of appends with fdatasync, for each size
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pub syncs: u64,

    /// Write the same figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
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

/// How the bytes get from the page cache into the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopbackMethod {
    /// sendfile(2).
    Sendfile,
    /// write(2) from a mapping of the file.
    MappedWrite,
    /// pread(2) into a buffer that is used again, write(2) from it.
    PreadWrite,
}

impl LoopbackMethod {
    fn name(self) -> &'static str {
        match self {
            LoopbackMethod::Sendfile => "sendfile",
            LoopbackMethod::MappedWrite => "write from a mapping",
            LoopbackMethod::PreadWrite => "pread + write",
        }
    }
}

/// What went through loopback, receivers included: each reads into one buffer and throws the bytes away.
#[derive(Debug, Clone, Serialize)]
pub struct LoopbackFigure {
    /// How it was sent.
    pub method: LoopbackMethod,
    /// Connections at once, a sending and a receiving thread each.
    pub connections: usize,
    /// Bytes received.
    pub bytes: u64,
    /// From the first send to the last receiver's end of stream.
    pub seconds: f64,
    /// 10^9 bytes a second.
    pub gb_per_second: f64,
    /// CPU seconds of both ends for 10^9 bytes.
    pub cpu_seconds_per_gb: f64,
}

/// Copying between two areas larger than the caches.
#[derive(Debug, Serialize)]
pub struct CopyFigure {
    /// Threads copying, each between areas of its own.
    pub threads: usize,
    /// 10^9 bytes copied a second; each was read and written.
    pub gb_per_second: f64,
}

/// Writing a new file in calls of 1 MiB.
#[derive(Debug, Serialize)]
pub struct DiskFigure {
    /// Length of the file.
    pub bytes: u64,
    /// 10^9 bytes a second into the page cache.
    pub page_cache_gb_per_second: f64,
    /// The same with one fsync at the end.
    pub synced_gb_per_second: f64,
}

/// Appends to a preallocated file, each followed by fdatasync.
#[derive(Debug, Serialize)]
pub struct SyncFigure {
    /// Length of an append.
    pub bytes: u64,
    /// Time of write and fdatasync together.
    pub latency_us: Latency,
    /// 10^9 bytes a second.
    pub gb_per_second: f64,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let parent = args.storage.clone().unwrap_or_else(std::env::temp_dir);
    let folder = super::local_broker::new_folder(&parent)?;
    let report = Report::begin("limits", Some(&parent), &args)?;
    let path = folder.path().to_owned();
    let sizes = args.clone();
    let limits = super::blocking(move || measure(&sizes, &path)).await?;
    report.finish(&limits, args.json.as_deref())
}

fn measure(args: &Args, folder: &Path) -> Result<Limits, BenchError> {
    let failed = |what: &'static str| {
        move |error: io::Error| BenchError::Failed(format!("{what} failed: {error}; is there room on the disk?"))
    };
    let file = SentFile::create(folder, args.file_bytes).map_err(failed("writing the file to send"))?;
    println!("loopback, from the page cache, {} MiB a call", CALL_BYTES >> 20);
    let mut loopback = Vec::new();
    // The first pass through each way touches memory that nobody has used for a while, which a virtual machine may
    // have to fetch from its host.
    for method in [LoopbackMethod::MappedWrite, LoopbackMethod::PreadWrite, LoopbackMethod::Sendfile] {
        file.send(method, 16, args.loopback_bytes / 4).map_err(failed("sending over loopback"))?;
    }
    for method in [LoopbackMethod::Sendfile, LoopbackMethod::MappedWrite, LoopbackMethod::PreadWrite] {
        for connections in [1, 4, 16] {
            let figure =
                file.send(method, connections, args.loopback_bytes).map_err(failed("sending over loopback"))?;
            println!(
                "  {:<22} {:>2} connections  {:>6.2} GB/s  {:.2} CPU s/GB both ends",
                method.name(),
                connections,
                figure.gb_per_second,
                figure.cpu_seconds_per_gb
            );
            loopback.push(figure);
        }
    }
    drop(file);

    println!("memory copy, {} MiB to {0} MiB a thread", args.copy_bytes >> 20);
    let mut memory_copy = Vec::new();
    for threads in if cores() > 1 { vec![1, cores()] } else { vec![1] } {
        let figure = copy(threads, args.copy_bytes);
        println!("  {:>2} threads  {:>6.2} GB/s", figure.threads, figure.gb_per_second);
        memory_copy.push(figure);
    }

    println!("disk");
    write_disk(folder, args.disk_bytes).map_err(failed("writing to the disk"))?;
    let disk_write = write_disk(folder, args.disk_bytes).map_err(failed("writing to the disk"))?;
    println!(
        "  new file of {:.2} GB  {:>6.2} GB/s into the page cache  {:.2} GB/s with one sync at the end",
        disk_write.bytes as f64 / 1e9,
        disk_write.page_cache_gb_per_second,
        disk_write.synced_gb_per_second
    );
    let mut disk_sync = Vec::new();
    for bytes in [1 << 10, 64 << 10, 1 << 20] {
        let figure = sync_disk(folder, bytes, args.syncs).map_err(failed("syncing to the disk"))?;
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

/// A file that lies in the page cache, to be sent again and again.
pub struct SentFile {
    file: File,
    map: Mmap,
    bytes: u64,
}

impl SentFile {
    /// Writes a file of at least so many bytes below `folder`.
    pub fn create(folder: &Path, bytes: u64) -> io::Result<SentFile> {
        let bytes = bytes.next_multiple_of(CALL_BYTES as u64);
        let path = folder.join("limit");
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let mut block = vec![0u8; CALL_BYTES];
        fastrand::Rng::with_seed(1).fill(&mut block);
        write_blocks(&mut file, &block, bytes)?;
        // Its name is not needed any more, and so nothing is left however this process ends.
        std::fs::remove_file(&path)?;
        // SAFETY: the file has no name, so no other process can open it to change or cut it, and this one does not.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(SentFile { file, map, bytes })
    }

    /// Moves about `bytes` (the same number of whole calls on each connection) through that many loopback connections.
    pub fn send(&self, method: LoopbackMethod, connections: usize, bytes: u64) -> io::Result<LoopbackFigure> {
        let calls = bytes.div_ceil(CALL_BYTES as u64 * connections as u64);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut pairs = Vec::with_capacity(connections);
        for _ in 0..connections {
            let receiver = TcpStream::connect(listener.local_addr()?)?;
            let (sender, _) = listener.accept()?;
            pairs.push((sender, receiver));
        }
        let barrier = Barrier::new(connections * 2);
        let cpu = own_cpu();
        let (seconds, received) = std::thread::scope(|scope| -> io::Result<(f64, u64)> {
            let mut threads = Vec::with_capacity(connections);
            for (i, (sender, receiver)) in pairs.into_iter().enumerate() {
                let barrier = &barrier;
                let sending = scope.spawn(move || {
                    let mut buffer = vec![0u8; CALL_BYTES];
                    barrier.wait();
                    let began = Instant::now();
                    let first = i as u64 * (self.bytes / connections as u64) / CALL_BYTES as u64;
                    (first..first + calls)
                        .try_for_each(|call| self.send_call(method, &sender, call, &mut buffer))
                        .map(|()| began)
                });
                let receiving = scope.spawn(move || {
                    let mut buffer = vec![0u8; CALL_BYTES];
                    barrier.wait();
                    receive(receiver, &mut buffer).map(|received| (received, Instant::now()))
                });
                threads.push((sending, receiving));
            }
            // The threads' own clocks count: this thread may be woken late on a busy machine.
            let mut span: Option<(Instant, Instant)> = None;
            let mut received = 0;
            for (sending, receiving) in threads {
                let stopped = |_| io::Error::other("a thread stopped");
                let began = sending.join().map_err(stopped)??;
                let (bytes, ended) = receiving.join().map_err(stopped)??;
                let (first, last) = span.unwrap_or((began, ended));
                span = Some((first.min(began), last.max(ended)));
                received += bytes;
            }
            Ok((span.map_or(0.0, |(first, last)| (last - first).as_secs_f64()), received))
        })?;
        let cpu = (own_cpu() - cpu).as_secs_f64();
        let expected = calls * (CALL_BYTES * connections) as u64;
        if received != expected {
            return Err(io::Error::other(format!("{expected} bytes were to come through, {received} did")));
        }
        Ok(LoopbackFigure {
            method,
            connections,
            bytes: received,
            seconds,
            gb_per_second: received as f64 / seconds / 1e9,
            cpu_seconds_per_gb: cpu / (received as f64 / 1e9),
        })
    }

    fn send_call(&self, method: LoopbackMethod, mut to: &TcpStream, call: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut position = call * CALL_BYTES as u64 % self.bytes;
        match method {
            LoopbackMethod::Sendfile => {
                let end = position + CALL_BYTES as u64;
                while position < end {
                    let left = (end - position) as usize;
                    if rustix::fs::sendfile(to, &self.file, Some(&mut position), left)? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Ok(())
            }
            LoopbackMethod::MappedWrite => {
                let position = position as usize;
                to.write_all(self.map.get(position..position + CALL_BYTES).unwrap_or_default())
            }
            LoopbackMethod::PreadWrite => {
                self.file.read_exact_at(buffer, position)?;
                to.write_all(buffer)
            }
        }
    }
}

/// Reads to the end and throws the bytes away; gives their number.
fn receive(mut from: TcpStream, buffer: &mut [u8]) -> io::Result<u64> {
    let mut received = 0;
    loop {
        match from.read(buffer) {
            Ok(0) => return Ok(received),
            Ok(count) => received += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn copy(threads: usize, bytes: u64) -> CopyFigure {
    // About a second's work; the first round touches the memory and is not timed.
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
                    // Freeing hundreds of megabytes is not a part of the copy.
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

fn write_disk(folder: &Path, bytes: u64) -> io::Result<DiskFigure> {
    let path = folder.join("sequential");
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

fn sync_disk(folder: &Path, bytes: u64, count: u64) -> io::Result<SyncFigure> {
    // The first appends also pay for the file's own first blocks.
    const WARMUP: u64 = 20;
    let path = folder.join("synced");
    let mut block = vec![0u8; bytes as usize];
    fastrand::Rng::with_seed(3).fill(&mut block);
    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let length = bytes * (count + WARMUP);
    // Where blocks can't be had beforehand, the length alone must do.
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
    std::fs::remove_file(&path)?;
    Ok(SyncFigure {
        bytes,
        latency_us: report::Latency::of(&latency),
        gb_per_second: (bytes * count) as f64 / seconds / 1e9,
    })
}

/// Writes `bytes` bytes, block after block.
fn write_blocks(file: &mut File, block: &[u8], bytes: u64) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let part = block.split_at(left.min(block.len() as u64) as usize).0;
        file.write_all(part)?;
        left -= part.len() as u64;
    }
    Ok(())
}
