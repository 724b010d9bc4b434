//! `rawline man`: writes the manual pages.

use super::{CommandError, print};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # Write the pages, and read one
  rawline man ./man1
  man -l ./man1/rawline-consume.1

  # Install them for all users
  sudo rawline man /usr/local/share/man/man1";

/// Write the manual pages, one per command
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Directory to write them to; created if it doesn't exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes the pages of `command` and its subcommands.
pub fn run(args: &Args, command: clap::Command) -> Result<(), CommandError> {
    let directory = args.directory.display();
    let failed = |error: std::io::Error| CommandError::Failed(format!("can't write to {directory}: {error}"));
    std::fs::create_dir_all(&args.directory).map_err(failed)?;
    clap_mangen::generate_to(command, &args.directory).map_err(failed)?;
    print(&format!("{}\n", args.directory.join("rawline.1").display()))
}
