//! `rawline consume`: Reads records from a topic to stdout.

use super::CommandError;

/// Reads records from a topic to stdout.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args) -> Result<(), CommandError> {
    Err(CommandError::Failed("not there yet".into()))
}
