//! The commands of `rawline`, one file each, and what they share: where the broker is, how a failure ends.

#[cfg(feature = "full")]
pub mod avro;
pub mod consume;
#[cfg(feature = "full")]
pub mod measure;
pub mod produce;
#[cfg(feature = "full")]
pub mod query;
#[cfg(feature = "full")]
pub mod rollups;
#[cfg(feature = "full")]
pub mod series;
pub mod serve;
pub mod topic;
pub mod topics;
pub mod value;

use clap::Args;
use rawline_client::{Client, ClientConfig, ClientError, RetryPolicy};

/// Where the broker is; the same for every command that talks to one.
#[derive(Debug, Clone, Args)]
pub struct BrokerArgs {
    /// The broker's address
    #[arg(long, value_name = "URL", env = "RAWLINE_BROKER", default_value = "http://127.0.0.1:51313")]
    pub broker: String,

    /// The key that the broker was started with, if any
    #[arg(long, value_name = "KEY", env = "RAWLINE_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,
}

impl BrokerArgs {
    /// A client for this broker. Nothing is sent yet.
    pub fn client(&self) -> Result<Client, CommandError> {
        let mut config = ClientConfig::new(self.broker.as_str());
        config.api_key = self.api_key.clone().filter(|key| !key.is_empty());
        Ok(Client::new(config)?)
    }

    /// As [`BrokerArgs::client`], for a command that somebody waits for: a failure is told at once.
    pub fn client_without_retries(&self) -> Result<Client, CommandError> {
        Ok(self.client()?.with_retries(RetryPolicy::NONE))
    }
}

/// How a command fails: what to tell on stderr, and the exit code.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A request, a file or the broker failed: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// The command was used wrongly in a way clap can't see: exit code 2.
    #[error("{0}")]
    Usage(String),
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Config { .. } => CommandError::Usage(error.to_string()),
            _ => CommandError::Failed(error.to_string()),
        }
    }
}

#[cfg(feature = "full")]
impl From<rawline_bench::BenchError> for CommandError {
    fn from(error: rawline_bench::BenchError) -> Self {
        match error {
            rawline_bench::BenchError::Usage(message) => CommandError::Usage(message),
            rawline_bench::BenchError::Failed(message) => CommandError::Failed(message),
        }
    }
}

impl CommandError {
    /// The process' exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            CommandError::Failed(_) => 1,
            CommandError::Usage(_) => 2,
        }
    }
}

/// A part that this binary was built without.
#[cfg(not(feature = "full"))]
pub fn not_built(what: &str) -> CommandError {
    CommandError::Usage(format!("this rawline was built without {what}; `make full` builds one that has it"))
}

/// Reads a number of bytes with an optional unit: 1048576, 512KiB, 10MiB, 2GiB, or KB, MB, GB of 1000.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(format!("{unit:?} is no unit of bytes; there are KiB, MiB, GiB, KB, MB and GB")),
    };
    let number: u64 = number.parse().map_err(|_| "give a number of bytes, such as 512MiB".to_string())?;
    number.checked_mul(factor).ok_or_else(|| format!("{text} is too large"))
}

/// Reads a time with its unit: 250us, 5ms, 1s.
pub fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    rawline_contract::parse_duration(text).ok_or_else(|| format!("{text:?} is no time such as 0s, 5ms or 1s"))
}

/// Prints to stdout; a reader that has seen enough, such as `head`, is no failure.
fn print(text: &str) -> Result<(), CommandError> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(stdout_failed(&error)),
        _ => Ok(()),
    }
}

fn stdout_failed(error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!("can't write to the output: {error}"))
}
