//! `rawline topics`: Lists the topics.

use super::CommandError;

/// Lists the topics.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args) -> Result<(), CommandError> {
    Err(CommandError::Failed("not there yet".into()))
}
