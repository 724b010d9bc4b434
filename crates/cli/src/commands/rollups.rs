//! The storage of roll-ups, and advice on flags after an error; shared by their commands.

use super::CommandError;
use super::storage::StorageArg;
use clap::Args;
use rawline_broker::{Clock, SystemClock};
use rawline_measure::query::QueryError;
use rawline_measure::select::{Beyond, Selector, SelectorError};
use rawline_measure::{MeasureError, Storage};

/// The storage of roll-ups.
#[derive(Debug, Clone, Args)]
pub struct RollupArgs {
    /// Storage of the broker and the roll-ups: a directory or s3://BUCKET/PREFIX
    #[arg(long, value_name = "DIR|URL", env = "RAWLINE_STORAGE", default_value = "rawline-data")]
    pub storage: StorageArg,
}

impl RollupArgs {
    /// Opens the storage for reading. A directory that doesn't exist is an error and is not created.
    pub fn open(&self) -> Result<Storage, CommandError> {
        if self.storage.is_directory() && !std::path::Path::new(&self.storage.name).is_dir() {
            return Err(CommandError::Failed(format!(
                "the directory {} doesn't exist; pass the broker's with --storage or RAWLINE_STORAGE",
                self.storage
            )));
        }
        self.open_or_create()
    }

    /// Opens the storage for writing.
    pub fn open_or_create(&self) -> Result<Storage, CommandError> {
        let variables: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Storage::open(&self.storage.name, &variables)?)
    }
}

impl From<MeasureError> for CommandError {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Config { .. } => CommandError::Usage(error.to_string()),
            MeasureError::NotMeasurements { .. } => CommandError::Failed(format!(
                "{error} (--framing, --schema), or pass --accept-bad to skip these records"
            )),
            MeasureError::OtherTopic { .. } => CommandError::Failed(format!("{error}, or pass --start-over")),
            _ => CommandError::Failed(error.to_string()),
        }
    }
}

impl From<QueryError> for CommandError {
    fn from(error: QueryError) -> Self {
        let with = |advice: &str| format!("{error}; {advice}");
        match &error {
            QueryError::Measure(error) => error.clone().into(),
            QueryError::Range { .. } => CommandError::Usage(with("check --from and --to")),
            QueryError::Tier { .. } => CommandError::Usage(with("use a longer --step or --tier auto")),
            QueryError::NoRate { .. } => CommandError::Failed(with("use a shorter --step or a longer range")),
            QueryError::TooManyLines { .. } => CommandError::Failed(with("use --by TAG or raise --series-max")),
            QueryError::TooManyPoints { sketched: false, .. } => {
                CommandError::Failed(with("use a longer --step or --by TAG, or raise --points-max"))
            }
            QueryError::TooManyPoints { sketched: true, .. } => CommandError::Failed(with(
                "use a longer --step or --by TAG, or raise --points-max, of which quantiles get a tenth",
            )),
            QueryError::NoTopic { topic, .. } => {
                CommandError::Failed(with(&format!("check --storage, or run `rawline measure {topic}` first")))
            }
            QueryError::NoSeries { .. } | QueryError::NoPoints { .. } => CommandError::Failed(error.to_string()),
        }
    }
}

/// Parses a selector.
pub fn parse_selector(text: &str) -> Result<Selector, CommandError> {
    Selector::parse(text).map_err(|error| {
        let advice = match &error {
            SelectorError::NotSelector { what: Beyond::Function } => "; pass the function as --agg, such as --agg rate",
            SelectorError::NotSelector { what: Beyond::Aggregation } => {
                "; pass the aggregation as --agg and --by, such as --agg sum --by server"
            }
            SelectorError::NotSelector { what: Beyond::Range } => "; pass the range as --from, --to and --step",
            SelectorError::NotSelector { what: Beyond::Time } => "; pass the time as --from and --to",
            _ => "",
        };
        CommandError::Usage(format!("{error}{advice}"))
    })
}

/// The time now in milliseconds since 1970.
pub fn now_ms() -> i64 {
    i64::try_from(SystemClock.now_us() / 1000).unwrap_or(i64::MAX)
}
