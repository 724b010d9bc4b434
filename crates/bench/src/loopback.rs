//! Bytes from the page cache through loopback connections, without a broker.

use super::usage::own_cpu;
use memmap2::Mmap;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

/// Maximum size of one call in bytes: that of one response of the read benchmark.
pub const CALL_BYTES: usize = 1 << 20;

/// How the bytes get from the page cache into the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopbackMethod {
    /// sendfile(2).
    Sendfile,
    /// write(2) from a mapping of the file.
    MappedWrite,
    /// pread(2) into a reused buffer, write(2) from it.
    PreadWrite,
}

impl LoopbackMethod {
    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            LoopbackMethod::Sendfile => "sendfile",
            LoopbackMethod::MappedWrite => "write from a mapping",
            LoopbackMethod::PreadWrite => "pread + write",
        }
    }
}

/// Throughput over loopback, receivers included: each reads into one buffer and discards the bytes.
#[derive(Debug, Clone, Serialize)]
pub struct LoopbackFigure {
    /// How the bytes were sent.
    pub method: LoopbackMethod,
    /// Number of connections, each with a sending and a receiving thread.
    pub connections: usize,
    /// Bytes received.
    pub bytes: u64,
    /// Seconds from the first send to the last receiver's end of stream.
    pub seconds: f64,
    /// 10^9 bytes per second.
    pub gb_per_second: f64,
    /// CPU seconds of both ends per 10^9 bytes.
    pub cpu_seconds_per_gb: f64,
}

/// A file in the page cache, to be sent repeatedly.
pub struct SentFile {
    file: File,
    map: Mmap,
    bytes: u64,
}

impl SentFile {
    /// Writes a file of at least this many bytes in `directory`.
    pub fn create(directory: &Path, bytes: u64) -> io::Result<SentFile> {
        let bytes = bytes.next_multiple_of(CALL_BYTES as u64);
        let path = directory.join("limit");
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let mut block = vec![0u8; CALL_BYTES];
        fastrand::Rng::with_seed(1).fill(&mut block);
        write_blocks(&mut file, &block, bytes)?;
        // Without a name it disappears however this process ends.
        std::fs::remove_file(&path)?;
        // SAFETY: the file has no name, so no other process can open and change or truncate it, and this one doesn't.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(SentFile { file, map, bytes })
    }

    /// Moves about `bytes` through loopback connections: the same number of whole calls on each.
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
            return Err(io::Error::other(format!("sent {expected} bytes, received {received}")));
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

/// Reads to the end of the stream and discards the bytes; returns their number.
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

/// Writes `bytes` bytes in blocks.
pub fn write_blocks(file: &mut File, block: &[u8], bytes: u64) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let part = block.split_at(left.min(block.len() as u64) as usize).0;
        file.write_all(part)?;
        left -= part.len() as u64;
    }
    Ok(())
}
