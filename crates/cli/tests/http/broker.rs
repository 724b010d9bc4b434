//! Brokers for tests: the real binary on a directory of its own, or in this process where a test needs its insides.

use crate::client::{Answer, exchange, request};
use rawline_batch::{Batch, Builder, Codec, Limits};
use rawline_broker::pool::Pool;
use rawline_broker::store::memory::MemoryStore;
use rawline_broker::{Config, SystemClock};
use rawline_server::http::{self, HttpConfig};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use tokio::sync::watch;

pub const RAWLINE: &str = env!("CARGO_BIN_EXE_rawline");

/// The real binary; ends with the value.
pub struct Broker {
    process: Child,
    pub address: SocketAddr,
    /// What it said on stderr before it listened.
    pub said: String,
    _directory: tempfile::TempDir,
}

impl Broker {
    pub fn start(flags: &[&str]) -> Broker {
        let directory = tempfile::tempdir().unwrap();
        let defaults = [["--listen", "127.0.0.1:0"], ["--memory", "128MiB"], ["--durability", "page-cache"]];
        let defaults = defaults.iter().filter(|[name, _]| !flags.contains(name)).flatten().copied();
        let mut process =
            command(&defaults.collect::<Vec<_>>()).args(flags).arg("--storage").arg(directory.path()).spawn().unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let start = said.len();
            assert!(stderr.read_line(&mut said).unwrap() > 0, "the broker ended: {said}");
            if let Some((_, address)) = said[start..].split_once("listening on http://") {
                break address.trim().parse().unwrap();
            }
        };
        // It must never block on a full pipe.
        std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        Broker { process, address, said, _directory: directory }
    }

    pub fn get(&self, target: &str) -> Answer {
        exchange(self.address, &request("GET", target, &[], b""))
    }

    pub fn get_as(&self, target: &str, accept: &str) -> Answer {
        exchange(self.address, &request("GET", target, &[("accept", accept)], b""))
    }

    pub fn post(&self, target: &str, content_type: &str, body: &[u8]) -> Answer {
        exchange(self.address, &request("POST", target, &[("content-type", content_type)], body))
    }

    /// Tells it to stop.
    pub fn terminate(&self) {
        let process = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `rawline serve` with these flags and nothing from the environment.
pub fn command(flags: &[&str]) -> Command {
    let mut command = Command::new(RAWLINE);
    command.arg("serve").args(flags).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A broker in this process, on memory.
pub struct InProcess {
    pub address: SocketAddr,
    pub pool: Arc<Pool>,
    _stop: watch::Sender<bool>,
    _runtime: tokio::runtime::Runtime,
}

impl InProcess {
    pub fn start(config: HttpConfig, pool_bytes: u64) -> InProcess {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let pool = Pool::new(pool_bytes as usize);
        let (stop, stopped) = watch::channel(false);
        let address = runtime.block_on(async {
            let clock = Arc::new(SystemClock);
            let mut settings = Config::new(7);
            settings.request_bytes_max = config.request_bytes_max;
            let broker = rawline_broker::Broker::open(Arc::new(MemoryStore::new()), clock.clone(), settings);
            let broker = Arc::new(broker.await.unwrap());
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(http::serve(listener, broker, pool.clone(), clock, config, stopped));
            address
        });
        InProcess { address, pool, _stop: stop, _runtime: runtime }
    }

    /// Waits until all buffers are back.
    pub fn wait_for_buffers(&self) {
        while self.pool.bytes_free() < self.pool.bytes() {
            pause();
        }
    }
}

/// Lets some time pass between two looks at something that will come.
#[allow(clippy::disallowed_methods)] // No other task of this thread is stalled.
pub fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

/// A batch of these records.
pub fn batch(codec: Codec, records: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::FORMAT);
    for record in records {
        builder.push(record).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish_into(1_700_000_000_000_000, 0, 0, &mut bytes).unwrap();
    bytes
}

/// The records of batches that lie back to back; each batch is checked, its checksum too.
pub fn records_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = bytes;
    let mut records = Vec::new();
    let mut scratch = Vec::new();
    while !rest.is_empty() {
        let (batch, behind) = Batch::parse_prefix(rest, &Limits::FORMAT).unwrap();
        records.extend(batch.records(&mut scratch).unwrap().map(<[u8]>::to_vec));
        rest = behind;
    }
    records
}

/// `count` records that differ, of `bytes` bytes.
pub fn records(from: usize, count: usize, bytes: usize) -> Vec<Vec<u8>> {
    (from..from + count).map(|number| format!("{number:0bytes$}").into_bytes()).collect()
}
