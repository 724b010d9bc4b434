//! The broker that a benchmark measures: a local one that it starts, or a remote one.

use super::environment::{temporary_directory, variables};
use super::local_broker::{LocalBroker, Settings};
use super::runs::Stopwatch;
use super::store_delay::{DelayArgs, StoreDelay};
use super::time::parse_time;
use super::usage::Meter;
use crate::error::BenchError;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rawline_broker::limits::S3_BATCH_WAIT;
use rawline_broker::store::disk::Durability;
use rawline_broker::store::s3::Service;
use rawline_client::{Client, ClientConfig, ClientError, RetryPolicy};
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which broker to measure, with which settings; the same for every benchmark of a broker.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Broker")]
pub struct TargetArgs {
    /// Start a local broker as a child process, on a directory that is removed afterwards; =false measures a remote one
    #[arg(short = 'l', long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub local_broker: bool,

    /// Remote broker: its URL; the benchmark doesn't delete its topics there
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

    /// Local broker: parent directory of its storage, or a bucket such as s3://BUCKET/PREFIX, where objects stay
    /// [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR|URL")]
    pub storage: Option<String>,

    /// Local broker: its --memory, such as 1GiB [default: the broker's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// How slow the bucket is.
    #[command(flatten)]
    #[serde(flatten)]
    pub delay: DelayArgs,
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
            Some(storage) if Service::of(storage).is_some() => None,
            Some(storage) => Some(Path::new(storage).to_owned()),
            None => Some(temporary_directory()),
        }
    }

    /// The bucket of a local broker, if it has one.
    pub fn bucket(&self) -> Option<&str> {
        self.storage.as_deref().filter(|storage| self.local_broker && Service::of(storage).is_some())
    }

    /// The local broker's `--batch-wait`. Unknown of a remote broker.
    pub fn batch_wait(&self) -> Option<Duration> {
        match &self.batcher_block_time {
            _ if !self.local_broker => None,
            Some(wait) => parse_time(wait).ok(),
            None => Some(if self.bucket().is_some() { S3_BATCH_WAIT } else { Duration::ZERO }),
        }
    }

    /// `this build, --durability fsync`, or the remote broker.
    pub fn about(&self) -> String {
        if self.local_broker {
            format!("this build, --durability {}", self.durability.name())
        } else {
            format!("a broker at {}", self.remote_broker_address)
        }
    }

    /// Starts the local broker, or connects to the remote one.
    pub async fn start(&self) -> Result<Target, BenchError> {
        self.start_for(false, None).await
    }

    /// The same; a local broker listens for Kafka's clients if `kafka` is true, and accepts this many connections.
    pub async fn start_for(&self, kafka: bool, connections_max: Option<u32>) -> Result<Target, BenchError> {
        if !self.local_broker && self.delay.store_delay.is_some() {
            let reason =
                "--store-delay is for a local broker, which is started with the proxy as its endpoint; omit it";
            return Err(BenchError::Usage(reason.to_owned()));
        }
        let delay = self.delay.start(self.storage.as_deref(), &variables()).await?;
        let (local, url, key) = if self.local_broker {
            let settings = Settings {
                endpoint: delay.as_ref().map(|delay| delay.endpoint.clone()),
                storage: self.storage.clone(),
                durability: self.durability,
                memory: self.memory.clone(),
                batch_wait: self.batcher_block_time.clone(),
                batch_bytes: self.batcher_max_bytes,
                connections_max,
                cgroup: None,
                kafka,
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
        let client = Client::new(config).map_err(|error| BenchError::Usage(error.to_string()))?;
        Ok(Target { client, local, delay })
    }
}

/// A broker that is ready to be measured.
pub struct Target {
    /// Sends requests to it.
    pub client: Client,
    local: Option<LocalBroker>,
    // Dropped after the broker.
    delay: Option<StoreDelay>,
}

impl Target {
    /// Its CPU time and memory, if it is a local broker.
    pub fn meter(&self) -> Option<&Meter> {
        self.local.as_ref().map(|local| &local.meter)
    }

    /// Its address for Kafka's clients, if it is a local broker that listens for them.
    pub fn kafka(&self) -> Option<&str> {
        self.local.as_ref()?.kafka.as_deref()
    }

    /// The proxy between the local broker and its bucket, with `--store-delay`.
    pub fn delay(&self) -> Option<&StoreDelay> {
        self.delay.as_ref()
    }

    /// Starts the timed part of a run.
    pub fn stopwatch(&self) -> Stopwatch<'_> {
        Stopwatch::start(self.meter(), self.delay())
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
