//! A local broker for one benchmark: `rawline serve` as a child process, removed with its directory afterwards.

use super::environment::{broker_settings, program, temporary_directory};
use super::store_delay::ENDPOINT_VARIABLES;
use super::usage::Meter;
use crate::error::BenchError;
use rawline_broker::store::disk::Durability;
use rawline_broker::store::s3::Service;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// The broker's output before its address, once it accepts connections.
const READY: &str = "listening on ";
/// The same before the address for Kafka's clients, which comes first.
const READY_KAFKA: &str = "listening for Kafka's clients on ";
/// Maximum time until the broker listens. With an S3 bucket it sends requests to that first.
const READY_WAIT_MAX: Duration = Duration::from_secs(30);
/// Number of the broker's last log lines that are kept for a failure.
const LAST_LINES: usize = 20;

/// Settings of a local broker; `None` is the broker's default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// A bucket's address, or the directory in which its directory is created; none for the system's directory for
    /// temporary files.
    pub storage: Option<String>,
    /// `--durability`.
    pub durability: Durability,
    /// `--memory`.
    pub memory: Option<String>,
    /// `--batch-wait`.
    pub batch_wait: Option<String>,
    /// `--batch-bytes`.
    pub batch_bytes: Option<u64>,
    /// `--connections-max`.
    pub connections_max: Option<u32>,
    /// The bucket's endpoint, instead of the one that this process's variables name.
    pub endpoint: Option<String>,
    /// Directory of its control group; `None` for that of this process.
    pub cgroup: Option<PathBuf>,
    /// Whether it listens for Kafka's clients, too.
    pub kafka: bool,
}

/// Where a broker stores.
#[derive(Debug, Clone)]
pub struct Place {
    /// `--storage`: a directory or a bucket's address.
    pub storage: OsString,
    /// `--cache-dir`, with a bucket.
    pub cache: PathBuf,
}

/// A running broker. Dropping it kills the process, and removes its directory if it has its own.
pub struct LocalBroker {
    child: Child,
    /// Its address.
    pub url: String,
    /// Its address for Kafka's clients.
    pub kafka: Option<String>,
    /// Its CPU time and memory.
    pub meter: Meter,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    // Dropped after the child was killed.
    _directory: Option<TempDir>,
}

impl LocalBroker {
    /// Starts a broker on its own directory, or its own prefix of the bucket, and waits until it listens.
    pub async fn start(settings: &Settings) -> Result<LocalBroker, BenchError> {
        let (place, directory) = Place::new(settings.storage.as_deref())?;
        let mut broker = LocalBroker::start_at(settings, &place, READY_WAIT_MAX).await?;
        broker._directory = Some(directory);
        Ok(broker)
    }

    /// Starts a broker on storage that outlives it. Fails if it doesn't listen within `ready_max`.
    pub async fn start_at(settings: &Settings, place: &Place, ready_max: Duration) -> Result<LocalBroker, BenchError> {
        let mut child = command(settings, place)?.spawn().map_err(|error| not_started(error.to_string()))?;
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        let ready = watch(&mut child, last_lines.clone());
        let Some(meter) = Meter::of(child.id()) else {
            stop(&mut child);
            return Err(not_started(format!("it exited\n{}", shown(&last_lines))));
        };
        let mut broker = LocalBroker { child, url: String::new(), kafka: None, meter, last_lines, _directory: None };
        (broker.url, broker.kafka) = match tokio::time::timeout(ready_max, ready).await {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(_)) => return Err(not_started(format!("it exited\n{}", broker.last_lines()))),
            Err(_) => {
                let waited = ready_max.as_secs();
                return Err(not_started(format!("it doesn't listen after {waited} s\n{}", broker.last_lines())));
            }
        };
        Ok(broker)
    }

    /// Stops it as an operator does, and waits until it has stored what it has and exited.
    pub fn end(mut self) -> Result<(), BenchError> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        id.and_then(|id| kill_process(id, Signal::TERM).ok());
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            ended => Err(BenchError::Failed(format!("the broker didn't stop: {ended:?}\n{}", self.last_lines()))),
        }
    }

    /// The last lines of its log, for a failure that it may have caused.
    pub fn last_lines(&self) -> String {
        shown(&self.last_lines)
    }
}

impl Drop for LocalBroker {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

impl Place {
    /// A place that no other run uses: a directory in `storage` or in the system's directory for temporary files, or a
    /// prefix of a bucket. The directory holds the cache of a bucket's objects.
    pub fn new(storage: Option<&str>) -> Result<(Place, TempDir), BenchError> {
        let bucket = storage.filter(|storage| Service::of(storage).is_some());
        let parent = match (storage, bucket) {
            (Some(storage), None) => storage.into(),
            _ => temporary_directory(),
        };
        let directory = new_directory(&parent)?;
        let storage = match bucket {
            Some(bucket) => {
                let name = directory.path().file_name().unwrap_or_default().to_string_lossy();
                format!("{}/{name}", bucket.trim_end_matches('/')).into()
            }
            None => directory.path().join("storage").into(),
        };
        Ok((Place { storage, cache: directory.path().join("cache") }, directory))
    }
}

/// `rawline serve` with these settings.
fn command(settings: &Settings, place: &Place) -> Result<Command, BenchError> {
    let program = program().map_err(|error| not_started(format!("can't find its program: {error}")))?;
    let mut command = match &settings.cgroup {
        None => Command::new(program),
        Some(cgroup) => {
            // A process is moved before it has any memory.
            let mut command = Command::new("sh");
            command.args(["-c", r#"echo $$ > "$0/cgroup.procs" && exec "$@""#]).arg(cgroup).arg(program);
            command
        }
    };
    // Settings of the user's own broker must not change the measurement. RUST_LOG and AWS_* are kept.
    for name in broker_settings() {
        command.env_remove(name);
    }
    command.args(["serve", "--listen", "127.0.0.1:0", "--durability", settings.durability.name()]);
    command.arg("--storage").arg(&place.storage).arg("--cache-dir").arg(&place.cache);
    if let Some(endpoint) = &settings.endpoint {
        for name in ENDPOINT_VARIABLES {
            command.env_remove(name);
        }
        command.env("AWS_ENDPOINT_URL", endpoint);
    }
    if let Some(memory) = &settings.memory {
        command.args(["--memory", memory]);
    }
    if let Some(wait) = &settings.batch_wait {
        command.args(["--batch-wait", wait]);
    }
    if let Some(bytes) = settings.batch_bytes {
        command.args(["--batch-bytes", &bytes.to_string()]);
    }
    if let Some(connections) = settings.connections_max {
        command.args(["--connections-max", &connections.to_string()]);
    }
    if settings.kafka {
        command.args(["--kafka", "127.0.0.1:0"]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    Ok(command)
}

fn not_started(reason: String) -> BenchError {
    BenchError::Failed(format!("can't start the local broker: {reason}"))
}

/// A directory for one benchmark, removed when dropped.
pub fn new_directory(parent: &Path) -> Result<TempDir, BenchError> {
    tempfile::Builder::new().prefix("rawline-bench-").tempdir_in(parent).map_err(|error| {
        let parent = parent.display();
        BenchError::Failed(format!("can't create a directory in {parent}: {error}; use another one with --storage"))
    })
}

/// Kills the process and waits until it has exited, so that nothing writes to its directory any more.
fn stop(child: &mut Child) {
    // Both fail only if the process has exited already.
    let _ = child.kill();
    let _ = child.wait();
}

/// Its address, and that for Kafka's clients.
type Addresses = (String, Option<String>);

/// Reads the child's stderr, so that it never blocks on a full pipe. Sends its addresses as soon as it listens; drops
/// the sender if it exits before.
fn watch(child: &mut Child, last_lines: Arc<Mutex<VecDeque<String>>>) -> oneshot::Receiver<Addresses> {
    let (sender, ready) = oneshot::channel();
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let (mut sender, mut kafka) = (Some(sender), None);
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some((_, address)) = line.split_once(READY_KAFKA) {
                    kafka = Some(address.to_owned());
                }
                if let Some((_, rest)) = line.split_once(READY)
                    && let Some(url) = rest.split_whitespace().next()
                    && let Some(sender) = sender.take()
                {
                    // It fails if the benchmark was interrupted.
                    let _ = sender.send((url.trim_end_matches([',', '.']).to_owned(), kafka.take()));
                }
                let mut lines = last_lines.lock().unwrap_or_else(PoisonError::into_inner);
                if lines.len() == LAST_LINES {
                    lines.pop_front();
                }
                lines.push_back(line);
            }
        });
    }
    ready
}

fn shown(lines: &Mutex<VecDeque<String>>) -> String {
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().map(|line| format!("  broker: {line}")).collect::<Vec<_>>().join("\n")
}
