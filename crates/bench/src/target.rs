//! The broker that a benchmark measures: a local one that it starts, or a remote one.

use super::environment::temporary_directory;
use super::local_broker::{LocalBroker, Settings};
use super::usage::Meter;
use crate::BenchError;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rawline_broker::store::disk::Durability;
use rawline_client::{Client, ClientConfig, ClientError, RetryPolicy};
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// Which broker to measure, with which settings; the same for every benchmark of a broker.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Broker")]
pub struct TargetArgs {
    /// Start a local broker as a child process, on a directory that is removed afterwards; =false measures a remote one
    #[arg(short = 'l', long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub local_broker: bool,

    /// Remote broker: its address; the topics of the benchmark stay there
    #[arg(long, value_name = "URL", default_value = "http://localhost:51313")]
    pub remote_broker_address: String,

    /// Remote broker: its API key, if it has one
    #[arg(long, value_name = "KEY", env = "RAWLINE_API_KEY", hide_env_values = true)]
    #[serde(skip)]
    pub remote_broker_api_key: Option<String>,

    /// Local broker: when to acknowledge an append, after fdatasync or after the write into the page cache
    #[arg(long, value_name = "WHEN", default_value_t, value_parser = durability())]
    #[serde(serialize_with = "as_name")]
    pub durability: Durability,

    /// Local broker: its --batch-wait, such as 5ms [default: the broker's]
    #[arg(long, value_name = "TIME")]
    pub batcher_block_time: Option<String>,

    /// Local broker: its --batch-bytes [default: the broker's]
    #[arg(long, value_name = "BYTES")]
    pub batcher_max_bytes: Option<u64>,

    /// Local broker: directory to create its directory in, or s3://BUCKET/PREFIX, where objects stay
    /// [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR|URL")]
    pub storage: Option<String>,

    /// Local broker: its --memory, such as 1GiB [default: the broker's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
}

/// Parses when to acknowledge an append.
pub fn durability() -> impl TypedValueParser<Value = Durability> {
    PossibleValuesParser::new(Durability::ALL.map(Durability::name)).try_map(|name| name.parse())
}

/// Serializes it as its name.
pub fn as_name<S: Serializer>(durability: &Durability, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(durability.name())
}

impl TargetArgs {
    /// The directory whose filesystem decides how fast the broker can be, if it is known.
    pub fn storage_directory(&self) -> Option<PathBuf> {
        match &self.storage {
            _ if !self.local_broker => None,
            Some(storage) if storage.starts_with("s3://") => None,
            Some(storage) => Some(Path::new(storage).to_owned()),
            None => Some(temporary_directory()),
        }
    }

    /// Starts the local broker, or connects to the remote one.
    pub async fn start(&self) -> Result<Target, BenchError> {
        let (local, url, key) = if self.local_broker {
            let settings = Settings {
                storage: self.storage.clone(),
                durability: self.durability,
                memory: self.memory.clone(),
                batch_wait: self.batcher_block_time.clone(),
                batch_bytes: self.batcher_max_bytes,
                connections_max: None,
            };
            let local = LocalBroker::start(&settings).await?;
            let url = local.url.clone();
            (Some(local), url, None)
        } else {
            (None, self.remote_broker_address.clone(), self.remote_broker_api_key.clone())
        };
        let mut config = ClientConfig::new(url);
        config.api_key = key;
        // A request that has to be retried is a failure here, not a slow success.
        config.retries = RetryPolicy::NONE;
        Ok(Target { client: Client::new(config).map_err(|error| BenchError::Usage(error.to_string()))?, local })
    }
}

/// A broker that is ready to be measured.
pub struct Target {
    /// Sends requests to it.
    pub client: Client,
    local: Option<LocalBroker>,
}

impl Target {
    /// Its CPU time and memory, if it is a local broker.
    pub fn meter(&self) -> Option<&Meter> {
        self.local.as_ref().map(|local| &local.meter)
    }

    /// Adds the last log lines of the local broker to a failure.
    pub fn explain(&self, error: BenchError) -> BenchError {
        let lines = self.local.as_ref().map(LocalBroker::last_lines).unwrap_or_default();
        match error {
            BenchError::Failed(message) if !lines.is_empty() => BenchError::Failed(format!("{message}\n{lines}")),
            error => error,
        }
    }
}

/// A failed request ends the benchmark.
pub fn failed(what: &str, error: ClientError) -> BenchError {
    BenchError::Failed(format!("{what} failed: {error}"))
}
