//! Where the roll-ups of measurements lie; the same for every command that uses them.

use super::CommandError;
use clap::Args;
use rawline_broker::{Clock, SystemClock};
use rawline_measure::query::QueryError;
use rawline_measure::select::{Selector, SelectorError};
use rawline_measure::{Kind, MeasureError, Storage};

/// Where roll-ups lie.
#[derive(Debug, Clone, Args)]
pub struct RollupArgs {
    /// Where the broker's objects and the roll-ups live: a directory or s3://BUCKET/PREFIX
    #[arg(long, value_name = "DIR|URL", env = "RAWLINE_STORAGE", default_value = "rawline-data")]
    pub storage: String,
}

impl RollupArgs {
    /// The storage, for reading: a directory that is not there is an error, and is not made.
    pub fn open(&self) -> Result<Storage, CommandError> {
        let is_directory = !self.storage.contains("://") && self.storage != "memory:";
        if is_directory && !std::path::Path::new(&self.storage).is_dir() {
            return Err(CommandError::Failed(format!(
                "there is no directory {}; give the broker's with --storage, or RAWLINE_STORAGE",
                self.storage
            )));
        }
        self.open_or_create()
    }

    /// The storage, for writing.
    pub fn open_or_create(&self) -> Result<Storage, CommandError> {
        let variables: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Storage::open(&self.storage, &variables)?)
    }
}

impl From<MeasureError> for CommandError {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Config { .. } => CommandError::Usage(error.to_string()),
            _ => CommandError::Failed(error.to_string()),
        }
    }
}

impl From<QueryError> for CommandError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Measure(error) => error.into(),
            QueryError::Range { .. } | QueryError::Tier { .. } => CommandError::Usage(error.to_string()),
            _ => CommandError::Failed(error.to_string()),
        }
    }
}

/// A selector from the command line.
pub fn parse_selector(text: &str) -> Result<Selector, CommandError> {
    Selector::parse(text).map_err(|error: SelectorError| CommandError::Usage(error.to_string()))
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    i64::try_from(SystemClock.now_us() / 1000).unwrap_or(i64::MAX)
}

/// Whether it is worth to begin anew: a file was replaced while it was read.
pub fn is_passing(error: &MeasureError) -> bool {
    error.kind() == Kind::TryAgain
}
