//! The commands of `rawline`, one file each, and what they share: where the broker is, how a failure ends.

pub mod consume;
pub mod produce;
pub mod serve;
pub mod topic;
pub mod topics;

use clap::Args;

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

impl CommandError {
    /// The process' exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            CommandError::Failed(_) => 1,
            CommandError::Usage(_) => 2,
        }
    }
}
