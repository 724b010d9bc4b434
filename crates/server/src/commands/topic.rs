//! `rawline topic`: Shows one topic.

use super::CommandError;

/// Shows one topic.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args) -> Result<(), CommandError> {
    Err(CommandError::Failed("not there yet".into()))
}
