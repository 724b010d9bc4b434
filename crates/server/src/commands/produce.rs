//! `rawline produce`: Appends records from a file or stdin to a topic.

use super::CommandError;

/// Appends records from a file or stdin to a topic.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args) -> Result<(), CommandError> {
    Err(CommandError::Failed("not there yet".into()))
}
