//! A real broker for tests: a process of the program `rawline`, on free ports, in memory or on a directory.
//!
//! ```no_run
//! use rawline_testing::{Broker, Settings, Storage};
//!
//! let mut broker = Broker::with(Settings { storage: Storage::Directory, ..Settings::default() })?;
//! println!("the code under test uses {} or {}", broker.url(), broker.kafka());
//! broker.kill()?;
//! broker.restart()?;
//! # Ok::<(), rawline_testing::BrokerError>(())
//! ```
//!
//! It blocks for the milliseconds that a broker takes to start, also in asynchronous tests.

// Its place is in tests, which start processes, wait, and read the environment.
#![allow(clippy::disallowed_methods)]

mod error;
mod program;

pub use error::BrokerError;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const FREE: &str = "127.0.0.1:0";

/// Time between two looks for a broker that starts: short against its start.
const POLL: Duration = Duration::from_millis(1);

/// Where a broker stores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Storage {
    /// Nothing remains.
    #[default]
    Memory,
    /// A temporary directory, on which the broker can be restarted.
    Directory,
    /// A value of `--storage`, such as a path.
    At(PathBuf),
}

/// How to start a broker.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it stores; by default in memory.
    pub storage: Storage,
    /// More flags of `rawline serve`. Variables that begin with `RAWLINE_` don't reach it.
    pub flags: Vec<String>,
    /// The program; by default the one at `RAWLINE_BIN`, else the one on `PATH`.
    pub program: Option<PathBuf>,
    /// Time within which it must start.
    pub start_max: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { storage: Storage::default(), flags: Vec::new(), program: None, start_max: Duration::from_secs(30) }
    }
}

/// A running broker. It ends with the value, and at the latest with this process.
#[derive(Debug)]
pub struct Broker {
    settings: Settings,
    program: PathBuf,
    folder: TempDir,
    /// `None` after [`Broker::stop`] and [`Broker::kill`].
    process: Option<Child>,
    url: String,
    kafka: String,
}

impl Broker {
    /// Starts a broker in memory.
    pub fn start() -> Result<Broker, BrokerError> {
        Broker::with(Settings::default())
    }

    /// Starts a broker with these settings.
    pub fn with(settings: Settings) -> Result<Broker, BrokerError> {
        let program = settings.program.clone().map_or_else(program::find, Ok)?;
        let folder = tempfile::Builder::new().prefix("rawline-").tempdir()?;
        let (url, kafka) = (String::new(), String::new());
        let mut broker = Broker { settings, program, folder, process: None, url, kafka };
        broker.serve(FREE, FREE)?;
        Ok(broker)
    }

    /// The URL for clients.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Host and port for Kafka's clients: `bootstrap.servers`.
    pub fn kafka(&self) -> &str {
        &self.kafka
    }

    /// Id of the broker's process; `None` after [`Broker::stop`] and [`Broker::kill`].
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// What the broker wrote to stderr.
    pub fn log(&self) -> String {
        std::fs::read(self.log_file())
            .map_or_else(|error| error.to_string(), |log| String::from_utf8_lossy(&log).into())
    }

    /// Fails, with what the broker wrote to stderr, if it has ended by itself or was stopped.
    pub fn check(&mut self) -> Result<(), BrokerError> {
        let process = self.process.as_mut().ok_or(BrokerError::Stopped)?;
        match process.try_wait()? {
            Some(status) => Err(BrokerError::Ended { status, log: self.log() }),
            None => Ok(()),
        }
    }

    /// Kills the broker, as a crash would.
    pub fn kill(&mut self) -> Result<(), BrokerError> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.kill()?;
        process.wait()?;
        Ok(())
    }

    /// Stops the broker: it commits pending appends, and ends.
    pub fn stop(&mut self) -> Result<(), BrokerError> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        drop(process.stdin.take());
        process.wait()?;
        Ok(())
    }

    /// Starts the broker again on the same storage and ports; stops it before, if it runs.
    pub fn restart(&mut self) -> Result<(), BrokerError> {
        if self.settings.storage == Storage::Memory {
            return Err(BrokerError::MemoryIsLost);
        }
        self.stop()?;
        let listen = self.url.rsplit('/').next().unwrap_or_default().to_owned();
        self.serve(&listen, &self.kafka.clone())
    }

    fn serve(&mut self, listen: &str, kafka: &str) -> Result<(), BrokerError> {
        let ready = self.folder.path().join("ready.json");
        // One that was killed leaves it.
        if ready.exists() {
            std::fs::remove_file(&ready)?;
        }
        self.process = Some(self.command(listen, kafka, &ready, self.log_writer()?).spawn()?);
        let started = Instant::now();
        while !ready.exists() {
            self.check()?;
            if started.elapsed() > self.settings.start_max {
                return Err(BrokerError::NotReady { after: self.settings.start_max, log: self.log() });
            }
            std::thread::sleep(POLL);
        }
        let ready: serde_json::Value = serde_json::from_slice(&std::fs::read(&ready)?).map_err(std::io::Error::from)?;
        let address = |name| ready.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        (self.url, self.kafka) = (address("url"), address("kafka"));
        Ok(())
    }

    fn command(&self, listen: &str, kafka: &str, ready: &Path, log: File) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RAWLINE_")) {
            command.env_remove(name);
        }
        let storage = match &self.settings.storage {
            Storage::Memory => PathBuf::from("memory:"),
            Storage::Directory => self.folder.path().join("data"),
            Storage::At(path) => path.clone(),
        };
        command.arg("serve").arg("--storage").arg(storage);
        command.args(["--listen", listen, "--kafka", kafka, "--stop-with-stdin", "--ready-file"]).arg(ready);
        if !self.settings.flags.iter().any(|flag| flag == "--durability") {
            // A process that is killed loses no page of the cache.
            command.args(["--durability", "page-cache"]);
        }
        command.args(&self.settings.flags).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        command
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log_writer(&self) -> std::io::Result<File> {
        OpenOptions::new().create(true).append(true).open(self.log_file())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It has ended already otherwise.
        let _ = self.kill();
    }
}
