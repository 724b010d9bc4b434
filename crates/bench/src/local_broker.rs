//! A broker of the benchmark's own: `rawline serve` as a child process, gone with its folder when the benchmark ends.

use super::usage::Meter;
use crate::BenchError;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// What the broker prints in front of its address once it accepts connections.
const READY: &str = "listening on ";
/// How long a broker may take to get there: with an S3 bucket it asks that first.
const READY_WAIT_MAX: Duration = Duration::from_secs(30);
/// How much of what the broker said last is shown when it fails.
const LAST_LINES: usize = 20;

/// What a local broker is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// An `s3://` address, or the folder that its own folder is created in; none for the system's folder for temporary
    /// files.
    pub storage: Option<String>,
    /// As `rawline serve` takes it.
    pub durability: &'static str,
    /// As `rawline serve` takes it; its default if none.
    pub memory: Option<String>,
    /// As `rawline serve --batch-wait` takes it; its default if none.
    pub batch_wait: Option<String>,
    /// As `rawline serve --batch-bytes` takes it; its default if none.
    pub batch_bytes: Option<u64>,
}

/// A running broker. Dropping it kills the process and removes its folder.
pub struct LocalBroker {
    child: Child,
    /// Where it listens.
    pub url: String,
    /// Its CPU time and memory.
    pub meter: Meter,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    // The child is killed before the folder goes.
    _folder: TempDir,
}

impl LocalBroker {
    /// Starts a broker on a folder of its own, or on a part of the bucket of its own, and waits until it listens.
    pub async fn start(settings: &Settings) -> Result<LocalBroker, BenchError> {
        let failed = |what: String| BenchError::Failed(format!("the local broker can't be started: {what}"));
        let bucket = settings.storage.as_deref().filter(|storage| storage.starts_with("s3://"));
        let parent = match (&settings.storage, bucket) {
            (Some(storage), None) => storage.into(),
            _ => std::env::temp_dir(),
        };
        let folder = new_folder(&parent)?;
        let program =
            std::env::current_exe().map_err(|error| failed(format!("its program can't be found: {error}")))?;
        let mut command = Command::new(program);
        // Settings of the user's own broker must not decide what is measured. RAWLINE_LOG and the store's AWS_*
        // variables are kept.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RAWLINE_") && name != "RAWLINE_LOG" {
                command.env_remove(name);
            }
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--durability", settings.durability]);
        match bucket {
            Some(bucket) => {
                let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
                command.arg("--storage").arg(format!("{}/{name}", bucket.trim_end_matches('/')));
                command.arg("--cache-dir").arg(folder.path().join("cache"));
            }
            None => {
                command.arg("--storage").arg(folder.path().join("storage"));
            }
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
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        let ready = watch(&mut child, last_lines.clone());
        let Some(meter) = Meter::of(child.id()) else {
            stop(&mut child);
            return Err(failed(format!("it ended at once\n{}", last_words(&last_lines))));
        };
        let mut broker = LocalBroker { child, url: String::new(), meter, last_lines, _folder: folder };
        broker.url = match tokio::time::timeout(READY_WAIT_MAX, ready).await {
            Ok(Ok(url)) => url,
            Ok(Err(_)) => return Err(failed(format!("it ended at once\n{}", last_words(&broker.last_lines)))),
            Err(_) => {
                let waited = READY_WAIT_MAX.as_secs();
                let said = last_words(&broker.last_lines);
                return Err(failed(format!("it does not listen after {waited} s\n{said}")));
            }
        };
        Ok(broker)
    }

    /// What the broker printed last, for a failure that may be its own.
    pub fn last_words(&self) -> String {
        last_words(&self.last_lines)
    }
}

impl Drop for LocalBroker {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// A folder for one benchmark, removed when dropped.
pub fn new_folder(parent: &Path) -> Result<TempDir, BenchError> {
    tempfile::Builder::new().prefix("rawline-bench-").tempdir_in(parent).map_err(|error| {
        let parent = parent.display();
        BenchError::Failed(format!("can't create a folder below {parent}: {error}; name another with --storage"))
    })
}

/// Kills the process and waits until it is gone, so that nothing writes to its folder any more.
fn stop(child: &mut Child) {
    // It fails only if the process is gone already.
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads what the child says, so that it never blocks on a full pipe; gives its address once it is told, or nothing if
/// it ends before.
fn watch(child: &mut Child, last_lines: Arc<Mutex<VecDeque<String>>>) -> oneshot::Receiver<String> {
    let (tell, ready) = oneshot::channel();
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut tell = Some(tell);
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once(READY)
                    && let Some(url) = rest.split_whitespace().next()
                    && let Some(tell) = tell.take()
                {
                    // Nobody waits any more if the benchmark was interrupted.
                    let _ = tell.send(url.trim_end_matches([',', '.']).to_owned());
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

fn last_words(lines: &Mutex<VecDeque<String>>) -> String {
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().map(|line| format!("  broker: {line}")).collect::<Vec<_>>().join("\n")
}
