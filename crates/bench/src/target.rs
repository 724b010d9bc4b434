//! The broker that a benchmark runs against: a local one, started for it, or one elsewhere.

use super::local_broker::{LocalBroker, Settings};
use super::usage::Meter;
use crate::BenchError;
use rawline_client::{Client, ClientConfig, ClientError, RetryPolicy};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Which broker to measure, with which settings; the same for every benchmark of a broker.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct TargetArgs {
    /// Start a broker for the benchmark, as a process of its own, on a folder that is removed afterwards
    #[arg(short = 'l', long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub local_broker: bool,

    /// The broker to measure with --local-broker=false; topics made there stay
    #[arg(long, value_name = "URL", default_value = "http://localhost:51313")]
    pub remote_broker_address: String,

    /// The key that the remote broker was started with, if any
    #[arg(long, value_name = "KEY", env = "RAWLINE_API_KEY", hide_env_values = true)]
    #[serde(skip)]
    pub remote_broker_api_key: Option<String>,

    /// Local broker: when an append is answered; `fsync` once it is on the disk, `page-cache` once the system has it
    #[arg(long, value_enum, default_value_t = Durability::Fsync)]
    pub durability: Durability,

    /// Local broker: how long a commit waits for more, such as 5ms; passed on as --batch-wait [default: the broker's]
    #[arg(long, value_name = "TIME")]
    pub batcher_block_time: Option<String>,

    /// Local broker: bytes after which a commit waits no longer; passed on as --batch-bytes [default: the broker's]
    #[arg(long, value_name = "BYTES")]
    pub batcher_max_bytes: Option<u64>,

    /// Local broker: folder that its folder is created in, or s3://BUCKET/PREFIX, where what is written stays
    /// [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR|URL")]
    pub storage: Option<String>,

    /// Local broker: its memory, passed on as --memory [default: the broker's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
}

/// When an append is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// After the disk has it.
    Fsync,
    /// After the system's page cache has it.
    PageCache,
}

impl Durability {
    fn name(self) -> &'static str {
        match self {
            Durability::Fsync => "fsync",
            Durability::PageCache => "page-cache",
        }
    }
}

impl TargetArgs {
    /// The folder whose filesystem decides how fast the broker can be, if it is known.
    pub fn storage_folder(&self) -> Option<PathBuf> {
        match &self.storage {
            _ if !self.local_broker => None,
            Some(storage) if storage.starts_with("s3://") => None,
            Some(storage) => Some(Path::new(storage).to_owned()),
            None => Some(std::env::temp_dir()),
        }
    }

    /// Starts the local broker, or takes the remote one as it is.
    pub async fn start(&self) -> Result<Target, BenchError> {
        let (local, url, key) = if self.local_broker {
            let settings = Settings {
                storage: self.storage.clone(),
                durability: self.durability.name(),
                memory: self.memory.clone(),
                batch_wait: self.batcher_block_time.clone(),
                batch_bytes: self.batcher_max_bytes,
            };
            let local = LocalBroker::start(&settings).await?;
            let url = local.url.clone();
            (Some(local), url, None)
        } else {
            (None, self.remote_broker_address.clone(), self.remote_broker_api_key.clone())
        };
        let mut config = ClientConfig::new(url);
        config.api_key = key;
        // A request that has to be sent twice is a failure here, not a slow success.
        config.retries = RetryPolicy::NONE;
        Ok(Target { client: Client::new(config).map_err(|error| BenchError::Usage(error.to_string()))?, local })
    }
}

/// A broker that is ready to be measured.
pub struct Target {
    /// Sends to it.
    pub client: Client,
    local: Option<LocalBroker>,
}

impl Target {
    /// Its CPU time and memory, if it is a local broker.
    pub fn meter(&self) -> Option<&Meter> {
        self.local.as_ref().map(|local| &local.meter)
    }

    /// Adds to a failure what the local broker said last.
    pub fn explain(&self, error: BenchError) -> BenchError {
        let said = self.local.as_ref().map(LocalBroker::last_words).unwrap_or_default();
        match error {
            BenchError::Failed(message) if !said.is_empty() => BenchError::Failed(format!("{message}\n{said}")),
            error => error,
        }
    }
}

/// A request that failed ends the benchmark.
pub fn failed(what: &str, error: ClientError) -> BenchError {
    BenchError::Failed(format!("{what} failed: {error}"))
}
