//! `rawline bench`: measures this broker, or one elsewhere, and the machine it runs on.

use crate::commands::CommandError;

/// Measure a broker and the machine it runs on
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the benchmark.
pub async fn run(_args: Args) -> Result<(), CommandError> {
    Err(CommandError::Failed("not there yet".into()))
}
