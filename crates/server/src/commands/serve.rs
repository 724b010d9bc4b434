//! `rawline serve`: Runs the broker.

use super::CommandError;

/// Runs the broker.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args) -> Result<(), CommandError> {
    Err(CommandError::Failed("not there yet".into()))
}
